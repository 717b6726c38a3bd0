// SPDX-License-Identifier: Apache-2.0
// Laws of quantities as text, of quantiles and of running moments.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"

namespace cox {
namespace {

constexpr double kPrinted = 0.005000001;  // half a unit in the third significant digit

/// Counts of every order of magnitude up to `most`, not only large ones.
rc::Gen<std::int64_t> counts(std::int64_t most) {
  return rc::gen::mapcat(rc::gen::inRange(0, 63), [=](int bits) {
    return rc::gen::map(rc::gen::inRange<std::int64_t>(0, std::numeric_limits<std::int64_t>::max()),
                        [=](std::int64_t x) { return std::min(x >> bits, most); });
  });
}

rc::Gen<std::vector<double>> samples() {
  return rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(
      rc::gen::map(rc::gen::inRange(-1'000'000, 1'000'000), [](int x) { return x / 64.0; })));
}

bool near(double a, double b, double relative) {
  return std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b));
}

RC_GTEST_PROP(UnitsText, DurationReadsBackAsPrinted, ()) {
  const Duration d{*counts(9'000'000'000'000'000'000)};
  const auto back = parse_duration(to_string(d));
  RC_ASSERT(back.has_value());
  RC_ASSERT(near(static_cast<double>(back->count()), static_cast<double>(d.count()), kPrinted));
  RC_ASSERT(to_string(*back) == to_string(d));
  RC_ASSERT(to_string(-d) == (d == Duration::zero() ? "0 s" : "-" + to_string(d)));
}

/// Non-negative doubles of every magnitude that a quantity can have.
rc::Gen<double> quantities() {
  return rc::gen::map(
      rc::gen::pair(counts(std::numeric_limits<std::int64_t>::max()), rc::gen::inRange(-120, 60)),
      [](const auto& x) { return std::ldexp(static_cast<double>(x.first), x.second); });
}

RC_GTEST_PROP(UnitsText, WhatIsSpelledReadsBackExactly, ()) {
  const double x = *quantities();
  RC_ASSERT(parse_seconds(spelled(Seconds{x}))->count() == x);
  RC_ASSERT(parse_bandwidth(spelled(Bandwidth::bytes_per_s(x)))->in_bytes_per_s() == x);
  RC_ASSERT(parse_time_per_byte(spelled(TimePerByte::seconds_per_byte(x)))->in_seconds_per_byte() == x);
  RC_ASSERT(parse_flop_rate(spelled(FlopRate::flops_per_s(x)))->in_flops_per_s() == x);
  const Bytes b{*counts(std::numeric_limits<std::int64_t>::max())};
  RC_ASSERT(parse_bytes(spelled(b)) == b);
}

RC_GTEST_PROP(UnitsText, BytesReadBackAsPrinted, ()) {
  const Bytes b{*counts(std::numeric_limits<std::int64_t>::max())};
  const auto back = parse_bytes(to_string(b));
  RC_ASSERT(back.has_value());
  RC_ASSERT(near(static_cast<double>(back->count()), static_cast<double>(b.count()), kPrinted));
  RC_ASSERT(to_string(*back) == to_string(b));
}

RC_GTEST_PROP(UnitsText, BandwidthReadsBackAsPrinted, ()) {
  const auto w = Bandwidth::bytes_per_s(static_cast<double>(*counts(900'000'000'000'000)));
  const auto back = parse_bandwidth(to_string(w));
  RC_ASSERT(back.has_value());
  RC_ASSERT(near(back->in_bytes_per_s(), w.in_bytes_per_s(), kPrinted));
}

RC_GTEST_PROP(UnitsText, WholeCountsAreExactInEveryUnit, ()) {
  const std::int64_t count = *counts(std::numeric_limits<std::int64_t>::max());
  const std::int64_t kilo = 1000;
  RC_ASSERT(parse_bytes(fmt::format("{}B", count)) == Bytes{count});
  RC_ASSERT(parse_bytes(fmt::format("{}.{:03} kB", count / kilo, count % kilo)) == Bytes{count});
  RC_ASSERT(parse_duration(fmt::format("{}ps", count)) == Duration{count});
  const std::int64_t second = 1'000'000'000'000;
  RC_ASSERT(parse_duration(fmt::format("{}.{:012}s", count / second, count % second)) == Duration{count});
}

RC_GTEST_PROP(UnitsText, PrefixesAndBitsStayApart, (std::uint16_t n)) {
  RC_PRE(n > 0);
  for (const char* prefix : {"K", "M", "G", "T"}) {
    const std::string decimal = prefix[0] == 'K' ? "k" : prefix;
    RC_ASSERT(*parse_bytes(fmt::format("{}{}iB", n, prefix)) >
              *parse_bytes(fmt::format("{}{}B", n, decimal)));
    RC_ASSERT(*parse_bandwidth(fmt::format("{}{}bps", n, decimal)) * 8 ==
              *parse_bandwidth(fmt::format("{}{}B/s", n, decimal)));
  }
}

RC_GTEST_PROP(UnitsText, AnyTextIsReadOrRefused, (const std::string& text)) {
  for (const std::string& given : {text, "1" + text, "1.5" + text}) {
    const auto d = parse_duration(given);
    const auto b = parse_bytes(given);
    const auto w = parse_bandwidth(given);
    RC_ASSERT(d.has_value() || d.error().id == "base-001");
    RC_ASSERT(b.has_value() || b.error().id == "base-001");
    RC_ASSERT(w.has_value() || w.error().id == "base-001");
    RC_ASSERT(int{d.has_value()} + int{b.has_value()} + int{w.has_value()} <= 1);
  }
}

RC_GTEST_PROP(Quantile, LiesWithinAndRises, ()) {
  const std::vector<double> sample = *samples();
  const double low = *rc::gen::inRange(0, 1001) / 1000.0;
  const double high = *rc::gen::inRange(0, 1001) / 1000.0;
  const auto [least, most] = std::minmax_element(sample.begin(), sample.end());
  const double a = quantile(sample, std::min(low, high));
  const double b = quantile(sample, std::max(low, high));
  RC_ASSERT(*least <= a);
  RC_ASSERT(a <= b);
  RC_ASSERT(b <= *most);
  RC_ASSERT(quantile(sample, 0) == *least);
  RC_ASSERT(quantile(sample, 1) == *most);
}

RC_GTEST_PROP(Quantile, MatchesASortedSample, ()) {
  std::vector<double> sample = *samples();
  const double q = *rc::gen::inRange(0, 1001) / 1000.0;
  const double found = quantile(sample, q);
  std::sort(sample.begin(), sample.end());
  const double position = q * static_cast<double>(sample.size() - 1);
  const auto i = static_cast<std::size_t>(std::floor(position));
  const double next = sample[std::min(i + 1, sample.size() - 1)];
  RC_ASSERT(std::abs(found - (sample[i] + (position - std::floor(position)) * (next - sample[i]))) <= 1e-9);
}

RC_GTEST_PROP(Quantile, FollowsShiftAndMirror, ()) {
  const std::vector<double> sample = *samples();
  std::vector<double> shifted;
  std::vector<double> mirrored;
  for (const double x : sample) {
    shifted.push_back(x + 1024);
    mirrored.push_back(-x);
  }
  RC_ASSERT(std::abs(median(shifted) - (median(sample) + 1024)) <= 1e-9);
  RC_ASSERT(std::abs(median(mirrored) + median(sample)) <= 1e-9);
  RC_ASSERT(std::abs(scaled_mad(shifted) - scaled_mad(sample)) <= 1e-9);
  RC_ASSERT(scaled_mad(mirrored) == scaled_mad(sample));
}

RC_GTEST_PROP(Welford, MergedPartsAreTheWhole, ()) {
  const std::vector<double> sample = *samples();
  const auto cut = static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(sample.size()) + 1));
  Welford whole;
  Welford first;
  Welford second;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    whole.add(sample[i]);
    (i < cut ? first : second).add(sample[i]);
  }
  first.merge(second);
  RC_ASSERT(first.count() == whole.count());
  RC_ASSERT(std::abs(first.mean() - whole.mean()) <= 1e-9 * (1 + std::abs(whole.mean())));
  RC_ASSERT(std::abs(first.variance() - whole.variance()) <= 1e-9 * (1 + whole.variance()));
}

RC_GTEST_PROP(Welford, MatchesTwoPasses, ()) {
  const std::vector<double> sample = *samples();
  const auto n = static_cast<double>(sample.size());
  double sum = 0;
  for (const double x : sample) sum += x;
  double squares = 0;
  for (const double x : sample) squares += (x - sum / n) * (x - sum / n);
  Welford w;
  for (const double x : sample) w.add(x);
  RC_ASSERT(std::abs(w.mean() - sum / n) <= 1e-8);
  RC_ASSERT(std::abs(w.variance() - (n < 2 ? 0 : squares / (n - 1))) <= 1e-8 * (1 + squares));
}

RC_GTEST_PROP(BinomialUpperTail, FallsWithTheBarAndRisesWithTheOdds, ()) {
  const std::int64_t trials = *rc::gen::inRange<std::int64_t>(1, 200);
  const std::int64_t bar = *rc::gen::inRange<std::int64_t>(0, trials + 1);
  const double p = *rc::gen::inRange(1, 999) / 1000.0;
  const double tail = binomial_upper_tail(bar, trials, p);
  RC_ASSERT(tail >= 0);
  RC_ASSERT(tail <= 1);
  RC_ASSERT(binomial_upper_tail(bar + 1, trials, p) <= tail);
  RC_ASSERT(binomial_upper_tail(bar, trials, p + 0.001) >= tail - 1e-12);
  // Heads and tails together are certain.
  RC_ASSERT(std::abs(tail + binomial_upper_tail(trials - bar + 1, trials, 1 - p) - 1) <= 1e-9);
}

}  // namespace
}  // namespace cox
