// SPDX-License-Identifier: Apache-2.0
#include "cox/evaluate/computations.hpp"

namespace cox::evaluate {

study::ComputationTable computations() {
  study::ComputationTable table;
  table.add(study::engine_computations());
  return table;
}

}  // namespace cox::evaluate
