// SPDX-License-Identifier: Apache-2.0
#include "cox/diagnose/comparison.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {

std::string differences_sentence(const std::vector<JobDifference>& differs, const Diagnosis& before,
                                 const Diagnosis& after) {
  const auto words = [&](JobDifference d) -> std::string {
    switch (d) {
      case JobDifference::Ranks:
        return fmt::format("{} before, {} after", counted(before.coverage.ranks_expected, "rank"),
                           after.coverage.ranks_expected);
      case JobDifference::Times:
        return fmt::format("times known as {} before, as {} after", trace::name_of(before.times),
                           trace::name_of(after.times));
      case JobDifference::CollectivesPerStep:
        return fmt::format("{} per step before, {} after", counted(before.collectives_per_step, "collective"),
                           after.collectives_per_step);
    }
    return {};
  };
  std::string text;
  for (const JobDifference d : differs) text += (text.empty() ? "" : "; ") + words(d);
  return text.empty() ? text : "These are not two runs of one job: " + text + ".";
}

std::string change_by(const RatioInterval& ratio) {
  constexpr double kMostInPercent = 2;  // above, a multiple says it better
  const double times = ratio.value;
  if (times <= kMostInPercent) return " by " + percent(std::abs(1 - times));
  return fmt::format(", {} times as long",
                     times < 10 ? fmt::format("{:.1f}", times) : grouped(std::llround(times)));
}

std::vector<std::string> describe(const Comparison& c, bool enough, std::int64_t fewest_steps,
                                  double least_change) {
  std::vector<std::string> lines;
  if (!c.not_alike.empty()) lines.push_back(c.not_alike);
  lines.push_back(fmt::format(
      "median step {} before, {} after: ratio {:.4f} (95 % of resamplings: {:.4f} to {:.4f})",
      to_string(c.before), to_string(c.after), c.step_ratio.value, c.step_ratio.low, c.step_ratio.high));
  if (!enough)
    lines.push_back(fmt::format("one of the runs has fewer than {} steps: no statement", fewest_steps));
  else if (c.change == Change::Unclear)
    lines.push_back(fmt::format("the interval holds 1, or the difference is under {}: these runs show none",
                                percent(least_change)));
  else
    lines.push_back(name_of(c.change) + change_by(c.step_ratio));
  lines.push_back(
      fmt::format("mean step {} before, {} after: ratio {:.4f} (95 % of resamplings: {:.4f} to {:.4f})",
                  to_string(c.mean_before), to_string(c.mean_after), c.mean_ratio.value, c.mean_ratio.low,
                  c.mean_ratio.high));
  lines.push_back(fmt::format("lost to late arrivals: {} before, {} after", percent(c.lost_before),
                              percent(c.lost_after)));
  // What was promised, in the words of the diagnosis before.
  if (!c.gone.empty() && (moves_the_median(c.gone.front()) ? c.change : c.mean_change) == Change::Faster) {
    const bool median = moves_the_median(c.gone.front());
    lines.push_back(fmt::format("fixing it was estimated to save {} of the run; the {} step fell by {}",
                                gain_words(c.gone.front()), median ? "median" : "mean",
                                percent(1 - (median ? c.step_ratio : c.mean_ratio).value)));
  }
  const auto list = [&](const std::vector<Finding>& findings, const char* what) {
    for (const Finding& f : findings) lines.push_back(fmt::format("{}: {}", what, subject_of(f.ranks)));
  };
  list(c.gone, "no longer named");
  list(c.remaining, "still named");
  list(c.fresh, "newly named");
  return lines;
}

}  // namespace cox::diagnose
