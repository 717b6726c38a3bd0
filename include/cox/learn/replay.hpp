// SPDX-License-Identifier: Apache-2.0
/// \file
/// Updates written down, and what a problem learns from those of a file: of virtual time or of real processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/text_line.hpp"
#include "cox/learn/learner.hpp"
#include "cox/learn/optimizer.hpp"
#include "cox/learn/problem.hpp"
#include "cox/learn/way.hpp"
#include "cox/model/scenario.hpp"

namespace cox::learn {

/// Writes the updates of the scenario's job under `way`, at most `steps` steps of each worker, on the scenario's seed. `problem`:
/// whose gradients are packed where the way compresses, in its proportion. Returns what it wrote, as a sentence.
/// Errors: learn-002, those of simulate::stream_updates. Held by: src/learn/answer/replay_test.cpp
[[nodiscard]] Result<TextLine> record_updates(const model::Scenario& scenario, const Way& way,
                                              const ProblemSpec& problem, std::int64_t steps,
                                              std::ostream& to);

/// Whether the file says that it holds updates.
[[nodiscard]] bool holds_updates(const std::filesystem::path& file);

/// What is learned along a file of updates.
struct ReplayQuestion {
  ProblemSpec problem{};
  OptimizerSpec optimizer{};  ///< at this rate; nothing is tuned
  StepShare share{};
  Way way{};  ///< what is done with what workers bring; who meets whom is the file's
};

struct Replayed {
  std::vector<TextLine> lines;  ///< the screen
  std::string json;             ///< `cox.learn-replay/1`: docs/reference/updates-csv.md
  bool diverged = false;
};

/// Learns along the file. The same file and question give the same bits as the run that was recorded.
/// Errors: sync-001 (the file), learn-002 (a problem for other workers, more memory than there should be, updates of several local
/// steps without a way that has them). Cost: a gradient per applied update and local step; a score each time that versions
/// have doubled. Held by: src/learn/answer/replay_test.cpp
[[nodiscard]] Result<Replayed> replay_updates(const std::filesystem::path& file,
                                              const ReplayQuestion& question,
                                              const std::vector<std::string>& inputs);

}  // namespace cox::learn
