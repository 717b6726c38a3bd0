// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cox/base/assert.hpp"
#include "cox/study/computation.hpp"

namespace cox::study {

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
  for (const NamedComputation& c : all_) names.push_back(c.name);
  return names;
}

Result<Answer> run_study(const Study& study, const ComputationTable& known, const ComputeOptions& options) {
  const NamedComputation* found = known.find(study.compute);
  if (found == nullptr)
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "study-003",
                      .message = fmt::format("no computation has the name '{}'", study.compute),
                      .hint = fmt::format("there are: {}", fmt::join(known.names(), ", ")),
                      .where = Where{.file = study.file}});
  Answer answer{.study = study, .computation = {}, .judged = {}, .text = {}};
  COX_TRY(answer.computation, found->compute(Inputs(study), options));
  COX_TRY(answer.judged, judge(study, answer.computation));
  COX_TRY(answer.text, fill(study, answer.computation, study.answer, 0));
  for (const Judged& j : answer.judged) answer.verdict = std::max(answer.verdict, j.verdict);
  return answer;
}

}  // namespace cox::study
