// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a sample says of a job's structure: who sets the pace, how the step follows each, where a delay goes.
/// Definitions, formulas and estimators: docs/concepts/structure.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cox/base/units.hpp"

namespace cox::forecast {

/// A share of counted things, with its interval of 90 %.
struct Proportion {
  double value = 0;
  double low = 0;
  double high = 1;
};
/// A rank, a node or a role, at the synchronisations of a sample.
struct UnitPace {
  std::int32_t unit = 0;
  /// Share of synchronisations that its ranks are last at; who is last together has equal parts. Trials of the interval
  /// are those that count as independent: n (1 - r) / (1 + r), r the correlation of being last with the step before.
  Proportion critical{};
  double elasticity = 0;  ///< d ln step / d ln (own work of its ranks): own work while last, over time
  /// the same by what a little less work would save (nothing where another is last too)
  double if_faster = 0;
  double if_slower = 0;  ///< by what a little more would cost
};

/// How evenly the pace is set.
struct Concentration {
  double entropy = 0;     ///< -sum p ln p + (seen - 1) / 2n, nats. Source: Miller 1955
  double plug_in = 0;     ///< without the correction
  double normalised = 0;  ///< entropy over ln units, at most 1; 0 for one unit
  double effective = 0;   ///< e^entropy, at most the units
  /// of the normalised one: ln n / ln units where there are fewer synchronisations than units
  double at_most = 1;
  Proportion moves{};        ///< share of steps whose last rank is another than at this place a step ago
  double moves_if_free = 0;  ///< 1 - sum p^2: were steps independent
};

/// Whether who is last depends on something.
struct Dependence {
  std::string on{};   ///< `who was last before`, `how long the step is`, `which half of the run`
  double chance = 1;  ///< of as strong a dependence where there is none
  double excess = 0;  ///< share of steps that go beyond what chance has on average

  /// Less likely by chance than 5 %: what is told.
  [[nodiscard]] bool beyond_chance() const { return chance < 0.05; }
};

/// How the step follows a part of it.
struct PartElasticity {
  std::string to{};    ///< `work at allreduce 2 of 4`, `communication that nothing hides`
  Proportion value{};  ///< d ln step / d ln (that part of all ranks); the parts add up to 1
};

/// How much of a delay that hits one rank once is kept, at the sample's own size.
struct KeptPart {
  Seconds delay{};
  Proportion kept{};    ///< D_0 / d = E[(d - slack)^+] / d, over ranks, steps and synchronisations
  double one_low = 0;   ///< of single delays nine in ten keep this part,
  double one_high = 1;  ///< up to this
};

struct Structure {
  std::int64_t synchronisations = 0;  ///< steps times positions
  std::vector<UnitPace> ranks{};      ///< by unit, ascending
  std::vector<UnitPace> nodes{};      ///< empty where nodes are not known
  std::vector<UnitPace> roles{};      ///< empty where there is one
  Concentration who{};                ///< over ranks
  std::vector<Dependence> depends{};
  std::vector<PartElasticity> parts{};
  /// Groups are roles where there are several, else nodes: [g][h] = share of synchronisations at which the critical path
  /// goes through g, having come from h. Adds up to 1. Empty where there is one group.
  std::vector<std::vector<double>> entered{};
  std::vector<std::int32_t> groups{};  ///< units of `entered`
  bool groups_are_roles = false;
  double amplification = 0;      ///< mean step over the mean of one rank's own work + communication
  std::vector<KeptPart> kept{};  ///< for 1, 3, 5 and 10 standard deviations of one rank's work
};

}  // namespace cox::forecast
