// SPDX-License-Identifier: Apache-2.0
#include "evaluate/claim/formula.hpp"

#include <cmath>

#include "cox/base/assert.hpp"

namespace cox::evaluate {

const study::Quantity& ClaimValues::at(std::string_view name) const {
  for (std::size_t i = 0; i < kMostNeeded; ++i)
    if (formula_.needs[i].name == name) return values_[i];
  COX_ASSERT(false, "a formula asks for what it needs only");
  return values_[0];
}

Seconds ClaimValues::time(std::string_view name) const {
  COX_ASSERT(at(name).dimension() == study::Dimension::Time, "a time is one");
  return Seconds{at(name).in_base_unit()};
}

Bytes ClaimValues::size(std::string_view name) const {
  COX_ASSERT(at(name).dimension() == study::Dimension::Size, "a size is one");
  return Bytes{std::llround(at(name).in_base_unit())};
}

Bandwidth ClaimValues::rate(std::string_view name) const {
  COX_ASSERT(at(name).dimension() == study::Dimension::Rate, "a rate is one");
  return Bandwidth::bytes_per_s(at(name).in_base_unit());
}

Flops ClaimValues::work(std::string_view name) const {
  COX_ASSERT(at(name).dimension() == study::Dimension::Work, "operations are some");
  return Flops{at(name).in_base_unit()};
}

FlopRate ClaimValues::work_rate(std::string_view name) const {
  COX_ASSERT(at(name).dimension() == study::Dimension::WorkRate, "a rate of operations is one");
  return FlopRate::flops_per_s(at(name).in_base_unit());
}

double ClaimValues::number(std::string_view name) const {
  const study::Quantity& q = at(name);
  COX_ASSERT(q.dimension() == study::Dimension::Count || q.dimension() == study::Dimension::Ratio,
             "a number is one");
  return q.in_base_unit();
}

int ClaimValues::whole(std::string_view name) const {
  const double n = number(name);
  COX_ASSERT(n >= 1 && n <= 1e6 && n == std::floor(n), "a whole number within bounds");
  return static_cast<int>(n);
}

ClaimReading reading(std::string_view says, study::Quantity value) {
  return {.says = std::string(says), .value = value};
}

}  // namespace cox::evaluate
