// SPDX-License-Identifier: Apache-2.0
#include "study/runs/exchange_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

#include "study/runs/collective_run.hpp"

namespace cox::study {
namespace {

const Bandwidth kNic = Bandwidth::bytes_per_s(25e9);

Exchange exchange_of(int ranks, std::vector<std::int64_t> sent) {
  return {.ranks = ranks, .sent = std::move(sent), .loads = {}};
}

Exchange equal_messages(int ranks, std::int64_t each) {
  return exchange_of(ranks, std::vector<std::int64_t>(static_cast<std::size_t>(ranks * ranks), each));
}

TEST(Pairwise, EqualMessagesTakeAllOthersOverTheBandwidth) {
  for (const int ranks : {2, 5, 64}) {
    const Seconds t = pairwise_time(equal_messages(ranks, 3), Bytes{1000}, kNic);
    EXPECT_NEAR(t.count(), (ranks - 1) * 3000.0 / 25e9, 1e-15);
    const auto engine = idle_time({.kind = model::Collective::AllToAll,
                                   .algorithm = model::Algorithm::Direct,
                                   .ranks = ranks,
                                   .bytes = Bytes{3000LL * ranks}},
                                  uniform_links(Seconds{0}, kNic));
    ASSERT_TRUE(engine);
    EXPECT_NEAR(t.count(), engine->count(), 1e-15);
  }
}

// Round 1: 0 to 1 takes 5, 1 to 2 takes 1, 2 to 0 takes 1: ranks 0 and 1 are done at 5, rank 2 at 1. Round 2: 0 to 2
// begins at 5 and takes 1, 2 to 1 begins at 5 and takes 4, 1 to 0 begins at 5 and takes 1.
TEST(Pairwise, UnequalMessagesByHand) {
  const Exchange e = exchange_of(3, {9, 5, 1, 1, 9, 1, 1, 4, 9});
  EXPECT_NEAR(pairwise_time(e, Bytes{25'000'000}, kNic).count(), 9e-3, 1e-12);
  // The busiest NIC, into rank 1, is not idle here.
  EXPECT_EQ(busiest_nic(e), 9);
}

// Three messages of different ports, each behind the one before, as each shares a rank with it.
TEST(Pairwise, ARoundMayWaitForTheOneBefore) {
  Exchange e = equal_messages(4, 0);
  e.sent[0 * 4 + 1] = 5;  // round 1
  e.sent[1 * 4 + 3] = 5;  // round 2, behind it
  e.sent[3 * 4 + 2] = 5;  // round 3, behind that
  EXPECT_EQ(busiest_nic(e), 5);
  EXPECT_NEAR(pairwise_time(e, Bytes{25'000'000}, kNic).count(), 15e-3, 1e-12);
}

TEST(Pairwise, IsNeverBelowTheBusiestNic) {
  const RandomStream stream(5, 0);
  for (int i = 0; i < 20; ++i) {
    const Exchange e =
        exchange_tokens(zipf_shares(32, 1), 2000, 2, 16, stream, static_cast<std::uint64_t>(i));
    for (const Exchange& way : {e, way_back(e)}) {
      const double least = static_cast<double>(busiest_nic(way)) * 1000 / 25e9;
      const double t = pairwise_time(way, Bytes{1000}, kNic).count();
      EXPECT_GE(t, least * (1 - 1e-12));
      EXPECT_LE(t, 16 * least);
    }
  }
}

TEST(PairBytes, AreThoseOfTheMatrix) {
  const Exchange e = exchange_of(3, {9, 5, 1, 1, 9, 1, 1, 4, 9});
  const PairBytes p = pair_bytes(e, Bytes{10});
  EXPECT_EQ(p.least, Bytes{10});
  EXPECT_EQ(p.most, Bytes{50});
  EXPECT_EQ(p.mean, Bytes{130 / 6});
  EXPECT_EQ(p.most_sent, Bytes{60});
  EXPECT_EQ(p.sender, 0);
  EXPECT_EQ(p.most_taken, Bytes{90});
  EXPECT_EQ(p.taker, 1);
}

TEST(GroupMatrix, AddsUpItsRanksAndLeavesOutWhatStays) {
  const Exchange e = exchange_of(3, {9, 5, 1, 1, 9, 1, 1, 4, 9});
  const GroupMatrix full = group_matrix(e, Bytes{1}, 16);
  EXPECT_EQ(full.ranks_per_group, 1);
  EXPECT_EQ(full.bytes, (std::vector<std::vector<Bytes>>{{Bytes{0}, Bytes{5}, Bytes{1}},
                                                         {Bytes{1}, Bytes{0}, Bytes{1}},
                                                         {Bytes{1}, Bytes{4}, Bytes{0}}}));
  const GroupMatrix two = group_matrix(e, Bytes{1}, 2);
  EXPECT_EQ(two.ranks_per_group, 2);
  EXPECT_EQ(two.bytes, (std::vector<std::vector<Bytes>>{{Bytes{6}, Bytes{2}}, {Bytes{5}, Bytes{0}}}));
}

}  // namespace
}  // namespace cox::study
