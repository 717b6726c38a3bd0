// SPDX-License-Identifier: Apache-2.0
#include "cox/diagnose/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "cox/base/resample.hpp"
#include "cox/base/stats.hpp"

#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

constexpr int kResamplings = 1000;
constexpr std::size_t kFewestSteps = 10;
/// Two starts of one job differ by this much without any change: placement, cache, temperature.
constexpr double kLeastChange = 0.005;
/// Resampling looks at so many steps; longer runs are thinned evenly.
constexpr std::size_t kMostSteps = 5000;

std::vector<double> seconds_of(const Diagnosis& d) {
  std::vector<double> out;
  const std::size_t stride = 1 + d.step_times.size() / kMostSteps;
  for (std::size_t i = 0; i < d.step_times.size(); i += stride) out.push_back(in_seconds(d.step_times[i]));
  return out;
}

/// Of values that it may put into another order.
using Middle = double (*)(std::vector<double>&);

double mean_of(std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double resampled(const std::vector<double>& x, Middle middle, SplitMix& random, std::vector<double>& room) {
  draw_blocks(x, static_cast<std::size_t>(std::max(1.0, std::cbrt(static_cast<double>(x.size())))), random,
              room);
  return middle(room);
}

RatioInterval ratio_of(std::vector<double> before, std::vector<double> after, Middle of) {
  RatioInterval out;
  std::vector<double> room = before;
  const double base = of(room);
  if (base <= 0) return out;
  room = after;
  out.value = of(room) / base;
  SplitMix random(20261121);
  std::vector<double> ratios;
  for (int i = 0; i < kResamplings; ++i) {
    const double b = resampled(before, of, random, room);
    const double a = resampled(after, of, random, room);
    if (b > 0) ratios.push_back(a / b);
  }
  const Interval middle = middle_95(ratios);
  out.low = middle.low;
  out.high = middle.high;
  return out;
}

Duration mean_step(const Diagnosis& d) {
  Duration sum{};
  for (const Duration t : d.step_times) sum += t;
  return sum / static_cast<std::int64_t>(d.step_times.size());
}

double lost_part(const Diagnosis& d) {
  return d.run_time > Duration::zero() ? std::min(1.0, ratio(d.lost, d.run_time)) : 0;
}

bool same(const Finding& a, const Finding& b) {
  return a.kind == b.kind && a.ranks == b.ranks;
}

/// What makes them two jobs rather than one before and after a change.
std::vector<JobDifference> differences(const Diagnosis& before, const Diagnosis& after) {
  std::vector<JobDifference> found;
  if (before.coverage.ranks_expected != after.coverage.ranks_expected) found.push_back(JobDifference::Ranks);
  if (before.times != after.times)
    found.push_back(JobDifference::Times);
  else if (before.collectives_per_step != after.collectives_per_step)
    found.push_back(JobDifference::CollectivesPerStep);
  return found;
}

}  // namespace

const char* name_of(Change c) {
  switch (c) {
    case Change::Faster:
      return "faster";
    case Change::Slower:
      return "slower";
    case Change::Unclear:
      return "unclear";
  }
  return "unclear";
}

const char* name_of(JobDifference d) {
  switch (d) {
    case JobDifference::Ranks:
      return "ranks";
    case JobDifference::Times:
      return "times";
    case JobDifference::CollectivesPerStep:
      return "collectives_per_step";
  }
  return "unknown";
}

bool is_slower(const Comparison& c) {
  return c.change == Change::Slower || c.mean_change == Change::Slower;
}

Comparison compare(const Diagnosis& before, const Diagnosis& after) {
  Comparison c;
  c.before = before.step_time.median;
  c.after = after.step_time.median;
  c.lost_before = lost_part(before);
  c.lost_after = lost_part(after);
  const std::vector<double> x = seconds_of(before);
  const std::vector<double> y = seconds_of(after);
  const bool enough = c.has_enough_steps = x.size() >= kFewestSteps && y.size() >= kFewestSteps;
  const auto change_of = [&](const RatioInterval& r) {
    const bool matters = enough && std::abs(r.value - 1) >= kLeastChange;
    return matters && r.high < 1 ? Change::Faster : matters && r.low > 1 ? Change::Slower : Change::Unclear;
  };
  if (!x.empty() && !y.empty()) {
    c.step_ratio = ratio_of(x, y, [](std::vector<double>& v) { return median_in_place(v); });
    c.mean_ratio = ratio_of(x, y, mean_of);
    c.mean_before = mean_step(before);
    c.mean_after = mean_step(after);
  }
  c.change = change_of(c.step_ratio);
  c.mean_change = change_of(c.mean_ratio);
  const auto named = [](const std::vector<Finding>& in, const Finding& f) {
    return std::any_of(in.begin(), in.end(), [&](const Finding& g) { return same(f, g); });
  };
  for (const Finding& f : before.findings)
    if (!named(after.findings, f)) c.gone.push_back(f);
  for (const Finding& f : after.findings) (named(before.findings, f) ? c.remaining : c.fresh).push_back(f);
  c.differs = differences(before, after);
  c.not_alike = differences_sentence(c.differs, before, after);
  c.lines = describe(c, enough, kFewestSteps, kLeastChange);
  return c;
}

}  // namespace cox::diagnose
