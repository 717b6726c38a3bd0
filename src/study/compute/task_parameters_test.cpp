// SPDX-License-Identifier: Apache-2.0
// The parameters of the source's tasks against closed forms, as `cox study NAME --set` changes them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cox/study/computation.hpp"

#include "study/runs/routing.hpp"

namespace cox::study {
namespace {

using Values = std::map<std::string, double>;

/// What is computed with these inputs, in base units.
Values values_of(const std::string& name, const std::vector<std::string>& changes = {}) {
  const auto studies = read_studies(COX_STUDIES);
  EXPECT_TRUE(studies);
  ComputationTable table;
  table.add(engine_computations());
  Values out;
  for (Study s : *studies) {
    if (s.name != name) continue;
    for (const std::string& c : changes) EXPECT_TRUE(set_input(s, c)) << c;
    const auto a = run_study(s, table, {.threads = 1});
    EXPECT_TRUE(a) << a.error().to_string();
    if (!a) return out;
    for (const Computed& c : a->computation.values) out[c.name] = c.value.in_base_unit();
  }
  return out;
}

// Whatever is beside what: between the longer of both and their sum; with one bucket nothing is beside it.
TEST(BucketingParameters, StepsLieBetweenTheLongerAndTheSum) {
  const double backward = 96 * 5e-3;
  const double whole = 2 * 255 * (10e-6 + 700e6 / 256 / 50e9);
  for (const char* efficiency : {"100%", "90%", "70%"})
    for (const int streams : {1, 2, 4}) {
      const Values v = values_of("bucketing-overlap", {fmt::format("overlap efficiency=[{}]", efficiency),
                                                       fmt::format("communication streams=[{}]", streams)});
      for (const int b : {1, 2, 4, 8, 12, 16, 24, 48, 96}) {
        const double step = v.at(fmt::format("step-b{}", b));
        EXPECT_GE(step, backward);
        // Slower computing is not bounded by the sum; pieces of a ring are of whole bytes.
        if (std::string(efficiency) == "100%") {
          EXPECT_LE(step, backward + 96.0 / b * 510 * 10e-6 + 510 * 700e6 / 256 / 50e9 + 1e-6);
        }
        EXPECT_LE(v.at(fmt::format("hidden-b{}", b)), 1);
      }
      EXPECT_NEAR(v.at("step-b96"), backward + whole, 1e-6);
      EXPECT_NEAR(v.at("hidden-b96"), 0, 1e-4);
    }
}

TEST(BucketingParameters, ASlowerBackwardPassIsNeverQuicker) {
  const Values v = values_of("bucketing-overlap");
  EXPECT_LT(v.at("best-step"), v.at("best-step-streams1-90%"));
  EXPECT_LT(v.at("best-step-streams1-90%"), v.at("best-step-streams1-70%"));
  EXPECT_LE(v.at("best-step-streams2-100%"), v.at("best-step"));
}

// A worker's port passes d twice, a shard's N d / S twice: the longer of both; the ring 2 (N - 1) d / N.
TEST(ServerParameters, WorkersFollowTheirPorts) {
  const Values v = values_of("server-against-allreduce");
  for (const int n : {2, 4, 8, 16, 32, 64, 128, 256}) {
    const double ports = std::max(1.0, n / 16.0);
    EXPECT_NEAR(v.at(fmt::format("servers-n{}", n)), 2 * ports * 700e6 / 200e9, 1e-8);
    EXPECT_NEAR(v.at(fmt::format("ring-n{}", n)), 2 * (n - 1.0) / n * 700e6 / 200e9, 1e-8);
  }
  EXPECT_EQ(v.at("workers-that-make-servers-half-as-efficient"), 31);  // 31^2 > 2 x 30 x 16 >= 30^2 x 30 / 29
}

TEST(ServerParameters, SparseAndSkewedLoadsFollowTheirShares) {
  const Values v = values_of("server-against-allreduce");
  const double dense = v.at("servers-over-ring");
  EXPECT_NEAR(v.at("servers-over-ring-density-100%"), dense, 1e-6);
  EXPECT_NEAR(v.at("servers-over-ring-density-10%"), dense * 0.2, 1e-4);
  EXPECT_NEAR(v.at("servers-over-ring-density-1%"), dense * 0.02, 1e-4);
  EXPECT_NEAR(v.at("sparsity-that-makes-servers-as-quick"), 2 * dense, 1e-6);
  for (const int e : {0, 1, 2})
    EXPECT_NEAR(v.at(fmt::format("servers-zipf{}", e)), v.at("servers") * 16 * zipf_shares(16, e).front(),
                1e-6);
}

// Hardly anybody meets: of a step's time each worker is 2 d / B at the servers.
TEST(ServerParameters, FewMeetWhereComputeIsLong) {
  const Values v = values_of("server-against-allreduce", {"compute of an asynchronous step=[20s]"});
  const double alone = 2 * 700e6 / 200e9;
  EXPECT_NEAR(v.at("queue-compute-20s"), 256 * alone / (20 + alone), 0.02);
  EXPECT_NEAR(v.at("ports-busy-compute-20s"), v.at("queue-compute-20s") / 32, 0.0005);  // 16 shards, two ways
}

TEST(ExpertParameters, AHotExpertHoldsUpByItsShare) {
  const Values v = values_of("expert-routing", {"draws=101", "tokens per expert=8"});
  // Rank 0 has the first expert alone and keeps 1 / 64 of its tokens, as all do.
  EXPECT_NEAR(v.at("exchange-over-balanced-Zipf-top1"), 64 * zipf_shares(64, 1).front(), 0.15);
  EXPECT_GT(v.at("exchange-over-balanced-uniform-top1"), 1);
  EXPECT_LT(v.at("exchange-over-balanced-uniform-top1"), 1.3);
  EXPECT_NEAR(v.at("load-variation-uniform-top1"), 1 / std::sqrt(256.0), 0.01);
  const Values half = values_of("expert-routing", {"hidden=2048", "draws=101", "tokens per expert=8"});
  EXPECT_NEAR(half.at("dispatch-Zipf-top1"), v.at("dispatch-Zipf-top1") / 2, 1e-12);
  EXPECT_EQ(half.at("favoured-over-mean"), 21);
}

// Dispatch and combine pass the busiest NIC once each; a hot rank is never idle, so its rounds take no longer.
TEST(ExpertParameters, RoundsOfPairsTakeWhatTheBusiestNicTakesAtLeast) {
  const Values v = values_of("expert-routing", {"draws=101", "tokens per expert=8"});
  for (const char* law : {"uniform", "Zipf", "Pareto"})
    for (const int k : {1, 2}) {
      const std::string suffix = fmt::format("-{}-top{}", law, k);
      EXPECT_GE(v.at("rounds-of-pairs" + suffix), 2 * v.at("dispatch" + suffix) * (1 - 1e-12)) << suffix;
      EXPECT_NEAR(v.at("rounds-over-busiest-nic" + suffix) * 2 * v.at("dispatch" + suffix),
                  v.at("rounds-of-pairs" + suffix), 1e-12);
    }
  EXPECT_LT(v.at("rounds-over-busiest-nic-Zipf-top1"), 1.01);
  EXPECT_GT(v.at("rounds-over-busiest-nic-uniform-top1"), 1.3);
  // Each of 64 x 64 pairs has 4 tokens of 8192 bytes on average.
  EXPECT_NEAR(v.at("mean-per-pair-uniform-top1"), 4 * 8192, 200);
}

// A ring's all-gather and reduce-scatter of n bytes take (k - 1) n / k, its all-reduce twice that.
TEST(TensorParameters, SplitsFollowTheirCollectives) {
  const Values v = values_of("tensor-parallel");
  const double one = 7.0 / 8 * 2.0 * 2048 * 12288 / 300e9;
  EXPECT_NEAR(v.at("block-by columns, gathered"), 3 * 5 * one, 1e-9);
  EXPECT_NEAR(v.at("block-by rows"), 3 * 5 * one, 1e-9);
  EXPECT_NEAR(v.at("block-columns, then rows"), 4 * one, 1e-9);
  EXPECT_NEAR(v.at("block-the same, scattered between"), 4 * one, 1e-9);
  EXPECT_EQ(v.at("numeric-difference-columns"), 0);
  EXPECT_GT(v.at("numeric-difference-rows"), 0);
  EXPECT_LT(v.at("numeric-difference-rows"), 1e-5);
  const double alone = 6 * 12.0 * 12288 * 12288 * 2048 * 96 / 312e12 / 0.45;
  EXPECT_NEAR(v.at("speedup-k8"), alone / (alone / 8 + 4 * 96 * 2 * one), 1e-6);
}

TEST(HierarchyParameters, RailsAndGroupsFollowTheFormula) {
  const Values v = values_of("hierarchical-allreduce");
  const auto levels = [](int g, double per_device) {
    const int nodes = 256 / g;
    return 2 * (g - 1) * (1e-6 + 700e6 / g / 600e9) + 2 * (nodes - 1) * (10e-6 + 700e6 / 256 / per_device);
  };
  const auto flat = [](int rails) { return 2 * 255 * (10e-6 + 700e6 / 256 / (25e9 * rails)); };
  for (const int r : {1, 2, 4, 8}) {
    EXPECT_NEAR(v.at(fmt::format("two-levels-rails{}", r)), levels(8, 25e9 * r / 8), 1e-7);
    EXPECT_NEAR(v.at(fmt::format("flat-ring-rails{}", r)), flat(r), 1e-7);
  }
  for (const int g : {2, 4, 8, 16, 32, 64}) {
    EXPECT_NEAR(v.at(fmt::format("gain-g{}", g)), flat(1) / levels(g, 25e9 / g), 1e-5);
    EXPECT_NEAR(v.at(fmt::format("gain-g{}-rail-per-device", g)), flat(g) / levels(g, 25e9), 1e-5);
  }
  // A flat tree on one rail: in order one device of a node crosses, with ranks dealt eight do.
  const auto tree = [](double bytes, int sharing) {
    return 2 * 3 * (1e-6 + bytes / 600e9) + 2 * 5 * (10e-6 + sharing * bytes / 25e9);
  };
  for (const auto& [name, bytes] : {std::pair{"1kB", 1e3}, {"1MB", 1e6}, {"1GB", 1e9}}) {
    EXPECT_NEAR(v.at(fmt::format("tree-{}", name)), tree(bytes, 1), 1e-9);
    EXPECT_NEAR(v.at(fmt::format("tree-dealt-{}", name)), tree(bytes, 8), 1e-9);
  }
  // Two levels: 634 us and 8.04e-11 s per byte.
  const double fixed = 2 * 7 * 1e-6 + 2 * 31 * 10e-6;
  const double per_byte = 2 * 7 / 8.0 / 600e9 + 2 * 31 / 256.0 / 25e9 * 8;
  for (const auto& [name, sharing] : {std::pair{"a-tree", 1}, {"a-dealt-tree", 8}}) {
    const double at = (fixed - tree(0, sharing)) / (tree(1, sharing) - tree(0, sharing) - per_byte);
    EXPECT_NEAR(v.at(fmt::format("size-from-which-two-levels-beat-{}", name)), at, at / 1000) << name;
  }
  // Per node: 8 x 2 d 255 / 256 over 2 d 31 / 32, and once 2 d 255 / 256.
  EXPECT_NEAR(v.at("traffic-over-two-levels"), 8 * 255.0 / 256 / (31.0 / 32), 1e-5);
  EXPECT_NEAR(v.at("traffic-over-two-levels-in-node-order"), 255.0 / 256 / (31.0 / 32), 1e-5);
}

// The ring takes 2 (N - 1) (alpha + d / N beta), whatever else the step is made of.
TEST(DataParallelParameters, StepsAreTheirParts) {
  const Values v =
      values_of("data-parallel-step", {"fewer workers=[1, 2]", "accumulated micro-batches=[1, 8]"});
  const auto ring = [](int n, double slower) { return 2 * (n - 1) * (10e-6 + 700e6 / n / 25e9 * slower); };
  EXPECT_EQ(v.at("efficiency-n1"), 1);
  EXPECT_NEAR(v.at("efficiency-n2"), 0.125 / (0.125 + ring(2, 1)), 1e-6);
  EXPECT_NEAR(v.at("efficiency-fixed-batch-n8"), 4.0 / (4.0 + ring(8, 1)), 1e-6);  // 125 ms x 256 / 8
  EXPECT_NEAR(v.at("efficiency-accumulated-8"), 1.0 / (1.0 + ring(256, 1)), 1e-6);
  EXPECT_NEAR(v.at("step-with-software"), 1.15 * 0.125 + 1.1 * ring(256, 1), 1e-7);
  EXPECT_NEAR(v.at("step-with-contention-5"), 0.125 + ring(256, 5), 1e-7);
  // chapter-part3, C.2: the slowest of 256 at a coefficient of 0.1 takes 1.32 means.
  EXPECT_NEAR(v.at("step-with-stragglers"), 1.32 * 0.125 + ring(256, 1), 3e-4);
  EXPECT_GT(v.at("step-p95-n256"), v.at("step-p50-n256"));
  EXPECT_EQ(v.at("idle-of-the-slowest"), 0);
  EXPECT_EQ(v.at("gradients-that-fit"), 20e9);
  EXPECT_NEAR(v.at("inside-a-node"), 14 * (1e-6 + 700e6 / 8 / 600e9), 1e-9);
}

}  // namespace
}  // namespace cox::study
