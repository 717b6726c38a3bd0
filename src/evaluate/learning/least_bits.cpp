// SPDX-License-Identifier: Apache-2.0
// Bits that training sends until a target, beside dimension times the logarithm of the accuracy: theorem 4.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

struct Bits {
  Race race{};
  std::vector<double> targets;  ///< falling
  std::vector<int> conditions;
  std::vector<double> rates;
  double noise = 0;
  double noisy_target = 0;  ///< the last that is asked for where there is noise
  int seeds = 2;
};

Result<Bits> read_bits(const study::Inputs& in) {
  Bits b;
  COX_TRY(b.race.problem.dimension, in.count("dimension", {.least = 2, .most = 10'000}));
  COX_TRY(b.race.workers, in.count("workers", {.least = 2, .most = 256}));
  COX_TRY(b.targets, in.ratios("targets", {.above = 0, .most = 0.5}));
  COX_TRY(b.conditions, in.counts("conditions", {.least = 1, .most = 1'000'000}));
  COX_TRY(b.rates, in.ratios("rates tried", {.above = 0, .most = 2}));
  COX_TRY(b.noise, in.ratio("noise", {.above = 0, .most = 100}));
  COX_TRY(b.noisy_target, in.ratio("last target with noise", {.above = 0, .most = 0.5}));
  COX_TRY(b.race.versions, in.count("most updates", {.least = 10, .most = 1'000'000}));
  COX_TRY(b.seeds, in.count("seeds", {.least = 2, .most = 100}));
  COX_CHECK(in.check_draws(static_cast<double>(b.race.versions) * b.race.workers * b.seeds *
                               static_cast<double>(b.race.problem.dimension) *
                               static_cast<double>(b.targets.size() * b.rates.size()) / 10,
                           "most updates, workers, seeds, dimension, targets and rates tried"));
  if (std::ranges::is_sorted(b.targets, std::greater<>{})) return b;
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-003",
                    .message = "'targets' do not fall",
                    .hint = "say the least accurate first",
                    .where = Where{.file = in.study().file}});
}

struct Sent {
  const char* name;
  const char* title;
  const char* way;
  bool sparse = false;  ///< gathered from all others, not summed on the way
};
constexpr Sent kSent[] = {{"whole", "FP32", "synchronous", false},
                          {"int8", "8 bits", "synchronous+int8", false},
                          {"sign", "signs", "synchronous+sign", false},
                          {"top-k", "the largest 5 %", "synchronous+top-k,keep=0.05", true}};

/// Bits through all ports until the target over d log2(1 / target). A ring sends 2 (n - 1) / n of what each worker has; what differs
/// in its places goes to all others.
double over_bound(const Bits& b, const Sent& how, const Finish& f, double target) {
  const double n = b.race.workers, d = static_cast<double>(b.race.problem.dimension);
  const double bytes = f.sent > Bytes{} ? static_cast<double>(f.sent.count()) : versions_of(f) * n * d * 4;
  return 8 * bytes * (how.sparse ? n - 1 : 2 * (n - 1) / n) / (d * std::log2(1 / target));
}

/// Of every seed, at the rate that is best on it: a bound from below is held against the best that there is. Empty: some seed has none.
std::vector<double> ratios_of(const Bits& b, const Sent& how, int condition, double noise, double target,
                              int threads) {
  Race race = b.race;
  auto way = learn::read_way(how.way);
  COX_ASSERT(way.has_value(), "a study's way is one");
  race.way = *std::move(way);
  race.problem.condition = condition;
  race.problem.noise = noise;
  race.target = target;
  // Without noise nothing is drawn but what rounding draws.
  std::vector<double> out(static_cast<std::size_t>(b.seeds));
  parallel_for(out.size(), threads, [&](std::size_t i) {
    Race one = race;
    one.problem.seed = static_cast<std::int64_t>(i) + 1;
    const auto best = race_best(
        one, b.rates, [&](const auto& take) { learn::stream_drawn({}, {.workers = race.workers}, take); },
        versions_of, 1.01);
    out[i] = best ? over_bound(b, how, best->finish, target) : 0;
  });
  if (std::ranges::find(out, 0.0) != out.end()) out.clear();
  return out;
}

}  // namespace

Result<study::Computation> compute_least_bits(const study::Inputs& in, const study::ComputeOptions& options) {
  COX_TRY(const Bits b, read_bits(in));
  study::Computation out;
  double least = 0;
  const auto add_table = [&](std::string title, std::string says, double noise,
                             const std::vector<double>& targets) {
    study::ValueTable table{
        .title = std::move(title), .says = std::move(says), .columns = {"condition", "sent"}, .rows = {}};
    for (const double t : targets) table.columns.push_back(fmt::format("target {:g}", t));
    for (const int condition : b.conditions)
      for (const Sent& how : kSent) {
        if (noise > 0 && &how != &kSent[0]) continue;
        std::vector<std::string> row{fmt::format("{}", condition), how.title};
        study::Series line{.name = fmt::format("{}, condition {}", how.title, condition), .x = {}, .y = {}};
        for (const double t : targets) {
          const auto ratios = ratios_of(b, how, condition, noise, t, options.threads);
          if (ratios.empty()) {
            row.emplace_back("not reached");
            continue;
          }
          add_learned(out,
                      fmt::format("bits-{}-c{}{}-{:g}", how.name, condition, noise > 0 ? "-noise" : "", t),
                      Dimension::Ratio, ratios);
          row.push_back(to_string(out.values.back().value));
          const double lowest = std::ranges::min(ratios);
          least = least == 0 ? lowest : std::min(least, lowest);
          line.x.push_back(1 / t);
          line.y.push_back(out.values.back().value.in_base_unit());
        }
        table.rows.push_back(std::move(row));
        if (noise == 0 && !line.x.empty()) out.picture.series.push_back(std::move(line));
      }
    out.tables.push_back(std::move(table));
  };
  add_table(
      "Bits sent over dimension x log2(1 / target)",
      fmt::format(
          "{} workers, {} dimensions, no noise; means over {} seeds, each at its best rate, {} updates at most.",
          b.race.workers, b.race.problem.dimension, b.seeds, b.race.versions),
      0, b.targets);
  std::vector<double> noisy;
  std::ranges::copy_if(b.targets, std::back_inserter(noisy), [&](double t) { return t >= b.noisy_target; });
  add_table(
      "The same with noise in the gradients",
      "FP32, one rate for all of a run: a tenth of a target costs more than ten times the bits, where the bound adds its logarithm.",
      b.noise, noisy);
  if (least > 0) add_value(out, "least", Quantity::ratio(least), kLearning);
  out.picture.title = "Bits sent over dimension x log2(1 / target)";
  out.picture.x_label = "1 / target";
  out.picture.y_label = "ratio";
  out.picture.x_is_log = out.picture.y_is_log = true;
  out.notes = {
      "Eight bits and signs are unpacked, added and packed again at every hop of a ring; what that rounds is not computed.",
      "A target is a part of the first loss. All ports together, in one direction.",
      "No search for a scheme that sends less: a bound from below is only held against what is sent here."};
  return out;
}

}  // namespace cox::evaluate
