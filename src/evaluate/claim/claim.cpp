// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cox/base/number_text.hpp"
#include "cox/base/spelling.hpp"
#include "cox/base/units_text.hpp"
#include "cox/study/answer.hpp"

#include "evaluate/claim/judged.hpp"
#include "evaluate/claim/slips.hpp"

namespace cox::evaluate {
namespace {

using study::Dimension;
using study::Quantity;

constexpr double kAbout = 0.05;          ///< how closely `about` must agree
constexpr std::size_t kMostGuesses = 3;  ///< formulas that it may be

/// The claim's number as a study has it.
study::Printed printed_of(const ClaimNumber& n, Dimension gives, bool has_ours) {
  study::Printed p;
  p.name = "claim";
  p.quantity = "computed";
  p.value = n.value;
  const double x = n.value.value.in_base_unit();
  double within = n.value.last_digit.in_base_unit() / 2;
  if (n.relation == Relation::About) within = std::max(within, kAbout * x);
  if (n.relation == Relation::AtMost || n.relation == Relation::AtLeast) {
    p.up_to = p.value;
    const bool is_most = n.relation == Relation::AtMost;
    (is_most ? p.value : *p.up_to).value = Quantity(gives, is_most ? 0 : std::numeric_limits<double>::max());
    within = 0;
  }
  p.within = Quantity(gives, within);
  for (study::WrittenQuantity* w : {&p.value, p.up_to ? &*p.up_to : nullptr})
    if (w != nullptr) w->value = Quantity(gives, w->value.in_base_unit());
  if (has_ours) {
    p.declared = study::Declared::InputMissing;
    p.missing = {"ours"};
  }
  return p;
}

/// The verdict of a study with this one number.
Result<study::Verdict> judged(const ClaimNumber& n, const Quantity& computed, bool has_ours) {
  study::Study one;
  one.name = "claim";
  one.inputs.push_back({.name = "ours", .values = {}, .origin = study::InputOrigin::Missing, .note = {}});
  one.printed.push_back(printed_of(n, computed.dimension(), has_ours));
  study::Computation computation;
  computation.values.push_back({.name = "computed", .value = computed, .engine = "closed-form"});
  COX_TRY(const auto all, study::judge(one, computation));
  return all.front().verdict;
}

bool is_so(study::Verdict v) {
  return v == study::Verdict::Follows || v == study::Verdict::FollowsWithOurs;
}

/// Fills inputs and values from the fit.
std::array<Quantity, kMostNeeded> values_of(const ClaimWords& words, const Fit& fit,
                                            std::vector<ClaimInput>& inputs) {
  std::array<Quantity, kMostNeeded> values{};
  for (std::size_t i = 0; i < kMostNeeded; ++i) {
    const Needed& need = fit.formula->needs[i];
    if (need.name.empty()) continue;
    ClaimInput in{
        .name = std::string(need.name), .value = {}, .text = {}, .is_ours = !fit.numbers[i] && need.is_ours};
    if (fit.numbers[i]) {
      const study::WrittenQuantity& w = words.numbers[*fit.numbers[i]].value;
      values[i] = Quantity(need.dimension, w.value.in_base_unit());
      in.text = w.text;
    } else {
      values[i] = Quantity(need.dimension, need.otherwise);
      in.text = need.dimension == Dimension::Size ? cox::to_string(Bytes{std::llround(need.otherwise)})
                                                  : study::to_string(values[i]);
    }
    in.value = values[i];
    // What is left out at no cost (no latency, one server) is not worth a word.
    if (fit.numbers[i] || need.is_ours) inputs.push_back(std::move(in));
  }
  return values;
}

/// Why nothing can be told where no formula has all that it needs.
std::string what_is_missing(const std::vector<Fit>& fits) {
  std::vector<std::string> guesses;
  const bool is_named =
      std::any_of(fits.begin(), fits.end(), [](const Fit& f) { return f.has_name && f.used > 0; });
  for (const Fit& f : fits)
    if (!f.is_complete() && guesses.size() < kMostGuesses && f.has_name == is_named &&
        f.used > (is_named ? 0 : 1))
      guesses.push_back(fmt::format("{} (it does not say: {})", f.formula->name, fmt::join(f.missing, ", ")));
  if (guesses.empty()) return "no formula that is known here has such words and numbers";
  return fmt::format("it may be about: {}", fmt::join(guesses, "; "));
}

/// By how much the claimed number is off.
std::string far_off(const Quantity& claimed, const Quantity& computed) {
  const double times = claimed.in_base_unit() / computed.in_base_unit();
  if (!std::isfinite(times) || times <= 0) return {};
  if (std::abs(times - 1) < 0.5)
    return fmt::format("; the claim is {} {}", percent_change(std::abs(times - 1), ChangeSign::InWords),
                       times > 1 ? "more" : "less");
  if (times > 1) return fmt::format("; the claim is {} that", study::to_string(Quantity::ratio(times)));
  return fmt::format("; that is {} the claim", study::to_string(Quantity::ratio(1 / times)));
}

void judge_into(JudgedClaim& out, const ClaimWords& words, const Fit& fit,
                const std::array<Quantity, kMostNeeded>& values) {
  const ClaimNumber& n = words.numbers[*fit.result];
  const bool has_ours =
      std::any_of(out.inputs.begin(), out.inputs.end(), [](const ClaimInput& i) { return i.is_ours; });
  for (ClaimReading& r : out.readings) {
    const auto verdict = judged(n, r.value, has_ours);
    if (!verdict) continue;
    r.is_claimed = is_so(*verdict) && !(out.verdict && is_so(*out.verdict));
    if (!out.verdict || r.is_claimed) out.verdict = *verdict;
  }
  if (!out.verdict) {
    out.reason = "the claimed number is of another kind than what the formula gives";
    return;
  }
  const ClaimReading& usual = out.readings.front();
  if (is_so(*out.verdict)) {
    const auto found = std::find_if(out.readings.begin(), out.readings.end(),
                                    [](const ClaimReading& r) { return r.is_claimed; });
    out.reason = fmt::format("the formula gives {}: {}", as_claimed(out, found->value), found->says);
    return;
  }
  out.reason = fmt::format("the formula gives {}{}", as_claimed(out, usual.value),
                           far_off(n.value.value, usual.value));
  out.slips = slips_of({.claim = words, .fit = fit, .values = values}, [&](const Quantity& q) {
    const auto verdict = judged(n, q, false);
    return verdict && is_so(*verdict);
  });
}

}  // namespace

Result<JudgedClaim> judge_claim(std::string_view text) {
  const bool is_blank = text.find_first_not_of(" \t\r\n") == std::string_view::npos;
  if (is_blank || text.size() > kLongestClaim)
    return fail(Error{
        .code = Errc::InvalidInput,
        .id = "evaluate-001",
        .message = is_blank ? "the claim is empty"
                            : fmt::format("the claim has {} characters, expected at most {}", text.size(),
                                          kLongestClaim),
        .hint =
            "write one sentence with numbers and units: ring over 256 workers of 700 MB at 50 GB/s takes 28 ms",
        .where = std::nullopt});
  JudgedClaim out{
      .text = shown(text, kLongestClaim), .formula = {}, .equation = {}, .source = {}, .reason = {}};
  const ClaimWords words = claim_words(text);
  if (words.denies) {
    out.reason = "it says what is not, or holds a number below zero: say what is";
    return out;
  }
  if (words.unreadable) {
    out.reason = "a number cannot be read: write it like 0.03, 28.5, 1e23, and one number instead of a range";
    return out;
  }
  const std::vector<Fit> fits = fits_of(words);
  if (fits.empty() || !fits.front().is_complete()) {
    out.reason = what_is_missing(fits);
    return out;
  }
  const Fit& fit = fits.front();
  out.formula = fit.formula->name;
  out.equation = fit.formula->equation;
  out.source = fit.formula->source;
  const auto values = values_of(words, fit, out.inputs);
  out.readings = fit.formula->compute(ClaimValues(*fit.formula, values));
  std::erase_if(out.readings, [](const ClaimReading& r) { return !std::isfinite(r.value.in_base_unit()); });
  for (std::size_t i = 0; i < words.numbers.size(); ++i)
    if (fit.result != i && std::find(fit.numbers.begin(), fit.numbers.end(), i) == fit.numbers.end())
      out.unused.push_back(words.numbers[i].value.text);
  if (out.readings.empty()) {
    out.reason = "the formula does not cover these values";
    return out;
  }
  if (!fit.result) {
    out.reason = fmt::format("it names no {} to judge", study::noun_of(fit.formula->gives).substr(2));
    return out;
  }
  out.claimed = words.numbers[*fit.result].value;
  judge_into(out, words, fit, values);
  if (out.verdict && !is_so(*out.verdict) && !out.unused.empty()) {
    out.verdict.reset();
    out.slips.clear();
    out.reason = fmt::format("the formula has no place for {}; without it: {}", fmt::join(out.unused, ", "),
                             out.reason);
  }
  return out;
}

std::string_view verdict_text(const JudgedClaim& claim) {
  return claim.verdict ? study::name_of(*claim.verdict) : "cannot-tell";
}

}  // namespace cox::evaluate
