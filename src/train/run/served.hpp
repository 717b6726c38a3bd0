// SPDX-License-Identifier: Apache-2.0
/// \file
/// Jobs whose parameters lie with a server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cox/base/result.hpp"
#include "cox/learn/way.hpp"

#include "train/run/job.hpp"
#include "train/run/marks.hpp"
#include "train/transport/transport.hpp"

namespace cox::train {

/// The word of a way that a server carries out, as learn::read_way takes it: asynchronous, age-weighted, bounded-wait, bounded-discard,
/// backup; nothing of others. Held by: src/train/run/served_test.cpp
[[nodiscard]] std::optional<std::string> served_word(const learn::Way& way);

/// Rank 0 is the server: it holds the parameters and is told by sync::Policy what to do with each gradient that comes, who waits, and what is
/// too old; learn::Learner does it. Each other rank holds a stretch of the workers and computes one gradient at a time, at the version
/// that its worker had read when it was let go. Each worker takes `job.steps` steps. What happened, in order, is the stream of the job: it depends on
/// who was faster, and along it learn::Learner comes to the same bits.
/// A gradient that is no number ends the job once those under way have come. At the end all ranks have the parameters.
/// Errors: train-003, -004; train-006. Pre: `job.served`, two ranks at least, and a worker for each but the first.
/// Memory: of the server a gradient per worker, and a version per worker that computes or waits for its process.
/// Cost: a gradient per worker and step; the server's step and two messages of all parameters for each.
/// Held by: src/train/run/served_test.cpp, tests/e2e/train/served_test.sh
[[nodiscard]] Result<TrainedRun> run_served(const TrainJob& job, Transport& transport, Marks& marks);

/// Bytes of one message between server and workers: parameters or a gradient, and what it is.
[[nodiscard]] Bytes served_message(std::int64_t parameters);

}  // namespace cox::train
