// SPDX-License-Identifier: Apache-2.0
/// \file
/// A job carried out by processes that learn: the steps of `cox learn`'s stream, in real time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/text_line.hpp"
#include "cox/learn/way.hpp"
#include "cox/model/scenario.hpp"

namespace cox::train {

/// What carries messages between processes.
enum class Carrier : std::uint8_t {
  Threads,  ///< of this process
  OpenMpi,
  Mpich,
  Gloo,  ///< processes of this machine
};
inline constexpr Carrier kLastCarrier = Carrier::Gloo;
[[nodiscard]] std::string_view name_of(Carrier carrier);  ///< `threads`, `openmpi`, `mpich`, `gloo`

/// What was asked.
struct TrainQuestion {
  std::string problem{};    ///< as learn::read_problem takes it
  std::string optimizer{};  ///< as learn::read_optimizer takes it; at this rate, nothing is tuned
  learn::Way way{};
  std::int64_t samples = 1;  ///< of a worker in a step
  std::int64_t steps = 200;  ///< of each worker
  int procs = 1;
  Carrier carrier = Carrier::Threads;
  /// `fixed-order`, or an all-reduce by name as `model::name_of` has it, `hierarchical,group=2`
  std::string all_reduce = "fixed-order";
  /// `data-parallel`; `zero-1`, `zero-2`, `zero-3`: each process keeps its part of the optimizer's state, gradients, parameters; `pipeline`,
  /// `pipeline,recompute=1`: the units of its stage, by the scenario's layout, micro-batches and schedule; `tensor`: columns and rows of every pair of
  /// layers, by the scenario's job.layout.tensor
  std::string layout = "data-parallel";
  std::filesystem::path programs{};    ///< folder of cox-train-openmpi and -mpich
  std::vector<std::string> launch{};   ///< starts them; empty: the library's mpirun
  Seconds patience{60};                ///< of one wait for a message
  std::filesystem::path checkpoint{};  ///< folder that the job is saved to; empty: it is not
  std::string every = "100";           ///< steps between two checkpoints, or `5%` of the time for all of them
  bool beside = true;                  ///< they are written beside the steps, from a copy
  bool resume = false;                 ///< from the newest checkpoint that is whole, where there is one
  bool predict = false;                ///< the first steps predict the rest, and both are said
  std::string
      inject{};  ///< a fault on purpose: `rank=1,delay=0.02` (seconds in each step), `rank=1,nan=5` (the step)
  /// Hears how far the job is: the version, and the loss of the first process's samples before it. One thread at a time.
  std::function<void(std::int64_t version, double loss)> told{};
  /// Asked now and then. True: on threads the next step is the last, and is saved; processes are ended, and it is an error.
  std::function<bool()> stop{};
  std::vector<std::string> notes{};  ///< said with the answer
  std::ostream* record =
      nullptr;  ///< gets the job's updates (docs/reference/updates-csv.md); without it times are not kept
};

/// What came of it.
struct TrainAnswer {
  std::vector<TextLine> lines;  ///< the screen
  std::string json;             ///< `cox.train/1`: docs/reference/train-json.md
  int workers = 0;              ///< of the job
  bool diverged = false;
  bool stopped = false;
};

/// Whether training on processes under this layout makes the same of both: workers, policy, name, stages. For words that change nothing.
[[nodiscard]] bool same_job(const model::Scenario& one, const model::Scenario& other,
                            const std::string& layout);

/// Learns on `procs` processes what the scenario's workers (replicas of its model) learn under a policy. Where they meet, each worker is a leaf of
/// the sum, each process holds a stretch of them. In fixed order parameters and losses have the bits of `learn::Learner` along a synchronous
/// stream (or one of rounds of local steps), for any number of processes; by another all-reduce the bits are that algorithm's. With a server (the
/// first process) the stream depends on who was faster, and along it they have the learner's bits.
/// Under `synchronous+bf16,master=yes` (or fp16) the same in mixed precision.
/// Errors: train-001 (a policy that processes do not carry out yet, more processes than workers, a sum by
/// name under a layout that has parts, stages that the problem or the processes do not make, too large), train-002 (such an all-reduce, layout or interval), train-003 to -008 (while it ran); learn-001; those of simulate::update_workers.
/// Held by: src/train/answer/train_test.cpp, tests/e2e/train/train_test.sh
[[nodiscard]] Result<TrainAnswer> train(const model::Scenario& scenario, const TrainQuestion& question,
                                        const std::vector<std::string>& inputs);

}  // namespace cox::train
