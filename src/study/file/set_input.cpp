// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cox/base/spelling.hpp"
#include "cox/study/study.hpp"

namespace cox::study {
namespace {

tl::unexpected<Error> refuse(std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-008",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = {}});
}

std::string_view trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(' ');
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(' ') - from + 1);
}

/// `"a, b"` without its quotes.
std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return text.substr(1, text.size() - 2);
  return text;
}

/// The values of `a` or `[a, b]`.
std::vector<std::string_view> texts_of(std::string_view value, bool is_list) {
  std::vector<std::string_view> out;
  if (!is_list) return {unquoted(value)};
  value = value.substr(1, value.size() - 2);
  for (;;) {
    const auto comma = value.find(',');
    out.push_back(unquoted(trimmed(value.substr(0, comma))));
    if (comma == std::string_view::npos) return out;
    value.remove_prefix(comma + 1);
  }
}

Result<StudyInput*> input_named(Study& study, const std::string& name) {
  std::vector<std::string> names;
  for (StudyInput& in : study.inputs) {
    if (in.name == name) return &in;
    names.push_back(in.name);
  }
  const auto near = nearest(name, names);
  return refuse(
      fmt::format("the study {} has no input '{}'", study.name, name),
      near ? fmt::format("did you mean '{}'?", *near) : fmt::format("there are: {}", fmt::join(names, ", ")));
}

}  // namespace

bool Study::has_set_inputs() const {
  return std::any_of(inputs.begin(), inputs.end(), [](const StudyInput& i) { return !i.of_file.empty(); });
}

Status set_input(Study& study, std::string_view change) {
  const auto equals = change.find('=');
  if (equals == std::string_view::npos || trimmed(change.substr(equals + 1)).empty())
    return refuse(fmt::format("'{}' gives an input no value", change), "write NAME=VALUE");
  COX_TRY(StudyInput * in, input_named(study, std::string(unquoted(trimmed(change.substr(0, equals))))));
  const std::string_view value = trimmed(change.substr(equals + 1));
  if ((value.front() == '[') != (value.back() == ']'))
    return refuse(fmt::format("'{}': a list begins with [ and ends with ]", value),
                  "write NAME=[VALUE, VALUE]");
  const bool is_list = value.front() == '[' && value.back() == ']' && value.size() > 2;
  const Dimension dimension = in->values.front().value.dimension();
  std::vector<WrittenQuantity> values;
  for (const std::string_view text : texts_of(value, is_list)) {
    auto read = parse_quantity(text);
    if (!read || read->value.dimension() != dimension)
      return refuse(fmt::format("'{}' for the input '{}', which is {}", text, in->name, noun_of(dimension)),
                    fmt::format("write it as the file does: {}", values_text(*in)));
    values.push_back(*std::move(read));
  }
  if (is_list != in->is_list)
    return refuse(fmt::format("the input '{}' is {} list", in->name, in->is_list ? "a" : "no"),
                  in->is_list ? "write NAME=[VALUE, VALUE]" : "give one value");
  if (in->of_file.empty()) in->of_file = values_text(*in);
  in->values = std::move(values);
  return {};
}

Status set_inputs(Study& study, std::span<const std::string> changes) {
  std::ptrdiff_t before = 0;
  for (const std::string& change : changes) {
    COX_CHECK(set_input(study, change));
    const auto set = std::ranges::count_if(study.inputs, [](const auto& in) { return !in.of_file.empty(); });
    if (set == before)
      return refuse(fmt::format("'{}' sets an input a second time", change), "give each input one value");
    before = set;
  }
  return {};
}

std::string values_text(const StudyInput& in) {
  std::string out;
  for (const WrittenQuantity& w : in.values) out += (out.empty() ? "" : ", ") + w.text;
  return out;
}

std::string change_text(const StudyInput& in) {
  const std::string name =
      in.name.find_first_of(",[]{}") == std::string::npos ? in.name : '"' + in.name + '"';
  return in.is_list ? fmt::format("{}=[{}]", name, values_text(in))
                    : fmt::format("{}={}", name, values_text(in));
}

}  // namespace cox::study
