// SPDX-License-Identifier: Apache-2.0
#include "trace/raw/sample_block.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "cox/trace/compact.hpp"
#include "cox/trace/read.hpp"

#include "support/make_run.hpp"
#include "trace/raw/raw_file.hpp"
#include "trace/store/compact_file.hpp"

namespace cox::trace {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::ScratchDir;

/// Every field another value, so that a mixed-up one shows.
Sample full_sample(int n) {
  Sample s;
  s.at = milliseconds{100 * n};
  s.cpu = microseconds{90'000 * n + 1};
  s.main_cpu = microseconds{80'000 * n + 2};
  s.main_wait = microseconds{70'000 * n + 3};
  s.throttled = microseconds{60'000 * n + 4};
  s.pressure = microseconds{50'000 * n + 5};
  s.voluntary = 40 * n + 6;
  s.involuntary = 30 * n + 7;
  s.minor_faults = 20 * n + 8;
  s.major_faults = 10 * n + 9;
  s.frequency_khz = 2'600'000 + n;
  s.thermal_throttles = n;
  s.threads = 3;
  s.cpu_number = n % 2;
  s.state = n % 2 == 0 ? 'R' : 'S';
  return s;
}

trace::Run sampled_run(int samples) {
  trace::Run run = test::make_run({.ranks = 2, .steps = 20});
  for (RankTrack& track : run.ranks) {
    for (int n = 0; n < samples; ++n) track.samples.push_back(full_sample(n));
    track.samples.push_back({.at = milliseconds{100 * samples}});  // nothing was readable
    track.start_time = 4711;
    track.node_number = 3;
    track.local_size = 2;
    track.locality = {{"affinity", "0-1"}, {"/sys/devices/system/node/online", "0"}};
  }
  run.nodes[0].time_namespace = 4026531834;
  return run;
}

RawSample raw_of(std::uint64_t ticks) {
  RawSample raw{};
  std::memset(static_cast<void*>(&raw), 0xff, sizeof raw);
  raw.ticks = ticks;
  return raw;
}

TEST(SampleBlock, GivesBackAnyBytes) {
  std::vector<RawSample> in;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    RawSample raw = raw_of(i * 0x9e3779b97f4a7c15U);
    raw.cpu = static_cast<std::int32_t>(i);
    raw.reserved[30] = static_cast<char>(i);
    in.push_back(raw);
  }
  std::vector<RawSample> out = {raw_of(7)};
  ASSERT_TRUE(decode_samples(encode_samples(in, 10, 500), out));
  ASSERT_EQ(out.size(), 501U);
  out.erase(out.begin());
  EXPECT_TRUE(same_samples(out, {in.begin() + 10, in.begin() + 510}));
}

TEST(SampleBlock, RefusesWhatIsNoBlock) {
  std::vector<RawSample> out;
  EXPECT_FALSE(decode_samples(std::string(sizeof(RawSample) + 1, 'x'), out));
  EXPECT_FALSE(decode_samples(std::string((kSamplesPerBlock + 1) * sizeof(RawSample), 'x'), out));
  EXPECT_TRUE(out.empty());
}

TEST(SampleBlock, AllOnesMeanNotReadable) {
  const Sample s = sample_of(raw_of(1), milliseconds{5});
  EXPECT_EQ(s, Sample{.at = milliseconds{5}});
}

TEST(SampleBlock, RawChunksAreReadInTheOrderOfTime) {
  const trace::Run run = sampled_run(100);
  const auto parsed = parse_raw_file(test::raw_file(run, run.ranks[0], {.chunk_bytes = 4096}));
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->losses.empty());
  ASSERT_EQ(parsed->samples.size(), 101U);
  for (std::size_t i = 1; i < 101; ++i) EXPECT_LT(parsed->samples[i - 1].ticks, parsed->samples[i].ticks);
}

TEST(SampleBlock, CutFileKeepsWholeSamples) {
  const trace::Run run = sampled_run(60);  // chunks of 31: the last one holds none but the rest
  std::string file = test::raw_file(run, run.ranks[0], {.chunk_bytes = 4096});
  file.resize(file.size() - 4096 + sizeof(ChunkHeader) + 3 * sizeof(RawSample) - 1);
  const auto parsed = parse_raw_file(file);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->samples.size(), 33U);
  ASSERT_EQ(parsed->losses.size(), 1U);
  EXPECT_NE(parsed->losses[0].find("28 of 30 samples of chunk"), std::string::npos) << parsed->losses[0];
}

TEST(SampleBlock, ARunKeepsThemThroughBothFormats) {
  const trace::Run run = sampled_run(60);
  const ScratchDir dir;
  ASSERT_TRUE(test::write_raw_files(run, dir.path(), {}));
  const auto raw = open_run(dir.path());
  ASSERT_TRUE(raw);
  ASSERT_EQ(raw->ranks.size(), 2U);
  // The axis begins with the first event, the samples were taken from zero.
  const Duration shift = raw->ranks[1].samples[0].at;
  ASSERT_EQ(raw->ranks[1].samples.size(), 61U);
  for (std::size_t i = 0; i < 61; ++i) {
    Sample expected = run.ranks[1].samples[i];
    expected.at += shift;
    EXPECT_EQ(raw->ranks[1].samples[i], expected) << i;
  }
  EXPECT_EQ(raw->ranks[1].start_time, 4711U);
  EXPECT_EQ(raw->ranks[1].node_number, 3);
  EXPECT_EQ(raw->ranks[1].local_size, 2);
  EXPECT_EQ(raw->ranks[1].locality, run.ranks[1].locality);
  EXPECT_EQ(raw->nodes.at(0).time_namespace, 4026531834U);

  const auto report = compact_run(dir.path(), 1);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->files, 2);
  const auto compact = open_run(dir.path());
  ASSERT_TRUE(compact);
  EXPECT_EQ(test::difference(*raw, *compact), "");
  const ScratchDir again;
  ASSERT_TRUE(write_run(*compact, again.path() / "run", 1));
  const auto written = open_run(again.path() / "run");
  ASSERT_TRUE(written);
  EXPECT_EQ(written->ranks[1].samples, compact->ranks[1].samples);
  EXPECT_EQ(written->ranks[1].locality, compact->ranks[1].locality);
}

TEST(SampleBlock, ARankWithoutEventsKeepsItsSamples) {
  trace::Run run = sampled_run(10);
  run.ranks[1].events = {};
  const ScratchDir dir;
  ASSERT_TRUE(test::write_raw_files(run, dir.path(), {}));
  const auto read = open_run(dir.path());
  ASSERT_TRUE(read);
  ASSERT_EQ(read->ranks.size(), 2U);
  ASSERT_EQ(read->ranks[1].samples.size(), 11U);
  EXPECT_EQ(read->ranks[1].samples[4].at, read->ranks[0].samples[4].at);
}

TEST(SampleBlock, DamagedBlockCostsOnlyItself) {
  const trace::Run run = sampled_run(40);
  const auto parsed = parse_raw_file(test::raw_file(run, run.ranks[0], {}));
  ASSERT_TRUE(parsed);
  std::string bytes = encode_compact(*parsed);
  const std::uint32_t kind = static_cast<std::uint32_t>(BlockKind::Samples);
  std::size_t at = sizeof kCompactMagic;
  BlockHeader head{};
  do {
    std::memcpy(&head, bytes.data() + at, sizeof head);
    at += sizeof head + head.stored_bytes;
  } while (static_cast<std::uint32_t>(head.kind) != kind);
  bytes[at - 6] = static_cast<char>(bytes[at - 6] ^ 0x55);  // within its frame's checksum or content
  const auto decoded = decode_compact(bytes);
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(decoded->samples.empty());
  EXPECT_TRUE(decoded->records == parsed->records);
  ASSERT_EQ(decoded->losses.size(), 1U);
  EXPECT_NE(decoded->losses[0].find("with 41 samples is damaged"), std::string::npos);
}

}  // namespace
}  // namespace cox::trace
