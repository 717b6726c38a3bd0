// SPDX-License-Identifier: Apache-2.0
#include "simulate/noise/laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"
#include "cox/base/random.hpp"

namespace cox::simulate {
namespace {

using model::NoiseLaw;
using model::NoiseSource;

constexpr double kRootThree = 1.7320508075688772935;
constexpr std::size_t kChunk = 512;

Error bad_source(const NoiseSource& source, std::string message, std::string hint) {
  return {.code = Errc::InvalidInput,
          .id = "simulate-001",
          .message = fmt::format("noise source '{}': {}", source.name, message),
          .hint = std::move(hint),
          .where = std::nullopt};
}

Status check_range(const NoiseSource& s, const char* what, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return fail(bad_source(s, fmt::format("{} is {}, expected {} to {}", what, value, low, high),
                         "Correct the value."));
}

bool takes_cv(NoiseLaw law) {
  using enum NoiseLaw;
  return law == Gaussian || law == Lognormal || law == Uniform || law == Pareto;
}
bool takes_shape(NoiseLaw law) {
  return law == NoiseLaw::Pareto || law == NoiseLaw::Weibull;
}

Status check_numbers(const NoiseSource& s) {
  constexpr double kMost = 1e12;
  COX_CHECK(check_range(s, "mean (in seconds)", s.mean.count(), 0, kMost));
  COX_CHECK(check_range(s, "mean_ratio", s.mean_ratio, 0, kMost));
  COX_CHECK(check_range(s, "cv", s.cv, 0, 1e6));
  COX_CHECK(check_range(s, "shape", s.shape, 0, 1e6));
  COX_CHECK(check_range(s, "probability", s.probability, 0, 1));
  COX_CHECK(check_range(s, "correlation", s.correlation, 0, 0.999999));
  if (s.cv > 0 && !takes_cv(s.law))
    return fail(bad_source(s, "this law has no cv of its own", "Leave cv out; Weibull takes shape."));
  if (s.shape > 0 && !takes_shape(s.law))
    return fail(
        bad_source(s, "this law has no shape", "Leave shape out; gaussian, lognormal and uniform take cv."));
  return {};
}

/// Pareto's exponent: given, or from the cv. Formula: cv^2 = 1 / (a (a - 2)).
Result<double> pareto_shape(const NoiseSource& s) {
  if (s.shape > 0 && s.cv > 0)
    return fail(
        bad_source(s, "shape and cv are both given", "Give one of them; below shape 2 there is no cv."));
  if (s.cv > 0) return 1 + std::sqrt(1 + 1 / (s.cv * s.cv));
  if (s.shape > 1) return s.shape;
  return fail(bad_source(s, fmt::format("shape is {}: a Pareto law has a mean only above 1", s.shape),
                         "Give a shape above 1 (2 or less: without variance), or a cv."));
}

/// In seconds, or in parts of what is disturbed.
Result<std::shared_ptr<const QuantileLaw>> quantile_law(const NoiseSource& s) {
  if (s.quantiles.size() < 2 || !std::ranges::is_sorted(s.quantiles) ||
      !(std::abs(s.quantiles.front()) <= 1e12) || !(std::abs(s.quantiles.back()) <= 1e12))
    return fail(bad_source(s, "quantiles are two or more numbers, ascending", "Give the least first."));
  COX_CHECK(check_range(s, "tail_probability", s.tail_probability, 0, 0.999999));
  COX_CHECK(check_range(s, "tail_scale", s.tail_scale, 0, 1e12));
  COX_CHECK(check_range(s, "tail_shape", s.tail_shape, -1, 0.999));
  const double unit = s.relative ? 1 : s.unit.count();
  if (!(unit > 0))
    return fail(bad_source(s, "the unit of its quantiles is no time above 0", "Give the unit, or none."));
  std::vector<double> scaled = s.quantiles;
  for (double& q : scaled) q *= unit;
  return std::make_shared<const QuantileLaw>(
      std::move(scaled),
      QuantileLaw::Tail{
          .probability = s.tail_probability, .scale = s.tail_scale * unit, .shape = s.tail_shape});
}

}  // namespace

Result<NoiseDraws> NoiseDraws::make(const NoiseSource& s, std::size_t number) {
  COX_CHECK(check_numbers(s));
  NoiseDraws d;
  d.law_ = s.law;
  d.number_ = static_cast<std::uint32_t>(number);
  if (s.law == NoiseLaw::Quantiles) {
    COX_TRY(d.quantiles_, quantile_law(s));
    d.mean_ = d.quantiles_->mean();
  } else {
    d.mean_ = s.relative ? s.mean_ratio : s.mean.count();
  }
  d.probability_ = s.probability;
  d.correlation_ = s.correlation;
  const bool spreads = s.cv > 0 || s.law == NoiseLaw::Exponential || takes_shape(s.law);
  d.factor_ = s.relative && s.mean_ratio == 0 && spreads;
  if (d.factor_) d.mean_ = 1;
  if (d.mean_ == 0 && s.law != NoiseLaw::Trace && s.law != NoiseLaw::Quantiles)
    return fail(bad_source(s, "nothing would be added: its mean is 0",
                           s.relative ? "Give mean_ratio, or cv for a factor around 1." : "Give mean."));
  for (double rho = s.correlation; rho >= 0x1p-54; rho *= rho) ++d.levels_;
  if (s.law == NoiseLaw::Gaussian) d.spread_ = s.cv;
  if (s.law == NoiseLaw::Lognormal) d.spread_ = std::sqrt(logarithm(1 + s.cv * s.cv));
  if (s.law == NoiseLaw::Uniform) {
    const double half = s.cv > 0 ? kRootThree * s.cv : 1;
    if (half > 1)
      return fail(bad_source(s, fmt::format("a uniform law with cv {} would reach below 0", s.cv),
                             "The largest cv is 1 / sqrt(3), 0.577."));
    d.low_ = d.mean_ * (1 - half);
    d.high_ = d.mean_ * (1 + half);
  }
  if (s.law == NoiseLaw::Pareto) {
    COX_TRY(const double a, pareto_shape(s));
    d.scale_ = d.mean_ * (a - 1) / a;
    d.exponent_ = -1 / a;
  }
  if (s.law == NoiseLaw::Weibull) {
    if (s.shape < 0.05)
      return fail(
          bad_source(s, fmt::format("shape is {}, expected 0.05 or more", s.shape), "Give the shape."));
    d.scale_ = d.mean_ / gamma_function(1 + 1 / s.shape);
    d.exponent_ = 1 / s.shape;
  }
  return d;
}

/// Of two values that are 2^level steps away on both sides: what a value takes of their sum, and what is its own.
NoiseDraws::Midpoint NoiseDraws::midpoint(int level) const {
  double r = correlation_;
  for (int i = 0; i < level; ++i) r *= r;
  return {.weight = r / (1 + r * r), .deviation = std::sqrt((1 - r * r) / (1 + r * r))};
}

// Midpoints of a stationary AR(1) process, from coarse to fine. Times that are multiples of 2^levels are
// independent (their correlation is below rounding). A time in the middle of two that are 2 d apart is normal
// given both: with r = correlation^d, mean r / (1 + r^2) times their sum, variance (1 - r^2) / (1 + r^2). So
// any draw costs levels + 2 normals, whatever was drawn before, and each time has one innovation.
void NoiseDraws::correlated_normals(std::uint64_t seed, std::uint64_t counter, std::uint64_t first,
                                    std::span<double> out) const {
  const RandomStream innovations(seed, stream(0));
  const std::uint64_t span = std::uint64_t{1} << levels_;
  std::uint64_t left = counter / span * span;
  innovations.normals(left, first, out);
  if (left == counter) return;
  std::array<double, kChunk> low{};
  std::array<double, kChunk> high{};
  std::array<double, kChunk> middle{};
  const std::size_t n = out.size();
  std::ranges::copy(out, low.begin());
  innovations.normals(left + span, first, std::span(high).first(n));
  for (int level = levels_ - 1; level >= 0; --level) {
    const std::uint64_t at = left + (std::uint64_t{1} << level);
    const auto [weight, deviation] = midpoint(level);
    innovations.normals(at, first, std::span(middle).first(n));
    for (std::size_t i = 0; i < n; ++i) middle[i] = weight * (low[i] + high[i]) + deviation * middle[i];
    if (at == counter) break;
    if (at < counter) left = at;
    (at < counter ? low : high) = middle;
  }
  std::copy_n(middle.begin(), n, out.begin());
}

// The same with rows for both ends and for the middle of each level: of the path to a step, one row on average is not
// that of the step before.
void NoiseDraws::correlated_normals(std::uint64_t seed, std::uint64_t counter, std::uint64_t first,
                                    std::span<double> out, CorrelatedMemory& memory) const {
  constexpr std::uint64_t kNever = ~std::uint64_t{0};
  if (memory.count != out.size() || memory.first != first) {
    memory = {.first = first, .count = out.size(), .at = {}, .values = {}};
    memory.at.assign(memory_rows(), kNever);
    memory.values.resize(memory_rows() * out.size());
  }
  const RandomStream innovations(seed, stream(0));
  const auto end = [&](std::size_t i, std::uint64_t at) {
    if (memory.at[i] != at) innovations.normals(at, first, memory.row(i));
    memory.at[i] = at;
    return memory.row(i);
  };
  const std::uint64_t span = std::uint64_t{1} << levels_;
  std::uint64_t left = counter / span * span;
  std::span<const double> found = end(0, left);
  std::span<const double> low = found;
  std::span<const double> high = left == counter ? found : std::span<const double>(end(1, left + span));
  for (int level = levels_ - 1; level >= 0 && left != counter; --level) {
    const std::uint64_t at = left + (std::uint64_t{1} << level);
    const std::size_t i = static_cast<std::size_t>(level) + 2;
    const std::span<double> middle = memory.row(i);
    if (memory.at[i] != at) {
      const auto [weight, deviation] = midpoint(level);
      innovations.normals(at, first, middle);
      for (std::size_t u = 0; u < middle.size(); ++u)
        middle[u] = weight * (low[u] + high[u]) + deviation * middle[u];
      memory.at[i] = at;
    }
    found = middle;
    if (at == counter) break;
    if (at < counter) left = at;
    (at < counter ? low : high) = middle;
  }
  std::ranges::copy(found, out.begin());
}

void NoiseDraws::amounts(std::uint64_t seed, std::uint64_t counter, std::uint64_t first,
                         std::span<double> out, CorrelatedMemory* memory) const {
  COX_ASSERT(memory == nullptr || out.size() <= kChunk, "a memory is of units that are drawn at once");
  for (std::size_t done = 0; done < out.size(); done += kChunk) {
    const auto part = out.subspan(done, std::min(kChunk, out.size() - done));
    if (law_ != NoiseLaw::Constant) {
      if (correlation_ > 0 && memory != nullptr)
        correlated_normals(seed, counter, first, part, *memory);
      else if (correlation_ > 0)
        correlated_normals(seed, counter, first + done, part);
      else if (from_normals())
        RandomStream(seed, stream(0)).normals(counter, first + done, part);
      else
        RandomStream(seed, stream(0)).uniforms(counter, first + done, part);
      if (correlation_ > 0 && !from_normals()) normal_probabilities(part);
    }
    shape(part);
    thin(seed, counter, first + done, part);
  }
}

void NoiseDraws::message_amounts(std::uint64_t seed, std::uint64_t counter, std::uint64_t first,
                                 std::span<double> out) const {
  if (law_ == NoiseLaw::Uniform)
    RandomStream(seed, stream(0)).uniforms32(counter, first, out);
  else if (from_normals())
    RandomStream(seed, stream(0)).normals32(counter, first, out);
  else
    return amounts(seed, counter, first, out);
  shape(out);
  thin(seed, counter, first, out);
}

// Uniforms (normals for gaussian and lognormal) become the law's values.
void NoiseDraws::shape(std::span<double> v) const {
  const double less = factor_ ? 1 : 0;
  switch (law_) {
    case NoiseLaw::Constant:
    case NoiseLaw::Trace:
      std::ranges::fill(v, mean_);
      break;
    case NoiseLaw::Gaussian:
      for (double& x : v) {
        const double value = mean_ * (1 + spread_ * x);
        x = (value > 0 ? value : 0) - less;
      }
      break;
    case NoiseLaw::Lognormal: {
      const double shift = spread_ * spread_ / 2;
      for (double& x : v) x = spread_ * x - shift;
      exponentials(v);
      for (double& x : v) x = mean_ * x - less;
      break;
    }
    case NoiseLaw::Exponential:
      logarithms(v);
      for (double& x : v) x = -mean_ * x - less;
      break;
    case NoiseLaw::Pareto:
      logarithms(v);
      for (double& x : v) x *= exponent_;
      exponentials(v);
      for (double& x : v) x = scale_ * x - less;
      break;
    case NoiseLaw::Weibull:
      logarithms(v);
      for (double& x : v) x = x < 0 ? -x : 0x1p-54;
      logarithms(v);
      for (double& x : v) x *= exponent_;
      exponentials(v);
      for (double& x : v) x = scale_ * x - less;
      break;
    case NoiseLaw::Quantiles:
      quantiles_->values(v);
      break;
    case NoiseLaw::Bimodal:
      for (double& x : v) x = x < probability_ ? mean_ : 0;
      break;
    case NoiseLaw::Uniform: {
      const double low = low_ - less;
      const double width = high_ - low_;
      for (double& x : v) x = width * x + low;
      break;
    }
  }
}

// Probability below 1: most of the time, nothing. Bimodal has it in its law.
void NoiseDraws::thin(std::uint64_t seed, std::uint64_t counter, std::uint64_t first,
                      std::span<double> v) const {
  if (probability_ == 1 || law_ == NoiseLaw::Bimodal) return;
  const RandomStream happens(seed, stream(1));
  std::array<double, kChunk> u{};
  for (std::size_t done = 0; done < v.size(); done += kChunk) {
    const std::size_t n = std::min(kChunk, v.size() - done);
    happens.uniforms(counter, first + done, std::span(u).first(n));
    for (std::size_t i = 0; i < n; ++i)
      if (u[i] >= probability_) v[done + i] = 0;
  }
}

}  // namespace cox::simulate
