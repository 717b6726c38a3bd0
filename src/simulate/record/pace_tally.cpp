// SPDX-License-Identifier: Apache-2.0
#include "simulate/record/pace_tally.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cox::simulate {

Result<pace::Settings> pace_settings(const std::map<std::string, std::string>& keys) {
  pace::Settings settings;
  for (const auto& [key, value] : keys)
    if (!pace::set(settings, key.c_str(), value.c_str()))
      return fail(
          Error{.code = Errc::InvalidInput,
                .id = "simulate-007",
                .message = fmt::format("pace.{} is {}, which the controller does not take", key, value),
                .hint = "docs/reference/scenario.md, [pace], lists its parameters",
                .where = {}});
  return settings;
}

void PaceTally::add(Seconds period, std::span<const Seconds> delays, std::span<const Seconds> waits) {
  period_.add(period.count());
  periods_.push_back(period.count());
  for (std::size_t r = 0; r < delay_.size(); ++r) {
    delay_[r] += delays[r];
    wait_[r] += waits[r];
  }
  if (std::ranges::any_of(delays, [](Seconds d) { return d > Seconds::zero(); })) ++paced_steps_;
}

PacedSummary PaceTally::summary(std::string name, std::span<const pace::Decision> decisions,
                                std::span<const pace::Controller> controllers) const {
  PacedSummary s;
  s.name = std::move(name);
  s.steps = steps();
  s.paced_steps = paced_steps_;
  for (const double period : periods_) s.total += Seconds{period};
  s.mean = Seconds{period_.mean()};
  s.cv = period_.cv();
  std::vector<double> periods = periods_;
  s.p50 = Seconds{quantile_in_place(periods, 0.5)};
  s.p99 = Seconds{quantile_in_place(periods, 0.99)};
  const double steps = std::max(1.0, static_cast<double>(periods_.size()));
  for (std::size_t r = 0; r < delay_.size(); ++r) {
    PacedRank rank{
        .delay = delay_[r] / steps, .wait = wait_[r] / steps, .last = decisions[r], .evidence = {}};
    if (!controllers.empty()) rank.evidence = controllers[r].evidence();
    s.delay += rank.delay / static_cast<double>(delay_.size());
    s.wait += rank.wait / static_cast<double>(delay_.size());
    s.ranks.push_back(rank);
  }
  return s;
}

}  // namespace cox::simulate
