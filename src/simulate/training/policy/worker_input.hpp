// SPDX-License-Identifier: Apache-2.0
/// \file
/// What ranks of workers without common steps need before a step, made by their nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/simulate/event.hpp"

#include "simulate/training/plan/plan.hpp"

namespace cox::simulate::training {

/// As NodeInput, with a clock: whoever asks shares the job's storage, its node's link and its node's cores with those who are
/// served then, of whatever worker and step.
/// Cost: O(log of those served) per rank and step. Held by: src/simulate/training/policy/worker_input_test.cpp (by hand)
class WorkerInput {
 public:
  /// `plan` outlives it. Errors: simulate-003, where input never comes.
  [[nodiscard]] static Result<WorkerInput> make(const Plan& plan);

  /// `unit` begins to fetch its next input: not before what was handed out, and not before it has the one before.
  void ask(int unit, Seconds at);
  /// When something happens next; infinite where nothing does.
  [[nodiscard]] Seconds soonest() const;
  /// A unit whose last rank has its input.
  struct Got {
    int unit = 0;
    Seconds at{};
  };
  /// It happens; the unit that has its input by that.
  [[nodiscard]] std::optional<Got> advance();

 private:
  explicit WorkerInput(const Plan& plan);
  struct Resource {
    SharedResource shares;
    double work = 0;   ///< of each rank
    double limit = 0;  ///< of each rank
    std::map<SharedResource::Job, int> ranks{};
    Seconds next{};  ///< in `due_`, where it has any
  };
  void enter(int rank, std::size_t stage, Seconds at);
  void schedule(int resource, bool was_there);
  [[nodiscard]] std::optional<Got> got(int rank, Seconds at);

  const Plan* plan_;
  std::vector<Resource> resources_;        ///< storage; links; cores
  std::vector<std::vector<int>> stages_;   ///< [stage][rank]: its resource
  std::set<std::pair<Seconds, int>> due_;  ///< of resources that somebody uses
  std::priority_queue<std::pair<Seconds, int>, std::vector<std::pair<Seconds, int>>, std::greater<>>
      coming_;                   ///< ranks
  std::vector<std::size_t> at_;  ///< stage of each rank
  std::vector<int> missing_;     ///< ranks, per unit
};

}  // namespace cox::simulate::training
