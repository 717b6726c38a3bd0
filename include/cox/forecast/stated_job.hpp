// SPDX-License-Identifier: Apache-2.0
/// \file
/// A job that is stated by the terms of its step: what each of them adds at any size, and what stops it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/forecast/regimes.hpp"
#include "cox/forecast/scaling_job.hpp"

namespace cox::forecast {

/// What a term is time of, beside work.
enum class TermOf : std::uint8_t { Communication, Waiting };

/// Something that can be done about a part of the job, alone.
struct StatedLever {
  std::string name{};  ///< `full-bisection`; empty = there is none
  std::string does{};
};

struct StatedTerm {
  StepTerm term{};
  TermOf of = TermOf::Waiting;
  StatedLever lever{};  ///< takes all of the term away

  /// At so many nodes; between whole numbers of them on a line. Pre: nodes >= 1.
  [[nodiscard]] Seconds at_nodes(double nodes) const;
};

/// Failures of the same job with something done about them.
struct StatedControl {
  std::string what{};   ///< `restart for each node 10 ms instead of 300 ms`
  std::string lever{};  ///< what it is called among levers
  FailureTerm failures{};
};

/// Sizes of its terms are nodes.
struct StatedJob {
  std::string name{};
  Seconds work{};  ///< of a node in a step that never waits
  std::vector<StatedTerm> terms{};
  std::optional<FailureTerm> failures{};  ///< per node: its `ranks_per_node` is 1
  std::optional<StatedControl> control{};
  /// What a rank's work has beside `work`, afresh in each step: exponential of this mean. Terms of waiting are of it, and of nothing else.
  /// Zero = the terms say no law: the step has no quantiles, no levers and no Scenario.
  Seconds jitter{};
  int ranks_per_node = 1;
  std::int64_t from = 1;  ///< nodes; what throughput is compared with
  std::int64_t to = 65'536;
  std::string system{};   ///< system class, for a page
  std::string mode{};     ///< operational mode
  std::string runtime{};  ///< runtime profile

  [[nodiscard]] std::vector<StepTerm> step_terms() const;
  /// Its throughput at so many nodes.
  [[nodiscard]] ScalingJob job() const;
  [[nodiscard]] ScalingJob job_with_control() const;  ///< Pre: control (asserted)
  [[nodiscard]] RegimeRange range() const { return {.from = from, .to = to}; }
};

}  // namespace cox::forecast
