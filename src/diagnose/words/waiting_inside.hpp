// SPDX-License-Identifier: Apache-2.0
/// \file
/// Step times that were taken with the waiting in them.
#pragma once

#include "cox/diagnose/diagnosis.hpp"

namespace cox::diagnose {

/// Of a table of step times: ranks that differ by nothing while their steps do end their steps together.
[[nodiscard]] bool contains_waiting(const Diagnosis& d);

}  // namespace cox::diagnose
