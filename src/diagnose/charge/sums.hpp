// SPDX-License-Identifier: Apache-2.0
/// \file
/// Exact parts of whole picoseconds, and sums of them that do not end at 106 days.
#pragma once

#include <cstdint>

#include "cox/base/units.hpp"

namespace cox::diagnose {

__extension__ typedef __int128 WideCount;  // NOLINT(modernize-use-using): __extension__ needs a declaration

/// A sum of spans of any length: ranks times hours leaves the range of Duration.
class WideSum {
 public:
  void add(Duration d) { ps_ += d.count(); }
  void add(const WideSum& o) { ps_ += o.ps_; }
  [[nodiscard]] bool operator==(const WideSum& o) const { return ps_ == o.ps_; }
  /// Stops at the range of Duration.
  [[nodiscard]] Duration clamped() const {
    if (ps_ > WideCount{Duration::max().count()}) return Duration::max();
    if (ps_ < WideCount{Duration::min().count()}) return Duration::min();
    return Duration{static_cast<std::int64_t>(ps_)};
  }
  /// This over `o`; 0 where `o` is zero.
  [[nodiscard]] double over(const WideSum& o) const {
    return o.ps_ == 0 ? 0 : static_cast<double>(ps_) / static_cast<double>(o.ps_);
  }

 private:
  WideCount ps_ = 0;
};

/// floor(amount * part / whole) for 0 <= part <= whole, whole > 0, amount >= 0: never more than `amount`.
[[nodiscard]] inline Duration part_of(Duration amount, Duration part, Duration whole) {
  return Duration{
      static_cast<std::int64_t>(WideCount{amount.count()} * WideCount{part.count()} / whole.count())};
}

}  // namespace cox::diagnose
