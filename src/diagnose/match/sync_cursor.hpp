// SPDX-License-Identifier: Apache-2.0
/// \file
/// Walks one rank's events and yields the points at which its program synchronises,
/// with the own work before each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "diagnose/match/matching.hpp"
#include "diagnose/match/scan.hpp"
#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {

/// One synchronisation point of a rank.
struct SyncPoint {
  std::size_t event = 0;
  std::int32_t group = -1;  ///< -1: no operation that others could be found for
  std::int32_t member = -1;
  std::int64_t op = -1;
  model::Collective kind = model::Collective::Other;
  bool holds_all = false;  ///< nobody leaves before the last one has entered
  Duration entry{};        ///< never before the previous exit: nested calls are parts of the outer one
  Duration exit{};
  Duration gap{};            ///< own work since the previous point of any kind; zero for the first
  Duration messages{};       ///< time in waits for messages since then
  Duration idle{};           ///< the same, and delays that a controller served
  Duration held{};           ///< time since the last point that holds all spent inside points that do not
  Duration work = kUnknown;  ///< own work since the last point that holds all; kUnknown where carried in
};

/// A finished or unfinished collective call, told for counting before it is told
/// whether anybody blocked in it.
struct Call {
  std::size_t event = 0;
  std::int32_t group = -1;
  std::int32_t member = -1;
  std::int64_t op = -1;
};

class SyncCursor {
 public:
  SyncCursor(const trace::Run& run, const CommIndex& comms, const RankScan& scan,
             const std::vector<Group>& groups, std::size_t rank_index);

  /// Skips everything that began before `t`. Operations of waits are then not told, times are.
  void start_at(Duration t) {
    at_ = static_cast<std::size_t>(std::lower_bound(events_->begin.begin(), events_->begin.end(), t) -
                                   events_->begin.begin());
  }

  /// The next synchronisation point; false at the end. `on_call(Call)` hears of every matchable collective.
  template <class OnCall>
  bool next(SyncPoint& point, OnCall&& on_call) {
    const trace::EventColumns& e = *events_;
    while (at_ < e.size()) {
      const std::size_t i = at_++;
      point.group = -1;
      point.op = -1;
      if (e.kind[i] == trace::EventKind::Collective) {
        locate_call(i, point);
        if (point.op >= 0) on_call(Call{i, point.group, point.member, point.op});
        if (scan_->in_background(e, i)) continue;
        point.kind = static_cast<model::Collective>(e.op[i]);
      } else if (is_program_wait(e, i)) {
        locate_wait(i, point);
      } else if (is_exchange(i)) {
        locate_exchange(point);
      } else if (is_peer_wait(e, i) || is_served_delay(e, i)) {
        add_idle(i);
        continue;
      } else {
        continue;
      }
      if (advance_time(i, point)) return true;
    }
    return false;
  }
  bool next(SyncPoint& point) {
    return next(point, [](const Call&) {});
  }

  /// What lies after the last point, up to the end of the last wait for messages.
  struct Tail {
    Duration work{};
    Duration messages{};
    Duration end{};
  };
  [[nodiscard]] Tail tail() const;
  /// Where the rank's account begins: its first point, or its first wait for messages. Known after `next`.
  [[nodiscard]] Duration begun() const { return begun_; }
  [[nodiscard]] bool started() const { return started_; }

 private:
  struct Place {
    std::int32_t comm = -1;
    std::uint8_t wait_kind = 0;
    std::int32_t group = -1;
    std::int32_t member = -1;
    std::int64_t next_wait = 0;
  };

  void locate_call(std::size_t i, SyncPoint& point);
  void locate_wait(std::size_t i, SyncPoint& point);
  [[nodiscard]] bool is_exchange(std::size_t i) {
    const auto& all = scan_->exchanges;
    while (next_exchange_ < all.size() && all[next_exchange_].event < i) ++next_exchange_;
    return next_exchange_ < all.size() && all[next_exchange_].event == i;
  }
  void locate_exchange(SyncPoint& point);
  [[nodiscard]] model::Collective awaited(std::size_t i, std::int32_t comm) const;
  bool advance_time(std::size_t i, SyncPoint& point);
  void add_idle(std::size_t i);

  const trace::EventColumns* events_;
  const CommIndex* comms_;
  const RankScan* scan_;
  const std::vector<Group>* groups_;
  std::vector<Place> call_places_;  ///< sorted by comm
  std::vector<Place> wait_places_;  ///< sorted by (comm, kind)
  CommId last_comm_{-2};
  std::size_t last_place_ = 0;
  std::size_t at_ = 0;
  std::size_t next_exchange_ = 0;
  Place exchange_;
  bool started_ = false;
  bool work_known_ = false;
  Duration previous_exit_{};
  Duration work_ = Duration::zero();
  Duration held_ = Duration::zero();
  /// Waits for single peers and delays that a controller served since the previous exit: not own work.
  Duration idle_ = Duration::zero();
  Duration messages_ = Duration::zero();   ///< the former of these
  Duration idle_until_ = Duration::min();  ///< end of the last one, so that none counts twice
  Duration messages_until_ = Duration::min();
  Duration begun_{};
};

}  // namespace cox::diagnose
