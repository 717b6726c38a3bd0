// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who made whom wait, across nested groups: every wait charged to the rank whose own work caused it.
///
/// Use when: waits are known and the question is what they are owed to. Who is *named* is another
/// question (docs/concepts/naming.md): a charge is an account, not a verdict.
/// docs/concepts/delay-cost.md has the rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/diagnose/coverage.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// Above this, durations do not say who was late (docs/concepts/wait-and-transfer.md).
inline constexpr double kWorstValidity = 0.5;

/// One rank's account of delay costs. All spans are sums over the Run, of the ranks that waited.
struct RankCharge {
  Rank rank;
  Duration waited{};         ///< it stood still for others
  Duration short_term{};     ///< its own excess work made others wait at the very next synchronisation
  Duration long_term{};      ///< and made those late who waited for it, who then made others wait
  Duration communication{};  ///< others waited because it was held up in transfers or rooted operations
  Duration self_delay{};     ///< sum over synchronisations of (own work - median of its role), positive part
  std::vector<Duration> by_activity;  ///< short_term + long_term, by `Attribution::activities`

  [[nodiscard]] Duration cost() const;  ///< short_term + long_term, within the range of Duration
};

/// What one rank cost another.
struct PairCharge {
  Rank culprit;
  Rank waiting;
  Duration direct{};  ///< of the waits of `waiting`, the part that `culprit`'s own work caused
  Duration passed{};  ///< waits of third ranks that came about by way of `waiting`
};

/// Delays of one kind of activity, and what became of them.
struct ActivityCost {
  std::string name;          ///< `forward`, `kernel`, `data_load`, ..., `work` where nothing tells them apart
  Duration self_delay{};     ///< injected: sum over ranks of the positive part of (own - median of the role)
  Duration charged{};        ///< waits that it caused
  double amplification = 0;  ///< charged over injected; 0 where nothing was injected
};

/// Why nothing is charged.
enum class ChargeRefusal : std::uint8_t {
  EndsApart,  ///< clocks differ and members do not leave together
  TooMany     ///< more operations than can be numbered
};

/// What could not be used, and why.
struct ChargeNote {
  enum class Kind : std::uint8_t {
    UnnamedPeers,    ///< waits for a peer that the input does not name
    PeersUnclocked,  ///< waits for single peers without a common clock
    Incomplete,      ///< operations of which it is not known who came last
    Contradictory,   ///< operations in another order on some of the members
    Tangled,         ///< some waits were not followed to their cause
    TooMany          ///< more operations than can be numbered
  };
  Kind kind = Kind::UnnamedPeers;
  std::int64_t operations = 0;  ///< Incomplete, Contradictory
};

/// The whole account. `waited` = `charged` + `communication` + `carried_in` + `unknown`, to the picosecond.
struct Attribution {
  std::optional<ChargeRefusal> refused;
  WaitMethod method = WaitMethod::Clock;
  double validity_ratio = 0;  ///< method `duration`: see ClockView; above 0.5 the answer is refused
  Duration waited{};          ///< by all ranks. Sums stop at the range of Duration (106 days)
  Duration charged{};         ///< to the own work of ranks
  Duration communication{};   ///< to transfers and rooted operations that held a rank up
  Duration carried_in{};      ///< to what lies before the first synchronisation that two ranks share
  Duration unknown{};         ///< to nothing in the input
  bool balanced = false;      ///< the sum above was checked, in integers without limit
  Duration self_delay{};      ///< sum over ranks
  double amplification = 0;   ///< waited over self_delay; 0 where there is none
  std::vector<std::string> activities;    ///< of `RankCharge::by_activity`
  std::vector<RankCharge> ranks;          ///< as the Run's
  std::vector<PairCharge> pairs;          ///< costliest first
  bool pairs_complete = false;            ///< all pairs with a charge are in `pairs`
  std::vector<ActivityCost> by_activity;  ///< costliest first
  std::int64_t synchronisations = 0;      ///< operations that waits were taken from
  std::vector<ChargeNote> notes;
};

/// Charges every wait of a Run.
///
/// Source: Böhme et al. 2010
/// (delay costs in Scalasca), generalised to waits of any group and to measured durations alone. Errors:
/// diagnose-001 (no rank in it); a Run without synchronisation has no waits. Threads: one; the answer does
/// not depend on it. Cost: linear in (calls x groups per rank). Held by:
/// src/diagnose/charge/attribution_test.cpp, tests/property/attribution_laws.cpp
[[nodiscard]] Result<Attribution> attribute_waits(const Matched& matched);

}  // namespace cox::diagnose
