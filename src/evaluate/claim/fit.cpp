// SPDX-License-Identifier: Apache-2.0
#include "evaluate/claim/fit.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace cox::evaluate {
namespace {

using study::Dimension;
using study::Quantity;

/// In front of what is claimed.
constexpr std::string_view kVerbs =
    "take takes is are gives give makes equals needs need lasts means leaves costs yields reaches gets becomes sends moves in hence "
    "thus to into";

constexpr int kBare = 5;
constexpr double kLargestSize =
    1e18;  // nine times that is a Bytes still; an algorithm moves four times its buffer at most

bool is_dimension(Dimension needed, const Quantity& q, bool is_named) {
  if (q.dimension() == needed) return true;
  // `0.72` may be a ratio; `3` only where words say so.
  const double x = q.in_base_unit();
  return needed == Dimension::Ratio && q.dimension() == Dimension::Count && (is_named || x != std::floor(x));
}

bool is_in(Domain domain, const Quantity& q) {
  const double x = q.in_base_unit();
  if (q.dimension() == Dimension::Size && x > kLargestSize) return false;
  switch (domain) {
    case Domain::Positive:
      return q.dimension() == Dimension::Size ? x >= 0.5 : x > 0;  // a Bytes is a whole number of them
    case Domain::Whole:
      return x >= 1 && x <= 1e6 && x == std::floor(x);
    case Domain::Share:
      return x > 0 && x <= 1;
    case Domain::Any:
      return x >= 0;
  }
  return false;
}

/// How well the words beside a number are among `names`; 0: not at all. A count is named behind it (`256 workers`),
/// other quantities in front (`latency 10 us`), or behind an `of` (`70 ms of compute`).
int named_by(const ClaimNumber& n, std::string_view names) {
  const bool is_count = n.value.value.dimension() == Dimension::Count;
  int best = 0;
  for (std::size_t i = 0; i < n.before.size(); ++i)
    if (is_one_of(n.before[i], names)) best = std::max(best, 8 - 2 * static_cast<int>(i));
  const bool has_of = !n.after.empty() && n.after[0] == "of";
  for (std::size_t i = 0; i < n.after.size(); ++i)
    if (is_one_of(n.after[i], names))
      best = std::max(best, (is_count ? 9 : has_of ? 11 : 7) - 2 * static_cast<int>(i));
  return best;
}

bool has_any(const ClaimWords& claim, std::string_view names) {
  return std::any_of(claim.words.begin(), claim.words.end(),
                     [&](const std::string& w) { return is_one_of(w, names); });
}

/// A number that may stand for a need (or, `need` = kMostNeeded, for the result), and how well it is named so.
struct Candidate {
  std::size_t number = 0;
  std::size_t need = 0;
  int named = 0;
};

class Fitter {
 public:
  Fitter(const ClaimWords& claim, const Formula& formula)
      : claim_(claim), formula_(formula), taken_(claim.numbers.size()) {
    fit_.formula = &formula;
    fit_.has_name = !formula.names[0].empty();
  }

  Fit fit() {
    take_named();
    fill_in_order();
    if (!fit_.result) take_last_as_result();
    for (std::size_t i = 0; i < kMostNeeded; ++i)
      if (!need(i).name.empty() && !fit_.numbers[i] && !need(i).is_optional())
        fit_.missing.push_back(need(i).name);
    return std::move(fit_);
  }

 private:
  [[nodiscard]] const Needed& need(std::size_t i) const { return formula_.needs[i]; }

  [[nodiscard]] bool may_be_need(std::size_t number, std::size_t i, bool is_named) const {
    const Quantity& q = claim_.numbers[number].value.value;
    return !need(i).name.empty() && claim_.numbers[number].relation != Relation::AtLeast &&
           claim_.numbers[number].relation != Relation::AtMost &&
           is_dimension(need(i).dimension, q, is_named) && is_in(need(i).domain, q);
  }

  void take(std::size_t number, std::size_t i, int named) {
    taken_[number] = true;
    ++fit_.used;
    fit_.named += named;
    (i == kMostNeeded ? fit_.result : fit_.numbers[i]) = number;
  }

  [[nodiscard]] int named_as_result(const ClaimNumber& n) const {
    int named = named_by(n, formula_.result);
    if (std::any_of(n.before.begin(), n.before.end(),
                    [](const std::string& w) { return is_one_of(w, kVerbs); }))
      named += 3;
    if (n.relation != Relation::Is) named += 2;
    // Where a ratio is asked for, a bare number is rather something else.
    if (n.value.value.dimension() != formula_.gives) named -= kBare;
    return named;
  }

  /// Numbers that words name, the best named first; of equals the later one is the result.
  void take_named() {
    std::vector<Candidate> all;
    for (std::size_t n = 0; n < claim_.numbers.size(); ++n) {
      const ClaimNumber& number = claim_.numbers[n];
      if (is_dimension(formula_.gives, number.value.value, true))
        if (const int named = named_as_result(number); named > 0) all.push_back({n, kMostNeeded, named});
      for (std::size_t i = 0; i < kMostNeeded; ++i)
        if (may_be_need(n, i, true))
          if (const int named = named_by(number, need(i).words); named > 0) all.push_back({n, i, named});
    }
    std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
      if (a.named != b.named) return a.named > b.named;
      if (a.need == kMostNeeded && b.need == kMostNeeded) return a.number > b.number;
      return false;
    });
    for (const Candidate& c : all) {
      const bool is_free = c.need == kMostNeeded ? !fit_.result : !fit_.numbers[c.need];
      if (is_free && !taken_[c.number]) take(c.number, c.need, c.named);
    }
  }

  /// What no word names: the numbers of a dimension, in the order of the needs. What may be left out is only taken for
  /// given where the result is known.
  void fill_in_order() {
    for (const bool optional : {false, true})
      for (std::size_t i = 0; i < kMostNeeded; ++i) {
        if (need(i).name.empty() || fit_.numbers[i] || need(i).is_optional() != optional) continue;
        const bool is_plain = need(i).dimension == Dimension::Count || need(i).dimension == Dimension::Ratio;
        if (optional && (is_plain || !fit_.result)) continue;
        for (std::size_t n = 0; n < claim_.numbers.size(); ++n) {
          if (taken_[n] || !may_be_need(n, i, false)) continue;
          take(n, i, 0);
          break;
        }
      }
  }

  void take_last_as_result() {
    for (std::size_t n = claim_.numbers.size(); n-- > 0;) {
      if (taken_[n] || !is_dimension(formula_.gives, claim_.numbers[n].value.value, false)) continue;
      take(n, kMostNeeded, 0);
      return;
    }
  }

  const ClaimWords& claim_;
  const Formula& formula_;
  std::vector<bool> taken_;
  Fit fit_;
};

bool is_named_in(const Formula& formula, const ClaimWords& claim) {
  if (has_any(claim, formula.never)) return false;
  return std::all_of(formula.names.begin(), formula.names.end(),
                     [&](std::string_view group) { return group.empty() || has_any(claim, group); });
}

}  // namespace

std::vector<Fit> fits_of(const ClaimWords& claim) {
  std::vector<Fit> fits;
  for (const auto formulas : {collective_formulas(), parallel_formulas(), job_formulas()})
    for (const Formula& f : formulas)
      if (is_named_in(f, claim)) fits.push_back(Fitter(claim, f).fit());
  std::stable_sort(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) {
    const auto rank = [](const Fit& f) {
      return std::tuple(f.is_complete() && f.result, f.is_complete(), f.has_name || f.is_complete(), f.used,
                        f.named);
    };
    return rank(a) > rank(b);
  });
  return fits;
}

}  // namespace cox::evaluate
