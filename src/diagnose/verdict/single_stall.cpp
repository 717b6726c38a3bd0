// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict/single_stall.hpp"

#include <algorithm>

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

constexpr std::int64_t kLeastSteps = 3;
constexpr double kMostOfLost = 0.5;
constexpr double kWorthSaying = 0.02;  // of the run

}  // namespace

std::optional<SingleStall> find_single_stall(const Evidenced& x, Duration lost, Duration run_time,
                                             const std::function<Duration(const Suspect&)>& replayed) {
  if (x.steps().count < kLeastSteps || x.ranks() < 2 || lost <= Duration::zero() ||
      run_time <= Duration::zero())
    return std::nullopt;
  std::int32_t rank = -1;
  std::int64_t step = -1;
  Duration longest{};
  for (std::size_t r = 0; r < x.ranks(); ++r)
    for (std::size_t s = 0; s < x.delays[r].size(); ++s)
      if (x.delays[r][s] > longest) {
        longest = x.delays[r][s];
        rank = static_cast<std::int32_t>(r);
        step = static_cast<std::int64_t>(s);
      }
  if (rank < 0) return std::nullopt;
  const Suspect once{.ranks = {rank}, .first_step = step, .last_step = step, .rank_of_step = {}};
  Duration saved;
  Duration of_run;
  if (replayed) {
    saved = of_run = replayed(once);
  } else {
    const Saving saving = savings_without(x.matched, {once}).each.front();
    saved = saving.share;
    of_run = most_of_a_rank(x.matched, saving.share_in);
  }
  SingleStall out{.rank = x.matched.rank(static_cast<std::size_t>(rank)),
                  .step = StepId{x.steps().numbers[static_cast<std::size_t>(step)]},
                  .delay = longest,
                  .gain_ratio = std::clamp(ratio(of_run, run_time), 0.0, 1.0)};
  const bool most = ratio(saved, lost) >= kMostOfLost;
  return most && out.gain_ratio >= kWorthSaying ? std::optional(out) : std::nullopt;
}

}  // namespace cox::diagnose
