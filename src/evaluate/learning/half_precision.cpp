// SPDX-License-Identifier: Apache-2.0
// Gradients in half precision, with and without a scale on the loss: C.9.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/parallel.hpp"

#include "evaluate/learning/computations.hpp"
#include "evaluate/learning/race.hpp"

namespace cox::evaluate {
namespace {

using study::Dimension;
using study::Quantity;

constexpr double kOverflows = 65520;  ///< halfway from FP16's largest number to what would be the next
constexpr double kLargest = 65504;    ///< (2 - 2^-10) 2^15
constexpr double kSmallestNormal = 0x1p-14;
constexpr double kVanishes = 0x1p-25;  ///< half of the smallest subnormal number; ties go to 0

/// P(Z > z) of a standard normal number.
double tail(double z) {
  return std::erfc(z / std::sqrt(2.0)) / 2;
}

/// The nearest FP16 number, ties to even; infinity above them all. Pre: x > 0
double to_half(double x) {
  constexpr int kDigits = 11, kLeastExponent = -13;
  int exponent = 0;
  std::frexp(x, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent, kLeastExponent) - kDigits);
  const double rounded = std::nearbyint(x / unit) * unit;
  return rounded > kLargest ? std::numeric_limits<double>::infinity() : rounded;
}

/// The same number of all ranks, added in FP16 one after the other: no smaller numbers have a larger sum.
double sum_in_half(double each, int ranks) {
  double sum = 0;
  for (int r = 0; r < ranks; ++r) sum = to_half(sum + each);
  return sum;
}

/// The largest that all ranks may send: a whole number, below 1 an FP16 number.
double safe_clip(int ranks) {
  constexpr int kFraction = 1024, kBias = 25;  // code = exponent x 1024 + fraction, of normal numbers
  int safe = kFraction, above = 31 * kFraction;
  const auto number = [](int code) {
    return std::ldexp(static_cast<double>(kFraction + code % kFraction), code / kFraction - kBias);
  };
  while (above - safe > 1) {
    const int middle = (safe + above) / 2;
    (std::isinf(sum_in_half(number(middle), ranks)) ? above : safe) = middle;
  }
  return number(safe) >= 1 ? std::floor(number(safe)) : number(safe);
}

/// A law of a gradient's elements.
struct Law {
  bool is_lognormal = false;
  double mean = 0;  ///< of the logarithm
  double size = 1;  ///< standard deviation, of the logarithm where it is lognormal
  /// P(|g| > x)
  [[nodiscard]] double beyond(double x) const {
    return is_lognormal ? tail((std::log(x) - mean) / size) : 2 * tail(x / size);
  }
  /// P(|g| < x), small ones too.
  [[nodiscard]] double within(double x) const {
    return is_lognormal ? tail((mean - std::log(x)) / size) : std::erf(x / size / std::sqrt(2.0));
  }
};

struct Half {
  std::vector<int> scales;
  double size = 0;     ///< of the source's normal gradients
  double sigma = 1;    ///< of the logarithm of its lognormal ones
  int small_mean = 0;  ///< by how much the mean logarithm of those of ours is below 0
  double small_sigma = 1;
  Race race{};
  std::vector<double> sizes;
  double noise = 0;  ///< over the size
  double rate = 1;   ///< over the curvature
  int interval = 1;
  int seeds = 2;
  int clip = 1;
  int ranks = 1;
};

bool is_power_of_two(int n) {
  return n > 0 && (n & (n - 1)) == 0;
}

Result<Half> read_half(const study::Inputs& in) {
  Half h;
  COX_TRY(h.scales, in.counts("scales", {.least = 1, .most = 1 << 24}));
  COX_TRY(h.size, in.ratio("size of gradients", {.above = 0, .most = 1e6}));
  COX_TRY(h.sigma, in.ratio("spread of logarithms", {.above = 0, .most = 100}));
  COX_TRY(h.small_mean, in.count("logarithm of small gradients below 0", {.least = 0, .most = 100}));
  COX_TRY(h.small_sigma, in.ratio("spread of logarithms of small gradients", {.above = 0, .most = 100}));
  COX_TRY(h.race.problem.dimension, in.count("dimension", {.least = 1, .most = 10'000}));
  COX_TRY(const int condition, in.count("condition", {.least = 1, .most = 1'000'000}));
  h.race.problem.condition = condition;
  COX_TRY(h.sizes, in.ratios("sizes of gradients", {.above = 0, .most = 1e6}));
  COX_TRY(h.noise, in.ratio("noise", {.above = 0, .most = 100}));
  COX_TRY(h.rate, in.ratio("rate", {.above = 0, .most = 2}));
  COX_TRY(h.race.workers, in.count("workers", {.least = 1, .most = 256}));
  COX_TRY(h.race.target, in.ratio("target", {.above = 0, .most = 0.5}));
  COX_TRY(h.race.versions, in.count("updates tried", {.least = 10, .most = 100'000}));
  COX_TRY(h.interval, in.count("steps between two growths", {.least = 1, .most = 1'000'000}));
  COX_TRY(h.seeds, in.count("seeds", {.least = 2, .most = 100}));
  COX_TRY(h.clip, in.count("clip", {.least = 1, .most = 65'504}));
  COX_TRY(h.ranks, in.count("ranks of a sum", {.least = 2, .most = 1'000'000}));
  COX_CHECK(in.check_draws(static_cast<double>(h.race.versions) * h.race.workers * h.seeds *
                               static_cast<double>(h.race.problem.dimension) *
                               static_cast<double>(h.sizes.size() * (h.scales.size() + 4)),
                           "updates tried, workers, seeds, dimension, sizes and scales"));
  if (std::ranges::all_of(h.scales, is_power_of_two)) return h;
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-003",
                    .message = "'scales' has a number that is no power of two: it would round by itself",
                    .hint = "give powers of two up to 16777216",
                    .where = Where{.file = in.study().file}});
}

/// Without an exponent, and without zeros at its end.
std::string written_out(double size) {
  std::string text = fmt::format("{:.9f}", size);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string scale_name(int scale) {
  return fmt::format("2^{}", std::lround(std::log2(scale)));
}

/// What is rarer than anybody can count has no digits.
std::string share_text(Quantity share) {
  constexpr double kRare = 1e-15;
  const bool rare = share.in_base_unit() > 0 && share.in_base_unit() < kRare;
  return rare ? "below " + to_string(Quantity::ratio(kRare)) : to_string(share);
}

/// Shares of elements outside of FP16's range, by law and scale.
void add_shares(study::Computation& out, const Half& h) {
  const struct {
    const char* name;
    const char* title;
    Law law;
  } laws[] = {{"normal", "normal, as called", {.size = h.size}},
              {"lognormal", "lognormal, as in the task", {.is_lognormal = true, .size = h.sigma}},
              {"small",
               "lognormal, small",
               {.is_lognormal = true, .mean = -static_cast<double>(h.small_mean), .size = h.small_sigma}}};
  study::ValueTable table{
      .title = "Elements outside of FP16's range",
      .says =
          "Infinite; and below the smallest normal number, where digits are lost. The first grows with the scale, the second falls.",
      .columns = {"law"},
      .rows = {}};
  std::vector<int> scales{1};
  scales.insert(scales.end(), h.scales.begin(), h.scales.end());
  for (const int s : scales) table.columns.push_back(s == 1 ? "unscaled" : scale_name(s));
  for (const auto& [name, title, law] : laws) {
    std::vector<std::string> row{title};
    study::Series line{.name = title, .x = {}, .y = {}};
    for (const int s : scales) {
      const double over = law.beyond(kOverflows / s), under = law.within(kSmallestNormal / s);
      add_value(out, fmt::format("overflow-{}-{}", name, s), Quantity::ratio(over), kClosedForm);
      const std::string over_text = share_text(out.values.back().value);
      add_value(out, fmt::format("underflow-{}-{}", name, s), Quantity::ratio(under), kClosedForm);
      row.push_back(fmt::format("{}; {}", over_text, share_text(out.values.back().value)));
      line.x.push_back(s);
      line.y.push_back(100 * over);
      line.of.push_back(fmt::format("overflow-{}-{}", name, s));
    }
    out.picture.series.push_back(std::move(line));
    table.rows.push_back(std::move(row));
  }
  out.tables.push_back(std::move(table));
}

/// A run of one format and seed.
struct Ended {
  Finish finish;
  learn::ScaledSteps scaled{};
};

Ended run_format(const Half& h, const std::string& way, double size, std::uint64_t seed) {
  Race race = h.race;
  auto read = learn::read_way(way);
  COX_ASSERT(read.has_value(), "a study's way is one");
  race.way = *std::move(read);
  race.problem.curvature = size;  // training begins at one in every direction
  race.problem.noise = h.noise * size;
  race.problem.seed = static_cast<std::int64_t>(seed);
  race.rate = h.rate / size;
  Racer racer(race);
  learn::stream_drawn(race.way.policy, {.workers = race.workers},
                      [&](const sync::StreamEvent& e, Seconds at) { return racer.take(e, at); });
  return {.finish = racer.finish(), .scaled = racer.scaled_steps()};
}

struct Format {
  std::string name;
  std::string title;
  std::string way;
};

std::vector<Format> formats_of(const Half& h) {
  std::vector<Format> out{{"fp32", "FP32", "synchronous"},
                          {"bf16", "BF16", "synchronous+bf16"},
                          {"fp16", "FP16, unscaled", "synchronous+fp16"}};
  for (const int s : h.scales)
    out.push_back({fmt::format("scale{}", s), "FP16, " + scale_name(s),
                   fmt::format("synchronous+fp16,loss-scale={}", s)});
  const int last = h.scales.back();
  out.push_back(
      {"dynamic", fmt::format("FP16, {} and halved at an overflow", scale_name(last)),
       fmt::format("synchronous+fp16,loss-scale={},dynamic=yes,growth-interval={}", last, h.interval)});
  return out;
}

void add_training(study::Computation& out, const Half& h, int threads) {
  study::ValueTable table{
      .title = "Updates to the target, and those that all skipped",
      .says = fmt::format(
          "{} workers round what they bring to the format; parameters are FP32. Means over {} seeds; all at one rate, {:g} "
          "over the largest curvature; the sizes are those of a gradient where training begins.",
          h.race.workers, h.seeds, h.rate),
      .columns = {"format"},
      .rows = {}};
  for (const double size : h.sizes) table.columns.push_back("gradients of " + written_out(size));
  for (const Format& f : formats_of(h)) {
    std::vector<std::string> row{f.title};
    for (std::size_t k = 0; k < h.sizes.size(); ++k) {
      std::vector<Ended> runs(static_cast<std::size_t>(h.seeds));
      parallel_for(runs.size(), threads,
                   [&](std::size_t i) { runs[i] = run_format(h, f.way, h.sizes[k], i + 1); });
      const auto each = [&](const auto& value) {
        std::vector<double> sample;
        for (const Ended& e : runs) sample.push_back(value(e));
        return sample;
      };
      const std::string name = fmt::format("{}-size{:g}", f.name, h.sizes[k]);
      add_learned(out, "skipped-" + name, Dimension::Count,
                  each([](const Ended& e) { return static_cast<double>(e.scaled.skipped); }));
      const std::string skipped = fmt::format("{:.1f} skipped", out.values.back().value.in_base_unit());
      if (std::ranges::all_of(runs, [](const Ended& e) { return e.finish.reached; })) {
        add_learned(out, "updates-" + name, Dimension::Count,
                    each([](const Ended& e) { return versions_of(e.finish); }));
        row.push_back(fmt::format("{:.1f}, {}", out.values.back().value.in_base_unit(), skipped));
        continue;
      }
      const bool lost = std::ranges::any_of(runs, [](const Ended& e) { return e.finish.lost; });
      if (!lost)
        add_learned(out, "left-" + name, Dimension::Ratio,
                    each([](const Ended& e) { return e.finish.loss; }));
      row.push_back(lost ? std::string("lost: a number was none")
                         : fmt::format("never: {} of the loss is left, {}",
                                       to_string(out.values.back().value), skipped));
    }
    table.rows.push_back(std::move(row));
  }
  out.tables.push_back(std::move(table));
}

}  // namespace

Result<study::Computation> compute_half_precision(const study::Inputs& in,
                                                  const study::ComputeOptions& options) {
  COX_TRY(const Half h, read_half(in));
  study::Computation out;
  add_value(out, "largest", Quantity::count(kLargest), kClosedForm);
  add_value(out, "smallest-normal", Quantity::ratio(kSmallestNormal), kClosedForm);
  add_value(out, "vanishes-below", Quantity::ratio(kVanishes), kClosedForm);
  add_value(out, "sum-of-clipped", Quantity::count(static_cast<double>(h.clip) * h.ranks), kClosedForm);
  add_value(out, "clip-that-is-safe", Quantity::count(safe_clip(h.ranks)), kClosedForm);
  for (const int s : h.scales)
    add_value(out, fmt::format("deviations-{}", s), Quantity::count(kOverflows / s / h.size), kClosedForm);
  add_shares(out, h);
  add_training(out, h, options.threads);
  out.picture.title = "Elements that overflow in FP16 against the scale";
  out.picture.x_label = "scale of the loss";
  out.picture.y_label = "per cent";
  out.picture.x_is_log = true;
  out.notes = {
      "An element overflows from halfway between 65 504 and 65 536 on, as IEEE 754 rounds.",
      "A step in which any worker overflows is used by nobody; the skip is decided by all together, at no cost in time.",
      "What a backward pass in FP16 rounds on its way is not in it: gradients are FP32 until they leave the worker."};
  return out;
}

}  // namespace cox::evaluate
