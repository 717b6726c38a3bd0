// SPDX-License-Identifier: Apache-2.0
// Table 1 of "When Scaling Fails".
#include "study/pacing_table/pacing_table.hpp"

#include <fmt/format.h>

#include <cmath>

#include "study/compute/computations.hpp"
#include "study/oracle/extremes.hpp"
#include "study/runs/collective_run.hpp"

namespace cox::study {
namespace {

constexpr Between kSizes{.least = 2, .most = 4096};

Result<std::vector<TableRow>> read_rows(const Inputs& in) {
  COX_TRY(const auto nodes, in.counts("nodes", kSizes));
  COX_TRY(const auto rates, in.list("Baseline throughput", Dimension::PerSecond));
  COX_TRY(const auto cvs, in.list("Baseline CV", Dimension::Ratio));
  COX_TRY(const auto paced_rates, in.list("Coordination throughput", Dimension::PerSecond));
  COX_TRY(const auto paced_cvs, in.list("Coordination CV", Dimension::Ratio));
  if (rates.size() != nodes.size() || cvs.size() != nodes.size() || paced_rates.size() != nodes.size() ||
      paced_cvs.size() != nodes.size())
    return fail(
        Error{.code = Errc::InvalidInput,
              .id = "study-003",
              .message = fmt::format("{} sizes, but {} and {} throughputs, {} and {} CVs", nodes.size(),
                                     rates.size(), paced_rates.size(), cvs.size(), paced_cvs.size()),
              .hint = "give one number of each kind per size",
              .where = Where{.file = in.study().file}});
  std::vector<TableRow> rows;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    rows.push_back({.nodes = nodes[i],
                    .baseline_rate = rates[i].value.in_base_unit(),
                    .baseline_cv = cvs[i].value.in_base_unit(),
                    .coordination_rate = paced_rates[i].value.in_base_unit(),
                    .coordination_cv = paced_cvs[i].value.in_base_unit()});
  return rows;
}

Result<TableAssumptions> read_assumptions(const Inputs& in) {
  TableAssumptions a;
  COX_TRY(a.samples_per_node, in.count("samples per node"));
  COX_TRY(a.slow_share, in.ratio("slow nodes"));
  COX_TRY(a.slow_factor, in.ratio("slow factor"));
  COX_TRY(a.steps, in.count("steps"));
  COX_TRY(a.seeds, in.count("seeds", {.least = 2, .most = 1000}));
  return a;
}

void add_predicted(Computation& out, const std::string& name, const PredictedRow& p, const TableRow& printed,
                   int seeds) {
  const auto add = [&](const char* what, Quantity value, Quantity half) {
    out.values.push_back({.name = fmt::format("{}-{}-n{}", name, what, p.nodes),
                          .value = value,
                          .engine = kDraws,
                          .half_width_95 = half,
                          .replicas = seeds});
  };
  add("throughput", Quantity::per_second(p.rate), Quantity::per_second(p.rate_half_width_95));
  // The gain is what was predicted: on the printed Baseline it says what the paper should have printed.
  add("on-printed-baseline", Quantity::per_second(printed.baseline_rate * (1 + p.gain)),
      Quantity::per_second(printed.baseline_rate * p.gain_half_width_95));
  add("gain", Quantity::ratio(p.gain), Quantity::ratio(p.gain_half_width_95));
  add("cv", Quantity::ratio(p.cv), Quantity::ratio(p.cv_half_width_95));
  out.values.push_back({.name = fmt::format("{}-delay-over-iteration-n{}", name, p.nodes),
                        .value = Quantity::ratio(p.delay_ratio),
                        .engine = kDraws});
}

void add_mechanism(Computation& out, const TablePrediction& p, const std::vector<TableRow>& rows, int seeds) {
  const std::string name(name_of(p.fit.mechanism));
  const std::string_view engine = p.fit.mechanism == Mechanism::Timeouts ? kDraws : kClosedForm;
  for (const FittedRow& r : p.fit.rows) {
    out.values.push_back({.name = fmt::format("{}-baseline-throughput-n{}", name, r.nodes),
                          .value = Quantity::per_second(r.rate),
                          .engine = engine});
    out.values.push_back({.name = fmt::format("{}-baseline-cv-n{}", name, r.nodes),
                          .value = Quantity::ratio(r.cv),
                          .engine = engine});
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    add_predicted(out, name + "-paper", p.paper[i], rows[i], seeds);
  for (std::size_t i = 0; i < rows.size(); ++i)
    add_predicted(out, name + "-auto", p.automatic[i], rows[i], seeds);
}

/// The simulated link, draws and all, against the closed form that was fitted.
void add_checks(Computation& out, const TablePrediction& p) {
  constexpr double kOfDraws = 0.02;
  const PredictedRow& simulated = p.off.back();
  const FittedRow& exact = p.fit.rows.back();
  out.checks.push_back(
      {.name = fmt::format("{}, {} nodes: throughput without pacing, simulated against closed form",
                           name_of(p.fit.mechanism), exact.nodes),
       .engine = Quantity::per_second(simulated.rate),
       .oracle = Quantity::per_second(exact.rate),
       .limit_ratio = kOfDraws});
  out.checks.push_back({.name = fmt::format("{}, {} nodes: CV without pacing, simulated against closed form",
                                            name_of(p.fit.mechanism), exact.nodes),
                        .engine = Quantity::ratio(simulated.cv),
                        .oracle = Quantity::ratio(exact.cv),
                        .limit_ratio = kOfDraws});
}

void add_maxima_checks(Computation& out, int nodes) {
  struct Law {
    const char* name;
    Jitter jitter;
    MaximumMoments exact;
  };
  for (const Law& law : {Law{"normal, CV 0.1", Jitter::Normal, normal_maximum(nodes, 0.1)},
                         Law{"lognormal, CV 0.5", Jitter::Lognormal, lognormal_maximum(nodes, 0.5)},
                         Law{"exponential", Jitter::Exponential, exponential_maximum(nodes)}})
    out.checks.push_back(
        {.name = fmt::format("CV of the slowest of {}, {}: draws against formula", nodes, law.name),
         .engine = Quantity::ratio(sampled_maximum(law.jitter, nodes, 1).cv()),
         .oracle = Quantity::ratio(law.exact.cv()),
         .limit_ratio = 0.03});
}

}  // namespace

Result<Computation> compute_pacing_table(const Inputs& in, const ComputeOptions& options) {
  COX_TRY(const std::vector<TableRow> rows, read_rows(in));
  COX_TRY(const TableAssumptions assumed, read_assumptions(in));
  COX_TRY(const TableStudy study, study_table(rows, assumed, options));
  Computation out;
  for (const TablePrediction& p : study.predictions) {
    add_mechanism(out, p, rows, assumed.seeds);
    if (p.fit.mechanism != Mechanism::Timeouts) add_checks(out, p);
  }
  for (const int nodes : {rows.front().nodes, rows.back().nodes}) add_maxima_checks(out, nodes);
  const TableRow& few = rows.front();
  const TableRow& many = rows.back();
  out.values.push_back({.name = "growth-of-the-baseline-cv",
                        .value = Quantity::ratio(many.baseline_cv / few.baseline_cv),
                        .engine = kClosedForm});
  out.values.push_back({.name = "growth-of-independent-jitter",
                        .value = Quantity::ratio(std::sqrt(static_cast<double>(many.nodes) / few.nodes)),
                        .engine = kClosedForm});
  out.section = table_section(study);
  out.picture = table_picture(study);
  return out;
}

}  // namespace cox::study
