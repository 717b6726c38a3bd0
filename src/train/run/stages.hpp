// SPDX-License-Identifier: Apache-2.0
/// \file
/// A rank that holds a stage of the model.
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

/// Parameters, gradients and optimizer of the units of its stage alone. In a step: its pipeline's micro-batches, each a leaf of the sum; the sum of its stage over
/// all pipelines, in fixed order; the optimizer, whose norms are taken over all stages. Parameters, losses and the place of a
/// divergence are those of learn::Learner whose workers take a step of as many leaves as they have micro-batches, bit for bit, under any
/// schedule and on any number of processes.
/// `job`, `transport`, `marks` outlive it. Errors: train-001 (check_stages); learn-001. Pre: the job's layout is a pipeline.
/// Held by: src/train/run/stages_test.cpp
[[nodiscard]] Result<std::unique_ptr<Held>> make_stages(const TrainJob& job,
                                                        const learn::OptimizerSpec& optimizer,
                                                        Transport& transport, Marks& marks,
                                                        std::unique_ptr<learn::Problem> problem);

}  // namespace cox::train
