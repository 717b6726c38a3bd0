// SPDX-License-Identifier: Apache-2.0
#include "diagnose/figures/figures.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <variant>

#include "cox/base/json.hpp"
#include "cox/base/version.hpp"
#include "cox/trace/communication_names.hpp"

#include "diagnose/figures/parts.hpp"

namespace cox::diagnose {
namespace {

Json json_of(const SizeAnswer& a) {
  Json j;
  j["name"] = a.name;
  j["nodes"] = a.nodes;
  j["sizes"] = a.sizes;
  j["repeats"] = a.repeats;
  j["latency_s"] = a.latency ? Json(a.latency->count()) : Json(nullptr);
  j["bandwidth_bytes_per_s"] = a.bandwidth ? Json(a.bandwidth->in_bytes_per_s()) : Json(nullptr);
  j["fit_error_ratio"] = a.fit_error_ratio;
  j["ceiling_bytes_per_s"] = a.ceiling.in_bytes_per_s();
  j["ceiling_from_bytes"] = a.ceiling_from ? Json(a.ceiling_from->count()) : Json(nullptr);
  j["ceiling_reached"] = a.ceiling_reached;
  j["largest_bytes"] = a.largest.count();
  j["in_place"] = a.in_place;
  j["bus_ratio"] = a.bus_ratio > 0 ? Json(a.bus_ratio) : Json(nullptr);
  j["dips"] = Json::array();
  for (const SizeDip& d : a.dips)
    j["dips"].push_back({{"bytes", d.size.count()},
                         {"time_s", d.time.count()},
                         {"larger_bytes", d.larger.count()},
                         {"larger_time_s", d.larger_time.count()}});
  return j;
}

Json json_of(const SizeComparison& c) {
  Json j;
  j["before"] = c.before;
  j["after"] = c.after;
  j["nodes"] = c.nodes;
  j["sizes"] = c.sizes;
  j["difference"] = name_of(c.difference);
  j["ratio"] = c.ratio;
  j["offset_s"] = c.offset.count();
  j["border_bytes"] = c.border ? Json(c.border->count()) : Json(nullptr);
  j["scatter_ratio"] = c.scatter_ratio;
  j["least_seen_ratio"] = c.least_seen_ratio;
  j["border_end_bytes"] = c.border_end ? Json(c.border_end->count()) : Json(nullptr);
  j["ratio_beyond"] = c.ratio_beyond ? Json(*c.ratio_beyond) : Json(nullptr);
  j["outlying"] = Json::array();
  j["of_files"] = c.of_files > 0 ? Json(c.of_files) : Json(nullptr);
  j["of_places"] = c.of_places;
  for (const OutlyingSize& o : c.outlying)
    j["outlying"].push_back({{"bytes", o.size.count()}, {"ratio", o.ratio}});
  return j;
}

Json json_of(const PlaceAnswer& p) {
  return Json{{"before", p.before}, {"after", p.after}, {"place", name_of(p.place)}};
}

Json json_of(const QuantityAnswer& q) {
  Json j;
  j["name"] = q.name;
  j["unit"] = q.is_time ? Json("s") : Json(nullptr);
  j["ranks"] = q.ranks;
  j["median"] = q.median;
  j["highest"] = {{"rank", q.highest.value()}, {"value", q.highest_value}};
  j["lowest"] = {{"rank", q.lowest.value()}, {"value", q.lowest_value}};
  j["has_spread"] = q.has_spread;
  j["is_communication"] = q.is_communication;
  j["missing"] = numbers_of(q.missing);
  j["above"] = numbers_of(q.above);
  j["below"] = numbers_of(q.below);
  j["above_ratio"] = q.above_ratio;
  j["below_ratio"] = q.below_ratio;
  j["least_seen_ratio"] = q.least_seen_ratio;
  return j;
}

Json json_of(const RankComparison& c) {
  Json j;
  j["name"] = c.name;
  j["unit"] = c.is_time ? Json("s") : Json(nullptr);
  j["ranks"] = c.ranks;
  j["ratio"] = c.ratio;
  j["tested"] = c.tested;
  j["more"] = numbers_of(c.more);
  j["less"] = numbers_of(c.less);
  j["more_ratio"] = c.more_ratio;
  j["less_ratio"] = c.less_ratio;
  j["least_seen_ratio"] = c.least_seen_ratio;
  return j;
}

}  // namespace

bool differs(const SizeComparison& c) {
  return c.difference != SizeDifference::None && c.difference != SizeDifference::Unclear;
}

const char* name_of(SizeDifference d) {
  switch (d) {
    case SizeDifference::None:
      return "none";
    case SizeDifference::Factor:
      return "factor";
    case SizeDifference::Offset:
      return "offset";
    case SizeDifference::SmallOnly:
      return "small_only";
    case SizeDifference::LargeOnly:
      return "large_only";
    case SizeDifference::Bandwidth:
      return "bandwidth";
    case SizeDifference::Band:
      return "band";
    case SizeDifference::Crossing:
      return "crossing";
    case SizeDifference::Unclear:
      return "unclear";
  }
  return "unclear";
}

const char* name_of(DifferencePlace p) {
  switch (p) {
    case DifferencePlace::InsideNode:
      return "inside_node";
    case DifferencePlace::BetweenNodes:
      return "between_nodes";
    case DifferencePlace::Both:
      return "both";
  }
  return "both";
}

namespace {

bool takes_longer(const SizeComparison& c) {
  if (c.of_places) return false;
  return (differs(c) && std::max(c.ratio, c.ratio_beyond.value_or(1)) > 1) ||
         std::any_of(c.outlying.begin(), c.outlying.end(), [](const OutlyingSize& o) { return o.ratio > 1; });
}

/// Whether all that is in both was compared and found no worse.
bool holds_against_before(const FiguresAnswer& a) {
  const auto is_told = [](const SizeComparison& c) { return c.difference != SizeDifference::Unclear; };
  const auto is_tested = [](const RankComparison& c) { return c.tested && c.least_seen_ratio <= 1; };
  const auto changed = [](const RankComparison& c) {
    return c.is_time ? is_slower(c) : !c.more.empty() || !c.less.empty();
  };
  const bool compared = std::any_of(a.comparisons.begin(), a.comparisons.end(), is_told) ||
                        std::any_of(a.rank_comparisons.begin(), a.rank_comparisons.end(), is_tested);
  return compared && std::none_of(a.comparisons.begin(), a.comparisons.end(), takes_longer) &&
         std::none_of(a.rank_comparisons.begin(), a.rank_comparisons.end(), changed);
}

}  // namespace

bool is_slower(const RankComparison& c) {
  if (!c.is_time || c.more.empty()) return false;
  return !trace::is_communication(c.name) || 2 * c.more.size() > static_cast<std::size_t>(c.ranks);
}

bool FiguresAnswer::has_trouble() const {
  return std::any_of(comparisons.begin(), comparisons.end(), takes_longer) ||
         std::any_of(quantities.begin(), quantities.end(),
                     [](const QuantityAnswer& q) { return !q.is_communication && !q.above.empty(); });
}

bool FiguresAnswer::is_clean() const {
  if (nothing_in_common) return false;
  if (has_before) return holds_against_before(*this);
  if (has_trouble()) return false;
  return !sizes.empty() || std::any_of(quantities.begin(), quantities.end(),
                                       [](const QuantityAnswer& q) { return q.has_spread; });
}

namespace {

/// Says of two tables that no value of one has a counterpart in the other.
void note_nothing_in_common(const trace::Figures& before, FiguresAnswer& a) {
  const bool any_size = std::any_of(a.comparisons.begin(), a.comparisons.end(),
                                    [](const SizeComparison& c) { return c.sizes > 0; });
  a.nothing_in_common = !any_size && a.rank_comparisons.empty();
  if (!a.nothing_in_common) return;
  const auto first_name = [](const auto& list) { return list.empty() ? std::string() : list.front().name; };
  if (const auto* sizes = std::get_if<trace::SizeTable>(&before.table))
    a.of_before = first_name(sizes->series);
  else
    a.of_before = first_name(std::get<trace::RankTable>(before.table).quantities);
}

}  // namespace

FiguresAnswer understand_figures(const trace::Figures& figures, const trace::Figures* before) {
  FiguresAnswer a;
  a.format = figures.format;
  a.has_before = before != nullptr;
  a.notes = figures.notes;
  if (const auto* sizes = std::get_if<trace::SizeTable>(&figures.table)) {
    a.has_unit = sizes->has_unit;
    a.sizes = answer_sizes(*sizes);
    std::set<std::string> files;
    for (const trace::SizeSeries& s : sizes->series)
      if (!s.file.empty()) files.insert(s.file);
    a.files = static_cast<std::int64_t>(files.size());
    const auto* earlier = before != nullptr ? std::get_if<trace::SizeTable>(&before->table) : nullptr;
    a.comparisons = compare_series(*sizes, earlier);
    a.places = find_places(a.comparisons);
  } else {
    const auto& ranks = std::get<trace::RankTable>(figures.table);
    a.quantities = answer_ranks(ranks);
    if (const auto* earlier = before != nullptr ? std::get_if<trace::RankTable>(&before->table) : nullptr)
      a.rank_comparisons = compare_ranks(*earlier, ranks);
  }
  if (before != nullptr) note_nothing_in_common(*before, a);
  return a;
}

std::string to_json(const FiguresAnswer& a, const std::string& input) {
  Json result;
  result["format"] = a.format;
  result["has_unit"] = a.has_unit;
  result["files"] = a.files > 0 ? Json(a.files) : Json(nullptr);
  result["time_unit"] = a.has_unit ? Json("s") : Json(nullptr);
  for (const char* key : {"sizes", "comparisons", "quantities"}) result[key] = Json::array();
  for (const SizeAnswer& s : a.sizes) result["sizes"].push_back(json_of(s));
  for (const SizeComparison& c : a.comparisons) result["comparisons"].push_back(json_of(c));
  for (const QuantityAnswer& q : a.quantities) result["quantities"].push_back(json_of(q));
  result["rank_comparisons"] = Json::array();
  for (const RankComparison& c : a.rank_comparisons) result["rank_comparisons"].push_back(json_of(c));
  result["notes"] = a.notes;
  result["nothing_in_common"] = a.nothing_in_common;
  result["places"] = Json::array();
  for (const PlaceAnswer& p : a.places) result["places"].push_back(json_of(p));
  return framed({"cox.figures/1", {input}, a.notes}, std::move(result));
}

std::string to_summary(const FiguresAnswer& a, const std::string& input, const std::string& verdict) {
  constexpr std::size_t kMost = 4;
  Json j;
  j["schema"] = "cox.figures-summary/1";
  j["tool"] = "cox " COX_VERSION;
  j["input"] = input;
  j["format"] = a.format;
  j["verdict"] = verdict;
  j["is_clean"] = a.is_clean();
  j["files"] = a.files > 0 ? Json(a.files) : Json(nullptr);
  j["sizes_count"] = a.sizes.size();
  j["quantities_count"] = a.quantities.size();
  j["differences"] = Json::array();
  std::size_t differences = 0;
  for (const SizeComparison& c : a.comparisons) {
    if (c.of_places || (!differs(c) && c.outlying.empty())) continue;
    if (++differences <= kMost)
      j["differences"].push_back(Json{{"before", c.before},
                                      {"after", c.after},
                                      {"difference", name_of(c.difference)},
                                      {"ratio", c.ratio},
                                      {"outlying_count", c.outlying.size()}});
  }
  j["differences_count"] = differences;
  j["notes_count"] = a.notes.size();
  return json_line(j);
}

}  // namespace cox::diagnose
