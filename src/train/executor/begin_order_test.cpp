// SPDX-License-Identifier: Apache-2.0
// A receiver's word that it has room must not wait behind what it sends: receives begin before sends. Over links of 100 Mbit/s sums took
// up to twice as long where they did not.
#include <gtest/gtest.h>

#include <string>

#include "train/executor/executor.hpp"
#include "train/executor/unit_sum.hpp"

namespace cox::train {
namespace {

/// Notes what begins and carries nothing.
class Noted final : public Transport {
 public:
  Noted(int rank, int ranks) : Transport(rank, ranks) {}
  Status wait() override {
    order += '|';
    return {};
  }
  Status wait_for(int /*peer*/, std::uint64_t /*number*/) override { return {}; }
  Result<int> receive_any(std::uint64_t /*number*/, std::span<std::byte> /*bytes*/) override { return 0; }
  void wait_longer(int /*times*/) override {}

  std::string order{};  ///< r: a receive, s: a send, |: a wait
  std::vector<int> sent_to{};

 private:
  void begin_send(int to, Slot /*slot*/, std::span<const std::byte> /*bytes*/) override {
    order += 's';
    sent_to.push_back(to);
  }
  void begin_receive(int /*from*/, Slot /*slot*/, std::span<std::byte> /*bytes*/) override { order += 'r'; }
  void forget() override {}
};

TEST(Receives, BeginBeforeSendsInEachRound) {
  for (const model::Algorithm how : {model::Algorithm::Ring, model::Algorithm::HalvingDoubling}) {
    Noted link(1, 4);
    auto executor = Executor::make(
        {.kind = model::Collective::AllReduce, .algorithm = how, .ranks = 4, .bytes = Bytes{64}},
        link.rank());
    ASSERT_TRUE(executor);
    std::vector<float> values(16, 1.0F);
    ASSERT_TRUE(executor->run(link, values));
    EXPECT_EQ(link.order.find("sr"), std::string::npos) << model::name_of(how) << ": " << link.order;
    EXPECT_NE(link.order.find("rs|rs"), std::string::npos) << "rounds of both: " << link.order;
  }
}

TEST(Receives, BeginBeforeSendsToNeighboursFirst) {
  constexpr int kRank = 2;
  Noted link(kRank, 4);
  const Parting parting({{.first = 0, .count = 16}}, 4);
  MemoryCount memory;
  UnitSum sum(4, parting, kRank, memory);
  std::vector<float> leaf(16, 1.0F);
  ASSERT_TRUE(sum.add(0, leaf));
  sum.begin(link, 0);
  begin_gather(link, parting, 0, std::span(leaf).subspan(8, 4), leaf);
  EXPECT_EQ(link.order, "rrrsssrrrsss");
  // Not all ranks begin with the same one.
  EXPECT_EQ(link.sent_to, (std::vector<int>{3, 0, 1, 3, 0, 1}));
}

}  // namespace
}  // namespace cox::train
