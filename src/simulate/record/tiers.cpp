// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "cox/simulate/outcome.hpp"

namespace cox::simulate {
namespace {

std::string without_numbers(const std::string& name) {
  std::string out;
  for (const char c : name)
    if (c < '0' || c > '9') out += c;
  return out;
}

}  // namespace

std::vector<LinkTier> tiers_of(std::span<const LinkLoad> links) {
  std::map<std::string, std::vector<const LinkLoad*>> by_name;
  for (const LinkLoad& link : links) by_name[without_numbers(link.name)].push_back(&link);
  std::vector<LinkTier> out;
  for (auto& [name, of] : by_name) {
    if (std::none_of(of.begin(), of.end(), [](const LinkLoad* l) { return l->bytes.count() > 0; })) continue;
    double sum = 0;
    double busiest = 0;
    for (const LinkLoad* link : of) {
      sum += link->utilisation_ratio;
      busiest = std::max(busiest, link->utilisation_ratio);
    }
    const double mean = sum / static_cast<double>(of.size());
    out.push_back({.name = name, .links = std::move(of), .mean_ratio = mean, .busiest_ratio = busiest});
  }
  return out;
}

}  // namespace cox::simulate
