// SPDX-License-Identifier: Apache-2.0
#include "report/forecast/forecast_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cox/base/number_text.hpp"
#include "cox/base/version.hpp"

#include "report/assets.hpp"
#include "report/forecast/pictures.hpp"
#include "report/markup.hpp"

namespace cox::report {
namespace {

using forecast::LeverEffect;
using forecast::LeverRatio;
using forecast::RegimeBoundary;

std::string section(std::string_view id, std::string_view title, const std::string& inside) {
  if (inside.empty()) return {};
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}</section>\n",
      id, html(title), inside);
}

std::string caption(std::string_view text) {
  return fmt::format("<p class=\"caption\">{}</p>\n", html(text));
}

std::string head(const ForecastPage& page) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri "
      "'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<meta name=\"generator\" content=\"cox {}\">\n<title>{} · forecast · Coxswain</title>\n<style>\n{}</style>\n"
      "</head>\n<body class=\"forecast\">\n",
      COX_VERSION, html(page.name), style_asset().text);
}

std::string definition(const ForecastPage& page) {
  std::string rows;
  const auto add = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) rows += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, html(text));
  };
  add("System class", page.system);
  add("Scale", page.scale);
  add("Operational mode", page.mode);
  add("Runtime profile", page.runtime);
  return rows.empty()
             ? rows
             : section("definition", "Scenario definition", "<dl class=\"list\">\n" + rows + "</dl>\n");
}

std::string recognition(const ForecastPage& page) {
  if (page.recognised.empty()) return {};
  std::string rows;
  for (const Recognised& r : page.recognised)
    rows += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"n\" data-label=\"here\">{}</td><td data-label=\"look at\">{}</td></tr>\n",
        html(r.sign), html(r.now), html(r.look_at));
  return section(
      "recognition", "Recognition pattern",
      caption("Numbers to hold against your own dashboards. Ratios, so that no unit has to agree.") +
          "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr><th scope=\"col\">sign</th><th "
          "scope=\"col\" class=\"n\">here</th><th scope=\"col\">look at</th></tr></thead>\n<tbody>\n" +
          rows + "</tbody></table></div>\n");
}

std::string observations(const ForecastPage& page) {
  if (page.observations.empty()) return {};
  std::string items;
  for (const Observation& o : page.observations) {
    items += "<li><p>" + html(o.sentence);
    if (!o.interval.empty()) items += fmt::format(" <span class=\"quiet\">({})</span>", html(o.interval));
    items += "</p><p class=\"quiet\">";
    if (!o.evidence.empty())
      items += o.anchor.empty()
                   ? "Evidence: " + html(o.evidence) + ". "
                   : fmt::format("Evidence: <a href=\"#{}\">{}</a>. ", html(o.anchor), html(o.evidence));
    if (!o.refuted_by.empty()) items += "Refuted by: " + html(o.refuted_by) + ".";
    items += "</p></li>\n";
  }
  return section("observations", "Structural observations",
                 "<ul class=\"observations\">\n" + items + "</ul>\n");
}

std::string boundary_text(const RegimeBoundary& b) {
  switch (b.place) {
    case RegimeBoundary::Place::Below:
      return "below " + grouped(b.ranks);
    case RegimeBoundary::Place::Above:
      return "beyond " + grouped(b.ranks);
    case RegimeBoundary::Place::Inside:
      break;
  }
  return grouped(b.ranks);
}

/// `most`: what N* is the size of.
std::string transitions(const forecast::Regimes& r, std::string_view most = "most throughput") {
  std::string rows;
  const auto add = [&](std::string_view name, std::string_view meaning, const forecast::TransitionBand& t) {
    const std::string range = r.replicates > 0 ? fmt::format(" <span class=\"quiet\">{} to {}</span>",
                                                             boundary_text(t.low), boundary_text(t.high))
                                               : "";
    rows += fmt::format(
        "<tr><th scope=\"row\">{} <span class=\"quiet\">{}</span></th><td class=\"n\" data-label=\"ranks\">{}{}</td><td data-label=\"made by\">{}</td></tr>\n",
        name, meaning, boundary_text(t.value), range,
        t.value.inside() ? html(t.because.empty() ? "no single mechanism" : t.because)
        : t.value.place == RegimeBoundary::Place::Below ? "crossed before"
                                                        : "not reached");
  };
  add("N1", "linear to sublinear", r.n1);
  add("N2", "sublinear to post-linear", r.n2);
  add("N*", most, r.n_star);
  std::string notes;
  for (const std::string& note : r.notes) notes += "<li>" + html(note) + "</li>\n";
  return "<div class=\"scroll\" tabindex=\"0\"><table class=\"analysis\">\n<thead><tr><th scope=\"col\">boundary</th><th "
         "scope=\"col\" class=\"n\">ranks</th><th scope=\"col\">made by</th></tr></thead>\n<tbody>\n" +
         rows + "</tbody></table></div>\n" +
         (notes.empty() ? "" : "<ul class=\"limits\">" + notes + "</ul>\n");
}

/// What failures leave; a column where some size has it.
std::string goodput_cell(const forecast::SizeRatios& p, bool shown) {
  if (!shown) return {};
  if (!p.goodput) return "<td class=\"n\">–</td>";
  return fmt::format("<td class=\"n\">{} <span class=\"quiet\">{} to {}</span></td>",
                     percent(p.goodput->value), percent(p.goodput->band.low), percent(p.goodput->band.high));
}

/// What has no band has none here.
std::string band_text(const forecast::SizeRatios& p) {
  if (!p.has_band()) return {};
  return fmt::format(" <span class=\"quiet\">{} to {}</span>", plain_number(p.low, 4),
                     plain_number(p.high, 4));
}

std::string sizes_table(const ForecastPage& page) {
  const bool fails = std::ranges::any_of(page.sizes, [](const auto& p) { return p.goodput.has_value(); });
  std::string rows;
  for (const forecast::SizeRatios& p : page.sizes) {
    if (!p.refused.empty()) {
      rows +=
          fmt::format("<tr><th scope=\"row\" class=\"n\">{}</th><td colspan=\"{}\">no number: {}</td></tr>\n",
                      grouped(p.ranks), fails ? 4 : 3, html(p.refused));
      continue;
    }
    rows += fmt::format(
        "<tr><th scope=\"row\" class=\"n\">{}{}</th><td class=\"n\">{}{}</td><td class=\"n\">{}</td>{}<td "
        "class=\"n\">{}</td></tr>\n",
        grouped(p.ranks), p.seen ? " <span class=\"quiet\">seen</span>" : "", plain_number(p.throughput, 4),
        band_text(p), percent(p.of_ideal()), goodput_cell(p, fails),
        p.cost > 0 ? fmt::format("{:.3f}", p.cost) : "–");
  }
  return "<div class=\"scroll\" tabindex=\"0\"><table class=\"analysis\">\n<thead><tr><th scope=\"col\" "
         "class=\"n\">ranks</th><th scope=\"col\" class=\"n\">throughput</th><th scope=\"col\" class=\"n\">of "
         "ideal</th>" +
         std::string(fails ? "<th scope=\"col\" class=\"n\">goodput</th>" : "") +
         "<th scope=\"col\" class=\"n\">cost of a sample</th></tr></thead>\n<tbody>\n" + rows +
         "</tbody></table></div>\n";
}

std::string figure(std::string_view id, std::string_view title, std::string_view text,
                   const std::string& picture) {
  return fmt::format("<figure id=\"{}\"><figcaption><h3>{}</h3>{}</figcaption>{}</figure>\n", id, html(title),
                     caption(text), picture);
}

std::string margin_text(const ForecastPage& page) {
  if (!page.margin) return {};
  std::string rows;
  for (const forecast::Margin& m : page.margin->alone)
    rows +=
        fmt::format("<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td>{}</td></tr>\n", html(m.name),
                    m.factor ? "x" + plain_number(*m.factor) : "none that is looked at",
                    m.within_error    ? "smaller than its own error: no margin"
                    : !m.banded       ? ""
                    : m.low && m.high ? fmt::format("x{} to x{}", plain_number(*m.low), plain_number(*m.high))
                                      : "");
  return "<div class=\"scroll\" tabindex=\"0\"><table class=\"analysis\">\n<thead><tr><th scope=\"col\">alone</th><th "
         "scope=\"col\" class=\"n\">crosses at</th><th scope=\"col\">band</th></tr></thead>\n<tbody>\n" +
         rows + "</tbody></table></div>\n";
}

/// What a table of sizes has none of is not announced.
bool only_sizes(const ForecastPage& page) {
  return page.margins.empty() && page.kept.empty() && page.kept_over_steps.empty() &&
         page.coupling.rows.empty() && page.path.rows.empty() && !page.regimes;
}

std::string scaling_text(const ForecastPage& page) {
  const bool banded = std::ranges::any_of(page.sizes, &forecast::SizeRatios::has_band);
  return fmt::format(
      "Line: forecast{}. Points: the sizes asked{}. Dashed: every rank as quick as one alone.{}",
      banded ? " with its 90 % band" : "", page.curve.size() > page.sizes.size() ? "" : ", joined straight",
      page.controlled.size() > 1 ? " Second line: with control." : "");
}

/// Which sizes the picture of margins leaves out, though they have a number.
std::string margin_caption(const ForecastPage& page) {
  std::string out =
      "How many times the ranks the next boundary is away. At x1 it is reached, and the one behind it counts; below x1, "
      "behind N*, the way back.";
  std::string without;
  for (const forecast::SizeRatios& p : page.sizes)
    if (p.refused.empty() &&
        std::ranges::find(page.margins, p.ranks, &forecast::SizeMargin::ranks) == page.margins.end())
      without += (without.empty() ? "" : ", ") + grouped(p.ranks);
  if (!without.empty() && page.regimes)
    out += fmt::format(" Beyond {}: no boundary up to {} ranks.", without, grouped(page.regimes->range.to));
  return out;
}

std::string projection(const ForecastPage& page) {
  std::string out = "<div class=\"pictures\">\n";
  out += figure("scaling", "Throughput against size", scaling_text(page), scaling_picture(page));
  if (!only_sizes(page)) {
    out += figure("margin", "Margin against size", margin_caption(page), margin_picture(page));
    out += figure(
        "decay", "What is left of a delay",
        "One rank is late once. At a barrier the step's slack takes its part at once, and the rest stays for good.",
        decay_picture(page.kept, page.kept_against, page.no_structure));
    if (!page.kept_over_steps.empty())
      out += figure(
          "decay-steps", "What is left of it, step by step",
          fmt::format(
              "{}, simulated beside the same steps without it; band of 95 % over draws. Another rank may keep another part.",
              page.kept_of),
          decay_picture(page.kept_over_steps, "steps behind the delay"));
    out +=
        figure("coupling", "Who hands the path to whom",
               "The stronger a cell, the more often the critical path goes through its row, from its column.",
               coupling_picture(page.coupling, page.no_structure));
    out += figure("path", "Critical path over time", "One bar a window of the run; each colour a group.",
                  path_picture(page.path, page.no_structure));
  }
  out += "</div>\n";
  out += sizes_table(page);
  if (page.regimes) out += "<h3>Where it bends, and what bends it</h3>\n" + transitions(*page.regimes);
  const std::string margins = margin_text(page);
  if (!margins.empty())
    out += fmt::format("<h3>{}</h3>\n", page.margin->crossed ? "What leads back over the last boundary"
                                                             : "How far the next boundary is") +
           margins;
  return section("projection", "Stability projection", out);
}

std::string ratio_text(const LeverRatio& r) {
  return fmt::format("{:.3f} <span class=\"quiet\">{:.3f} to {:.3f}</span>", r.value, r.low, r.high);
}

/// The job as it is crossed out, the same with control beside it.
std::string metrics(const ForecastPage& page) {
  if (!page.control || !page.control->reached || page.control->already) return {};
  const LeverEffect& with = page.control->best;
  std::string rows;
  const auto add = [&](std::string_view name, const std::optional<LeverRatio>& r) {
    if (!r) return;
    rows += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"n\"><del>1.000</del></td><td class=\"n\"><ins>{}</ins></td></tr>\n",
        name, ratio_text(*r));
  };
  add("throughput", with.throughput);
  add("step, mean", with.step);
  add("step, 99th percentile", with.p99);
  add("step, coefficient of variation", with.cv);
  add("work done again, per sample", with.rework);
  add("energy per sample", with.energy);
  add("node hours per sample", with.cost);
  std::string names;
  for (const std::string& n : with.names) names += (names.empty() ? "" : " + ") + n;
  std::string text = fmt::format("<p>{}</p>\n", html(names + ": " + with.does));
  if (!page.target.empty())
    text = fmt::format("<p>The cheapest set of levers for <code>{}</code>:</p>\n", html(page.target)) + text;
  if (!with.learning.empty())
    text += fmt::format("<p class=\"quiet\">Not included: {}.</p>\n", html(with.learning));
  if (!page.transition.empty()) text += fmt::format("<p>Transition type: {}</p>\n", html(page.transition));
  return section(
      "metrics", "Aggregated metrics",
      caption("Ratios to the job as it is, without units.") + text +
          "<div class=\"scroll\" tabindex=\"0\"><table class=\"analysis\">\n<thead><tr><th scope=\"col\">figure</th><th "
          "scope=\"col\" class=\"n\">baseline</th><th scope=\"col\" class=\"n\">with structural control</th></tr></thead>\n<tbody>\n" +
          rows + "</tbody></table></div>\n");
}

std::string lever_cell(std::string_view label, const std::optional<LeverRatio>& r, bool range) {
  const std::string value = r ? range ? "a range" : fmt::format("{:.3f}", r->value) : "–";
  const std::string text =
      value + (r ? fmt::format("<span class=\"ends\">{:.3f} to {:.3f}</span>", r->low, r->high) : "");
  return fmt::format("<td class=\"n\" data-label=\"{}\"><span>{}</span></td>", label, text);
}

std::string factor_text(double margin) {
  if (margin <= 1) return "crossed";
  return std::isfinite(margin) ? "x" + plain_number(margin) : "none crosses";
}

std::string ends_text(const std::optional<forecast::DrawnEnds>& ends, std::string (*of)(double)) {
  if (!ends) return {};
  return fmt::format("<span class=\"ends\">{} to {}</span>", of(ends->low), of(ends->high));
}

std::string lever_row(std::string_view name, const LeverEffect& e, const LeverEffect& as_it_is) {
  const std::string margin =
      (e.margin ? factor_text(*e.margin) : "–") + ends_text(e.margin_ends, factor_text);
  const std::optional<double> most = e.most_nodes_over(as_it_is);
  const std::string nodes = (most ? fmt::format("{:.3f}", *most) : std::string("–")) +
                            ends_text(e.most_nodes_over_ends, [](double x) {
                              return std::isfinite(x) ? fmt::format("{:.3f}", x) : std::string("beyond");
                            });
  const auto cell = [&e](std::string_view label, const std::optional<LeverRatio>& r) {
    return lever_cell(label, r, e.range);
  };
  return fmt::format("<tr><th scope=\"row\">{}<span class=\"ends\">{}</span></th>", html(name),
                     html(e.does)) +
         cell("throughput", e.throughput) + cell("p99", e.p99) + cell("CV", e.cv) +
         cell("re-runs", e.rework) + cell("energy", e.energy) + cell("node hours", e.cost) +
         fmt::format(
             "<td class=\"n\" data-label=\"margin\">{}</td><td class=\"n\" data-label=\"N*\">{}</td><td "
             "class=\"n\" data-label=\"price\">{}</td></tr>\n",
             margin, nodes, e.price > 0 ? plain_number(e.price) : "–");
}

std::string lever_rows(const forecast::LeverTable& t) {
  std::string rows = lever_row("as it is", t.baseline, t.baseline);
  for (const LeverEffect& e : t.levers) {
    const std::string name = e.names.empty() ? std::string() : e.names.front();
    rows += e.why_not.empty() ? lever_row(name, e, t.baseline)
                              : fmt::format(
                                    "<tr><th scope=\"row\">{}</th><td colspan=\"9\" class=\"quiet\" "
                                    "data-label=\"not here\">{}</td></tr>\n",
                                    html(name), html(e.why_not));
  }
  std::string heads;
  for (const std::string_view name :
       {"throughput", "p99", "CV", "re-runs", "energy", "node hours", "margin", "N*", "price"})
    heads += fmt::format("<th scope=\"col\" class=\"n\">{}</th>", name);
  return "<div class=\"scroll\" tabindex=\"0\"><table class=\"stack\">\n<thead><tr><th "
         "scope=\"col\">lever</th>" +
         heads + "</tr></thead>\n<tbody>\n" + rows + "</tbody></table></div>\n";
}

/// Of a Run, with its calibrated Scenario.
std::string played_table(const std::optional<forecast::LeverTable>& t) {
  if (!t) return {};
  return caption(fmt::format(
             "Who waits for whom, simulated with the calibrated Scenario, which reproduces the recorded steps: on {} "
             "ranks, {} replicas of {} steps on common draws. Each rank is a worker, work does not depend on who "
             "waits; the intervals are of the Scenario's draws alone.",
             grouped(t->ranks), t->replicas, grouped(t->steps))) +
         lever_rows(*t);
}

std::string lever_table(const ForecastPage& page) {
  if (!page.levers) return {};
  const forecast::LeverTable& t = *page.levers;
  const std::string at = t.by_parts
                             ? fmt::format("on {} ranks, by the job's parts, {} draws of what they are",
                                           grouped(t.ranks), t.replicas)
                             : fmt::format("on {} nodes, {} replicas of {} steps on common draws",
                                           grouped(t.nodes), t.replicas, grouped(t.steps));
  return section(
      "levers", "Every lever alone",
      caption(fmt::format("Ratios to the job as it is, {}; 90 % intervals under each number. Margin: the "
                          "smallest change of one parameter that crosses the next bend. Prices are stated, "
                          "not measured. What a lever does to learning is {}.",
                          at, page.learned ? "below" : "not included")) +
          lever_rows(t) + played_table(page.played));
}

std::string not_learned_row(std::string_view name, int columns, std::string_view why) {
  return fmt::format(
      "<tr><th scope=\"row\">{}</th><td colspan=\"{}\" class=\"quiet\" data-label=\"no number\">{}</td></tr>\n",
      html(name), columns, html(why));
}

std::string learned_head(const std::vector<std::string_view>& columns) {
  std::string heads;
  for (const std::string_view name : columns)
    heads += fmt::format("<th scope=\"col\"{}>{}</th>", heads.empty() ? "" : " class=\"n\"", name);
  return "<div class=\"scroll\" tabindex=\"0\"><table class=\"stack\">\n<thead><tr>" + heads +
         "</tr></thead>\n<tbody>\n";
}

std::string learned_levers(const forecast::LearnedControl& c) {
  if (c.levers.empty()) return {};
  std::string rows;
  for (const forecast::LearnedLever& l : c.levers) {
    rows += l.why_not.empty()
                ? fmt::format("<tr><th scope=\"row\">{}</th><td class=\"n\" data-label=\"ranks\">{}</td>",
                              html(l.name), grouped(l.ranks)) +
                      lever_cell("throughput", l.throughput, false) +
                      lever_cell("samples", l.samples, false) +
                      lever_cell("time to the target", l.time, false) + "</tr>\n"
                : not_learned_row(l.name, 4, l.why_not);
  }
  return learned_head({"lever", "ranks", "throughput", "samples", "time to the target"}) + rows +
         "</tbody></table></div>\n";
}

std::string learned_sizes(const forecast::LearnedControl& c) {
  if (c.sizes.empty()) return {};
  std::string rows;
  for (const forecast::LearnedSize& s : c.sizes) {
    rows +=
        s.why_not.empty()
            ? fmt::format(
                  "<tr><th scope=\"row\">{}</th><td class=\"n\" data-label=\"throughput\">{}</td>{}<td class=\"n\" "
                  "data-label=\"time to the target\">{:.3f}</td></tr>\n",
                  grouped(s.ranks), plain_number(s.throughput, 4), lever_cell("samples", s.samples, false),
                  s.time_ratio)
            : not_learned_row(grouped(s.ranks), 3, s.why_not);
  }
  return "<h3>Sizes, over the size seen</h3>\n" +
         learned_head({"ranks", "throughput", "samples", "time to the target"}) + rows +
         "</tbody></table></div>\n";
}

/// Levers and sizes by the time to a target.
std::string learned(const ForecastPage& page) {
  if (!page.learned) return {};
  const forecast::LearnedControl& c = *page.learned;
  std::string notes;
  for (const std::string& note : c.notes) notes += "<li>" + html(note) + "</li>\n";
  if (!c.no_regimes.empty())
    notes += "<li>" + html("Bends in samples that count: " + c.no_regimes) + "</li>\n";
  return section(
      "learning", "Time to a target",
      caption(fmt::format(
          "Learned by real gradients in virtual time: {}. Samples that count until the target, each job at its own best "
          "step size, and samples over throughput; ratios to the job as it is, 90 % intervals under each number. A "
          "problem of this size says nothing of how well a large model generalises.",
          c.what)) +
          learned_levers(c) + learned_sizes(c) +
          (c.no_regimes.empty() ? "<h3>Where it bends, when samples count by what they are worth</h3>\n" +
                                      transitions(c.regimes, "least time to the target")
                                : "") +
          (notes.empty() ? "" : "<ul class=\"limits\">\n" + notes + "</ul>\n"));
}

std::string monitoring(const ForecastPage& page) {
  if (page.monitored.empty()) return {};
  std::string rows;
  for (const Monitored& m : page.monitored)
    rows += fmt::format(
        "<tr{}><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
        m.moved ? " class=\"named\"" : "", html(m.figure), html(m.small), html(m.large),
        m.moved ? "moved" : "nominal");
  return section(
      "monitoring", "What ordinary monitoring would have shown",
      "<div class=\"scroll\" tabindex=\"0\"><table class=\"analysis\">\n<thead><tr><th scope=\"col\">figure</th><th "
      "scope=\"col\" class=\"n\">small run</th><th scope=\"col\" class=\"n\">at size</th><th scope=\"col\">it "
      "looks</th></tr></thead>\n<tbody>\n" +
          rows + "</tbody></table></div>\n");
}

std::string list_of(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& i : items) out += "<li>" + html(i) + "</li>\n";
  return out.empty() ? out : "<ul class=\"limits\">\n" + out + "</ul>\n";
}

std::string downloads(const ForecastPage& page) {
  std::string out;
  for (const Artefact& a : page.artefacts)
    out += fmt::format(
        "<li><a download=\"{}\" href=\"data:application/octet-stream;base64,{}\">{}</a> <span class=\"quiet\">{}, {} "
        "bytes</span></li>\n",
        html(a.name), base64(a.text), html(a.name), html(a.what),
        grouped(static_cast<std::int64_t>(a.text.size())));
  if (out.empty()) return {};
  return section("artefacts", "Evidence and artefacts",
                 caption("Saved from this file itself.") + "<ul class=\"limits\">\n" + out + "</ul>\n");
}

}  // namespace

Result<std::string> render_forecast(const ForecastPage& page) {
  if (page.sizes.empty())
    return fail({.code = Errc::InvalidInput,
                 .id = "report-002",
                 .message = "a forecast without a size has no page",
                 .hint = "say sizes: --to 64,256,1024",
                 .where = std::nullopt});
  std::string out = head(page);
  out += fmt::format(
      "<header class=\"top\"><span class=\"mark\">Coxswain</span><span class=\"run\">forecast of {}</span></header>\n",
      html(page.name));
  out += fmt::format(
      "<main>\n<section id=\"verdict\"><p class=\"eyebrow\">Forecast</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n</section>\n",
      html(page.headline), html(page.lead));
  out += definition(page) + recognition(page) + observations(page) + projection(page) + metrics(page) +
         lever_table(page) + learned(page);
  out += section("decision", "Decision implication", list_of(page.implications));
  out += monitoring(page);
  out += section("limits", "What this forecast does not know", list_of(page.limits));
  out += downloads(page);
  out += fmt::format(
      "</main>\n<footer><p>Written by cox {}. This file is complete in itself, asks the network for nothing and runs no "
      "script.</p></footer>\n</body>\n</html>\n",
      COX_VERSION);
  return out;
}

}  // namespace cox::report
