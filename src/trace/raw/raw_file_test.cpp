// SPDX-License-Identifier: Apache-2.0
#include "trace/raw/raw_file.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "support/make_run.hpp"
#include "trace/raw/process_file.hpp"

namespace cox::trace {
namespace {

constexpr std::size_t kChunk = 4096;
constexpr std::size_t kPerChunk = (kChunk - sizeof(ChunkHeader)) / sizeof(RawRecord);  // 100

/// 250 events in chunks 1, 2, 3 (100, 100, 50) behind the Meta chunk 0.
std::string sample() {
  const trace::Run run = test::make_run({.ranks = 2, .steps = 125});
  return test::raw_file(run, run.ranks[0], {.chunk_bytes = kChunk});
}

template <class T>
void put(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::size_t chunk_at(std::size_t index) {
  return kHeaderBytes + index * kChunk;
}

TEST(RawFile, ReadsAllOfAWholeFile) {
  const auto parsed = parse_raw_file(sample());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->records.size(), 250U);
  EXPECT_TRUE(parsed->losses.empty());
  EXPECT_GT(parsed->meta.size(), 0U);
}

TEST(RawFile, CutWithinAChunkKeepsItsWholeRecords) {
  const std::string file = sample();
  const std::size_t cut = chunk_at(2) + sizeof(ChunkHeader) + 37 * sizeof(RawRecord) + 39;
  const auto parsed = parse_raw_file(std::string_view(file).substr(0, cut));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->records.size(), kPerChunk + 37);
  ASSERT_EQ(parsed->losses.size(), 2U);
  EXPECT_EQ(parsed->losses[0], "63 of 100 records of chunk 2 lie beyond the end of the file");
  EXPECT_NE(parsed->losses[1].find("1 of 4 chunks lies beyond the end"), std::string::npos);
}

TEST(RawFile, CutWithinAChunkHead) {
  const std::string file = sample();
  const auto parsed = parse_raw_file(std::string_view(file).substr(0, chunk_at(2) + 63));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->records.size(), kPerChunk);
  ASSERT_EQ(parsed->losses.size(), 2U);
  EXPECT_NE(parsed->losses[0].find("chunk 2 is cut within its head"), std::string::npos);
}

TEST(RawFile, CommittedBeyondCapacityIsClamped) {
  std::string file = sample();
  put<std::uint64_t>(file, chunk_at(1) + offsetof(ChunkHeader, committed), ~std::uint64_t{0});
  const auto parsed = parse_raw_file(file);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->records.size(), 250U);
  ASSERT_EQ(parsed->losses.size(), 1U);
  EXPECT_EQ(parsed->losses[0], "chunk 1 claims 18446744073709551615 records, it has room for 100");
}

TEST(RawFile, DamagedChunkCostsOnlyItself) {
  std::string file = sample();
  put<std::uint32_t>(file, chunk_at(2), 0xdeadbeef);
  const auto parsed = parse_raw_file(file);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->records.size(), 150U);
  ASSERT_EQ(parsed->losses.size(), 1U);
  EXPECT_NE(parsed->losses[0].find("chunk 2 at byte 12288 is damaged"), std::string::npos);
}

TEST(RawFile, ReservedChunksAreNoLoss) {
  std::string file = sample();
  file.resize(file.size() + 5 * kChunk, '\0');
  const auto parsed = parse_raw_file(file);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->records.size(), 250U);
  EXPECT_TRUE(parsed->losses.empty());
}

TEST(RawFile, RecycledChunksAreOrderedByTime) {
  std::string file = sample();
  // The chunk at index 1 was reused last: give it the content and the ticket of what came after index 3.
  std::string first = file.substr(chunk_at(1), kChunk);
  const std::string last = file.substr(chunk_at(3), kChunk);
  file.replace(chunk_at(1), kChunk, last);
  file.replace(chunk_at(3), kChunk, first);
  const auto moved = parse_raw_file(file);
  const auto straight = parse_raw_file(sample());
  ASSERT_TRUE(moved && straight);
  EXPECT_TRUE(moved->records == straight->records);
}

TEST(RawFile, EqualBeginsFollowTheTickets) {
  std::string file = sample();
  const std::size_t a = chunk_at(1) + sizeof(ChunkHeader);
  const std::size_t b = chunk_at(2) + sizeof(ChunkHeader);
  std::uint64_t begin = 0;
  std::memcpy(&begin, file.data() + a, sizeof begin);
  put(file, b, begin);
  put<std::uint32_t>(file, b + offsetof(RawRecord, aux), 77);
  put<std::uint64_t>(file, chunk_at(1) + offsetof(ChunkHeader, ticket), 50);  // now handed out after chunk 2
  const auto parsed = parse_raw_file(file);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->records.begin[0], parsed->records.begin[1]);
  EXPECT_EQ(parsed->records.aux[0], 77U);
}

TEST(RawFile, RefusesWhatIsNotOurs) {
  EXPECT_EQ(parse_raw_file("").error().id, "trace-002");
  EXPECT_EQ(parse_raw_file(std::string(8192, 'x')).error().id, "trace-002");
  EXPECT_EQ(parse_raw_file(sample().substr(0, kHeaderBytes - 1)).error().id, "trace-002");
  const auto unfinished = parse_raw_file(std::string(8192, '\0'));
  EXPECT_NE(unfinished.error().message.find("never finished"), std::string::npos);
  std::string file = sample();
  put<std::uint32_t>(file, offsetof(RawHeader, endian), 0x04030201);
  EXPECT_EQ(parse_raw_file(file).error().id, "trace-002");
  for (const std::uint32_t bytes : {0U, 8U, 103U, 4097U, 0x80000000U}) {
    file = sample();
    put(file, offsetof(RawHeader, chunk_bytes), bytes);
    EXPECT_EQ(parse_raw_file(file).error().id, "trace-002") << bytes;
  }
}

TEST(RawFile, NewerVersionsSaySo) {
  std::string file = sample();
  put<std::uint32_t>(file, offsetof(RawHeader, version), 2);
  EXPECT_EQ(parse_raw_file(file).error().id, "trace-003");
  file = sample();
  file[6] = '2';
  EXPECT_EQ(parse_raw_file(file).error().id, "trace-003");
}

TEST(RawFile, AMillionFaultsAreToldBriefly) {
  std::string file = sample();
  for (int i = 0; i < 1000; ++i) file += std::string("JUNK") + std::string(kChunk - 4, 'x');
  const auto parsed = parse_raw_file(file);
  ASSERT_TRUE(parsed);
  EXPECT_LT(parsed->losses.size(), 20U);
  EXPECT_NE(parsed->losses.back().find("more losses"), std::string::npos);
}

TEST(RawFile, WhatBeganBeforeAnOverwrittenStretchIsKeptAndNotUsed) {
  std::string file = sample();
  // As if chunks 2 and 3 were the second round of a ring of two: what they held before lay behind chunk 1.
  put<std::uint32_t>(file, offsetof(RawHeader, chunk_limit), 4);
  put<std::uint32_t>(file, offsetof(RawHeader, pinned_chunks), 2);
  put<std::uint64_t>(file, offsetof(RawHeader, tickets), 6);
  const auto untouched = parse_raw_file(file);
  ASSERT_TRUE(untouched);
  EXPECT_EQ(untouched->header.overwritten_until, 0U) << "nothing was recycled";
  put<std::uint64_t>(file, offsetof(RawHeader, recycled_chunks), 2);
  put<std::uint64_t>(file, offsetof(RawHeader, recycled_records), 200);
  for (const std::size_t index : {std::size_t{2}, std::size_t{3}}) {
    put<std::uint64_t>(file, chunk_at(index) + offsetof(ChunkHeader, ticket), index + 2);
    std::uint64_t first = 0;
    std::memcpy(&first, file.data() + chunk_at(index) + sizeof(ChunkHeader), sizeof first);
    put<std::uint64_t>(file, chunk_at(index) + offsetof(ChunkHeader, first_ticks), first);
  }
  const auto parsed = parse_raw_file(file);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->records.size(), 250U) << "kept";
  EXPECT_EQ(parsed->header.overwritten_until, parsed->records.begin[kPerChunk]);
  ProcessBuilder builder("x", parsed->header, parsed->meta, parsed->records.size());
  builder.add(parsed->records);
  const ProcessFile process = std::move(builder).finish();
  EXPECT_EQ(process.events.size(), 150U) << "and not used";
  EXPECT_EQ(process.recycled_records, 200U + kPerChunk);
}

}  // namespace
}  // namespace cox::trace
