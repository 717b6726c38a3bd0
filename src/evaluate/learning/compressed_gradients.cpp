// SPDX-License-Identifier: Apache-2.0
// Gradients that are made shorter, with and without error feedback: C.6.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/number_text.hpp"
#include "cox/base/parallel.hpp"

#include "evaluate/learning/computations.hpp"
#include "evaluate/learning/race.hpp"

namespace cox::evaluate {
namespace {

using study::Dimension;
using study::Quantity;

struct Compressed {
  Race race{};               ///< of workers alike, without noise: one
  std::vector<double> kept;  ///< the last is all
  std::vector<int> bits;
  std::vector<double> rates;
  int seeds = 2;
  // unlike workers
  int workers = 2;
  int few_dimension = 1;
  int few_condition = 1;
  double spread = 0;
  int steps = 1;
  std::vector<double> few_rates;
  // the job that is priced
  Bytes gradients{};
  Bandwidth link{};
  Seconds compute{};
  Seconds packing{};
};

Result<Compressed> read_compressed(const study::Inputs& in) {
  Compressed c;
  COX_TRY(c.race.problem.dimension, in.count("parameters of the problem", {.least = 10, .most = 10'000}));
  COX_TRY(const int condition, in.count("condition of the problem", {.least = 1, .most = 1'000'000}));
  c.race.problem.condition = condition;
  COX_TRY(c.race.problem.reflections, in.count("reflections", {.least = 0, .most = 16}));
  COX_TRY(c.kept, in.ratios("kept", {.above = 0, .most = 1}));
  COX_TRY(c.bits, in.counts("bits", {.least = 2, .most = 16}));
  COX_TRY(c.race.target, in.ratio("target", {.above = 0, .most = 0.5}));
  COX_TRY(c.race.versions, in.count("updates at most", {.least = 100, .most = 1'000'000}));
  COX_TRY(c.rates, in.ratios("rates tried", {.above = 0, .most = 2}));
  COX_TRY(c.seeds, in.count("seeds", {.least = 2, .most = 100}));
  COX_TRY(c.workers, in.count("workers", {.least = 2, .most = 256}));
  COX_TRY(c.few_dimension, in.count("dimension with unlike workers", {.least = 10, .most = 10'000}));
  COX_TRY(c.few_condition, in.count("condition with unlike workers", {.least = 1, .most = 1'000'000}));
  COX_TRY(c.spread, in.ratio("spread of optima", {.above = 0, .most = 100}));
  COX_TRY(c.steps, in.count("updates with unlike workers", {.least = 10, .most = 100'000}));
  COX_TRY(c.few_rates, in.ratios("rates with unlike workers", {.above = 0, .most = 2}));
  COX_TRY(c.gradients, in.size("gradients"));
  COX_TRY(c.link, in.rate("link"));
  COX_TRY(c.compute, in.time("compute"));
  COX_TRY(c.packing, in.time("packing"));
  COX_CHECK(in.check_draws(static_cast<double>(c.race.versions) * static_cast<double>(c.rates.size()) *
                               static_cast<double>(c.kept.size() + c.bits.size()) *
                               static_cast<double>(c.race.problem.dimension) / 10,
                           "updates at most, rates tried, kept, bits and dimension"));
  const bool possible = std::ranges::all_of(c.bits, [](int b) { return b <= 8 || b == 16; });
  if (c.kept.back() == 1 && c.compute > Seconds{} && possible) return c;
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-003",
                    .message =
                        "'kept' does not end with 100 %, 'compute' is zero, or 'bits' has numbers between "
                        "8 and 16",
                    .hint = "end 'kept' with 100%, and give 2 to 8 or 16 bits",
                    .where = Where{.file = in.study().file}});
}

/// A way to shorten gradients.
struct Scheme {
  std::string name;  ///< of values: `top-k-0.1`
  std::string title;
  std::string text;  ///< for learn::read_way
  bool sparse = false;
};

std::vector<Scheme> sparse_schemes(const Compressed& c, bool feedback) {
  std::vector<Scheme> out;
  for (const double keep : c.kept)
    out.push_back({.name = fmt::format("{}-{:g}", feedback ? "fed" : "lost", keep),
                   .title = percent(keep, PartDigits::AsSet) + " kept",
                   .text = fmt::format("synchronous+top-k,keep={}{}", keep, feedback ? "" : ",feedback=none"),
                   .sparse = true});
  return out;
}

std::vector<Scheme> rounded_schemes(const Compressed& c) {
  std::vector<Scheme> out;
  for (const int bits : c.bits)
    out.push_back({.name = fmt::format("bits-{}", bits),
                   .title = fmt::format("{} bits", bits),
                   .text = bits == 16
                               ? std::string("synchronous+bf16")
                               : fmt::format("synchronous+max-scaled,levels={}", (1 << (bits - 1)) - 1)});
  return out;
}

Race with(Race race, const std::string& way) {
  auto read = learn::read_way(way);
  COX_ASSERT(read.has_value(), "a study's way is one");
  race.way = *std::move(read);
  return race;
}

Stream in_step(int workers) {
  return [workers](const auto& take) { learn::stream_drawn({}, {.workers = workers}, take); };
}

Tuned run_scheme(const Compressed& c, const Scheme& scheme, int threads) {
  const auto stream = [](std::uint64_t) { return in_step(1); };
  return race_tuned(with(c.race, scheme.text), c.rates, c.seeds, stream, versions_of, threads, 1);
}

/// Bytes of an update on the wire over those of a gradient as it is: of the first one.
double sent_ratio(const Compressed& c, const Scheme& scheme) {
  Race race = with(c.race, scheme.text);
  race.versions = 1;
  Racer racer(race);
  in_step(1)([&](const sync::StreamEvent& e, Seconds at) { return racer.take(e, at); });
  return static_cast<double>(racer.finish().sent.count()) /
         (4 * static_cast<double>(c.race.problem.dimension));
}

/// Bytes through a worker's port in one direction over those of a gradient as it is: a ring's sum; what differs in its places
/// is gathered instead.
double moved_ratio(const Compressed& c, double sent, bool sparse) {
  const double n = c.workers;
  return sparse ? (n - 1) * sent : 2 * (n - 1) / n * sent;
}

/// On which links a scheme is sooner there than gradients as they are: both times are updates x (compute + packing + bytes
/// over the link).
struct Pays {
  bool somewhere = false;
  std::optional<Bandwidth> below{};  ///< nothing: on every link
};
Pays where_it_pays(const Compressed& c, double updates, double moved, double dense_updates,
                   double dense_moved) {
  const double bytes = static_cast<double>(c.gradients.count());
  const double saved = (dense_updates * dense_moved - updates * moved) * bytes;
  const Seconds lost = updates * (c.compute + c.packing) - dense_updates * c.compute;
  if (saved <= 0) return {};
  if (lost <= Seconds{}) return {.somewhere = true};
  return {.somewhere = true, .below = Bandwidth::bytes_per_s(saved / lost.count())};
}

/// One scheme's row, with its values. `dense`: updates of gradients as they are.
void add_scheme(study::Computation& out, study::ValueTable& table, const Compressed& c, const Scheme& scheme,
                const Tuned& r, double dense) {
  const bool is_dense = scheme.sparse && scheme.name.ends_with("-1");
  const double sent = is_dense ? 1 : sent_ratio(c, scheme);
  add_value(out, "saved-" + scheme.name, Quantity::ratio(1 - sent), kLearning);
  std::vector<std::string> row{scheme.title, to_string(out.values.back().value)};
  if (!r.reached()) {
    row.emplace_back("not reached");
    row.resize(table.columns.size());
    table.rows.push_back(std::move(row));
    return;
  }
  add_learned(out, "updates-" + scheme.name, Dimension::Count, r.each(versions_of));
  row.push_back(fmt::format("{:.0f} at {:.3g}", r.mean(versions_of), r.rate));
  const double moved = moved_ratio(c, sent, scheme.sparse && !is_dense);
  const Seconds message{static_cast<double>(c.gradients.count()) * moved / c.link.in_bytes_per_s()};
  const Seconds time = (c.compute + (is_dense ? Seconds{} : c.packing) + message) * r.mean(versions_of);
  add_value(out, "time-" + scheme.name, Quantity::of(time), kLearning);
  row.push_back(to_string(out.values.back().value));
  if (!is_dense && dense > 0) {
    const Pays pays = where_it_pays(c, r.mean(versions_of), moved, dense, moved_ratio(c, 1, false));
    if (pays.below) {
      add_value(out, "pays-below-" + scheme.name, Quantity::of(*pays.below), kLearning);
      row.push_back(to_string(out.values.back().value));
    } else {
      row.emplace_back(pays.somewhere ? "on every link" : "on none");
    }
  }
  row.resize(table.columns.size());
  table.rows.push_back(std::move(row));
}

study::ValueTable table_of(const Compressed& c, std::string title) {
  return {
      .title = std::move(title),
      .says = fmt::format(
          "Workers alike and without noise are one, in {} dimensions; means over {} draws of its "
          "directions, each with its best rate. Saved: of the bytes that a worker sends, places and scales "
          "counted. Time: {} of gradients between {} workers at {}, {} of computing and {} of packing.",
          c.race.problem.dimension, c.seeds, to_string(Quantity::of(c.gradients)), c.workers,
          to_string(Quantity::of(c.link)), to_string(Quantity::of(c.compute)),
          to_string(Quantity::of(c.packing))),
      .columns = {"sent", "saved", "updates", "time", "pays on links below"},
      .rows = {}};
}

/// The least loss of all rates after a number of updates, where workers have optima of their own.
std::vector<double> floors_of(const Compressed& c, const Scheme& scheme, int threads) {
  Race race = with(c.race, scheme.text);
  race.problem.dimension = c.few_dimension;
  race.problem.condition = c.few_condition;
  race.problem.spread = c.spread;
  race.problem.workers = race.workers = c.workers;
  race.target = 1e-30;
  race.versions = c.steps;
  std::vector<double> out(static_cast<std::size_t>(c.seeds));
  parallel_for(out.size(), threads, [&](std::size_t i) {
    Race one = race;
    one.problem.seed = static_cast<std::int64_t>(i) + 1;
    double least = 1;
    for (const Finish& f : race_rates(one, c.few_rates, in_step(c.workers)))
      if (!f.lost) least = std::min(least, f.loss);
    out[i] = least;
  });
  return out;
}

void add_unlike(study::Computation& out, const Compressed& c, int threads) {
  study::ValueTable table{
      .title = "Unlike workers: what is left of the loss",
      .says = fmt::format(
          "{} workers with optima of their own, {} dimensions, condition {}: after {} updates, the best of {} "
          "rates. What is thrown away of unlike gradients does not average out.",
          c.workers, c.few_dimension, c.few_condition, c.steps, c.few_rates.size()),
      .columns = {"kept", "with feedback", "without"},
      .rows = {}};
  const auto fed = sparse_schemes(c, true), lost = sparse_schemes(c, false);
  for (std::size_t i = 0; i < fed.size(); ++i) {
    std::vector<std::string> row{fed[i].title};
    for (const Scheme* scheme : {&fed[i], &lost[i]}) {
      add_learned(out, "left-" + scheme->name, Dimension::Ratio, floors_of(c, *scheme, threads));
      row.push_back(fmt::format("{:.2g}", out.values.back().value.in_base_unit()));
    }
    table.rows.push_back(std::move(row));
  }
  out.tables.push_back(std::move(table));
}

}  // namespace

Result<study::Computation> compute_compressed_gradients(const study::Inputs& in,
                                                        const study::ComputeOptions& options) {
  COX_TRY(const Compressed c, read_compressed(in));
  COX_TRY(const double compressed, in.ratio("times shorter", {.above = 1, .most = 1e6}));
  COX_TRY(const double few, in.ratio("few of all", {.above = 0, .most = 1}));
  study::Computation out;
  const Seconds whole{static_cast<double>(c.gradients.count()) / c.link.in_bytes_per_s()};
  add_value(out, "message", Quantity::of(whole), kClosedForm);
  add_value(out, "shorter-message", Quantity::of(whole / compressed), kClosedForm);
  add_value(out, "times-shorter-of-few", Quantity::ratio(1 / few), kClosedForm);
  add_value(out, "times-shorter-of-few-with-places", Quantity::ratio(1 / (2 * few)), kClosedForm);
  for (const double keep : c.kept)
    add_value(out, fmt::format("saved-without-places-{:g}", keep), Quantity::ratio(1 - keep), kClosedForm);

  double dense = 0;
  for (const bool feedback : {true, false}) {
    study::ValueTable table = table_of(c, feedback ? "The largest parts, the rest added to the next gradient"
                                                   : "The largest parts, the rest lost");
    study::Series line{.name = feedback ? "with feedback" : "without", .x = {}, .y = {}};
    auto schemes = sparse_schemes(c, feedback);
    std::ranges::reverse(schemes);  // all of it first: others are held against it
    for (const Scheme& scheme : schemes) {
      const Tuned r = run_scheme(c, scheme, options.threads);
      if (dense == 0 && r.reached()) dense = r.mean(versions_of);
      add_scheme(out, table, c, scheme, r, dense);
      if (!r.reached()) continue;
      line.x.push_back(c.kept[static_cast<std::size_t>(&schemes.back() - &scheme)]);
      line.y.push_back(r.mean(versions_of));
      if (feedback) line.of.push_back("updates-" + scheme.name);
    }
    out.picture.series.push_back(std::move(line));
    out.tables.push_back(std::move(table));
  }
  study::ValueTable rounded = table_of(c, "Fewer bits, rounded up or down at random");
  for (const Scheme& scheme : rounded_schemes(c))
    add_scheme(out, rounded, c, scheme, run_scheme(c, scheme, options.threads), dense);
  out.tables.push_back(std::move(rounded));
  add_unlike(out, c, options.threads);
  out.picture.title = "Updates to the target against what is kept";
  out.picture.x_label = "part that is kept";
  out.picture.y_label = "updates";
  out.picture.x_is_log = out.picture.y_is_log = true;
  out.notes = {
      "Quadratic: curvatures even in the logarithm, directions turned by reflections that are drawn, so that no coordinate is "
      "one of them.",
      "Rates are chosen on a draw that is not among those that are counted: of the list, then of six around the best of it.",
      "Time is arithmetic on the updates: a ring sums what has one form (fewer bits are unpacked, added and packed again at every hop; what "
      "that rounds is not computed), places that differ are gathered from all others; nothing hides behind computing."};
  return out;
}

}  // namespace cox::evaluate
