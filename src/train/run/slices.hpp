// SPDX-License-Identifier: Apache-2.0
/// \file
/// A rank that holds some columns and rows of every pair of layers: tensor parallelism.
#pragma once

#include <memory>

#include "cox/base/result.hpp"
#include "cox/learn/optimizer.hpp"
#include "cox/learn/problem.hpp"

#include "train/run/held.hpp"
#include "train/run/job.hpp"
#include "train/run/marks.hpp"
#include "train/transport/transport.hpp"

namespace cox::train {

/// Parameters, gradients and optimizer of its slice alone. In a step: its group's workers, a leaf of the sum each, with an all-reduce over the group behind the
/// rows of each pair forth and behind its columns back, by the executor; the sum of its slice over all groups, in fixed order; the optimizer. What every
/// slice has comes to the same bits on all of them, and is not summed over the group.
/// Where the degree divides the problem's blocks, parameters, losses and the place of a divergence are those of learn::Learner, bit for bit, on
/// any number of groups; else products differ as learn::ProblemSlice says.
/// `job`, `transport`, `marks` outlive it. Errors: train-001 (check_slices); learn-001. Pre: the job's layout is tensor.
/// Held by: src/train/run/slices_test.cpp
[[nodiscard]] Result<std::unique_ptr<Held>> make_slices(const TrainJob& job,
                                                        const learn::OptimizerSpec& optimizer,
                                                        Transport& transport, Marks& marks,
                                                        std::unique_ptr<learn::Problem> problem);

}  // namespace cox::train
