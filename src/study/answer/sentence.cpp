// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "cox/study/answer.hpp"

namespace cox::study {
namespace {

constexpr std::string_view kAs = " as ";
constexpr std::string_view kTimes = " * ";

/// What stands for `{place}`; an error's message where nothing does.
tl::expected<std::string, std::string> filled(const Study& study, const Computation& c,
                                              std::string_view place) {
  const auto is_named = [&](const auto& v) { return v.name == place; };
  const bool is_whole = std::any_of(c.values.begin(), c.values.end(), is_named) ||
                        std::any_of(study.inputs.begin(), study.inputs.end(), is_named);
  const auto as = is_whole ? std::string_view::npos : place.find(kAs);
  const std::string_view name = place.substr(0, as);
  const auto value =
      std::find_if(c.values.begin(), c.values.end(), [&](const Computed& v) { return v.name == name; });
  if (value == c.values.end()) {
    const auto in = std::find_if(study.inputs.begin(), study.inputs.end(),
                                 [&](const StudyInput& i) { return i.name == name; });
    if (in == study.inputs.end() && study.has_set_inputs()) return "(not computed)";
    if (in == study.inputs.end() || as != std::string_view::npos)
      return tl::unexpected(
          fmt::format("'{}' is no computed value{}", name, in == study.inputs.end() ? " and no input" : ""));
    std::string out;
    for (const WrittenQuantity& w : in->values) out += (out.empty() ? "" : ", ") + w.text;
    return out;
  }
  if (as == std::string_view::npos) return to_string(value->value);
  const auto sample = parse_quantity(place.substr(as + kAs.size()));
  if (!sample || sample->value.dimension() != value->value.dimension())
    return tl::unexpected(fmt::format("'{}' is no sample of {}", place.substr(as + kAs.size()),
                                      noun_of(value->value.dimension())));
  return text_like(value->value, *sample);
}

/// Of a condition; nothing where no computed value and no input of one value has this name.
std::optional<Quantity> named(const Study& study, const Computation& c, std::string_view name) {
  const auto value =
      std::find_if(c.values.begin(), c.values.end(), [&](const Computed& v) { return v.name == name; });
  if (value != c.values.end()) return value->value;
  const auto in = std::find_if(study.inputs.begin(), study.inputs.end(),
                               [&](const StudyInput& i) { return i.name == name && i.values.size() == 1; });
  if (in == study.inputs.end()) return {};
  return in->values.front().value;
}

/// A side of a condition: a quantity, a name, or `NUMBER * NAME`.
std::optional<Quantity> side_of(const Study& study, const Computation& c, std::string_view side) {
  if (const auto written = parse_quantity(side)) return written->value;
  if (const auto whole = named(study, c, side)) return whole;
  const auto times = side.find(kTimes);
  if (times == std::string_view::npos) return {};
  const auto factor = parse_quantity(side.substr(0, times));
  const auto of = named(study, c, side.substr(times + kTimes.size()));
  if (!factor || factor->value.dimension() != Dimension::Count || !of) return {};
  return Quantity(of->dimension(), factor->value.in_base_unit() * of->in_base_unit());
}

tl::unexpected<Error> refuse(const Study& study, std::int64_t line, std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-004",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = Where{.file = study.file, .line = line}});
}

/// Why the condition is not so; empty where it is.
Result<std::string> broken(const Study& study, const Computation& c, const Condition& condition,
                           std::int64_t line) {
  const std::string text = condition.text();
  const auto left = side_of(study, c, condition.left);
  const auto right = side_of(study, c, condition.right);
  if ((!left || !right) && study.has_set_inputs())
    return fmt::format("it needs {}, and {} is not computed", text, left ? condition.right : condition.left);
  if (!left || !right || left->dimension() != right->dimension())
    return refuse(study, line, fmt::format("the condition '{}' compares no two values of one kind", text),
                  fmt::format("`cox study {} --json` lists what is computed", study.name));
  const auto shown = [](std::string_view side, Quantity q) {
    return parse_quantity(side) ? std::string() : fmt::format("{} is {}", side, to_string(q));
  };
  const std::string are =
      fmt::format("{}", fmt::join(std::vector{shown(condition.left, *left), shown(condition.right, *right)} |
                                      std::views::filter([](const std::string& s) { return !s.empty(); }),
                                  " and "));
  const bool is_so = condition.is_greater ? left->in_base_unit() > right->in_base_unit()
                                          : left->in_base_unit() < right->in_base_unit();
  if (is_so) return std::string();
  if (!study.has_set_inputs())
    return refuse(study, line, fmt::format("a sentence needs {}, and {}", text, are),
                  "write what is so with the inputs of the file");
  return fmt::format("it needs {}, and {}", text, are);
}

}  // namespace

Result<std::string> fill(const Study& study, const Computation& computation, std::string_view text,
                         std::int64_t line) {
  const auto refuse_place = [&](std::string message) {
    return refuse(
        study, line, std::move(message),
        fmt::format("write {{NAME}} or {{NAME as 1.0ms}}; `cox study {} --json` lists what is computed",
                    study.name));
  };
  std::string out;
  for (;;) {
    const auto open = text.find_first_of("{}");
    out += text.substr(0, open);
    if (open == std::string_view::npos) return out;
    const auto close = text.find_first_of("{}", open + 1);
    if (text[open] == '}' || close == std::string_view::npos || text[close] == '{')
      return refuse_place("a sentence has a brace without its other");
    auto place = filled(study, computation, text.substr(open + 1, close - open - 1));
    if (!place) return refuse_place(std::move(place.error()));
    out += *place;
    text.remove_prefix(close + 1);
  }
}

Result<std::string> said(const Study& study, const Computation& computation, std::string_view text,
                         const std::vector<Condition>& holds, std::int64_t line) {
  for (const Condition& condition : holds) {
    COX_TRY(const std::string why, broken(study, computation, condition, line));
    if (!why.empty())
      return fmt::format("What the file says here does not hold with the inputs that were set: {}.", why);
  }
  return fill(study, computation, text, line);
}

Result<std::string> question_of(const Study& study) {
  return fill(study, {}, study.question, 0);
}

}  // namespace cox::study
