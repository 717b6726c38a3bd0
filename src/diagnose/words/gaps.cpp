// SPDX-License-Identifier: Apache-2.0
// What the input does not answer.
#include <fmt/format.h>

#include <algorithm>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

/// What inputs without full times leave open. True where nothing more is to be said about clocks.
bool add_times(trace::TimesKind times, std::vector<std::string>& gaps) {
  switch (times) {
    case trace::TimesKind::Clocked:
      return false;
    case trace::TimesKind::Durations:
      gaps.emplace_back(
          "whether members leave together: only durations were recorded, and arrivals are taken "
          "from them on that assumption");
      return true;
    case trace::TimesKind::Steps:
      gaps.emplace_back(
          "where within a step time goes: only its length per rank was recorded, and one "
          "synchronisation at its end is assumed");
      return true;
    case trace::TimesKind::None:
      gaps.emplace_back("when anything happened: no begin was recorded");
      return true;
  }
  return false;
}

void add_waits(const Diagnosis& d, std::vector<std::string>& gaps) {
  if (add_times(d.times, gaps)) return;
  if (d.coverage.ranks_seen < 2) return;
  if (d.wait_method == WaitMethod::Clock) return;
  gaps.push_back(
      d.coverage.clock_domains > 1
          ? fmt::format("clock offset between {} clock domains: waits are taken from durations, not from "
                        "entry times, and transfer is an upper bound",
                        d.coverage.clock_domains)
          : fmt::format("clocks stray by {} from their own line: waits are taken from durations",
                        to_string(d.coverage.clock_residual)));
  if (d.coverage.wait_validity_ratio > 0.5)
    gaps.push_back(fmt::format(
        "who waited how long: ranks leave collectives as far apart as they enter them (ratio {:.2f}, "
        "trusted below 0.1)",
        d.coverage.wait_validity_ratio));
  if (d.coverage.order_refused)
    gaps.emplace_back(
        "who is late: members leave as far apart as they enter even in the operations with the widest "
        "spread, so a short call is no late arrival; own work alone names");
}

}  // namespace

std::string counted(std::int64_t n, const char* what) {
  return fmt::format("{} {}{}", grouped(n), what, n == 1 ? "" : "s");
}

std::string unobserved_words(const trace::UnobservedCalls& calls) {
  std::string words;
  for (std::size_t kind = 0; kind < calls.size(); ++kind) {
    if (calls[kind] == 0) continue;
    if (!words.empty()) words += ", ";
    words += fmt::format("{} {}", name_of(static_cast<trace::Unobserved>(kind)).words,
                         grouped(static_cast<std::int64_t>(calls[kind])));
  }
  return words;
}

std::vector<std::string> name_gaps(const Diagnosis& d, const OpenEnds& open) {
  std::vector<std::string> gaps;
  const Coverage& c = d.coverage;
  if (c.ranks_seen == 1)
    gaps.emplace_back(d.times == trace::TimesKind::Steps && c.ranks_expected < 2
                          ? "who sets the pace: it is one series for the whole job"
                          : "who sets the pace: there is one rank only");
  if (!c.missing_ranks.empty())
    gaps.push_back(fmt::format("what {} of {} did (rank {})", c.ranks_expected - c.ranks_seen,
                               counted(c.ranks_expected, "rank"), rank_numbers(c.missing_ranks)));
  if (!c.missing_ranks.empty() && d.wait_method == WaitMethod::Clock)
    gaps.emplace_back(
        "what of transfers is a wait for a rank that is missing: whoever waited for it is shown as in transfer");
  // A call that is still open is told as such; it lacks no member.
  const bool lacks_calls = c.ratio < 1 || c.collectives_matched < c.collectives_seen;
  if (open.incomplete_operations > 0 && lacks_calls)
    gaps.push_back(fmt::format("who was late in {} of which a member's call is missing",
                               counted(open.incomplete_operations, "operation")));
  if (c.mismatched > 0)
    gaps.push_back(fmt::format("{} on whose kind the members disagree", counted(c.mismatched, "operation")));
  if (c.dropped_records + c.recycled_records > 0)
    gaps.push_back(fmt::format("what {} dropped and {} overwritten records said",
                               grouped(static_cast<std::int64_t>(c.dropped_records)),
                               grouped(static_cast<std::int64_t>(c.recycled_records))));
  if (const std::string kinds = unobserved_words(c.unobserved_calls); !kinds.empty())
    gaps.push_back("what MPI calls did that are counted and not recorded, and are no part of the coverage: " +
                   kinds);
  if (c.unfinished_calls > 0)
    gaps.push_back(
        fmt::format("how {} that never returned would have ended", counted(c.unfinished_calls, "call")));
  add_waits(d, gaps);
  if (open.inside > Duration::zero() && ratio(open.rooted, open.inside) > 0.01)
    gaps.push_back(
        fmt::format("waits inside broadcasts, reductions to a root and the like ({} of the time in "
                    "synchronisations): counted as transfer, and they name nobody",
                    percent(ratio(open.rooted, open.inside))));
  if (d.step_source == StepSource::EachSync)
    gaps.emplace_back("where training steps begin: each synchronisation is taken as one");
  if (d.step_source == StepSource::None)
    gaps.emplace_back(d.messages_only ? "steps: ranks that meet through messages alone are compared by turns"
                                      : "where training steps begin: too few synchronisations");
  if (open.guessed_ranks > 0)
    gaps.push_back(fmt::format("where steps begin on {} outside of the widest group: taken from another rank",
                               counted(open.guessed_ranks, "rank")));
  if (!open.all_sampled)
    gaps.emplace_back("slow code or slow host: there are no CPU-time samples to tell them apart");
  gaps.emplace_back("slow network or much to send: transfer times are not held against a reference");
  return gaps;
}

}  // namespace cox::diagnose
