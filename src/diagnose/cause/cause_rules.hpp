// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every rule that could name a cause, with what it found: fired, not fired, or had no data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cox/diagnose/finding.hpp"

#include "diagnose/cause/cause.hpp"
#include "diagnose/cause/device_why.hpp"
#include "diagnose/cause/why.hpp"

namespace cox::diagnose {

/// What was found out about one finding, by source.
struct Reasons {
  std::optional<PhaseExcess> phase;
  std::optional<Why> why;
  std::optional<DeviceWhy> device;
};

/// The cause that holds: why comes before where, samples of the process before activities of the device.
[[nodiscard]] std::string cause_of(const Reasons& r);
/// All rules in the order of docs/concepts/causes.md.
[[nodiscard]] std::vector<CauseTest> test_causes(const Reasons& r);
/// `compute`, `host`, `locality`, `fabric`, `global_event`, or `unknown` where the cause says only where.
[[nodiscard]] CauseClass class_of(const std::string& cause);

}  // namespace cox::diagnose
