// SPDX-License-Identifier: Apache-2.0
#include "cox/model/nccl_cost.hpp"

#include <gtest/gtest.h>

namespace cox::model {
namespace {

using namespace literals;
using enum NcclProtocol;

CollectiveSpec collective(Collective kind, int ranks, Bytes bytes) {
  return {.kind = kind, .ranks = ranks, .bytes = bytes};
}
CollectiveSpec all_reduce(int ranks, Bytes bytes) {
  return collective(Collective::AllReduce, ranks, bytes);
}

// Ten channels of 20 GB/s inside, of 5 GB/s across.
NcclCost machine() {
  NcclCost c;
  c.channels = 10;
  c.inside = Bandwidth::gbyte_per_s(20);
  c.across = Bandwidth::gbyte_per_s(5);
  return c;
}

double micro(const std::optional<NcclEstimate>& e) {
  return e ? e->time.count() * 1e6 : -1;
}

TEST(NcclTime, RingByHand) {
  // 8.4 + 14 x 3.4 + 1.75 x 800 MB at 200 GB/s.
  auto c = machine();
  EXPECT_NEAR(micro(nccl_time(all_reduce(8, 800_MB), c)), 8.4 + 47.6 + 7000, 1e-6);
  EXPECT_EQ(nccl_time(all_reduce(8, 800_MB), c)->protocol, Simple);
  // Two nodes: 30 hops, 2 of them across, at 50 GB/s.
  EXPECT_NEAR(micro(nccl_time(all_reduce(16, 800_MB), c)), 8.4 + 28 * 3.4 + 2 * 14 + 1.875 * 16000, 1e-6);
  c.launch = 5us;
  EXPECT_NEAR(micro(nccl_time(all_reduce(8, 800_MB), c)), 5 + 8.4 + 47.6 + 7000, 1e-6);
  EXPECT_NEAR(micro(nccl_time(collective(Collective::AllGather, 8, 800_MB), c)), 5 + 8.4 + 7 * 3.4 + 3500,
              1e-6);
}

TEST(NcclTime, TreeByHand) {
  auto c = machine();
  c.algorithm = NcclAlgorithm::Tree;
  c.protocol = Simple;
  // 4 nodes: 14 hops inside, 4 across; 17 further slices of 512 KiB on a channel of 5 GB/s.
  const double want = 8.4 + 14 * 4.0 + 4 * 14 + 2 * 16000 + 17 * 524288 / 5e3;
  EXPECT_NEAR(micro(nccl_time(all_reduce(32, 800_MB), c)), want, 1e-6);
  // A short buffer is cut into slices of an eighth of a channel's share.
  EXPECT_NEAR(micro(nccl_time(all_reduce(32, 80_kB), c)), 8.4 + 112 + 3.2 + 17 * 1000 / 5e3, 1e-6);
}

TEST(NcclTime, BroadcastFillsThePipeline) {
  auto c = machine();
  c.protocol = Simple;
  EXPECT_NEAR(micro(nccl_time(collective(Collective::Broadcast, 8, 800_MB), c)),
              8.4 + 7 * 3.4 + 4000 + 6 * 524288 / 20e3, 1e-6);
}

TEST(NcclTime, ShortMessagesAreSentWithFlagsAndManyRanksFormTrees) {
  const auto c = machine();
  EXPECT_EQ(nccl_time(all_reduce(8, 8_B), c)->protocol, LL);
  EXPECT_NEAR(micro(nccl_time(all_reduce(8, 8_B), c)), 6.6 + 14 * 0.6, 0.01);
  EXPECT_EQ(nccl_time(all_reduce(1024, 8_kB), c)->algorithm, NcclAlgorithm::Tree);
  EXPECT_EQ(nccl_time(all_reduce(64, 8_GB), c)->algorithm, NcclAlgorithm::Ring);
}

TEST(NcclTime, ProtocolsCarryTheirShare) {
  auto c = machine();
  c.ll_limit = {};
  const auto rate = [&](NcclProtocol p) {
    c.protocol = p;
    const double more = nccl_time(all_reduce(8, 2_GB), c)->time.count();
    return 1.75e9 / (more - nccl_time(all_reduce(8, 1_GB), c)->time.count());
  };
  EXPECT_NEAR(rate(Simple), 200e9, 1);
  EXPECT_NEAR(rate(LL128), 187.5e9, 1);
  EXPECT_NEAR(rate(LL), 100e9, 1);
  c.ll_limit[0] = Bandwidth::gbyte_per_s(30);
  EXPECT_NEAR(rate(LL), 30e9, 1);
  c.ll128_limit = Bandwidth::gbyte_per_s(12);
  EXPECT_NEAR(rate(LL128), 120e9, 1);
}

TEST(NcclTime, GrowsWithBytesAndNeverBeatsTheLinks) {
  const auto c = machine();
  for (const int ranks : {2, 8, 16, 24, 100, 1024}) {
    double before = 0;
    for (std::int64_t n = 1; n < 8'000'000'000; n = n * 3 / 2 + 1) {
      const auto got = nccl_time(all_reduce(ranks, Bytes{n}), c);
      const double t = got->time.count();
      EXPECT_GE(t, before) << ranks << " " << n;
      EXPECT_GT(t, 2.0 * (ranks - 1) / ranks * static_cast<double>(n) / (ranks > 8 ? 50e9 : 200e9));
      before = t;
    }
  }
}

TEST(NcclTime, SwitchesAddByHand) {
  auto c = machine();
  EXPECT_EQ(nccl_time(all_reduce(8, 800_MB), c)->algorithm, NcclAlgorithm::Ring);
  c.nvls = true;
  // 20 GB/s x 0.85 x 9 / 10 twice is more than the channel has: 200 GB/s; 25 us in place of 8.4 + 14 x 3.4.
  c.algorithm = NcclAlgorithm::Nvls;
  EXPECT_NEAR(micro(nccl_time(all_reduce(8, 800_MB), c)), 25 + 1.75 * 4000, 1e-6);
  EXPECT_NEAR(micro(nccl_time(collective(Collective::AllGather, 8, 800_MB), c)),
              25 + 800e6 / (10 * 20e9 * 0.85 * 0.9 * 7 / 8) * 1e6, 1e-6);
  EXPECT_FALSE(nccl_time(all_reduce(32, 800_MB), c));
  // Trees across four nodes: two levels up and down, 5 GB/s a channel.
  c.algorithm = NcclAlgorithm::NvlsTree;
  EXPECT_NEAR(micro(nccl_time(all_reduce(32, 800_MB), c)), 25 + 2 * 2 * 20.9 + 2.0 * 31 / 32 * 16000, 1e-6);
  EXPECT_FALSE(nccl_time(all_reduce(8, 800_MB), c));
  EXPECT_FALSE(nccl_time(collective(Collective::AllGather, 32, 800_MB), c));
  c.algorithm = NcclAlgorithm::CollNetChain;
  EXPECT_FALSE(nccl_time(all_reduce(32, 800_MB), c));
  c.collnet = true;
  EXPECT_NEAR(micro(nccl_time(all_reduce(32, 800_MB), c)), 2 * 7 * 2.8 + 30 + 2 * 16000, 1e-6);
  // 0.8 devices a channel, half of the difference to one counted: 0.9.
  c.algorithm = NcclAlgorithm::CollNetDirect;
  EXPECT_NEAR(micro(nccl_time(all_reduce(32, 800_MB), c)), 2 * (3.7 + 7 * 0.4) + 31 + 2 * 16000 * 0.9 / 0.85,
              1e-6);
  c.protocol = LL;
  EXPECT_FALSE(nccl_time(all_reduce(32, 800_MB), c));
}

TEST(NcclTime, WhatItDoesNotKnow) {
  auto c = machine();
  EXPECT_FALSE(nccl_time(collective(Collective::AllToAll, 8, 1_MB), c));
  EXPECT_EQ(nccl_time(all_reduce(8, 0_B), c)->time, Seconds{});
  EXPECT_EQ(nccl_time(all_reduce(1, 1_MB), c)->time, c.launch);
  c.algorithm = NcclAlgorithm::Tree;
  EXPECT_FALSE(nccl_time(collective(Collective::AllGather, 8, 1_MB), c));
  c = machine();
  c.across = {};
  EXPECT_TRUE(nccl_time(all_reduce(8, 1_MB), c));
  EXPECT_FALSE(nccl_time(all_reduce(9, 1_MB), c));
  c.channels = 0;
  EXPECT_FALSE(nccl_time(all_reduce(8, 1_MB), c));
}

TEST(NcclTime, ASecondNodeIsNeverFaster) {
  // DGX H100: 16 channels over eight cards of 50 GB/s, NVLink of 450 GB/s.
  NcclCost c;
  c.channels = 16;
  c.nvls = true;
  c.inside = Bandwidth::gbyte_per_s(450.0 / 16);
  c.across = Bandwidth::gbyte_per_s(400.0 / 16);
  for (const Bytes bytes : {64_MB, 256_MB, 1000_MB, 8000_MB})
    EXPECT_GE(micro(nccl_time(all_reduce(16, bytes), c)), micro(nccl_time(all_reduce(8, bytes), c)))
        << bytes.count();
}

}  // namespace
}  // namespace cox::model
