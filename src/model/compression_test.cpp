// SPDX-License-Identifier: Apache-2.0
#include "cox/model/compression.hpp"

#include <gtest/gtest.h>

namespace cox::model {
namespace {

using namespace literals;
using enum Collective;

TEST(Compression, NoneIsAsAskedFor) {
  const auto c = compressed(Broadcast, 10_MB, 8, {});
  ASSERT_TRUE(c);
  EXPECT_EQ(c->kind, Broadcast);
  EXPECT_EQ(c->bytes, 10_MB);
  EXPECT_EQ(c->encode + c->decode, Seconds{});
}

TEST(Compression, QuantisedSumsAreFewerBytesOfTheSameCollective) {
  Compression how{.kind = Compressor::Quantised, .bits = 8};
  EXPECT_EQ(compressed(AllReduce, 8_MB, 4, how)->bytes, 2_MB);
  EXPECT_EQ(compressed(AllReduce, 8_MB, 4, how)->kind, AllReduce);
  how.bits = 1;
  EXPECT_EQ(compressed(ReduceScatter, 8_MB, 4, how)->bytes, 250_kB);
  EXPECT_EQ(compressed(AllReduce, 33_B, 4, how)->bytes, 2_B) << "whole bytes, rounded up";
  how = {.kind = Compressor::Quantised,
         .bits = 8,
         .encode = Bandwidth::gbyte_per_s(4),
         .decode = Bandwidth::gbyte_per_s(1)};
  // 8 MB are packed; 3/4 of 2 MB come while the sum is made, as many while it goes round.
  EXPECT_NEAR(compressed(AllReduce, 8_MB, 4, how)->encode.count(), 2e-3, 1e-15);
  EXPECT_NEAR(compressed(AllReduce, 8_MB, 4, how)->decode.count(), 3e-3, 1e-15);
  EXPECT_NEAR(compressed(ReduceScatter, 8_MB, 4, how)->decode.count(), 1.5e-3, 1e-15);
}

TEST(Compression, SparseSumsAreGathered) {
  Compression how{.kind = Compressor::Sparse, .density = 0.01, .decode = Bandwidth::gbyte_per_s(1)};
  const auto c = compressed(AllReduce, 8_MB, 16, how);
  ASSERT_TRUE(c);
  EXPECT_EQ(c->kind, AllGather);
  EXPECT_EQ(c->bytes, 16 * 160_kB) << "20,000 elements of 4 + 4 bytes of each";
  EXPECT_NEAR(c->decode.count(), 15 * 160e-6, 1e-15);
  EXPECT_EQ(compressed(AllReduce, 1_B, 16, how)->bytes, 16 * 8_B) << "an element at least";
  EXPECT_FALSE(compressed(ReduceScatter, 8_MB, 16, how));
  EXPECT_FALSE(compressed(AllToAll, 8_MB, 16, how));
}

TEST(Compression, AMessageIsPackedOnceAndUnpackedOnce) {
  Compression how{.kind = Compressor::Quantised,
                  .bits = 8,
                  .encode = Bandwidth::gbyte_per_s(4),
                  .decode = Bandwidth::gbyte_per_s(1)};
  const Compressed quantised = packed_message(8_MB, how);
  EXPECT_EQ(quantised.bytes, 2_MB);
  EXPECT_NEAR(quantised.encode.count(), 2e-3, 1e-15);
  EXPECT_NEAR(quantised.decode.count(), 2e-3, 1e-15);
  how.kind = Compressor::Sparse;
  EXPECT_EQ(packed_message(8_MB, how).bytes, 160_kB);
  EXPECT_EQ(packed_message(8_MB, {}).bytes, 8_MB);
  EXPECT_EQ(packed_message(8_MB, {}).encode, Seconds{});
}

// docs/concepts/compression.md: with 4 bytes of a place beside 4 of an element and free packing, gathering density d
// of n bytes on N ranks is (N - 1) 2 d n bytes on each link, the ring 2 (N - 1) / N n: break-even at N = 1 / d.
TEST(Compression, SparseBreaksEvenWhereRanksAreOneOverDensity) {
  const Compression how{.kind = Compressor::Sparse, .density = 0.01};
  const auto sent = [&](int ranks) {
    return static_cast<double>(compressed(AllReduce, 800_MB, ranks, how)->bytes.count()) * (ranks - 1) /
           ranks;
  };
  const auto plain = [](int ranks) { return 2.0 * (ranks - 1) / ranks * 800e6; };
  EXPECT_LT(sent(99), plain(99));
  EXPECT_NEAR(sent(100), plain(100), 1e-6 * plain(100));
  EXPECT_GT(sent(101), plain(101));
}

}  // namespace
}  // namespace cox::model
