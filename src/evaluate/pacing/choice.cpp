// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cox/base/spelling.hpp"

#include "evaluate/pacing/measure.hpp"

namespace cox::evaluate {
namespace {

constexpr std::string_view kSizes = "sizes";

}  // namespace

Result<PacingChoice> choose_pacing(const PacingStudy& study, std::string_view only) {
  PacingChoice choice;
  std::vector<std::string> names;
  names.reserve(study.conditions.size());
  for (const PacingCondition& c : study.conditions) names.push_back(c.name);
  if (only.empty()) {
    choice.conditions.insert(names.begin(), names.end());
    choice.sizes = true;
    return choice;
  }
  if (!study.sizes.empty()) names.emplace_back(kSizes);
  for (std::size_t from = 0; from <= only.size();) {
    const std::size_t to = std::min(only.find(',', from), only.size());
    const std::string name(only.substr(from, to - from));
    from = to + 1;
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const auto near = nearest(name, names);
      return fail(Error{
          .code = Errc::Usage,
          .id = "study-006",
          .message = fmt::format("no condition has the name '{}'", name),
          .hint = near ? fmt::format("did you mean {}?", *near) : "`cox study pacing --dry-run` lists them",
          .where = {}});
    }
    if (name != kSizes) choice.conditions.insert(name);
    choice.sizes = choice.sizes || name == kSizes;
  }
  return choice;
}

void keep_only(PacingStudy& study, const PacingChoice& choice) {
  std::erase_if(study.conditions,
                [&](const PacingCondition& c) { return !choice.conditions.contains(c.name); });
  if (!choice.sizes) study.sizes.clear();
}

}  // namespace cox::evaluate
