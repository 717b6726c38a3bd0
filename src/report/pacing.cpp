// SPDX-License-Identifier: Apache-2.0
#include "report/pacing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "report/bars.hpp"
#include "report/markup.hpp"

namespace cox::report {
namespace {

using diagnose::Bounded;
using diagnose::PaceReplay;
using diagnose::Pacing;
using diagnose::PacingComparison;
using diagnose::ReplayedDecision;

constexpr std::size_t kRows = 128;   ///< of the charts and the table; more ranks than anybody reads
constexpr std::size_t kSpans = 512;  ///< per rank; the rest of a restless one is in `cox pace --json`
constexpr std::size_t kEstimates = 1000;
constexpr double kWidest = 0.15;  ///< interval that is worth drawing

std::string time(Seconds s) {
  return to_string(duration_from_seconds(s.count()));
}

std::string number(double x) {
  return fmt::format("{:.3f}", x);
}

/// `12.3 ms` and below it the ends of its interval.
template <class T, class Show>
std::string figure(const Bounded<T>& b, bool has_interval, const Show& show) {
  std::string text = html(show(b.value));
  if (has_interval)
    text += fmt::format("<small class=\"ends\">{} to {}</small>", html(show(b.low)), html(show(b.high)));
  return text;
}

template <class T, class Show>
std::string row(const char* name, const Bounded<T>& baseline, const Bounded<T>& control,
                const Bounded<double>& change, bool has_interval, const Show& show) {
  const auto change_of = [](double ratio) { return percent_change(ratio - 1); };
  return fmt::format(
      "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
      name, figure(baseline, has_interval, show), figure(control, has_interval, show),
      figure(change, has_interval, change_of));
}

std::string arms_table(const PacingComparison& c, bool simulated) {
  const bool i = c.has_interval;
  const auto rate = [](double per_s) {
    return fmt::format("{:.{}f}", per_s, per_s >= 100 ? 0 : per_s >= 10 ? 1 : 2);
  };
  const double median = c.median_ratio();
  std::string rows = row("throughput, per s", c.baseline.throughput(), c.control.throughput(),
                         c.throughput_ratio(), i, rate);
  rows += row("iteration, median", c.baseline.median, c.control.median,
              Bounded<double>{median, median, median}, false, time);
  rows += row("iteration, 99th percentile", c.baseline.p99, c.control.p99, c.p99_ratio, i, time);
  rows += row("CV of the iteration", c.baseline.cv_ratio, c.control.cv_ratio, c.cv_ratio, i, number);
  rows += row("wait, mean of ranks", c.baseline.wait, c.control.wait, c.wait_ratio, i, time);
  rows +=
      row("energy at full power (estimated)", c.baseline.energy, c.control.energy, c.energy_ratio, i, time);
  const std::string from = c.within_run ? fmt::format(
                                              "{} pairs of blocks of this run, in an order drawn beforehand: "
                                              "{} iterations without delay, {} with it",
                                              c.pairs, c.baseline.iterations, c.control.iterations)
                                        : fmt::format("two runs, {} and {} iterations", c.baseline.iterations,
                                                      c.control.iterations);
  return fmt::format(
      "<h3>Baseline against control</h3>\n<p class=\"caption\">From {}; {}. {}Energy is an "
      "estimate: delays count as idle.</p>\n"
      "<div class=\"scroll\" tabindex=\"0\"><table class=\"analysis\"><thead><tr><th scope=\"col\"></th><th "
      "scope=\"col\" class=\"n\">baseline</th><th scope=\"col\" class=\"n\">control</th><th scope=\"col\" "
      "class=\"n\">change</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
      from, simulated ? "simulated" : "measured",
      i ? "In small print the 95 % interval of a bootstrap over blocks. " : "Too few blocks for intervals. ",
      rows);
}

/// Ranks by the time that they were held back, most first.
std::vector<const diagnose::RankPacing*> by_delay(const diagnose::PacingRecord& r) {
  std::vector<const diagnose::RankPacing*> out;
  out.reserve(r.ranks.size());
  for (const diagnose::RankPacing& p : r.ranks) out.push_back(&p);
  std::stable_sort(out.begin(), out.end(),
                   [](const auto* a, const auto* b) { return a->delayed > b->delayed; });
  return out;
}

std::string sort_cell(double key, const std::string& text) {
  return fmt::format("<td class=\"n\" data-key=\"{:.9g}\">{}</td>", key, html(text));
}

const diagnose::RankArms* arms_of(const Pacing& p, Rank rank) {
  if (!p.comparison) return nullptr;
  for (const diagnose::RankArms& a : p.comparison->ranks)
    if (a.rank == rank) return &a;
  return nullptr;
}

std::string delays_table(const Pacing& p) {
  const auto ranks = by_delay(*p.record);
  const Duration most = ranks.empty() ? Duration{1} : std::max(ranks.front()->delayed, Duration{1});
  std::string rows;
  for (std::size_t i = 0; i < std::min(ranks.size(), kRows); ++i) {
    const diagnose::RankPacing& r = *ranks[i];
    const diagnose::RankArms* arms = arms_of(p, r.rank);
    rows += fmt::format(
                "<tr><th scope=\"row\" class=\"n\" data-key=\"{0}\">{0}</th><td class=\"n\" "
                "data-key=\"{1:.9g}\">{2}{3}</td>",
                r.rank.value(), in_seconds(r.delayed), bar_of(r.delayed, most), html(to_string(r.delayed))) +
            sort_cell(static_cast<double>(r.delays), grouped(r.delays)) +
            sort_cell(in_seconds(r.each()), to_string(r.each())) +
            (arms == nullptr ? std::string("<td class=\"n\"></td><td class=\"n\"></td>")
                             : sort_cell(arms->baseline_wait.count(), time(arms->baseline_wait)) +
                                   sort_cell(arms->control_wait.count(), time(arms->control_wait))) +
            fmt::format("<td>{}</td></tr>\n",
                        r.changes.empty() ? "" : html(pace::explain(r.changes.back().decision.reason)));
  }
  const std::string note =
      ranks.size() > kRows
          ? fmt::format("<p class=\"caption\">The first {} of {} ranks.</p>", kRows, ranks.size())
          : "";
  return "<h3>Delay per rank</h3>\n<div class=\"scroll tall\" tabindex=\"0\"><table "
         "class=\"sortable\"><thead><tr><th class=\"n\">rank</th><th class=\"n\">held back</th><th "
         "class=\"n\">times</th><th class=\"n\">each</th><th class=\"n\">wait, baseline</th><th "
         "class=\"n\">wait, control</th><th>last decision</th></tr></thead>\n<tbody>\n" +
         rows + "</tbody></table></div>" + note + "\n";
}

std::string state_keys() {
  return "<ul class=\"keys\"><li><i class=\"pace-watch\"></i>passive</li><li><i "
         "class=\"pace-probe\"></i>probe: lone turns with a small delay</li><li><i "
         "class=\"pace-trial\"></i>trial: paced and unpaced blocks in turn</li><li><i "
         "class=\"pace-hold\"></i>hold: paced, tested on</li></ul>\n";
}

/// The rank whose estimates are drawn: the one that was held back the longest.
const PaceReplay* drawn(const Pacing& p) {
  if (!p.record) return nullptr;
  const auto ranks = by_delay(*p.record);
  if (ranks.empty()) return nullptr;
  for (const PaceReplay& r : p.replays)
    if (r.rank == ranks.front()->rank && !r.open_loop) return &r;
  return nullptr;
}

bool has_estimates(const PaceReplay& r) {
  return std::any_of(r.decisions.begin(), r.decisions.end(),
                     [](const ReplayedDecision& d) { return d.evidence.pairs > 0; });
}

}  // namespace

std::string pacing_section(const Page& page) {
  if (!page.diagnosis.pacing || !page.diagnosis.pacing->record) return {};
  const Pacing& p = *page.diagnosis.pacing;
  std::string lines;
  for (const std::string& line : diagnose::describe(p))
    lines += fmt::format("<li>{}</li>\n", html(page.names.text(line)));
  std::string body = "<ul class=\"limits\">" + lines + "</ul>\n";
  const bool simulated = p.provenance == trace::Provenance::Simulated;
  if (p.comparison) body += arms_table(*p.comparison, simulated);
  body += fmt::format(
      "<h3>Decisions over time</h3>\n<p class=\"caption\">State of each rank's controller{}.</p>\n{}<div "
      "class=\"chart\" id=\"pace-states\"></div>\n",
      p.record->ranks.size() > kRows
          ? fmt::format("; the {} of {} ranks that were held back the longest", kRows, p.record->ranks.size())
          : "",
      state_keys());
  if (const PaceReplay* r = drawn(p); r != nullptr && has_estimates(*r))
    body += fmt::format(
        "<h3>What rank {} made of it</h3>\n<p class=\"caption\">Time saved by pacing as its "
        "controller estimated it; in a trial with the interval that the decision rests on.</p>\n<div "
        "class=\"chart\" id=\"pace-gain\"></div>\n",
        r->rank.value());
  return "<section id=\"pacing\" aria-labelledby=\"pacing-title\">\n<h2 id=\"pacing-title\">Pacing</h2>\n" +
         body + delays_table(p) + "</section>\n";
}

Json pacing_data(const Pacing& p) {
  Json data;
  if (!p.record) return data;
  data["first"] = 0;
  data["last"] = p.record->iterations;
  std::uint64_t last = 1;
  Json rows = Json::array();
  const auto ranks = by_delay(*p.record);
  std::vector<const diagnose::RankPacing*> shown(
      ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(std::min(ranks.size(), kRows)));
  std::sort(shown.begin(), shown.end(), [](const auto* a, const auto* b) { return a->rank < b->rank; });
  for (const diagnose::RankPacing* r : shown) {
    Json steps = Json::array();
    Json states = Json::array();
    int state = -1;
    for (const diagnose::PaceChange& c : r->changes) {
      last = std::max(last, c.step);
      if (static_cast<int>(c.decision.state) == state || steps.size() == kSpans) continue;
      state = static_cast<int>(c.decision.state);
      steps.push_back(c.step);
      states.push_back(state);
    }
    rows.push_back(
        Json{{"rank", r->rank.value()}, {"steps", std::move(steps)}, {"states", std::move(states)}});
  }
  data["rows"] = std::move(rows);
  data["last"] = std::max<std::uint64_t>(
      last + 1, static_cast<std::uint64_t>(std::max<std::int64_t>(p.record->iterations, 1)));
  const PaceReplay* r = drawn(p);
  if (r == nullptr || !has_estimates(*r)) return data;
  Json gain{{"step", Json::array()}, {"gain", Json::array()}, {"half", Json::array()}};
  const std::size_t stride = neighbours_per_cell(r->decisions.size() + 1, kEstimates);
  bool trial = false;
  for (std::size_t i = 0; i < r->decisions.size(); i += stride) {
    const ReplayedDecision& d = r->decisions[i];
    if (d.evidence.pairs == 0) continue;
    gain["step"].push_back(d.step);
    gain["gain"].push_back(std::isfinite(d.evidence.gain) ? d.evidence.gain : 0);
    // Of a trial and of the decision that ended it; later estimates of a hold have no such interval.
    const bool tested =
        d.decision.state == pace::State::Trial || (trial && d.decision.state == pace::State::Hold);
    const bool banded = tested && d.evidence.half_width < kWidest;
    trial = d.decision.state == pace::State::Trial;
    gain["half"].push_back(banded ? Json(d.evidence.half_width) : Json(nullptr));
  }
  data["gain"] = std::move(gain);
  return data;
}

}  // namespace cox::report
