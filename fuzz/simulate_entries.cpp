// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "cox/base/assert.hpp"
#include "cox/simulate/goal.hpp"

#include "fuzz/entries.hpp"
#include "simulate/collective/measured.hpp"

namespace cox::fuzz {
namespace {

Result<simulate::EventOutcome> run(std::string_view bytes, const char* parameters) {
  const auto cost = simulate::parse_loggops(parameters);
  COX_ASSERT(cost.has_value(), "the fuzzer's own parameters are read");
  return simulate::simulate_goal(std::as_bytes(std::span(bytes)), "fuzz", *cost);
}

}  // namespace

void goal_schedule(std::string_view bytes) {
  for (const char* parameters :
       {"L=1us,o=3ns,g=5ns,G=20ps/B,O=1ps/B,S=64B", "L=0ns,G=0ns/B", "L=7ns,G=1.5ps/B,S=0B"}) {
    const auto outcome = run(bytes, parameters);
    const auto again = run(bytes, parameters);
    COX_ASSERT(outcome.has_value() == again.has_value(), "same bytes, same answer");
    if (!outcome) {
      COX_ASSERT(!outcome.error().id.empty() && !outcome.error().message.empty(), "an error says what it is");
      COX_ASSERT(outcome.error().message == again.error().message, "same bytes, same error");
      continue;
    }
    COX_ASSERT(outcome->finish == again->finish, "same bytes, same times");
    if (const auto binary = simulate::goal_binary(bytes, "fuzz")) {
      const auto from_binary = run(*binary, parameters);
      COX_ASSERT(from_binary && from_binary->finish == outcome->finish, "both forms give one answer");
    }
  }
}

void measured(std::string_view bytes) {
  const auto read = simulate::parse_measured_times(bytes, "fuzz");
  if (!read) {
    COX_ASSERT(read.error().id == "simulate-008" && read.error().where,
               "bad times have one error, and its line");
    COX_ASSERT(read.error().message.size() < 2000, "a message is a line");
    for (const char c : read.error().message) COX_ASSERT(c >= ' ' || c < 0, "that a terminal can show");
    return;
  }
  for (const model::MeasuredCurve& curve : read->curves)
    for (std::int64_t size = 1; size < std::int64_t{1} << 60; size *= 7) {
      const auto found = read->at(curve.kind, curve.ranks, Bytes{size});
      COX_ASSERT(found.has_value(), "what is there is found");
      COX_ASSERT(std::isfinite(found->time.count()) && found->time > Seconds{}, "a time is a time");
      COX_ASSERT(found->probability >= 0 && found->probability <= 1, "a probability is one");
      COX_ASSERT(found->probability == 0 || found->slow >= found->time * (1 - 1e-12), "a dip is slower");
    }
}

}  // namespace cox::fuzz
