// SPDX-License-Identifier: Apache-2.0
#include "report/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "report/bars.hpp"
#include "report/markup.hpp"
#include "report/words.hpp"

namespace cox::report {
namespace {

using diagnose::Finding;
using diagnose::RankAccount;

constexpr std::size_t kRankRows = 1024;   // more rows than anybody reads; the rest is in the JSON result
constexpr std::size_t kListedItems = 64;  // notes, hosts, communicators: then "and N more"

std::string time(Duration d) {
  return html(to_string(d));
}

/// A length of time with its sign, for differences.
std::string signed_time(Duration d) {
  if (d < Duration::zero()) return "\u2212" + time(-d);
  return (d > Duration::zero() ? "+" : "") + time(d);
}

std::string plural(std::int64_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", grouped(n), n == 1 ? one : many);
}

/// A section with heading and one line on how to read it.
std::string section(std::string_view id, std::string_view title, std::string_view caption,
                    std::string_view body) {
  const std::string about = caption.empty() ? "" : fmt::format("<p class=\"caption\">{}</p>\n", caption);
  return fmt::format(
      "<section id=\"{}\" aria-labelledby=\"{}-title\">\n<h2 id=\"{}-title\">{}</h2>\n{}{}\n</section>\n", id,
      id, id, title, about, body);
}

std::string definition(std::string_view term, std::string_view value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", term, value);
}

std::string more(std::size_t count, std::string_view what) {
  return count > kListedItems ? fmt::format("<li class=\"more\">and {} more {}</li>\n",
                                            grouped(static_cast<std::int64_t>(count - kListedItems)), what)
                              : std::string{};
}

/// The headline with its numbers set apart, so that a named rank is what the eye meets first.
std::string headline_markup(const std::string& text) {
  std::string out;
  bool inside = false;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool joins =
        inside && i + 1 < text.size() && (text[i] == '-' || text[i] == ',') && is_digit(text[i + 1]);
    const bool number = is_digit(text[i]) || joins;
    if (number != inside) out += number ? "<strong>" : "</strong>";
    inside = number;
    out += html(text.substr(i, 1));
  }
  return inside ? out + "</strong>" : out;
}

std::string finding_row(const Page& page, const Finding& f, std::size_t number) {
  std::string evidence;
  for (const diagnose::Evidence& e : diagnose::evidence_of(f)) {
    evidence += fmt::format("<li>{}</li>", html(page.names.text(e.text)));
  }
  std::string who = html(subject(f));
  if (!f.components.empty()) who += "<br>link " + html(page.names.text(diagnose::component_words(f)));
  if (f.group) {
    const trace::Communicator* comm = page.run.find(*f.group);
    if (comm != nullptr && !comm->name.empty()) who += "<br>group " + html(page.names.group(comm->name));
  }
  return fmt::format(
      "<tr><td class=\"n\" data-label=\"#\">{}</td><td data-label=\"what\">{}</td><td "
      "data-label=\"who\"><b>{}</b></td><td data-label=\"cause\">{}</td><td class=\"n\" data-label=\"share "
      "of lost time\">{}</td><td class=\"n\" data-label=\"gain\">{}</td><td data-label=\"evidence\"><ul "
      "class=\"plain\">{}</ul></td></tr>\n",
      number, kind_words(f.kind), who, html(page.names.text(cause_words(f.cause))),
      !diagnose::is_gain_told(f) ? "not told" : bar_of(f.share_ratio) + percent(f.share_ratio),
      html(diagnose::gain_words(f)), evidence);
}

/// Names by rank, built once: a page of a thousand ranks asks for each.
std::map<Rank, NodeId> nodes_by_rank(const trace::Run& run) {
  std::map<Rank, NodeId> out;
  for (const trace::RankTrack& track : run.ranks) out.emplace(track.rank, track.node);
  return out;
}

/// Ranks named by any finding; where the turn rotates over many, marking all of them would mark nobody.
std::set<Rank> named_ranks(const diagnose::Diagnosis& d) {
  std::set<Rank> out;
  for (const Finding& f : d.findings) {
    if (f.kind == diagnose::FindingKind::RotatingStraggler) continue;
    if (f.rank) {
      out.insert(*f.rank);
    } else {
      out.insert(f.ranks.begin(), f.ranks.end());
    }
  }
  return out;
}

/// A cell that sorts by its number, not by its text.
std::string sort_cell(double key, std::string_view text) {
  return fmt::format("<td class=\"n\" data-key=\"{:.9g}\">{}</td>", key, text);
}

/// Whether anybody waited for messages: then they have a colour and a column.
bool waits_for_messages(const diagnose::Diagnosis& d) {
  return std::any_of(d.ranks.begin(), d.ranks.end(),
                     [](const RankAccount& a) { return a.message_wait > Duration::zero(); });
}

std::string rank_row(const RankAccount& a, const std::string& host, bool named, bool messages) {
  return fmt::format("<tr{}><th scope=\"row\" class=\"n\" data-key=\"{}\">{}{}</th>",
                     named ? " class=\"named\"" : "", a.rank.value(),
                     named ? "<span class=\"flag\" title=\"named above\">\u25B8</span> " : "",
                     a.rank.value()) +
         fmt::format("<td class=\"host\"><bdi>{}</bdi></td><td>{}</td>", html(host), split_bar(a)) +
         sort_cell(in_seconds(a.work), time(a.work)) + sort_cell(in_seconds(a.wait), time(a.wait)) +
         (messages ? sort_cell(in_seconds(a.message_wait), time(a.message_wait)) : "") +
         sort_cell(in_seconds(a.transfer), time(a.transfer)) +
         sort_cell(in_seconds(a.self_delay_median), signed_time(a.self_delay_median)) +
         sort_cell(in_seconds(a.charged), time(a.charged)) + sort_cell(a.last_share, percent(a.last_share)) +
         "</tr>\n";
}

std::string merge_note(const Columns& columns) {
  if (columns.merged <= 1) return {};
  return fmt::format(
      " <b>{} steps merged per cell</b> to keep this file small; each cell holds their mean and their largest value.",
      grouped(columns.merged));
}

std::string legend_keys(bool messages) {
  return std::string(
             "<ul class=\"keys\"><li><i class=\"work\"></i>compute: the rank's own work</li><li><i "
             "class=\"wait\"></i>wait: for the last rank to arrive</li>") +
         (messages
              ? "<li><i class=\"message\"></i>wait for messages: until the peer has sent or received</li>"
              : "") +
         "<li><i class=\"transfer\"></i>transfer: "
         "all arrived, data moves</li><li><i class=\"path\"></i>critical path of what is in view, "
         "where it can be drawn</li></ul>";
}

std::string button(std::string_view action, std::string_view label, std::string_view title) {
  return fmt::format("<button type=\"button\" data-do=\"{}\" title=\"{}\" aria-label=\"{}\">{}</button>",
                     action, title, title, label);
}

}  // namespace

std::string top_bar(const Page& page) {
  std::string name = html(page.names.run());
  if (!page.run.info.started.empty()) {
    name += fmt::format("{}<time>{}</time>", name.empty() ? "" : " \u00B7 ", html(page.run.info.started));
  }
  return fmt::format(
      "<header class=\"top\"><span class=\"mark\">Coxswain</span><span "
      "class=\"run\"><bdi>{}</bdi></span><button type=\"button\" id=\"theme\" title=\"light or dark\" "
      "aria-label=\"switch between light and dark\">\u25D0</button></header>\n",
      name);
}

std::string verdict_section(const Page& page) {
  const diagnose::Diagnosis& d = page.diagnosis;
  const auto ranks = static_cast<std::int64_t>(page.run.ranks.size());
  std::string eyebrow = fmt::format("{} \u00B7 {} on {} \u00B7 {} \u00B7 {} events",
                                    provenance_word(page.run.info.provenance), plural(ranks, "rank", "ranks"),
                                    plural(static_cast<std::int64_t>(page.run.nodes.size()), "host", "hosts"),
                                    plural(d.steps, "step", "steps"),
                                    grouped(static_cast<std::int64_t>(page.run.event_count())));
  constexpr const char* kNone = "\u2013<small>{}</small>";
  const std::string step_time =
      d.step_time.count > 0 ? fmt::format("{}<small>{} to {} (5th to 95th percentile, n = {})</small>",
                                          time(d.step_time.median), time(d.step_time.p05),
                                          time(d.step_time.p95), grouped(d.step_time.count))
                            : fmt::format(kNone, "no step was found");
  const std::string coverage =
      d.coverage.calls_expected > 0 || d.steps > 0
          ? fmt::format("{}<small>of the expected collective calls</small>", percent(d.coverage.ratio))
          : fmt::format(kNone, "no collective call was recorded");
  const auto lost_part = lost_ratio(d);
  const std::string lost =
      lost_part ? fmt::format("{}<small>{} of {} of run time</small>", percent(*lost_part), time(d.lost),
                              time(d.run_time))
      : d.lost > Duration::zero()
          ? fmt::format("{}<small>over all groups, {} of run time</small>", time(d.lost), time(d.run_time))
          : fmt::format(kNone, "no wait can be told");
  const std::string facts =
      definition("step time, median", step_time) + definition("lost to late arrivals", lost) +
      definition("coverage", coverage) +
      definition("clock residual", fmt::format("{}<small>{}</small>", time(d.coverage.clock_residual),
                                               d.coverage.clocks_comparable
                                                   ? "one clock for all ranks"
                                                   : plural(d.coverage.clock_domains, "clock", "clocks") +
                                                         ", aligned by common returns"));
  const bool named = !d.findings.empty();
  return fmt::format(
      "<section id=\"verdict\" class=\"{}\">\n<p class=\"eyebrow\">{}</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n"
      "<dl class=\"facts\">\n{}</dl>\n</section>\n",
      named ? "named" : "nobody", eyebrow, headline_markup(headline(d)), html(page.names.text(lead(d))),
      facts);
}

std::string findings_section(const Page& page) {
  const diagnose::Diagnosis& d = page.diagnosis;
  const bool tested = d.answer.reasons.empty();
  if (d.findings.empty() && !tested) {
    std::string why;
    for (const diagnose::ReasonClause& r : d.answer.reasons)
      why += "<li>" + html(page.names.text(r.text)) + "</li>";
    return section(
        "findings", "Findings", "",
        "<p class=\"none\">None, and that does not mean that nobody sets the pace:</p><ul class=\"plain\">" +
            why + "</ul>");
  }
  if (d.findings.empty()) {
    return section(
        "findings", "Findings", "",
        "<p class=\"none\">None. No rank, group or link lost enough time, often enough, to be told from "
        "noise. Naming nobody is an answer: what is left is variation that all ranks share.</p>");
  }
  std::string rows;
  for (std::size_t i = 0; i < d.findings.size(); ++i) rows += finding_row(page, d.findings[i], i + 1);
  return section(
      "findings", "Findings",
      "Most costly first. Share: of all time lost to late arrivals, measured. Gain: of the run's time, what "
      "would be saved without it, estimated.",
      "<div class=\"scroll\"><table class=\"stack findings\"><thead><tr><th "
      "class=\"n\">#</th><th>what</th><th>who</th><th>cause</th><th class=\"n\">share</th><th "
      "class=\"n\">gain, est.</th><th>evidence</th></tr></thead><tbody>\n" +
          rows + "</tbody></table></div>");
}

std::string step_time_section(const Page& page) {
  if (page.diagnosis.step_times.empty()) {
    return section(
        "steps", "Step time", "",
        "<p class=\"none\">No steps were found in this input, so there is no time per step to draw.</p>");
  }
  return section(
      "steps", "Step time",
      fmt::format("Time of each step; steps are {}. Drag to zoom, double-click for all, click a step to "
                  "see it in the timeline.",
                  step_source_words(page.diagnosis.step_source)),
      "<p class=\"readout\" id=\"step-readout\">&nbsp;</p><div class=\"chart\" id=\"step-chart\"></div>");
}

std::string timeline_section(const Page& page, const Columns& columns) {
  const std::size_t ranks = page.run.ranks.size();
  const std::string controls =
      "<div class=\"controls\" role=\"toolbar\" aria-label=\"timeline\">" +
      button("worst", "Worst step", "show the step with the most waiting (key w)") +
      button("all", "Whole run", "show the whole run (key 0)") + "<span class=\"gap\"></span>" +
      button("previous", "\u25C2", "one step back (key [)") +
      button("next", "\u25B8", "one step on (key ])") + button("out", "\u2212", "zoom out (key -)") +
      button("in", "+", "zoom in (key +)") + "<span class=\"gap\"></span>" +
      (ranks > 64 ? button("up", "\u25B4", "ranks above (arrow up)") +
                        button("down", "\u25BE", "ranks below (arrow down)")
                  : std::string{}) +
      "<span class=\"readout\" id=\"timeline-readout\"></span></div>";
  const std::string rounding = fmt::format(
      " Where spans are narrower than a pixel, each column shows its exact shares, stacked. Times are "
      "rounded to {}.",
      grain_of(columns));
  return section(
      "timeline", "Timeline of ranks",
      (page.run.event_count() == 0 ? "No event was recorded: there is nothing to draw yet. " : "") +
          ("Drag to pan, wheel or + and \u2212 to zoom." + rounding + merge_note(columns)),
      legend_keys(waits_for_messages(page.diagnosis)) + controls +
          "<div class=\"chart ranks\"><div id=\"timeline-chart\"></div><div class=\"rank-scroll\" "
          "id=\"rank-scroll\" tabindex=\"-1\" aria-hidden=\"true\"><div></div></div></div><p "
          "class=\"readout\" id=\"timeline-note\"></p>");
}

std::string heat_map_section(const Page& page, const Columns& columns) {
  if (page.diagnosis.step_times.empty()) {
    return section(
        "heat", "Wait per rank and step", "",
        "<p class=\"none\">No steps were found in this input, so there is nothing to draw here.</p>");
  }
  const std::string controls =
      "<div class=\"controls\"><span class=\"choice\" role=\"group\" aria-label=\"quantity\">" +
      button("wait", "Wait", "time spent waiting") +
      button("work", "Own work", "time of the rank's own work") +
      "</span><span class=\"choice\" id=\"heat-fold\" role=\"group\" aria-label=\"how cells are joined\">" +
      button("mean", "Mean", "mean of the steps and ranks under a pixel") +
      button("max", "Max", "largest of the steps and ranks under a pixel") +
      "</span><span class=\"legend\" id=\"heat-legend\"></span></div>";
  return section(
      "heat", "Wait per rank and step",
      "One row per rank, one column per step. The rank that the others wait for waits least itself: its "
      "row stays blank." +
          merge_note(columns),
      controls + "<div class=\"chart\" id=\"heat-chart\"></div><p class=\"readout\" id=\"heat-note\"></p>");
}

std::string ranks_section(const Page& page) {
  const diagnose::Diagnosis& d = page.diagnosis;
  const std::vector<const RankAccount*> order = by_charge(d);
  const std::map<Rank, NodeId> nodes = nodes_by_rank(page.run);
  const std::set<Rank> named = named_ranks(d);
  const bool messages = waits_for_messages(d);
  std::string rows;
  for (std::size_t i = 0; i < std::min(order.size(), kRankRows); ++i) {
    const RankAccount& a = *order[i];
    const auto node = nodes.find(a.rank);
    rows += rank_row(a, node == nodes.end() ? std::string{} : page.names.host(node->second),
                     named.contains(a.rank), messages);
  }
  std::string note;
  if (order.size() > kRankRows) {
    note = fmt::format(
        "<p class=\"caption\">The {} ranks with the largest charge of {}; all are in the output of "
        "<code>cox diagnose --json</code>.</p>",
        grouped(static_cast<std::int64_t>(kRankRows)), grouped(static_cast<std::int64_t>(order.size())));
  }
  return section(
      "ranks", "Ranks",
      fmt::format("Run time = work + wait + {}transfer. ", messages ? "wait for messages + " : "") +
          "Self-delay: own work above the median of all ranks, median over steps. Charged: time the others lost "
          "because this rank was last.",
      "<div class=\"scroll tall\"><table class=\"sortable\" id=\"rank-table\"><thead><tr><th "
      "class=\"n\">rank</th><th>host</th><th>run time</th><th class=\"n\">work</th><th "
      "class=\"n\">wait</th>" +
          std::string(messages ? "<th class=\"n\">for messages</th>" : "") +
          "<th class=\"n\">transfer</th><th class=\"n\">self-delay</th><th class=\"n\" "
          "aria-sort=\"descending\">charged</th><th class=\"n\">last</th></tr></thead><tbody>\n" +
          rows + "</tbody></table></div>" + note);
}

std::string coverage_section(const Page& page) {
  const diagnose::Diagnosis& d = page.diagnosis;
  const diagnose::Coverage& c = d.coverage;
  std::string facts =
      definition("collective calls", fmt::format("{} of {} expected were seen ({})", grouped(c.calls_seen),
                                                 grouped(c.calls_expected), percent(c.ratio))) +
      definition("collective operations",
                 fmt::format("{} of {} seen on every member", grouped(c.collectives_matched),
                             grouped(c.collectives_seen))) +
      definition("ranks",
                 fmt::format("{} of {}{}", grouped(c.ranks_seen), grouped(c.ranks_expected),
                             c.missing_ranks.empty() ? "" : ", missing " + rank_list(c.missing_ranks))) +
      definition("operations on whose kind members disagree", grouped(c.mismatched)) +
      definition("records dropped for lack of room", grouped(static_cast<std::int64_t>(c.dropped_records))) +
      definition("records overwritten to stay small",
                 grouped(static_cast<std::int64_t>(c.recycled_records))) +
      definition("calls that never returned", grouped(c.unfinished_calls)) +
      definition("clocks", fmt::format("{}, {}; residual {}", plural(c.clock_domains, "domain", "domains"),
                                       c.clocks_comparable ? "entry times can be compared directly"
                                                           : "entry times cannot be compared directly",
                                       time(c.clock_residual))) +
      (host_clock_words(c).empty() ? std::string{} : definition("hosts' clocks", host_clock_words(c))) +
      (c.clocks_comparable ? std::string{}
                           : definition("spread of ends over spread of begins",
                                        fmt::format("{:.2f}; under 0.1, short durations mean late arrivals",
                                                    c.wait_validity_ratio))) +
      definition("waits told from", d.wait_method == diagnose::WaitMethod::Duration
                                        ? "durations: who stays shortest in a call came last"
                                        : "entry times: the wait lasts until the last member has entered") +
      definition("steps", fmt::format("{}, {}", grouped(d.steps), step_source_words(d.step_source)));
  std::string notes;
  for (std::size_t i = 0; i < std::min(page.run.notes.size(), kListedItems); ++i) {
    const trace::Note& note = page.run.notes[i];
    notes += fmt::format("<li>{}{}{}</li>\n", html(page.names.file(note.file)), note.file.empty() ? "" : ": ",
                         html(page.names.text(note.text)));
  }
  if (!notes.empty()) {
    notes = "<h3>Not used, and why</h3><ul>" + notes + more(page.run.notes.size(), "notes") + "</ul>";
  }
  return section("coverage", "Coverage and clocks", "How much of what should be there was there.",
                 "<dl class=\"list\">\n" + facts + "</dl>" + notes);
}

std::string groups_section(const Page& page) {
  const auto& groups = page.diagnosis.communicators;
  if (groups.empty()) return {};
  std::string rows;
  for (std::size_t i = 0; i < std::min(groups.size(), kRankRows); ++i) {
    const diagnose::CommAccount& g = groups[i];
    const std::string name = page.names.group(g.name);
    rows += fmt::format("<tr><th scope=\"row\"><bdi>{}</bdi></th>", html(name.empty() ? "unnamed" : name)) +
            sort_cell(g.size, grouped(g.size)) +
            sort_cell(static_cast<double>(g.collectives), grouped(g.collectives)) +
            sort_cell(static_cast<double>(g.bytes.count()), html(to_string(g.bytes))) + "</tr>\n";
  }
  std::string note;
  if (groups.size() > kRankRows) {
    note = fmt::format("<p class=\"caption\">The first {} of {} communicators.</p>",
                       grouped(static_cast<std::int64_t>(kRankRows)),
                       grouped(static_cast<std::int64_t>(groups.size())));
  }
  return section("groups", "Communicators", "Collective operations of each group, and their message bytes.",
                 "<div class=\"scroll tall\"><table class=\"sortable\"><thead><tr><th>name</th><th "
                 "class=\"n\">members</th><th class=\"n\">operations</th><th "
                 "class=\"n\">bytes</th></tr></thead><tbody>\n" +
                     rows + "</tbody></table></div>" + note);
}

std::string limits_section(const Page& page) {
  if (page.diagnosis.cannot_tell.empty()) return {};
  std::string items;
  for (const std::string& sentence : page.diagnosis.cannot_tell) {
    items += fmt::format("<li>{}</li>\n", html(page.names.text(sentence)));
  }
  return section("limits", "What this input cannot tell", "", "<ul class=\"limits\">" + items + "</ul>");
}

std::string provenance_section(const Page& page) {
  const trace::Run& run = page.run;
  std::map<std::string, std::vector<Rank>> hosts;
  std::set<std::string> programs, libraries, timings;
  for (const trace::RankTrack& track : run.ranks) {
    hosts[page.names.host(track.node)].push_back(track.rank);
    programs.insert(page.names.program(track.program));
    libraries.insert(page.names.text(track.library));
    timings.insert(page.names.text(track.timing));
  }
  const auto joined = [](const std::set<std::string>& items) {
    std::string text;
    std::size_t count = 0;
    for (const std::string& item : items) {
      if (item.empty() || ++count > 8) continue;
      text += (text.empty() ? "" : ", ") + html(item);
    }
    return count > 8 ? text + fmt::format(" and {} more", count - 8) : text;
  };
  std::string facts = definition("kind", provenance_word(run.info.provenance));
  const auto add = [&](std::string_view term, const std::string& value) {
    if (!value.empty()) facts += definition(term, value);
  };
  const std::string command = page.names.command();
  add("command", command.empty() ? "" : "<code>" + html(command) + "</code>");
  add("started", html(run.info.started));
  add("job", html(page.names.job()));
  if (run.info.exit_status >= 0) add("exit status", grouped(run.info.exit_status));
  add("program", joined(programs));
  add("library", joined(libraries));
  add("timing source", joined(timings));
  add("recorded by", html(page.names.text(run.info.tool)));
  if (const Duration overhead = page.diagnosis.coverage.overhead_per_event; overhead > Duration::zero())
    add("recorder's own cost", time(overhead) + " per event, the largest of all ranks");
  std::string list;
  std::size_t count = 0;
  for (const auto& [host, ranks] : hosts) {
    if (++count > kListedItems) break;
    list += fmt::format("<li><bdi>{}</bdi>: {} {}</li>\n", html(host.empty() ? "host not recorded" : host),
                        ranks.size() == 1 ? "rank" : "ranks", rank_list(ranks));
  }
  const std::string table = fmt::format(
      "<details{}><summary>{}</summary><ul class=\"plain\">{}{}</ul></details>",
      hosts.size() <= 8 ? " open" : "", plural(static_cast<std::int64_t>(hosts.size()), "host", "hosts"),
      list, more(hosts.size(), "hosts"));
  return section("provenance", "Where this comes from",
                 page.names.anonymous() ? "Names of hosts, programs, jobs and groups are replaced." : "",
                 "<dl class=\"list\">\n" + facts + "</dl>" + table);
}

}  // namespace cox::report
