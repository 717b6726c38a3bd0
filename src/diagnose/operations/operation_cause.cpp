// SPDX-License-Identifier: Apache-2.0
#include "diagnose/operations/operation_cause.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

namespace cox::diagnose {
namespace {

/// A single worker is named before its stage where it alone brings most of what the stage brings.
constexpr double kMostOfStage = 0.8;
/// A second finding brings at least this part of the slowdown, and there are not more than a few.
constexpr double kWorthMore = 0.1;
constexpr std::size_t kMostMore = 3;
/// A few workers: at most this part of all.
constexpr std::size_t kFewOf = 8;
constexpr std::size_t kHalf = 2;
constexpr double kAlways = 0.9;
/// A stage or worker is slow by what it computes where that brings this part of what it brings in all.
constexpr double kOwnPart = 0.5;
/// Transfers are those of one stage, or of a few workers, where these bring this part of what all transfers bring.
constexpr double kTheirTransfers = 0.8;
constexpr std::int64_t kLeastSteps = 10;

const PartEffect* largest_removed(const std::vector<PartEffect>& parts) {
  const auto at = std::max_element(parts.begin(), parts.end(), [](const PartEffect& a, const PartEffect& b) {
    return a.removed < b.removed;
  });
  return at == parts.end() ? nullptr : &*at;
}

const PartEffect* slowest_communication(const OperationWhatIf& w) {
  const auto at =
      std::find_if(w.types.begin(), w.types.end(), [](const PartEffect& p) { return p.is_communication; });
  return at == w.types.end() ? nullptr : &*at;  // types are sorted by slowdown
}

std::size_t count_data_ranks(const OperationWhatIf& w) {
  std::set<int> data;
  for (const WorkerEffect& e : w.workers) data.insert(e.role.data);
  return data.size();
}

/// Whether these are one replica, which is the slow one in nearly all of the steps in which one stands out, half of all at least.
bool is_slow_replica(const OperationWhatIf& w, const std::vector<Rank>& ranks) {
  const auto& replicas = w.patterns.replicas;
  if (!replicas || replicas->changes || replicas->most_often < 0 || replicas->share < kAlways ||
      replicas->standing_out < kLeastSteps || 2 * replicas->standing_out < replicas->steps)
    return false;
  return std::all_of(ranks.begin(), ranks.end(), [&](Rank r) {
    return std::any_of(w.workers.begin(), w.workers.end(), [&](const WorkerEffect& e) {
      return e.rank == r && e.role.data == replicas->most_often;
    });
  });
}

/// Whether each of these computes longer than its like in most steps.
bool are_all_slower(const OperationWhatIf& w, const std::vector<Rank>& ranks) {
  if (ranks.empty()) return false;
  return is_slow_replica(w, ranks) || std::all_of(ranks.begin(), ranks.end(), [&](Rank r) {
           return std::any_of(w.patterns.workers.begin(), w.patterns.workers.end(),
                              [&](const SlowerThanPeers& s) { return s.rank == r; });
         });
}

/// The best small set that was tried: one worker, the slowest 3 %, or the culprits where they are few (up to a half where
/// each is slower than its like) and not a whole stage.
CulpritSet few_workers(const OperationWhatIf& w) {
  CulpritSet best;
  for (const WorkerEffect& e : w.workers)
    if (std::isfinite(e.removed) && (best.ranks.empty() || e.removed > best.removed))
      best = {.ranks = {e.rank}, .removed = e.removed};
  if (best.ranks.empty() || w.slowest_workers.removed > best.removed) best = w.slowest_workers;
  const std::size_t most = w.workers.size() / (are_all_slower(w, w.culprits.ranks) ? kHalf : kFewOf);
  if (w.culprits.ranks.size() <= most && w.culprits.removed > best.removed) {
    std::set<int> stages;
    for (const WorkerEffect& e : w.workers)
      if (std::binary_search(w.culprits.ranks.begin(), w.culprits.ranks.end(), e.rank))
        stages.insert(e.role.pipeline);
    const auto of_stage = std::count_if(w.workers.begin(), w.workers.end(), [&](const WorkerEffect& e) {
      return stages.size() == 1 && e.role.pipeline == *stages.begin();
    });
    if (static_cast<std::size_t>(of_stage) != w.culprits.ranks.size()) best = w.culprits;
  }
  return best;
}

std::vector<Rank> ranks_of_stage(const OperationWhatIf& w, int stage) {
  std::vector<Rank> ranks;
  for (const WorkerEffect& e : w.workers)
    if (e.role.pipeline == stage) ranks.push_back(e.rank);
  return ranks;
}

void name_stage(const OperationWhatIf& w, const PartEffect& stage, OperationFinding& f) {
  f.cause = OperationCause::StageImbalance;
  f.stage = stage.index;
  f.ranks = ranks_of_stage(w, stage.index);
  f.is_last_stage = std::all_of(w.stages.begin(), w.stages.end(),
                                [&](const PartEffect& p) { return p.index <= stage.index; });
}

/// Whether each of these is slower than its like over passes, which tell where steps are too few for a test over many ranks.
bool are_slower_in_passes(const OperationWhatIf& w, const std::vector<Rank>& ranks) {
  const auto& told = w.patterns.slower_in_passes;
  return !ranks.empty() && std::all_of(ranks.begin(), ranks.end(), [&](Rank r) {
    return std::find(told.begin(), told.end(), r) != told.end();
  });
}

/// Of fewer than ten steps: whether each of these stands out over its passes, or brings a fifth of the time (a quarter of a step more in
/// every step). Who has no like cannot be asked.
bool few_steps_tell(const OperationWhatIf& w, const CulpritSet& few) {
  constexpr double kHuge = 0.2;
  if (static_cast<std::int64_t>(w.steps.size()) >= kLeastSteps || w.workers.size() <= w.stages.size())
    return true;
  const double gain = few.removed * (1 - 1 / std::max(w.slowdown, 1.0));
  return gain >= kHuge || are_slower_in_passes(w, few.ranks);
}

/// Whose transfers they are, where that is not everybody: a few workers, or a stage.
void locate_transfers(const OperationWhatIf& w, const PartEffect* stage, const CulpritSet& few,
                      const RemovedBy& removed_by, OperationFinding& f) {
  const double bar = kTheirTransfers * f.communication_share;
  if (!few.ranks.empty() && removed_by(few.ranks, true) >= bar) {
    f.ranks = few.ranks;
    std::sort(f.ranks.begin(), f.ranks.end());
  } else if (stage != nullptr) {
    std::vector<Rank> ranks = ranks_of_stage(w, stage->index);
    if (ranks.size() == w.workers.size() || removed_by(ranks, true) < bar) return;
    f.ranks = std::move(ranks);
    f.stage = stage->index;
  }
}

void name_communication(const OperationWhatIf& w, OperationFinding& f) {
  f.cause = OperationCause::Communication;
  const PartEffect* type = slowest_communication(w);
  if (type == nullptr) return;
  f.slowest_type = type->name;
  f.slowest_type_slowdown = type->slowdown;
}

/// A stage that is named already, or all of it, is no second one.
std::optional<OperationFinding> longest_stage(const OperationWhatIf& w) {
  const auto& stages = w.patterns.stages;
  if (w.finding.cause == OperationCause::StageImbalance || w.finding.data_ranks < 2 || stages.size() < 2)
    return std::nullopt;
  const auto longest =
      std::max_element(stages.begin(), stages.end(),
                       [](const StageLength& a, const StageLength& b) { return a.excess < b.excess; });
  const auto part = std::find_if(w.stages.begin(), w.stages.end(),
                                 [&](const PartEffect& p) { return p.index == longest->stage; });
  if (part == w.stages.end() || !w.patterns.is_longer(longest->stage)) return std::nullopt;
  OperationFinding f = w.finding;
  name_stage(w, *part, f);
  f.stage_share = part->removed;
  f.worker_share = 0;
  for (const WorkerEffect& e : w.workers)
    if (e.role.pipeline == longest->stage && std::isfinite(e.removed))
      f.worker_share = std::max(f.worker_share, e.removed);
  if (std::all_of(f.ranks.begin(), f.ranks.end(), [&](Rank r) {
        return std::find(w.finding.ranks.begin(), w.finding.ranks.end(), r) != w.finding.ranks.end();
      }))
    return std::nullopt;
  return f;
}

bool is_slower(const OperationWhatIf& w, Rank r) {
  const auto& passes = w.patterns.slower_in_passes;
  return std::any_of(w.patterns.workers.begin(), w.patterns.workers.end(),
                     [&](const SlowerThanPeers& s) { return s.rank == r; }) ||
         std::find(passes.begin(), passes.end(), r) != passes.end();
}

/// Ranks of a set that bring nine tenths of what it does: from the one that brings least by itself on, each is left out where that holds.
/// Cost: a replay per rank of the set.
std::vector<Rank> without_idle(const OperationWhatIf& w, const RemovedBy& removed_by,
                               std::vector<Rank> ranks) {
  constexpr double kAsMuch = 0.9;
  const double bar = kAsMuch * removed_by(ranks, false);
  const auto alone = [&](Rank r) {
    const auto at =
        std::find_if(w.workers.begin(), w.workers.end(), [&](const WorkerEffect& e) { return e.rank == r; });
    return at != w.workers.end() && std::isfinite(at->removed) ? at->removed : 0;
  };
  std::vector<Rank> tried = ranks;
  std::stable_sort(tried.begin(), tried.end(), [&](Rank a, Rank b) { return alone(a) < alone(b); });
  for (const Rank r : tried) {
    if (ranks.size() == 1) break;
    std::vector<Rank> others = ranks;
    std::erase(others, r);
    if (removed_by(others, false) >= bar) ranks = std::move(others);
  }
  return ranks;
}

/// A set may hold ranks that are as fast as their like and only lie on a slow one's way: where some are slower, only these.
/// Where none is in most steps, whoever brings next to nothing is left out.
void leave_out_innocent(const OperationWhatIf& w, const RemovedBy& removed_by, OperationFinding& f) {
  std::vector<Rank> slower;
  for (const Rank r : f.ranks)
    if (is_slower(w, r)) slower.push_back(r);
  if (slower.empty()) slower = without_idle(w, removed_by, f.ranks);
  if (slower.size() == f.ranks.size()) return;
  f.ranks = std::move(slower);
  for (const WorkerEffect& e : w.workers)
    if (f.ranks.size() == 1 && e.rank == f.ranks.front() && std::isfinite(e.removed))
      f.worker_share = e.removed;
}

/// Where all of a replica are slower than their like, these are one: all of its ranks.
void join_replica(const OperationWhatIf& w, OperationFinding& f) {
  if (f.stages < 2 || f.data_ranks < 2) return;
  const auto data_rank = [&](Rank r) {
    const auto at =
        std::find_if(w.workers.begin(), w.workers.end(), [&](const WorkerEffect& e) { return e.rank == r; });
    return at == w.workers.end() ? -1 : at->role.data;
  };
  const int replica = data_rank(f.ranks.front());
  std::vector<Rank> all;
  for (const WorkerEffect& e : w.workers)
    if (e.role.data == replica) all.push_back(e.rank);
  const bool holds =
      std::all_of(f.ranks.begin(), f.ranks.end(), [&](Rank r) { return data_rank(r) == replica; });
  const auto part = std::find_if(w.data_ranks.begin(), w.data_ranks.end(),
                                 [&](const PartEffect& p) { return p.index == replica; });
  const bool each = std::all_of(all.begin(), all.end(), [&](Rank r) {
    return std::any_of(w.patterns.workers.begin(), w.patterns.workers.end(),
                       [&](const SlowerThanPeers& s) { return s.rank == r; });
  });
  if (!holds || part == w.data_ranks.end() || !each) return;
  f.ranks = std::move(all);
  std::sort(f.ranks.begin(), f.ranks.end());
  f.worker_share = part->removed;
}

}  // namespace

OperationFinding find_operation_cause(const OperationWhatIf& w, double communication_share,
                                      const RemovedBy& removed_by, const OperationWhatIfOptions& options) {
  OperationFinding f;
  const PartEffect* stage = w.stages.size() > 1 ? largest_removed(w.stages) : nullptr;
  const CulpritSet few = few_workers(w);
  f.stage_share = stage == nullptr ? 0 : stage->removed;
  f.worker_share = few.removed;
  f.communication_share = communication_share;
  f.slowdown = w.slowdown;
  f.slow_from = options.slow_from;
  f.data_ranks = static_cast<std::int64_t>(count_data_ranks(w));
  f.stages = static_cast<std::int64_t>(w.stages.size());
  if (w.slowdown < options.slow_from) return f;
  const double wanted = options.explains_from;
  const auto by_own_work = [&](const std::vector<Rank>& ranks, double brings) {
    return removed_by(ranks, false) >= kOwnPart * brings;
  };
  const bool is_stage = f.data_ranks > 1 && f.stage_share >= wanted && w.patterns.is_longer(stage->index) &&
                        f.worker_share < kMostOfStage * f.stage_share &&
                        by_own_work(ranks_of_stage(w, stage->index), f.stage_share);
  const bool is_worker = f.worker_share >= wanted && !is_stage && by_own_work(few.ranks, f.worker_share) &&
                         few_steps_tell(w, few);
  const double compute_share = is_stage ? f.stage_share : is_worker ? f.worker_share : 0;
  if (communication_share >= wanted && communication_share > compute_share) {
    if (w.is_complete()) {
      name_communication(w, f);
      locate_transfers(w, stage, few, removed_by, f);
    }
  } else if (is_stage) {
    name_stage(w, *stage, f);
  } else if (is_worker) {
    f.cause = OperationCause::SlowWorker;
    f.ranks = few.ranks;
    leave_out_innocent(w, removed_by, f);
    join_replica(w, f);
  }
  return f;
}

bool is_slow_all_along(const OperationWhatIf& w) {
  const bool testable = static_cast<std::int64_t>(w.steps.size()) >= kLeastSteps && w.workers.size() > 1 &&
                        w.workers.size() > w.stages.size();
  return !testable || are_all_slower(w, w.finding.ranks) || are_slower_in_passes(w, w.finding.ranks);
}

std::optional<OperationFinding> find_beside_usual(const OperationWhatIf& w, const GainBeside& gain) {
  std::vector<OperationFinding> candidates;
  if (auto stage = longest_stage(w)) candidates.push_back(*std::move(stage));
  for (const SlowerThanPeers& slow : w.patterns.workers) {
    OperationFinding f = w.finding;
    f.cause = OperationCause::SlowWorker;
    f.ranks = {slow.rank};
    for (const WorkerEffect& e : w.workers)
      if (e.rank == slow.rank) f.worker_share = std::isfinite(e.removed) ? e.removed : 0;
    candidates.push_back(std::move(f));
    if (candidates.size() > kMostMore) break;
  }
  std::optional<OperationFinding> best;
  double most = w.finding.slow_from - 1;
  for (OperationFinding& f : candidates)
    if (const double brings = gain(f); brings >= most) {
      most = brings;
      best = std::move(f);
    }
  return best;
}

std::vector<OperationFinding> find_more(const OperationWhatIf& w, const GainBeside& gain) {
  std::vector<OperationFinding> more;
  if (w.finding.cause == OperationCause::None) return more;
  if (auto stage = longest_stage(w); stage && gain(*stage) >= w.finding.slow_from - 1)
    more.push_back(*std::move(stage));
  for (const SlowerThanPeers& slow : w.patterns.workers) {
    if (more.size() >= kMostMore) break;
    const auto& named = w.finding.ranks;
    const bool told = w.finding.cause == OperationCause::SlowWorker &&
                      std::find(named.begin(), named.end(), slow.rank) != named.end();
    const auto at = std::find_if(w.workers.begin(), w.workers.end(),
                                 [&](const WorkerEffect& e) { return e.rank == slow.rank; });
    if (told || at == w.workers.end() || !std::isfinite(at->removed) || at->removed < kWorthMore) continue;
    OperationFinding f = w.finding;
    f.cause = OperationCause::SlowWorker;
    f.stage = -1;
    f.is_last_stage = false;
    f.ranks = {slow.rank};
    f.worker_share = at->removed;
    more.push_back(std::move(f));
  }
  return more;
}

}  // namespace cox::diagnose
