// SPDX-License-Identifier: Apache-2.0
/// \file
/// For tests: training jobs whose step time can be written down.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cox/model/scenario.hpp"
#include "cox/simulate/training.hpp"

namespace cox::simulate::testing {

inline model::TrainingJob& work_of(model::Scenario& s) {
  return s.job.as<model::TrainingJob>();
}
inline const model::TrainingJob& work_of(const model::Scenario& s) {
  return s.job.as<model::TrainingJob>();
}

inline model::Cluster cluster(int nodes, int devices) {
  model::Cluster c;
  c.nodes = nodes;
  c.devices_per_node = devices;
  return c;
}

/// One device per node, so that every message goes across; no pipeline.
inline model::Scenario data_parallel(int workers, int layers) {
  model::Scenario s;
  s.name = "data";
  s.cluster = cluster(workers, 1);
  s.job.work = model::TrainingJob{};
  s.job.steps = 1;
  work_of(s).layout = {.data = workers};
  work_of(s).layers.assign(static_cast<std::size_t>(layers), {.forward = Seconds{1e-3},
                                                              .backward = Seconds{2e-3},
                                                              .gradients = Bytes{8'000'000},
                                                              .activations = {}});
  work_of(s).optimizer = Seconds{0.4e-3};
  work_of(s).bucket = Bytes{16'000'000};
  s.inside = {.latency = Seconds{1e-6}, .per_byte = Bandwidth::gbyte_per_s(300).time_per_byte()};
  s.across = {.latency = Seconds{10e-6}, .per_byte = Bandwidth::gbyte_per_s(25).time_per_byte()};
  return s;
}

/// One replica cut into stages; layers of 1 ms forward and 2 ms backward, messages for nothing.
inline model::Scenario pipeline(int stages, int layers, int micro_batches) {
  model::Scenario s = data_parallel(1, layers);
  s.name = "pipeline";
  s.cluster = cluster(stages, 1);
  work_of(s).layout = {.pipeline = stages};
  work_of(s).micro_batches = micro_batches;
  work_of(s).optimizer = {};
  s.across = {};
  return s;
}

/// A rank that is slower by `extra` (0.5: half as long again) in every step.
inline model::NoiseSource slow_rank(int rank, double extra) {
  model::NoiseSource n;
  n.name = "slow";
  n.law = model::NoiseLaw::Constant;
  n.pattern = model::NoisePattern::Persistent;
  n.mean_ratio = extra;
  n.ranks = {rank};
  return n;
}

/// Compute times with this coefficient of variation, fresh for every rank and step.
inline model::NoiseSource jitter(double cv) {
  model::NoiseSource n;
  n.name = "jitter";
  n.law = model::NoiseLaw::Gaussian;
  n.cv = cv;
  return n;
}

/// Small jobs that use everything, each with noise and three steps.
inline std::vector<model::Scenario> assorted() {
  std::vector<model::Scenario> all;
  const auto add = [&](const char* name, model::Layout layout, auto&& change) {
    model::Scenario s = data_parallel(1, 8);
    s.name = name;
    const int ranks = layout.data * layout.tensor * layout.pipeline * layout.context;
    s.cluster = cluster((ranks + 3) / 4, ranks < 4 ? ranks : 4);
    work_of(s).layout = layout;
    s.job.steps = 3;
    for (model::Layer& l : work_of(s).layers) l.activations = Bytes{2'000'000};
    s.noise.push_back(jitter(0.05));
    change(s);
    all.push_back(std::move(s));
  };
  add("all ways", {.data = 2, .tensor = 2, .pipeline = 2, .context = 2}, [](model::Scenario& s) {
    work_of(s).micro_batches = 4;
    work_of(s).overlap_slowdown = 0.2;
  });
  add("experts", {.data = 8, .expert = 4}, [](model::Scenario& s) { work_of(s).moe_layers = 3; });
  add("fsdp", {.data = 8, .tensor = 2}, [](model::Scenario& s) {
    work_of(s).zero_stage = 3;
    work_of(s).micro_batches = 2;
  });
  add("zero 2 with stages", {.data = 4, .pipeline = 2}, [](model::Scenario& s) {
    work_of(s).zero_stage = 2;
    work_of(s).micro_batches = 4;
    work_of(s).schedule = model::PipelineSchedule::ZeroBubble;
  });
  add("interleaved", {.data = 2, .pipeline = 4}, [](model::Scenario& s) {
    work_of(s).micro_batches = 8;
    work_of(s).schedule = model::PipelineSchedule::Interleaved;
    work_of(s).interleave = 2;
    work_of(s).overlap_slowdown = 0.1;
  });
  add("without overlap", {.data = 4, .tensor = 4}, [](model::Scenario& s) { work_of(s).overlap = false; });
  return all;
}

/// The accounts of a step add up, and its critical path lies within it.
inline void expect_adds_up(const StepAnalysis& step, const std::string& name) {
  const auto sum = [](const auto& v) { return std::accumulate(v.begin(), v.end(), Seconds{}).count(); };
  EXPECT_NEAR(sum(step.parts), step.rank_time.count(), 1e-9 * step.rank_time.count()) << name;
  EXPECT_NEAR(sum(step.path), step.path_time.count(), 1e-9 * step.path_time.count()) << name;
  EXPECT_LE(step.path_time.count(), step.step.count() + 1e-9) << name;
  EXPECT_GT(step.path_time.count(), 0.5 * step.step.count()) << name;
}

}  // namespace cox::simulate::testing
