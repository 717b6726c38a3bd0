// SPDX-License-Identifier: Apache-2.0
#include "cox/base/json.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "cox/base/spelling.hpp"
#include "cox/base/version.hpp"

#include "evaluate/pacing/page.hpp"

namespace cox::evaluate {
namespace {

constexpr std::string_view kSchema = "cox.pacing-study/2";
constexpr std::size_t kMostText = std::size_t{16} << 20U;
constexpr std::size_t kMostConditions = 64;
constexpr std::size_t kMostArms = 32;
constexpr std::size_t kMostStarts = 1000;
constexpr std::size_t kMostPairs = 1000;  // of a start
constexpr double kMostNumber = 1e12;
constexpr std::size_t kMostLetters = 400;

Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.9g}", value).c_str(), nullptr);
}

/// One list of fields serves both directions: `visit(key, field)` for each.
template <class Side, class Visit>
void visit_side(Side& s, Visit visit) {
  visit("steps", s.steps);
  visit("lasted_s", s.lasted);
  visit("mean_s", s.mean);
  visit("p99_s", s.p99);
  visit("cv", s.cv);
  visit("wait_s", s.wait);
  visit("delay_s", s.delay);
  visit("energy_estimate", s.energy);
}
template <class Effect, class Visit>
void visit_effect(Effect& e, Visit visit) {
  visit("arm", e.arm);
  visit("struck", e.struck);
  visit("gain_ratio", e.gain);
  visit("low_ratio", e.low);
  visit("high_ratio", e.high);
  visit("total_gain_ratio", e.total_gain);
  visit("total_low_ratio", e.total_low);
  visit("total_high_ratio", e.total_high);
  visit("held_cv", e.held_cv);
  visit("held_steps", e.held_steps);
  visit("holding_share", e.holding);
  visit("p_harm", e.p_harm);
  visit("p_bar", e.p_bar);
  visit("p_random", e.p_random);
  visit("p_zero", e.p_zero);
}
template <class Result, class Visit>
void visit_condition(Result& r, Visit visit) {
  visit("name", r.name);
  visit("skipped", r.skipped);
  visit("starts", r.starts);
  visit("failed_starts", r.failed_starts);
  visit("failure", r.failure);
  visit("floor_half_width_ratio", r.floor_half_width);
  visit("resolved", r.is_resolved);
  visit("no_harm_p", r.no_harm.p);
  visit("no_harm_passed", r.no_harm.passed);
  visit("superior_p", r.superior.p);
  visit("superior_passed", r.superior.passed);
  visit("no_worse_than_random_p", r.no_worse_than_random.p);
  visit("no_worse_than_random_passed", r.no_worse_than_random.passed);
  visit("floor_beside_zero_p", r.floor_beside_zero.p);
  visit("floor_beside_zero_found", r.floor_beside_zero.passed);
}
template <class Machine, class Visit>
void visit_machine(Machine& m, Visit visit) {
  visit("kernel", m.kernel);
  visit("cores", m.cores);
  visit("date", m.date);
  visit("load_before", m.load_before);
}

struct Writer {
  Json& json;
  void operator()(const char* key, const std::string& v) const { json[key] = v; }
  void operator()(const char* key, bool v) const { json[key] = v; }
  void operator()(const char* key, int v) const { json[key] = v; }
  void operator()(const char* key, std::int64_t v) const { json[key] = v; }
  void operator()(const char* key, double v) const { json[key] = number(v); }
  void operator()(const char* key, Seconds v) const { json[key] = number(v.count()); }
};

/// Remembers the first key that is not what it should be.
struct Reader {
  const Json& json;
  std::string& problem;
  const Json* at(const char* key) const {
    const auto found = json.is_object() ? json.find(key) : json.end();
    if (found != json.end()) return &*found;
    if (problem.empty()) problem = key;
    return nullptr;
  }
  void refuse(const char* key) const {
    if (problem.empty()) problem = key;
  }
  void operator()(const char* key, std::string& v) const {
    const Json* j = at(key);
    if (j == nullptr) return;
    if (!j->is_string() || j->get_ref<const std::string&>().size() > kMostLetters) return refuse(key);
    v = shown(j->get<std::string>(), kMostLetters);
  }
  void operator()(const char* key, bool& v) const {
    const Json* j = at(key);
    if (j == nullptr) return;
    if (!j->is_boolean()) return refuse(key);
    v = j->get<bool>();
  }
  template <class Whole>
    requires std::is_same_v<Whole, int> || std::is_same_v<Whole, std::int64_t>
  void operator()(const char* key, Whole& v) const {
    const Json* j = at(key);
    if (j == nullptr) return;
    constexpr std::int64_t kMost = 1'000'000'000;
    if (!j->is_number_integer() || j->get<double>() < 0 || j->get<double>() > static_cast<double>(kMost))
      return refuse(key);
    v = j->get<Whole>();
  }
  void operator()(const char* key, double& v) const {
    const Json* j = at(key);
    if (j == nullptr) return;
    if (!j->is_number() || !(std::abs(j->get<double>()) <= kMostNumber)) return refuse(key);
    v = j->get<double>();
  }
  void operator()(const char* key, Seconds& v) const {
    double s = v.count();
    (*this)(key, s);
    v = Seconds{s};
  }
};

Json json_of(const PacingEffect& e) {
  Json json;
  visit_effect(e, Writer{json});
  json["starts"] = Json::array();
  for (const PacingStart& start : e.starts) {
    Json one;
    one["number"] = start.number;
    one["total_gain_ratio"] = number(start.total_gain);
    one["pair_gain_ratios"] = Json::array();
    for (const double gain : start.pair_gains) one["pair_gain_ratios"].push_back(number(gain));
    json["starts"].push_back(std::move(one));
  }
  visit_side(e.off, Writer{json["off"]});
  visit_side(e.on, Writer{json["on"]});
  return json;
}

/// A gain of -1 or less has no logarithm.
bool is_gain(const Json& json) {
  return json.is_number() && json.get<double>() > -1 && json.get<double>() <= kMostNumber;
}

void read_start(const Json& json, PacingStart& start, std::string& problem) {
  const Reader reader{json, problem};
  reader("number", start.number);
  const Json* total = reader.at("total_gain_ratio");
  const Json* gains = reader.at("pair_gain_ratios");
  if (total == nullptr || gains == nullptr) return;
  if (!is_gain(*total)) return reader.refuse("total_gain_ratio");
  start.total_gain = total->get<double>();
  if (!gains->is_array() || gains->empty() || gains->size() > kMostPairs)
    return reader.refuse("pair_gain_ratios");
  for (const Json& each : *gains) {
    if (!is_gain(each)) return reader.refuse("pair_gain_ratios");
    start.pair_gains.push_back(each.get<double>());
  }
}

void read_effect(const Json& json, PacingEffect& e, std::string& problem) {
  const Reader reader{json, problem};
  visit_effect(e, reader);
  const Json* off = reader.at("off");
  const Json* on = reader.at("on");
  const Json* starts = reader.at("starts");
  if (off != nullptr) visit_side(e.off, Reader{*off, problem});
  if (on != nullptr) visit_side(e.on, Reader{*on, problem});
  if (starts == nullptr) return;
  if (!starts->is_array() || starts->size() > kMostStarts) return reader.refuse("starts");
  for (const Json& each : *starts) read_start(each, e.starts.emplace_back(), problem);
}

void read_condition(const Json& json, PacingConditionResult& r, std::string& problem) {
  const Reader reader{json, problem};
  // -1 says "not measured"
  visit_condition(r, reader);
  const Json* effects = reader.at("effects");
  if (effects == nullptr) return;
  if (!effects->is_array() || effects->size() > kMostArms) return reader.refuse("effects");
  for (const Json& each : *effects) read_effect(each, r.effects.emplace_back(), problem);
}

void read_conditions(const Json& list, const char* key, const Reader& reader,
                     std::vector<PacingConditionResult>& out) {
  if (!list.is_array() || list.size() > kMostConditions) return reader.refuse(key);
  for (const Json& each : list) read_condition(each, out.emplace_back(), reader.problem);
}

Json json_of(const std::vector<PacingConditionResult>& conditions) {
  Json list = Json::array();
  for (const PacingConditionResult& r : conditions) {
    Json one;
    visit_condition(r, Writer{one});
    one["effects"] = Json::array();
    for (const PacingEffect& e : r.effects) one["effects"].push_back(json_of(e));
    list.push_back(std::move(one));
  }
  return list;
}

tl::unexpected<Error> refuse(const std::string& file, std::string message) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-007",
                    .message = std::move(message),
                    .hint = "`cox study pacing --full -o FILE` writes such a file",
                    .where = Where{.file = file}});
}

}  // namespace

std::string pacing_json(const PacingResults& results) {
  Json json;
  json["schema"] = kSchema;
  json["tool"] = "cox " COX_VERSION;
  json["kind"] = "measured";
  json["full"] = results.full;
  json["plan"] = results.plan;
  visit_machine(results.machine, Writer{json["machine"]});
  json["conditions"] = json_of(results.conditions);
  json["sizes"] = json_of(results.sizes);
  return json_text(json, 1);
}

Result<PacingResults> parse_pacing_json(std::string_view text, const std::string& file) {
  if (text.size() > kMostText) return refuse(file, "more than 16 MB");
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return refuse(file, "no JSON object");
  if (const auto schema = json.find("schema"); schema == json.end() || *schema != kSchema)
    return refuse(file, fmt::format("the schema is not {}", kSchema));
  PacingResults results;
  std::string problem;
  const Reader reader{json, problem};
  reader("full", results.full);
  reader("plan", results.plan);
  if (const Json* machine = reader.at("machine")) visit_machine(results.machine, Reader{*machine, problem});
  if (const Json* list = reader.at("conditions"))
    read_conditions(*list, "conditions", reader, results.conditions);
  if (const Json* sizes = reader.at("sizes")) read_conditions(*sizes, "sizes", reader, results.sizes);
  if (!problem.empty()) return refuse(file, fmt::format("'{}' is missing or has a bad value", problem));
  return results;
}

}  // namespace cox::evaluate
