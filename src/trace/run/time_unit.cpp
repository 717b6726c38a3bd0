// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/time_unit.hpp"

#include <array>
#include <utility>

namespace cox::trace {
namespace {

constexpr std::string_view kTakenAs = " unit=unknown:";
constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
    {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}};

}  // namespace

std::optional<Seconds> unknown_unit(std::span<const RankTrack> ranks) {
  if (ranks.empty()) return std::nullopt;
  const std::string_view timing = ranks.front().timing;
  const std::size_t at = timing.find(kTakenAs);
  if (at == std::string_view::npos) return std::nullopt;
  for (const auto& [name, seconds] : kUnits)
    if (timing.substr(at + kTakenAs.size()) == name) return Seconds(seconds);
  return std::nullopt;
}

std::string timing_in_unknown_unit(std::string_view timing, Seconds taken_as) {
  std::string_view unit = kUnits.front().first;
  for (const auto& [name, seconds] : kUnits)
    if (seconds >= taken_as.count() * 0.999) unit = name;
  return std::string(timing) + std::string(kTakenAs) + std::string(unit);
}

}  // namespace cox::trace
