// SPDX-License-Identifier: Apache-2.0
#include "diagnose/stall/hang.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostStalls = 256;
constexpr std::size_t kMostLastSeen = 16;
constexpr Duration kLeastBar = 1s;
constexpr Duration kBarWithoutHistory = 10s;
constexpr int kTimesUsual = 3;

class StallFinder {
 public:
  StallFinder(const Matched& matched, const OpenCalls& open, const LastLook& look,
              const std::vector<Mismatch>& mismatches)
      : matched_(matched), open_(open), look_(look), mismatches_(mismatches), present_(look.present()) {}

  Stalls find() {
    std::set<std::int32_t> in_cycle;
    for (const auto& cycle : find_cycles(open_)) {
      all_.push_back(cycle_stall(cycle));
      in_cycle.insert(cycle.begin(), cycle.end());
    }
    for (std::size_t o = 0; o < open_.operations.size(); ++o)
      if (!in_cycle.contains(static_cast<std::int32_t>(o))) all_.push_back(operation_stall(o));
    const auto key = [](const Stall& s) { return std::tuple{s.consequence, !s.hung, s.since}; };
    std::stable_sort(all_.begin(), all_.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    Stalls out;
    out.more = open_.not_looked_at;
    if (all_.size() > kMostStalls) {
      out.more += static_cast<std::int64_t>(all_.size() - kMostStalls);
      all_.resize(kMostStalls);
    }
    for (Stall& stall : all_) describe(stall);
    out.all = std::move(all_);
    return out;
  }

 private:
  [[nodiscard]] Rank rank(std::int32_t index) const { return matched_.rank(static_cast<std::size_t>(index)); }

  [[nodiscard]] std::vector<Rank> ranks(const std::vector<std::int32_t>& indices) const {
    std::vector<Rank> out;
    out.reserve(indices.size());
    for (const std::int32_t i : indices) out.push_back(rank(i));
    return out;
  }

  [[nodiscard]] StalledCall call_of(const OpenOperation& op) const {
    return {.call = look_.name(op),
            .waiting = ranks(op.inside),
            .missing = ranks(op.missing),
            .left = op.left,
            .not_recorded = op.not_recorded,
            .unnamed = op.unnamed,
            .since = op.since};
  }

  /// Since when, how long, and what would still be usual for the one who waits longest.
  void measure(Stall& stall, Duration since, std::int32_t first) {
    stall.since = since;
    stall.waited = positive_part(minus_clamped(present_.at, since));
    auto [at, fresh] = usual_.try_emplace(first);
    if (fresh) at->second = look_.longest_usual(static_cast<std::size_t>(first));
    stall.bar = kBarWithoutHistory;
    if (at->second) {
      const bool huge = *at->second > Duration::max() / kTimesUsual;
      stall.bar = std::max(kLeastBar, huge ? Duration::max() : *at->second * kTimesUsual);
    }
    stall.hung = stall.waited >= stall.bar;
  }

  /// Whether the process will not go on by itself.
  [[nodiscard]] bool is_out(std::int32_t index) const {
    StateSource source{};
    switch (look_.state(static_cast<std::size_t>(index), source)) {
      case ProcessState::Stopped:
      case ProcessState::Gone:
      case ProcessState::Ended:
      case ProcessState::Silent:
        return true;
      default:
        return false;
    }
  }

  [[nodiscard]] std::vector<std::int32_t> those_out(const std::vector<std::int32_t>& indices) const {
    std::vector<std::int32_t> out;
    std::copy_if(indices.begin(), indices.end(), std::back_inserter(out), [&](auto i) { return is_out(i); });
    return out;
  }

  Stall cycle_stall(const std::vector<std::int32_t>& cycle) {
    Stall stall;
    std::set<std::int32_t> comms;
    bool peers = false;
    bool holds = true;
    const OpenOperation* oldest = nullptr;
    const OpenOperation* fewest = nullptr;
    for (const std::int32_t o : cycle) {
      const OpenOperation& op = open_.operations[static_cast<std::size_t>(o)];
      stall.calls.push_back(call_of(op));
      comms.insert(op.comm);
      peers = peers || op.point_to_point;
      holds = holds && model::synchronizes_all(op.kind);
      if (oldest == nullptr || op.since < oldest->since) oldest = &op;
      if (fewest == nullptr || op.inside.size() < fewest->inside.size()) fewest = &op;
    }
    stall.kind = !peers && comms.size() > 1 ? StallKind::OrderMismatch : StallKind::WaitCycle;
    measure(stall, oldest->since, oldest->first);
    stall.hung = stall.hung || holds;
    if (stall.kind == StallKind::OrderMismatch && !is_tie(cycle, fewest->inside.size()))
      stall.ranks = ranks(fewest->inside);
    return stall;
  }

  /// Whether no side is smaller than all others, so that nobody can be called the odd one.
  [[nodiscard]] bool is_tie(const std::vector<std::int32_t>& cycle, std::size_t fewest) const {
    return std::count_if(cycle.begin(), cycle.end(), [&](std::int32_t o) {
             return open_.operations[static_cast<std::size_t>(o)].inside.size() == fewest;
           }) != 1;
  }

  Stall operation_stall(std::size_t o) {
    const OpenOperation& op = open_.operations[o];
    Stall stall;
    stall.calls.push_back(call_of(op));
    measure(stall, op.since, op.first);
    const bool nobody_known = op.missing.empty() && (!op.not_recorded.empty() || op.unnamed > 0);
    if (!op.missing.empty()) {
      stall.kind = op.point_to_point ? StallKind::PeerWait : StallKind::MissingRank;
      blame_missing(op, stall);
    } else if (nobody_known) {
      stall.kind = StallKind::NotRecorded;
    } else if (const Mismatch* dispute = dispute_about(op);
               dispute != nullptr && those_out(op.inside).empty()) {
      stall.kind = StallKind::Mismatch;
      stall.ranks = dispute->ranks;
    } else {
      const auto out = those_out(op.inside);
      // Messages from anybody are not numbered alike on both sides: that nobody is missing is then not known.
      const StallKind nobody = op.point_to_point ? StallKind::NotRecorded : StallKind::AllEntered;
      stall.kind = out.empty() ? nobody : StallKind::StuckInside;
      stall.ranks = ranks(out);
      // Where all of them are silent the job ended as a whole.
      stall.hung = stall.hung || (!out.empty() && (out.size() < op.inside.size() || !op.left.empty()));
    }
    return stall;
  }

  /// What members disagree on in this very operation; null where they agree.
  [[nodiscard]] const Mismatch* dispute_about(const OpenOperation& op) const {
    const CommId comm = matched_.communicator(op.comm).id;
    for (const Mismatch& m : mismatches_)
      if (!op.point_to_point && m.comm == comm && (m.first_seq == op.seq || m.last_seq == op.seq)) return &m;
    return nullptr;
  }

  void blame_missing(const OpenOperation& op, Stall& stall) {
    std::vector<std::int32_t> free;
    for (const std::int32_t m : op.missing)
      if (!open_.ranks[static_cast<std::size_t>(m)].still) free.push_back(m);
    // One that stands still in a call that nothing names may be held up by those that do not.
    if (free.empty())
      for (const std::int32_t m : op.missing)
        if (open_.ranks[static_cast<std::size_t>(m)].operations.empty()) free.push_back(m);
    stall.consequence = free.empty();
    stall.ranks = ranks(stall.consequence ? op.missing : free);
    const bool waiters_go_on =
        std::any_of(op.inside.begin(), op.inside.end(), [&](auto i) { return !is_out(i); });
    // Of a job that failed this is how it ended, where nobody had waited for long.
    const bool is_the_end = !present_.live && matched_.info().exit_status > 0 && stall.waited < kLeastBar;
    if (waiters_go_on && !is_the_end && !those_out(free).empty()) stall.hung = true;
  }

  void describe(Stall& stall) {
    stall.since_utc = utc_of(matched_, stall.since);
    std::vector<Rank> told = stall.ranks;
    if (told.empty() && stall.kind == StallKind::WaitCycle)
      for (const StalledCall& call : stall.calls)
        told.insert(told.end(), call.waiting.begin(), call.waiting.end());
    for (const Rank r : told) {
      if (stall.last_seen.size() >= kMostLastSeen) break;
      stall.last_seen.push_back(seen(r));
    }
  }

  const LastSeen& seen(Rank r) {
    const auto index = matched_.index_of(r);
    const auto [at, fresh] = seen_.try_emplace(index);
    if (fresh) at->second = look_.at(static_cast<std::size_t>(index), open_);

    return at->second;
  }

  const Matched& matched_;
  const OpenCalls& open_;
  const LastLook& look_;
  const std::vector<Mismatch>& mismatches_;
  Present present_;
  std::vector<Stall> all_;
  std::map<std::int32_t, std::optional<Duration>> usual_;
  std::map<std::int32_t, LastSeen> seen_;
};

}  // namespace

bool Trouble::any() const {
  return !mismatches.empty() ||
         std::any_of(stalls.begin(), stalls.end(), [](const Stall& s) { return s.hung; });
}

const char* name_of(ProcessState s) {
  switch (s) {
    case ProcessState::Unknown:
      return "unknown";
    case ProcessState::Running:
      return "running";
    case ProcessState::Sleeping:
      return "sleeping";
    case ProcessState::Stopped:
      return "stopped";
    case ProcessState::Gone:
      return "gone";
    case ProcessState::Ended:
      return "ended";
    case ProcessState::Silent:
      return "silent";
  }
  return "unknown";
}

const char* name_of(StateSource s) {
  switch (s) {
    case StateSource::None:
      return "none";
    case StateSource::Machine:
      return "machine";
    case StateSource::Samples:
      return "samples";
    case StateSource::Record:
      return "record";
  }
  return "none";
}

const char* name_of(StallKind k) {
  switch (k) {
    case StallKind::MissingRank:
      return "missing_rank";
    case StallKind::StuckInside:
      return "stuck_inside";
    case StallKind::AllEntered:
      return "all_entered";
    case StallKind::PeerWait:
      return "peer_wait";
    case StallKind::OrderMismatch:
      return "order_mismatch";
    case StallKind::WaitCycle:
      return "wait_cycle";
    case StallKind::Mismatch:
      return "mismatch";
    case StallKind::NotRecorded:
      return "not_recorded";
  }
  return "not_recorded";
}

Stalls find_stalls(const Matched& matched, const OpenCalls& open, const LastLook& look,
                   const std::vector<Mismatch>& mismatches) {
  if (open.operations.empty()) return {};
  return StallFinder(matched, open, look, mismatches).find();
}

}  // namespace cox::diagnose
