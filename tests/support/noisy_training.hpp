// SPDX-License-Identifier: Apache-2.0
/// \file
/// A small training job in which several things go wrong, for tests of levers and of their page.
#pragma once

#include "cox/model/scenario.hpp"

namespace cox::test {

/// 16 replicas on 8 nodes; one rank is slow, all have tails, and things fail.
inline model::Scenario noisy_training(int steps) {
  model::Scenario s;
  s.name = "noisy";
  s.cluster.nodes = 8;
  s.cluster.devices_per_node = 2;
  s.inside = {.latency = Seconds{1e-6}, .per_byte = Bandwidth::gbyte_per_s(300).time_per_byte()};
  s.across = {.latency = Seconds{1e-5}, .per_byte = Bandwidth::gbyte_per_s(25).time_per_byte()};
  model::TrainingJob job;
  job.layout.data = 16;
  job.layers.assign(4, {.forward = Seconds{0.01},
                        .backward = Seconds{0.02},
                        .gradients = Bytes{100'000'000},
                        .activations = {}});
  s.job.work = job;
  s.job.steps = steps;
  model::NoiseSource tail;
  tail.name = "tail";
  tail.law = model::NoiseLaw::Exponential;
  tail.mean_ratio = 0.1;
  model::NoiseSource slow;
  slow.name = "slow";
  slow.law = model::NoiseLaw::Constant;
  slow.mean_ratio = 0.5;
  slow.ranks = {3};
  s.noise = {tail, slow};
  s.failures = {.node_mtbf = Seconds{8 * 86'400.0},
                .restart = Seconds{600},
                .checkpoint = Seconds{60},
                .checkpoint_interval = Seconds{600}};
  s.power = {.busy = Power::watts(8000),
             .transfer = Power::watts(6000),
             .wait = Power::watts(4000),
             .idle = Power::watts(2000)};
  return s;
}

}  // namespace cox::test
