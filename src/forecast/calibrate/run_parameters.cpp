// SPDX-License-Identifier: Apache-2.0
#include "forecast/calibrate/run_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "cox/base/stats.hpp"

#include "forecast/calibrate/message_fit.hpp"
#include "forecast/law/special.hpp"

namespace cox::forecast {
namespace {

constexpr double kTail = 0.05;  ///< on each side of an interval

Seconds at_least_nothing(double seconds) {
  return Seconds{std::max(0.0, seconds)};
}

std::vector<MessageFit> fit_all(std::span<const Sample> samples) {
  using Key = std::tuple<std::int64_t, model::Collective, bool>;
  std::map<Key, std::map<Bytes, std::vector<double>>> by_kind;
  for (const Sample& s : samples)
    for (const MessageTimes& m : s.record.messages)
      for (const Seconds t : m.times) by_kind[{m.ranks, m.kind, m.one_node}][m.bytes].push_back(t.count());
  std::vector<MessageFit> out;
  for (auto& [key, sizes] : by_kind) {
    MessageFit fit = fit_messages(std::get<1>(key), std::get<0>(key), sizes);
    fit.one_node = std::get<2>(key);
    out.push_back(fit);
  }
  return out;
}

/// Ratio of sums over ranks, which are the units.
void add_hidden(std::span<const Sample> samples, RunParameters& out) {
  Seconds hidden{};
  Seconds in_flight{};
  double rank_steps = 0;
  Welford shares;
  for (const Sample& s : samples) {
    for (const BackgroundTime& b : s.record.background) {
      if (b.in_flight <= Seconds{}) continue;
      hidden += b.hidden;
      in_flight += b.in_flight;
      rank_steps += static_cast<double>(s.steps.size());
      shares.add(b.hidden / b.in_flight);
    }
    out.hidden_at_most = out.hidden_at_most || s.record.until_waits;
  }
  if (shares.count() == 0) return;
  out.in_flight = in_flight / rank_steps;
  RatioEstimate e{.value = hidden / in_flight, .low = 0, .high = 1, .units = shares.count()};
  if (shares.count() > 1) {
    const double half = student_half_width(shares, kTail);
    e.low = std::max(0.0, e.value - half);
    e.high = std::min(1.0, e.value + half);
  } else {
    e.origin = Origin::Range;
  }
  if (out.hidden_at_most) {
    e.low = 0;
    e.origin = Origin::Range;
  }
  out.hidden = e;
}

struct Start {
  double ranks = 0;
  double seconds = 0;
};

/// Of one size: all of it may be fixed, or all of it grow.
void fit_one_size(const std::vector<Start>& starts, StartFit& out) {
  Welford all;
  for (const Start& s : starts) all.add(s.seconds);
  const double half = all.count() > 1 ? student_half_width(all, kTail) : 0;
  const Seconds mean{all.mean()};
  out.at_seen = {.value = mean,
                 .low = at_least_nothing(all.mean() - half),
                 .high = Seconds{all.mean() + half},
                 .units = all.count()};
  out.fixed = {
      .value = mean, .low = {}, .high = out.at_seen.high, .origin = Origin::Range, .units = all.count()};
  out.per_rank = {.value = {},
                  .low = {},
                  .high = out.at_seen.high / starts.back().ranks,
                  .origin = Origin::Range,
                  .units = all.count()};
}

/// A line through the starts of several sizes. Through two there is no freedom: then the ends are what is possible at all.
void fit_line(const std::vector<Start>& starts, StartFit& out) {
  const auto n = static_cast<double>(starts.size());
  double mean_x = 0;
  double mean_y = 0;
  for (const Start& s : starts) {
    mean_x += s.ranks / n;
    mean_y += s.seconds / n;
  }
  double xx = 0;
  double xy = 0;
  for (const Start& s : starts) {
    xx += (s.ranks - mean_x) * (s.ranks - mean_x);
    xy += (s.ranks - mean_x) * (s.seconds - mean_y);
  }
  const double slope = std::max(0.0, xy / xx);
  const double fixed = std::max(0.0, mean_y - slope * mean_x);
  double misses = 0;
  for (const Start& s : starts) misses += std::pow(s.seconds - fixed - slope * s.ranks, 2);
  const auto units = static_cast<std::int64_t>(starts.size());
  const double largest = starts.back().ranks;
  const Seconds at_seen{fixed + slope * largest};
  if (units < 3) {
    out.at_seen = {.value = at_seen, .low = at_seen, .high = at_seen, .units = units};
    out.fixed = {.value = Seconds{fixed},
                 .low = {},
                 .high = Seconds{std::max(starts.front().seconds, fixed)},
                 .origin = Origin::Range,
                 .units = units};
    out.per_rank = {.value = Seconds{slope},
                    .low = {},
                    .high = at_seen / largest,
                    .origin = Origin::Range,
                    .units = units};
    return;
  }
  const double scatter = student_quantile(kTail, units - 2) * std::sqrt(misses / (n - 2));
  const auto with = [&](double value, double half) {
    return TimeEstimate{.value = Seconds{value},
                        .low = at_least_nothing(value - half),
                        .high = Seconds{value + half},
                        .units = units};
  };
  out.per_rank = with(slope, scatter / std::sqrt(xx));
  out.fixed = with(fixed, scatter * std::sqrt(1 / n + mean_x * mean_x / xx));
  out.at_seen =
      with(at_seen.count(), scatter * std::sqrt(1 / n + (largest - mean_x) * (largest - mean_x) / xx));
}

std::optional<StartFit> fit_start(std::span<const Sample> samples) {
  std::vector<Start> starts;
  std::set<std::int64_t> sizes;
  for (const Sample& s : samples) {
    if (!s.record.startup) continue;
    starts.push_back({static_cast<double>(s.size()), s.record.startup->count()});
    sizes.insert(s.size());
  }
  if (starts.empty()) return {};
  std::ranges::sort(starts, {}, [](const Start& s) { return std::pair{s.ranks, s.seconds}; });
  StartFit out{.runs = static_cast<std::int64_t>(starts.size()),
               .sizes = static_cast<std::int64_t>(sizes.size())};
  if (sizes.size() == 1)
    fit_one_size(starts, out);
  else
    fit_line(starts, out);
  return out;
}

std::int64_t nodes_of(const Sample& s) {
  std::set<std::int32_t> nodes;
  for (const SampleRank& r : s.ranks)
    if (r.node >= 0) nodes.insert(r.node);
  return static_cast<std::int64_t>(nodes.size());
}

/// Launches before the one that was recorded are told, and no failures of the time that was.
std::optional<FailuresSeen> failures_of(std::span<const Sample> samples,
                                        std::span<const std::int64_t> restarts) {
  FailuresSeen out;
  double failures = 0;
  bool told = false;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const RunRecord& record = samples[i].record;
    const std::int64_t inside = i < restarts.size() ? restarts[i] : 0;
    told = told || record.observed > Seconds{} || inside > 0;
    out.ended += record.ended;
    out.restarts += inside + record.attempts;
    out.node_time += record.observed * static_cast<double>(nodes_of(samples[i]));
    failures += static_cast<double>(inside) + (record.ended > 0 ? 1 : 0);
  }
  if (!told) return {};
  if (out.node_time > Seconds{}) {
    out.between.units = static_cast<std::int64_t>(failures);
    out.between.low = out.node_time / gamma_upper_quantile(failures + 1, kTail);
    out.between.origin = failures > 0 ? Origin::Measured : Origin::Range;
    if (failures > 0) {
      out.between.value = out.node_time / failures;
      out.between.high = out.node_time / gamma_upper_quantile(failures, 1 - kTail);
    }
  }
  return out;
}

}  // namespace

RunParameters run_parameters(std::span<const Sample> samples, std::span<const std::int64_t> restarts) {
  RunParameters out;
  out.messages = fit_all(samples);
  add_hidden(samples, out);
  out.start = fit_start(samples);
  out.failures = failures_of(samples, restarts);
  return out;
}

}  // namespace cox::forecast
