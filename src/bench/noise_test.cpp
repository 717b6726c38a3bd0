// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/noise.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include "cox/base/file.hpp"

#include "bench/detour_finder.hpp"
#include "bench/spelling.hpp"

namespace cox::bench {
namespace {

constexpr Seconds kNs{1e-9};

TEST(DetectDetours, FindsGapsAndSubtractsTheLoop) {
  // A reading every 20 ns, and three gaps: 5 us, 999 ns (below the threshold), 1 us (at it).
  std::vector<std::int64_t> ticks;
  std::int64_t t = 1'000'000;
  for (const std::int64_t gap : {20, 25, 20, 5000, 20, 999, 20, 1000, 20}) {
    ticks.push_back(t);
    t += gap;
  }
  ticks.push_back(t);
  const DetourTrace trace = detect_detours(ticks, kNs, Seconds{1e-6});
  ASSERT_EQ(trace.detours.size(), 2U);
  EXPECT_NEAR(trace.detours[0].at.count(), 65e-9, 1e-15);
  EXPECT_NEAR(trace.detours[0].lasts.count(), 4980e-9, 1e-15);
  EXPECT_NEAR(trace.detours[1].at.count(), (65 + 5000 + 20 + 999 + 20) * 1e-9, 1e-15);
  EXPECT_NEAR(trace.detours[1].lasts.count(), 980e-9, 1e-15);
  EXPECT_NEAR(trace.resolution.count(), 20e-9, 1e-15);
  EXPECT_NEAR(trace.length.count(), (20 + 25 + 20 + 5000 + 20 + 999 + 20 + 1000 + 20) * 1e-9, 1e-15);
}

TEST(DetectDetours, NothingComesOfNothing) {
  EXPECT_TRUE(detect_detours({}, kNs, Seconds{1e-6}).detours.empty());
  const std::vector<std::int64_t> one{5};
  EXPECT_TRUE(detect_detours(one, kNs, Seconds{1e-6}).detours.empty());
  EXPECT_EQ(summarize(detect_detours(one, kNs, Seconds{1e-6})).count, 0);
}

TEST(DetectDetours, AClockThatStandsStillIsNoDetour) {
  const std::vector<std::int64_t> ticks{0, 0, 0, 20, 20, 40};
  const DetourTrace trace = detect_detours(ticks, kNs, Seconds{1e-6});
  EXPECT_TRUE(trace.detours.empty());
  EXPECT_NEAR(trace.resolution.count(), 20e-9, 1e-15);
}

TEST(DetourFinder, StopsWhenFull) {
  DetourFinder finder(1000, 2);
  EXPECT_TRUE(finder.see(0));
  EXPECT_TRUE(finder.see(2000));
  EXPECT_TRUE(finder.see(4000));
  EXPECT_FALSE(finder.see(6000));
  const DetourTrace trace = finder.trace(kNs);
  EXPECT_TRUE(trace.full);
  EXPECT_EQ(trace.detours.size(), 2U);
  EXPECT_NEAR(trace.length.count(), 4000e-9, 1e-15);
}

/// 100 detours of 1..100 us, one every 100 us, on a made-up trace of 10 ms.
DetourTrace hundred() {
  DetourTrace trace{.core = 3, .length = Seconds{0.01}, .threshold = Seconds{1e-6}};
  for (int i = 0; i < 100; ++i)
    trace.detours.push_back({.at = Seconds{i * 1e-4}, .lasts = Seconds{(i + 1) * 1e-6}});
  return trace;
}

TEST(Summarize, CountsAndQuantiles) {
  const NoiseSummary s = summarize(hundred());
  EXPECT_EQ(s.count, 100);
  EXPECT_NEAR(s.per_second, 10'000, 1e-6);
  EXPECT_NEAR(s.per_second_half_width_95, 0, 1e-6);  // five in each of the 20 parts
  EXPECT_NEAR(s.median.count(), 50.5e-6, 1e-12);
  EXPECT_NEAR(s.p99.count(), 99.01e-6, 1e-9);
  EXPECT_NEAR(s.longest.count(), 100e-6, 1e-12);
  EXPECT_NEAR(s.share_ratio, 5050e-6 / 0.01, 1e-9);
  EXPECT_GT(s.share_half_width_95, 0.1);
}

TEST(MeasureDetours, UsesTheClockItIsGiven) {
  static std::atomic<std::int64_t> time;
  time = 0;
  NoiseOptions options{.duration = Seconds{1e-3}, .clock = [] {
                         // 30 ns a reading; 7 us more at every 1000th.
                         const std::int64_t n = time.fetch_add(1);
                         return n * 30 + n / 1000 * 7000;
                       }};
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  int core = 0;
  while (!CPU_ISSET(core, &allowed)) ++core;
  options.cores = {core};
  const auto traces = measure_detours(options);
  ASSERT_TRUE(traces);
  ASSERT_EQ(traces->size(), 1U);
  ASSERT_EQ(traces->front().detours.size(), 27U);
  EXPECT_NEAR(traces->front().detours[0].lasts.count(), 7e-6, 1e-12);
}

TEST(MeasureDetours, RefusesACoreThatIsNotThere) {
  const auto traces = measure_detours({.cores = {100'000}});
  ASSERT_FALSE(traces);
  EXPECT_EQ(traces.error().id, "bench-001");
}

TEST(DetoursText, PutsCoresOneAfterAnother) {
  DetourTrace a{.core = 0, .length = Seconds{2}};
  a.detours = {{.at = Seconds{0.5}, .lasts = Seconds{3e-6}}};
  DetourTrace b{.core = 1, .length = Seconds{2}};
  b.detours = {{.at = Seconds{0.25}, .lasts = Seconds{1.5e-3}}};
  const std::vector<DetourTrace> both{a, b};
  EXPECT_EQ(detours_text(both),
            "# detours of a processor: when one began and how long it lasted\n"
            "window 4s\n"
            "# core 0, from 0ns\n"
            "500ms 3us\n"
            "# core 1, from 2s\n"
            "2.25s 1.5ms\n");
}

TEST(DetoursText, IsReadByTraceNoise) {
  DetourTrace a = hundred();
  a.core = 0;
  const std::vector<DetourTrace> both{a, hundred()};
  const std::string file = ::testing::TempDir() + "cox-detours-" + std::to_string(getpid());
  ASSERT_TRUE(write_file_atomically(file, detours_text(both), IfExists::Replace));
  const auto noise =
      simulate::Noise::make({{.name = {}, .law = model::NoiseLaw::Trace, .file = file}}, {.ranks = 2}, 1);
  ASSERT_TRUE(noise) << noise.error().to_string();
  EXPECT_TRUE(noise->disturbs_compute());
  EXPECT_TRUE(noise->needs_time());
  // In the long run a rank loses the share that was measured.
  std::vector<Seconds> work{Seconds{10}, Seconds{10}};
  const std::vector<Seconds> begin{Seconds{0}, Seconds{0.003}};
  noise->compute(0, 0, work, work, begin);
  EXPECT_NEAR(work[0].count(), 10 / (1 - 0.505), 0.1);
  std::remove(file.c_str());
}

TEST(NoisePart, SaysWhatWasMeasured) {
  const std::vector<DetourTrace> one{hundred()};
  const std::string text = noise_part(one, "a\"b", "n.detours");
  EXPECT_NE(text.find("n = 100 detours of at least 1.00 µs in 10.0 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("name = \"detours of a\\\"b\""), std::string::npos) << text;
  EXPECT_NE(text.find("file = \"n.detours\""), std::string::npos) << text;
}

TEST(Spelling, HasUnitsAndNoExponent) {
  EXPECT_EQ(spell_time(Seconds{12.3456e-6}), "12.346us");
  EXPECT_EQ(spell_time(Seconds{0}), "0ns");
  EXPECT_EQ(spell_time(Seconds{2.345678901}), "2.345678901s");
  EXPECT_EQ(spell_rate(Bandwidth::bytes_per_s(11'953'000)), "11.953MB/s");
  EXPECT_EQ(spell_rate(Bandwidth::gbyte_per_s(50)), "50GB/s");
}

}  // namespace
}  // namespace cox::bench
