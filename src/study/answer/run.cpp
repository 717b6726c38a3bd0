// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"
#include "cox/study/computation.hpp"

namespace cox::study {
namespace {

/// What the source printed for the points of a curve; without points where it printed nothing for them.
Series printed_for(const Series& curve, const AnsweredStudy& a) {
  Series out{.name = curve.name + ", printed", .x = {}, .y = {}, .of = {}, .is_printed = true};
  for (std::size_t k = 0; k < curve.of.size(); ++k)
    for (std::size_t i = 0; i < a.judged.size(); ++i) {
      const Printed& p = a.study.printed[i];
      const auto& ours = a.judged[i].computed;
      if (p.quantity != curve.of[k] || !ours || ours->value.in_base_unit() == 0) continue;
      const double scale = curve.y[k] / ours->value.in_base_unit();
      // Bars have no x: the number of their category.
      const double x = curve.x.empty() ? static_cast<double>(k) : curve.x[k];
      out.x.push_back(x);
      out.y.push_back(scale * p.value.value.in_base_unit());
      if (!p.up_to) continue;
      out.x.push_back(x);
      out.y.push_back(scale * p.up_to->value.in_base_unit());
    }
  return out;
}

void add_printed(Picture& picture, const AnsweredStudy& a) {
  const std::size_t computed = picture.series.size();
  for (std::size_t i = 0; i < computed; ++i)
    if (Series printed = printed_for(picture.series[i], a); !printed.x.empty()) {
      if (picture.kind == Picture::Kind::Lines)
        printed.curve = static_cast<int>(i);  // on a bar it would not show
      picture.series.push_back(std::move(printed));
    }
  for (Picture& below : picture.below) add_printed(below, a);
}

/// An input of zero may leave nothing to divide by.
Status check_finite(const Study& study, const Computation& c) {
  for (const Computed& v : c.values)
    if (!std::isfinite(v.value.in_base_unit()))
      return fail(Error{.code = Errc::InvalidInput,
                        .id = "study-003",
                        .message = fmt::format("'{}' is no number with these inputs", v.name),
                        .hint = "an input that it is divided by is zero, or one is far too large",
                        .where = Where{.file = study.file}});
  return {};
}

}  // namespace

void ComputationTable::add(std::span<const NamedComputation> more) {
  for (const NamedComputation& one : more) {
    COX_ASSERT(!one.name.empty() && one.compute != nullptr, "a computation has a name and a function");
    COX_ASSERT(find(one.name) == nullptr, "a name means one computation");
    all_.push_back(one);
  }
}

const NamedComputation* ComputationTable::find(std::string_view name) const {
  const auto at =
      std::find_if(all_.begin(), all_.end(), [&](const NamedComputation& c) { return c.name == name; });
  return at == all_.end() ? nullptr : &*at;
}

std::vector<std::string_view> ComputationTable::names() const {
  std::vector<std::string_view> names;
  names.reserve(all_.size());
  for (const NamedComputation& c : all_) names.push_back(c.name);
  return names;
}

Result<AnsweredStudy> run_study(const Study& study, const ComputationTable& known,
                                const ComputeOptions& options) {
  const NamedComputation* found = known.find(study.compute);
  if (found == nullptr)
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "study-003",
                      .message = fmt::format("no computation has the name '{}'", study.compute),
                      .hint = fmt::format("there are: {}", fmt::join(known.names(), ", ")),
                      .where = Where{.file = study.file}});
  AnsweredStudy answer{.study = study, .computation = {}, .judged = {}};
  COX_TRY(answer.study.question, question_of(study));
  COX_TRY(answer.computation, found->compute(Inputs(study), options));
  COX_CHECK(check_finite(study, answer.computation));
  COX_TRY(answer.judged, judge(study, answer.computation));
  COX_TRY(answer.answer, said(study, answer.computation, study.answer, study.holds, 0));
  add_printed(answer.computation.picture, answer);
  for (const Judged& j : answer.judged) answer.verdict = std::max(answer.verdict, j.verdict);
  return answer;
}

}  // namespace cox::study
