// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cox/study/answer.hpp"

namespace cox::study {
namespace {

/// Room for the last bits of a double, so that 43.75 % counts as printed 43.8 %.
constexpr double kRounding = 1e-9;

bool near(Quantity a, Quantity b, Quantity within) {
  const double size = std::max(std::abs(a.in_base_unit()), std::abs(b.in_base_unit()));
  return std::abs(a.in_base_unit() - b.in_base_unit()) <= within.in_base_unit() + kRounding * size;
}

/// Whether `q` is what was printed: the number, or a number of the printed range.
bool is_printed(const Printed& p, Quantity q, Quantity within) {
  const double low = p.value.value.in_base_unit();
  const double high = p.up_to ? p.up_to->value.in_base_unit() : low;
  const Quantity nearest(q.dimension(), std::clamp(q.in_base_unit(), low, high));
  return near(nearest, q, within);
}

tl::unexpected<Error> refuse(const Study& study, const Printed& p, std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-004",
                    .message = fmt::format("'{}': {}", p.name, message),
                    .hint = std::move(hint),
                    .where = Where{.file = study.file, .line = p.line}});
}

/// What is computed under `name`, for comparing it with `p`; nothing for no name.
Result<std::optional<Computed>> computed_for(const Study& study, const Printed& p, const std::string& name,
                                             const Computation& c) {
  if (name.empty()) return std::optional<Computed>{};
  const auto found =
      std::find_if(c.values.begin(), c.values.end(), [&](const Computed& v) { return v.name == name; });
  if (found == c.values.end() && study.has_set_inputs()) return std::optional<Computed>{};
  if (found == c.values.end())
    return refuse(study, p, fmt::format("nothing computed has the name '{}'", name),
                  fmt::format("`cox study {} --json` lists what is computed", study.name));
  if (found->value.dimension() != p.value.value.dimension())
    return refuse(study, p,
                  fmt::format("{} is compared with {}, which is {}", p.value.text, name,
                              noun_of(found->value.dimension())),
                  "name a computed value of the same kind");
  return std::optional(*found);
}

Status check_missing(const Study& study, const Printed& p) {
  for (const std::string& name : p.missing) {
    const auto in = std::find_if(study.inputs.begin(), study.inputs.end(),
                                 [&](const StudyInput& i) { return i.name == name; });
    if (in == study.inputs.end() || in->origin != InputOrigin::Missing)
      return refuse(study, p,
                    fmt::format("'{}' is said to be missing, but is no input from = \"missing\"", name),
                    "list the input that we had to choose");
  }
  return {};
}

Status check_contradiction(const Study& study, const Printed& p) {
  const auto other = std::find_if(study.printed.begin(), study.printed.end(),
                                  [&](const Printed& o) { return o.name == p.against; });
  if (other == study.printed.end() || other->name == p.name)
    return refuse(study, p, fmt::format("it contradicts '{}', which is no other printed number", p.against),
                  "name another [[printed]]");
  if (other->value.value.dimension() != p.value.value.dimension() || other->quantity != p.quantity)
    return refuse(study, p, fmt::format("it contradicts '{}', which is not the same quantity", p.against),
                  "give both the same `quantity`");
  const Quantity within = p.within.in_base_unit() > other->within.in_base_unit() ? p.within : other->within;
  if (is_printed(p, other->value.value, within) || is_printed(*other, p.value.value, within))
    return refuse(study, p, fmt::format("{} does not contradict {}", p.text(), other->text()),
                  "leave the judgement out");
  return {};
}

/// Whether the input that is said to be printed again has its value.
Result<bool> repeats_input(const Study& study, const Printed& p) {
  const auto in = std::find_if(study.inputs.begin(), study.inputs.end(),
                               [&](const StudyInput& i) { return i.name == p.typed; });
  if (in == study.inputs.end() || in->origin != InputOrigin::Source)
    return refuse(study, p,
                  fmt::format("it is said to be typed in, but '{}' is no input of the source", p.typed),
                  "name the input that it repeats");
  return std::any_of(in->values.begin(), in->values.end(), [&](const WrittenQuantity& w) {
    return w.value.dimension() == p.value.value.dimension() && is_printed(p, w.value, p.within);
  });
}

/// Whether the printed number, or a number of the printed range, is among the middle 95 % of our draws.
Result<bool> is_among_draws(const Study& study, const Printed& p, const Computed& c) {
  if (!c.draw_low || !c.draw_high)
    return refuse(study, p, "it is said to be a draw, but ours has no draws",
                  "name a computed value that is drawn");
  const double low = p.value.value.in_base_unit();
  const double high = p.up_to ? p.up_to->value.in_base_unit() : low;
  return low <= c.draw_high->in_base_unit() && high >= c.draw_low->in_base_unit();
}

/// Whether the printed number, or the upper end of the printed range, is below what it must be at least.
bool is_below(const Printed& p, const Computed& bound) {
  const Quantity most = p.up_to ? p.up_to->value : p.value.value;
  return most.in_base_unit() < bound.value.in_base_unit() && !near(most, bound.value, p.within);
}

/// Of what is computed: the comparison, in the words of what the file declares. Below a bound that no missing input
/// changes, a number does not follow, whatever these are.
Result<Verdict> compared(const Study& study, const Printed& p, const Computed& c,
                         const std::optional<Computed>& bound) {
  if (p.declared == Declared::Draw) {
    COX_TRY(const bool among, is_among_draws(study, p, c));
    if (!p.missing.empty()) return among ? Verdict::FollowsWithOurs : Verdict::NotWithOurs;
    return among ? Verdict::AmongDraws : Verdict::DoesNotFollow;
  }
  const bool follows = is_printed(p, c.value, p.within);
  if (bound && is_below(p, *bound)) return Verdict::DoesNotFollow;
  if (p.declared == Declared::InputMissing) return follows ? Verdict::FollowsWithOurs : Verdict::NotWithOurs;
  if (p.declared == Declared::Fitted) return follows ? Verdict::Fitted : Verdict::FitMisses;
  return follows ? Verdict::Follows : Verdict::DoesNotFollow;
}

Result<Judged> judge_one(const Study& study, const Printed& p, const Computation& c) {
  Judged j;
  COX_TRY(j.computed, computed_for(study, p, p.quantity, c));
  COX_TRY(const std::optional<Computed> bound, computed_for(study, p, p.at_least, c));
  COX_TRY(j.reason, said(study, c, p.reason, p.holds, p.line));
  COX_CHECK(check_missing(study, p));
  if (p.declared == Declared::Contradicts) COX_CHECK(check_contradiction(study, p));
  if (p.declared == Declared::TypedIn) {
    COX_TRY(const bool repeats, repeats_input(study, p));
    j.verdict = repeats ? Verdict::TypedIn : Verdict::DoesNotFollow;
  } else if (j.computed) {
    COX_TRY(j.verdict, compared(study, p, *j.computed, bound));
  } else if (!p.quantity.empty()) {
    j.verdict = Verdict::NotComputed;
  } else {
    j.verdict = p.declared == Declared::InputMissing ? Verdict::InputMissing : Verdict::Contradicts;
  }
  return j;
}

}  // namespace

bool CrossCheck::agrees() const {
  return apart() <= limit_ratio;
}

double CrossCheck::apart() const {
  const double a = engine.in_base_unit();
  const double b = oracle.in_base_unit();
  const double size = std::max(std::abs(a), std::abs(b));
  return size > 0 ? std::abs(a - b) / size : 0;
}

Result<std::vector<Judged>> judge(const Study& study, const Computation& computation) {
  std::vector<Judged> judged;
  for (const Printed& p : study.printed) {
    COX_TRY(Judged j, judge_one(study, p, computation));
    judged.push_back(std::move(j));
  }
  return judged;
}

}  // namespace cox::study
