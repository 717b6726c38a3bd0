// SPDX-License-Identifier: Apache-2.0
#include "trace/store/block_codec.hpp"

#include <gtest/gtest.h>

namespace cox::trace {
namespace {

RecordColumns sample(std::size_t n) {
  RecordColumns r;
  r.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    r.set(i,
          {.begin = 1'000'000 + 5000 * i,
           .end = i % 7 == 3 ? 0 : 1'000'000 + 5000 * i + 4000 + i % 13,
           .bytes = i % 3 == 0 ? i : 1'048'576,
           .comm = static_cast<std::uint32_t>(i % 3),
           .seq = static_cast<std::uint32_t>(i / 3),
           .kind = static_cast<std::uint8_t>(1 + i % 4),
           .op = static_cast<std::uint8_t>(i % 5),
           .flags = static_cast<std::uint16_t>(i % 64),
           .aux = static_cast<std::uint32_t>(i % 2)},
          4000 + static_cast<std::uint32_t>(i % 4));
  return r;
}

TEST(BlockCodec, GivesBackWhatItWasGiven) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{1000}, kRecordsPerBlock}) {
    const RecordColumns in = sample(n);
    RecordColumns out;
    ASSERT_TRUE(decode_block(encode_block(in, 0, n), out));
    EXPECT_TRUE(out == in) << n;
  }
}

TEST(BlockCodec, BlocksStandAlone) {
  const RecordColumns in = sample(100);
  RecordColumns head;
  RecordColumns tail;
  ASSERT_TRUE(decode_block(encode_block(in, 0, 60), head));
  ASSERT_TRUE(decode_block(encode_block(in, 60, 40), tail));
  head.append(tail);
  EXPECT_TRUE(head == in);
}

TEST(BlockCodec, ExtremeValues) {
  RecordColumns in;
  in.resize(4);
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  in.set(0, {kMost, 1, kMost, 0xffffffff, 0xffffffff, 255, 255, 0xffff, 0xffffffff}, 0xffffffff);
  in.set(1, {1, kMost, 0, 0, 0, 0, 0, 0, 0}, 0);
  in.set(2, {std::uint64_t{1} << 63, 0, std::uint64_t{1} << 63, 1, 0, 3, 0, 0, 0}, 15);
  in.set(3, {0, 0, 0, 1, 7, 3, 0, 0, 0}, 31);
  RecordColumns out;
  ASSERT_TRUE(decode_block(encode_block(in, 0, 4), out));
  EXPECT_TRUE(out == in);
}

TEST(BlockCodec, AnyCutIsRefused) {
  const std::string block = encode_block(sample(20), 0, 20);
  RecordColumns out;
  for (std::size_t n = 0; n < block.size(); ++n) {
    EXPECT_FALSE(decode_block(std::string_view(block).substr(0, n), out)) << n;
    EXPECT_EQ(out.size(), 0U);
  }
}

TEST(BlockCodec, ColumnsOfLaterVersionsAreSkipped) {
  const RecordColumns in = sample(20);
  std::string block = encode_block(in, 0, 20);
  ++block[4];  // one column more
  block += std::string{'\x63', '\x05', '\0', '\0', '\x03', '\0', '\0', '\0', 'a', 'b', 'c'};
  RecordColumns out;
  ASSERT_TRUE(decode_block(block, out));
  EXPECT_TRUE(out == in);
}

TEST(BlockCodec, AMissingColumnIsRefused) {
  std::string block = encode_block(sample(20), 0, 20);
  block[8] = '\x63';  // the first column under another name
  RecordColumns out;
  EXPECT_FALSE(decode_block(block, out));
}

}  // namespace
}  // namespace cox::trace
