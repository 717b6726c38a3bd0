// SPDX-License-Identifier: Apache-2.0
/// \file
/// A Run out of a simulated job of collectives: step marks, arrivals and departures of every rank.
#pragma once

#include <span>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/pace/decision.hpp"
#include "cox/pace/settings.hpp"
#include "cox/trace/run.hpp"

namespace cox::simulate {

/// A Run of `ranks` ranks on the scenario's nodes without any event; provenance Simulated.
[[nodiscard]] trace::Run empty_run(const model::Scenario& scenario, int ranks);

/// The same with rank r on `devices[r]`, where ranks do not fill the nodes in their order.
void put_on(trace::Run& run, const model::Cluster& cluster, std::span<const int> devices);

/// What a Pace record says beside its times.
struct PaceRecord {
  pace::Decision decision;
  pace::Mode mode = pace::Mode::Off;
  double gain = 0;  ///< estimated, ratio
};

/// A decision for step `step` as a guest records it, with the delay as it was served; of communicator 0.
[[nodiscard]] trace::Event pace_event(std::int64_t step, Seconds begin, Seconds end, const PaceRecord& what);

/// Collects one replica, step by step. Memory: 100 bytes per rank and step.
class StepRecorder {
 public:
  /// Most records of a Run that is made: about 2 GB with what is made of them.
  static constexpr double kMostRecords = 2e7;
  /// How many there will be: a mark and a collective per rank and step.
  [[nodiscard]] static double records(const model::Scenario& s, const model::CollectiveSpec& spec) {
    return 2.0 * s.job.steps * spec.ranks;
  }

  StepRecorder(const model::Scenario& scenario, const model::CollectiveSpec& spec);
  void begin_step(std::int64_t step, std::span<const Seconds> now);
  /// A decision of a rank's controller, with the delay as it was served. Call it in the order of begins.
  void pace(std::size_t rank, std::int64_t step, Seconds begin, Seconds end, const PaceRecord& what);
  void arrive(std::span<const Seconds> now);
  void depart(std::span<const Seconds> now);
  [[nodiscard]] trace::Run finish() &&;
  void put_on(const model::Cluster& cluster, std::span<const int> devices) {
    simulate::put_on(run_, cluster, devices);
  }

 private:
  model::CollectiveSpec spec_;
  trace::Run run_;
  std::vector<Seconds> arrived_;
  std::uint32_t number_ = 0;
};

}  // namespace cox::simulate
