// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "cox/study/answer.hpp"

namespace cox::study {
namespace {

constexpr std::string_view kAs = " as ";

const Computed* value_named(const Computation& c, std::string_view name) {
  const auto at = std::ranges::find(c.values, name, &Computed::name);
  return at == c.values.end() ? nullptr : &*at;
}
const StudyInput* input_named(const Study& study, std::string_view name) {
  const auto at = std::ranges::find(study.inputs, name, &StudyInput::name);
  return at == study.inputs.end() ? nullptr : &*at;
}

tl::unexpected<Error> refuse(const Study& study, std::int64_t line, std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-004",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = Where{.file = study.file, .line = line}});
}

/// What stands for `{place}`; withdrawn where set inputs leave it without a value.
Result<Said> filled(const Study& study, const Computation& c, std::string_view place, std::int64_t line) {
  const auto refuse_place = [&](std::string message) {
    return refuse(
        study, line, std::move(message),
        fmt::format("write {{NAME}} or {{NAME as 1.0ms}}; `cox study {} --json` lists what is computed",
                    study.name));
  };
  const bool is_whole = value_named(c, place) != nullptr || input_named(study, place) != nullptr;
  const auto as = is_whole ? std::string_view::npos : place.find(kAs);
  const std::string_view name = place.substr(0, as);
  const Computed* value = value_named(c, name);
  const StudyInput* in = input_named(study, name);
  if (value == nullptr && in == nullptr && study.has_set_inputs())
    return Said{.text = fmt::format("it needs {}, which is not computed", name), .is_withdrawn = true};
  if (value == nullptr && (in == nullptr || as != std::string_view::npos))
    return refuse_place(
        fmt::format("'{}' is no computed value{}", name, in == nullptr ? " and no input" : ""));
  if (value == nullptr) return Said{.text = values_text(*in)};
  if (as == std::string_view::npos) return Said{.text = to_string(value->value)};
  const auto sample = parse_quantity(place.substr(as + kAs.size()));
  if (!sample || sample->value.dimension() != value->value.dimension())
    return refuse_place(fmt::format("'{}' is no sample of {}", place.substr(as + kAs.size()),
                                    noun_of(value->value.dimension())));
  return Said{.text = text_like(value->value, *sample)};
}

/// Nothing where no computed value and no input of one value has the name.
std::optional<Quantity> quantity_of(const Study& study, const Computation& c, const ConditionSide& side) {
  if (side.written) return side.written;
  const Computed* value = value_named(c, side.name);
  const StudyInput* in = input_named(study, side.name);
  if (value == nullptr && (in == nullptr || in->values.size() != 1)) return {};
  const Quantity q = value != nullptr ? value->value : in->values.front().value;
  return Quantity(q.dimension(), side.factor * q.in_base_unit());
}

/// `ring is 28.14 ms and bound is 30.00 ms`: of what was not written.
std::string values_of(const Condition& condition, Quantity left, Quantity right) {
  const auto one = [](const ConditionSide& side, Quantity q) {
    return side.written ? std::string() : fmt::format("{} is {}", side.text, to_string(q));
  };
  const std::string a = one(condition.left, left);
  const std::string b = one(condition.right, right);
  return a + (a.empty() || b.empty() ? "" : " and ") + b;
}

/// Why the condition is not so; nothing where it is.
Result<std::optional<std::string>> broken(const Study& study, const Computation& c,
                                          const Condition& condition) {
  const auto left = quantity_of(study, c, condition.left);
  const auto right = quantity_of(study, c, condition.right);
  if ((!left || !right) && study.has_set_inputs())
    return std::optional(fmt::format("it needs {}, and {} is not computed", condition.text(),
                                     (left ? condition.right : condition.left).name));
  if (!left || !right || left->dimension() != right->dimension())
    return refuse(study, condition.line,
                  fmt::format("the condition '{}' compares no two values of one kind", condition.text()),
                  fmt::format("`cox study {} --json` lists what is computed", study.name));
  const double over = left->in_base_unit() - right->in_base_unit();
  if (condition.is_greater ? over > 0 : over < 0) return std::optional<std::string>();
  const std::string are = values_of(condition, *left, *right);
  if (!study.has_set_inputs())
    return refuse(study, condition.line, fmt::format("a sentence needs {}, and {}", condition.text(), are),
                  "write what is so with the inputs of the file");
  return std::optional(fmt::format("it needs {}, and {}", condition.text(), are));
}

Said withdrawn(std::string_view why) {
  return {.text = fmt::format("What the file says here does not hold with the inputs that were set: {}", why),
          .is_withdrawn = true};
}

}  // namespace

Result<Said> said(const Study& study, const Computation& computation, std::string_view text,
                  const std::vector<Condition>& holds, std::int64_t line) {
  for (const Condition& condition : holds) {
    COX_TRY(const auto why, broken(study, computation, condition));
    if (why) return withdrawn(*why);
  }
  Said out;
  for (;;) {
    const auto open = text.find_first_of("{}");
    out.text += text.substr(0, open);
    if (open == std::string_view::npos) return out;
    const auto close = text.find_first_of("{}", open + 1);
    if (text[open] == '}' || close == std::string_view::npos || text[close] == '{')
      return refuse(study, line, "a sentence has a brace without its other", "write {NAME}");
    COX_TRY(const Said place, filled(study, computation, text.substr(open + 1, close - open - 1), line));
    if (place.is_withdrawn) return withdrawn(place.text);
    out.text += place.text;
    text.remove_prefix(close + 1);
  }
}

Result<std::string> question_of(const Study& study) {
  COX_TRY(Said question, said(study, {}, study.question, {}, 0));
  return std::move(question.text);
}

}  // namespace cox::study
