// SPDX-License-Identifier: Apache-2.0
// The queue against the definition: a sorted set of (time, order).
#include "simulate/event/event_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cox/base/random.hpp"

namespace cox::simulate {
namespace {

/// How far ahead of the event at hand new ones are, as a power of two of picoseconds.
struct EventDelays {
  int shortest = 0;
  int longest = 0;
  int zero_of_8 = 0;  ///< so many are at the same instant
  int past_of_8 = 0;  ///< or before it
};

class QueueAndSet {
 public:
  explicit QueueAndSet(std::uint32_t seed) : draws_(1, seed) {}

  void push(std::int64_t time) {
    queue_.push(Event{time, order_, nullptr, static_cast<std::uint32_t>(order_), 0});
    want_.emplace(time, order_);
    ++order_;
  }
  /// Pushes and takes until `events` were pushed, about `held` on their way.
  void run(const EventDelays& delays, std::uint64_t events, std::size_t held) {
    for (const std::uint64_t end = order_ + events; order_ < end;) {
      const std::uint64_t bits = draws_.bits(0, order_);
      push(time_of(delays, bits));
      if (want_.size() > held || (bits >> 60) == 0) {
        ASSERT_NO_FATAL_FAILURE(pop());
      }
    }
  }
  void drain() {
    while (!want_.empty()) ASSERT_NO_FATAL_FAILURE(pop());
    EXPECT_TRUE(queue_.empty());
  }

 private:
  std::int64_t time_of(const EventDelays& delays, std::uint64_t bits) const {
    const auto of_8 = static_cast<int>(bits % 8);
    if (of_8 < delays.zero_of_8) return now_;
    const int span =
        delays.shortest +
        static_cast<int>((bits >> 8) % static_cast<std::uint64_t>(delays.longest - delays.shortest + 1));
    const auto far = static_cast<std::int64_t>((bits >> 16) % (std::uint64_t{1} << span));
    return of_8 < delays.zero_of_8 + delays.past_of_8 ? std::max<std::int64_t>(0, now_ - far) : now_ + far;
  }
  void pop() {
    ASSERT_FALSE(queue_.empty());
    const Event e = queue_.pop();
    ASSERT_EQ(std::make_pair(e.time, e.order), *want_.begin());
    ASSERT_EQ(e.rank, static_cast<std::uint32_t>(e.order));
    want_.erase(want_.begin());
    now_ = std::max(now_, e.time);
    const auto next = want_.begin();
    if (const Event* soon = queue_.soon(0); soon != nullptr && next != want_.end()) {
      EXPECT_GE(std::make_pair(soon->time, soon->order), *next);
    }
  }

  RandomStream draws_;
  EventQueue queue_;
  std::set<std::pair<std::int64_t, std::uint64_t>> want_;
  std::uint64_t order_ = 0;
  std::int64_t now_ = 0;
};

TEST(EventQueue, GivesWhatASortedSetGives) {
  std::uint32_t seed = 0;
  for (const std::size_t held : {1U, 3U, 40U, 3000U})
    for (const EventDelays& delays : {EventDelays{22, 22, 0, 0}, EventDelays{0, 12, 3, 0},
                                      EventDelays{10, 45, 2, 2}, EventDelays{0, 3, 6, 1}}) {
      QueueAndSet pair(++seed);
      ASSERT_NO_FATAL_FAILURE(pair.run(delays, 60'000, held));
      ASSERT_NO_FATAL_FAILURE(pair.drain());
    }
}

TEST(EventQueue, WidthFollowsDelaysThatChange) {
  QueueAndSet pair(99);
  for (const int span : {8, 30, 50, 14, 40, 2})
    ASSERT_NO_FATAL_FAILURE(pair.run(EventDelays{span, span, 1, 0}, 100'000, 2000));
  ASSERT_NO_FATAL_FAILURE(pair.drain());
}

// Buckets that hold one each since there are no more events are as wide as they should be.
TEST(EventQueue, AFewEventsForLongAndThenMany) {
  QueueAndSet pair(7);
  ASSERT_NO_FATAL_FAILURE(pair.run(EventDelays{22, 22, 0, 0}, 700'000, 1));
  ASSERT_NO_FATAL_FAILURE(pair.run(EventDelays{55, 55, 0, 0}, 200, 100));
  ASSERT_NO_FATAL_FAILURE(pair.run(EventDelays{22, 22, 0, 0}, 50'000, 3000));
  ASSERT_NO_FATAL_FAILURE(pair.drain());
}

TEST(EventQueue, TheRowHoldsWhatComesNext) {
  EventQueue queue;
  for (std::uint64_t i = 0; i < 1000; ++i)
    queue.push(Event{static_cast<std::int64_t>((i * 7919) % 1000) * 1000, i, nullptr, 0, 0});
  for (std::int64_t i = 0; i < 1000 - static_cast<std::int64_t>(EventQueue::kAhead); ++i) {
    ASSERT_EQ(queue.pop().time, i * 1000);
    ASSERT_NE(queue.soon(EventQueue::kAhead - 1), nullptr);
    ASSERT_EQ(queue.soon(EventQueue::kAhead - 1)->time,
              (i + static_cast<std::int64_t>(EventQueue::kAhead)) * 1000);
  }
}

}  // namespace
}  // namespace cox::simulate
