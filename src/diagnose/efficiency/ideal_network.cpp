// SPDX-License-Identifier: Apache-2.0
#include "diagnose/efficiency/ideal_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "cox/replay/replay.hpp"

#include "diagnose/efficiency/ideal_network_meetings.hpp"
#include "diagnose/efficiency/ideal_network_messages.hpp"
#include "diagnose/efficiency/ideal_network_plan.hpp"

namespace cox::diagnose {
namespace {

using model::kNoOperation;
using model::OperationIndex;

constexpr std::uint32_t kNone = 0xffffffff;

/// Lays out the graph by letting every rank go on as far as it can, again and again.
class Rehearsal {
 public:
  Rehearsal(const Matched& matched, const UsefulTime& useful, const Meetings& meetings,
            const PlacedMessages& placed, Bytes eager_limit)
      : messages_(matched.messages()),
        meetings_(meetings),
        placed_(placed),
        eager_limit_(eager_limit),
        halls_(meetings.size()),
        sent_(matched.messages().size(), kNoOperation),
        posted_(matched.messages().size(), kNoOperation) {
    graph_.reserve(meetings.size() + 3 * matched.messages().size() + 2 * matched.ranks(),
                   meetings.arrivals() + 4 * matched.messages().size() + matched.ranks());
    const OperationIndex start = graph_.add();
    lanes_.reserve(matched.ranks());
    for (std::size_t r = 0; r < matched.ranks(); ++r)
      lanes_.push_back({.plan = RankPlan(matched, r, useful, meetings, placed.postings[r]),
                        .last = start,
                        .since = minus_clamped(useful.first[r], useful.from)});
  }

  /// False where ranks wait for each other in a circle.
  bool complete() {
    for (std::size_t r = lanes_.size(); r-- > 0;) ready_.push_back(static_cast<std::uint32_t>(r));
    while (!ready_.empty()) {
      const std::uint32_t r = ready_.back();
      ready_.pop_back();
      advance(r);
    }
    return done_ == lanes_.size();
  }

  [[nodiscard]] IdealNetwork result() const {
    IdealNetwork ideal;
    const std::vector<Duration> durations(graph_.size(), Duration::zero());
    ideal.runtime = replay::replay(graph_, durations).makespan;
    for (const Lane& lane : lanes_) ideal.useful_maximum = std::max(ideal.useful_maximum, lane.outside);
    return ideal;
  }

 private:
  struct Lane {
    RankPlan plan;
    OperationIndex last = kNoOperation;  ///< what the rank did last, and the time since
    Duration since{};
    PlannedCall call{};
    Duration outside{};         ///< all time outside communication so far
    std::size_t touch = 0;      ///< first of this call's, later first that was not waited for yet
    std::size_t touch_end = 0;  ///< behind this call's
    std::uint32_t next_waiting = kNone;
    std::uint32_t awaited_message = kNone;
    bool inside = false;
    bool holds_node = false;  ///< the call has a node of its own
    std::vector<OperationIndex> until{};
  };
  /// A meeting under way.
  struct Hall {
    std::uint32_t arrived = 0;
    std::uint32_t first_arrival = kNone;  ///< list in `arrivals_`
    std::uint32_t first_waiting = kNone;  ///< list through the lanes
    OperationIndex node = kNoOperation;
  };
  struct Arrival {
    OperationIndex last = kNoOperation;
    Duration since{};
    std::uint32_t next = kNone;
  };

  void advance(std::uint32_t r) {
    Lane& lane = lanes_[r];
    while (true) {
      if (!lane.inside) {
        const PlannedCall* next = lane.call.open ? nullptr : lane.plan.next();
        if (next == nullptr) return finish(lane);
        lane.call = *next;
        enter(r);
      }
      if (!leave(r)) return;
      lane.inside = false;
    }
  }

  OperationIndex follow(Lane& lane) {
    lane.last = graph_.add(std::span(&lane.last, 1), std::span(&lane.since, 1));
    lane.since = Duration::zero();
    return lane.last;
  }

  void enter(std::uint32_t r) {
    Lane& lane = lanes_[r];
    lane.inside = true;
    add_to(lane.since, lane.call.gap);
    add_to(lane.outside, lane.call.gap);
    if (lane.call.posting != nullptr) {
      follow(lane);
      begin_part(lane, lane.call.posting->message, lane.call.posting->part);
      return;
    }
    const auto& touches = placed_.touches[r];
    lane.touch = lane.touch_end;
    while (lane.touch < touches.size() && touches[lane.touch].event < lane.call.event) ++lane.touch;
    lane.touch_end = lane.touch;
    while (lane.touch_end < touches.size() && touches[lane.touch_end].event == lane.call.event)
      ++lane.touch_end;
    const Attendance& at = lane.call.at;
    const bool only_meets = at.arrives && at.stays && !lane.call.open;
    lane.holds_node = lane.touch < lane.touch_end || (at.meeting != kNoMeeting && !only_meets);
    if (lane.holds_node) follow(lane);
    if (at.arrives) arrive(lane);
    for (std::size_t i = lane.touch; i < lane.touch_end; ++i)
      begin_part(lane, touches[i].message, touches[i].part);
  }

  /// What the call that begins now does for whoever waits for it.
  void begin_part(const Lane& lane, std::uint32_t message, Part part) {
    if (part == Part::Receive) return;
    const bool sends = part == Part::Send;
    (sends ? sent_ : posted_)[message] = lane.last;
    const std::uint32_t other = (sends ? placed_.receiver : placed_.sender)[message];
    if (lanes_[other].awaited_message != message) return;
    lanes_[other].awaited_message = kNone;
    ready_.push_back(other);
  }

  void arrive(const Lane& lane) {
    Hall& hall = halls_[lane.call.at.meeting];
    if (hall.node != kNoOperation) return;
    std::uint32_t place = free_arrival_;
    if (place == kNone) {
      place = static_cast<std::uint32_t>(arrivals_.size());
      arrivals_.emplace_back();
    } else {
      free_arrival_ = arrivals_[place].next;
    }
    arrivals_[place] = {lane.last, lane.since, hall.first_arrival};
    hall.first_arrival = place;
    if (++hall.arrived == meetings_.expected(lane.call.at.meeting)) open(hall);
  }

  /// All are there: the meeting becomes an operation, and whoever waits for it can go.
  void open(Hall& hall) {
    before_.clear();
    lags_.clear();
    for (std::uint32_t a = hall.first_arrival; a != kNone;) {
      Arrival& arrival = arrivals_[a];
      before_.push_back(arrival.last);
      lags_.push_back(arrival.since);
      a = std::exchange(arrival.next, std::exchange(free_arrival_, a));
    }
    hall.node = graph_.add(before_, lags_);
    for (std::uint32_t r = hall.first_waiting; r != kNone;) {
      ready_.push_back(r);
      r = std::exchange(lanes_[r].next_waiting, kNone);
    }
  }

  /// False where the call has to wait; it is asked again when it may go on.
  bool leave(std::uint32_t r) {
    Lane& lane = lanes_[r];
    if (lane.call.open || lane.call.posting != nullptr) return true;
    if (lane.call.at.stays) {
      Hall& hall = halls_[lane.call.at.meeting];
      if (hall.node == kNoOperation) {
        lane.next_waiting = std::exchange(hall.first_waiting, r);
        return false;
      }
      if (!lane.holds_node) {
        lane.last = hall.node;
        lane.since = Duration::zero();
      } else {
        lane.until.push_back(hall.node);
      }
      lane.call.at.stays = false;
    }
    for (; lane.call.blocks && lane.touch < lane.touch_end; ++lane.touch) {
      const OperationIndex needed = needed_by(placed_.touches[r][lane.touch], lane);
      if (needed == kNoOperation) return false;
      if (needed != lane.last) lane.until.push_back(needed);
    }
    if (!lane.until.empty()) {
      lane.until.push_back(lane.last);
      lane.last = graph_.add(lane.until);
      lane.until.clear();
    }
    return true;
  }

  /// The operation that a call waits for on behalf of a message, its own where there is none; kNoOperation
  /// where that has not happened yet.
  OperationIndex needed_by(const Touch& touch, Lane& lane) {
    const std::uint32_t k = touch.message;
    if (touch.part == Part::Post) return lane.last;
    if (touch.part == Part::Send && messages_.bytes[k] <= eager_limit_) return lane.last;
    const OperationIndex needed = touch.part == Part::Receive ? sent_[k] : posted_[k];
    if (needed == kNoOperation) lane.awaited_message = k;
    return needed;
  }

  void finish(Lane& lane) {
    ++done_;
    if (!lane.call.open) {
      const Duration rest = lane.plan.rest();
      add_to(lane.since, rest);
      add_to(lane.outside, rest);
    }
    follow(lane);
  }

  const trace::MessageColumns& messages_;
  const Meetings& meetings_;
  const PlacedMessages& placed_;
  Bytes eager_limit_;
  model::Dependencies graph_;
  std::vector<Lane> lanes_;
  std::vector<Hall> halls_;
  std::vector<Arrival> arrivals_;
  std::uint32_t free_arrival_ = kNone;
  std::vector<OperationIndex> sent_;  ///< per message: its send began
  std::vector<OperationIndex> posted_;
  std::vector<OperationIndex> before_;
  std::vector<Duration> lags_;
  std::vector<std::uint32_t> ready_;
  std::size_t done_ = 0;
};

std::string reason_against(const Matched& matched, const UsefulTime& useful) {
  if (useful.source == UsefulSource::ComputeKernels)
    return "communication runs on the device beside the program: what it waits for there is not told";
  if (matched.times() != trace::TimesKind::Clocked) return "begins and ends were not read from clocks";
  if (matched.world_size() > 0 && std::cmp_greater(matched.world_size(), matched.ranks()))
    return fmt::format("{} of {} ranks are present", matched.ranks(), matched.world_size());
  if (matched.messages().size() > 0) return {};
  if (std::any_of(matched.scans().begin(), matched.scans().end(),
                  [](const RankScan& s) { return s.stands_for_peer; }))
    return "ranks wait in point-to-point calls, and which messages they wait for was not recorded";
  return {};
}

}  // namespace

std::optional<IdealNetwork> replay_ideal_network(const Matched& matched, const UsefulTime& useful,
                                                 std::string& why_not) {
  why_not = reason_against(matched, useful);
  if (!why_not.empty()) return std::nullopt;
  const auto meetings = Meetings::find(matched);
  if (!meetings) {
    why_not = "sequence numbers of collectives are no sequence";
    return std::nullopt;
  }
  const PlacedMessages placed = place_messages(matched);
  const std::size_t messages = matched.messages().size();
  if (placed.unplaced * 10 > messages) {
    why_not = fmt::format("{} of {} messages arrive in no recorded call", placed.unplaced, messages);
    return std::nullopt;
  }
  for (const Bytes limit : {kEagerLimit, Bytes{std::numeric_limits<std::int64_t>::max()}}) {
    Rehearsal rehearsal(matched, useful, *meetings, placed, limit);
    if (rehearsal.complete()) return rehearsal.result();
  }
  why_not = "the calls of the ranks do not fit together: they wait for each other in a circle";
  return std::nullopt;
}

}  // namespace cox::diagnose
