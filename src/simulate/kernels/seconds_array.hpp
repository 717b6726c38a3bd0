// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arrays of times as the doubles that they consist of, for inner loops.
#pragma once

#include <span>
#include <type_traits>

#include "cox/base/units.hpp"

namespace cox::simulate {

static_assert(sizeof(Seconds) == sizeof(double));
static_assert(alignof(Seconds) == alignof(double));
static_assert(std::is_standard_layout_v<Seconds>, "its first member has its address");

// NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): the one place where it is done
[[nodiscard]] inline std::span<double> as_doubles(std::span<Seconds> v) {
  return {reinterpret_cast<double*>(v.data()), v.size()};
}
[[nodiscard]] inline std::span<const double> as_doubles(std::span<const Seconds> v) {
  return {reinterpret_cast<const double*>(v.data()), v.size()};
}
[[nodiscard]] inline std::span<Seconds> as_seconds(std::span<double> v) {
  return {reinterpret_cast<Seconds*>(v.data()), v.size()};
}
[[nodiscard]] inline std::span<const Seconds> as_seconds(std::span<const double> v) {
  return {reinterpret_cast<const Seconds*>(v.data()), v.size()};
}
// NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)

}  // namespace cox::simulate
