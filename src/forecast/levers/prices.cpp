// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "forecast/levers/levers.hpp"

namespace cox::forecast {
namespace {

constexpr double kSetting = 1;    ///< a setting, or fewer of what is there
constexpr double kProgram = 3;    ///< code, or what the model learns from
constexpr double kRank = 5;       ///< a rank replaced
constexpr double kHardware = 30;  ///< cards, switches

constexpr std::array<std::pair<std::string_view, double>, 28> kPrices = {{
    {"pacing", kSetting},
    {"backup-workers", kProgram},
    {"local-steps", kProgram},
    {"bounded-staleness", kProgram},
    {"hierarchical", kSetting},
    {"buckets", kSetting},
    {"overlap", kSetting},
    {"placement", kSetting},
    {"even-stages", kSetting},
    {"compression", kProgram},
    {"faster-links", kHardware},
    {"more-rails", kHardware},
    {"remove-worst", kRank},
    {"remove-worst-1", kRank},
    {"remove-worst-2", 2 * kRank},
    {"remove-worst-4", 4 * kRank},
    {"equal-ranks", kHardware},
    {"equal-nodes", kHardware},
    {"no-detours", kProgram},
    {"aligned-detours", kSetting},
    {"fewer-ranks", kSetting},
    {"checkpoint-interval", kSetting},
    {"checkpoint-beside", kProgram},
    {"checkpoint-near", kProgram},
    {"full-bisection", kHardware},
    {"steady-devices", kProgram},
    {"no-time-outs", kSetting},
    {"restart-by-tree", kProgram},
}};

tl::unexpected<Error> cannot(std::string_view got, std::string_view wanted, std::string hint) {
  return fail({.code = Errc::Usage,
               .id = "forecast-037",
               .message = fmt::format("--price: got '{}', expected {}", got.substr(0, 80), wanted),
               .hint = std::move(hint),
               .where = std::nullopt});
}

/// What can be said, in the order of the scale.
std::string all_names() {
  std::string out = "there are: ";
  for (const auto& [name, price] : kPrices) out += fmt::format("{}{}", out.ends_with(' ') ? "" : ", ", name);
  return out;
}

}  // namespace

double LeverPrices::of(std::string_view lever) const {
  if (const auto at = stated.find(lever); at != stated.end()) return at->second;
  for (const auto& [name, price] : kPrices)
    if (name == lever) return price;
  return kProgram;
}

Result<LeverPrices> parse_prices(std::string_view text) {
  LeverPrices out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view one = text.substr(at, end - at);
    const std::size_t equals = one.find('=');
    const char* const like = "like faster-links=100,overlap=2";
    if (equals == std::string_view::npos || equals == 0) return cannot(one, "a lever, = and its price", like);
    const std::string_view name = one.substr(0, equals), number = one.substr(equals + 1);
    const bool known =
        std::any_of(kPrices.begin(), kPrices.end(), [&](const auto& p) { return p.first == name; });
    if (!known) return cannot(one, "the name of a lever before =", all_names());
    double price = 0;
    const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), price);
    if (error != std::errc{} || stop != number.data() + number.size() || !(price >= 0) ||
        !std::isfinite(price))
      return cannot(one, "a number of 0 or more behind =", like);
    out.stated.insert_or_assign(std::string(name), price);
    at = end + 1;
  }
  return out;
}

}  // namespace cox::forecast
