// SPDX-License-Identifier: Apache-2.0
// Routing that is learned, with and without an auxiliary loss: C.12.
#include <fmt/format.h>

#include <limits>
#include <memory>
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

constexpr double kFromZero = -std::numeric_limits<double>::denorm_min();  ///< bounds are open below

struct Routing {
  learn::ProblemSpec problem{.kind = learn::ProblemKind::Experts};
  std::vector<int> tops;
  std::vector<double> balances;
  double rate = 0;
  int tokens = 1;  ///< of a step
  int steps = 1;
  int looks = 1;  ///< scores on the way
  int seeds = 2;
};

/// Scores after steps 0, steps / looks, ... of Adam on one worker.
std::vector<learn::Score> scores_of(const Routing& r, learn::ProblemSpec spec, int seed) {
  spec.seed = seed;
  auto problem = learn::make_problem(spec);
  auto way = learn::read_way("synchronous");
  COX_ASSERT(problem.has_value() && way.has_value(), "a study's problem is in range");
  learn::Learner learner(**problem, {.kind = learn::OptimizerKind::Adam, .rate = r.rate}, *way,
                         {.samples = r.tokens}, 1);
  std::vector<learn::Score> scores{(*problem)->score(learner.parameters())};
  learn::stream_drawn(way->policy, {.workers = 1}, [&](const sync::StreamEvent& e, Seconds) {
    if (!learner.take(e)) return false;
    if (e.kind != sync::StreamEvent::Kind::Advanced || learner.version() % (r.steps / r.looks) != 0)
      return true;
    scores.push_back((*problem)->score(learner.parameters()));
    return static_cast<int>(scores.size()) <= r.looks;
  });
  return scores;
}

/// One number of the routers of all seeds at the end.
std::vector<double> at_end(const std::vector<std::vector<learn::Score>>& runs,
                           const std::function<double(const learn::Score&)>& value) {
  std::vector<double> out;
  out.reserve(runs.size());
  for (const auto& run : runs) out.push_back(value(run.back()));
  return out;
}

void add_case(study::Computation& out, study::ValueTable& table, const Routing& r, int top, double balance,
              int threads) {
  learn::ProblemSpec spec = r.problem;
  spec.top = top;
  spec.balance = balance;
  std::vector<std::vector<learn::Score>> runs(static_cast<std::size_t>(r.seeds));
  parallel_for(runs.size(), threads,
               [&](std::size_t i) { runs[i] = scores_of(r, spec, static_cast<int>(i) + 1); });
  const std::string name = fmt::format("top{}-balance{:g}", top, balance);
  std::vector<std::string> row = {fmt::format("{}", top), fmt::format("{:g}", balance)};
  const auto add = [&](const char* what, Dimension d,
                       const std::function<double(const learn::Score&)>& value) {
    add_learned(out, fmt::format("{}-{}", what, name), d, at_end(runs, value));
    row.push_back(to_string(out.values.back().value));
  };
  add("busiest", Dimension::Ratio, [](const learn::Score& s) { return s.experts->busiest; });
  add("idle", Dimension::Count, [](const learn::Score& s) { return static_cast<double>(s.experts->idle); });
  add("dropped", Dimension::Ratio, [](const learn::Score& s) { return s.experts->dropped; });
  add("loss", Dimension::Count, [](const learn::Score& s) { return s.loss; });
  add("accuracy", Dimension::Ratio, [](const learn::Score& s) { return s.accuracy; });
  table.rows.push_back(std::move(row));
  study::Series line{.name = fmt::format("top {}, factor {:g}", top, balance), .x = {}, .y = {}};
  for (int look = 0; look <= r.looks; ++look) {
    double dropped = 0;
    for (const auto& run : runs)
      dropped += run[static_cast<std::size_t>(look)].experts->dropped / static_cast<double>(runs.size());
    line.x.push_back(look * (r.steps / r.looks));
    line.y.push_back(dropped);
  }
  out.picture.series.push_back(std::move(line));
}

Result<Routing> read_routing(const study::Inputs& in) {
  Routing r;
  COX_TRY(r.problem.experts, in.count("experts", {.least = 2, .most = 256}));
  COX_TRY(r.problem.kinds, in.count("kinds of tokens", {.least = 1, .most = 256}));
  COX_TRY(r.problem.width, in.count("numbers of a token", {.least = 1, .most = 256}));
  COX_TRY(r.problem.zipf, in.ratio("exponent of kinds", {.above = kFromZero, .most = 10}));
  COX_TRY(r.problem.capacity, in.ratio("capacity factor", {.above = kFromZero, .most = 1000}));
  COX_TRY(r.tops, in.counts("experts per token", {.least = 1, .most = 2}));
  COX_TRY(r.balances, in.ratios("factor of the auxiliary loss", {.above = kFromZero, .most = 1000}));
  COX_TRY(r.rate, in.ratio("rate", {.above = 0, .most = 10}));
  COX_TRY(r.tokens, in.count("tokens of a step", {.least = 1, .most = 100'000}));
  COX_TRY(r.steps, in.count("steps", {.least = 1, .most = 100'000}));
  COX_TRY(r.looks, in.count("looks", {.least = 1, .most = r.steps}));
  COX_TRY(r.seeds, in.count("seeds", {.least = 2, .most = 1000}));
  r.problem.held_out = 2048;
  COX_CHECK(in.check_draws(static_cast<double>(r.tops.size() * r.balances.size()) * r.seeds *
                               (static_cast<double>(r.steps) * r.tokens + 2048.0 * r.looks) *
                               static_cast<double>(r.problem.width + r.problem.experts),
                           "experts, tokens, steps, seeds and factors"));
  return r;
}

}  // namespace

Result<study::Computation> compute_learned_routing(const study::Inputs& in,
                                                   const study::ComputeOptions& options) {
  COX_TRY(const Routing r, read_routing(in));
  study::Computation out;
  out.picture.title = "Choices that find no room while the router learns";
  out.picture.x_label = "steps";
  out.picture.y_label = "part of the choices";
  study::ValueTable table{
      .title = "Routers at the end",
      .says = fmt::format(
          "After {} steps of {} tokens with Adam, mean over {} seeds; {} experts with room for {:g} times the "
          "mean load, tokens of {} kinds. Busiest: choices of the most wanted expert over the mean. Idle: "
          "experts that no held-out token chose.",
          r.steps, r.tokens, r.seeds, r.problem.experts, r.problem.capacity, r.problem.kinds),
      .columns = {"experts per token", "factor of the auxiliary loss", "busiest", "idle", "dropped", "loss",
                  "accuracy"},
      .rows = {}};
  for (const int top : r.tops)
    for (const double balance : r.balances) add_case(out, table, r, top, balance, options.threads);
  out.tables.push_back(std::move(table));
  out.notes = {
      "An expert that nobody chooses is not trained, and so it is not chosen: what is idle early stays idle. The auxiliary loss "
      "pays the router for evenness, not for what is right.",
      "The tokens are of kinds that one layer can part. How soon a language model's router collapses is another question; "
      "copies of a hot expert are not in it."};
  return out;
}

}  // namespace cox::evaluate
