// SPDX-License-Identifier: Apache-2.0
#include "cox/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "cox/base/json.hpp"
#include "cox/base/unknown_unit.hpp"
#include "cox/base/version.hpp"
#include "cox/diagnose/timeline.hpp"
#include "cox/trace/time_unit.hpp"

#include "report/analyses.hpp"
#include "report/assets.hpp"
#include "report/columns.hpp"
#include "report/markup.hpp"
#include "report/names.hpp"
#include "report/pacing.hpp"
#include "report/sections.hpp"
#include "report/simulated.hpp"
#include "report/words.hpp"

namespace cox::report {
namespace {

/// The form in which a content security policy names a script: base64 of the raw digest.
std::string policy_hash(std::string_view hex) {
  const auto nibble = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string raw;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    raw += static_cast<char>(nibble(hex[i]) << 4 | nibble(hex[i + 1]));
  }
  return "'sha256-" + base64(raw) + "'";
}

/// Only our own script runs and nothing is ever fetched, even if some recorded
/// name found a way into the markup.
std::string head(const std::string& title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; style-src "
      "'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<meta name=\"generator\" content=\"cox {}\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
      policy_hash(script_asset().sha256), COX_VERSION, html(title), style_asset().text);
}

Json span_names() {
  Json names = Json::object();
  for (int i = 0; i < model::kCollectiveCount; ++i) {
    names[std::to_string(i)] = model::name_of(static_cast<model::Collective>(i));
  }
  constexpr std::array<std::string_view, 4> kWaits = {"wait", "gradient wait", "request wait",
                                                      "message wait"};
  for (std::size_t i = 0; i < kWaits.size(); ++i) names[std::to_string(diagnose::kWaitCode + i)] = kWaits[i];
  names[std::to_string(diagnose::kDelayCode)] = "served delay";
  return names;
}

/// Steps count from 0 in the page's columns; findings name them by the program's own numbers.
std::int64_t position_of(const diagnose::Diagnosis& d, StepId step) {
  const auto at = std::find(d.step_numbers.begin(), d.step_numbers.end(), step);
  return at == d.step_numbers.end() ? step.value() : at - d.step_numbers.begin();
}

/// Ranks (as row numbers) to mark, and windows of steps to shade.
void add_findings(Json& meta, const trace::Run& run, const diagnose::Diagnosis& d) {
  std::vector<std::size_t> named;
  Json windows = Json::array();
  for (const diagnose::Finding& f : d.findings) {
    std::vector<Rank> ranks = f.ranks;
    if (f.rank) ranks.assign(1, *f.rank);
    if (f.kind != diagnose::FindingKind::RotatingStraggler) {
      for (std::size_t r = 0; r < run.ranks.size(); ++r) {
        const bool is_named = std::find(ranks.begin(), ranks.end(), run.ranks[r].rank) != ranks.end();
        if (is_named && std::find(named.begin(), named.end(), r) == named.end()) named.push_back(r);
      }
    }
    if (f.first_step && f.last_step) {
      windows.push_back({{"first", position_of(d, *f.first_step)}, {"last", position_of(d, *f.last_step)}});
    }
  }
  meta["named"] = named;
  meta["windows"] = windows;
}

Json describe(const trace::Run& run, const diagnose::Diagnosis& d, const Names& names,
              const Columns& columns) {
  Json meta;
  meta["schema"] = "cox.report/1";
  meta["unit_s"] = in_seconds(columns.unit);
  const auto unknown = trace::unknown_unit(run.ranks);
  meta["unknown_unit_s"] = unknown ? Json(unknown->count()) : Json(nullptr);
  meta["merged"] = columns.merged;
  meta["columns"] = columns.columns;
  meta["steps"] = d.step_times.size();
  meta["spans"] = columns.spans;
  meta["worst_step"] = columns.worst.step;
  meta["worst_by_wait"] = columns.worst.by_wait;
  meta["median_s"] = in_seconds(d.step_time.median);
  meta["p95_s"] = in_seconds(d.step_time.p95);
  add_findings(meta, run, d);
  meta["what"] = span_names();
  Json hosts = Json::array();
  std::map<std::string, std::size_t> known;
  Json ranks = Json::object();
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const auto [at, fresh] = known.emplace(names.host(run.ranks[r].node), known.size());
    if (fresh) hosts.push_back(at->first);
    ranks["rank"].push_back(run.ranks[r].rank.value());
    ranks["host"].push_back(at->second);
    ranks["spans"].push_back(columns.rows[r].spans);
    ranks["first"].push_back(columns.rows[r].first);
    ranks["last"].push_back(columns.rows[r].last);
  }
  meta["hosts"] = hosts;
  meta["ranks"] = ranks;
  Json sections = Json::array();
  for (const Section& s : columns.sections) {
    sections.push_back({{"name", s.name}, {"offset", s.offset}, {"length", s.length}});
  }
  meta["sections"] = sections;
  return meta;
}

std::string foot() {
  return fmt::format(
      "<footer><p>Written by cox {}. This file is complete in itself and asks the network for "
      "nothing.</p><details><summary>Charts by uPlot, MIT licence</summary><pre>{}</pre></details></footer>\n",
      COX_VERSION, html(chart_licence()));
}

}  // namespace

Result<std::string> render_html(const trace::Run& run, const diagnose::Matched& matched,
                                const diagnose::Diagnosis& diagnosis, const ReportOptions& options) {
  const UnknownUnit unit(trace::unknown_unit(run.ranks));
  // A job that failed before anything was recorded has a page all the same: how it ended.
  if (run.ranks.empty())
    return fail({.code = Errc::InvalidInput,
                 .id = "report-001",
                 .message = "nothing to draw: got no rank, wanted at least one",
                 .hint = "check what was recorded: cox diagnose DIR",
                 .where = {}});
  const Names names(run, options.anonymize);
  const Page page{run, diagnosis, names};

  const std::string before =
      top_bar(page) + "<main>\n" + verdict_section(page) +
      (options.against != nullptr ? comparison_section(page, *options.against) : std::string()) +
      (options.simulated != nullptr ? simulated_section(*options.simulated) : std::string()) +
      scaling_section(options.scaling) + findings_section(page) + remedies_section(page) +
      step_time_section(page);
  const std::string after = ranks_section(page) + pacing_section(page) + analyses_sections(page) +
                            coverage_section(page) + groups_section(page) + limits_section(page) +
                            provenance_section(page) + "</main>\n" + foot();
  const std::string top = head(headline(diagnosis) + " \u00B7 Coxswain");
  Json pacing;
  if (diagnosis.pacing && diagnosis.pacing->record) pacing = pacing_data(*diagnosis.pacing);
  const std::size_t text =
      json_inside(pacing).size() + top.size() + before.size() + after.size() + script_asset().text.size();
  const std::size_t budget = data_budget(options.size_limit, text, run.ranks.size());
  const Columns columns = encode_columns(run, diagnose::Timeline(matched), diagnosis, budget);

  std::string out = top;
  const std::string data = base64(columns.deflated);
  out.reserve(text + data.size());
  out += before;
  out +=
      "<noscript><p class=\"none\">The charts need scripts; all text and tables are here without.</p></noscript>\n";
  out += timeline_section(page, columns);
  out += heat_map_section(page, columns);
  out += after;
  out += "<div id=\"tip\" role=\"status\" hidden></div>\n";
  Json meta = describe(run, diagnosis, names, columns);
  if (options.scaling.size() > 1) meta["scaling"] = scaling_data(options.scaling);
  if (!pacing.is_null()) meta["pacing"] = std::move(pacing);
  out += "<script type=\"application/json\" id=\"cox-meta\">" + script_json(meta) + "</script>\n";
  out += "<script type=\"application/octet-stream\" id=\"cox-data\">" + data + "</script>\n";
  out += "<script>";
  out += script_asset().text;
  out += "</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace cox::report
