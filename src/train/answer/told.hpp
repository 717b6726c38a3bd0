// SPDX-License-Identifier: Apache-2.0
/// \file
/// What came of a job, as lines and as a document.
#pragma once

#include <string>
#include <vector>

#include "cox/train/train.hpp"

#include "train/run/job.hpp"

namespace cox::train {

struct Told {
  std::vector<TextLine> lines;
  std::string json;
};
/// Errors: those of the schedule of the job's all-reduce.
[[nodiscard]] Result<Told> told_of(const std::string& scenario, const TrainJob& job,
                                   const TrainQuestion& question, const TrainedRun& run,
                                   const std::vector<std::string>& inputs);

}  // namespace cox::train
