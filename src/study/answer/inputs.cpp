// SPDX-License-Identifier: Apache-2.0
#include "cox/study/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cox::study {
namespace {

tl::unexpected<Error> refuse(const Study& study, std::int64_t line, std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-003",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = Where{.file = study.file, .line = line}});
}

Result<const StudyInput*> input_named(const Study& study, std::string_view name, Dimension d, bool list) {
  const auto found = std::find_if(study.inputs.begin(), study.inputs.end(),
                                  [&](const StudyInput& i) { return i.name == name; });
  if (found == study.inputs.end())
    return refuse(study, 0, fmt::format("the computation '{}' needs the input '{}'", study.compute, name),
                  fmt::format("add an [[input]] with name = \"{}\": {}", name, noun_of(d)));
  const Dimension got = found->values.front().value.dimension();
  if (got != d)
    return refuse(study, found->line,
                  fmt::format("input '{}' is {}, expected {}", name, noun_of(got), noun_of(d)),
                  "give it a unit of that kind");
  if (found->is_list != list)
    return refuse(study, found->line, fmt::format("input '{}' is {} list", name, list ? "no" : "a"),
                  list ? "write value = [...]" : "give one value");
  return &*found;
}

Result<int> whole(const Study& study, const StudyInput& in, Quantity q, Between bounds) {
  const double value = q.in_base_unit();
  if (value < static_cast<double>(bounds.least) || value > static_cast<double>(bounds.most))
    return refuse(
        study, in.line,
        fmt::format("input '{}' is {}, expected {} to {}", in.name, to_string(q), bounds.least, bounds.most),
        "give a count in these bounds");
  if (value != std::floor(value))
    return refuse(study, in.line,
                  fmt::format("input '{}' is {}, expected a whole number", in.name, to_string(q)),
                  "give a whole number");
  return static_cast<int>(value);
}

Result<double> bounded(const Study& study, const StudyInput& in, Quantity q, RatioBetween bounds) {
  const double value = q.in_base_unit();
  if (value > bounds.above && value <= bounds.most) return value;
  return refuse(
      study, in.line,
      fmt::format("input '{}' is {}, expected above {} and up to {}", in.name, to_string(q),
                  to_string(Quantity::ratio(bounds.above)), to_string(Quantity::ratio(bounds.most))),
      "give a ratio in these bounds");
}

}  // namespace

Result<Quantity> Inputs::quantity(std::string_view name, Dimension d) const {
  COX_TRY(const StudyInput* in, input_named(study_, name, d, false));
  return in->values.front().value;
}
Result<Seconds> Inputs::time(std::string_view name) const {
  COX_TRY(const Quantity q, quantity(name, Dimension::Time));
  return Seconds{q.in_base_unit()};
}
Result<Bytes> Inputs::size(std::string_view name) const {
  COX_TRY(const Quantity q, quantity(name, Dimension::Size));
  return Bytes{std::llround(q.in_base_unit())};
}
Result<Bandwidth> Inputs::rate(std::string_view name) const {
  COX_TRY(const Quantity q, quantity(name, Dimension::Rate));
  if (q.in_base_unit() <= 0)
    return refuse(study_, 0, fmt::format("input '{}' is a rate of zero", name), "give a positive rate");
  return Bandwidth::bytes_per_s(q.in_base_unit());
}
Result<double> Inputs::ratio(std::string_view name) const {
  COX_TRY(const Quantity q, quantity(name, Dimension::Ratio));
  return q.in_base_unit();
}
Result<double> Inputs::ratio(std::string_view name, RatioBetween bounds) const {
  COX_TRY(const StudyInput* in, input_named(study_, name, Dimension::Ratio, false));
  return bounded(study_, *in, in->values.front().value, bounds);
}
Result<std::vector<double>> Inputs::ratios(std::string_view name, RatioBetween bounds) const {
  COX_TRY(const StudyInput* in, input_named(study_, name, Dimension::Ratio, true));
  std::vector<double> out;
  for (const WrittenQuantity& w : in->values) {
    COX_TRY(const double one, bounded(study_, *in, w.value, bounds));
    out.push_back(one);
  }
  return out;
}
Result<int> Inputs::count(std::string_view name, Between bounds) const {
  COX_TRY(const StudyInput* in, input_named(study_, name, Dimension::Count, false));
  return whole(study_, *in, in->values.front().value, bounds);
}
Result<std::vector<int>> Inputs::counts(std::string_view name, Between bounds) const {
  COX_TRY(const StudyInput* in, input_named(study_, name, Dimension::Count, true));
  std::vector<int> out;
  for (const WrittenQuantity& w : in->values) {
    COX_TRY(const int one, whole(study_, *in, w.value, bounds));
    out.push_back(one);
  }
  return out;
}
Result<std::vector<Bandwidth>> Inputs::rates(std::string_view name) const {
  COX_TRY(const StudyInput* in, input_named(study_, name, Dimension::Rate, true));
  std::vector<Bandwidth> out;
  for (const WrittenQuantity& w : in->values) {
    if (w.value.in_base_unit() <= 0)
      return refuse(study_, in->line, fmt::format("input '{}' has a rate of zero", name),
                    "give positive rates");
    out.push_back(Bandwidth::bytes_per_s(w.value.in_base_unit()));
  }
  return out;
}
Result<std::vector<WrittenQuantity>> Inputs::list(std::string_view name, Dimension d) const {
  COX_TRY(const StudyInput* in, input_named(study_, name, d, true));
  return in->values;
}

Status Inputs::check_draws(double draws, std::string_view of) const {
  constexpr double kMost = 1e9;  // some ten seconds
  if (draws <= kMost) return {};
  return refuse(study_, 0, fmt::format("{} ask for {:.1e} draws, expected at most 1e9", of, draws),
                "make one of them smaller");
}

}  // namespace cox::study
