// SPDX-License-Identifier: Apache-2.0
/// \file
/// What each way came to: attempts by seed, and what they say of the ways.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/power.hpp"
#include "cox/base/resample.hpp"
#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/learn/compare.hpp"
#include "cox/learn/learner.hpp"
#include "cox/model/scenario.hpp"
#include "cox/sync/ages.hpp"

#include "learn/drive/server_load.hpp"
#include "learn/stability/bound_follower.hpp"
#include "learn/stability/graph_mixing.hpp"

namespace cox::learn {

/// A server with a shard, in one run.
struct ServerResult {
  ServerLoad load{};
  sync::AgeCounts ages{};  ///< of applied pieces
};

/// A server that died in a run.
struct ServerDeath {
  int server = 0;
  Seconds at{};
  std::int64_t version = 0;               ///< of its shard
  std::optional<Seconds> served_again{};  ///< when its standby did
  std::int64_t lost = 0;                  ///< updates that the standby did not have
};

/// One way with one rate and one seed.
struct Attempt {
  std::uint64_t seed = 0;
  int workers =
      0;  ///< that deliver: replicas, or groups of them that share experts (where there are servers) or a set of shards
  double rate = 0;
  bool reached = false;
  bool lost = false;  ///< a number was none, or the loss is a million times the first
  /// The following until the target, or until it ended without.
  Seconds time{};
  std::int64_t versions = 0;
  std::int64_t samples = 0;     ///< whose gradients were applied
  std::int64_t wasted = 0;      ///< whose work was thrown away
  std::optional<Bytes> sent{};  ///< through the port of one worker, both directions; not known with servers
  std::vector<sync::AgeCounts> ages{};  ///< of applied updates, by worker
  int busiest = 0;                      ///< worker whose updates were applied most often
  double busiest_share = 0;             ///< of all that were applied
  double first_loss = 0;
  double loss = 0;
  double accuracy = 0;
  std::optional<ExpertLoads> experts{};  ///< at the end, where the problem has some
  std::optional<Divergence> diverged{};
  std::optional<ScaledSteps> scaled{};  ///< where the way has a loss scale

  std::optional<BoundFollower> bound{};  ///< where the way's bound follows the curvature
  std::vector<ServerResult> servers{};   ///< where each has a shard
  std::optional<ServerDeath> death{};
  std::int64_t copies = 0;     ///< steps that another began again (speculative); counted among the wasted
  std::int64_t exchanges = 0;  ///< of two workers (gossip in pairs)
  int left = 0, joined = 0;    ///< workers

  [[nodiscard]] sync::AgeCounts all_ages() const;
};

/// What the time to the target takes; nothing of what the scenario does not tell.
struct Expense {
  std::optional<double> node_hours{};
  std::optional<Energy> energy{};
  std::optional<double> cost{};  ///< in the scenario's currency
  std::optional<Flops> flops{};  ///< of the scenario's job, computed and thrown away ones too
};

/// A way and all its attempts with the rate that was best for it.
struct WayResult {
  Way way{};
  double rate_factor = 1;
  bool at_edge = false;  ///< of the rates that were tried: a better one may lie beyond
  std::vector<Attempt> attempts{};
  std::string refused{};  ///< why the scenario cannot run it; empty = it did

  [[nodiscard]] std::int64_t reached() const;
  [[nodiscard]] bool all_reached() const;
  /// Where all reached it. Geometric means over seeds.
  Seconds time{};
  Interval time_s{};  ///< of the mean, 95 %, Student's t over seeds on logarithms
  double samples = 0;
  double sent_bytes = 0;  ///< mean; 0 = not known
  double mean_age = 0;
  sync::AgeCounts ages{};  ///< of all attempts together
  std::optional<Expense> expense{};
  std::optional<double>
      elastic_edge{};  ///< rate times curvature, of elastic averaging in rounds of one step by sgd or momentum
  std::optional<GraphMixing> mixing{};  ///< of gossip, where there are not too many workers for it
  int busiest = 0;                      ///< of the attempt in which one worker's share was the largest
  double busiest_share = 0;
  /// Against the first way, seed by seed, where both reached it: time, 95 % of it, and what it is the product of.
  double time_ratio = 0;
  Interval time_ratio_95{};
  double samples_ratio = 0;      ///< samples computed (thrown away ones too) to the target
  double sample_time_ratio = 0;  ///< time per sample computed
  /// Time over that of the fastest, paired by seed, 95 %; zeros for the fastest, and where it did not reach the target.
  Interval over_first_95{};
};

struct Comparison {
  int workers = 0;              ///< replicas of the model
  Bytes gradients{};            ///< of one replica of the scenario's job
  std::int64_t parameters = 0;  ///< of the problem
  double first_loss = 0;
  double target = 0;
  double score_every = 0;  ///< relative distance of two scores: times are that much too long at most
  std::vector<WayResult>
      ways;  ///< the fastest first; then those that did not reach it on every seed, and refused ones
  std::size_t baseline = 0;  ///< where the first way of the question is
  /// `over_first_95` of the second; zeros where there is no second that reached it.
  Interval second_over_first{};
};

/// Runs every way at every rate. The same seeds for all ways: draws of samples are common, so ratios are paired.
/// Errors: learn-002 (the scenario has no training job, a problem for other workers, a number out of range, more memory than
/// there should be, a way that this problem rules out), those of simulate; of the first way. Deterministic for any number of threads. Cost: ways x (rates x tuning seeds + seeds) runs.
/// Held by: src/learn/answer/compare_test.cpp
[[nodiscard]] Result<Comparison> compare(const model::Scenario& scenario, const WaysQuestion& question);

/// The screen, line by line.
[[nodiscard]] std::vector<TextLine> text_lines(const Comparison& answer, const model::Scenario& scenario,
                                               const WaysQuestion& question);
/// `cox.learn/1`: docs/reference/learn-json.md.
[[nodiscard]] std::string to_json(const Comparison& answer, const model::Scenario& scenario,
                                  const WaysQuestion& question, const std::vector<std::string>& inputs);

}  // namespace cox::learn
