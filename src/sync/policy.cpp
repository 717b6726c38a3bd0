// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/policy.hpp"

namespace cox::sync {

Policy::Policy(const model::PolicySpec& spec, int workers)
    : spec_(spec),
      workers_(workers),
      read_(static_cast<std::size_t>(workers)),
      steps_(static_cast<std::size_t>(workers)) {}

}  // namespace cox::sync
