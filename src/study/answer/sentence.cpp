// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cox/study/answer.hpp"

namespace cox::study {
namespace {

constexpr std::string_view kAs = " as ";

/// What stands for `{place}`; an error's message where nothing does.
tl::expected<std::string, std::string> filled(const Study& study, const Computation& c,
                                              std::string_view place) {
  const auto as = place.find(kAs);
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

}  // namespace

Result<std::string> fill(const Study& study, const Computation& computation, std::string_view text,
                         std::int64_t line) {
  const auto refuse = [&](std::string message) {
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "study-004",
                      .message = std::move(message),
                      .hint = fmt::format("write {{NAME}} or {{NAME as 1.0ms}}; `cox study {} --json` lists "
                                          "what is computed",
                                          study.name),
                      .where = Where{.file = study.file, .line = line}});
  };
  std::string out;
  for (;;) {
    const auto open = text.find_first_of("{}");
    out += text.substr(0, open);
    if (open == std::string_view::npos) return out;
    const auto close = text.find_first_of("{}", open + 1);
    if (text[open] == '}' || close == std::string_view::npos || text[close] == '{')
      return refuse("a sentence has a brace without its other");
    auto place = filled(study, computation, text.substr(open + 1, close - open - 1));
    if (!place) return refuse(std::move(place.error()));
    out += *place;
    text.remove_prefix(close + 1);
  }
}

}  // namespace cox::study
