// SPDX-License-Identifier: Apache-2.0
#include "forecast/control/carried.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "forecast/scenario/as_training.hpp"

namespace cox::forecast {
namespace {

using model::Collective;

/// Why this lever does not apply; empty = it does, nothing where it is none of those that a Run can be asked.
std::optional<std::string> why_not(std::string_view lever, const ToldSteps& told) {
  if (lever == "pacing")
    return "what early ranks take from late ones is not in a Scenario of a Run: --pace of cox observe tries "
           "it live";
  if (lever == "backup-workers" || lever == "local-steps") return why_no_workers(told);
  if (lever == "bounded-staleness") {
    std::string why = why_no_workers(told);
    return why.empty() && told.bytes <= Bytes{} ? "how much the ranks exchange is not told" : why;
  }
  return std::nullopt;
}

/// What work hides of messages decides what these are worth.
bool of_messages(std::string_view lever) {
  return lever == "faster-links" || lever == "compression";
}

}  // namespace

std::string why_no_workers(const ToldSteps& told) {
  if (told.synchronisations > 1)
    return fmt::format("a step has {} synchronisations, and which of them sums gradients is not told",
                       told.synchronisations);
  if (told.roles > 1) return "ranks have unlike work, so a worker is more than one rank";
  if (told.meets_in != Collective::AllReduce && told.meets_in != Collective::Other)
    return "the ranks meet in no sum of gradients";
  return {};
}

std::vector<Lever> carried_levers(const model::Scenario& training, const ToldSteps& told) {
  std::vector<Lever> out;
  const bool overlaps = overlaps_work(training);
  for (Lever& lever : levers_of(training)) {
    std::optional<std::string> why = why_not(lever.name, told);
    if (!why && overlaps && of_messages(lever.name)) why = lever.why_not;
    if (!why) continue;
    if (!why->empty()) lever.why_not = *std::move(why);
    out.push_back(std::move(lever));
  }
  return out;
}

}  // namespace cox::forecast
