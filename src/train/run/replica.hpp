// SPDX-License-Identifier: Apache-2.0
/// \file
/// One rank of a synchronous job.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/learn/problem.hpp"

#include "train/run/job.hpp"
#include "train/run/marks.hpp"
#include "train/transport/transport.hpp"

namespace cox::train {

/// What the job learns: where workers differ, as many as it has. Errors: learn-001.
[[nodiscard]] Result<std::unique_ptr<learn::Problem>> problem_of(const TrainJob& job);

/// All ranks were told the same, or all hear of the first that was not, with what. Errors: train-004; those of exchange.
/// Held by: src/train/run/replica_test.cpp, tests/e2e/train/misuse_test.sh
[[nodiscard]] Status check_alike(const TrainJob& job, Transport& transport);

/// What all ranks have sent and come to, after the end, into `made`; the parameters are alike. Errors: train-006; those of exchange.
[[nodiscard]] Status compare_ends(Transport& transport, std::uint64_t hash, const std::vector<Bytes>& sent,
                                  TrainedRun& made);

/// All steps of rank `transport.rank()`: gradients of its workers' leaves at the newest version, their sum over all ranks, one
/// step of the optimizer with the mean. A gradient that is no number ends the job on all ranks before its version, as learn::Learner has it; the
/// lowest worker is named.
/// Returns what came of it on rank 0; of the others their parameters' hash and what they sent.
/// Errors: train-002, -003, -004; train-006 (ranks end with unlike parameters); learn-001.
/// Cost: a gradient per worker and step, a sum over all ranks per step, a score each time that versions have doubled.
/// Held by: src/train/run/replica_test.cpp
[[nodiscard]] Result<TrainedRun> run_replica(const TrainJob& job, Transport& transport, Marks& marks);

/// Who looks on while a job runs.
struct TrainWatch {
  std::function<void(std::int64_t version, double loss)> told{};  ///< from one thread, after each step
  std::function<bool()>
      stop{};  ///< asked before each step; true: it is the last one, and is saved where the job saves
};
/// All ranks as threads of this process. Errors: the first rank's that has one.
[[nodiscard]] Result<TrainedRun> run_on_threads(const TrainJob& job, const TrainWatch& watch = {});

}  // namespace cox::train
