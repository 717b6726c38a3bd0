// SPDX-License-Identifier: Apache-2.0
// The event engine over LogGOPS. What each event does and in which order events come is
// docs/concepts/event-engine.md; the rules are those of LogGOPSim, so that its answers are ours.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cox/base/prefetch.hpp"
#include "cox/simulate/event.hpp"

#include "simulate/event/event_queue.hpp"
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
constexpr std::uint64_t kWaits = 2;    ///< also in a waiting list: the first of it
constexpr std::uint64_t kNumber = 4;

/// What waits for the same CPU and port; kept apart because each kind needs another set of resources.
enum class Need : std::uint8_t { Calc, Send, Arrival };

class Engine {
 public:
  enum class Count : std::uint8_t { Joins, All };

  /// With Count::All every operation is counted down, so that what is left says which never began.
  Engine(const GoalImage& image, const LogGopsCosts& cost, Count count)
      : image_(image),
        cost_(cost),
        count_(count),
        cpus_(static_cast<std::size_t>(image_.cpus())),
        nics_(static_cast<std::size_t>(image_.nics())),
        stride_(cpus_ + 2 * nics_),
        matcher_({image_.any_source(), image_.any_tag(), image_.any_both()}) {}

  Result<EventOutcome> run();

 private:
  [[nodiscard]] Status allocate();
  [[nodiscard]] tl::unexpected<Error> too_long() const;

  std::int64_t* clocks(std::uint32_t rank) { return clocks_.data() + std::size_t{rank} * stride_; }
  std::int64_t& cpu(std::uint32_t rank, std::uint8_t c) { return clocks(rank)[c]; }
  std::int64_t& send_port(std::uint32_t rank, std::uint8_t n) { return clocks(rank)[cpus_ + n]; }
  std::int64_t& receive_port(std::uint32_t rank, std::uint8_t n) { return clocks(rank)[cpus_ + nics_ + n]; }

  void start_roots();
  void handle(const Event& e);
  [[nodiscard]] std::int64_t free_at(Need need, std::uint32_t rank, const GoalNode& node);
  [[nodiscard]] WaitingList& waiting(Need need, std::uint32_t rank, const GoalNode& node);
  void wait(const Event& e, std::int64_t until, Need need, std::uint32_t rank, const GoalNode& node);

  void calculate(const Event& e, const GoalNode& node);
  void send(const Event& e, const GoalNode& node);
  void receive(const Event& e, const GoalNode& node);
  void arrive(const Event& e, const GoalNode& node);
  void release_sender(std::uint32_t rank, std::uint32_t operation, std::int64_t at, std::uint8_t c,
                      std::uint8_t n);

  void enable_after_start(std::uint32_t rank, const GoalNode& node);
  void enable_after_end(std::uint32_t rank, const GoalNode& node);
  void enable(std::uint32_t rank, std::uint32_t operation);
  void push_enabled();
  inline void prefetch_soon() const;
  inline void prefetch_next_instants() const;
  inline void prefetch_other_side(const Event& e) const;
  inline void prefetch_receiver(std::uint32_t rank) const;

  const GoalImage& image_;
  LogGopsCosts cost_;
  Count count_;
  /// Predecessors that each operation still waits for; not kept for those with one (Count::Joins).
  std::vector<std::uint32_t> left_;
  std::size_t cpus_;
  std::size_t nics_;
  std::size_t stride_;
  std::vector<std::int64_t> clocks_;  ///< per rank: when each CPU, sending port, receiving port is free
  /// Per rank, need, CPU and port: 1 + index in waiters_; 0 = none yet.
  std::vector<std::uint32_t> waiting_at_;
  std::vector<WaitingList> waiters_;
  /// The rank's receive that was posted last: only a guess where the next message will look.
  struct Posted {
    std::uint32_t operation;
    std::uint32_t successors;
  };
  std::vector<Posted> posted_;
  EventQueue queue_;
  MessageMatcher matcher_;
  struct Enabled {
    std::uint32_t rank;
    std::uint32_t operation;
    std::uint8_t kind;
  };
  std::vector<Enabled> enabled_;  ///< by the event at hand
  std::uint64_t number_ = 0;      ///< of the next event
  std::uint64_t executed_ = 0;
  std::int64_t messages_ = 0;
};

Status Engine::allocate() {
  const std::uint64_t ranks = image_.ranks();
  const std::uint64_t classes = cpus_ + 2 * cpus_ * nics_;
  const std::uint64_t bytes = ranks * (stride_ * 8 + classes * 4);
  if (bytes > kMostStateBytes)
    return fail(
        Error{.code = Errc::Unsupported,
              .id = "goal-006",
              .message = fmt::format(
                  "{} ranks with {} CPUs and {} ports each need {} bytes of clocks, at most {} are kept",
                  ranks, cpus_, nics_, bytes, kMostStateBytes),
              .hint = "number the `cpu` and `nic` of the operations from 0 without gaps",
              .where = Where{.file = image_.name()}});
  if (count_ == Count::All || image_.joins()) {
    left_.reserve(image_.operations());
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      for (std::uint32_t i = 0; i < image_.block(rank).count; ++i)
        left_.push_back(image_.block(rank).node(i).predecessors());
  }
  clocks_.assign(ranks * stride_, 0);
  waiting_at_.assign(ranks * classes, 0);
  posted_.assign(ranks, Posted{});
  return {};
}

tl::unexpected<Error> Engine::too_long() const {
  return fail(Error{.code = Errc::Unsupported,
                    .id = "goal-006",
                    .message = "the schedule lasts longer than 26 days",
                    .hint = "check the units: GOAL's `calc` counts nanoseconds",
                    .where = Where{.file = image_.name()}});
}

std::int64_t Engine::free_at(Need need, std::uint32_t rank, const GoalNode& node) {
  const std::int64_t c = cpu(rank, node.cpu());
  if (need == Need::Calc) return c;
  return std::max(c, need == Need::Send ? send_port(rank, node.nic()) : receive_port(rank, node.nic()));
}

WaitingList& Engine::waiting(Need need, std::uint32_t rank, const GoalNode& node) {
  std::size_t at = std::size_t{rank} * (cpus_ + 2 * cpus_ * nics_);
  at += need == Need::Calc ? node.cpu()
                           : cpus_ + ((need == Need::Send ? 0 : cpus_) + node.cpu()) * nics_ + node.nic();
  if (waiting_at_[at] == 0) {
    waiters_.emplace_back();
    waiting_at_[at] = static_cast<std::uint32_t>(waiters_.size());
  }
  return waiters_[waiting_at_[at] - 1];
}

/// Puts an event off. Only the first of those that wait for the same is in the queue: the others could not
/// come before it, and asking each again whenever the resource frees would be quadratic.
void Engine::wait(const Event& e, std::int64_t until, Need need, std::uint32_t rank, const GoalNode& node) {
  if ((e.order & kWaits) == 0) {
    WaitingList& list = waiting(need, rank, node);
    list.push(Waiter{e.order | kWaits, e.rank, e.operation});
    if (list.front().order != (e.order | kWaits)) return;
  }
  queue_.push_again(Event{until, e.order | kWaits, e.rank, e.operation});
}

void Engine::handle(const Event& e) {
  const GoalNode node = image_.block(e.rank).node(e.operation);
  const bool message = (e.order & kMessage) != 0;
  if (!message && node.kind() == GoalNode::kReceive) {
    receive(e, node);
    return push_enabled();
  }
  const Need need = message ? Need::Arrival : node.kind() == GoalNode::kSend ? Need::Send : Need::Calc;
  const std::uint32_t rank = message ? node.peer() : e.rank;
  if ((e.order & kWaits) != 0) {
    const WaitingList& list = waiting(need, rank, node);
    if (list.empty() || list.front().order != e.order) return;  // ran already, or is no longer the first
  }
  const std::int64_t free = free_at(need, rank, node);
  if (free > e.time) return wait(e, free, need, rank, node);
  if (message) {
    arrive(e, node);
  } else if (need == Need::Send) {
    send(e, node);
  } else {
    calculate(e, node);
  }
  if ((e.order & kWaits) != 0) {
    WaitingList& list = waiting(need, rank, node);
    list.pop();
    if (!list.empty()) {
      const Waiter& next = list.front();
      queue_.push_again(Event{free_at(need, rank, node), next.order, next.rank, next.operation});
    }
  }
  push_enabled();
}

void Engine::calculate(const Event& e, const GoalNode& node) {
  ++executed_;
  cpu(e.rank, node.cpu()) = e.time + cost_.calc(node.amount());
  enable_after_start(e.rank, node);
  enable_after_end(e.rank, node);
}

void Engine::send(const Event& e, const GoalNode& node) {
  ++executed_;
  ++messages_;
  const std::uint64_t n = node.amount();
  cpu(e.rank, node.cpu()) = e.time + cost_.overhead + cost_.copied(n);
  send_port(e.rank, node.nic()) = e.time + cost_.gap + cost_.transferred(n);
  enable_after_start(e.rank, node);
  queue_.push(
      Event{e.time + cost_.overhead + cost_.latency, number_++ * kNumber | kMessage, e.rank, e.operation});
  if (cost_.eager(n)) enable_after_end(e.rank, node);
}

void Engine::receive(const Event& e, const GoalNode& node) {
  ++executed_;
  enable_after_start(e.rank, node);
  const auto message = matcher_.post(e.rank, node.peer(), node.tag(), e.operation);
  if (!message) {
    posted_[e.rank] = Posted{e.operation, node.after_end_at()};
    return;
  }
  if (!cost_.eager(image_.block(message->source).node(message->operation).amount()))
    release_sender(message->source, message->operation, e.time, node.cpu(), node.nic());
  enable_after_end(e.rank, node);
}

void Engine::arrive(const Event& e, const GoalNode& node) {
  const std::uint32_t rank = node.peer();
  const std::uint64_t n = node.amount();
  cpu(rank, node.cpu()) = e.time + cost_.overhead + std::max(cost_.copied(n), cost_.transferred(n));
  receive_port(rank, node.nic()) = e.time + cost_.gap + cost_.transferred(n);
  const auto receiver = matcher_.arrive(rank, e.rank, node.tag(), e.operation);
  if (!receiver) return;
  if (!cost_.eager(n)) release_sender(e.rank, e.operation, e.time, node.cpu(), node.nic());
  enable_after_end(rank, image_.block(rank).node(receiver->operation));
}

/// The receiver of a rendezvous is there: the sender goes on, from now.
void Engine::release_sender(std::uint32_t rank, std::uint32_t operation, std::int64_t at, std::uint8_t c,
                            std::uint8_t n) {
  enable_after_end(rank, image_.block(rank).node(operation));
  cpu(rank, c) = std::max(cpu(rank, c), at);
  send_port(rank, n) = std::max(send_port(rank, n), at);
}

void Engine::enable_after_start(std::uint32_t rank, const GoalNode& node) {
  const std::uint32_t count = node.after_start();
  if (count == 0) return;
  const std::uint32_t at = node.after_start_at();
  for (std::uint32_t i = 0; i < count; ++i) enable(rank, image_.block(rank).successor(at + i));
}

void Engine::enable_after_end(std::uint32_t rank, const GoalNode& node) {
  const std::uint32_t count = node.after_end();
  if (count == 0) return;
  const std::uint32_t at = node.after_end_at();
  for (std::uint32_t i = 0; i < count; ++i) enable(rank, image_.block(rank).successor(at + i));
}

void Engine::enable(std::uint32_t rank, std::uint32_t operation) {
  const GoalBlock& block = image_.block(rank);
  const GoalNode node = block.node(operation);
  const bool counted = count_ == Count::All || node.predecessors() != 1;
  if (counted && --left_[block.first + operation] != 0) return;
  enabled_.push_back(Enabled{rank, operation, node.kind()});
}

/// What the event at hand has made ready enters the queue: by rank, then sends, receives, calculations, else
/// in the order of the schedule's dependencies.
void Engine::push_enabled() {
  if (enabled_.empty()) return;
  const auto before = [](const Enabled& a, const Enabled& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.kind < b.kind;
  };
  // Nearly always one or two; sorting them must not allocate.
  if (!std::is_sorted(enabled_.begin(), enabled_.end(), before)) {
    if (enabled_.size() == 2) {
      std::swap(enabled_[0], enabled_[1]);
    } else {
      std::stable_sort(enabled_.begin(), enabled_.end(), before);
    }
  }
  for (const Enabled& x : enabled_) {
    const GoalNode node = image_.block(x.rank).node(x.operation);
    const std::int64_t at = free_at(x.kind == GoalNode::kSend ? Need::Send : Need::Calc, x.rank, node);
    queue_.push(Event{at, number_++ * kNumber, x.rank, x.operation});
  }
  enabled_.clear();
}

/// Operations without predecessors are the first events: all at zero, by rank and kind. They need no queue,
/// since nothing that they cause comes before the last of them.
void Engine::start_roots() {
  constexpr std::uint32_t kAhead = 16;
  number_ = 0;
  std::uint64_t roots = 0;
  for (std::uint32_t rank = 0; rank < image_.ranks(); ++rank) roots += image_.block(rank).roots;
  number_ = roots;
  std::uint64_t root = 0;
  for (std::uint32_t rank = 0; rank < image_.ranks(); ++rank) {
    const GoalBlock& block = image_.block(rank);
    for (const std::uint8_t kind : {GoalNode::kSend, GoalNode::kReceive, GoalNode::kCalc})
      for (std::uint32_t i = 0; i < block.roots; ++i) {
        if (kind == GoalNode::kReceive && i + kAhead < block.roots)
          if (const GoalNode later = block.node(block.root(i + kAhead)); later.kind() == kind)
            matcher_.prefetch(rank, later.peer(), later.tag());
        if (const std::uint32_t operation = block.root(i); block.node(operation).kind() == kind)
          handle(Event{0, root++ * kNumber, rank, operation});
      }
  }
}

/// The next events are known; what they will touch is fetched while others are worked on, in four stages
/// since each says where the next lies.
void Engine::prefetch_soon() const {
  if (queue_.soon(0) == nullptr) return prefetch_next_instants();
  if (const Event* e = queue_.soon(32)) {
    prefetch(&image_.block(e->rank));
    prefetch(clocks_.data() + std::size_t{e->rank} * stride_);
  }
  if (const Event* e = queue_.soon(24)) {
    const std::byte* node = image_.block(e->rank).nodes + std::size_t{e->operation} * kGoalNodeBytes;
    prefetch(node);
    prefetch(node + 3 * kGoalNodeBytes - 1);  // who depends on it is mostly close behind
    if (!left_.empty()) prefetch(&left_[image_.block(e->rank).first + e->operation]);
  }
  if (const Event* e = queue_.soon(16)) prefetch_other_side(*e);
  if (const Event* e = queue_.soon(8); e != nullptr && (e->order & kMessage) != 0)
    prefetch_receiver(image_.block(e->rank).node(e->operation).peer());
}

/// Where instants have few events each: those of the next instants, first what they are, then, as they come closer, what
/// they touch.
void Engine::prefetch_next_instants() const {
  constexpr std::size_t kFew = 24;
  constexpr std::size_t kFewest = 4;
  const std::span<const Event> next = queue_.nearest();
  if (next.size() > kFew) return;
  for (const Event& e : next) {
    if (next.size() > kFewest)
      prefetch(image_.block(e.rank).nodes + std::size_t{e.operation} * kGoalNodeBytes);
    else
      prefetch_other_side(e);
  }
}

void Engine::prefetch_other_side(const Event& e) const {
  const GoalBlock& block = image_.block(e.rank);
  const GoalNode node = block.node(e.operation);
  if ((e.order & kMessage) != 0) {
    const std::uint32_t to = node.peer();
    prefetch(&image_.block(to));
    prefetch(clocks_.data() + std::size_t{to} * stride_);
    prefetch(&posted_[to]);
    matcher_.prefetch(to, e.rank, node.tag());
    return;
  }
  block.prefetch_successors(node.after_end_at());
  if (node.kind() == GoalNode::kReceive) matcher_.prefetch(e.rank, node.peer(), node.tag());
}

/// The receive that a message will find is mostly the one that its rank posted last.
void Engine::prefetch_receiver(std::uint32_t rank) const {
  const GoalBlock& block = image_.block(rank);
  const Posted& posted = posted_[rank];
  const std::byte* node = block.nodes + std::size_t{posted.operation} * kGoalNodeBytes;
  prefetch(node);
  prefetch(node + 3 * kGoalNodeBytes - 1);
  block.prefetch_successors(posted.successors);
  if (!left_.empty()) prefetch(left_.data() + block.first + posted.operation);
}

Result<EventOutcome> Engine::run() {
  COX_CHECK(allocate());
  start_roots();
  while (!queue_.empty()) {
    const Event e = queue_.pop();
    if (e.time > LogGopsCosts::kLongest) return too_long();
    prefetch_soon();
    handle(e);
  }
  if (executed_ != image_.operations() || matcher_.waiting() != 0) {
    if (count_ == Count::All) return fail(explain_blocked(image_, left_, matcher_));
    return Engine(image_, cost_, Count::All).run();
  }
  EventOutcome outcome;
  outcome.messages = messages_;
  outcome.events = static_cast<std::int64_t>(number_);
  outcome.finish.reserve(image_.ranks());
  for (std::uint32_t rank = 0; rank < image_.ranks(); ++rank)
    outcome.finish.emplace_back(static_cast<double>(*std::max_element(clocks(rank), clocks(rank) + cpus_)) *
                                1e-12);
  return outcome;
}

}  // namespace

Result<EventOutcome> run_image(const GoalImage& image, const LogGops& cost) {
  COX_TRY(const LogGopsCosts costs,
          LogGopsCosts::make(cost, kCalcUnit, image.longest_calc(), image.longest_message(), image.name()));
  return Engine(image, costs, Engine::Count::Joins).run();
}

}  // namespace cox::simulate
