// SPDX-License-Identifier: Apache-2.0
// What was matched refers to its Run: a Run that nobody keeps cannot be matched.
#include "cox/diagnose/matched.hpp"

#include "diagnose/match/matched.hpp"

namespace {

cox::trace::Run read() {
  return {};
}

std::size_t ranks_of(const cox::diagnose::Matched& matched) {
  return matched.ranks();
}

}  // namespace

int main() {
  const cox::trace::Run run = read();
  const cox::diagnose::Matched matched(run);
  const auto shared = cox::diagnose::match_run(run);
  std::size_t ranks = ranks_of(matched) + ranks_of(run) + ranks_of(*shared);
#ifdef TEMPORARY_RUN
  const cox::diagnose::Matched dangling(read());
  ranks += dangling.ranks();
#endif
#ifdef TEMPORARY_RUN_AS_MATCHED
  ranks += ranks_of(read());
#endif
#ifdef TEMPORARY_RUN_SHARED
  ranks += cox::diagnose::match_run(read())->ranks();
#endif
  return static_cast<int>(ranks);
}
