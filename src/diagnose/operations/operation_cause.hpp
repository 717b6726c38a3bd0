// SPDX-License-Identifier: Apache-2.0
/// \file
/// From the numbers of a what-if on operations to a cause.
#pragma once

#include "diagnose/operations/operation_what_if.hpp"

namespace cox::diagnose {

/// Chooses the cause from the shares in `w` and `communication_share`, by the rules
/// in docs/concepts/what-if-operations.md.
[[nodiscard]] OperationFinding find_operation_cause(const OperationWhatIf& w, double communication_share,
                                                    const OperationWhatIfOptions& options);

}  // namespace cox::diagnose
