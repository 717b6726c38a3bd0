// SPDX-License-Identifier: Apache-2.0
/// \file
/// From the numbers of a what-if on operations to a cause.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "diagnose/operations/operation_what_if.hpp"

namespace cox::diagnose {

/// Part of the slowdown that goes when these ranks do one kind of operation as usual: their transfers, or all else.
using RemovedBy = std::function<double(const std::vector<Rank>& ranks, bool communication)>;

/// Chooses the cause from the shares in `w`, `communication_share` and what `removed_by` tells of a stage or of workers: who
/// transfers slowly does not compute slowly. By the rules in docs/concepts/what-if-operations.md.
[[nodiscard]] OperationFinding find_operation_cause(const OperationWhatIf& w, double communication_share,
                                                    const RemovedBy& removed_by,
                                                    const OperationWhatIfOptions& options);

/// By which part the Run is shorter when a finding is put right beside `w.finding`.
using GainBeside = std::function<double(const OperationFinding& more)>;

/// Where the slowdown names nothing, since it is held against a mean that contains it: a worker that is slower than its like, or the longest
/// stage, whichever brings most, where that is 3 % of the Run (`w.finding.slow_from`).
[[nodiscard]] std::optional<OperationFinding> find_beside_usual(const OperationWhatIf& w,
                                                                const GainBeside& gain);

/// The search goes on: workers beside those that `w.finding` names as slow that are slower than their like in their
/// stage (`w.patterns`), and with whom a tenth of the slowdown would go; beside workers or transfers the longest stage, where
/// that brings 3 % (`w.finding.slow_from`) beyond them.
[[nodiscard]] std::vector<OperationFinding> find_more(const OperationWhatIf& w, const GainBeside& gain);

/// Whether whom `w.finding` names is slow in most steps, as far as there are ten steps and others of its stage to hold it
/// against: what a table says of one stall, or of a stretch, is no worker that is slow.
[[nodiscard]] bool is_slow_all_along(const OperationWhatIf& w);

}  // namespace cox::diagnose
