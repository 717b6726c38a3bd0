// SPDX-License-Identifier: Apache-2.0
// Who is late over many operations, and who is absent from them.
#include <fmt/format.h>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

std::string before_what(const OverOperations& over) {
  return over.kind.empty() ? "between operations" : "before " + over.kind;
}

/// `3 of 40 operations lack a member`
std::string lacking(std::int64_t incomplete, std::int64_t of) {
  return fmt::format("{} of {} {} a member", incomplete, counted(of, "operation"),
                     incomplete == 1 ? "lacks" : "lack");
}

std::string absent_words(const Presence::Absent& a) {
  return a.absent == a.of ? fmt::format("rank {} from all {}", a.rank.value(), a.of)
                          : fmt::format("rank {} from {} of {}", a.rank.value(), a.absent, a.of);
}

}  // namespace

std::string subject_over_operations(const OverOperations& over) {
  const std::string who = subject_of(over.together);
  const bool one = over.together.size() == 1;
  if (over.often_incomplete) return fmt::format("of those present {} {} late", who, one ? "is" : "are");
  return fmt::format("{} {} the pace", who, one ? "sets" : "set");
}

std::string late_words_over_operations(const Finding& f, const OverOperations& over) {
  std::string text =
      fmt::format("{} own work {} takes {} longer than the median of those present, in {} of {}",
                  over.together.size() == 1 ? "its" : fmt::format("{}'s", subject_of(f.ranks)),
                  before_what(over), to_string(over.delay), over.late, counted(over.operations, "operation"));
  if (over.often_incomplete)
    text += fmt::format("; {}, and who is absent may have been later", lacking(over.incomplete, over.held));
  return text;
}

std::vector<Evidence> evidence_over_operations(const LateEvidence& e, const OverOperations& over) {
  std::vector<Evidence> facts;
  facts.push_back(
      {fmt::format("own work {} takes {} longer than the median of those present (median over {})",
                   before_what(over), to_string(over.delay), counted(over.operations, "operation")),
       "self_delay_operation_median_s", in_seconds(over.delay)});
  const double late =
      over.operations > 0 ? static_cast<double>(over.late) / static_cast<double>(over.operations) : 0;
  facts.push_back(
      {fmt::format("late by half of that in {} of {}", over.late, counted(over.operations, "operation")),
       "late_operations_ratio", late});
  if (over.incomplete > 0)
    facts.push_back(
        {lacking(over.incomplete, over.held), "incomplete_operations", static_cast<double>(over.incomplete)});
  facts.push_back({fmt::format("probability by chance at most {:.1g}", e.chance), "chance_ratio", e.chance});
  return facts;
}

std::vector<std::string> describe(const Presence& presence) {
  constexpr std::size_t kListed = 16;
  if (presence.absent.empty() || presence.incomplete == 0) return {};
  std::string list;
  for (std::size_t i = 0; i < presence.absent.size() && i < kListed; ++i)
    list += (i == 0 ? "" : ", ") + absent_words(presence.absent[i]);
  if (presence.absent.size() > kListed) list += fmt::format(" and {} more", presence.absent.size() - kListed);
  return {lacking(presence.incomplete, presence.operations) + ": absent are " + list};
}

}  // namespace cox::diagnose
