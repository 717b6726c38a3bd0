// SPDX-License-Identifier: Apache-2.0
#include "diagnose/operations/operation_what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "cox/base/number_text.hpp"
#include "cox/base/stats.hpp"
#include "cox/replay/replay.hpp"

#include "diagnose/operations/operation_cause.hpp"
#include "diagnose/operations/operation_repairs.hpp"
#include "diagnose/operations/operation_what_if_model.hpp"

namespace cox::diagnose {
namespace {

constexpr std::int64_t kNoSlowdown = 1000;  // a part of the time that small is none
constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

/// What is usual, per node: one value per type; of collectives by their usual names one per place in the step, since a name
/// stands for all sizes there (buckets, layers, a scalar for the log).
std::vector<Duration> usual_of(const OperationModel& m, const OperationReference& reference) {
  using Kind = std::pair<std::uint32_t, std::uint32_t>;
  const auto kind_of = [&](std::size_t i) {
    const bool by_place = m.types[m.type[i]].role == OperationRole::Synchronization;
    return Kind{m.type[i], by_place ? m.ordinal[i] : 0};
  };
  std::map<Kind, std::vector<double>> samples;
  for (std::size_t i = 0; i < m.original.size(); ++i)
    if (m.type[i] != kNoType) samples[kind_of(i)].push_back(static_cast<double>(m.original[i].count()));
  std::map<Kind, Duration> usual;
  for (auto& [kind, s] : samples) {
    double value = 0;
    if (reference.kind == OperationReference::Kind::Quantile)
      value = quantile_in_place(s, reference.quantile);
    else if (m.types[kind.first].is_communication)
      value = median_in_place(s);
    else
      value = std::accumulate(s.begin(), s.end(), 0.0) / static_cast<double>(s.size());
    usual[kind] = Duration(std::llround(value));
  }
  std::vector<Duration> out(m.original.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    if (m.type[i] != kNoType) out[i] = usual[kind_of(i)];
  return out;
}

/// Answers "what if" with one replay each, and counts what that costs.
class Simulator {
 public:
  Simulator(const OperationModel& model, const model::Program& program, const OperationWhatIfOptions& options)
      : m_(model), program_(program), options_(options), ideal_(usual_of(model, options.reference)) {
    original_time_ = time(m_.original);
    ideal_time_ = time(ideal_);
  }

  [[nodiscard]] const OperationModel& model() const { return m_; }
  [[nodiscard]] const model::Program& program() const { return program_; }
  [[nodiscard]] const OperationWhatIfOptions& options() const { return options_; }
  [[nodiscard]] const std::vector<Duration>& ideal() const { return ideal_; }
  [[nodiscard]] Duration original_time() const { return original_time_; }
  [[nodiscard]] Duration ideal_time() const { return ideal_time_; }

  /// Mean time of a step.
  Duration time(std::span<const Duration> durations) {
    spent_ += m_.operations;
    return replay::makespan(m_.graph, durations, finish_) / static_cast<std::int64_t>(m_.steps.size());
  }
  /// ... where the operations that `pick(node)` picks last as in `other`, and the rest as in `base`.
  template <class Pick>
  Duration time_mixed(const std::vector<Duration>& base, const std::vector<Duration>& other, Pick&& pick) {
    mixed_ = base;
    for (std::size_t i = 0; i < mixed_.size(); ++i)
      if (m_.type[i] != kNoType && pick(i)) mixed_[i] = other[i];
    return time(mixed_);
  }
  template <class Pick>
  Duration time_removed(Pick&& pick) {
    return time_mixed(m_.original, ideal_, pick);
  }
  template <class Pick>
  Duration time_added(Pick&& pick) {
    return time_mixed(ideal_, m_.original, pick);
  }

  /// Share of the slowdown that is gone at this time.
  [[nodiscard]] double removed(Duration t) const { return share(original_time_ - t); }
  [[nodiscard]] double added(Duration t) const { return share(t - ideal_time_); }

  /// Whether so many more replays are within the budget.
  [[nodiscard]] bool affords(std::int64_t replays) const {
    return replays <= (options_.budget - spent_) / std::max<std::int64_t>(1, m_.operations);
  }
  [[nodiscard]] std::int64_t affordable() const {
    return std::max<std::int64_t>(0, (options_.budget - spent_) / std::max<std::int64_t>(1, m_.operations));
  }

 private:
  [[nodiscard]] double share(Duration part) const {
    // Of a slowdown that is next to nothing no part can be told.
    const Duration whole = original_time_ - ideal_time_;
    return whole <= original_time_ / kNoSlowdown ? 0 : ratio(part, whole);
  }

  const OperationModel& m_;
  const model::Program& program_;
  const OperationWhatIfOptions& options_;
  std::vector<Duration> ideal_;
  std::vector<Duration> mixed_;
  std::vector<Duration> finish_;
  Duration original_time_{};
  Duration ideal_time_{};
  std::int64_t spent_ = 0;
};

// --- parts -----------------------------------------------------------------------------------------------

template <class Pick>
PartEffect effect_of(Simulator& sim, std::string name, int index, Pick&& pick) {
  PartEffect e{.name = std::move(name), .index = index};
  const Duration added = sim.time_added(pick);
  e.slowdown = sim.ideal_time() > Duration::zero() ? ratio(added, sim.ideal_time()) : 1;
  e.added = sim.added(added);
  e.removed = sim.removed(sim.time_removed(pick));
  return e;
}

void add_parts(Simulator& sim, OperationWhatIf& w) {
  const OperationModel& m = sim.model();
  std::vector<bool> has_operations(m.merged.size(), false);
  for (const std::uint32_t t : m.type)
    if (t != kNoType) has_operations[m.types[t].merged] = true;
  for (std::uint32_t k = 0; k < m.merged.size(); ++k) {
    if (!has_operations[k]) continue;
    w.types.push_back(
        effect_of(sim, m.merged[k], -1, [&](std::size_t i) { return m.types[m.type[i]].merged == k; }));
    for (const OperationModel::Type& t : m.types)
      if (t.merged == k) w.types.back().is_communication = t.is_communication;
  }
  std::map<int, int> stages;
  std::map<int, int> data;
  for (const model::ProgramRank& r : sim.program().ranks) {
    ++stages[r.role.pipeline];
    ++data[r.role.data];
  }
  const auto role = [&](std::size_t i) -> const model::Role& { return sim.program().ranks[m.rank[i]].role; };
  if (sim.affords(2 * static_cast<std::int64_t>(stages.size()))) {
    for (const auto& [stage, count] : stages)
      if (stage >= 0)
        w.stages.push_back(effect_of(sim, fmt::format("stage {}", stage), stage,
                                     [&, s = stage](std::size_t i) { return role(i).pipeline == s; }));
  } else {
    w.notes.push_back(fmt::format("{} stages are too many to try each within the budget", stages.size()));
  }
  if (sim.affords(2 * static_cast<std::int64_t>(data.size()))) {
    for (const auto& [rank, count] : data)
      if (rank >= 0)
        w.data_ranks.push_back(effect_of(sim, fmt::format("data rank {}", rank), rank,
                                         [&, d = rank](std::size_t i) { return role(i).data == d; }));
  } else {
    w.notes.push_back(fmt::format("{} data ranks are too many to try each within the budget", data.size()));
  }
}

/// Infinite where it is not known, so that a smaller known one counts.
double slowdown_of(const std::vector<PartEffect>& parts, int index) {
  for (const PartEffect& p : parts)
    if (p.index == index) return p.slowdown;
  return std::numeric_limits<double>::infinity();
}

void add_workers(Simulator& sim, OperationWhatIf& w) {
  const OperationModel& m = sim.model();
  const std::vector<model::ProgramRank>& ranks = sim.program().ranks;
  const bool affords_all = sim.affords(2 * static_cast<std::int64_t>(ranks.size()));
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    WorkerEffect e{.rank = ranks[r].rank, .role = ranks[r].role, .removed = kNotKnown, .added = kNotKnown};
    e.slowdown = std::min(slowdown_of(w.data_ranks, e.role.data), slowdown_of(w.stages, e.role.pipeline));
    const bool has_proxy = std::isfinite(e.slowdown);
    if (!has_proxy) e.slowdown = 1;
    if (affords_all) {
      const auto is_mine = [&](std::size_t i) { return m.rank[i] == r; };
      e.removed = sim.removed(sim.time_removed(is_mine));
      const Duration alone = sim.time_added(is_mine);
      e.added = sim.added(alone);
      if (!has_proxy && sim.ideal_time() > Duration::zero()) e.slowdown = ratio(alone, sim.ideal_time());
    }
    w.workers.push_back(e);
  }
  if (!affords_all)
    w.notes.push_back(
        fmt::format("{} ranks are too many to try each alone within the budget; their slowdown is told "
                    "from their stage and data rank",
                    ranks.size()));
}

// --- sets of workers -------------------------------------------------------------------------------------

class SetSearch {
 public:
  explicit SetSearch(Simulator& sim) : sim_(sim), in_set_(sim.program().ranks.size(), false) {}

  CulpritSet make(const std::vector<std::uint32_t>& tracks, Duration t) const {
    CulpritSet set{.ranks = {}, .step_time = t, .removed = sim_.removed(t)};
    for (const std::uint32_t r : tracks) set.ranks.push_back(sim_.program().ranks[r].rank);
    return set;
  }
  Duration time_of(const std::vector<std::uint32_t>& tracks) {
    for (const std::uint32_t r : tracks) in_set_[r] = true;
    const Duration t = sim_.time_removed([&](std::size_t i) { return in_set_[sim_.model().rank[i]]; });
    for (const std::uint32_t r : tracks) in_set_[r] = false;
    return t;
  }

  /// Takes the rank that helps most, then the one that helps most with it, and so on: also past gains of
  /// nothing, because two slow ranks of one stage show only together.
  std::vector<CulpritSet> greedy(std::vector<std::uint32_t> candidates, int largest) {
    std::vector<CulpritSet> out;
    std::vector<std::uint32_t> taken;
    while (!candidates.empty() && static_cast<int>(taken.size()) < largest) {
      if (!sim_.affords(static_cast<std::int64_t>(candidates.size()))) break;
      std::size_t best = 0;
      Duration best_time = Duration::max();
      for (std::size_t c = 0; c < candidates.size(); ++c) {
        taken.push_back(candidates[c]);
        const Duration t = time_of(taken);
        taken.pop_back();
        if (t < best_time) {
          best_time = t;
          best = c;
        }
      }
      taken.push_back(candidates[best]);
      candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(best));
      out.push_back(make(taken, best_time));
    }
    return out;
  }

  /// The best set of each size, of all sets.
  std::vector<CulpritSet> exhaustive() {
    const auto ranks = static_cast<unsigned>(in_set_.size());
    std::vector<Duration> best_time(ranks + 1, Duration::max());
    std::vector<std::uint32_t> best(ranks + 1, 0);
    for (std::uint32_t set = 1; set < (std::uint32_t{1} << ranks); ++set) {
      for (unsigned r = 0; r < ranks; ++r) in_set_[r] = ((set >> r) & 1U) != 0;
      const Duration t = sim_.time_removed([&](std::size_t i) { return in_set_[sim_.model().rank[i]]; });
      const auto size = static_cast<std::size_t>(std::popcount(set));
      if (t < best_time[size]) {
        best_time[size] = t;
        best[size] = set;
      }
    }
    std::fill(in_set_.begin(), in_set_.end(), false);
    std::vector<CulpritSet> out;
    for (std::size_t size = 1; size <= ranks; ++size) {
      std::vector<std::uint32_t> tracks;
      for (unsigned r = 0; r < ranks; ++r)
        if (((best[size] >> r) & 1U) != 0) tracks.push_back(r);
      out.push_back(make(tracks, best_time[size]));
    }
    return out;
  }

 private:
  Simulator& sim_;
  std::vector<bool> in_set_;
};

/// Tracks by what they seem worth: by their own removed share where known, else by their slowdown.
std::vector<std::uint32_t> by_promise(const OperationWhatIf& w) {
  std::vector<std::uint32_t> order(w.workers.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return w.workers[a].slowdown > w.workers[b].slowdown;
  });
  return order;
}

void add_sets(Simulator& sim, OperationWhatIf& w) {
  const OperationWhatIfOptions& options = sim.options();
  SetSearch search(sim);
  const std::vector<std::uint32_t> order = by_promise(w);
  const auto ranks = static_cast<std::int64_t>(order.size());

  constexpr std::int64_t kPercent = 3;  // equation 5 of the paper
  std::vector<std::uint32_t> slowest(order.begin(), order.begin() + (ranks * kPercent + 99) / 100);
  std::sort(slowest.begin(), slowest.end());
  w.slowest_workers = search.make(slowest, search.time_of(slowest));
  std::vector<bool> is_slowest(order.size(), false);
  for (const std::uint32_t r : slowest) is_slowest[r] = true;
  w.slowest_workers_added =
      sim.added(sim.time_added([&](std::size_t i) { return is_slowest[sim.model().rank[i]]; }));

  const bool tries_all =
      ranks <= std::min(options.exhaustive_ranks, 24) && sim.affords(std::int64_t{1} << ranks);
  if (tries_all) w.exhaustive = search.exhaustive();
  const std::int64_t rounds = std::min<std::int64_t>(ranks, options.largest_set);
  const std::int64_t width = rounds > 0 ? std::min(ranks, sim.affordable() / rounds) : 0;
  if (width < ranks)
    w.notes.push_back(
        fmt::format("sets of ranks are sought among the {} ranks of the slowest places only: the budget "
                    "does not reach further",
                    width));
  w.greedy = search.greedy({order.begin(), order.begin() + width}, static_cast<int>(rounds));
}

/// The smallest set that explains the slowdown, of all that were tried.
void choose_culprits(const Simulator& sim, OperationWhatIf& w) {
  const double wanted = sim.options().explains_from;
  if (w.slowdown < sim.options().slow_from) return;
  std::vector<CulpritSet> sets = w.exhaustive;
  sets.insert(sets.end(), w.greedy.begin(), w.greedy.end());
  const auto add_group = [&](const std::vector<PartEffect>& parts, auto place) {
    for (const PartEffect& p : parts) {
      CulpritSet set{.ranks = {},
                     .step_time = Duration(
                         std::llround(static_cast<double>(w.original.count()) -
                                      p.removed * static_cast<double>((w.original - w.ideal).count()))),
                     .removed = p.removed};
      for (const WorkerEffect& e : w.workers)
        if (place(e.role) == p.index) set.ranks.push_back(e.rank);
      sets.push_back(std::move(set));
    }
  };
  add_group(w.stages, [](const model::Role& r) { return r.pipeline; });
  add_group(w.data_ranks, [](const model::Role& r) { return r.data; });
  const CulpritSet* best = nullptr;
  for (const CulpritSet& s : sets) {
    if (s.removed < wanted || s.ranks.size() == w.workers.size()) continue;
    if (best == nullptr || s.ranks.size() < best->ranks.size() ||
        (s.ranks.size() == best->ranks.size() && s.removed > best->removed))
      best = &s;
  }
  if (best == nullptr) return;
  w.culprits = *best;
  std::sort(w.culprits.ranks.begin(), w.culprits.ranks.end());
}

// --- the rest --------------------------------------------------------------------------------------------

void add_path(const Simulator& sim, OperationWhatIf& w) {
  const OperationModel& m = sim.model();
  const replay::OperationTimes timeline = replay::replay(m.graph, m.original);
  const std::vector<model::OperationIndex> path = replay::critical_path(m.graph, m.original, timeline);
  std::vector<double> by_type(m.merged.size(), 0);
  std::map<int, double> by_stage;
  std::map<int, double> by_data;
  const double whole = std::max(1.0, static_cast<double>(timeline.makespan.count()));
  for (const model::OperationIndex i : path) {
    if (m.type[i] == kNoType) continue;
    const double share = static_cast<double>(std::max(Duration::zero(), m.original[i]).count()) / whole;
    const WorkerEffect& worker = w.workers[m.rank[i]];
    w.workers[m.rank[i]].on_path += share;
    by_type[m.types[m.type[i]].merged] += share;
    by_stage[worker.role.pipeline] += share;
    by_data[worker.role.data] += share;
  }
  for (PartEffect& p : w.stages) p.on_path = by_stage[p.index];
  for (PartEffect& p : w.data_ranks) p.on_path = by_data[p.index];
  std::vector<std::uint32_t> classes(m.type.size());
  const auto joins = static_cast<std::uint32_t>(m.merged.size());
  for (std::size_t i = 0; i < classes.size(); ++i)
    classes[i] = m.type[i] == kNoType ? joins : m.types[m.type[i]].merged;
  const std::vector<double> counts = replay::sensitivities(path, classes, m.merged.size() + 1);
  for (PartEffect& p : w.types)
    for (std::size_t k = 0; k < m.merged.size(); ++k)
      if (m.merged[k] == p.name) {
        p.on_path = by_type[k];
        w.sensitivities.emplace_back(p.name, counts[k] / static_cast<double>(m.steps.size()));
      }
}

void add_steps(const Simulator& sim, OperationWhatIf& w) {
  const OperationModel& m = sim.model();
  const replay::OperationTimes original = replay::replay(m.graph, m.original);
  const replay::OperationTimes ideal = replay::replay(m.graph, sim.ideal());
  Welford slowdowns;
  double measured = 0;
  for (std::size_t s = 0; s < m.steps.size(); ++s) {
    const auto length = [&](const replay::OperationTimes& t) {
      return t.finish[m.step_end[s]] - (s == 0 ? Duration::zero() : t.finish[m.step_end[s - 1]]);
    };
    w.steps.push_back({m.steps[s], m.measured[s], length(original), length(ideal)});
    if (w.steps.back().ideal > Duration::zero())
      slowdowns.add(ratio(w.steps.back().original, w.steps.back().ideal));
    measured += static_cast<double>(m.measured[s].count());
  }
  w.measured = Duration(std::llround(measured / static_cast<double>(m.steps.size())));
  w.slowdown_error =
      m.steps.size() < 2 ? 0 : slowdowns.stddev() / std::sqrt(static_cast<double>(m.steps.size()));
}

void add_fabric(Simulator& sim, OperationWhatIf& w) {
  const OperationModel& m = sim.model();
  const std::vector<Duration> nothing(m.original.size(), Duration::zero());
  const auto without = [&](auto pick) {
    const Duration t =
        sim.time_mixed(m.original, nothing, [&](std::size_t i) { return pick(m.types[m.type[i]]); });
    return t > Duration::zero() ? ratio(sim.original_time(), t) : 1;
  };
  w.fabric.pipeline_free = without([](const OperationModel::Type& t) { return is_pipeline_message(t.role); });
  w.fabric.data_free = without([](const OperationModel::Type& t) { return is_data_collective(t.role); });
  w.fabric.communication_free = without([](const OperationModel::Type& t) { return t.is_communication; });
}

void add_references(Simulator& sim, OperationWhatIf& w) {
  const auto add = [&](std::string name, const OperationReference& reference) {
    const Duration ideal = sim.time(usual_of(sim.model(), reference));
    w.references.push_back({std::move(name), ideal, ideal > Duration::zero() ? ratio(w.original, ideal) : 1});
  };
  add("mean of compute, median of communication", {});
  for (const double q : sim.options().quantiles)
    add(q == 0.5 ? std::string("median") : percent(q, PartDigits::AsSet) + " quantile",
        {.kind = OperationReference::Kind::Quantile, .quantile = q});
}

double share_of_communication(Simulator& sim) {
  const OperationModel& m = sim.model();
  return sim.removed(sim.time_removed([&](std::size_t i) { return m.types[m.type[i]].is_communication; }));
}

/// By place in the program's ranks: whether it is one of these.
std::vector<bool> mask_of(const model::Program& program, const std::vector<Rank>& ranks) {
  std::vector<bool> mask;
  mask.reserve(program.ranks.size());
  for (const model::ProgramRank& r : program.ranks)
    mask.push_back(std::find(ranks.begin(), ranks.end(), r.rank) != ranks.end());
  return mask;
}

RemovedBy removed_by(Simulator& sim) {
  return [&sim](const std::vector<Rank>& ranks, bool communication) {
    const OperationModel& m = sim.model();
    const std::vector<bool> meant = mask_of(sim.program(), ranks);
    return sim.removed(sim.time_removed([&](std::size_t i) {
      return meant[m.rank[i]] && m.types[m.type[i]].is_communication == communication;
    }));
  };
}

/// Who is named as slow is nobody's like.
std::vector<Rank> slow_workers(const OperationWhatIf& w) {
  std::vector<Rank> named;
  for_each_finding(w, [&](const OperationFinding& f) {
    if (f.cause == OperationCause::SlowWorker) named.insert(named.end(), f.ranks.begin(), f.ranks.end());
  });
  return named;
}

/// What putting this right brings beyond what `w.finding` does.
double brought_beside(const OperationRepairs& repairs, const OperationWhatIf& w,
                      const OperationFinding& other) {
  std::vector<Rank> named = slow_workers(w);
  if (other.cause == OperationCause::SlowWorker)
    named.insert(named.end(), other.ranks.begin(), other.ranks.end());
  std::vector<Duration> durations = repairs.model().original;
  if (w.finding.cause != OperationCause::None && !repairs.put_right(w.finding, named, durations)) return 0;
  const double before = repairs.gain(durations);
  return repairs.put_right(other, named, durations) ? repairs.gain(durations) - before : 0;
}

/// What fixing each brings alone.
void add_gains(const OperationRepairs& repairs, OperationWhatIf& w) {
  const std::vector<Rank> named = slow_workers(w);
  const auto add = [&](OperationFinding& f) {
    std::vector<Duration> durations = repairs.model().original;
    if (repairs.put_right(f, named, durations)) f.gain = repairs.gain(durations);
  };
  if (w.original <= Duration::zero()) return;
  add(w.finding);
  for (OperationFinding& more : w.more) add(more);
}

}  // namespace

const char* name_of(OperationCause c) {
  switch (c) {
    case OperationCause::None:
      return "none";
    case OperationCause::StageImbalance:
      return "stage_imbalance";
    case OperationCause::SlowWorker:
      return "slow_worker";
    case OperationCause::Communication:
      return "communication";
  }
  return "none";
}

Result<OperationWhatIf> what_if_operations(const model::Program& program,
                                           const OperationWhatIfOptions& options) {
  COX_TRY(OperationModel model, build_operation_model(program));
  Simulator sim(model, program, options);
  OperationWhatIf w;
  w.notes = model.notes;
  w.operations = model.operations;
  w.meetings = model.meetings;
  if (model.collectives > 0)
    w.short_share = static_cast<double>(model.short_collectives) / static_cast<double>(model.collectives);
  w.original = sim.original_time();
  w.ideal = sim.ideal_time();
  w.slowdown = w.ideal > Duration::zero() ? ratio(w.original, w.ideal) : 1;
  add_steps(sim, w);
  if (w.original > Duration::zero() && w.measured > Duration::zero()) {
    w.launch = ratio(w.measured, w.original);
    w.fidelity = ratio(w.original, w.measured) - 1;
  }
  w.is_faithful = std::abs(w.fidelity) <= options.fidelity_limit;
  add_parts(sim, w);
  add_workers(sim, w);
  add_path(sim, w);
  std::stable_sort(w.types.begin(), w.types.end(),
                   [](const PartEffect& a, const PartEffect& b) { return a.slowdown > b.slowdown; });
  add_fabric(sim, w);
  add_references(sim, w);
  add_sets(sim, w);
  choose_culprits(sim, w);
  w.patterns = find_compute_patterns(program);
  w.finding = find_operation_cause(w, share_of_communication(sim), removed_by(sim), options);
  auto repairs = std::make_shared<OperationRepairs>(std::move(model), program, sim.ideal());
  if (w.finding.cause == OperationCause::None && w.finding.data_ranks > 1 && w.is_complete())
    if (auto found =
            find_beside_usual(w, [&](const OperationFinding& f) { return brought_beside(*repairs, w, f); }))
      w.finding = *std::move(found);
  w.more = find_more(w, [&](const OperationFinding& f) { return brought_beside(*repairs, w, f); });
  add_gains(*repairs, w);
  w.repairs = std::move(repairs);
  return w;
}

}  // namespace cox::diagnose
