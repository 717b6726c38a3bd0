// SPDX-License-Identifier: Apache-2.0
/// \file
/// The flow engine at work: events in time order, rates brought up to date between them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cox/simulate/flow.hpp"

#include "simulate/flow/fair_shares.hpp"
#include "simulate/flow/rounds.hpp"
#include "simulate/kernels/time_heap.hpp"
#include "simulate/noise/lane_losses.hpp"

namespace cox::simulate {

/// Where a rank stands in one lane.
struct LaneCell {
  std::int64_t round = -1;   ///< that it is in; -1 before its arrival
  std::int32_t pending = 0;  ///< messages of the round that have not arrived
};

using FlowCourseId = std::uint32_t;

/// Eager: through which a sender's messages of a lane leave one after the other. It is free for the next one when the bytes of
/// the one before have flowed, also where these are still to arrive.
struct FlowPort {
  bool busy = false;
  std::uint32_t waiting = 0;    ///< messages
  FlowSlot first = 0;           ///< of them
  FlowSlot last = 0;            ///< of them
  std::uint32_t to_leave = 0;   ///< messages, with those that were sent in vain
  std::uint32_t to_arrive = 0;  ///< messages, with those that are to leave
};

/// Where messages leave one after the other. By rendezvous the sends of a rank in a round are a chain; eager ones are all that a
/// rank sends in a lane, also in the collectives behind it that have the same ports (`FlowCollective::ports`).
struct FlowPorts {
  static constexpr std::uint32_t kMostUnderWay = 1024;  ///< of a sender and lane, when it leaves a collective
  std::unordered_map<std::uint64_t, std::uint32_t> sent;               ///< how many of a chain have left
  std::map<std::pair<std::uint64_t, std::uint32_t>, FlowSlot> queued;  ///< who waits for which
  std::vector<FlowPort> of_senders;                                    ///< eager: per sender and lane
  std::unordered_map<std::uint64_t, FlowPort> of_switches;             ///< eager: per link and lane
  /// Eager: senders that have nothing to do in a collective but to wait until most of what they sent has left.
  std::unordered_map<std::uint64_t, FlowCourseId> held;
};

/// What is to be carried out: a schedule, by one or several groups of devices that go through it beside each
/// other. A place has come, and has left, in all of them at once.
struct FlowCollective {
  const model::Schedule* schedule = nullptr;  ///< outlives the engine, which knows by it what is alike
  std::vector<int> rank_of;                   ///< device of each place: [group][place]
  int groups = 1;
  std::int64_t number = 0;       ///< of the first group, for the draws; the others' follow in steps of two
  bool draws_by_device = false;  ///< messages differ by the device that receives, else by its place
  bool lone_messages = false;    ///< one of each group: whether it is lost is a draw of its own (lone_late)
  std::optional<std::int64_t> step = {};  ///< for the draws, instead of that of the options
  bool neighbours = false;  ///< another job's: no noise of ours, and its messages are not counted
  std::optional<std::size_t> limit = {};  ///< of FlowOptions::limits: what each of its messages gets at most
  /// Eager: of a series of one schedule, in which a rank sends behind what it sent in the one before, and leaves one when at
  /// most two of its messages are still to leave and 1,024 to arrive: nobody gets further ahead of its port.
  std::shared_ptr<FlowPorts> ports = {};
};

struct FlowDeparture {
  FlowCourseId course = 0;
  int place = 0;
  Seconds at{};
};

/// A collective under way. A lane of a group is a lane of its own here.
struct FlowCourse {
  FlowCollective what;
  std::size_t places = 0;
  int lanes = 0;            ///< of all groups
  FlowSlot first_slot = 0;  ///< from the first arrival on
  std::vector<LaneRounds> rounds;
  std::vector<LaneCell> cells;  ///< [lane][place]
  std::vector<int> lanes_left;  ///< per place
  std::size_t to_come = 0;      ///< places that have not come
  std::size_t to_leave = 0;
  std::shared_ptr<FlowPorts> ports;
  std::vector<LaneLosses> losses;  ///< per lane, where messages are lost by chance
  bool loses = false;              ///< some of its messages are
  /// Eager: messages that came before their receiver entered the round.
  std::unordered_map<std::uint64_t, std::int32_t> early;

  [[nodiscard]] LaneCell& cell(int lane, int place) {
    return cells[static_cast<std::size_t>(lane) * places + static_cast<std::size_t>(place)];
  }
  [[nodiscard]] int device(int lane, int place) const {
    const int group = lane / what.schedule->lanes();
    return what.rank_of[static_cast<std::size_t>(group) * places + static_cast<std::size_t>(place)];
  }
  [[nodiscard]] std::uint64_t key(int lane, std::int64_t round, int place) const {
    return (static_cast<std::uint64_t>(round) * static_cast<std::uint64_t>(lanes) +
            static_cast<std::uint64_t>(lane)) *
               places +
           static_cast<std::uint64_t>(place);
  }
};

enum class FlowPhase : std::uint8_t {
  Free,
  Latency,   ///< under way, no byte yet
  Queued,    ///< behind an earlier send of the same round, or in the same port
  Transfer,  ///< shares links
  Lost,      ///< eager: comes to its port once more when its timer is over
  Landing,   ///< eager: the bytes have left, and their latency passes
};

/// A message under way. What every event touches comes first, in one cache line.
struct alignas(64) MessageState {
  double left = 0;  ///< bytes, at `updated`
  double rate = 0;
  double updated = 0;  ///< seconds, as all times of the engine, since the origin
  double weight = 1;   ///< of its share
  std::int64_t round = 0;
  int from = -1;
  int to = -1;
  FlowCourseId course = 0;
  int lane = 0;
  FlowPhase phase = FlowPhase::Free;
  bool chained = false;       ///< goes after the `order` messages before it with the same `chain`
  bool sender_waits = false;  ///< its sender goes on only when it has arrived
  bool spare = false;         ///< above the first of its sender and lane
  bool crosses = false;       ///< from node to node, or to or from a switch
  std::uint8_t lost = 0;      ///< how often, at a full port
  std::uint32_t stage = 0;    ///< store and forward: the link it is on
  /// that it follows: `left` is then what that clock shows at its end
  LinkIndex clock = FairShares::kNoLink;
  int choice = -1;
  std::uint32_t order = 0;
  std::uint64_t chain = 0;  ///< eager: its port
  double landing =
      0;  ///< eager: what passes when the bytes have left; of the first link where all are stored
  FlowSlot behind = 0;        ///< eager: who waits for the port next
  std::uint32_t ordinal = 0;  ///< among what its receiver gets in its round, for the draws of noise
  double bytes = 0;
  double begin = 0;
  double latency = 0;            ///< of the whole way
  double idle_rate = 0;          ///< of the slowest link
  std::vector<Hop> hops{};       ///< kept while from, to and choice stay the same
  std::vector<Hop> all_links{};  ///< with those that have no limit, for the bytes
};

/// What repeats: rounds relative to rank 0's, and what is left of every message.
struct FlowSnapshot {
  bool taken = false;
  double at = 0;
  std::vector<LaneCell> cells;
  std::vector<FlowPhase> phases;
  std::vector<std::int64_t> rounds;  ///< per slot
  std::vector<std::uint32_t> stages;
  std::vector<int> peers;         ///< from, to, choice per slot
  std::vector<double> remaining;  ///< seconds at the present rate, per slot
  std::vector<double> link_bytes;
  std::int64_t messages = 0;
};

/// A collective with all of its places, alone on the network, and who came and left between it and the next such
/// state that is alike. Where what the driver tells then is as it was, departures are those of before, moved in time.
struct FlowRecurrence {
  struct Event {
    FlowCourseId course = 0;  ///< from the one of the state on, that being 0
    int place = 0;
    bool leaves = false;  ///< else it comes
    bool told = false;    ///< it comes this time too
    double after = 0;     ///< the state
  };
  bool taken = false;  ///< a state has been kept
  FlowSnapshot state;
  FlowCourseId course = 0;            ///< that the state is of
  std::vector<FlowCollective> begun;  ///< it, and those since then, in their order
  std::vector<Event> events;          ///< since then, in the order of the clock
  std::int64_t looked = 0;            ///< at other states since then
  std::int64_t played = 0;            ///< messages, when a state was looked at last
  bool on = false;                    ///< the engine stands at such a state: departures are those of before
  bool broken = false;                ///< the driver told something else
  std::size_t next = 0;               ///< event
  double period = 0;
  FlowCourseId courses = 0;                       ///< that begin in a period
  std::vector<std::vector<std::uint32_t>> comes;  ///< event, by course and place
  std::vector<double> link_bytes;                 ///< of a period
  std::int64_t messages = 0;
};

/// Of a link whose flows are followed together: the bytes that each of them has been given. A flow that comes when
/// it shows v and has b bytes left ends when it shows v + b, however often the rate changes until then.
struct LinkClock {
  double shows = 0;
  double rate = 0;
  double updated = 0;
  std::set<std::pair<double, FlowSlot>> ends;
  [[nodiscard]] double at(double now) const { return shows + rate * (now - updated); }
};

/// Collectives that share a network, with a clock. Whoever drives it says when places come, in any order that
/// keeps to the clock: not before what `next` last said. It may look ahead only as far as what it was told:
/// `next` is asked when nothing more will be said before `until` without its answer.
/// Held by: src/simulate/flow/flow_test.cpp, src/simulate/flow/courses_test.cpp
class FlowEngine {
 public:
  static constexpr Seconds kForEver{std::numeric_limits<double>::infinity()};
  /// Times are kept relative to `origin`. `network` and `fabric` outlive it.
  FlowEngine(const Network& network, const model::Fabric& fabric, FlowOptions options, Seconds origin);
  /// Courses are numbered from 0. Ranks arrive. Servers and switches are there at once, and send nothing before the first rank is
  /// there: by rendezvous since it is not there, eager since they come with it.
  FlowCourseId begin(FlowCollective what);
  void arrive(FlowCourseId course, int place, Seconds at);
  /// The next departure up to `until`; nothing where there is none, or all that can happen has.
  [[nodiscard]] std::optional<FlowDeparture> next(Seconds until = kForEver);
  /// Since the last time.
  [[nodiscard]] FlowOutcome take_outcome();
  /// What `next` said last: nobody comes before.
  [[nodiscard]] Seconds said() const { return Seconds{said_}; }
  /// Places for messages, with those of collectives that are over: what memory follows.
  [[nodiscard]] std::size_t slots() const { return slots_.size(); }

 private:
  using Slot = FlowSlot;
  [[nodiscard]] std::unique_ptr<FlowCourse> course_for(const FlowCollective& what);
  void put_away();
  void call_servers(FlowCourseId id);
  void come(FlowCourse& course, FlowCourseId id, int place);
  void enter(FlowCourseId id, int lane, int place);
  void go_on(FlowCourse& course, int lane, int place);
  [[nodiscard]] bool waits_for_port(const FlowCourse& course, int lane, int place);
  [[nodiscard]] FlowPort& port_of(const MessageState& m);
  void take_port(Slot slot);
  void free_port(const MessageState& m);
  void lose(Slot slot, double wait);
  void let_go(const MessageState& m);
  void end_lane(FlowCourseId id, int place);
  void leave(FlowCourse& course, FlowCourseId id, int place);
  void close(FlowCourseId id);
  void start(FlowCourseId id, int lane, std::int64_t round, const RoundTable& table, std::uint32_t number);
  void finish_one(FlowCourseId id, int lane, int place);
  Slot take_slot(const FlowCourse& course, int lane, int from);
  [[nodiscard]] Slot take_slots(std::size_t count);
  void find_way(MessageState& m);
  [[nodiscard]] int choose(int from, int to);
  void spray(MessageState& m, int from, int to, int paths, bool by_hash);
  void use_path(MessageState& m, int choice, int from, int to);
  void use_switch(const model::Schedule& schedule, MessageState& m, int from, int to);
  [[nodiscard]] std::vector<LinkIndex> way_to_top(const MessageState& m, int from, int to) const;
  void use_links(MessageState& m, int choice);
  void finish_way(MessageState& m);
  void limit_way(MessageState& m, std::size_t limit);
  [[nodiscard]] double stage_latency(const MessageState& m, std::uint32_t stage) const;
  [[nodiscard]] double delay_of(const MessageState& m) const;
  [[nodiscard]] double loss_of(const MessageState& m);
  [[nodiscard]] bool finds_room(const MessageState& m, std::span<const Hop> hops) const;
  void prepare_losses(FlowCourse& course);
  void event(Slot slot);
  void begin_transfer(Slot slot);
  void end_transfer(Slot slot);
  void release_next(const MessageState& m);
  [[nodiscard]] bool goes_further(const MessageState& m) const;
  void land(Slot slot);
  [[nodiscard]] bool is_background(Slot slot) const { return slot < background_.size(); }
  void deliver(Slot slot);
  void settle();
  void follow(Slot slot, LinkIndex link);
  void unfollow(Slot slot);
  void next_end(LinkIndex link, LinkClock& clock);
  void batch(double first);
  [[nodiscard]] double next_event() const {
    const double arrival = coming_.empty() ? std::numeric_limits<double>::infinity() : coming_.top().at;
    return std::min({heap_.next_time(), clock_heap_.next_time(), arrival});
  }
  [[nodiscard]] double bytes_to_come(const MessageState& m, const Hop& hop) const;
  [[nodiscard]] double bytes_left(const MessageState& m) const;
  [[nodiscard]] bool can_go_on(double next) const;
  [[nodiscard]] const FlowCourse& course_of(const MessageState& m) const { return *courses_[m.course]; }

  // Memo.
  void look_for_period();
  [[nodiscard]] bool within_runs();
  [[nodiscard]] bool repeats() const;
  [[nodiscard]] bool is_alike(const FlowCourse& course, const FlowSnapshot& before, Slot first) const;
  void take_snapshot(const FlowCourse& course, FlowSnapshot& into, Slot first, std::size_t slots) const;
  void skip_ahead();
  void forget_snapshot();
  [[nodiscard]] double remaining(Slot slot) const;

  // Collectives that go as those before them.
  void look_for_recurrence();
  [[nodiscard]] bool recurs(const FlowCourse& course) const;
  void keep_state(FlowCourseId id);
  void forget_state();
  void begin_again(FlowCourseId id);
  void note(FlowCourseId course, int place, bool leaves);
  void note_begin(const FlowCourse& course);
  void note_arrival(FlowCourseId course, int place, double at);
  [[nodiscard]] std::optional<FlowDeparture> next_again();
  [[nodiscard]] bool may_yet_come(double at) const;
  void jump();
  void catch_up();
  [[nodiscard]] std::optional<FlowDeparture> next_played(Seconds until);

  // Background flows.
  void add_background();
  void toggle_background(Slot slot);

  struct Coming {
    double at = 0;
    FlowCourseId course = 0;
    int place = 0;
    bool operator>(const Coming& other) const {
      return std::tie(at, course, place) > std::tie(other.at, other.course, other.place);
    }
  };

  const Network& network_;
  const model::Fabric& fabric_;
  const FlowOptions options_;
  std::int64_t instants_ = 0;
  const Noise* noise_ = nullptr;  ///< where it disturbs messages
  bool eager_ = false;
  std::vector<std::unique_ptr<FlowCourse>> courses_;  ///< null: over
  std::vector<std::unique_ptr<FlowCourse>> over_;     ///< since the last batch began
  /// messages that are over, for those of the same schedule
  std::unordered_map<const model::Schedule*, std::vector<std::unique_ptr<FlowCourse>>> put_away_;
  std::size_t open_ = 0;
  std::map<std::size_t, std::vector<Slot>>
      free_slots_;  ///< of courses that are over: first ones, by how many
  std::vector<MessageState> slots_;
  std::vector<Slot> spare_;  ///< slots above the first of each sender and lane
  TimeHeap heap_;
  std::unordered_map<LinkIndex, LinkClock> clocks_;
  TimeHeap clock_heap_;  ///< the next end at each of them
  FairShares shares_;
  std::vector<std::int32_t> assigned_;  ///< adaptive routing: messages under way per link
  std::vector<LinkIndex> way_;
  std::priority_queue<Coming, std::vector<Coming>, std::greater<>> coming_;
  std::deque<FlowDeparture> departed_;
  double origin_ = 0;
  double now_ = 0;
  double until_ = 0;                                        ///< the clock does not go beyond it
  double said_ = -std::numeric_limits<double>::infinity();  ///< by `next`, not relative: nobody comes before
  std::int64_t under_way_ = 0;                              ///< messages, from start to delivery
  std::int64_t active_ = 0;                                 ///< of them, those that share links
  FlowOutcome outcome_;
  std::int64_t evaluated_before_ = 0;  ///< links, when the outcome was last taken

  bool memo_on_ = false;
  bool reference_moved_ = false;
  std::set<FlowCourseId> live_;  ///< courses to which somebody has come
  FlowCourseId only_ = 0;        ///< of them, the one that the memo looks at
  std::int64_t looked_ = 0;
  std::int64_t next_save_ = 0;
  FlowSnapshot saved_;
  bool all_came_ = false;  ///< to a collective, in this batch
  FlowRecurrence again_;

  struct Background {
    bool on = false;
    std::uint64_t toggles = 0;
  };
  std::vector<Background> background_;  ///< in the first slots
};

}  // namespace cox::simulate
