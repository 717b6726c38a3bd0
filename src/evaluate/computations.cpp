// SPDX-License-Identifier: Apache-2.0
#include "cox/evaluate/computations.hpp"

#include <array>

#include "evaluate/hyperscale.hpp"

namespace cox::evaluate {

study::ComputationTable computations() {
  study::ComputationTable table;
  table.add(study::engine_computations());
  static constexpr std::array<study::NamedComputation, 1> kOwn = {
      {{"hyperscale-regimes", compute_hyperscale}}};
  table.add(kOwn);
  return table;
}

}  // namespace cox::evaluate
