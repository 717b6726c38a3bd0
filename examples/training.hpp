// SPDX-License-Identifier: Apache-2.0
/// \file
/// The data-parallel training loop that gloo_train and mpi_train share, and the faults it can be given.
///
/// The loop knows nothing of Coxswain, and the fault plan is never written anywhere:
/// who is slow has to be found.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace example {

enum class Fault : std::uint8_t {
  None,
  Compute,    ///< the victim trains on more samples than the others, every step
  Host,       ///< the victim waits before every step, as for a slow data loader
  Transient,  ///< as Compute, in the middle third of the steps only
  Rotating,   ///< as Compute, another victim every five steps
  Alternate,  ///< as Compute, the victim and the rank half the job away in turn
  Pause,      ///< the victim waits in every tenth step, as for a garbage collection
};

struct Options {
  int ranks = 8;  ///< gloo_train only; MPI decides otherwise
  int steps = 120;
  int batch = 512;    ///< samples per rank and step
  int slow_rank = 3;  ///< victim, where the fault has one
  Fault fault = Fault::None;
  int extra_percent = 300;  ///< of the batch: what a compute fault adds
  int host_wait_ms = 25;    ///< what a host fault and a pause add
  int buckets = 1;          ///< all-reduces per step, each of a part of the gradient
  int fault_bucket = -1;    ///< the one before which a fault strikes; -1: its work is spread over all
  std::uint64_t seed = 1;
  int print_every = 0;   ///< steps between two losses that rank 0 prints; 0: ten of them in all
  bool timing = false;   ///< print each rank's own times at the end
  std::string times_to;  ///< folder for rank-N.csv: when each step entered and left its all-reduce
};

/// Reads the command line; prints help or a one-line error and ends the process (0
/// or 2) where that is asked for.
Options parse_options(int argc, char** argv, const std::string& program, bool has_ranks);

/// One rank's seat in the job: sums a buffer over all ranks in place,
/// and does whatever else follows step `step`.
struct Crew {
  int rank = 0;
  int ranks = 1;
  std::function<void(std::span<float>)> all_reduce;
  std::function<void(int step, float loss)> after_step = [](int, float) {};
};

struct Outcome {
  int steps = 0;
  float first_loss = 0;  ///< mean over the first tenth of the steps
  float last_loss = 0;   ///< mean over the last tenth
  double own_ms = 0;     ///< median over steps: from the end of one all-reduce to the start of the next
  double reduce_ms = 0;  ///< median over steps: inside the all-reduce
  [[nodiscard]] bool learnt() const { return last_loss < first_loss; }
};

/// Trains. Rank 0 prints the loss now and then (Options::print_every).
Outcome train(const Options& options, const Crew& crew);

}  // namespace example
