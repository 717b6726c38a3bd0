// SPDX-License-Identifier: Apache-2.0
/// \file
/// Times of inputs that do not say what they are in.
#pragma once

#include <optional>

#include "cox/base/units.hpp"

namespace cox {

/// While one lives, `to_string` of a Duration or of Seconds prints `29.6 units` on this thread. The innermost counts.
/// Held by: src/base/units_text_test.cpp
class UnknownUnit {
 public:
  /// `taken_as`: how long one unit was taken to be; nothing where times are times.
  explicit UnknownUnit(std::optional<Seconds> taken_as);
  ~UnknownUnit();
  UnknownUnit(const UnknownUnit&) = delete;
  UnknownUnit& operator=(const UnknownUnit&) = delete;

 private:
  std::optional<Seconds> before_;
};

}  // namespace cox
