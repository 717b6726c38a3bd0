// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cox/base/number_text.hpp"
#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"

#include "bench/net_tables.hpp"
#include "bench/spelling.hpp"

namespace cox::bench {
namespace {

constexpr std::size_t kMostPoints = 256;
constexpr std::int64_t kSmallBytes = 4096;

/// One equation: a alpha + b beta = 1, after division by its time.
struct Equation {
  double a;
  double b;
};
struct Line {
  double alpha = 0;
  double beta = 0;
};

double deviation(std::span<const Equation> equations, Line line) {
  double sum = 0;
  for (const Equation& e : equations) sum += std::abs(e.a * line.alpha + e.b * line.beta - 1);
  return sum;
}

Line best_line(std::span<const Equation> equations) {
  Line best;
  double least = deviation(equations, best);
  const auto attempt = [&](Line line) {
    if (!(line.alpha >= 0 && line.beta >= 0) || !std::isfinite(line.alpha) || !std::isfinite(line.beta))
      return;
    if (const double d = deviation(equations, line); d < least) {
      least = d;
      best = line;
    }
  };
  for (std::size_t i = 0; i < equations.size(); ++i) {
    const Equation& p = equations[i];
    attempt({.alpha = 1 / p.a, .beta = 0});
    attempt({.alpha = 0, .beta = 1 / p.b});
    for (std::size_t j = i + 1; j < equations.size(); ++j) {
      const Equation& q = equations[j];
      const double det = p.a * q.b - q.a * p.b;
      attempt({.alpha = (q.b - p.b) / det, .beta = (p.a - q.a) / det});
    }
  }
  return best;
}

template <class TimeOf>
Line line_of(std::span<const CostPoint> points, TimeOf time_of) {
  std::vector<Equation> equations;
  for (const CostPoint& p : points) {
    const double t = time_of(p).count();
    equations.push_back({.a = p.latencies / t, .b = static_cast<double>(p.bytes.count()) / t});
  }
  return best_line(equations);
}

}  // namespace

Result<LinkFit> fit_link(std::span<const CostPoint> all) {
  std::vector<CostPoint> points;
  for (const CostPoint& p : all)
    if (p.low > Seconds::zero() && p.middle > Seconds::zero() && p.high > Seconds::zero())
      points.push_back(p);
  const auto by_bytes = [](const CostPoint& a, const CostPoint& b) { return a.bytes < b.bytes; };
  const auto [least, most] = std::minmax_element(points.begin(), points.end(), by_bytes);
  if (points.size() < 2 || least->bytes == most->bytes || points.size() > kMostPoints)
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "bench-005",
                      .message = fmt::format("usable sizes: {}, expected 2 to {} different ones",
                                             points.size(), kMostPoints),
                      .hint = "measure from a few bytes to some megabytes",
                      .where = {}});
  const Line middle = line_of(points, [](const CostPoint& p) { return p.middle; });
  const Line low = line_of(points, [](const CostPoint& p) { return p.low; });
  const Line high = line_of(points, [](const CostPoint& p) { return p.high; });

  LinkFit fit{.latency_low = Seconds{std::min(low.alpha, high.alpha)},
              .latency_high = Seconds{std::max(low.alpha, high.alpha)},
              .per_byte = TimePerByte::seconds_per_byte(middle.beta),
              .per_byte_low = TimePerByte::seconds_per_byte(std::min(low.beta, high.beta)),
              .per_byte_high = TimePerByte::seconds_per_byte(std::max(low.beta, high.beta)),
              .sizes = static_cast<int>(points.size())};
  if (std::any_of(points.begin(), points.end(), [](const CostPoint& p) { return p.latencies > 0; }))
    fit.latency = Seconds{middle.alpha};
  std::vector<double> errors;
  for (const CostPoint& p : points) {
    const double predicted = p.latencies * middle.alpha + static_cast<double>(p.bytes.count()) * middle.beta;
    errors.push_back(std::abs(predicted / p.middle.count() - 1));
  }
  fit.worst_error_ratio = *std::max_element(errors.begin(), errors.end());
  fit.median_error_ratio = median_in_place(errors);
  return fit;
}

Result<PlaceCost> cost_of(std::span<const ProbeSeries> series) {
  PlaceCost cost;
  std::vector<CostPoint> points;
  std::vector<double> starts;
  Bytes largest{};
  for (const ProbeSeries& s : series) {
    cost.samples += static_cast<std::int64_t>(s.message_s.size());
    if (!s.message_s.empty())
      points.push_back({.latencies = 1,
                        .bytes = s.size,
                        .low = Seconds{quantile(s.message_s, 0.25)},
                        .middle = Seconds{quantile(s.message_s, 0.5)},
                        .high = Seconds{quantile(s.message_s, 0.75)}});
    if (!s.start_s.empty() && s.size.count() <= kSmallBytes) starts.push_back(median(s.start_s));
    if (!s.stream_s.empty() && s.size > largest) {
      largest = s.size;
      cost.stream = Bandwidth::bytes_per_s(static_cast<double>(s.size.count()) / quantile(s.stream_s, 0.5));
    }
  }
  COX_TRY(cost.fit, fit_link(points));
  if (!starts.empty()) cost.overhead = Seconds{median_in_place(starts)};
  return cost;
}

std::string cost_part(std::string_view place, const PlaceCost& cost, const std::string& from) {
  const LinkFit& fit = cost.fit;
  std::string text = fmt::format("# {}; n = {} sizes", from, fit.sizes);
  if (cost.samples > 0) text += fmt::format(", {} messages", cost.samples);
  text += fmt::format("; the line is off by {} (median) and {} (worst)\n", percent(fit.median_error_ratio),
                      percent(fit.worst_error_ratio));
  text += fmt::format("[cost.{}]\n", place);
  if (fit.latency)
    text += fmt::format("latency = \"{}\"  # quartiles {} to {}\n", spell_time(*fit.latency),
                        spell_time(fit.latency_low), spell_time(fit.latency_high));
  const auto rate = [](TimePerByte t) {
    return t > TimePerByte{} ? spell_rate(Bandwidth::bytes_per_s(1 / t.in_seconds_per_byte())) : "no limit";
  };
  if (fit.per_byte > TimePerByte{})
    text += fmt::format("bandwidth = \"{}\"  # quartiles {} to {}{}\n", rate(fit.per_byte),
                        rate(fit.per_byte_high), rate(fit.per_byte_low),
                        cost.stream ? fmt::format("; {} back to back", spell_rate(*cost.stream)) : "");
  if (cost.overhead)
    // Only schedules (workload goal) know it: as a key it would be refused elsewhere.
    text += fmt::format("# overhead: {} of the processor, to start a message of at most 4 KiB\n",
                        spell_time(*cost.overhead));
  return text;
}

}  // namespace cox::bench
