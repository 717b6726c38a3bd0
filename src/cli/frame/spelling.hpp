// SPDX-License-Identifier: Apache-2.0
/// \file
/// "Did you mean" under the names that the command line uses;
/// the rule itself is in base, which scenarios share.
#pragma once

#include "cox/base/spelling.hpp"

namespace cox::cli {

using cox::edit_distance;
using cox::nearest;

}  // namespace cox::cli
