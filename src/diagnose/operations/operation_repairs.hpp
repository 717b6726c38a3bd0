// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a table's findings would save, each alone and all together: what they name is put right, and the Run replayed.
#pragma once

#include <utility>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"
#include "cox/diagnose/finding_kind.hpp"
#include "cox/model/program.hpp"

#include "diagnose/operations/operation_what_if_model.hpp"

namespace cox::diagnose {

/// Gains of findings do not add up: a stage holds its slow worker, and two ranks hide each other. So each is a change of the recorded
/// durations, any of them can be made one after the other, and one replay tells what they bring together.
///
/// Formula: what is put right, by cause:
///          SlowWorker: each type of own work takes its ranks as long as their like in the mean (over the ranks of their stage that are
///          not named), where these are faster; it is taken from each operation by what that exceeds the usual one by;
///          StageImbalance: own work is dealt out evenly, that is each stage's is multiplied by (mean over stages) / (its own), both by
///          ranks that are not named; the sum stays, and who is slower than its like remains so;
///          Communication: transfers (of its ranks, of all where it names none) last as long as usual.
/// Threads: none of its own; all members are const. Held by: src/diagnose/verdict/stage_findings_test.cpp
class OperationRepairs {
 public:
  /// `usual`: per node of the model.
  OperationRepairs(OperationModel model, const model::Program& program, std::vector<Duration> usual);

  [[nodiscard]] const OperationModel& model() const { return model_; }
  /// Per rank of the program; -1 where it has no stage.
  [[nodiscard]] const std::vector<int>& stages() const { return stage_; }
  /// Makes a finding's change; `named` are nobody's like. False, and nothing is changed, where there is nobody to compare with.
  [[nodiscard]] bool put_right(const OperationFinding& f, const std::vector<Rank>& named,
                               std::vector<Duration>& durations) const;
  /// By which part the Run is shorter with these durations, in 0..1. Cost: one replay.
  [[nodiscard]] double gain(const std::vector<Duration>& durations) const;

 private:
  struct OwnWork {
    double seconds = 0;
    double count = 0;
  };
  [[nodiscard]] std::vector<bool> mask_of(const std::vector<Rank>& ranks) const;
  [[nodiscard]] const OwnWork& own(std::size_t rank, std::size_t type) const {
    return own_[rank * model_.types.size() + type];
  }
  bool speed_up(const std::vector<bool>& slow, const std::vector<bool>& named,
                std::vector<Duration>& durations) const;
  bool balance(std::vector<bool> named, std::vector<Duration>& durations) const;

  OperationModel model_;
  std::vector<Rank> ranks_;
  std::vector<int> stage_;
  std::vector<Duration> usual_;
  std::vector<OwnWork> own_;  ///< [rank x types + type]
  Duration recorded_{};       ///< the replay of what was recorded
};

}  // namespace cox::diagnose
