// SPDX-License-Identifier: Apache-2.0
#include "cox/forecast/prior.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "cox/base/number_text.hpp"

namespace cox::forecast {
namespace {

struct Field {
  std::string_view name;
  double Prior::*value;
  double least;
  double most;
};

constexpr std::array<Field, 8> kFields = {{
    {"slow-nodes", &Prior::slow_nodes, 0, 0.5},
    {"slow-down", &Prior::slow_down, 0.02, 10},
    {"growth", &Prior::growth, 0, 1},
    {"shared", &Prior::shared, 0, 1},
    {"failures", &Prior::failures, 1, 1'000},
    {"restarts", &Prior::restarts, 1, 1'000},
    {"checkpoints", &Prior::checkpoints, 1, 1'000},
    {"start", &Prior::start, 1, 1'000},
}};

tl::unexpected<Error> cannot(std::string_view text, const std::string& why) {
  return fail({.code = Errc::Usage,
               .id = "forecast-039",
               .message = fmt::format("prior \"{}\": {}", text.substr(0, 80), why),
               .hint = "say for example slow-nodes=0.02,failures=2",
               .where = std::nullopt});
}

std::string all_names() {
  std::string out;
  for (const Field& f : kFields) out += (out.empty() ? "" : ", ") + std::string(f.name);
  return out;
}

}  // namespace

Result<Prior> parse_prior(std::string_view text) {
  Prior out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view one = text.substr(at, end - at);
    const std::string_view name = one.substr(0, one.find('='));
    const std::string_view number = name.size() < one.size() ? one.substr(name.size() + 1) : "";
    const auto field = std::ranges::find(kFields, name, &Field::name);
    if (field == kFields.end())
      return cannot(text, fmt::format("'{}' is none of {}", name.substr(0, 40), all_names()));
    double value = 0;
    const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc{} || stop != number.data() + number.size() || !(value >= field->least) ||
        !(value <= field->most))
      return cannot(text,
                    fmt::format("{} has '{}', expected a number from {} to {}", name, number.substr(0, 40),
                                plain_number(field->least), plain_number(field->most)));
    out.*(field->value) = value;
    at = end + 1;
  }
  return out;
}

std::string changes_of(const Prior& prior) {
  const Prior usual;
  std::string out;
  for (const Field& f : kFields)
    if (prior.*(f.value) != usual.*(f.value))
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", f.name, plain_number(prior.*(f.value)));
  return out;
}

}  // namespace cox::forecast
