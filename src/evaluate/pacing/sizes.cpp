// SPDX-License-Identifier: Apache-2.0
// Throughput and CV against the number of ranks: the form of Figure 5 and Table 1
// of the paper, from own numbers.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cox/base/number_text.hpp"

#include "evaluate/pacing/page.hpp"

namespace cox::evaluate {
namespace {

constexpr Seconds kShortest{1e-6};  // of a step: what is below comes from a file that was not measured

/// One size: what was measured, and the engine beside it.
struct Row {
  const PacingCondition* condition;
  const PacingEffect* measured;
  const SimulatedEffect* simulated;  // null where there is none
};

const PacingEffect* measured_auto(std::span<const PacingConditionResult> all, std::string_view name) {
  for (const PacingConditionResult& r : all)
    for (const PacingEffect& e : r.effects)
      if (r.name == name && e.arm == kArmAuto && !e.starts.empty() && e.off.mean >= kShortest &&
          e.on.mean >= kShortest)
        return &e;
  return nullptr;
}

const SimulatedEffect* simulated_auto(std::span<const SimulatedCondition> all, std::string_view name) {
  for (const SimulatedCondition& c : all)
    for (const SimulatedEffect& e : c.effects)
      if (c.name == name && e.arm == kArmAuto && e.mean_off.count() > 0) return &e;
  return nullptr;
}

/// Sizes that were measured, in rising order; the condition itself is one of them.
std::vector<Row> rows_of(const PacingStudy& study, const PacingResults& results,
                         std::span<const SimulatedCondition> simulated) {
  std::vector<Row> rows;
  const auto add = [&](const PacingCondition& c, std::span<const PacingConditionResult> all) {
    if (const PacingEffect* e = measured_auto(all, c.name))
      rows.push_back({&c, e, simulated_auto(simulated, c.name)});
  };
  for (const PacingCondition& c : study.sizes) add(c, results.sizes);
  if (rows.empty()) return rows;
  for (const PacingCondition& c : study.conditions)
    if (c.name == study.size_of) add(c, results.conditions);
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.condition->job.ranks < b.condition->job.ranks; });
  return rows;
}

/// Iterations of all ranks in a second.
double throughput(const Row& row, Seconds mean) {
  return row.condition->job.ranks / mean.count();
}
Seconds simulated_on(const SimulatedEffect& e) {
  return e.mean_off / (1 + e.gain);
}

}  // namespace

PageSection sizes_section(const PacingStudy& study, const PacingResults& results,
                          std::span<const SimulatedCondition> simulated, const std::string& picture_file) {
  const std::vector<Row> rows = rows_of(study, results, simulated);
  if (rows.empty()) return {};
  std::string out = fmt::format(
      R"(## Against the number of ranks

`{}` with other numbers of ranks, one in eight of them slow (at least one): throughput in iterations of all ranks per
second and the CV of the steps, off against `auto` from cold starts. This is the form of the paper's Figure 5 and
Table 1, with own numbers. No test is made of them. Each rank decides for itself: `holding` is the share of ranks and steps
in which one holds, and a step counts for the CV while holding where most ranks do.

| ranks | starts | throughput off → auto | gain % | holding % | delay ms | CV off → auto | CV while holding | simulated throughput | simulated gain % | simulated CV |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
)",
      study.size_of);
  for (const Row& row : rows) {
    const PacingEffect& e = *row.measured;
    out += fmt::format(
        "| {} | {} | {:.0f} → {:.0f} | {} | {} | {:.2f} | {:.3f} → {:.3f} | {} |", row.condition->job.ranks,
        e.starts.size(), throughput(row, e.off.mean), throughput(row, e.on.mean), gain_text(shown_gain(e)),
        e.holding < 0 ? "-" : without_percent(percent(e.holding, PartDigits::Whole)),
        e.on.delay.count() * 1e3, e.off.cv, e.on.cv, e.held_cv > 0 ? fmt::format("{:.3f}", e.held_cv) : "-");
    if (const SimulatedEffect* s = row.simulated)
      out += fmt::format(" {:.0f} → {:.0f} | {} | {:.3f} → {:.3f} |\n", throughput(row, s->mean_off),
                         throughput(row, simulated_on(*s)), without_percent(percent_change(s->gain)),
                         s->cv_off, s->cv_on);
    else
      out += " - | - | - |\n";
  }
  std::size_t made = 0;
  for (const PacingConditionResult& r : results.sizes)
    if (!r.effects.empty()) made += r.effects.front().starts.size();
  const std::size_t planned = study.sizes.size() * static_cast<std::size_t>(study.protocol.starts);
  if (made < planned)
    out += fmt::format(
        "\nPlanned were {} starts of each other number of ranks ({} in all); the time was over after {}.\n",
        study.protocol.starts, planned, made);
  if (!picture_file.empty())
    out += fmt::format("\n![Throughput and CV against the number of ranks]({})\n", picture_file);
  return {out};
}

study::Picture sizes_picture(const PacingStudy& study, const PacingResults& results,
                             std::span<const SimulatedCondition> simulated) {
  const std::vector<Row> rows = rows_of(study, results, simulated);
  const auto curve = [&](const char* name, auto value) {
    study::Series s{.name = name, .x = {}, .y = {}};
    for (const Row& row : rows)
      if (const std::optional<double> y = value(row)) {
        s.x.push_back(row.condition->job.ranks);
        s.y.push_back(*y);
      }
    return s;
  };
  using Value = std::optional<double>;
  study::Picture throughputs{.title = "Throughput against the number of ranks",
                             .x_label = "ranks",
                             .y_label = "iterations of all ranks per second",
                             .x_is_log = true};
  throughputs.series = {
      curve("off", [](const Row& r) -> Value { return throughput(r, r.measured->off.mean); }),
      curve("auto", [](const Row& r) -> Value { return throughput(r, r.measured->on.mean); }),
      curve("off, simulated",
            [](const Row& r) {
              return r.simulated == nullptr ? Value{} : throughput(r, r.simulated->mean_off);
            }),
      curve("auto, simulated", [](const Row& r) {
        return r.simulated == nullptr ? Value{} : throughput(r, simulated_on(*r.simulated));
      })};
  study::Picture cvs{.title = "Coefficient of variation of the steps",
                     .x_label = "ranks",
                     .y_label = "CV",
                     .x_is_log = true};
  cvs.series = {curve("off", [](const Row& r) -> Value { return r.measured->off.cv; }),
                curve("auto", [](const Row& r) -> Value { return r.measured->on.cv; }),
                curve("auto, while holding", [](const Row& r) {
                  return r.measured->held_cv > 0 ? Value{r.measured->held_cv} : Value{};
                })};
  throughputs.below.push_back(std::move(cvs));
  return throughputs;
}

}  // namespace cox::evaluate
