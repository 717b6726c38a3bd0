// SPDX-License-Identifier: Apache-2.0
/// \file
/// Why a late rank's own work takes longer, from its samples: docs/concepts/causes.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/naming/naming.hpp"

namespace cox::diagnose {

/// What the rank spends more than the others, as parts of its extra own work: the larger of a lower bound and
/// of a fit over the intervals between samples (docs/concepts/causes.md).
struct Why {
  std::string cause;            ///< `cpu_quota`, `cpu_contention`, `asleep_or_io`, `slow_cpu_clock`,
                                ///< `slow_code_or_cpu`, `off_cpu`; `unknown` where none explains enough
  double throttled = 0;         ///< denied a CPU by a quota
  double ready = 0;             ///< ready to run, and no CPU was free
  double asleep = 0;            ///< neither running nor ready
  double computing = 0;         ///< on a CPU, or waiting for one no longer than everybody per second of it
  double off_cpu = 0;           ///< asleep or ready
  std::optional<double> clock;  ///< its CPU's frequency over the others' median
};

/// Nothing where the finding is not about one rank, or samples do not cover its steps on that rank and on two
/// thirds of the others. Held by: src/diagnose/cause/why_test.cpp
[[nodiscard]] std::optional<Why> find_why(const Evidenced& x, const Named& named);

}  // namespace cox::diagnose
