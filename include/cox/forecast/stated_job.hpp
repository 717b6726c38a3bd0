// SPDX-License-Identifier: Apache-2.0
/// \file
/// A job that is stated by the terms of its step: what each of them adds at any size, and what stops it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/forecast/control.hpp"
#include "cox/forecast/regimes.hpp"
#include "cox/forecast/scaling_job.hpp"

namespace cox::forecast {

/// What a term is time of, beside work.
enum class TermOf : std::uint8_t { Communication, Waiting };

struct StatedTerm {
  StepTerm term{};
  TermOf of = TermOf::Waiting;
};

/// Failures of the same job with something done about them.
struct StatedControl {
  std::string what{};  ///< `restart for each node 10 ms instead of 300 ms`
  FailureTerm failures{};
};

/// Sizes of its terms are nodes.
struct StatedJob {
  std::string name{};
  Seconds work{};  ///< of a node in a step that never waits
  std::vector<StatedTerm> terms{};
  std::optional<FailureTerm> failures{};  ///< per node: its `ranks_per_node` is 1
  std::optional<StatedControl> control{};
  int ranks_per_node = 1;
  std::int64_t from = 1;  ///< nodes; what throughput is compared with
  std::int64_t to = 65'536;
  std::string system{};   ///< system class, for a page
  std::string mode{};     ///< operational mode
  std::string runtime{};  ///< runtime profile

  /// Its throughput at so many nodes.
  [[nodiscard]] ScalingJob job() const;
  [[nodiscard]] ScalingJob job_with_control() const;  ///< Pre: control (asserted)
  [[nodiscard]] RegimeRange range() const { return {.from = from, .to = to}; }
};

/// What control makes of a stated job, in ranks.
struct ControlledJob {
  std::string what{};
  Regimes regimes{};
  std::vector<ControlledSize> sizes{};  ///< those asked that have a number
  double most = 1;  ///< throughput where it is highest, over that of the job as it is, there
};

}  // namespace cox::forecast
