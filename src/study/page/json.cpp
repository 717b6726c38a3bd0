// SPDX-License-Identifier: Apache-2.0
#include "cox/base/json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "cox/study/write.hpp"

namespace cox::study {
namespace {

/// Nine significant digits: what is beyond them may differ between mathematical libraries.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.9g}", value).c_str(), nullptr);
}

void put(Json& json, std::string_view name, Quantity q) {
  json[fmt::format("{}{}", name, suffix_of(q.dimension()))] = number(q.in_base_unit());
}

Json json_of(const Computed& c) {
  Json json;
  json["name"] = c.name;
  put(json, "value", c.value);
  if (c.half_width_95) {
    put(json, "half_width_95", *c.half_width_95);
    json["replicas"] = c.replicas;
    if (c.draw_low && c.draw_high) {
      put(json, "draw_low", *c.draw_low);
      put(json, "draw_high", *c.draw_high);
    }
  }
  json["engine"] = c.engine;
  return json;
}

Json json_of(const Printed& p, const Judged& j) {
  Json json;
  json["name"] = p.name;
  json["verdict"] = name_of(j.verdict);
  json["line"] = p.source_line;
  if (!p.says.empty()) json["says"] = p.says;
  put(json, "value", p.value.value);
  if (p.up_to) put(json, "up_to", p.up_to->value);
  put(json, "within", p.within);
  if (j.computed) put(json, "computed", j.computed->value);
  if (!p.quantity.empty()) json["quantity"] = p.quantity;
  if (!p.at_least.empty()) json["at_least"] = p.at_least;
  if (!p.against.empty()) json["against"] = p.against;
  if (!p.missing.empty()) json["missing"] = p.missing;
  if (p.declared != Declared::Nothing) json["declared"] = name_of(p.declared);
  json["reason"] = j.reason.text;
  if (j.reason.is_withdrawn) json["reason_withdrawn"] = true;
  return json;
}

Json json_of(const StudyInput& in) {
  Json json;
  json["name"] = in.name;
  json["from"] = in.origin == InputOrigin::Source ? "source" : "missing";
  if (!in.of_file.empty()) json["of_file"] = in.of_file;
  const std::string key = fmt::format("value{}", suffix_of(in.values.front().value.dimension()));
  if (!in.is_list) {
    json[key] = number(in.values.front().value.in_base_unit());
    return json;
  }
  json[key] = Json::array();
  for (const WrittenQuantity& w : in.values) json[key].push_back(number(w.value.in_base_unit()));
  return json;
}

Json json_of(const AnsweredStudy& a) {
  Json json;
  json["name"] = a.study.name;
  json["title"] = a.study.title;
  json["source"] = a.study.source;
  json["verdict"] = name_of(a.verdict);
  json["answer"] = a.answer.text;
  if (a.answer.is_withdrawn) json["answer_withdrawn"] = true;
  json["inputs"] = Json::array();
  for (const StudyInput& in : a.study.inputs) json["inputs"].push_back(json_of(in));
  json["printed"] = Json::array();
  for (std::size_t i = 0; i < a.study.printed.size(); ++i)
    json["printed"].push_back(json_of(a.study.printed[i], a.judged[i]));
  json["computed"] = Json::array();
  for (const Computed& c : a.computation.values) json["computed"].push_back(json_of(c));
  json["checks"] = Json::array();
  for (const CrossCheck& c : a.computation.checks) {
    Json check;
    check["name"] = c.name;
    put(check, "engine", c.engine);
    put(check, "oracle", c.oracle);
    check["agrees"] = c.agrees();
    json["checks"].push_back(std::move(check));
  }
  json["notes"] = a.computation.notes;
  return json;
}

}  // namespace

std::string to_json(std::span<const AnsweredStudy> answers, const std::vector<std::string>& inputs) {
  Json list = Json::array();
  for (const AnsweredStudy& a : answers) list.push_back(json_of(a));
  return framed({"cox.study/1", inputs}, Json{{"studies", std::move(list)}});
}

}  // namespace cox::study
