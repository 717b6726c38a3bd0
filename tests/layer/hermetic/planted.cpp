// SPDX-License-Identifier: Apache-2.0
// clang-format off
#include <vector>

#include "cox/planted/planted.hpp"
// clang-format on

namespace cox::planted {
std::vector<int> numbers() {
  return {1, 2, 3};
}
}  // namespace cox::planted
