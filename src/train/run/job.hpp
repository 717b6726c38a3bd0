// SPDX-License-Identifier: Apache-2.0
/// \file
/// What every rank of a job is told, and what the first one answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/learn/learner.hpp"
#include "cox/learn/way.hpp"
#include "cox/model/scenario.hpp"
#include "cox/model/schedule.hpp"

#include "train/checkpoint/saver.hpp"
#include "train/executor/memory_count.hpp"
#include "train/run/step_forecast.hpp"

namespace cox::train {

/// How gradients are summed: nothing = in fixed order.
struct SumBy {
  std::optional<model::Algorithm> algorithm{};
  int group = 1;  ///< ranks per innermost group (hierarchical)
};
/// Reads `fixed-order`, `ring`, `hierarchical,group=2`. Errors: train-002 (Errc::Usage).
[[nodiscard]] Result<SumBy> read_sum(const std::string& text);

/// What each process keeps.
enum class TrainLayout : std::uint8_t {
  DataParallel,  ///< all of it
  Zero1,  ///< parameters and gradients; of the optimizer's state its own part of the elements (Rajbhandari et al. 2020)
  Zero2,     ///< and of the gradients
  Zero3,     ///< and of the parameters
  Pipeline,  ///< the units of its stage
  Tensor,    ///< columns and rows of every pair of layers (Shoeybi et al. 2019)
};
/// `data-parallel`, `zero-1`, `zero-2`, `zero-3`, `pipeline`, `pipeline,recompute=1`, `tensor`. Errors: train-002 (Errc::Usage).
[[nodiscard]] Result<TrainLayout> read_layout(const std::string& text);

/// How a job's replicas go through stages: the scenario's words.
struct PipelineShape {
  int stages = 1;
  int micro_batches = 1;  ///< of a worker's step: a leaf of the sum each
  model::PipelineSchedule schedule = model::PipelineSchedule::OneForwardOneBackward;
  int chunks = 1;          ///< of units with a stage
  bool recompute = false;  ///< activations are computed again on the way back, from what came into the stage
  bool operator==(const PipelineShape&) const = default;
};
/// Of a layout by name and a scenario. Pre: `layout` is a pipeline.
[[nodiscard]] PipelineShape pipeline_of(const std::string& layout, const model::TrainingJob& job);

/// What a policy computes in: the words behind its plus that say mixed precision, whole, as read_precision takes them; empty: FP32.
[[nodiscard]] std::string precision_of(const learn::Way& way);
/// Errors: learn-001; train-004 (words that say no mixed precision).
[[nodiscard]] Result<learn::CompressorSpec> read_precision(const std::string& text);

/// A fault on purpose, for tests and for trying out `cox diagnose`.
struct Injected {
  int rank = -1;          ///< nobody's
  Seconds delay{};        ///< that it sleeps in each step, before its gradients
  std::int64_t nan = -1;  ///< in this step its last worker's gradient holds what is no number
};
/// Reads `rank=1,delay=0.02` or `rank=1,nan=5`; nothing of an empty text. Errors: train-002 (Errc::Usage).
[[nodiscard]] Result<Injected> read_injected(const std::string& text);

/// What workers do alone between two meetings, and what becomes of what they bring: their part of a learn::Way.
struct LocalRounds {
  int steps = 1;  ///< of each worker in a round
  learn::LocalState state = learn::LocalState::Keep;
  double proximal = 0;  ///< FedProx
  /// Steps of each worker before the first round, in which all meet with gradients (post-local SGD).
  std::int64_t after = 0;
  bool variates = false;  ///< of each worker, and their mean: SCAFFOLD
  /// Of the mean difference: sgd with rate 1, or nesterov (DiLoCo).
  learn::OptimizerSpec outer{.kind = learn::OptimizerKind::Sgd, .rate = 1};
};
/// Of a way of local steps. Pre: `way.is_local()`.
[[nodiscard]] LocalRounds rounds_of(const learn::Way& way);

struct TrainJob {
  std::string problem{};
  std::string optimizer{};
  int workers = 1;
  std::int64_t samples = 1;
  std::int64_t steps = 1;  ///< of each worker
  int procs = 1;
  std::string sum = "fixed-order";
  std::string precision{};  ///< as precision_of has it
  std::string layout = "data-parallel";
  std::string
      served{};  ///< a policy that a server carries out, as served_word has it; empty: none, all ranks meet
  std::optional<LocalRounds>
      local{};  ///< workers meet after rounds of own steps; nothing: after each step, with gradients
  std::optional<PipelineShape> pipeline{};  ///< where the layout is one
  int tensor = 0;  ///< ranks that share each layer, where the layout is tensor; 0: it is another
  Seconds patience{60};
  bool times = false;         ///< of every version are kept
  std::string checkpoint{};   ///< folder; empty = nothing is saved
  std::string every = "100";  ///< as read_save_every takes it
  bool beside = true;         ///< checkpoints are written beside the steps
  bool resume = false;
  bool predict = false;  ///< the first steps predict the rest
  std::string inject{};  ///< as read_injected takes it
  bool told = false;     ///< ranks that are programs say how far they are

  /// Versions that are a step of each worker, before those that are a round.
  [[nodiscard]] std::int64_t step_versions() const { return local ? std::min(local->after, steps) : steps; }
  [[nodiscard]] std::int64_t versions() const {
    return step_versions() + (local ? (steps - step_versions()) / local->steps : 0);
  }
  /// Steps of each worker that are in a version.
  [[nodiscard]] std::int64_t steps_in(std::int64_t version) const {
    const std::int64_t single = std::min(version, step_versions());
    return single + (local ? (version - single) * local->steps : 0);
  }
  /// Leaves of the sum of a step, and what each is the gradient of.
  [[nodiscard]] std::int64_t leaves() const { return workers * std::int64_t{share().leaves}; }
  [[nodiscard]] learn::StepShare share() const {
    const std::int64_t parts = pipeline ? pipeline->micro_batches : 1;
    return {.leaves = parts, .samples = samples / parts};
  }
};
/// What has to be the same to go on from a checkpoint: what is learned, and, where gradients are not summed in fixed order, how and by how
/// many processes they are.
[[nodiscard]] std::string identity_of(const TrainJob& job);
/// As a program takes it: `workers=8 steps=200 ...`, a word each. Held by: src/train/run/job_test.cpp
[[nodiscard]] std::vector<std::string> words_of(const TrainJob& job);
/// Errors: train-004 (a word that is none of these).
[[nodiscard]] Result<TrainJob> read_words(std::span<const std::string> words);

/// How good the parameters were, and when.
struct TrainPoint {
  std::int64_t version = 0;
  Seconds at{};
  std::int64_t samples = 0;  ///< in it
  learn::Score score{};
};

/// What became of gradients that were brought to a server.
struct ServedUpdates {
  std::int64_t applied = 0;
  std::int64_t discarded = 0;
  std::int64_t left = 0;         ///< came, and were waiting for others at the end
  std::int64_t samples = 0;      ///< of those applied
  std::int64_t largest_age = 0;  ///< of those applied, in versions
  double mean_age = 0;
  std::vector<std::int64_t> messages{};  ///< that each rank sent
};

/// What a loss scale did.
struct ScaledRun {
  double factor = 1;             ///< at the end
  std::int64_t skipped = 0;      ///< versions with the parameters of the one before
  std::int64_t skipped_now = 0;  ///< of those since the job began or went on
};

/// What came of a job.
struct TrainedRun {
  std::string library{};  ///< that carried the messages, and its version
  std::int64_t parameters = 0;
  std::int64_t versions = 0;
  std::vector<TrainPoint> points{};  ///< at version 0, each time that versions have doubled, and at the end
  std::optional<learn::Divergence> diverged{};
  std::vector<std::vector<Bytes>> sent{};  ///< in all steps, [from][to]
  std::vector<std::uint64_t> hashes{};     ///< of each rank's parameters at the end
  std::vector<Bytes> optimizer{};          ///< each rank's state: momentum and moments
  std::vector<BytesByUse> memory{};        ///< of each rank, at its most in a step
  Seconds steps_took{};                    ///< without scores
  std::vector<Seconds> times{};            ///< of versions 1, 2, ..., where the job asks
  std::optional<std::int64_t> resumed{};   ///< the version that it went on from
  std::vector<std::string> refused{};      ///< newer checkpoints, with what is wrong with each
  Saved saved{};
  std::optional<std::int64_t> saved_version{};  ///< the newest checkpoint's; -1 where there is none
  std::optional<StepForecast> forecast{};       ///< of the first rank
  std::optional<ServedUpdates> served{};
  std::optional<ScaledRun> scaled{};
  std::string stream{};  ///< of a server, where the job asks for times: the lines of sync::StreamWriter
  bool stopped = false;  ///< before its last step, because somebody asked for it

  [[nodiscard]] std::int64_t own_versions() const { return versions - resumed.value_or(0); }  ///< of this run
};
/// Lines of words between tabs, and back. Numbers keep their bits. Held by: src/train/run/job_test.cpp
[[nodiscard]] std::string rows_of(const TrainedRun& run);
/// How far a job is.
struct TrainMoment {
  std::int64_t version = 0;
  double loss = 0;
};
/// A row of its own, on the way.
[[nodiscard]] std::string row_of(const TrainMoment& moment);
/// Of a line; nothing where it says something else.
[[nodiscard]] std::optional<TrainMoment> read_moment(std::string_view line);
/// Of a rank that ended with an error.
[[nodiscard]] std::string row_of(const Error& error);
/// Errors: the first that a row holds; train-005 (rows that cannot be read, or none).
[[nodiscard]] Result<TrainedRun> read_rows(const std::string& text);

}  // namespace cox::train
