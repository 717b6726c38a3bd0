// SPDX-License-Identifier: Apache-2.0
/// \file
/// One rank of a run: does its iterations, asks its controllers, writes its cells.
#pragma once

#include <memory>
#include <vector>

#include "cox/bench/pace.hpp"
#include "cox/pace/controller.hpp"

#include "bench/pace/worker/network.hpp"
#include "bench/pace/worker/shared.hpp"

namespace cox::bench::worker {

class RankProcess {
 public:
  RankProcess(const PacePlan& plan, const Shared& shared, const Network& network, int rank);
  /// Does the whole plan; the exit status of the process.
  [[nodiscard]] int run();

 private:
  /// Of one arm: its controller and how far its own count of steps is.
  struct Arm {
    pace::Settings settings{};
    bool controlled = false;
    std::unique_ptr<pace::Controller> controller;
    std::uint64_t step = 0;
  };
  [[nodiscard]] bool connect();
  void begin_block(const PaceBlock& block, std::size_t index);
  [[nodiscard]] bool do_step(const PaceBlock& block, std::int64_t draw, std::int64_t row);
  [[nodiscard]] bool synchronise(pace::WaitMode mode);
  void set_nice(int nice);

  const PacePlan& plan_;
  const Shared& shared_;
  const Network& network_;
  int rank_;
  int own_nice_ = 0;
  int nice_ = 0;
  std::int64_t last_end_ = 0;
  std::vector<Arm> arms_;
  Input input_;
  Ring ring_;
};

}  // namespace cox::bench::worker
