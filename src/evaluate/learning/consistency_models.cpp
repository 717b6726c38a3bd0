// SPDX-License-Identifier: Apache-2.0
// Synchronous, bounded, asynchronous and local training to one target: C.16.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "evaluate/learning/computations.hpp"
#include "evaluate/learning/race.hpp"

namespace cox::evaluate {
namespace {

using model::PolicyKind;
using study::Dimension;
using study::Quantity;

struct Models {
  Race race{};
  Seconds compute{};
  std::vector<Seconds> messages;
  std::vector<double> cvs;
  std::vector<double> slow;  ///< times as long, one worker for good
  std::vector<double> rates;
  int bound = 0;
  int local_steps = 1;
  int seeds = 2;
};

/// The source's own arithmetic: iterations times what it lets each cost.
struct AsPrinted {
  Seconds compute{};
  Seconds message{};
  double iterations = 0;
  double bounded = 0;
  double local = 0;
  int local_steps = 1;
};

Result<AsPrinted> read_as_printed(const study::Inputs& in) {
  AsPrinted p;
  COX_TRY(p.compute, in.time("compute"));
  COX_TRY(p.message, in.time("stated message"));
  COX_TRY(p.iterations, in.count("iterations, as stated", {.least = 1, .most = 1'000'000'000}));
  COX_TRY(p.bounded, in.ratio("more iterations of bounded, as stated", {.above = 0, .most = 1000}));
  COX_TRY(p.local, in.ratio("more iterations of local, as stated", {.above = 0, .most = 1000}));
  COX_TRY(p.local_steps, in.count("local steps", {.least = 1, .most = 10'000}));
  return p;
}

Result<Models> read_models(const study::Inputs& in) {
  Models m;
  learn::ProblemSpec& problem = m.race.problem;
  COX_TRY(problem.dimension, in.count("dimension", {.least = 1, .most = 10'000}));
  COX_TRY(const int condition, in.count("condition", {.least = 1, .most = 1'000'000}));
  problem.condition = condition;
  COX_TRY(problem.noise, in.ratio("noise", {.above = 0, .most = 100}));
  COX_TRY(problem.hessian_spread, in.ratio("spread of curvatures", {.above = 0, .most = 0.99}));
  COX_TRY(m.race.workers, in.count("workers", {.least = 2, .most = 256}));
  problem.workers = m.race.workers;
  COX_TRY(m.race.target, in.ratio("target", {.above = 0, .most = 0.5}));
  COX_TRY(m.race.versions, in.count("most updates", {.least = 100, .most = 1'000'000}));
  COX_TRY(m.compute, in.time("compute"));
  COX_TRY(const auto messages, in.list("messages", Dimension::Time));
  for (const study::WrittenQuantity& w : messages) m.messages.emplace_back(w.value.in_base_unit());
  COX_TRY(m.cvs, in.ratios("coefficient of variation", {.above = 0, .most = 3}));
  COX_TRY(m.slow, in.ratios("slow worker", {.above = 0, .most = 100}));
  COX_TRY(m.rates, in.ratios("rates tried", {.above = 0, .most = 2}));
  COX_TRY(m.bound, in.count("bound", {.least = 0, .most = 10'000}));
  COX_TRY(m.local_steps, in.count("local steps", {.least = 1, .most = 10'000}));
  COX_TRY(m.seeds, in.count("seeds", {.least = 2, .most = 100}));
  const auto cells = static_cast<double>(m.messages.size() * m.cvs.size() * m.slow.size());
  COX_CHECK(in.check_draws(cells * static_cast<double>(m.rates.size()) * static_cast<double>(m.race.versions),
                           "messages, coefficients, slow workers, rates tried and most updates"));
  if (m.compute > Seconds{}) return m;
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-003",
                    .message = "input 'compute' is zero: nothing would differ but messages",
                    .hint = "give a positive time",
                    .where = Where{.file = in.study().file}});
}

struct ModelName {
  const char* name;
  const char* title;
  PolicyKind kind;
};
constexpr ModelName kModels[] = {{"synchronous", "synchronous", PolicyKind::Synchronous},
                                 {"bounded", "waits beyond the bound", PolicyKind::BoundedWait},
                                 {"asynchronous", "asynchronous", PolicyKind::Asynchronous},
                                 {"local", "local steps", PolicyKind::LocalSgd}};

/// A cluster: what a message takes and how unlike its workers are.
struct Place {
  Seconds message{};
  double cv = 0;
  double slow = 1;
  [[nodiscard]] std::string name() const {
    return fmt::format("{:g}ms-cv{:g}-slow{:g}", message.count() * 1e3, cv, slow);
  }
};

Tuned run_model(const Models& m, PolicyKind kind, const Place& at, int threads) {
  Race race = m.race;
  race.way.policy = {.kind = kind, .staleness = m.bound, .local_steps = m.local_steps};
  const auto stream = [&](std::uint64_t seed) -> Stream {
    learn::DrawnSteps steps{.workers = m.race.workers,
                            .law = learn::StepLaw::Lognormal,
                            .cv = at.cv,
                            .mean = m.compute,
                            .message = at.message,
                            .seed = seed};
    steps.speeds.assign(static_cast<std::size_t>(m.race.workers), 1);
    steps.speeds.back() = 1 / at.slow;
    return [=, policy = race.way.policy](const auto& take) { learn::stream_drawn(policy, steps, take); };
  };
  return race_tuned(race, m.rates, m.seeds, stream, seconds_of, threads);
}

/// One cluster: all models, the fastest.
struct Cell {
  Place at;
  std::vector<Tuned> models;
};

Cell run_cell(const Models& m, const Place& at, int threads) {
  Cell cell{.at = at, .models = {}};
  for (const ModelName& model : kModels) cell.models.push_back(run_model(m, model.kind, at, threads));
  return cell;
}

void add_cell(study::Computation& out, study::ValueTable& table, const Cell& cell) {
  std::vector<std::string> row = {to_string(Quantity::of(cell.at.message)), fmt::format("{:g}", cell.at.cv),
                                  fmt::format("{:g}", cell.at.slow)};
  std::size_t best = 0;
  for (std::size_t i = 0; i < cell.models.size(); ++i) {
    const Tuned& r = cell.models[i];
    if (!r.reached()) {
      row.push_back("not reached");
      continue;
    }
    if (!cell.models[best].reached() || r.mean(seconds_of) < cell.models[best].mean(seconds_of)) best = i;
    add_learned(out, fmt::format("time-{}-{}", kModels[i].name, cell.at.name()), Dimension::Time,
                r.each(seconds_of));
    const study::Computed& time = out.values.back();
    const auto end = [&](double sign) {
      return to_string(study::Quantity(
          time.value.dimension(), time.value.in_base_unit() + sign * time.half_width_95->in_base_unit()));
    };
    row.push_back(fmt::format("{} ({} to {})", to_string(time.value), end(-1), end(1)));
    if (i == 0 || !cell.models.front().reached()) continue;
    std::vector<double> paired;  // the same samples on both sides
    for (std::size_t k = 0; k < r.runs.size(); ++k)
      paired.push_back(steps_of(r.runs[k]) / steps_of(cell.models.front().runs[k]));
    add_learned(out, fmt::format("steps-over-synchronous-{}-{}", kModels[i].name, cell.at.name()),
                Dimension::Ratio, paired);
  }
  std::string fastest = kModels[best].title;
  for (std::size_t i = best + 1; i < cell.models.size(); ++i)
    if (cell.models[i].reached() && cell.models[i].mean(seconds_of) == cell.models[best].mean(seconds_of))
      fastest += fmt::format(" = {}", kModels[i].title);  // the bound was never met
  row.push_back(std::move(fastest));
  table.rows.push_back(std::move(row));
}

/// From which message on local steps are faster than meeting after each: both times are linear in it, for what is learned
/// does not depend on it. Nothing where they are never.
void add_where_local_pays(study::Computation& out, const Cell& cell, Seconds compute) {
  const Tuned &all = cell.models[0], &local = cell.models[3];
  if (!all.reached() || !local.reached()) return;
  const double message = cell.at.message.count();
  const double meetings = all.mean(versions_of), fewer = local.mean(versions_of);
  const double work = all.mean(seconds_of) - meetings * message;
  const double more = local.mean(seconds_of) - fewer * message;
  if (meetings <= fewer) return;
  const double from = std::max(0.0, (more - work) / (meetings - fewer));
  add_value(out, fmt::format("local-pays-from-cv{:g}-slow{:g}", cell.at.cv, cell.at.slow),
            Quantity::ratio(from / compute.count()), kLearning);
}

}  // namespace

Result<study::Computation> compute_consistency_models(const study::Inputs& in,
                                                      const study::ComputeOptions& options) {
  COX_TRY(const Models m, read_models(in));
  COX_TRY(const AsPrinted p, read_as_printed(in));
  study::Computation out;
  const Seconds each = p.compute + p.message;
  add_value(out, "printed-synchronous", Quantity::of(each * p.iterations), kClosedForm);
  add_value(out, "printed-bounded", Quantity::of(each * (p.iterations * p.bounded)), kClosedForm);
  add_value(out, "printed-local",
            Quantity::of((p.compute + p.message / p.local_steps) * (p.iterations * p.local)), kClosedForm);
  study::ValueTable table{.title = "Time to the target",
                          .says = {},
                          .columns = {"message", "coefficient of variation", "slow worker"},
                          .rows = {}};
  for (const ModelName& model : kModels) table.columns.emplace_back(model.title);
  table.columns.emplace_back("fastest mean");
  std::vector<study::Series> bars;
  for (const ModelName& model : kModels) bars.push_back({.name = model.title, .x = {}, .y = {}});
  for (const Seconds message : m.messages)
    for (const double cv : m.cvs)
      for (const double slow : m.slow) {
        const Cell cell = run_cell(m, {.message = message, .cv = cv, .slow = slow}, options.threads);
        add_cell(out, table, cell);
        if (message == m.messages.front()) add_where_local_pays(out, cell, m.compute);
        for (std::size_t i = 0; i < bars.size(); ++i) {
          if (!cell.models[i].reached()) continue;
          bars[i].x.push_back(static_cast<double>(out.picture.categories.size()));
          bars[i].y.push_back(cell.models[i].mean(seconds_of));
        }
        out.picture.categories.push_back(cell.at.name());
      }
  table.says = fmt::format(
      "Means over {} seeds with 95 %; each with its best rate. A worker sends its gradient and gets parameters in one "
      "message; local training does after {} steps, the others after each.",
      m.seeds, m.local_steps);
  out.picture.kind = study::Picture::Kind::Bars;
  out.picture.title = fmt::format("Time to the target, {} workers", m.race.workers);
  out.picture.y_label = "seconds";
  out.picture.x_label = "message, coefficient of variation, slow worker";
  out.picture.series = std::move(bars);
  out.tables.push_back(std::move(table));
  out.notes = {
      "Quadratic: curvatures even in the logarithm, gradients with noise, workers with unlike curvatures and one optimum.",
      "Messages do not slow each other down: a server that is shared is cheaper here than it is.",
      "Rates are chosen on sixteen seeds, by the worst of them, that are not among those that are counted."};
  return out;
}

}  // namespace cox::evaluate
