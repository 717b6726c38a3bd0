// SPDX-License-Identifier: Apache-2.0
#include "diagnose/ideal_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "cox/replay/graph.hpp"

#include "diagnose/ideal_network_meetings.hpp"

namespace cox::diagnose {
namespace {

using replay::kNoNode;
using replay::Node;
using trace::EventColumns;
using trace::MessageColumns;
using trace::Run;

constexpr std::uint32_t kNone = 0xffffffff;

/// What a call does about a message.
enum class Part : std::uint8_t { Post, Send, Receive };

struct Touch {
  std::uint32_t event = 0;
  std::uint32_t message = 0;
  Part part = Part::Post;
};

/// Where in a call a message touches it: sent and posted at its begin, complete at its end.
enum class Edge : std::uint8_t { Begin, End };

/// Index of the point-to-point call that time `at` lies in, or kNone.
std::uint32_t find_call(const EventColumns& e, Duration at, Edge edge) {
  constexpr std::size_t kLookBack = 4;  // calls of one thread do not overlap
  const auto after = edge == Edge::Begin ? std::upper_bound(e.begin.begin(), e.begin.end(), at)
                                         : std::lower_bound(e.begin.begin(), e.begin.end(), at);
  const auto from = static_cast<std::size_t>(after - e.begin.begin());
  for (std::size_t i = from; i-- > 0 && i + kLookBack >= from;)
    if (is_peer_wait(e, i) && e.end[i] >= at) return static_cast<std::uint32_t>(i);
  return kNone;
}

/// The messages of all ranks by the calls that they touch.
struct Touches {
  std::vector<std::vector<Touch>> of_rank;  ///< sorted by event
  std::size_t unplaced = 0;                 ///< messages whose send or receive is in no call
};

std::size_t index_of(const Run& run, Rank rank) {
  const auto at = std::lower_bound(run.ranks.begin(), run.ranks.end(), rank,
                                   [](const trace::RankTrack& t, Rank r) { return t.rank < r; });
  return at != run.ranks.end() && at->rank == rank ? static_cast<std::size_t>(at - run.ranks.begin())
                                                   : run.ranks.size();
}

Touches place_messages(const Run& run) {
  Touches t;
  t.of_rank.resize(run.ranks.size());
  const MessageColumns& m = run.messages;
  for (std::size_t k = 0; k < m.size(); ++k) {
    const std::size_t from = index_of(run, m.from[k]);
    const std::size_t to = index_of(run, m.to[k]);
    if (from >= run.ranks.size() || to >= run.ranks.size()) {
      ++t.unplaced;
      continue;
    }
    const EventColumns& receives = run.ranks[to].events;
    const std::uint32_t sent = find_call(run.ranks[from].events, m.send_begin[k], Edge::Begin);
    const std::uint32_t done = find_call(receives, m.receive_end[k], Edge::End);
    if (sent == kNone || done == kNone) {
      ++t.unplaced;
      continue;
    }
    const std::uint32_t posted = std::min(done, find_call(receives, m.receive_begin[k], Edge::Begin));
    const auto message = static_cast<std::uint32_t>(k);
    t.of_rank[from].push_back({sent, message, Part::Send});
    t.of_rank[to].push_back({posted, message, Part::Post});
    t.of_rank[to].push_back({done, message, Part::Receive});
  }
  for (auto& touches : t.of_rank)
    std::sort(touches.begin(), touches.end(), [](const Touch& a, const Touch& b) {
      return std::tuple{a.event, a.part, a.message} < std::tuple{b.event, b.part, b.message};
    });
  return t;
}

/// Lays out the graph by letting every rank go on as far as it can, again and again.
class Rehearsal {
 public:
  Rehearsal(const Run& run, const std::vector<RankScan>& scans, const UsefulTime& useful,
            const Meetings& meetings, const Touches& touches, Bytes eager_limit)
      : run_(run),
        useful_(useful),
        meetings_(meetings),
        touches_(touches),
        eager_limit_(eager_limit),
        halls_(meetings.size()),
        sent_(run.messages.size(), kNoNode),
        posted_(run.messages.size(), kNoNode),
        start_(graph_.add()) {
    graph_.reserve(meetings.size() + 2 * run.messages.size() + 2 * run.ranks.size(),
                   meetings.arrivals() + 3 * run.messages.size() + run.ranks.size());
    lanes_.reserve(run.ranks.size());
    for (std::size_t r = 0; r < run.ranks.size(); ++r)
      lanes_.push_back({.cursor = CallCursor(run.ranks[r].events, scans[r], useful.from),
                        .counts = meetings.wait_counts(r),
                        .last = start_});
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
    for (std::size_t r = 0; r < lanes_.size(); ++r) {
      const Duration late = minus_clamped(useful_.first[r], useful_.from);
      ideal.useful_maximum = std::max(ideal.useful_maximum, minus_clamped(lanes_[r].outside, late));
    }
    return ideal;
  }

 private:
  /// A call read ahead. Ranks take turns call by call, and a few at a time keep their columns in cache.
  struct Planned {
    ProgramCall call{};
    Attendance at{};
    bool blocks = true;  ///< on messages
  };
  static constexpr std::size_t kReadAhead = 16;
  struct Lane {
    CallCursor cursor;
    Meetings::WaitCounts counts;
    ProgramCall call{};
    Attendance at{};
    Node last = kNoNode;  ///< what the rank did last, and the time since
    Duration since{};
    Duration outside{};         ///< all time outside communication so far
    std::size_t touch = 0;      ///< first of this call's, later first that was not waited for yet
    std::size_t touch_end = 0;  ///< behind this call's
    std::uint32_t next_waiting = kNone;
    std::uint32_t awaited_message = kNone;
    bool inside = false;
    bool blocks = true;
    bool holds_node = false;  ///< the call has a node of its own
    std::uint8_t planned = 0;
    std::uint8_t taken = 0;
    std::array<Planned, kReadAhead> plan{};
    std::vector<Node> until{};
  };
  /// A meeting under way.
  struct Hall {
    std::uint32_t arrived = 0;
    std::uint32_t first_arrival = kNone;  ///< list in `arrivals_`
    std::uint32_t first_waiting = kNone;  ///< list through the lanes
    Node node = kNoNode;
  };
  struct Arrival {
    Node last = kNoNode;
    Duration since{};
    std::uint32_t next = kNone;
  };

  void advance(std::uint32_t r) {
    Lane& lane = lanes_[r];
    while (true) {
      if (!lane.inside) {
        if (lane.call.open || !take(r)) return finish(r);
        enter(r);
      }
      if (!leave(r)) return;
      lane.inside = false;
    }
  }

  /// Makes the rank's next call the current one; false at the end.
  bool take(std::uint32_t r) {
    Lane& lane = lanes_[r];
    if (lane.taken == lane.planned) {
      const EventColumns& e = run_.ranks[r].events;
      lane.taken = lane.planned = 0;
      while (lane.planned < kReadAhead) {
        Planned& next = lane.plan[lane.planned];
        if (!lane.cursor.next(next.call)) break;
        next.at = meetings_.attend(e, next.call.event, lane.counts);
        next.blocks = (e.flags[next.call.event] & trace::kNonBlocking) == 0;
        ++lane.planned;
      }
      if (lane.planned == 0) return false;
    }
    const Planned& next = lane.plan[lane.taken++];
    lane.call = next.call;
    lane.at = next.at;
    lane.blocks = next.blocks;
    return true;
  }

  Node follow(Lane& lane) {
    lane.last = graph_.add(std::span(&lane.last, 1), std::span(&lane.since, 1));
    lane.since = Duration::zero();
    return lane.last;
  }

  void enter(std::uint32_t r) {
    Lane& lane = lanes_[r];
    lane.inside = true;
    add_to(lane.since, lane.call.gap);
    add_to(lane.outside, lane.call.gap);
    const auto& touches = touches_.of_rank[r];
    lane.touch = lane.touch_end;
    while (lane.touch < touches.size() && touches[lane.touch].event < lane.call.event) ++lane.touch;
    lane.touch_end = lane.touch;
    while (lane.touch_end < touches.size() && touches[lane.touch_end].event == lane.call.event)
      ++lane.touch_end;
    const bool only_meets = lane.at.arrives && lane.at.stays && !lane.call.open;
    lane.holds_node = lane.touch < lane.touch_end || (lane.at.meeting != kNoMeeting && !only_meets);
    if (lane.holds_node) follow(lane);
    if (lane.at.arrives) arrive(lane);
    for (std::size_t i = lane.touch; i < lane.touch_end; ++i) {
      const std::uint32_t k = touches[i].message;
      if (touches[i].part == Part::Send) {
        sent_[k] = lane.last;
        wake_for(k, run_.messages.to[k]);
      } else if (touches[i].part == Part::Post) {
        posted_[k] = lane.last;
        wake_for(k, run_.messages.from[k]);
      }
    }
  }

  void arrive(const Lane& lane) {
    Hall& hall = halls_[lane.at.meeting];
    if (hall.node != kNoNode) return;
    std::uint32_t place = free_arrival_;
    if (place == kNone) {
      place = static_cast<std::uint32_t>(arrivals_.size());
      arrivals_.emplace_back();
    } else {
      free_arrival_ = arrivals_[place].next;
    }
    arrivals_[place] = {lane.last, lane.since, hall.first_arrival};
    hall.first_arrival = place;
    if (++hall.arrived == meetings_.expected(lane.at.meeting)) open(hall);
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

  void wake_for(std::uint32_t message, Rank rank) {
    const std::size_t r = index_of(run_, rank);
    if (lanes_[r].awaited_message != message) return;
    lanes_[r].awaited_message = kNone;
    ready_.push_back(static_cast<std::uint32_t>(r));
  }

  /// False where the call has to wait; it is asked again when it may go on.
  bool leave(std::uint32_t r) {
    Lane& lane = lanes_[r];
    if (lane.call.open) return true;
    if (lane.at.stays) {
      Hall& hall = halls_[lane.at.meeting];
      if (hall.node == kNoNode) {
        lane.next_waiting = std::exchange(hall.first_waiting, r);
        return false;
      }
      if (!lane.holds_node) {
        lane.last = hall.node;
        lane.since = Duration::zero();
      } else {
        lane.until.push_back(hall.node);
      }
      lane.at.stays = false;
    }
    if (lane.blocks)
      for (; lane.touch < lane.touch_end; ++lane.touch) {
        const Node needed = needed_by(touches_.of_rank[r][lane.touch], lane);
        if (needed == kNoNode) return false;
        if (needed != lane.last) lane.until.push_back(needed);
      }
    if (!lane.until.empty()) {
      lane.until.push_back(lane.last);
      lane.last = graph_.add(lane.until);
      lane.until.clear();
    }
    return true;
  }

  /// The operation that a call waits for on behalf of a message, its own where there is none; kNoNode where
  /// that has not happened yet.
  Node needed_by(const Touch& touch, Lane& lane) {
    const std::uint32_t k = touch.message;
    if (touch.part == Part::Post) return lane.last;
    if (touch.part == Part::Send && run_.messages.bytes[k] <= eager_limit_) return lane.last;
    const Node needed = touch.part == Part::Receive ? sent_[k] : posted_[k];
    if (needed == kNoNode) lane.awaited_message = k;
    return needed;
  }

  void finish(std::uint32_t r) {
    Lane& lane = lanes_[r];
    ++done_;
    if (!lane.call.open) {
      const Duration tail = positive_part(minus_clamped(useful_.last[r], lane.cursor.exit()));
      add_to(lane.since, tail);
      add_to(lane.outside, tail);
    }
    follow(lane);
  }

  const Run& run_;
  const UsefulTime& useful_;
  const Meetings& meetings_;
  const Touches& touches_;
  Bytes eager_limit_;
  replay::Graph graph_;
  std::vector<Lane> lanes_;
  std::vector<Hall> halls_;
  std::vector<Arrival> arrivals_;
  std::uint32_t free_arrival_ = kNone;
  std::vector<Node> sent_;
  std::vector<Node> posted_;
  std::vector<Node> before_;
  std::vector<Duration> lags_;
  std::vector<std::uint32_t> ready_;
  std::size_t done_ = 0;
  Node start_;
};

std::string reason_against(const Run& run, const UsefulTime& useful) {
  if (useful.source == UsefulSource::ComputeKernels)
    return "communication runs on the device beside the program: what it waits for there is not told";
  if (run.times != trace::TimesKind::Clocked) return "begins and ends were not read from clocks";
  if (run.world_size > 0 && std::cmp_greater(run.world_size, run.ranks.size()))
    return fmt::format("{} of {} ranks are present", run.ranks.size(), run.world_size);
  if (run.messages.size() > 0) return {};
  for (const trace::RankTrack& track : run.ranks) {
    const EventColumns& e = track.events;
    for (std::size_t i = 0; i < e.size(); ++i)
      if (is_peer_wait(e, i) && (e.flags[i] & trace::kNonBlocking) == 0)
        return "ranks wait in point-to-point calls, and which messages they wait for was not recorded";
  }
  return {};
}

}  // namespace

std::optional<IdealNetwork> replay_ideal_network(const Run& run, const CommIndex& comms,
                                                 const std::vector<RankScan>& scans, const UsefulTime& useful,
                                                 std::string& why_not) {
  why_not = reason_against(run, useful);
  if (!why_not.empty()) return std::nullopt;
  const auto meetings = Meetings::find(run, comms, scans, useful.from);
  if (!meetings) {
    why_not = "sequence numbers of collectives are no sequence";
    return std::nullopt;
  }
  const Touches touches = place_messages(run);
  if (touches.unplaced * 10 > run.messages.size()) {
    why_not = fmt::format("{} of {} messages lie in no recorded call", touches.unplaced, run.messages.size());
    return std::nullopt;
  }
  for (const Bytes limit : {kEagerLimit, Bytes{std::numeric_limits<std::int64_t>::max()}}) {
    Rehearsal rehearsal(run, scans, useful, *meetings, touches, limit);
    if (rehearsal.complete()) return rehearsal.result();
  }
  why_not = "the calls of the ranks do not fit together: they wait for each other in a circle";
  return std::nullopt;
}

}  // namespace cox::diagnose
