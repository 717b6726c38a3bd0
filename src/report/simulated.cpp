// SPDX-License-Identifier: Apache-2.0
#include "report/simulated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "report/bars.hpp"
#include "report/markup.hpp"

namespace cox::report {
namespace {

using simulate::LinkLoad;

/// Per tier; beyond it neighbours share one, which shows the largest.
constexpr std::size_t kMostCells = 1024;
constexpr std::size_t kTableRows = 10;

std::string cell(const LinkLoad& shown, std::size_t links) {
  const std::string title =
      fmt::format("{}: {} of the time, {}{}", shown.name, percent(shown.utilisation_ratio),
                  to_string(shown.bytes), links > 1 ? fmt::format("; busiest of {}", links) : "");
  return fmt::format("<i style=\"--shade:{:.3f}\" title=\"{}\"></i>",
                     std::clamp(shown.utilisation_ratio, 0.0, 1.0), html(title));
}

std::string strip(const simulate::LinkTier& tier) {
  const std::vector<const LinkLoad*>& links = tier.links;
  const std::size_t per_cell = neighbours_per_cell(links.size(), kMostCells);
  std::string cells;
  for (std::size_t i = 0; i < links.size(); i += per_cell) {
    const std::size_t end = std::min(links.size(), i + per_cell);
    const LinkLoad* busiest = links[i];
    for (std::size_t k = i; k < end; ++k)
      if (links[k]->utilisation_ratio > busiest->utilisation_ratio) busiest = links[k];
    cells += cell(*busiest, end - i);
  }
  return fmt::format(
      "<h3>{}: {} links, mean {}, busiest {}</h3>\n<div class=\"links\" role=\"img\" "
      "aria-label=\"load of {} links\">{}</div>\n",
      html(tier.name), grouped(static_cast<std::int64_t>(links.size())), percent(tier.mean_ratio),
      percent(tier.busiest_ratio), html(tier.name), cells);
}

std::string busiest_table(std::vector<const LinkLoad*> links) {
  const std::size_t n = std::min(kTableRows, links.size());
  std::partial_sort(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(n), links.end(),
                    [](const LinkLoad* a, const LinkLoad* b) {
                      return a->utilisation_ratio != b->utilisation_ratio
                                 ? a->utilisation_ratio > b->utilisation_ratio
                                 : a->name < b->name;
                    });
  std::string rows;
  for (std::size_t i = 0; i < n; ++i)
    rows += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"n shade\" style=\"--shade:{:.3f}\">{}</td><td "
        "class=\"n\">{}</td></tr>\n",
        html(links[i]->name), std::clamp(links[i]->utilisation_ratio, 0.0, 1.0),
        percent(links[i]->utilisation_ratio), html(to_string(links[i]->bytes)));
  return "<div class=\"scroll\" tabindex=\"0\"><table class=\"analysis\">\n<thead><tr><th "
         "scope=\"col\">busiest links</th><th scope=\"col\" class=\"n\">utilisation</th><th scope=\"col\" "
         "class=\"n\">bytes</th></tr></thead>\n<tbody>\n" +
         rows + "</tbody></table></div>\n";
}

std::string links_part(const simulate::Outcome& o) {
  std::vector<const LinkLoad*> used;
  for (const LinkLoad& link : o.links)
    if (link.bytes.count() > 0) used.push_back(&link);
  if (used.empty()) return {};
  std::string out =
      "<p class=\"caption\">One cell per link and direction; the stronger its colour, "
      "the more of the time it was busy.</p>\n";
  for (const simulate::LinkTier& tier : simulate::tiers_of(o.links)) out += strip(tier);
  return out + busiest_table(used);
}

}  // namespace

std::string simulated_section(const simulate::Outcome& o) {
  std::string text = fmt::format("Simulated by the {} engine, protocol {}", model::name_of(o.engine),
                                 model::name_of(o.protocol));
  if (o.closure) text += "; collectives by identities instead of round by round";
  if (o.memo) text += "; repeated states of the network were not solved again";
  std::string notes;
  for (const std::string& left_out : o.not_modelled)
    notes += fmt::format("<li>Not modelled: {}</li>\n", html(left_out));
  for (const std::string& note : o.notes) notes += fmt::format("<li>{}</li>\n", html(note));
  if (!notes.empty()) notes = "<ul class=\"limits\">" + notes + "</ul>\n";
  const std::string links = links_part(o);
  return fmt::format(
      "<section id=\"simulated\" aria-labelledby=\"simulated-title\">\n<h2 id=\"simulated-title\">How "
      "it was simulated{}</h2>\n"
      "<p>{}. Nothing on this page was measured.</p>\n{}{}</section>\n",
      links.empty() ? "" : ", and the load of the links", html(text), notes, links);
}

std::string scaling_section(std::span<const simulate::SizeOutcome> points) {
  if (points.size() < 2) return {};
  std::string rows;
  for (const simulate::SizeOutcome& p : points) {
    const std::string spread =
        p.step.replicas > 1 ? fmt::format(" ± {}", to_string(p.step.half_width_95)) : "";
    rows += fmt::format(
        "<tr><th scope=\"row\" class=\"n\">{}</th><td class=\"n\">{}{}</td><td class=\"n\">{}</td></tr>\n",
        grouped(p.ranks), html(to_string(p.step.mean)), html(spread), percent(p.efficiency(points.front())));
  }
  return "<section id=\"scaling\" aria-labelledby=\"scaling-title\">\n<h2 "
         "id=\"scaling-title\">Time against size</h2>\n"
         "<p class=\"caption\">Mean time of a step; " +
         std::string(
             points.front().fixed_batch
                 ? "the same batch at every size. Efficiency is ranks times time at the smallest size over "
                   "ranks times time at this one."
                 : "the same work per rank at every size. Efficiency is the time at the smallest size over "
                   "the time at this one.") +
         "</p>\n<div class=\"chart\" id=\"scaling-chart\"></div>\n"
         "<div class=\"scroll\" tabindex=\"0\"><table class=\"analysis\">\n<thead><tr><th "
         "scope=\"col\" class=\"n\">ranks</th><th scope=\"col\" class=\"n\">step</th><th scope=\"col\" "
         "class=\"n\">efficiency</th></tr></thead>\n<tbody>\n" +
         rows + "</tbody></table></div>\n</section>\n";
}

Json scaling_data(std::span<const simulate::SizeOutcome> points) {
  Json data = Json::object();
  for (const char* key : {"ranks", "mean_s", "low_s", "high_s"}) data[key] = Json::array();
  for (const simulate::SizeOutcome& p : points) {
    data["ranks"].push_back(p.ranks);
    data["mean_s"].push_back(p.step.mean.count());
    data["low_s"].push_back(p.step.low_95().count());
    data["high_s"].push_back(p.step.high_95().count());
  }
  return data;
}

}  // namespace cox::report
