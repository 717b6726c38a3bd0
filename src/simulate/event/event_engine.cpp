// SPDX-License-Identifier: Apache-2.0
// The event engine over LogGOPS. What each event does and in which order events come is
// docs/concepts/event-engine.md; the rules are those of LogGOPSim, so that its answers are ours.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cox/base/prefetch.hpp"
#include "cox/simulate/event.hpp"

#include "simulate/event/event_queue.hpp"
#include "simulate/event/first_receives.hpp"
#include "simulate/event/goal_blocked.hpp"
#include "simulate/event/goal_image.hpp"
#include "simulate/event/loggops_costs.hpp"
#include "simulate/event/message_matcher.hpp"
#include "simulate/event/waiting_list.hpp"

namespace cox::simulate {
namespace {

constexpr Seconds kCalcUnit{1e-9};  ///< what one unit of `calc` lasts

/// What clocks and waiting lists may take beside the schedule itself.
constexpr std::uint64_t kMostStateBytes = std::uint64_t{256} << 20;

// Low bits of an event's order, above them its number.
constexpr std::uint64_t kMessage = 1;  ///< a message on its way, not an operation of its own rank
constexpr std::uint64_t kWaits = 2;    ///< has found its CPU or port busy
constexpr std::uint64_t kNumber = 4;

/// Order of who waits first where nobody does.
constexpr std::uint64_t kNobody = ~std::uint64_t{0};

/// What waits for the same CPU and port; kept apart because each kind needs another set of resources.
enum class Need : std::uint8_t { Calc, Send, Arrival };

/// What an event needs of its rank, as places in the rank's row.
struct Needs {
  std::uint32_t cpu;
  std::uint32_t port;  ///< `cpu` again where none is needed
  std::uint32_t lane;  ///< where it waits
};

/// How many predecessors of each operation are done. 1 byte per operation where none has more than 255, else 4.
class DoneCounts {
 public:
  void allocate(std::uint32_t operations, std::uint32_t most) {
    if (most <= 255)
      few_.assign(operations, 0);
    else
      many_.assign(operations, 0);
  }
  /// One more: whether those are `all`.
  bool add(std::size_t operation, std::uint32_t all) {
    return few_.empty() ? ++many_[operation] == all : ++few_[operation] == all;
  }
  [[nodiscard]] std::uint32_t done(std::size_t operation) const {
    return few_.empty() ? many_[operation] : few_[operation];
  }
  [[nodiscard]] bool empty() const { return few_.empty() && many_.empty(); }
  void prefetch(std::size_t operation) const {
    if (!few_.empty()) cox::prefetch(few_.data() + operation);
  }

 private:
  std::vector<std::uint8_t> few_;
  std::vector<std::uint32_t> many_;
};

/// State of all ranks, a row each: when each CPU, sending port and receiving port is free; per lane the order of who waits
/// first, which is in the event queue, and the list of those behind it. With one CPU and port (`kOne`) a row is a line of the cache.
template <bool kOne>
class RankRows {
 public:
  RankRows(int cpus, int nics)
      : cpus_(static_cast<std::uint32_t>(cpus)), nics_(static_cast<std::uint32_t>(nics)) {}

  [[nodiscard]] std::uint64_t bytes(std::uint32_t ranks) const { return ranks * lines() * sizeof(Line); }
  void allocate(std::uint32_t ranks) {
    rows_.assign(ranks * lines(), Line{});
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      for (std::uint32_t lane = 0; lane < lanes(); ++lane) first(rank, lane) = kNobody;
  }

  [[nodiscard]] Needs needs(Need need, const GoalNode& node) const {
    const std::uint32_t cpu = kOne ? 0 : node.cpu();
    if (need == Need::Calc) return {cpu, cpu, cpu};
    const std::uint32_t nic = kOne ? 0 : node.nic();
    const std::uint32_t receives = need == Need::Arrival ? 1 : 0;
    return {cpu, cpus() + receives * nics() + nic, cpus() + (receives * cpus() + cpu) * nics() + nic};
  }
  [[nodiscard]] std::int64_t& clock(std::uint32_t rank, std::uint32_t i) {
    return at<std::int64_t>(rank, 8 * i);
  }
  [[nodiscard]] std::int64_t free_at(std::uint32_t rank, const Needs& needs) {
    return std::max(clock(rank, needs.cpu), clock(rank, needs.port));
  }
  [[nodiscard]] std::int64_t done(std::uint32_t rank) {
    return *std::max_element(&clock(rank, 0), &clock(rank, 0) + cpus());
  }
  [[nodiscard]] std::uint64_t& first(std::uint32_t rank, std::uint32_t lane) {
    return at<std::uint64_t>(rank, 8 * (clocks() + lane));
  }
  /// 1 + the list's number; 0: none wait behind the first.
  [[nodiscard]] std::uint32_t& list(std::uint32_t rank, std::uint32_t lane) {
    return at<std::uint32_t>(rank, 8 * (clocks() + lanes()) + 4 * lane);
  }
  void prefetch(std::uint32_t rank) const { cox::prefetch(rows_.data() + rank * lines()); }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  template <class T>
  [[nodiscard]] T& at(std::uint32_t rank, std::uint32_t offset) {
    return *reinterpret_cast<T*>(reinterpret_cast<std::byte*>(rows_.data() + rank * lines()) + offset);
  }

  [[nodiscard]] std::uint32_t cpus() const { return kOne ? 1 : cpus_; }
  [[nodiscard]] std::uint32_t nics() const { return kOne ? 1 : nics_; }
  [[nodiscard]] std::uint32_t clocks() const { return cpus() + 2 * nics(); }
  [[nodiscard]] std::uint32_t lanes() const { return cpus() + 2 * cpus() * nics(); }
  [[nodiscard]] std::size_t lines() const {  // per rank
    return (8 * std::size_t{clocks()} + 12 * std::size_t{lanes()} + sizeof(Line) - 1) / sizeof(Line);
  }

  std::uint32_t cpus_;
  std::uint32_t nics_;
  std::vector<Line> rows_;
};

template <bool kOne>
class Engine {
 public:
  enum class Count : std::uint8_t { Joins, All };

  /// With Count::All every operation is counted, so that what is missing says which never began.
  Engine(const GoalImage& image, const LogGopsCosts& cost, Count count)
      : image_(image),
        cost_(cost),
        count_(count),
        rows_(image_.cpus(), image_.nics()),
        first_(image_),
        matcher_({image_.any_source(), image_.any_tag(), image_.any_both()}, image_.ranks()),
        all_eager_(cost.eager(image_.longest_message())) {}

  Result<EventOutcome> run();

 private:
  [[nodiscard]] Status allocate();
  [[nodiscard]] tl::unexpected<Error> too_long() const;
  [[nodiscard]] Error blocked() const;

  [[nodiscard]] std::uint32_t operation_of(const Event& e) const {
    return image_.block(e.rank).operation_at(e.node);
  }
  void start_roots();
  [[gnu::always_inline]] inline void handle(const Event& e);
  [[gnu::noinline]] void start(const Event& e) { handle(e); }
  void wait(const Event& e, std::int64_t until, const Needs& needs);
  void next_of(std::uint32_t rank, const Needs& needs);

  [[gnu::always_inline]] inline void calculate(const Event& e, const GoalNode& node, const Needs& needs);
  [[gnu::always_inline]] inline void send(const Event& e, const GoalNode& node, const Needs& needs);
  [[gnu::always_inline]] inline void receive(const Event& e, const GoalNode& node);
  [[gnu::always_inline]] inline void arrive(const Event& e, const GoalNode& node, const Needs& needs);
  void release_sender(std::uint32_t rank, const GoalNode& send, std::int64_t at, const GoalNode& place);

  [[gnu::always_inline]] inline void enable_after_start(std::uint32_t rank, const GoalNode& node);
  [[gnu::always_inline]] inline void enable_after_end(std::uint32_t rank, const GoalNode& node);
  void enable(std::uint32_t rank, std::uint32_t from, std::uint32_t count);
  [[gnu::always_inline]] inline void push_enabled();
  void sort_enabled();
  inline void prefetch_soon() const;
  inline void prefetch_other_side(const Event& e) const;
  inline void prefetch_receiver(const Event& e) const;

  const GoalImage& image_;
  LogGopsCosts cost_;
  Count count_;
  DoneCounts done_;  ///< not kept for those with one predecessor (Count::Joins)
  RankRows<kOne> rows_;
  std::vector<WaitingList> waiters_;
  std::vector<std::uint32_t> idle_lists_;  ///< empty ones of `waiters_`
  EventQueue queue_;
  FirstReceives first_;
  bool starts_ = false;  ///< nothing has come yet, and what is posted goes into `first_`
  MessageMatcher matcher_;
  bool all_eager_;
  struct Enabled {
    const std::byte* node;
    std::uint32_t rank;
    std::uint8_t kind;
  };
  std::vector<Enabled> enabled_ = std::vector<Enabled>(16);  ///< by the event at hand: the first `ready_`
  std::size_t ready_ = 0;
  std::uint64_t number_ = 0;  ///< of the next event
  std::uint64_t executed_ = 0;
  std::int64_t messages_ = 0;
};

template <bool kOne>
Status Engine<kOne>::allocate() {
  const std::uint32_t ranks = image_.ranks();
  if (rows_.bytes(ranks) > kMostStateBytes)
    return fail(
        Error{.code = Errc::Unsupported,
              .id = "goal-006",
              .message = fmt::format(
                  "{} ranks with {} CPUs and {} ports each need {} bytes of clocks, at most {} are kept",
                  ranks, image_.cpus(), image_.nics(), rows_.bytes(ranks), kMostStateBytes),
              .hint = "number the `cpu` and `nic` of the operations from 0 without gaps",
              .where = Where{.file = image_.name()}});
  if (count_ == Count::All || image_.most_predecessors() > 1)
    done_.allocate(image_.operations(), image_.most_predecessors());
  rows_.allocate(ranks);
  return {};
}

template <bool kOne>
tl::unexpected<Error> Engine<kOne>::too_long() const {
  return fail(Error{.code = Errc::Unsupported,
                    .id = "goal-006",
                    .message = "the schedule lasts longer than 26 days",
                    .hint = "check the units: GOAL's `calc` counts nanoseconds",
                    .where = Where{.file = image_.name()}});
}

/// What the run with Count::All has left.
template <bool kOne>
Error Engine<kOne>::blocked() const {
  std::vector<std::uint32_t> left;
  left.reserve(image_.operations());
  for (std::uint32_t rank = 0; rank < image_.ranks(); ++rank) {
    const GoalBlock& block = image_.block(rank);
    for (std::uint32_t i = 0; i < block.count; ++i)
      left.push_back(block.node(i).predecessors() - done_.done(std::size_t{block.first} + i));
  }
  return explain_blocked(image_, left, first_, matcher_);
}

/// Puts an event off. Only the first of those that wait for the same is in the queue: the others could not come before it,
/// and asking each again whenever the resource frees would be quadratic. One that is no longer the first, since one of an
/// earlier order came, comes here again and joins the others.
template <bool kOne>
void Engine<kOne>::wait(const Event& e, std::int64_t until, const Needs& needs) {
  const std::uint64_t order = e.order | kWaits;
  std::uint64_t& first = rows_.first(e.at, needs.lane);
  if (order <= first) {
    first = order;
    queue_.push(Event{until, order, e.node, e.rank, e.at});
    return;
  }
  std::uint32_t& list = rows_.list(e.at, needs.lane);
  if (list == 0) {
    if (idle_lists_.empty()) {
      waiters_.emplace_back();
      idle_lists_.push_back(static_cast<std::uint32_t>(waiters_.size()));
    }
    list = idle_lists_.back();
    idle_lists_.pop_back();
  }
  waiters_[list - 1].push(Waiter{order, e.rank, operation_of(e)});
}

/// The first that waited has run: the next one enters the queue.
template <bool kOne>
void Engine<kOne>::next_of(std::uint32_t rank, const Needs& needs) {
  std::uint64_t& first = rows_.first(rank, needs.lane);
  std::uint32_t& list = rows_.list(rank, needs.lane);
  if (list == 0) {
    first = kNobody;
    return;
  }
  WaitingList& waiting = waiters_[list - 1];
  const Waiter next = waiting.front();
  waiting.pop();
  if (waiting.empty()) idle_lists_.push_back(std::exchange(list, 0));
  first = next.order;
  queue_.push(Event{rows_.free_at(rank, needs), next.order, image_.block(next.rank).at(next.operation),
                    next.rank, rank});
}

template <bool kOne>
void Engine<kOne>::handle(const Event& e) {
  const GoalNode node(e.node);
  const bool message = (e.order & kMessage) != 0;
  const std::uint8_t kind = node.kind();
  if (!message && kind == GoalNode::kReceive) {
    receive(e, node);
    return push_enabled();
  }
  const Needs needs = rows_.needs(message                   ? Need::Arrival
                                  : kind == GoalNode::kSend ? Need::Send
                                                            : Need::Calc,
                                  node);
  const std::int64_t free = rows_.free_at(e.at, needs);
  if (free > e.time) return wait(e, free, needs);
  if (message) {
    arrive(e, node, needs);
  } else if (kind == GoalNode::kSend) {
    send(e, node, needs);
  } else {
    calculate(e, node, needs);
  }
  if ((e.order & kWaits) != 0 && rows_.first(e.at, needs.lane) == e.order) next_of(e.at, needs);
  push_enabled();
}

template <bool kOne>
void Engine<kOne>::calculate(const Event& e, const GoalNode& node, const Needs& needs) {
  ++executed_;
  rows_.clock(e.rank, needs.cpu) = e.time + cost_.calc(node.amount());
  enable_after_start(e.rank, node);
  enable_after_end(e.rank, node);
}

template <bool kOne>
void Engine<kOne>::send(const Event& e, const GoalNode& node, const Needs& needs) {
  ++executed_;
  ++messages_;
  const std::uint64_t n = node.amount();
  rows_.clock(e.rank, needs.cpu) = e.time + cost_.overhead + cost_.copied(n);
  rows_.clock(e.rank, needs.port) = e.time + cost_.gap + cost_.transferred(n);
  enable_after_start(e.rank, node);
  queue_.push(Event{e.time + cost_.overhead + cost_.latency, number_++ * kNumber | kMessage, e.node, e.rank,
                    node.peer()});
  if (cost_.eager(n)) enable_after_end(e.rank, node);
}

template <bool kOne>
void Engine<kOne>::receive(const Event& e, const GoalNode& node) {
  ++executed_;
  enable_after_start(e.rank, node);
  const std::uint32_t operation = operation_of(e);
  if (starts_ && first_.add(e.rank, operation)) return;
  const MessageMatcher::Met message = matcher_.post(e.rank, node.peer(), node.tag(), operation);
  if (message.operation == MessageMatcher::kNone) return;
  if (!all_eager_)
    if (const GoalNode send = image_.block(message.source).node(message.operation);
        !cost_.eager(send.amount()))
      release_sender(message.source, send, e.time, node);
  enable_after_end(e.rank, node);
}

template <bool kOne>
void Engine<kOne>::arrive(const Event& e, const GoalNode& node, const Needs& needs) {
  const std::uint64_t n = node.amount();
  const std::int64_t transferred = cost_.transferred(n);
  rows_.clock(e.at, needs.cpu) = e.time + cost_.overhead + std::max(cost_.copied(n), transferred);
  rows_.clock(e.at, needs.port) = e.time + cost_.gap + transferred;
  std::uint32_t receive = FirstReceives::kNone;
  if (first_.waiting() != 0) receive = first_.take(e.at, e.rank, node.tag());
  if (receive == FirstReceives::kNone)
    receive = matcher_.arrive(e.at, e.rank, node.tag(), operation_of(e)).operation;
  if (receive == MessageMatcher::kNone) return;
  if (!cost_.eager(n)) release_sender(e.rank, node, e.time, node);
  enable_after_end(e.at, image_.block(e.at).node(receive));
}

/// The receiver of a rendezvous is there: the sender goes on, from now; charged are the CPU and port of `place`.
template <bool kOne>
void Engine<kOne>::release_sender(std::uint32_t rank, const GoalNode& send, std::int64_t at,
                                  const GoalNode& place) {
  enable_after_end(rank, send);
  const Needs needs = rows_.needs(Need::Send, place);
  for (const std::uint32_t i : {needs.cpu, needs.port})
    rows_.clock(rank, i) = std::max(rows_.clock(rank, i), at);
}

template <bool kOne>
void Engine<kOne>::enable_after_start(std::uint32_t rank, const GoalNode& node) {
  if (const std::uint32_t count = node.after_start(); count != 0) enable(rank, node.after_start_at(), count);
}

template <bool kOne>
void Engine<kOne>::enable_after_end(std::uint32_t rank, const GoalNode& node) {
  if (const std::uint32_t count = node.after_end(); count != 0) enable(rank, node.after_end_at(), count);
}

/// One predecessor less for `count` successors, which lie from place `from` on.
template <bool kOne>
void Engine<kOne>::enable(std::uint32_t rank, std::uint32_t from, std::uint32_t count) {
  const GoalBlock& block = image_.block(rank);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t operation = block.successor(from + i);
    const std::byte* at = block.at(operation);
    const std::uint32_t predecessors = GoalNode(at).predecessors();
    const bool counted = count_ == Count::All || predecessors != 1;
    if (counted && !done_.add(std::size_t{block.first} + operation, predecessors)) continue;
    if (ready_ == enabled_.size()) enabled_.resize(2 * enabled_.size());
    Enabled& next = enabled_[ready_++];
    next.node = at;
    next.rank = rank;
    next.kind = GoalNode(at).kind();
  }
}

/// What the event at hand has made ready enters the queue: by rank, then sends, receives, calculations, else
/// in the order of the schedule's dependencies.
template <bool kOne>
void Engine<kOne>::push_enabled() {
  if (ready_ > 1) sort_enabled();
  for (std::size_t i = 0; i < ready_; ++i) {
    const Enabled& x = enabled_[i];
    const Needs needs = rows_.needs(x.kind == GoalNode::kSend ? Need::Send : Need::Calc, GoalNode(x.node));
    queue_.push(Event{rows_.free_at(x.rank, needs), number_++ * kNumber, x.node, x.rank, x.rank});
  }
  ready_ = 0;
}

/// Nearly always two; sorting them must not allocate.
template <bool kOne>
void Engine<kOne>::sort_enabled() {
  const auto before = [](const Enabled& a, const Enabled& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.kind < b.kind;
  };
  const std::span all(enabled_.data(), ready_);
  if (ready_ == 2) {
    if (before(all[1], all[0])) std::swap(all[0], all[1]);
  } else if (!std::is_sorted(all.begin(), all.end(), before)) {
    std::stable_sort(all.begin(), all.end(), before);
  }
}

/// Operations without predecessors are the first events: all at zero, by rank and kind. They need no queue,
/// since nothing that they cause comes before the last of them.
template <bool kOne>
void Engine<kOne>::start_roots() {
  std::uint64_t roots = 0;
  std::uint64_t receives = 0;
  for (std::uint32_t rank = 0; rank < image_.ranks(); ++rank) {
    roots += image_.block(rank).roots;
    receives += FirstReceives::places(image_.block(rank).root_receives);
  }
  starts_ = !image_.any_source() && !image_.any_tag() && !image_.any_both();
  if (starts_) first_.reserve(receives);
  number_ = roots;
  std::uint64_t root = 0;
  for (std::uint32_t rank = 0; rank < image_.ranks(); ++rank) {
    const GoalBlock& block = image_.block(rank);
    if (starts_) first_.add_rank(block.root_receives);
    for (const std::uint8_t kind : {GoalNode::kSend, GoalNode::kReceive, GoalNode::kCalc})
      for (std::uint32_t i = 0; i < block.roots; ++i) {
        const std::byte* node = block.at(block.root(i));
        if (GoalNode(node).kind() == kind) start(Event{0, root++ * kNumber, node, rank, rank});
      }
  }
  starts_ = false;
}

/// The next events are known; what they will touch is fetched while others are worked on, in three stages
/// since each says where the next lies.
template <bool kOne>
void Engine<kOne>::prefetch_soon() const {
  if (const Event* e = queue_.soon(24)) {
    prefetch(e->node);
    prefetch(e->node + 3 * kGoalNodeBytes - 1);  // who depends on it is mostly close behind
    rows_.prefetch(e->at);
    matcher_.prefetch(e->at);
    prefetch_other_side(*(e - 12));
    if (((e - 19)->order & kMessage) != 0) prefetch_receiver(*(e - 19));
    return;
  }
  if (const Event* e = queue_.soon(12)) prefetch_other_side(*e);
  if (const Event* e = queue_.soon(5); e != nullptr && (e->order & kMessage) != 0) prefetch_receiver(*e);
}

template <bool kOne>
void Engine<kOne>::prefetch_other_side(const Event& e) const {
  const GoalNode node(e.node);
  if ((e.order & kMessage) != 0) {
    if (first_.waiting() != 0) return first_.prefetch(e.at, e.rank, node.tag());
    const std::uint32_t receive = matcher_.peek_receive(e.at, e.rank, node.tag());
    if (receive != MessageMatcher::kNone) {
      prefetch(image_.block(e.at).at(receive));
      return prefetch(image_.block(e.at).at(receive + 3) - 1);
    }
    return matcher_.prefetch(e.at, e.rank, node.tag());
  }
  image_.block(e.rank).prefetch_successors(node.after_end_at());
  if (node.kind() == GoalNode::kReceive) matcher_.prefetch(e.rank, node.peer(), node.tag());
}

/// What the receive of a message makes ready, if it waits already.
template <bool kOne>
void Engine<kOne>::prefetch_receiver(const Event& e) const {
  const std::uint32_t tag = GoalNode(e.node).tag();
  if (first_.waiting() != 0) return first_.prefetch_receive(e.at, e.rank, tag);
  const std::uint32_t receive = matcher_.peek_receive(e.at, e.rank, tag);
  if (receive == MessageMatcher::kNone) return;
  const GoalBlock& block = image_.block(e.at);
  block.prefetch_successors(block.node(receive).after_end_at());
  done_.prefetch(std::size_t{block.first} + receive + 1);
}

template <bool kOne>
Result<EventOutcome> Engine<kOne>::run() {
  COX_CHECK(allocate());
  start_roots();
  while (!queue_.empty()) {
    const Event e = queue_.pop();
    if (e.time > LogGopsCosts::kLongest) return too_long();
    prefetch_soon();
    handle(e);
  }
  if (executed_ != image_.operations() || first_.waiting() + matcher_.waiting() != 0) {
    if (count_ == Count::All) return fail(blocked());
    return Engine(image_, cost_, Count::All).run();
  }
  EventOutcome outcome;
  outcome.messages = messages_;
  outcome.events = static_cast<std::int64_t>(number_);
  outcome.finish.reserve(image_.ranks());
  for (std::uint32_t rank = 0; rank < image_.ranks(); ++rank)
    outcome.finish.emplace_back(static_cast<double>(rows_.done(rank)) * 1e-12);
  return outcome;
}

}  // namespace

Result<EventOutcome> run_image(const GoalImage& image, const LogGops& cost) {
  COX_TRY(const LogGopsCosts costs,
          LogGopsCosts::make(cost, kCalcUnit, image.longest_calc(), image.longest_message(), image.name()));
  if (image.cpus() == 1 && image.nics() == 1)
    return Engine<true>(image, costs, Engine<true>::Count::Joins).run();
  return Engine<false>(image, costs, Engine<false>::Count::Joins).run();
}

}  // namespace cox::simulate
