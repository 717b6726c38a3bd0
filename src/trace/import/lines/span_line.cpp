// SPDX-License-Identifier: Apache-2.0
#include "trace/import/lines/span_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "trace/import/bytes/one_of.hpp"
#include "trace/import/figures/lines.hpp"
#include "trace/import/nccl/nccl_lines.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kLongestText = 128;
constexpr std::size_t kMostKeys = 4096;
constexpr double kLargest = 9e18;

/// A number times 1e12 of its unit, without losing the digits of a time of day.
WidePs wide(double number, double unit) {
  const double whole = std::floor(number);
  const auto scale = static_cast<WidePs>(std::llround(unit * 1e12));
  return static_cast<WidePs>(whole) * scale + std::llround((number - whole) * unit * 1e12);
}

struct Number {
  double approximate = 0;
  std::optional<std::int64_t> exact;
};

std::optional<Number> number_in(dom::element value) {
  std::int64_t n = 0;
  if (value.get(n) == simdjson::SUCCESS) return Number{static_cast<double>(n), n};
  double d = 0;
  if (value.get(d) == simdjson::SUCCESS)
    return std::isfinite(d) && std::abs(d) < kLargest ? std::optional(Number{d, {}}) : std::nullopt;
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS || text.empty() || text.size() > 32) return std::nullopt;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (ec == std::errc() && end == text.data() + text.size()) return Number{static_cast<double>(n), n};
  const auto real = number_of(text);
  return real && std::abs(*real) < kLargest ? std::optional(Number{*real, {}}) : std::nullopt;
}

std::optional<std::int64_t> whole_in(dom::element value) {
  const auto n = number_in(value);
  if (!n) return std::nullopt;
  if (n->exact) return n->exact;
  return std::floor(n->approximate) == n->approximate ? std::optional(std::llround(n->approximate))
                                                      : std::nullopt;
}

/// `[seconds, nanoseconds]`, as OpenTelemetry for JavaScript writes it.
std::optional<WidePs> pair_in(dom::element value) {
  dom::array array;
  if (value.get(array) != simdjson::SUCCESS || array.size() != 2) return std::nullopt;
  std::int64_t s = 0, ns = 0;
  if (array.at(0).get(s) != simdjson::SUCCESS || array.at(1).get(ns) != simdjson::SUCCESS || ns < 0 ||
      ns >= 1'000'000'000)
    return std::nullopt;
  return WidePs{s} * 1'000'000'000'000 + WidePs{ns} * 1000;
}

std::string text_in(dom::element value) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return clean_text(text.substr(0, kLongestText));
  std::int64_t n = 0;
  return value.get(n) == simdjson::SUCCESS ? std::to_string(n) : std::string();
}

/// A rank: a number, or text that ends in one.
std::optional<std::int32_t> rank_in(dom::element value) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) {
    const auto rank = rank_of(text);
    return rank ? std::optional(rank->value()) : std::nullopt;
  }
  const auto n = whole_in(value);
  return n && *n >= 0 && *n <= 1 << 24 ? std::optional(static_cast<std::int32_t>(*n)) : std::nullopt;
}

/// What a key says about a span beside its times.
void take_about(std::string_view key, dom::element value, int depth, ToldSpan& about) {
  static constexpr std::array<std::string_view, 9> kSequences{
      "seq",      "seq_id", "sequence", "seqno", "seq_no", "collective_seq", "collective_seq_id",
      "coll_seq", "op_id"};
  static constexpr std::array<std::string_view, 6> kBytes{"bytes",     "size_bytes",    "nbytes",
                                                          "msg_bytes", "message_bytes", "num_bytes"};
  static constexpr std::array<std::string_view, 8> kGroups{
      "group", "group_name", "process_group", "pg", "pg_name", "communicator", "comm", "comm_id"};
  static constexpr std::array<std::string_view, 8> kNames{"name",      "op",   "operation", "operation_name",
                                                          "span_name", "span", "event",     "phase"};
  static constexpr std::array<std::string_view, 4> kHosts{"host", "hostname", "host_name", "node_name"};
  const std::string plain = plain_key(key);
  if (about.rank < 0 && (names_ranks(plain) || plain == "world_rank" || plain == "process_rank")) {
    about.rank = rank_in(value).value_or(-1);
  } else if (about.step < 0 && (names_steps(plain) || plain == "step_num" || plain == "train_step")) {
    about.step = std::max<std::int64_t>(whole_in(value).value_or(-1), -1);
  } else if (about.sequence < 0 && is_one_of(plain, kSequences)) {
    about.sequence = std::max<std::int64_t>(whole_in(value).value_or(-1), -1);
  } else if (about.bytes == 0 && is_one_of(plain, kBytes)) {
    about.bytes = std::clamp<std::int64_t>(whole_in(value).value_or(0), 0, std::int64_t{1} << 52);
  } else if (plain == "world_size" || plain == "nranks") {
    about.world_size = std::clamp<std::int64_t>(whole_in(value).value_or(0), 0, 1 << 24);
  } else if (about.group.empty() && is_one_of(plain, kGroups)) {
    about.group = text_in(value);
  } else if (about.host.empty() && (is_one_of(plain, kHosts) || key == "host.name")) {
    about.host = text_in(value);
  } else if (depth == 0 && about.name.empty() && is_one_of(plain, kNames)) {
    about.name = text_in(value);
  }
}

bool is_nest(std::string_view key) {
  static constexpr std::array<std::string_view, 10> kNests{
      "attributes", "args", "resource", "tags", "labels", "metadata", "process", "meta", "extra", "fields"};
  return is_one_of(key, kNests);
}

/// Of the attributes of a line and its resource, in objects or in lists of `key` and `value`.
void look_into(dom::element nest, int depth, ToldSpan& about) {
  dom::object object;
  dom::array list;
  if (nest.get(object) == simdjson::SUCCESS) {
    for (const auto& [key, value] : object) {
      if (depth < 3 && is_nest(key) && (value.is_object() || value.is_array()))
        look_into(value, depth + 1, about);
      else
        take_about(key, value, depth, about);
    }
  } else if (nest.get(list) == simdjson::SUCCESS) {
    for (const dom::element each : list) {
      const auto key = each.is_object() ? text_at(each, "key") : std::nullopt;
      dom::element value;
      if (!key || each["value"].get(value) != simdjson::SUCCESS) continue;
      dom::object typed;  // {"intValue": "3"}
      if (value.get(typed) == simdjson::SUCCESS && typed.size() == 1) value = (*typed.begin()).value;
      take_about(*key, value, depth, about);
    }
  }
}

}  // namespace

std::optional<SpanLines::Time> SpanLines::time_of(std::string_view key, dom::element value,
                                                  const std::optional<Seconds>& line_unit,
                                                  bool stamp_is_start) {
  SpanKey told = span_key(key);
  if (told.part == SpanPart::Stamp && stamp_is_start) told.part = SpanPart::Start;
  if (told.part == SpanPart::None || told.part == SpanPart::Stamp) return std::nullopt;
  Time t{.part = told.part, .prefix = std::move(told.prefix)};
  t.has_unit = true;
  std::string_view text;
  if (const auto pair = pair_in(value)) {
    t.value = *pair;
    return t;
  }
  if (value.get(text) == simdjson::SUCCESS && t.part != SpanPart::Length)
    if (const auto day = time_of_day(text)) {
      t.value = *day;
      return t;
    }
  const auto number = number_in(value);
  if (!number) return std::nullopt;
  std::optional<Seconds> unit = told.unit ? told.unit : line_unit;
  if (!unit && t.part != SpanPart::Length) {
    const std::string plain = plain_key(key);
    auto at = unit_of_key_.find(plain);
    if (at == unit_of_key_.end() && unit_of_key_.size() < kMostKeys)
      at = unit_of_key_.emplace(plain, unit_since_1970(number->approximate)).first;
    if (at != unit_of_key_.end()) unit = at->second;
    t.since_1970 = unit.has_value();
    took_since_1970 = took_since_1970 || t.since_1970;
  }
  t.has_unit = unit.has_value();
  t.number = number->approximate;
  const double seconds = unit ? unit->count() : 1;
  t.value = number->exact ? WidePs{*number->exact} * static_cast<WidePs>(std::llround(seconds * 1e12))
                          : wide(number->approximate, seconds);
  return t;
}

void SpanLines::join(const std::vector<Time>& times, const ToldSpan& about, std::vector<ToldSpan>& out) {
  std::set<std::string> prefixes;
  for (const Time& t : times) prefixes.insert(t.prefix);
  bool any = false;
  for (const std::string& prefix : prefixes) {
    const Time* parts[4] = {};
    for (const Time& t : times)
      if (t.prefix == prefix && parts[static_cast<int>(t.part)] == nullptr)
        parts[static_cast<int>(t.part)] = &t;
    const Time* start = parts[static_cast<int>(SpanPart::Start)];
    const Time* end = parts[static_cast<int>(SpanPart::End)];
    const Time* length = parts[static_cast<int>(SpanPart::Length)];
    if (length == nullptr && (start == nullptr || end == nullptr)) continue;
    any = true;
    ToldSpan span = about;
    // `coll_start` of a line whose `op` says which collective; else the prefix is the name.
    const bool is_operation = prefix.empty() || prefix.starts_with("coll") || prefix.starts_with("comm");
    if (!is_operation || span.name.empty()) span.name = prefix.empty() ? "span" : prefix;
    const Time* anchor = start != nullptr ? start : end;
    if (start != nullptr && end != nullptr) {
      if (start->has_unit != end->has_unit) {
        ++no_unit;
        continue;
      }
      span.length = end->value - start->value;
      span.has_unit = start->has_unit;
    } else if (anchor != nullptr && anchor->has_unit && !length->has_unit && anchor->since_1970) {
      const auto key = unit_since_1970(anchor->number);
      span.length = wide(length->number, key ? key->count() : 1);
      took_length_as_begin = true;
    } else if (anchor != nullptr && anchor->has_unit != length->has_unit) {
      ++no_unit;
      continue;
    } else {
      span.length = length->value;
      span.has_unit = length->has_unit;
    }
    if (span.length < 0) {
      ++backward;
      continue;
    }
    if (start != nullptr) span.begin = start->value;
    if (start == nullptr && end != nullptr) span.begin = end->value - span.length;
    out.push_back(std::move(span));
  }
  if (!any) ++no_span;
}

void SpanLines::take_span(dom::element line, const dom::element* resource, std::vector<ToldSpan>& out) {
  ToldSpan about;
  if (resource != nullptr) look_into(*resource, 1, about);
  look_into(line, 0, about);
  std::optional<Seconds> unit;
  for (const std::string_view key : {"unit", "time_unit"})
    if (const auto name = text_at(line, key)) unit = unit_named(*name);
  // Chrome's events and Jaeger's spans are in microseconds by their definition.
  const bool chrome = text_at(line, "ph").has_value();
  if (!unit && (chrome || (text_at(line, "operationName") && text_at(line, "traceID")))) unit = Seconds(1e-6);
  std::vector<Time> times;
  dom::object object;
  if (line.get(object) != simdjson::SUCCESS) return;
  for (const auto& [key, value] : object) {
    if (times.size() >= 64) break;
    if (value.is_object()) continue;
    if (auto time = time_of(key, value, unit, chrome)) times.push_back(*std::move(time));
  }
  join(times, about, out);
}

void SpanLines::take(dom::element line, std::vector<ToldSpan>& out) {
  dom::array resources;
  if (line["resourceSpans"].get(resources) != simdjson::SUCCESS) return take_span(line, nullptr, out);
  for (const dom::element each : resources) {
    dom::element resource;
    const bool has_resource = each["resource"].get(resource) == simdjson::SUCCESS;
    for (const char* key : {"scopeSpans", "instrumentationLibrarySpans"}) {
      dom::array scopes;
      if (each[key].get(scopes) != simdjson::SUCCESS) continue;
      for (const dom::element scope : scopes) {
        dom::array spans;
        if (scope["spans"].get(spans) != simdjson::SUCCESS) continue;
        for (const dom::element span : spans)
          if (span.is_object()) take_span(span, has_resource ? &resource : nullptr, out);
      }
    }
  }
}

}  // namespace cox::trace
