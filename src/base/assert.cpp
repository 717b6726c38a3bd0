// SPDX-License-Identifier: Apache-2.0
#include "cox/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace cox {

void assertion_failed(const char* what, const char* why, std::source_location at) {
  std::fprintf(stderr, "cox: internal error: %s does not hold: %s (%s:%u)\n", what, why, at.file_name(),
               static_cast<unsigned>(at.line()));
  std::abort();
}

}  // namespace cox
