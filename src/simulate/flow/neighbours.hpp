// SPDX-License-Identifier: Apache-2.0
/// \file
/// Jobs of collectives, and other jobs' traffic, on one network with a clock.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/outcome.hpp"

#include "simulate/flow/engine.hpp"
#include "simulate/flow/gradient_steps.hpp"

namespace cox::simulate {

/// One step of a job of collectives, of each participant.
struct CollectiveStep {
  std::int64_t number = 0;
  std::vector<Seconds> begins;
  std::vector<Seconds> arrivals;
  std::vector<Seconds> departures;
};

/// A job of collectives on a network that others use, too: each rank computes, joins the next collective, and goes on
/// when it has left. Whoever drives the engine hands it the departures of its courses.
/// Held by: src/simulate/flow/neighbours_test.cpp
class CollectiveCourses {
 public:
  struct Work {
    const model::Schedule* schedule = nullptr;  ///< outlives it
    std::vector<int> rank_of;                   ///< device of each participant
    std::function<Seconds(std::int64_t step, int rank, Seconds begin)> compute;
    Seconds after{};          ///< what each rank does when it has left: its departure is behind it
    std::int64_t steps = 0;   ///< 0 = for ever
    bool neighbours = false;  ///< as in FlowCollective
    std::function<void(const CollectiveStep&)> on_step{};  ///< when all have left it, in the order of steps
  };
  /// Called with the number of each course that is begun.
  using Owns = std::function<void(FlowCourseId)>;

  CollectiveCourses(FlowEngine& engine, Work work, Owns owns);
  void start(Seconds at);
  void take(const FlowDeparture& departure);
  [[nodiscard]] std::int64_t done() const { return done_; }
  [[nodiscard]] Seconds last_end() const { return last_end_; }

 private:
  struct Open {
    CollectiveStep step;
    std::size_t left = 0;
  };
  void go_on(std::int64_t step, int rank, Seconds now);
  FlowEngine& engine_;
  Work work_;
  Owns owns_;
  std::shared_ptr<FlowPorts> ports_ = std::make_shared<FlowPorts>();
  std::map<FlowCourseId, Open> open_;
  std::map<std::int64_t, FlowCourseId> course_of_;  ///< steps that somebody is in
  std::int64_t done_ = 0;
  Seconds last_end_{};
};

/// The neighbours of a scenario: begun with it, and going on for as long as somebody drives the engine.
/// Held by: src/simulate/flow/neighbours_test.cpp
class NeighbourJobs {
 public:
  /// Errors: simulate-003 (a neighbour that no schedule or node fits).
  [[nodiscard]] static Status check(const model::Scenario& scenario);
  /// What the options of the engine need for them.
  [[nodiscard]] static std::vector<Bandwidth> limits(const model::Scenario& scenario);
  /// The scenario has been checked; `engine` outlives it.
  NeighbourJobs(const model::Scenario& scenario, FlowEngine& engine);
  /// Whether it was a neighbour's, who then goes on.
  bool take(const FlowDeparture& departure);
  [[nodiscard]] std::vector<NeighbourOutcome> outcome() const;

 private:
  struct Flow {  ///< from one node to another
    int neighbour = 0;
    std::vector<int> devices;
    std::int64_t bursts = 0;
    Seconds begun{};
    Seconds taken{};  ///< by all bursts
  };
  void begin_job(const model::Scenario& scenario, int neighbour);
  void begin_steps(const model::Scenario& scenario, int neighbour);
  void burst(std::size_t flow, Seconds at);
  void own(FlowCourseId course, std::int32_t who);

  const std::vector<model::Neighbour>& all_;
  FlowEngine& engine_;
  std::deque<model::Schedule> schedules_;  ///< [neighbour]
  std::deque<model::Schedule> last_buckets_;
  std::vector<std::unique_ptr<CollectiveCourses>> jobs_;  ///< [neighbour]; null = of another kind
  std::vector<std::unique_ptr<GradientSteps>> steps_;     ///< the same
  std::vector<Flow> flows_;
  std::vector<std::int32_t>
      owners_;  ///< [course]: 0 = nobody here, n + 1 = neighbour n's job, - f - 1 = flow f
};

/// A step or burst of each neighbour with nobody else on the network.
[[nodiscard]] std::vector<Seconds> alone_of(const model::Scenario& scenario, const Network& network);

/// Of those that start when the job is over: one sentence each.
[[nodiscard]] std::vector<std::string> too_late(const model::Scenario& scenario, Seconds total);

/// What happened to the neighbours, with what they do alone.
[[nodiscard]] std::vector<NeighbourOutcome> outcome_of(const NeighbourJobs& neighbours,
                                                       const model::Scenario& scenario,
                                                       const Network& network);

}  // namespace cox::simulate
