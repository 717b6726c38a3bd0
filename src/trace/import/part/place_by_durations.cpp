// SPDX-License-Identifier: Apache-2.0
#include "trace/import/part/place_by_durations.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/import/bytes/saturating_time.hpp"

namespace cox::trace {
namespace {

/// Operations of one Run whose members arrive one by one.
class Placing {
 public:
  explicit Placing(Run& run)
      : run_(run), at_(run.ranks.size(), 0), free_(run.ranks.size(), Duration::zero()) {
    for (const RankTrack& t : run.ranks)
      for (std::size_t i = 0; i < t.events.size(); ++i)
        if (t.events.kind[i] == EventKind::Collective) ++ops_[key(t.events, i)].members;
  }

  void run() {
    for (std::size_t r = 0; r < at_.size(); ++r) arrive(r);
    while (!waiting_.empty() || !ready_.empty()) {
      if (ready_.empty()) ready_.push_back(stuck());
      const std::uint64_t op = ready_.back();
      ready_.pop_back();
      place(op);
    }
  }

 private:
  struct Op {
    std::int32_t members = 0;
    std::vector<std::size_t> here;  // ranks that stand before it
  };

  static std::uint64_t key(const EventColumns& e, std::size_t i) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(e.comm[i].value())) << 32) | e.seq[i];
  }

  /// Lets a rank go on until its next collective; everything between keeps its length.
  void arrive(std::size_t r) {
    EventColumns& e = run_.ranks[r].events;
    for (; at_[r] < e.size(); ++at_[r]) {
      const std::size_t i = at_[r];
      if (e.kind[i] == EventKind::Collective && e.comm[i] != kNoComm) {
        const std::uint64_t k = key(e, i);
        Op& op = ops_[k];
        if (op.here.empty()) waiting_.insert({r, k});
        op.here.push_back(r);
        if (static_cast<std::int32_t>(op.here.size()) == op.members) ready_.push_back(k);
        return;
      }
      const Duration length = length_of(e, i);
      e.begin[i] = free_[r];
      if (e.end[i] != kStillRunning) e.end[i] = free_[r] = saturating_sum(free_[r], length);
    }
  }

  /// Where gaps leave every operation short of a member: that of the lowest rank goes on without.
  [[nodiscard]] std::uint64_t stuck() const { return waiting_.begin()->second; }

  void place(std::uint64_t k) {
    Op& op = ops_[k];
    if (op.here.empty()) return;
    std::vector<std::size_t> members = std::move(op.here);
    op.here.clear();
    op.members -= static_cast<std::int32_t>(members.size());
    waiting_.erase({members.front(), k});
    Duration exit{};
    for (const std::size_t r : members) exit = std::max(exit, saturating_sum(free_[r], length(r)));
    for (const std::size_t r : members) {
      EventColumns& e = run_.ranks[r].events;
      const std::size_t i = at_[r]++;
      const Duration d = length_of(e, i);
      e.begin[i] = std::max(exit - d, free_[r]);  // later only where the sum above was too long to hold
      if (e.end[i] != kStillRunning) e.end[i] = exit;
      free_[r] = exit;
    }
    for (const std::size_t r : members) arrive(r);
  }

  static Duration length_of(const EventColumns& e, std::size_t i) {
    return e.end[i] == kStillRunning ? Duration::zero() : saturating_difference(e.end[i], e.begin[i]);
  }
  [[nodiscard]] Duration length(std::size_t r) const { return length_of(run_.ranks[r].events, at_[r]); }

  Run& run_;
  std::vector<std::size_t> at_;
  std::vector<Duration> free_;
  std::unordered_map<std::uint64_t, Op> ops_;
  std::set<std::pair<std::size_t, std::uint64_t>> waiting_;  // (first rank that arrived, operation)
  std::vector<std::uint64_t> ready_;
};

}  // namespace

void place_by_durations(Run& run) {
  Placing(run).run();
}

}  // namespace cox::trace
