// SPDX-License-Identifier: Apache-2.0
#include "simulate/event/loggops_costs.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "cox/base/units_text.hpp"

namespace cox::simulate {
namespace {

tl::unexpected<Error> bad_parameters(std::string message) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "goal-007",
                    .message = std::move(message),
                    .hint = "write them as in `L=1us,o=0ns,g=0ns,G=20ps/B,O=0ps/B,S=64KiB`",
                    .where = std::nullopt});
}

Status set_parameter(LogGops& cost, char name, std::string_view text) {
  switch (name) {
    case 'L':
    case 'o':
    case 'g': {
      COX_TRY(const Duration d, parse_duration(text));
      (name == 'L'   ? cost.latency
       : name == 'o' ? cost.overhead
                     : cost.gap) = Seconds{static_cast<double>(d.count()) * 1e-12};
      return {};
    }
    case 'G':
    case 'O': {
      COX_TRY(const TimePerByte t, parse_time_per_byte(text));
      (name == 'G' ? cost.gap_per_byte : cost.overhead_per_byte) = t;
      return {};
    }
    case 'S': {
      COX_TRY(cost.eager_limit, parse_bytes(text));
      return {};
    }
    default:
      return bad_parameters(fmt::format("`{}` is no parameter, expected L, o, g, G, O or S", name));
  }
}

std::optional<std::int64_t> in_picoseconds(Seconds s) {
  const double ps = s.count() * 1e12;
  if (!(ps >= 0) || ps > static_cast<double>(LogGopsCosts::kLongestPart)) return std::nullopt;
  return std::llround(ps);
}

}  // namespace

Result<LogGops> parse_loggops(std::string_view text) {
  LogGops cost;
  std::string seen;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    if (part.size() < 3 || part[1] != '=')
      return bad_parameters(fmt::format("`{}` is no parameter, expected one such as L=1us", part));
    if (seen.find(part[0]) != std::string::npos)
      return bad_parameters(fmt::format("`{}` is given twice", part[0]));
    seen.push_back(part[0]);
    COX_CHECK(set_parameter(cost, part[0], part.substr(2)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  for (const char needed : {'L', 'G'})
    if (seen.find(needed) == std::string::npos) return bad_parameters(fmt::format("`{}` is missing", needed));
  return cost;
}

PicosecondsPer::PicosecondsPer(Seconds one) : fraction_(one.count() * 1e12) {
  const double nearest = std::floor(fraction_ + 0.5);
  // What was meant as a whole number and passed through seconds is off by the rounding of two products.
  const bool is_whole = std::fabs(fraction_ - nearest) <= 1e-12 * nearest && nearest < 9e15;
  whole_ = is_whole ? static_cast<std::int64_t>(nearest) : -1;
  if (is_whole) fraction_ = nearest;
}

Result<LogGopsCosts> LogGopsCosts::make(const LogGops& cost, Seconds calc_unit, std::uint64_t longest_calc,
                                        std::uint64_t longest_message, const std::string& name) {
  LogGopsCosts out;
  const auto latency = in_picoseconds(cost.latency);
  const auto overhead = in_picoseconds(cost.overhead);
  const auto gap = in_picoseconds(cost.gap);
  const double per_byte = cost.gap_per_byte.in_seconds_per_byte();
  const double copied = cost.overhead_per_byte.in_seconds_per_byte();
  if (!latency || !overhead || !gap || !(per_byte >= 0) || !(copied >= 0) || !(calc_unit.count() >= 0) ||
      cost.eager_limit.count() < 0)
    return bad_parameters("a LogGOPS parameter is negative or longer than 6 days");
  out.latency = *latency;
  out.overhead = *overhead;
  out.gap = *gap;
  out.eager_limit = static_cast<std::uint64_t>(cost.eager_limit.count());
  out.gap_per_byte = PicosecondsPer(Seconds{per_byte});
  out.overhead_per_byte = PicosecondsPer(Seconds{copied});
  out.per_calc = PicosecondsPer(calc_unit);
  const double longest = static_cast<double>(kLongestPart);
  if (out.per_calc.about(longest_calc) > longest || out.gap_per_byte.about(longest_message) > longest ||
      out.overhead_per_byte.about(longest_message) > longest)
    return fail(
        Error{.code = Errc::Unsupported,
              .id = "goal-006",
              .message = fmt::format("a calculation of {} or a message of {} bytes lasts longer than 6 days",
                                     longest_calc, longest_message),
              .hint = "check the units: GOAL's `calc` counts nanoseconds",
              .where = Where{.file = name}});
  return out;
}

}  // namespace cox::simulate
