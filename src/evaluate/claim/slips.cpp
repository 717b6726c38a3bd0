// SPDX-License-Identifier: Apache-2.0
#include "evaluate/claim/slips.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cox::evaluate {
namespace {

using study::Dimension;
using study::Quantity;

constexpr std::size_t kMostSlips = 3;

/// One number that may have been written or read wrongly by a factor.
struct Change {
  double factor;
  std::string says;
};

/// A thousand and 1024 to the power of a unit's prefix, of binary over decimal; 1 where there is none.
double binary_over_decimal(std::string_view unit) {
  const bool is_binary = unit.find("iB") != std::string_view::npos;
  constexpr std::string_view kPrefixes = "kMGTP";
  const std::size_t power =
      unit.empty() ? std::string_view::npos : kPrefixes.find(unit[0] == 'K' ? 'k' : unit[0]);
  if (power == std::string_view::npos) return 1;
  const double ratio = std::pow(1.024, static_cast<double>(power + 1));
  return is_binary ? 1 / ratio : ratio;
}

bool counts_bits(std::string_view unit) {
  return unit.ends_with("bps") || unit.find("bit") != std::string_view::npos ||
         unit.find("b/s") != std::string_view::npos;
}

std::vector<Change> changes_of(const study::WrittenQuantity& w) {
  std::vector<Change> out;
  const auto thousands = [&] {
    for (const auto& [factor, says] : {std::pair{1e3, "a thousand times as much"},
                                       {1e-3, "a thousandth of it"},
                                       {1e6, "a million times as much"},
                                       {1e-6, "a millionth of it"}})
      out.push_back({factor, fmt::format("if {} were {}", w.text, says)});
  };
  const Dimension d = w.value.dimension();
  if (d == Dimension::Rate) {
    const bool bits = counts_bits(w.unit);
    out.push_back({bits ? 8 : 1.0 / 8, fmt::format("if the {} of {} were {}", bits ? "bits" : "bytes", w.text,
                                                   bits ? "bytes" : "bits")});
  }
  if (d == Dimension::Size || d == Dimension::Rate) {
    const double binary = counts_bits(w.unit) ? 1 : binary_over_decimal(w.unit);
    if (binary != 1)
      out.push_back(
          {binary, fmt::format("if the prefix of {} were {}", w.text, binary > 1 ? "binary" : "decimal")});
  }
  if (d == Dimension::Time) {
    out.push_back({60, fmt::format("if {} were sixty times as long", w.text)});
    out.push_back({1.0 / 60, fmt::format("if {} were a sixtieth", w.text)});
  }
  if (d != Dimension::Ratio && d != Dimension::Count) thousands();
  return out;
}

/// What was left out of, or was put twice into, the result.
std::vector<Change> changes_of_result(Dimension gives, std::optional<double> members) {
  std::vector<Change> out;
  if (gives != Dimension::Ratio && gives != Dimension::Count)
    out = {{2, "if it is counted twice"},
           {0.5, "if a factor 2 is left out"},
           {8, "if bits are taken for bytes"},
           {1.0 / 8, "if bytes are taken for bits"}};
  if (members && *members > 1) {
    out.push_back({1 / *members, fmt::format("if it is divided by {:.0f} once more", *members)});
    out.push_back({*members, fmt::format("if it is {:.0f} times as much", *members)});
  }
  if (gives == Dimension::Time) {
    out.push_back({60, "if a factor 60 is one too many: minutes for seconds"});
    out.push_back({1.0 / 60, "if a factor 60 is left out: seconds for minutes"});
  }
  if (gives != Dimension::Ratio && gives != Dimension::Count)
    for (const auto& [factor, says] : {std::pair{1e3, "if a factor 1000 is one too many"},
                                       {1e-3, "if a factor 1000 is left out"},
                                       {1e6, "if a factor 10^6 is one too many"},
                                       {1e-6, "if a factor 10^6 is left out"}})
      out.push_back({factor, says});
  return out;
}

/// Collects sentences, one for each value.
class Slips {
 public:
  explicit Slips(const IsClaimed& is_claimed) : is_claimed_(is_claimed) {}
  void look_at(Quantity value, std::string says) {
    const double x = value.in_base_unit();
    if (said_.size() >= kMostSlips || !std::isfinite(x) || !is_claimed_(value)) return;
    if (std::any_of(values_.begin(), values_.end(),
                    [&](double v) { return std::abs(v - x) <= 1e-6 * std::abs(x); }))
      return;
    values_.push_back(x);
    said_.push_back(fmt::format("{}: {}", std::move(says), study::to_string(value)));
  }
  std::vector<std::string> said() && { return std::move(said_); }

 private:
  const IsClaimed& is_claimed_;
  std::vector<double> values_;
  std::vector<std::string> said_;
};

}  // namespace

std::vector<std::string> slips_of(const Computing& computing, const IsClaimed& is_claimed) {
  const Formula& formula = *computing.fit.formula;
  const auto usual = [&](const std::array<Quantity, kMostNeeded>& values) -> std::optional<Quantity> {
    const auto readings = formula.compute(ClaimValues(formula, values));
    return readings.empty() ? std::nullopt : std::optional(readings.front().value);
  };
  Slips slips(is_claimed);
  for (std::size_t i = 0; i < kMostNeeded; ++i) {
    if (!computing.fit.numbers[i]) continue;
    for (const Change& c : changes_of(computing.claim.numbers[*computing.fit.numbers[i]].value)) {
      auto values = computing.values;
      const double changed = values[i].in_base_unit() * c.factor;
      if (values[i].dimension() == Dimension::Size && (changed < 1 || changed > 4e18)) continue;
      values[i] = Quantity(values[i].dimension(), changed);
      if (const auto value = usual(values)) slips.look_at(*value, c.says);
    }
  }
  const auto value = usual(computing.values);
  if (!value) return std::move(slips).said();
  std::optional<double> members;
  for (std::size_t i = 0; i < kMostNeeded; ++i)
    if (formula.needs[i].name == "workers") members = computing.values[i].in_base_unit();
  for (const Change& c : changes_of_result(value->dimension(), members))
    slips.look_at(Quantity(value->dimension(), value->in_base_unit() * c.factor), c.says);
  if (value->dimension() == Dimension::Ratio && value->in_base_unit() < 1) {
    slips.look_at(Quantity::ratio(1 - value->in_base_unit()), "if the rest is meant");
    slips.look_at(Quantity::ratio(value->in_base_unit() / (1 - value->in_base_unit())),
                  "if it is taken of the rest, not of the whole");
  }
  return std::move(slips).said();
}

}  // namespace cox::evaluate
