// SPDX-License-Identifier: Apache-2.0
#include "train/transport/threads.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace cox::train {
namespace {

using Four = std::array<std::byte, 4>;

Four four(int value) {
  Four bytes;
  std::memcpy(bytes.data(), &value, bytes.size());
  return bytes;
}

constexpr Seconds kLong{20};
constexpr Seconds kShort{0.05};

TEST(Threads, MessagesMeetBySlotNotByOrder) {
  ThreadHub hub(2, kLong);
  const auto a = hub.transport(0);
  const auto b = hub.transport(1);
  const Four first = four(1), second = four(2);
  Four got_first{}, got_second{};
  std::jthread sender([&] {
    a->send(1, 0, first);
    a->send(1, 1, second);
    EXPECT_TRUE(a->wait());
  });
  b->receive(0, 1, got_second);
  b->receive(0, 0, got_first);
  ASSERT_TRUE(b->wait());
  EXPECT_EQ(got_first, first);
  EXPECT_EQ(got_second, second);
  sender.join();
  EXPECT_EQ(a->sent(), (std::vector{Bytes{0}, Bytes{8}}));
}

TEST(Threads, AFullMailboxHoldsItsSenderUpAndLosesNothing) {
  ThreadHub hub(2, kLong, 2);
  const auto a = hub.transport(0);
  const auto b = hub.transport(1);
  constexpr int kMessages = 50;
  std::vector<Four> sent, got(kMessages);
  for (int i = 0; i < kMessages; ++i) sent.push_back(four(i));
  std::jthread sender([&] {
    for (int i = 0; i < kMessages; ++i)
      a->send(1, static_cast<std::uint64_t>(i), sent[static_cast<std::size_t>(i)]);
    EXPECT_TRUE(a->wait());
  });
  for (int i = 0; i < kMessages; ++i)
    b->receive(0, static_cast<std::uint64_t>(i), got[static_cast<std::size_t>(i)]);
  ASSERT_TRUE(b->wait());
  EXPECT_EQ(got, sent);
}

TEST(Threads, WhoIsAheadTakesNoPlaceOfWhomIsWaitedFor) {
  ThreadHub hub(3, kLong, 1);
  const auto ahead = hub.transport(0);
  const auto late = hub.transport(1);
  const auto here = hub.transport(2);
  const Four early = four(1), awaited = four(2);
  Four got_early{}, got_awaited{};
  std::jthread first([&] {
    ahead->send(2, 1, early);
    EXPECT_TRUE(ahead->wait());
  });
  std::jthread second([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the other's lies there
    late->send(2, 0, awaited);
    EXPECT_TRUE(late->wait());
  });
  here->receive(1, 0, got_awaited);
  ASSERT_TRUE(here->wait());
  here->receive(0, 1, got_early);
  ASSERT_TRUE(here->wait());
  EXPECT_EQ(got_awaited, awaited);
  EXPECT_EQ(got_early, early);
}

// A stage of a pipeline: it goes on with what came, and what it sent is taken whenever the other one comes to it.
TEST(Threads, AWaitForOneMessageLeavesTheOthers) {
  ThreadHub hub(2, kLong);
  const auto a = hub.transport(0);
  const auto b = hub.transport(1);
  const Four first = four(1), second = four(2), back = four(3);
  std::jthread other([&] {
    Four got{};
    b->send(0, 7, back);
    b->receive(0, 1, got);
    EXPECT_TRUE(b->wait_for(0, 1));
    EXPECT_EQ(got, second);
    EXPECT_TRUE(b->wait_for(0, 99));  // nothing of it was begun
    b->receive(0, 0, got);
    EXPECT_TRUE(b->wait());
    EXPECT_EQ(got, first);
  });
  Four got{};
  a->send(1, 0, first);
  a->send(1, 1, second);
  a->receive(1, 7, got);
  ASSERT_TRUE(a->wait_for(1, 7));
  EXPECT_EQ(got, back);
  ASSERT_TRUE(a->wait_for(1, 1));
  ASSERT_TRUE(a->wait());
}

TEST(Threads, AWaitForOneMessageInVainSaysWhich) {
  ThreadHub hub(3, kShort);
  const auto a = hub.transport(0);
  Four got{};
  a->receive(2, 5, got);
  a->receive(2, 7, got);
  const Status ended = a->wait_for(2, 7);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "rank 0 waited 50.0 ms for rank 2 to send message 7 of generation 0");
  EXPECT_TRUE(a->wait());  // what was begun is given up
}

TEST(Threads, NoMoreMessagesLieThereThanPlaces) {
  ThreadHub hub(2, kShort, 2);
  const auto a = hub.transport(0);
  const auto b = hub.transport(1);
  const Four some = four(1);
  std::jthread sender([&] {
    for (const std::uint64_t number : {0, 1, 2}) a->send(1, number, some);
    EXPECT_FALSE(a->wait());
  });
  Four got{};
  b->receive(0, 2, got);  // behind two that nobody takes
  const Status ended = b->wait();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().id, "train-003");
}

TEST(Threads, WhoWaitsInVainSaysForWhom) {
  ThreadHub hub(3, kShort);
  const auto a = hub.transport(0);
  Four got{};
  a->receive(2, 7, got);
  const Status ended = a->wait();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Errc::Timeout);
  EXPECT_EQ(ended.error().id, "train-003");
  EXPECT_EQ(ended.error().message, "rank 0 waited 50.0 ms for rank 2 to send message 7 of generation 0");
  a->send(1, 8, got);
  const Status untaken = a->wait();
  ASSERT_FALSE(untaken);
  EXPECT_EQ(untaken.error().message, "rank 0 waited 50.0 ms for rank 1 to take message 8 of generation 0");
}

TEST(Threads, AMessageOfTheGenerationBeforeMeetsNothing) {
  ThreadHub hub(2, kShort);
  const auto a = hub.transport(0);
  const auto b = hub.transport(1);
  b->renew();
  const Four old = four(1);
  Four got = four(9);
  a->send(1, 0, old);
  b->receive(0, 0, got);
  std::jthread sender([&] { EXPECT_FALSE(a->wait()); });
  EXPECT_FALSE(b->wait());
  sender.join();
  EXPECT_EQ(got, four(9));
  a->renew();
  EXPECT_EQ(a->generation(), 1U);
  const Four fresh = four(2);
  std::jthread again([&] {
    a->send(1, 0, fresh);
    EXPECT_TRUE(a->wait());
  });
  b->receive(0, 0, got);
  EXPECT_TRUE(b->wait());
  EXPECT_EQ(got, fresh);
}

TEST(Threads, AMessageOfAnotherLengthIsNamed) {
  ThreadHub hub(2, kLong);
  const auto a = hub.transport(0);
  const auto b = hub.transport(1);
  const Four four_bytes{};
  std::array<std::byte, 3> three{};
  std::jthread sender([&] {
    a->send(1, 5, four_bytes);
    EXPECT_TRUE(a->wait());
  });
  b->receive(0, 5, three);
  const Status ended = b->wait();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().id, "train-004");
  EXPECT_EQ(ended.error().message,
            "rank 1 got message 5 of generation 0 from rank 0 with bytes 4, expected 3");
}

TEST(Threads, NumbersAreUsedOnceInAGeneration) {
  ThreadHub hub(1, kShort);
  const auto a = hub.transport(0);
  EXPECT_EQ(a->numbers(3), 0U);
  EXPECT_EQ(a->numbers(2), 3U);
  a->renew();
  EXPECT_EQ(a->numbers(1), 0U);
}

TEST(Threads, AnybodysMessageIsTakenOnceAndWhatWasSentBackIsDone) {
  ThreadHub hub(3, kLong);
  const auto server = hub.transport(0);
  constexpr int kEach = 20;
  const auto ask = [&](int rank) {
    const auto link = hub.transport(rank);
    for (int i = 0; i < kEach; ++i) {
      const Four mine = four(100 * rank + i);
      Four back{};
      link->send(0, 1, mine);
      ASSERT_TRUE(link->wait());
      link->receive(0, 0, back);
      ASSERT_TRUE(link->wait());
      EXPECT_EQ(back, mine);
    }
  };
  std::jthread one(ask, 1), two(ask, 2);
  std::array<std::vector<Four>, 3> came;
  std::array<Four, 3> answers{};
  for (int i = 0; i < 2 * kEach; ++i) {
    Four got{};
    const auto from = server->receive_any(1, got);
    ASSERT_TRUE(from);
    const auto at = static_cast<std::size_t>(*from);
    came[at].push_back(got);
    answers[at] = got;
    server->send(*from, 0, answers[at]);
  }
  ASSERT_TRUE(server->wait());
  for (const int rank : {1, 2})
    for (int i = 0; i < kEach; ++i)
      EXPECT_EQ(came[static_cast<std::size_t>(rank)].at(static_cast<std::size_t>(i)), four(100 * rank + i));
}

TEST(Threads, NobodySendsAndThatIsSaid) {
  ThreadHub hub(2, kShort);
  const auto a = hub.transport(0);
  Four got{};
  const auto from = a->receive_any(3, got);
  ASSERT_FALSE(from);
  EXPECT_EQ(from.error().id, "train-003");
  EXPECT_EQ(from.error().message, "rank 0 waited 50.0 ms for anybody to send message 3 of generation 0");
}

}  // namespace
}  // namespace cox::train
