// SPDX-License-Identifier: Apache-2.0
/// \file
/// For tests: a data-parallel job whose computation and messages can be chosen.
#pragma once

#include "cox/model/scenario.hpp"

namespace cox::learn::testing {

/// `workers` nodes of one device; a step computes for 30 ms, and 80 MB of gradients pass links of `rate`.
inline model::Scenario job(int workers, Bandwidth rate = Bandwidth::gbyte_per_s(25)) {
  model::Scenario s;
  s.name = "job";
  s.cluster.nodes = workers;
  model::TrainingJob work;
  work.layout.data = workers;
  work.layers.assign(10, {.forward = Seconds{1e-3},
                          .backward = Seconds{2e-3},
                          .gradients = Bytes{8'000'000},
                          .activations = {}});
  s.job.work = work;
  s.inside = {.latency = Seconds{1e-6}, .per_byte = Bandwidth::gbyte_per_s(300).time_per_byte()};
  s.across = {.latency = Seconds{10e-6}, .per_byte = rate.time_per_byte()};
  return s;
}

/// Speeds of workers that differ for good.
inline void make_uneven(model::Scenario& s, double cv) {
  model::NoiseSource n;
  n.law = model::NoiseLaw::Lognormal;
  n.pattern = model::NoisePattern::Persistent;
  n.cv = cv;
  s.noise.push_back(n);
}

}  // namespace cox::learn::testing
