// SPDX-License-Identifier: Apache-2.0
#include "cox/bench/speed.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cox/base/child.hpp"
#include "cox/base/units_text.hpp"

namespace cox::bench {
namespace {

using namespace cox::literals;

constexpr Seconds kEnough{10};  ///< a workload is not repeated once this has passed

constexpr SpeedWorkload kWorkloads[] = {
    {.name = "ring-4096",
     .what = "ring 256 MiB, 4,096 ranks, skewed, a cost per link, step by step",
     .bar = Seconds{0.05},
     .memory_bar = 32_MiB},
    {.name = "ring-4096-noise",
     .what = "the same with a fresh uniform delay on every message",
     .bar = Seconds{0.1},
     .memory_bar = 32_MiB},
    {.name = "ring-16384",
     .what = "ring 256 MiB, 16,384 ranks, step by step",
     .bar_per_second = 3e9,
     .unit = "messages"},
    {.name = "ring-16384-noise",
     .what = "the same with a fresh uniform delay on every message",
     .bar_per_second = 5e8,
     .unit = "messages"},
    {.name = "recursive-doubling-65536", .what = "8 KiB over 65,536 ranks", .bar = Seconds{0.02}},
    {.name = "recursive-doubling-1048576",
     .what = "8 KiB over 1,048,576 ranks",
     .bar = Seconds{0.2},
     .memory_bar = 256_MiB},
    {.name = "ring-65536-rounds",
     .what = "ring, 65,536 ranks, a cost per link, first 1,000 rounds",
     .bar = Seconds{0.1}},
    {.name = "ring-1000000-closure",
     .what = "ring, 1,000,000 ranks, uniform costs, closure",
     .bar = Seconds{0.1}},
    {.name = "bsp-rendezvous",
     .what = "1,024 ranks x 100 jittered steps, 8 KiB, one seed",
     .bar = Seconds{0.03}},
    {.name = "bsp-eager", .what = "the same, eager", .bar = Seconds{0.03}},
    {.name = "bsp-1000-seeds",
     .what = "1,000 seeds of it on two cores: mean, p50, p99, interval",
     .bar = Seconds{1.5},
     .bar_is_wall = true},
    {.name = "bsp-1", .what = "one rank x 1,000 noisy steps (for the memory of the next)"},
    {.name = "bsp-100000",
     .what = "100,000 ranks x 1,000 noisy steps, ring 8 KiB by closure",
     .bar = Seconds{10},
     .against = "bsp-1",
     .memory_bar_per_rank = 64_B,
     .ranks = 100'000},
    {.name = "fat-tree-64",
     .what = "4:1 fat tree, 64 hosts, ring 256 MiB in random order",
     .bar = Seconds{0.01}},
    {.name = "fat-tree-1024", .what = "the same, 1,024 hosts, memoised", .bar = Seconds{0.3}},
    {.name = "fat-tree-1024-noise", .what = "the same with 5 % jitter on every message", .bar = Seconds{5}},
    {.name = "goal-text", .what = "GOAL text to binary", .bar_per_second = 100e6, .unit = "bytes"},
    {.name = "goal-binary",
     .what = "binary GOAL, ring over 725 ranks, 1.05 M messages",
     .bar_per_second = 5e6,
     .unit = "messages"},
};

/// `units 1.5e9` on a line of the child's output.
double units_in(const std::string& out) {
  const std::size_t at = out.find("units ");
  return at == std::string::npos ? 0 : std::strtod(out.c_str() + at + 6, nullptr);
}

Result<SpeedResult> measure_one(const SpeedWorkload& workload, const std::string& cox,
                                const std::filesystem::path& folder, int repetitions) {
  SpeedResult best{.workload = workload};
  double units = 0;
  Seconds spent{};
  for (int i = 0; i < repetitions && spent < kEnough; ++i) {
    COX_TRY(const Ended ended,
            run_child({cox, "bench", "simulate", std::string(workload.name), "--output", folder.string()},
                      "bench-006"));
    if (ended.status != 0)
      return fail(Error{.code = Errc::NotFound,
                        .id = "bench-006",
                        .message = fmt::format("{} bench simulate {} ended with status {}", cox,
                                               workload.name, ended.status),
                        .hint = "what it said is above",
                        .where = {}});
    spent += ended.wall;
    if (i > 0 && ended.user + ended.system >= best.processor()) continue;
    best.user = ended.user;
    best.system = ended.system;
    best.wall = ended.wall;
    best.peak_memory = ended.peak_memory;
    units = units_in(ended.out);
  }
  if (workload.bar_per_second > 0) best.units_per_second = units / std::max(1e-9, best.processor().count());
  return best;
}

void judge(SpeedResult& result, std::span<const SpeedResult> all) {
  const SpeedWorkload& w = result.workload;
  const Seconds spent = w.bar_is_wall ? result.wall : result.processor();
  if (w.bar > Seconds::zero()) result.within &= spent <= w.bar;
  if (w.memory_bar > Bytes{}) result.within &= result.peak_memory <= w.memory_bar;
  if (result.units_per_second) result.within &= *result.units_per_second >= w.bar_per_second;
  if (w.against.empty()) return;
  const auto base = std::find_if(all.begin(), all.end(),
                                 [&](const SpeedResult& r) { return r.workload.name == w.against; });
  if (base == all.end()) return;
  result.memory_bytes_per_rank =
      static_cast<double>((result.peak_memory - base->peak_memory).count()) / static_cast<double>(w.ranks);
  result.within &= *result.memory_bytes_per_rank <= static_cast<double>(w.memory_bar_per_rank.count());
}

std::string bar_text(const SpeedWorkload& w) {
  std::string text;
  if (w.bar > Seconds::zero()) text = fmt::format("{:g} s{}", w.bar.count(), w.bar_is_wall ? " elapsed" : "");
  if (w.bar_per_second > 0) text = fmt::format("{:.0e} {}/s", w.bar_per_second, w.unit);
  if (w.memory_bar > Bytes{}) text += fmt::format(", {} MiB", w.memory_bar.count() >> 20U);
  if (w.memory_bar_per_rank > Bytes{}) text += fmt::format(", {} B a rank", w.memory_bar_per_rank.count());
  return text;
}

}  // namespace

std::span<const SpeedWorkload> speed_workloads() {
  return kWorkloads;
}

Result<std::vector<SpeedResult>> measure_speed(const std::filesystem::path& cox,
                                               const std::filesystem::path& folder, int repetitions) {
  // By a child, so that this process stays small: a child's peak begins with that
  // of the process that started it.
  COX_TRY([[maybe_unused]] const SpeedResult prepared,
          measure_one({.name = "goal-files", .what = {}}, cox.string(), folder, 1));
  std::vector<SpeedResult> results;
  for (const SpeedWorkload& workload : kWorkloads) {
    COX_TRY(SpeedResult one, measure_one(workload, cox.string(), folder, repetitions));
    results.push_back(one);
  }
  for (SpeedResult& r : results) judge(r, results);
  return results;
}

std::string speed_table(std::span<const SpeedResult> results, std::span<const PeerResult> peers) {
  std::string text = fmt::format("{:<27} {:>8} {:>8} {:>9} {:>11}  {:<26} {:<6} {}\n", "workload", "cpu s",
                                 "elapsed", "peak MiB", "per s", "bar", "", "what");
  for (const SpeedResult& r : results) {
    const std::string rate = r.units_per_second ? fmt::format("{:.3g}", *r.units_per_second)
                             : r.memory_bytes_per_rank
                                 ? fmt::format("{:.1f} B/rank", *r.memory_bytes_per_rank)
                                 : "";
    const std::string bar = bar_text(r.workload);
    text += fmt::format("{:<27} {:>8.3f} {:>8.3f} {:>9.1f} {:>11}  {:<26} {:<6} {}\n", r.workload.name,
                        r.processor().count(), r.wall.count(),
                        static_cast<double>(r.peak_memory.count()) / (1 << 20U), rate, bar,
                        bar.empty() ? ""
                        : r.within  ? "within"
                                    : "MISSED",
                        r.workload.what);
  }
  for (const PeerResult& p : peers) {
    if (p.skipped.empty())
      text +=
          fmt::format("{} on {}: {:.3f} s cpu, {:.1f} MiB; {:.1f} times ours\n", p.peer, p.workload,
                      p.processor.count(), static_cast<double>(p.peak_memory.count()) / (1 << 20U), p.ratio);
    else
      text += fmt::format("{} on {}: not run: {}\n", p.peer, p.workload, p.skipped);
  }
  return text;
}

}  // namespace cox::bench
