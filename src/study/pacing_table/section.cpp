// SPDX-License-Identifier: Apache-2.0
// Table 1 redone, as Markdown and as a picture. Every number in the prose is computed: the study's file may
// hold another table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cox/base/number_text.hpp"

#include "study/oracle/extremes.hpp"
#include "study/pacing_table/pacing_table.hpp"

namespace cox::study {
namespace {

/// How near a prediction must be: 3 points of gain, 0.03 of CV.
constexpr double kGainBar = 0.03;
constexpr double kCvBar = 0.03;

/// Without a minus before a zero.
std::string fixed(double v, int decimals) {
  const std::string text = fmt::format("{:.{}f}", v, decimals);
  const bool is_zero = text.find_first_not_of("-0.") == std::string::npos;
  return is_zero && text[0] == '-' ? text.substr(1) : text;
}

/// A change, without a sign before a zero.
std::string gain_text(double v) {
  const std::string text = percent_change(v);
  return text.substr(1) == "0.0 %" ? text.substr(1) : text;
}

double printed_gain(const TableRow& r) {
  return r.coordination_rate / r.baseline_rate - 1;
}
bool gain_is_near(const PredictedRow& p, const TableRow& r) {
  return std::abs(p.gain - printed_gain(r)) <= kGainBar;
}
bool cv_is_near(const PredictedRow& p, const TableRow& r) {
  return std::abs(p.cv - r.coordination_cv) <= kCvBar;
}

/// In bold where it rounds to what is printed: a tenth of a point of gain, a hundredth of CV.
std::string judged(const PredictedRow& p, const TableRow& r) {
  constexpr double kHalfDigitOfGain = 0.0005;
  constexpr double kHalfDigitOfCv = 0.005;
  const auto bold = [](const std::string& text, bool is_bold) { return is_bold ? "**" + text + "**" : text; };
  const std::string gain =
      fmt::format("{} ± {}", gain_text(p.gain),
                  without_percent(percent_change(p.gain_half_width_95, ChangeSign::InWords)));
  return bold(gain, std::abs(p.gain - printed_gain(r)) <= kHalfDigitOfGain) + " | " +
         bold(fixed(p.cv, 3), std::abs(p.cv - r.coordination_cv) <= kHalfDigitOfCv);
}

/// A table's head from the names of its columns; all but the first `texts` are numbers.
std::string head_of(const std::vector<std::string>& columns, std::size_t texts = 0) {
  std::string names = "|";
  std::string line = "|";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    names += " " + columns[i] + " |";
    line += i < texts ? "---|" : "---:|";
  }
  return names + "\n" + line + "\n";
}

std::string mechanisms_text(const TableAssumptions& a) {
  return fmt::format(R"(## Three mechanisms

Each has four parameters and is a few lines of physics, not the shape of a curve.

- **input**: at the start of the iteration every node fetches its input over one link (storage, host bus) that also
  carries the load of others. Processor sharing, each node at most at its own line rate. The load makes bytes dearer for
  all nodes alike, anew in each iteration (lognormal).
- **uplink**: the same link at the end of the iteration, under the all-reduce.
- **timeouts**: nothing is shared; each of the 2n(n - 1) messages of a ring all-reduce is lost with a small chance and
  costs a timeout, which moves on by one rank per round and so holds up everybody.

In all three, {} of the nodes are slow by a factor {:g} in every iteration. Neither this nor the samples per node
and iteration ({}, which set the scale of time) is printed. What the study has was fixed before anything was predicted, after the one condition with a
shared link and a lasting imbalance that had been measured on real processes. Without pacing only the slow nodes' compute counts, so the fit does not see them.

)",
                     percent(a.slow_share, PartDigits::AsSet), a.slow_factor, a.samples_per_node);
}

std::string parameters_text(const TableStudy& s) {
  std::string out = "## The Baseline columns, fitted\n\n" +
                    head_of({"mechanism", "parameter", "meaning", "value", "error"}, 3);
  for (const TablePrediction& p : s.predictions) {
    const auto about = parameters_of(p.fit.mechanism);
    for (std::size_t i = 0; i < about.size(); ++i) {
      const double error = p.fit.relative_error[i];
      out += fmt::format("| {} | {} | {} | {} | {} |\n", name_of(p.fit.mechanism), about[i].name,
                         about[i].meaning, text_of_parameter(p.fit.mechanism, p.fit.parameters, i),
                         std::isfinite(error) ? percent(error) : "unknown");
    }
  }
  return out + R"(
Errors: one standard deviation, if throughput is known to 1 % and CV to 0.01, which is also how residuals are weighted.

)";
}

std::string baseline_text(const TableStudy& s) {
  std::vector<std::string> columns = {"nodes", "printed: samples/s", "CV"};
  for (const TablePrediction& p : s.predictions) {
    columns.push_back(fmt::format("{}: samples/s", name_of(p.fit.mechanism)));
    columns.push_back("CV");
  }
  std::string out = head_of(columns);
  for (std::size_t i = 0; i < s.rows.size(); ++i) {
    const TableRow& r = s.rows[i];
    out += fmt::format("| {} | {:.0f} | {:.2f} |", r.nodes, r.baseline_rate, r.baseline_cv);
    for (const TablePrediction& p : s.predictions)
      out += fmt::format(" {:.0f} ({}) | {} |", p.fit.rows[i].rate,
                         gain_text(p.fit.rows[i].rate / r.baseline_rate - 1), fixed(p.fit.rows[i].cv, 3));
    out += '\n';
  }
  out += "| misfit | | |";
  for (const TablePrediction& p : s.predictions) out += fmt::format(" {} | |", fixed(p.fit.misfit, 1));
  return out + fmt::format(R"(

The misfit is a sum of {} squares with four parameters: {} would be expected of a right model. Input and uplink have the
same iteration without pacing, so the same parameters and the same misfit: **the Baseline columns cannot tell them
apart.** The third has {}.

)",
                           2 * s.rows.size(), 2 * s.rows.size() - 4,
                           fixed(s.predictions.back().fit.misfit, 1));
}

std::string prediction_text(const TableStudy& s) {
  std::string out = fmt::format(R"(## The Coordination columns, predicted

Nothing below was fitted to them. Each node has its own controller; `paper` is the published rule, `auto` the one that
tests whether pacing pays; both with their defaults. Simulated: whole runs of {} iterations from the first on, {}
seeds. Gain against the same draws without pacing, ± 95 %. Bold: rounds to what is printed.

)",
                                s.assumed.steps, s.assumed.seeds);
  std::vector<std::string> columns = {"nodes", "printed: gain", "CV"};
  for (const TablePrediction& p : s.predictions)
    for (const char* mode : {"paper", "auto"}) {
      columns.push_back(fmt::format("{}, {}: gain", name_of(p.fit.mechanism), mode));
      columns.push_back("CV");
    }
  out += head_of(columns);
  for (std::size_t i = 0; i < s.rows.size(); ++i) {
    const TableRow& r = s.rows[i];
    out += fmt::format("| {} | {} | {:.2f} |", r.nodes, gain_text(printed_gain(r)), r.coordination_cv);
    for (const TablePrediction& p : s.predictions)
      out += fmt::format(" {} | {} |", judged(p.paper[i], r), judged(p.automatic[i], r));
    out += '\n';
  }
  return out + "\n";
}

using Near = bool (*)(const PredictedRow&, const TableRow&);
std::string sizes_within(const TableStudy& s, const std::vector<PredictedRow>& predicted, Near is_near) {
  std::string out;
  for (std::size_t i = 0; i < s.rows.size(); ++i)
    if (is_near(predicted[i], s.rows[i]))
      out += fmt::format("{}{}", out.empty() ? "" : ", ", s.rows[i].nodes);
  return out.empty() ? "no size" : out + " nodes";
}

/// `-6.5 % to -21.8 %`, from the smallest job to the largest.
std::string gains_of(const std::vector<PredictedRow>& rows) {
  return fmt::format("{} to {}", gain_text(rows.front().gain), gain_text(rows.back().gain));
}

std::string verdict_text(const TableStudy& s) {
  const TablePrediction& input = s.predictions[0];
  const TablePrediction& uplink = s.predictions[1];
  const TablePrediction& timeouts = s.predictions[2];
  return fmt::format(
      R"(Under `input` the published rule comes within 3 points of the printed gain at {} and within 0.03 of the printed CV at {};
what rounds to the printed digits is bold.
From the smallest to the largest job its gain is {} under `uplink` and {} under
`timeouts`: the rule as published takes all of the time in the collective for waiting, also where nobody is early.
`auto` there: {} and {}. No rule can gain there: where a delay frees nothing that a later
node uses, an iteration is a maximum of sums (max-plus), and no delay makes it shorter.

)",
      sizes_within(s, input.paper, gain_is_near), sizes_within(s, input.paper, cv_is_near),
      gains_of(uplink.paper), gains_of(timeouts.paper), gains_of(uplink.automatic),
      gains_of(timeouts.automatic));
}

/// `2 of 9`.
std::string rows_that_meet_all(const TableStudy& s, Near is_near) {
  const auto count = std::count_if(s.variants.begin(), s.variants.end(), [&](const SlackVariant& v) {
    for (std::size_t i = 0; i < s.rows.size(); ++i)
      if (!is_near(v.paper[i], s.rows[i])) return false;
    return true;
  });
  return fmt::format("{} of {}", count, s.variants.size());
}

std::string variants_text(const TableStudy& s) {
  std::vector<std::string> columns = {"slow nodes", "factor"};
  for (const TableRow& r : s.rows) {
    columns.push_back(fmt::format("{} nodes: gain", r.nodes));
    columns.push_back("CV");
  }
  std::string out = R"(## What the Baseline columns cannot tell

How much slower the slow nodes are changes nothing without pacing and everything with it: it is the slack that is spent.
`input`, published rule, the assumed case first:

)" + head_of(columns);
  for (const SlackVariant& v : s.variants) {
    out += fmt::format("| {} | {:g} |", percent(v.slow_share, PartDigits::AsSet), v.slow_factor);
    for (std::size_t i = 0; i < s.rows.size(); ++i) out += " " + judged(v.paper[i], s.rows[i]) + " |";
    out += '\n';
  }
  return out + fmt::format(R"(
So the Baseline columns do not fix the gain: all of these rows go with them. All printed gains are met within 3 points in {} of
the rows, all printed CVs within 0.03 in {}; but a row picked for that is a fit to the Coordination columns and predicts nothing.
The row of 12.5 % by 1.4 is such a one: it was put in after the printed gains had been seen.

What depends on no rule is the least CV that pacing of any kind could reach on this link at the printed Coordination
throughput. The link moves the bytes of all nodes in every iteration and the fastest node computes after its own, so an
iteration is never shorter than that; of all variables above this bound with the printed mean, the bound cut off below
varies least:

)",
                           rows_that_meet_all(s, gain_is_near), rows_that_meet_all(s, cv_is_near));
}

Seconds printed_iteration(const TableRow& r, const TableAssumptions& a) {
  return Seconds{static_cast<double>(r.nodes) * a.samples_per_node / r.coordination_rate};
}

/// Least factor of the slow nodes with which the printed Coordination row is within reach; beyond 100: 100.
double least_factor(const TableStudy& s, const TableRow& r) {
  const TableParameters& p = s.predictions.front().fit.parameters;
  double low = 1;
  double high = 100;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    const double cv = least_paced_cv(p, r.nodes, middle, printed_iteration(r, s.assumed));
    (cv <= r.coordination_cv + kCvBar ? high : low) = middle;
  }
  return high;
}

std::string least_cv_text(const TableStudy& s) {
  std::vector<std::string> columns = {"nodes", "printed CV"};
  constexpr std::array kFactors = {1.1, 1.25, 1.5, 2.0, 3.0, 5.0};
  for (const double f : kFactors) columns.push_back(fmt::format("least CV, factor {:g}", f));
  columns.push_back("factor needed for the printed CV + 0.03");
  std::string out = head_of(columns);
  const TableParameters& p = s.predictions.front().fit.parameters;
  for (const TableRow& r : s.rows) {
    out += fmt::format("| {} | {:.2f} |", r.nodes, r.coordination_cv);
    for (const double f : kFactors) {
      const double cv = least_paced_cv(p, r.nodes, f, printed_iteration(r, s.assumed));
      out += std::isnan(cv) ? " not reachable |" : fmt::format(" {} |", fixed(cv, 3));
    }
    out += fmt::format(" {} |\n", fixed(least_factor(s, r), 2));
  }
  return out + "\n";
}

std::string laws_text(const TableStudy& s) {
  struct Law {
    const char* name;
    MaximumMoments (*of)(int n);
  };
  constexpr std::array kLaws = {Law{"normal, CV 0.1", [](int n) { return normal_maximum(n, 0.1); }},
                                Law{"lognormal, CV 0.5", [](int n) { return lognormal_maximum(n, 0.5); }},
                                Law{"exponential", exponential_maximum},
                                Law{"Pareto, shape 2.5", [](int n) { return pareto_maximum(n, 2.5); }}};
  std::vector<std::string> columns = {"CV of an iteration"};
  for (const TableRow& r : s.rows) columns.push_back(fmt::format("{} nodes", r.nodes));
  std::string out = head_of(columns, 1);
  for (const Law& law : kLaws) {
    out += fmt::format("| slowest of n independent, {} |", law.name);
    for (const TableRow& r : s.rows) out += fmt::format(" {} |", fixed(law.of(r.nodes).cv(), 3));
    out += '\n';
  }
  out += "| alike for all nodes: the link of `input` |";
  const TableParameters& p = s.predictions.front().fit.parameters;
  for (const TableRow& r : s.rows)
    out += fmt::format(" {} |", fixed(baseline_law(Mechanism::Input, p, r.nodes).cv(), 3));
  out += "\n| printed, Baseline |";
  for (const TableRow& r : s.rows) out += fmt::format(" {:.2f} |", r.baseline_cv);
  return out + "\n";
}

std::string bound_text(const TableStudy& s) {
  constexpr double kRounding = 0.005;  // of a printed CV
  std::string out = head_of({"from nodes", "to nodes", "largest CV of independent nodes", "printed CV"});
  for (std::size_t i = 0; i + 1 < s.rows.size(); ++i) {
    const TableRow& few = s.rows[i];
    const TableRow& many = s.rows[i + 1];
    if (many.nodes % few.nodes != 0) continue;
    const double largest =
        largest_independent_cv(few.nodes, few.baseline_cv + kRounding, few.nodes / few.baseline_rate,
                               many.nodes, many.nodes / many.baseline_rate);
    out += fmt::format("| {} | {} | {} | {:.2f} |\n", few.nodes, many.nodes, fixed(largest, 3),
                       many.baseline_cv);
  }
  return out;
}

std::string jitter_text(const TableStudy& s) {
  const TableRow& few = s.rows.front();
  const TableRow& many = s.rows.back();
  return fmt::format(R"(## How far independent jitter goes

The printed Baseline's CV grows {}-fold from {} to {} nodes. Where nodes are late independently of each other and the
iteration waits for the slowest, it can grow {}-fold at most, the root of the ratio of the sizes. For exponential times it is
sqrt(sum 1/k^2) / sum 1/k, k from 1 to n, which falls as 1.28 / ln n; for a Pareto law of shape a it goes to the constant
sqrt(Gamma(1 - 2/a) / Gamma(1 - 1/a)^2 - 1). What all nodes feel alike has no such bound: the deviation of compute + n x
(time per node) x load is proportional to n.

{}
The bound holds for any law, and beside anything that is added and is the same in every iteration, however it grows with the
size: the slowest of k times as many nodes is the largest of k independent copies of the smaller job's slowest, and
Var(max of k) <= k Var(one), because the covariances of order statistics are not negative (Bickel 1967). So the
deviation grows at most by sqrt(k). With the printed throughputs, and the smaller job's CV as large as its rounding
allows:

{})",
                     fixed(many.baseline_cv / few.baseline_cv, 0), few.nodes, many.nodes,
                     fixed(std::sqrt(static_cast<double>(many.nodes) / few.nodes), 1), laws_text(s),
                     bound_text(s));
}

}  // namespace

std::string table_section(const TableStudy& s) {
  return mechanisms_text(s.assumed) + parameters_text(s) + baseline_text(s) + prediction_text(s) +
         verdict_text(s) + variants_text(s) + least_cv_text(s) + jitter_text(s);
}

Picture table_picture(const TableStudy& s) {
  const auto panel = [](std::string title, std::string unit) {
    return Picture{.kind = Picture::Kind::Lines,
                   .title = std::move(title),
                   .x_label = "nodes",
                   .y_label = std::move(unit),
                   .x_is_log = true};
  };
  const auto series = [&](std::string name, const auto& value_at, bool is_printed = false) {
    Series one{.name = std::move(name), .x = {}, .y = {}, .is_printed = is_printed};
    for (std::size_t i = 0; i < s.rows.size(); ++i) {
      one.x.push_back(s.rows[i].nodes);
      one.y.push_back(value_at(i));
    }
    return one;
  };
  Picture gain = panel("Coordination: gain in throughput, printed and predicted", "%");
  gain.series.push_back(series(
      "printed",
      [&](std::size_t i) { return 100 * (s.rows[i].coordination_rate / s.rows[i].baseline_rate - 1); },
      true));
  Picture cv = panel("Coordination: CV of the iteration time, printed and predicted", "CV");
  cv.series.push_back(series(
      "printed", [&](std::size_t i) { return s.rows[i].coordination_cv; }, true));
  Picture rate = panel("Baseline: throughput, printed and fitted", "samples per second");
  rate.series.push_back(series(
      "printed", [&](std::size_t i) { return s.rows[i].baseline_rate; }, true));
  Picture fitted_cv = panel("Baseline: CV of the iteration time, printed and fitted", "CV");
  fitted_cv.series.push_back(series(
      "printed", [&](std::size_t i) { return s.rows[i].baseline_cv; }, true));
  for (const TablePrediction& p : s.predictions) {
    const std::string name(name_of(p.fit.mechanism));
    gain.series.push_back(series(name, [&](std::size_t i) { return 100 * p.paper[i].gain; }));
    cv.series.push_back(series(name, [&](std::size_t i) { return p.paper[i].cv; }));
    rate.series.push_back(series(name, [&](std::size_t i) { return p.fit.rows[i].rate; }));
    fitted_cv.series.push_back(series(name, [&](std::size_t i) { return p.fit.rows[i].cv; }));
  }
  gain.below = {std::move(cv), std::move(rate), std::move(fitted_cv)};
  return gain;
}

}  // namespace cox::study
