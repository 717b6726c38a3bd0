// SPDX-License-Identifier: Apache-2.0
/// \file
/// What fails when, how long a start of the job takes, and which nodes stand by.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

namespace cox::simulate::training {

/// One failure.
struct Failure {
  Seconds at{};
  int of_class = -1;  ///< of the scenario; -1: a node, or the job
  int nodes = 0;      ///< that it takes down
  Seconds restart{};
  Seconds repair{};
};

/// When which node fails next, or the job, or one of a class. A node that failed is replaced by a new one. The
/// components of a class fail together as often as all of them alone, and which one it was is drawn.
/// Held by: src/simulate/training/failures/failure_classes_test.cpp (rates add up; members of a switch)
class Causes {
 public:
  Causes(const model::Scenario& scenario, std::uint64_t seed);
  /// Infinite where nothing fails.
  [[nodiscard]] Seconds next() const;
  /// The failure that is next, which is over then.
  Failure take();

 private:
  /// Components of a class, and the nodes that one takes down.
  struct Components {
    std::int64_t count = 0;
    std::vector<int> nodes;  ///< of component i: number i modulo their length
  };
  [[nodiscard]] static Components components(const model::Scenario& s, model::FailureUnit per);
  [[nodiscard]] Seconds draw(int who);

  const model::Failures& f_;
  RandomStream random_;
  RandomStream which_;
  Seconds scale_{};  ///< of the law of nodes
  int nodes_;
  std::vector<Components> components_;
  std::vector<std::uint64_t> counts_;  ///< failures of each: nodes, the job, classes
  using Next = std::pair<Seconds, int>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next_;
};

/// The largest of `n` draws of a generalised Pareto law, by one uniform number u: F(x)^n = u. Formula: x = scale
/// ((1 - q)^-shape - 1) / shape, q = u^(1 / n); -scale ln(1 - q) for shape 0.
[[nodiscard]] Seconds slowest_of(int n, double u, Seconds scale, double shape);

/// How long starts take. Formula: fixed + communicators (per_rank N + per_pair N^2) + max(nodes read / storage,
/// slowest node), N ranks. Source: docs/concepts/failures.md.
/// Held by: src/simulate/training/failures/failure_classes_test.cpp
class Starts {
 public:
  Starts(const model::Scenario& scenario, std::uint64_t seed);
  /// Of the next one.
  [[nodiscard]] Seconds next();

 private:
  const model::Startup& start_;
  int nodes_;
  RandomStream random_;
  Seconds control_{};
  Seconds read_{};
  std::uint64_t count_ = 0;
};

/// Nodes that are down, and when they stand by again.
class Spares {
 public:
  explicit Spares(int standing_by) : standing_by_(standing_by) {}
  void lose(int nodes, Seconds until) {
    if (nodes > 0) down_.emplace(until, nodes);
    if (nodes > 0) lost_ += nodes;
  }
  /// From when on, not before `at`, the job has all the nodes that it needs, if nothing else fails.
  [[nodiscard]] Seconds enough_from(Seconds at);

 private:
  using Down = std::pair<Seconds, int>;
  std::priority_queue<Down, std::vector<Down>, std::greater<>> down_;
  std::int64_t lost_ = 0;
  int standing_by_;
};

}  // namespace cox::simulate::training
