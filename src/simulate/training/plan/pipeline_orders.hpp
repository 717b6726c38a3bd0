// SPDX-License-Identifier: Apache-2.0
/// \file
/// For tests: runs the orders of a pipeline's stages.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "cox/simulate/training.hpp"

namespace cox::simulate::testing {

/// A pipeline whose messages take no time.
struct PipelineShape {
  model::PipelineSchedule schedule = model::PipelineSchedule::GPipe;
  int stages = 1;
  int micro_batches = 1;
  int chunks = 1;
  /// Of one micro-batch on one whole stage.
  int forward = 2;
  int input = 2;
  int weight = 2;
};

struct PipelineRan {
  int makespan = 0;
  std::vector<int> live;  ///< most micro-batches (chunks of them) held by each stage
};

inline int time_of(const PipelineShape& s, StageOp::Kind kind) {
  switch (kind) {
    case StageOp::Kind::Forward:
      return s.forward / s.chunks;
    case StageOp::Kind::Backward:
      return (s.input + s.weight) / s.chunks;
    case StageOp::Kind::BackwardInput:
      return s.input / s.chunks;
    case StageOp::Kind::BackwardWeight:
      break;
  }
  return s.weight / s.chunks;
}

/// Runs the orders without any cost of communication; nothing where they wait for each other for ever.
inline std::optional<PipelineRan> run_orders(const PipelineShape& s) {
  std::vector<std::vector<StageOp>> orders;
  orders.reserve(static_cast<std::size_t>(s.stages));
  for (int i = 0; i < s.stages; ++i)
    orders.push_back(pipeline_order(s.schedule, s.stages, i, s.micro_batches, s.chunks));
  std::map<std::tuple<bool, int, int>, int> done;  // (forward, virtual stage, micro-batch) -> when
  const int last = s.stages * s.chunks - 1;
  PipelineRan ran;
  ran.live.assign(orders.size(), 0);
  std::vector<int> free(orders.size()), held(orders.size());
  std::vector<std::size_t> at(orders.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t i = 0; i < orders.size(); ++i)
      for (; at[i] < orders[i].size(); ++at[i]) {
        const StageOp op = orders[i][at[i]];
        const int place = op.chunk * s.stages + static_cast<int>(i);
        const bool forward = op.kind == StageOp::Kind::Forward;
        int ready = 0;
        if (op.kind != StageOp::Kind::BackwardWeight && !(forward && place == 0)) {
          const bool turn = !forward && place == last;
          const auto need = done.find({forward || turn,
                                       turn      ? place
                                       : forward ? place - 1
                                                 : place + 1,
                                       op.micro_batch});
          if (need == done.end()) break;
          ready = need->second;
        }
        free[i] = std::max(free[i], ready) + time_of(s, op.kind);
        if (op.kind != StageOp::Kind::BackwardWeight) done[{forward, place, op.micro_batch}] = free[i];
        if (forward) ran.live[i] = std::max(ran.live[i], ++held[i]);
        if (op.kind == StageOp::Kind::Backward || op.kind == StageOp::Kind::BackwardWeight) --held[i];
        moved = true;
      }
  }
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (at[i] < orders[i].size()) return std::nullopt;
    EXPECT_EQ(held[i], 0);
    ran.makespan = std::max(ran.makespan, free[i]);
  }
  return ran;
}

}  // namespace cox::simulate::testing
