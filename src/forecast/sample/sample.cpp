// SPDX-License-Identifier: Apache-2.0
#include "forecast/sample/sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace cox::forecast {
namespace {

Status refuse(std::string message) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "forecast-001",
                    .message = std::move(message),
                    .hint = "`cox explain forecast-001` says what a forecast needs",
                    .where = {}});
}

constexpr Seconds kMost{1e9};  ///< 30 years

bool usable(Seconds time) {
  return time >= Seconds{} && time <= kMost;
}

Status check_position(const Sample& sample, std::size_t p) {
  const Position& position = sample.positions[p];
  const std::size_t wanted = sample.ranks.size() * sample.steps.size();
  if (position.own.size() != wanted)
    return refuse(fmt::format("{}: position {} has {} times of own work, expected {} ({} ranks, {} steps)",
                              sample.name, p, position.own.size(), wanted, sample.ranks.size(),
                              sample.steps.size()));
  const auto bad = std::find_if_not(position.own.begin(), position.own.end(), usable);
  if (bad == position.own.end()) return {};
  const auto at = static_cast<std::size_t>(bad - position.own.begin());
  return refuse(fmt::format("{}: own work of rank {} in step {} is {} s, expected 0 to 1e9", sample.name,
                            sample.ranks[at % sample.ranks.size()].rank,
                            sample.steps[at / sample.ranks.size()].number, bad->count()));
}

}  // namespace

Status check(const Sample& sample) {
  if (sample.ranks.empty() || sample.steps.size() < 2)
    return refuse(fmt::format("{}: {} ranks and {} steps, expected at least 1 and 2", sample.name,
                              sample.ranks.size(), sample.steps.size()));
  for (const SampleStep& step : sample.steps)
    if (!usable(step.length))
      return refuse(fmt::format("{}: step {} lasts {} s, expected 0 to 1e9", sample.name, step.number,
                                step.length.count()));
  const auto lasts = [](const SampleStep& step) { return step.length > Seconds{}; };
  if (std::none_of(sample.steps.begin(), sample.steps.end(), lasts))
    return refuse(sample.name + ": every step lasts 0 s, expected one that takes time");
  for (std::size_t p = 0; p < sample.positions.size(); ++p) COX_CHECK(check_position(sample, p));
  return {};
}

Sample cut(const Sample& sample, std::size_t first, std::size_t count) {
  const auto part = [&](const auto& all, std::size_t of_a_step) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first * of_a_step);
    return std::vector(begin, begin + static_cast<std::ptrdiff_t>(count * of_a_step));
  };
  Sample out;
  out.name = sample.name;
  out.ranks = sample.ranks;
  out.waits_only = sample.waits_only;
  out.steps = part(sample.steps, 1);
  for (const Position& p : sample.positions)
    out.positions.push_back({.name = p.name, .own = part(p.own, sample.ranks.size())});
  return out;
}

}  // namespace cox::forecast
