// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <thread>

#include "cox/base/number_text.hpp"
#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"

#include "bench/detour_finder.hpp"
#include "bench/spelling.hpp"

namespace cox::bench {
namespace {

constexpr std::size_t kMostDetours = 2'000'000;  // 32 MB a core
constexpr Seconds kNanosecond{1e-9};

std::int64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

Result<std::vector<int>> usable_cores(const std::vector<int>& asked) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  if (asked.empty()) {
    std::vector<int> all;
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &allowed)) all.push_back(core);
    return all;
  }
  for (const int core : asked)
    if (core < 0 || core >= CPU_SETSIZE || !CPU_ISSET(core, &allowed))
      return fail(Error{.code = Errc::Usage,
                        .id = "bench-001",
                        .message = fmt::format("core {} cannot be used by this process", core),
                        .hint = "`nproc` says how many there are; taskset and cgroups restrict them",
                        .where = {}});
  return asked;
}

DetourTrace measure_core(int core, const NoiseOptions& options, NanosecondClock clock) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  DetourFinder finder(std::llround(options.threshold / kNanosecond), kMostDetours);
  const std::int64_t end = clock() + std::llround(options.duration / kNanosecond);
  std::int64_t tick = clock();
  while (tick < end && finder.see(tick)) tick = clock();
  DetourTrace trace = finder.trace(kNanosecond);
  trace.core = core;
  return trace;
}

}  // namespace

DetourFinder::DetourFinder(std::int64_t threshold, std::size_t most)
    : threshold_(std::max<std::int64_t>(1, threshold)), most_(most) {}

bool DetourFinder::see_unusual(std::int64_t tick) {
  if (!begun_) {
    begun_ = true;
    first_ = last_ = tick;
    return true;
  }
  const std::int64_t gap = tick - last_;
  if (gap >= threshold_) {
    if (gaps_.size() == most_) {
      full_ = true;
      return false;
    }
    gaps_.push_back({.at = last_ - first_, .length = gap});
  } else if (gap > 0) {
    shortest_ = std::min(shortest_, gap);
  }
  last_ = std::max(last_, tick);
  return true;
}

DetourTrace DetourFinder::trace(Seconds per_tick) const {
  const std::int64_t shortest = shortest_ == std::numeric_limits<std::int64_t>::max() ? 0 : shortest_;
  const auto span = [&](std::int64_t ticks) { return static_cast<double>(ticks) * per_tick; };
  DetourTrace trace{.core = 0,
                    .length = span(last_ - first_),
                    .resolution = span(shortest),
                    .threshold = span(threshold_),
                    .detours = {},
                    .full = full_};
  trace.detours.reserve(gaps_.size());
  for (const Gap& g : gaps_) trace.detours.push_back({.at = span(g.at), .lasts = span(g.length - shortest)});
  return trace;
}

DetourTrace detect_detours(std::span<const std::int64_t> ticks, Seconds per_tick, Seconds threshold) {
  DetourFinder finder(std::llround(threshold / per_tick));
  for (const std::int64_t tick : ticks) finder.see(tick);
  return finder.trace(per_tick);
}

NoiseSummary summarize(const DetourTrace& trace) {
  constexpr std::size_t kParts = 20;
  // student_quantile(0.025, kParts - 1) is 2.09302; intervals of earlier are told with this.
  constexpr double kStudent95 = 2.093;
  NoiseSummary sum{.core = trace.core, .count = static_cast<std::int64_t>(trace.detours.size())};
  if (trace.length <= Seconds::zero()) return sum;
  std::vector<double> lengths;
  std::array<double, kParts> counts{};
  std::array<double, kParts> shares{};
  const Seconds part = trace.length / kParts;
  for (const Detour& d : trace.detours) {
    lengths.push_back(d.lasts.count());
    const std::size_t k = std::min(kParts - 1, static_cast<std::size_t>(d.at / part));
    counts[k] += 1 / part.count();
    shares[k] += d.lasts / part;
  }
  const auto half_width = [&](const std::array<double, kParts>& values) {
    Welford spread;
    for (const double v : values) spread.add(v);
    return kStudent95 * spread.stddev() / std::sqrt(static_cast<double>(kParts));
  };
  sum.per_second = static_cast<double>(sum.count) / trace.length.count();
  sum.per_second_half_width_95 = half_width(counts);
  sum.share_ratio = std::accumulate(lengths.begin(), lengths.end(), 0.0) / trace.length.count();
  sum.share_half_width_95 = half_width(shares);
  sum.longest = Seconds{quantile(lengths, 1)};
  sum.median = Seconds{median_in_place(lengths)};
  sum.p99 = Seconds{quantile_in_place(lengths, 0.99)};
  return sum;
}

Result<std::vector<DetourTrace>> measure_detours(const NoiseOptions& options) {
  COX_TRY(const std::vector<int> cores, usable_cores(options.cores));
  const NanosecondClock clock = options.clock != nullptr ? options.clock : &monotonic_ns;
  std::vector<DetourTrace> traces(cores.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < cores.size(); ++i)
    threads.emplace_back([&, i] { traces[i] = measure_core(cores[i], options, clock); });
  for (std::thread& t : threads) t.join();
  return traces;
}

std::string detours_text(std::span<const DetourTrace> traces) {
  Seconds whole{};
  for (const DetourTrace& t : traces) whole += t.length;
  std::string text = "# detours of a processor: when one began and how long it lasted\n";
  text += fmt::format("window {}\n", spell_time(whole));
  Seconds before{};
  for (const DetourTrace& t : traces) {
    text += fmt::format("# core {}, from {}\n", t.core, spell_time(before));
    for (const Detour& d : t.detours)
      text += fmt::format("{} {}\n", spell_time(before + d.at), spell_time(d.lasts));
    before += t.length;
  }
  return text;
}

std::string noise_part(std::span<const DetourTrace> traces, const std::string& host,
                       const std::string& detour_file) {
  std::string text = fmt::format("# Measured by `cox bench noise` on {}: {} {}.\n", host, traces.size(),
                                 traces.size() == 1 ? "core" : "cores at the same time");
  for (const DetourTrace& t : traces) {
    const NoiseSummary s = summarize(t);
    text += fmt::format(
        "# core {}: n = {} detours of at least {} in {}{}; {:.4g} +- {:.2g} per s, {} +- {} of the "
        "time (95 %)\n",
        s.core, s.count, to_string(duration_from_seconds(t.threshold.count())),
        to_string(duration_from_seconds(t.length.count())), t.full ? " (more were not kept)" : "",
        s.per_second, s.per_second_half_width_95, percent(s.share_ratio, PartDigits::Four),
        percent(s.share_half_width_95, PartDigits::Four));
  }
  text += fmt::format(
      "[[noise]]\nname = {}\ntarget = \"compute\"\nlaw = \"trace\"\nscope = \"rank\"\nfile = {}\n",
      toml_string("detours of " + host), toml_string(detour_file));
  return text;
}

std::string noise_table(std::span<const DetourTrace> traces) {
  const auto shown = [](Seconds s) { return to_string(duration_from_seconds(s.count())); };
  std::string text = fmt::format("{:>5} {:>9} {:>20} {:>10} {:>10} {:>10} {:>22} {:>10}\n", "core", "detours",
                                 "per second", "median", "p99", "longest", "% of the time", "loop");
  for (const DetourTrace& t : traces) {
    const NoiseSummary s = summarize(t);
    text += fmt::format("{:>5} {:>9} {:>20} {:>10} {:>10} {:>10} {:>22} {:>10}\n", s.core, s.count,
                        fmt::format("{:.4g} +- {:.2g}", s.per_second, s.per_second_half_width_95),
                        shown(s.median), shown(s.p99), shown(s.longest),
                        fmt::format("{:.4g} +- {:.2g}", s.share_ratio * 100, s.share_half_width_95 * 100),
                        shown(t.resolution));
  }
  return text;
}

}  // namespace cox::bench
