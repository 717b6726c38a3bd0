// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks that are programs of their own, one per library, so that `cox` links to none.
#pragma once

#include "cox/train/train.hpp"

#include "train/run/job.hpp"

namespace cox::train {

/// What starts the ranks of the job. Errors: train-005 (the program is not there).
/// Held by: src/train/answer/train_test.cpp
[[nodiscard]] Result<std::vector<std::string>> launch_words(const TrainJob& job,
                                                            const TrainQuestion& question);

/// Starts them, waits, and reads what came of it. Errors: train-005 (not there, cannot be started, no result), and what a rank
/// ended with.
[[nodiscard]] Result<TrainedRun> run_launched(const TrainJob& job, const TrainQuestion& question);

}  // namespace cox::train
