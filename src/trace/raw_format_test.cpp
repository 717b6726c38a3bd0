// SPDX-License-Identifier: Apache-2.0
// Offsets as docs/reference/run-format.md states them: files of version 1 are read by these for ever.
#include "cox/trace/raw_format.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cox::trace {
namespace {

TEST(RawFormat, RecordOffsets) {
  EXPECT_EQ(offsetof(RawRecord, begin), 0U);
  EXPECT_EQ(offsetof(RawRecord, end), 8U);
  EXPECT_EQ(offsetof(RawRecord, bytes), 16U);
  EXPECT_EQ(offsetof(RawRecord, comm), 24U);
  EXPECT_EQ(offsetof(RawRecord, seq), 28U);
  EXPECT_EQ(offsetof(RawRecord, kind), 32U);
  EXPECT_EQ(offsetof(RawRecord, op), 33U);
  EXPECT_EQ(offsetof(RawRecord, flags), 34U);
  EXPECT_EQ(offsetof(RawRecord, aux), 36U);
  EXPECT_EQ(sizeof(RawRecord), 40U);
}

TEST(RawFormat, HeaderOffsets) {
  EXPECT_EQ(offsetof(RawHeader, version), 8U);
  EXPECT_EQ(offsetof(RawHeader, endian), 12U);
  EXPECT_EQ(offsetof(RawHeader, header_bytes), 16U);
  EXPECT_EQ(offsetof(RawHeader, chunk_bytes), 20U);
  EXPECT_EQ(offsetof(RawHeader, record_bytes), 24U);
  EXPECT_EQ(offsetof(RawHeader, chunk_limit), 28U);
  EXPECT_EQ(offsetof(RawHeader, pinned_chunks), 32U);
  EXPECT_EQ(offsetof(RawHeader, clock_kind), 36U);
  EXPECT_EQ(offsetof(RawHeader, ticks_per_second), 40U);
  EXPECT_EQ(offsetof(RawHeader, pid), 48U);
  EXPECT_EQ(offsetof(RawHeader, ppid), 52U);
  EXPECT_EQ(offsetof(RawHeader, rank), 56U);
  EXPECT_EQ(offsetof(RawHeader, world_size), 60U);
  EXPECT_EQ(offsetof(RawHeader, local_rank), 64U);
  EXPECT_EQ(offsetof(RawHeader, attempt), 68U);
  EXPECT_EQ(offsetof(RawHeader, state), 72U);
  EXPECT_EQ(offsetof(RawHeader, disable_reason), 76U);
  EXPECT_EQ(offsetof(RawHeader, tickets), 80U);
  EXPECT_EQ(offsetof(RawHeader, chunks_reserved), 88U);
  EXPECT_EQ(offsetof(RawHeader, dropped_records), 96U);
  EXPECT_EQ(offsetof(RawHeader, recycled_chunks), 104U);
  EXPECT_EQ(offsetof(RawHeader, recycled_records), 112U);
  EXPECT_EQ(offsetof(RawHeader, overhead_ticks), 120U);
  EXPECT_EQ(offsetof(RawHeader, pair_count), 128U);
  EXPECT_EQ(offsetof(RawHeader, pairs), 136U);
  EXPECT_EQ(offsetof(RawHeader, host), 1672U);
  EXPECT_EQ(offsetof(RawHeader, boot_id), 1736U);
  EXPECT_EQ(offsetof(RawHeader, job), 1776U);
  EXPECT_EQ(offsetof(RawHeader, launcher), 1840U);
  EXPECT_EQ(offsetof(RawHeader, library), 1856U);
  EXPECT_EQ(offsetof(RawHeader, program), 1920U);
  EXPECT_EQ(offsetof(RawHeader, timing), 2176U);
  EXPECT_EQ(offsetof(RawHeader, start_time), 2240U);
  EXPECT_EQ(offsetof(RawHeader, unobserved_calls), 2272U);
  EXPECT_EQ(offsetof(RawHeader, overwritten_until), 2400U);
  EXPECT_EQ(offsetof(RawHeader, pid_namespace), 2408U);
  EXPECT_EQ(offsetof(RawHeader, reserved), 2416U);
  EXPECT_EQ(sizeof(RawHeader), 4096U);
}

TEST(RawFormat, ChunkAndMetaOffsets) {
  EXPECT_EQ(offsetof(ChunkHeader, kind), 4U);
  EXPECT_EQ(offsetof(ChunkHeader, ticket), 8U);
  EXPECT_EQ(offsetof(ChunkHeader, thread), 16U);
  EXPECT_EQ(offsetof(ChunkHeader, sealed), 20U);
  EXPECT_EQ(offsetof(ChunkHeader, committed), 24U);
  EXPECT_EQ(offsetof(ChunkHeader, first_ticks), 32U);
  EXPECT_EQ(offsetof(ChunkHeader, reserved), 40U);
  EXPECT_EQ(sizeof(ChunkHeader), 64U);
  EXPECT_EQ(offsetof(MetaHead, size), 4U);
  EXPECT_EQ(offsetof(MetaCommunicator, local_number), 8U);
  EXPECT_EQ(offsetof(MetaCommunicator, size), 12U);
  EXPECT_EQ(offsetof(MetaCommunicator, my_rank), 16U);
  EXPECT_EQ(offsetof(MetaCommunicator, member_count), 20U);
  EXPECT_EQ(offsetof(MetaRanks, count), 4U);
  EXPECT_EQ(offsetof(MetaRanks, step), 8U);
}

TEST(RawFormat, RangesAreTheListTheyWereMadeOf) {
  const auto ranges_of = [](const std::vector<std::int32_t>& list) {
    std::vector<MetaRanks> ranges;
    const std::size_t n =
        for_each_range(list.data(), list.size(), [&](const MetaRanks& r) { ranges.push_back(r); });
    EXPECT_EQ(n, ranges.size());
    std::vector<std::int32_t> again;
    for (const MetaRanks& r : ranges)
      for (std::int64_t k = 0; k < r.count; ++k)
        again.push_back(static_cast<std::int32_t>(r.first + k * r.step));
    EXPECT_EQ(again, list);
    return ranges.size();
  };
  EXPECT_EQ(ranges_of({}), 0U);
  EXPECT_EQ(ranges_of({7}), 1U);
  EXPECT_EQ(ranges_of({0, 1, 2, 3}), 1U);
  EXPECT_EQ(ranges_of({5, 13, 21, 29}), 1U);
  EXPECT_EQ(ranges_of({9, 6, 3, 0}), 1U);
  EXPECT_EQ(ranges_of({4, 4, 4}), 1U);
  EXPECT_EQ(ranges_of({0, 1, 2, 8, 9, 10}), 2U);
  EXPECT_EQ(ranges_of({INT32_MIN, INT32_MAX, INT32_MIN}), 3U);  // further apart than a step can say
  std::vector<std::int32_t> world(32'768);
  for (std::size_t i = 0; i < world.size(); ++i) world[i] = static_cast<std::int32_t>(i);
  EXPECT_EQ(ranges_of(world), 1U);
}

TEST(RawFormat, ValuesThatAreNeverRenumbered) {
  EXPECT_EQ(static_cast<int>(EventKind::Collective), 1);
  EXPECT_EQ(static_cast<int>(EventKind::Wait), 2);
  EXPECT_EQ(static_cast<int>(EventKind::Step), 3);
  EXPECT_EQ(static_cast<int>(EventKind::Phase), 4);
  EXPECT_EQ(static_cast<int>(ChunkKind::Events), 1);
  EXPECT_EQ(static_cast<int>(ChunkKind::Meta), 2);
  EXPECT_EQ(static_cast<int>(MetaKind::Communicator), 1);
  EXPECT_EQ(static_cast<int>(MetaKind::Note), 2);
  EXPECT_EQ(static_cast<int>(WriterState::Closed), 2);
  EXPECT_EQ(static_cast<int>(ClockKind::Tsc), 1);
  EXPECT_EQ(int{kMarked}, 32);
}

}  // namespace
}  // namespace cox::trace
