// SPDX-License-Identifier: Apache-2.0
#include "diagnose/figures/figures.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
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
  j["least_seen_ratio"] = c.least_seen_ratio ? Json(*c.least_seen_ratio) : Json(nullptr);
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

bool is_tested(const SizeComparison& c) {
  return c.difference != SizeDifference::Unclear && (differs(c) || c.least_seen_ratio);
}

bool is_tested(const RankComparison& c) {
  return c.tested && c.least_seen_ratio <= 1;
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

/// Whether all of before was compared and found no worse: a test that could not be made is not passed.
bool holds_against_before(const FiguresAnswer& a) {
  const auto holds = [](const RankComparison& c) {
    return is_tested(c) && !is_slower(c) && !is_other_number(c);
  };
  return a.gone.empty() &&
         std::all_of(a.comparisons.begin(), a.comparisons.end(),
                     [](const SizeComparison& c) { return is_tested(c) && !takes_longer(c); }) &&
         std::all_of(a.rank_comparisons.begin(), a.rank_comparisons.end(), holds);
}

}  // namespace

bool is_slower(const RankComparison& c) {
  if (!c.is_time || c.more.empty()) return false;
  return !trace::is_communication(c.name) || 2 * c.more.size() > static_cast<std::size_t>(c.ranks);
}

bool is_other_number(const RankComparison& c) {
  return !c.is_time && (!c.more.empty() || !c.less.empty());
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

/// Says what of before was compared with nothing, and whether all of it was.
void note_what_is_gone(const trace::Figures& before, FiguresAnswer& a) {
  const auto note = [&](const auto& list, const auto& is_compared) {
    for (const auto& one : list)
      if (!is_compared(one)) a.gone.push_back(one.name);
    a.nothing_in_common = a.gone.size() == list.size();
    if (a.nothing_in_common && !list.empty()) a.of_before = list.front().name;
  };
  if (const auto* sizes = std::get_if<trace::SizeTable>(&before.table)) {
    std::set<std::pair<std::string, std::int64_t>> compared;
    for (const SizeComparison& c : a.comparisons)
      if (c.sizes > 0) compared.emplace(c.before, c.nodes);
    note(sizes->series, [&](const trace::SizeSeries& s) { return compared.contains({s.name, s.nodes}); });
  } else {
    std::set<std::string> compared;
    for (const RankComparison& c : a.rank_comparisons) compared.insert(c.name);
    note(std::get<trace::RankTable>(before.table).quantities,
         [&](const trace::RankQuantity& q) { return compared.contains(q.name); });
  }
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
  if (before != nullptr) note_what_is_gone(*before, a);
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
  result["gone"] = a.gone;
  result["places"] = Json::array();
  for (const PlaceAnswer& p : a.places) result["places"].push_back(json_of(p));
  return framed({"cox.figures/1", {input}, a.notes}, std::move(result));
}

namespace {

constexpr std::size_t kLongestName = 28;
constexpr std::size_t kLongestVerdict = 160;

/// At most so many bytes of UTF-8, what is left out in the middle: names differ at their ends.
std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto goes_on = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
  std::size_t front = (most - 3) / 2;
  std::size_t back = text.size() - (most - 3 - front);
  while (front > 0 && goes_on(front)) --front;
  while (back < text.size() && goes_on(back)) ++back;
  return text.substr(0, front) + "..." + text.substr(back);
}

/// Of a line for a log: what stands out, a few of it, with names of bounded length.
class Differences {
 public:
  void add(Json one) {
    if (++count_ <= kMost) list_.push_back(std::move(one));
  }
  void add(const SizeComparison& c) {
    if (c.of_places || (!differs(c) && c.outlying.empty())) return;
    add(Json{{"before", shortened(c.before, kLongestName)},
             {"after", shortened(c.after, kLongestName)},
             {"difference", name_of(c.difference)},
             {"ratio", c.ratio},
             {"outlying_count", c.outlying.size()}});
  }
  /// `against`: `others`, or `before`.
  void add(const std::string& quantity, const char* against, const std::vector<Rank>& more,
           const std::vector<Rank>& less, double more_ratio, double less_ratio) {
    if (more.empty() && less.empty()) return;
    add(Json{{"quantity", shortened(quantity, kLongestName)},
             {"against", against},
             {"ratio", more.empty() ? 1 - less_ratio : 1 + more_ratio},
             {"more_count", more.size()},
             {"less_count", less.size()}});
  }

  [[nodiscard]] const Json& list() const { return list_; }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  static constexpr std::size_t kMost = 3;
  Json list_ = Json::array();
  std::size_t count_ = 0;
};

}  // namespace

std::string to_summary(const FiguresAnswer& a, const std::string& input, const std::string& verdict) {
  Json j;
  j["schema"] = "cox.figures-summary/1";
  j["tool"] = "cox " COX_VERSION;
  j["input"] = input;
  j["format"] = a.format;
  j["verdict"] = shortened(verdict, kLongestVerdict);
  j["is_clean"] = a.is_clean();
  j["files"] = a.files > 0 ? Json(a.files) : Json(nullptr);
  j["sizes_count"] = a.sizes.size();
  j["quantities_count"] = a.quantities.size();
  Differences differences;
  for (const SizeComparison& c : a.comparisons) differences.add(c);
  for (const RankComparison& c : a.rank_comparisons)
    differences.add(c.name, "before", c.more, c.less, c.more_ratio, c.less_ratio);
  for (const QuantityAnswer& q : a.quantities)
    differences.add(q.name, "others", q.above, q.below, q.above_ratio, q.below_ratio);
  j["differences"] = differences.list();
  j["differences_count"] = differences.count();
  j["notes_count"] = a.notes.size();
  return json_line(j);
}

}  // namespace cox::diagnose
