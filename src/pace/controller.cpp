// SPDX-License-Identifier: Apache-2.0
#include "cox/pace/controller.hpp"

namespace cox::pace {
// The controller is constexpr throughout; this file compiles its header alone and pins its size for the
// guest.
static_assert(sizeof(Controller) <= 1088);
}  // namespace cox::pace
