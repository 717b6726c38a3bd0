// SPDX-License-Identifier: Apache-2.0
#include "trace/import/bytes/byte_source.hpp"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cox::trace {
namespace {

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 40;

/// Text that packs neither to nothing nor badly.
std::string plain_text(std::size_t n) {
  std::string out;
  std::uint32_t x = 1;
  while (out.size() < n) {
    x = x * 1664525 + 1013904223;
    out += "event " + std::to_string(x >> 20) + "\n";
  }
  out.resize(n);
  return out;
}

std::string gzip(const std::string& plain) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&z, plain.size()) + 64, '\0');
  std::string in = plain;
  z.next_in = reinterpret_cast<Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

std::string zstd(const std::string& plain) {
  std::string out(ZSTD_compressBound(plain.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), 3));
  return out;
}

TEST(ByteSource, GivesBackWhatWasPacked) {
  for (const std::size_t n : std::vector<std::size_t>{0, 1, 100, 300'000, 3'000'000}) {
    const std::string plain = plain_text(n);
    for (const std::string& packed : {plain, gzip(plain), zstd(plain)}) {
      ByteSource source = ByteSource::over(packed, kNoLimit);
      const auto all = source.read_all();
      ASSERT_TRUE(all);
      EXPECT_EQ(*all, plain);
      EXPECT_FALSE(source.cut());
      EXPECT_EQ(source.position(), n);
    }
  }
}

TEST(ByteSource, PiecesOfAnySizeAreTheSameBytes) {
  const std::string plain = plain_text(40'000);
  const std::string packed = gzip(plain);
  for (const std::size_t piece : std::vector<std::size_t>{1, 7, 333, 32'768}) {
    ByteSource source = ByteSource::over(packed, kNoLimit);
    std::string all;
    std::string buffer(piece, '\0');
    for (;;) {
      const auto n = source.read(buffer);
      ASSERT_TRUE(n);
      all.append(buffer, 0, *n);
      if (*n < piece) break;
    }
    EXPECT_EQ(all, plain);
  }
}

TEST(ByteSource, GzipOfSeveralMembersAndPadding) {
  const std::string a = plain_text(500'000);
  const std::string b = plain_text(10);
  const std::string packed = gzip(a) + gzip("") + gzip(b) + std::string(512, '\0');
  ByteSource source = ByteSource::over(packed, kNoLimit);
  const auto all = source.read_all();
  ASSERT_TRUE(all);
  EXPECT_EQ(*all, a + b);
  EXPECT_FALSE(source.cut());
}

TEST(ByteSource, GzipCutAnywhereGivesWhatCouldBeUnpacked) {
  const std::string plain = plain_text(5'000);
  const std::string packed = gzip(plain);
  for (std::size_t n = 4; n < packed.size(); ++n) {
    ByteSource source = ByteSource::over(std::string_view(packed).substr(0, n), kNoLimit);
    const auto all = source.read_all();
    if (!all) {
      EXPECT_EQ(all.error().id, "import-003");
      continue;
    }
    EXPECT_TRUE(source.cut()) << n;
    EXPECT_TRUE(plain.starts_with(*all)) << n;
    if (n + 9 > packed.size()) {
      EXPECT_EQ(*all, plain) << n;
    }
  }
}

TEST(ByteSource, WrongChecksumIsSaid) {
  std::string packed = gzip(plain_text(5'000));
  packed[packed.size() - 6] ^= 1;
  ByteSource source = ByteSource::over(packed, kNoLimit);
  const auto all = source.read_all();
  ASSERT_TRUE(all);
  EXPECT_TRUE(source.cut());
}

TEST(ByteSource, NothingToUnpackIsAnError) {
  const std::string nothing = std::string("\x1f\x8b\x08\x00", 4) + std::string(40, '\xff');
  ByteSource source = ByteSource::over(nothing, kNoLimit);
  const auto all = source.read_all();
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().id, "import-003");
}

TEST(ByteSource, BombStopsAtTheLimit) {
  std::string many;
  many.resize(10'000'000, 'a');
  for (const std::string& bomb : {gzip(many), zstd(many)}) {
    ByteSource source = ByteSource::over(bomb, 1'000'000);
    const auto all = source.read_all();
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().id, "import-004");
    EXPECT_LE(source.position(), 6'000'000U);
  }
}

}  // namespace
}  // namespace cox::trace
