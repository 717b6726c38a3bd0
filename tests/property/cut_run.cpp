// SPDX-License-Identifier: Apache-2.0
// A Run cut at any byte stays readable, and what was complete is kept exactly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "cox/trace/compact.hpp"
#include "cox/trace/read.hpp"

#include "support/make_run.hpp"
#include "trace/raw/raw_file.hpp"
#include "trace/store/block_codec.hpp"
#include "trace/store/compact_file.hpp"

namespace cox::trace {
namespace {

constexpr int kCuts = 200;
constexpr std::size_t kChunk = 4096;
constexpr std::size_t kPerChunk = (kChunk - sizeof(ChunkHeader)) / sizeof(RawRecord);

/// Records of a raw file of `events` events (chunk 0 is Meta) that lie wholly before byte `cut`.
std::size_t whole_records(std::size_t events, std::size_t cut) {
  std::size_t whole = 0;
  for (std::size_t first = 0, chunk = 1; first < events; first += kPerChunk, ++chunk) {
    const std::size_t at = kHeaderBytes + chunk * kChunk + sizeof(ChunkHeader);
    const std::size_t count = std::min(kPerChunk, events - first);
    if (cut > at) whole += std::min(count, (cut - at) / sizeof(RawRecord));
  }
  return whole;
}

/// Whether `part` is the beginning of `all`, column by column.
bool is_beginning(const EventColumns& part, const EventColumns& all) {
  const auto begins = [](const auto& a, const auto& b) {
    return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
  };
  return begins(part.begin, all.begin) && begins(part.end, all.end) && begins(part.bytes, all.bytes) &&
         begins(part.comm, all.comm) && begins(part.seq, all.seq) && begins(part.kind, all.kind) &&
         begins(part.op, all.op) && begins(part.flags, all.flags) && begins(part.thread, all.thread);
}

/// Bytes and records up to the end of each whole block of a compact file.
struct Boundary {
  std::size_t byte = 0;
  std::size_t records = 0;
};
std::vector<Boundary> boundaries(const std::string& file) {
  std::vector<Boundary> out;
  std::size_t at = sizeof kCompactMagic;
  std::size_t records = 0;
  while (at < file.size()) {
    BlockHeader head;
    std::memcpy(&head, file.data() + at, sizeof head);
    at += sizeof head + static_cast<std::size_t>(head.stored_bytes);
    records += head.records;
    out.push_back({at, records});
  }
  return out;
}

TEST(CutRun, RawFilesKeepEveryWholeRecord) {
  const trace::Run run = test::make_run({.ranks = 2, .steps = 400});  // 800 events each, 8 chunks
  const test::ScratchDir dir;
  ASSERT_TRUE(test::write_raw_files(run, dir.path(), {.state = WriterState::Open}));
  const auto whole = open_run(dir.path());
  ASSERT_TRUE(whole);
  const auto file = dir.path() / "rank-000001.coxraw";
  const std::string bytes = test::file_content(file);
  std::mt19937_64 random(1);
  for (int i = 0; i < kCuts; ++i) {
    const std::size_t cut = random() % bytes.size();
    test::put_file(file, std::string_view(bytes).substr(0, cut));
    const auto read = open_run(dir.path());
    ASSERT_TRUE(read) << "cut at " << cut;
    ASSERT_FALSE(read->ranks.empty());
    EXPECT_TRUE(is_beginning(whole->ranks[0].events, read->ranks[0].events)) << "cut at " << cut;
    const std::size_t expected = cut < kHeaderBytes ? 0 : whole_records(800, cut);
    const std::size_t got = read->ranks.size() < 2 ? 0 : read->ranks[1].events.size();
    EXPECT_EQ(got, expected) << "cut at " << cut;
    if (got > 0) {
      EXPECT_TRUE(is_beginning(read->ranks[1].events, whole->ranks[1].events)) << "cut at " << cut;
    }
    const std::size_t used = kHeaderBytes + 8 * kChunk + sizeof(ChunkHeader) + 100 * sizeof(RawRecord);
    if (cut < used) {
      EXPECT_FALSE(read->notes.empty()) << "cut at " << cut;
    }
  }
}

TEST(CutRun, CompactFilesKeepEveryWholeBlock) {
  // 4 blocks
  const trace::Run run = test::make_run({.ranks = 1, .steps = static_cast<int>(kRecordsPerBlock) * 2});
  const auto parsed = parse_raw_file(test::raw_file(run, run.ranks[0]));
  ASSERT_TRUE(parsed);
  const std::string bytes = encode_compact(*parsed);
  const std::vector<Boundary> blocks = boundaries(bytes);
  ASSERT_GE(blocks.size(), 6U);
  std::mt19937_64 random(2);
  for (int i = 0; i < kCuts; ++i) {
    // Half of the cuts near the ends of blocks, where off-by-one mistakes live.
    const std::size_t cut =
        i % 2 == 0 ? random() % bytes.size()
                   : std::min(blocks[random() % blocks.size()].byte + random() % 3 - 1, bytes.size() - 1);
    std::size_t expected = 0;
    for (const Boundary& b : blocks)
      if (b.byte <= cut) expected = b.records;
    const auto read = decode_compact(std::string_view(bytes).substr(0, cut));
    if (cut < blocks.front().byte) {
      EXPECT_FALSE(read) << "cut at " << cut;
      continue;
    }
    ASSERT_TRUE(read) << "cut at " << cut;
    EXPECT_EQ(read->records.size(), expected) << "cut at " << cut;
    EXPECT_TRUE(std::equal(read->records.end.begin(), read->records.end.end(), parsed->records.end.begin()));
    EXPECT_FALSE(read->losses.empty()) << "cut at " << cut;
  }
}

TEST(CutRun, DamagedBytesNeverStopTheReader) {
  const trace::Run run = test::make_run({.ranks = 1, .steps = 300});
  const std::string raw = test::raw_file(run, run.ranks[0]);
  const std::string compact = encode_compact(*parse_raw_file(raw));
  const test::ScratchDir dir;
  std::mt19937_64 random(3);
  for (int i = 0; i < kCuts; ++i) {
    std::string bytes = i % 2 == 0 ? raw : compact;
    for (int n = 0; n < 20; ++n) bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto file = dir.path() / (i % 2 == 0 ? "a.coxraw" : "a.cox");
    test::put_file(file, bytes);
    const auto read = open_run(file);  // any outcome but a crash; sanitizers watch
    if (read) {
      EXPECT_LE(read->event_count(), 600U);
    }
  }
}

}  // namespace
}  // namespace cox::trace
