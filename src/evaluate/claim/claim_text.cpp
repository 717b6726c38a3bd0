// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>

#include "cox/base/json.hpp"
#include "cox/base/units_text.hpp"
#include "cox/evaluate/claim.hpp"

#include "evaluate/claim/judged.hpp"

namespace cox::evaluate {
namespace {

/// Nine significant digits: what is beyond them may differ between mathematical libraries.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.9g}", value).c_str(), nullptr);
}

void put(Json& json, std::string_view name, const study::Quantity& q) {
  json[fmt::format("{}{}", name, study::suffix_of(q.dimension()))] = number(q.in_base_unit());
}

std::string line(std::string_view label, std::string_view text) {
  return fmt::format("{:<9} {}\n", label, text);
}

/// Four significant digits, three of operations.
std::string text_of(const study::Quantity& q) {
  return q.dimension() == study::Dimension::Work ? cox::to_string(Flops{q.in_base_unit()})
                                                 : study::to_string(q);
}

}  // namespace

std::string as_claimed(const JudgedClaim& claim, const study::Quantity& value) {
  if (!claim.claimed) return text_of(value);
  const study::WrittenQuantity& as = *claim.claimed;
  if (as.unit.empty())
    return value.dimension() == study::Dimension::Ratio ? fmt::format("{:.4g}", value.in_base_unit())
                                                        : text_of(value);
  const double times = value.in_base_unit() / as.value.in_base_unit();
  const bool is_near = times > 0.01 && times < 100;
  return is_near && as.value.dimension() == value.dimension() ? study::text_like(value, as) : text_of(value);
}

std::string to_text(const JudgedClaim& claim) {
  std::string out;
  if (!claim.formula.empty()) {
    out += line("formula", fmt::format("{}: {}  [{}]", claim.formula, claim.equation, claim.source));
    for (std::size_t i = 0; i < claim.inputs.size(); ++i)
      out += line(i == 0 ? "with" : "", fmt::format("{} {}{}", claim.inputs[i].name, claim.inputs[i].text,
                                                    claim.inputs[i].is_ours ? ", ours" : ""));
  }
  for (std::size_t i = 0; i < claim.readings.size(); ++i)
    out +=
        line(i == 0 ? "computed" : "",
             fmt::format("{:<12}  {}", as_claimed(claim, claim.readings[i].value), claim.readings[i].says));
  out += line("verdict",
              fmt::format("{}: {}", claim.verdict ? verdict_text(claim) : "cannot tell", claim.reason));
  for (const std::string& slip : claim.slips) out += line("slip?", slip);
  if (!claim.unused.empty()) out += line("not used", fmt::format("{}", fmt::join(claim.unused, ", ")));
  return out;
}

std::string to_json(const JudgedClaim& claim) {
  Json result;
  result["claim"] = claim.text;
  result["verdict"] = verdict_text(claim);
  result["reason"] = claim.reason;
  result["formula"] = claim.formula;
  result["equation"] = claim.equation;
  result["source"] = claim.source;
  if (claim.claimed) put(result, "claimed", claim.claimed->value);
  result["inputs"] = Json::array();
  for (const ClaimInput& in : claim.inputs) {
    Json json;
    json["name"] = in.name;
    json["from"] = in.is_ours ? "missing" : "claim";
    put(json, "value", in.value);
    result["inputs"].push_back(std::move(json));
  }
  result["computed"] = Json::array();
  for (const ClaimReading& r : claim.readings) {
    Json json;
    json["says"] = r.says;
    put(json, "value", r.value);
    json["is_claimed"] = r.is_claimed;
    result["computed"].push_back(std::move(json));
  }
  result["slips"] = claim.slips;
  result["unused"] = claim.unused;
  return framed({.schema = "cox.claim/1"}, std::move(result));
}

Result<std::string> claim_text(std::string_view claim) {
  COX_TRY(const JudgedClaim judged, judge_claim(claim));
  return to_text(judged);
}

Result<std::string> claim_json(std::string_view claim) {
  COX_TRY(const JudgedClaim judged, judge_claim(claim));
  return to_json(judged);
}

}  // namespace cox::evaluate
