// SPDX-License-Identifier: Apache-2.0
/// \file
/// Misses the include of what it uses, on purpose.
#pragma once

namespace cox::planted {
std::vector<int> numbers();
}  // namespace cox::planted
