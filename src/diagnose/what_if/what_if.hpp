// SPDX-License-Identifier: Apache-2.0
/// \file
/// What would have been gained without somebody's extra work, or with a better fabric: the recorded
/// synchronisations replayed with other durations (docs/concepts/what-if.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// One question's answer beside the replay of what was recorded.
struct Estimate {
  Duration time{};           ///< that the same steps would have taken
  double speedup_ratio = 1;  ///< replay of the recorded / `time`: 1.018 = 1.8 % faster
  double speedup_low = 1;    ///< of a 95 % interval from step-to-step variation; equal to the ratio where
  double speedup_high = 1;   ///< there are fewer than 8 steps, so nothing to tell it from
  bool has_interval = false;
};

/// One rank fixed, and one rank left as it is while all others are ideal.
struct RankWhatIf {
  Rank rank;
  Duration self_delay{};      ///< sum of its own work beyond the median of its peers, where positive
  Duration charged{};         ///< time by which it was the last to come, as far as that is its self-delay
  bool evaluated = false;     ///< the rest is known; else screened out, see `WhatIf::screened`
  Estimate fixed;             ///< removal: its own work replaced by the median of its peers'
  double removal_share = 0;   ///< saved / (recorded - ideal), within 0 and 1; less than 1e-3 to share out: 0
  double loss_ratio = 0;      ///< add-back: time with only this rank as recorded / ideal time - 1
  double add_back_share = 0;  ///< (that time - ideal) / (recorded - ideal)
};

/// Several ranks fixed at once. Gains do not add up, so sets are searched, not sums.
struct SetWhatIf {
  std::vector<Rank> ranks;  ///< greedy: in the order in which they were added; else ascending
  Estimate fixed;
  double removal_share = 0;
  double added_ratio = 0;     ///< greedy: saved by the last one added, of the recorded time
  bool beyond_noise = false;  ///< greedy: the 95 % interval of what was added lies above zero
};

/// Transfer of one communicator.
struct CommWhatIf {
  std::optional<CommId> comm;  ///< none: waits that name no communicator
  std::string name;
  std::int64_t operations = 0;
  Duration transfer{};      ///< sum over operations of (first exit - last entry)
  double path_share = 0;    ///< of the critical path
  bool evaluated = false;   ///< the rest is known
  Estimate lower_quartile;  ///< none slower than the lower quartile of its like (kind and size)
  Estimate zero;            ///< no transfer at all
};

/// How the critical path is divided. All shares, those of the communicators too, add up to 1.
struct PathShares {
  std::vector<double> work;  ///< per rank of the Run: own work
  /// Per rank: inside operations that hold nobody else, and leaving later than others.
  std::vector<double> held;
  double carried_in = 0;  ///< before the first synchronisation
};

enum class Fidelity : std::uint8_t { Good, Doubtful, Refused };
[[nodiscard]] const char* name_of(Fidelity f);  ///< `good`, `doubtful`, `refused`

struct WhatIf {
  /// Good: replay is within 2 % of what was measured; Doubtful: within 10 %; Refused: further off, or there
  /// is nothing to replay. Then everything below `why` but the times is empty.
  Fidelity fidelity = Fidelity::Refused;
  std::string why;            ///< in a few words, where it is not Good
  Duration measured{};        ///< from the first to the last synchronisation replayed
  Duration simulated{};       ///< the same, replayed
  double fidelity_ratio = 0;  ///< simulated / measured - 1
  Duration ideal{};           ///< every rank's work replaced by the median of its peers
  double slowdown_ratio = 1;  ///< S = simulated / ideal
  double slowdown_low = 1;    ///< 95 % interval
  double slowdown_high = 1;
  std::int64_t operations = 0;  ///< replayed
  std::int64_t cells = 0;       ///< replayed stretches of own work
  std::int64_t blocks = 0;      ///< steps (or stretches of operations) that intervals are made from
  std::int64_t compared = 0;    ///< cells that have a peer to be compared with
  std::int64_t scenarios = 0;   ///< evaluated

  std::vector<RankWhatIf> ranks;      ///< as in the Run
  std::vector<SetWhatIf> sets;        ///< greedy: each holds the one before it and one rank more
  std::vector<SetWhatIf> best_pairs;  ///< exhaustive, up to three, best first; at most 10 ranks
  std::vector<SetWhatIf> best_triples;
  std::vector<CommWhatIf> communicators;  ///< most transfer first
  Estimate fabric_free;                   ///< all transfers zero: what no fabric can beat
  Estimate fabric_tenfold;                ///< all transfers a tenth
  PathShares path;
  Duration waited{};                  ///< sum over ranks of wait in the replay
  Duration injected{};                ///< sum over ranks of self-delay
  Duration lost{};                    ///< ranks * (simulated - ideal)
  double amplification_ratio = 0;     ///< lost / injected; 0 where nothing was injected
  std::vector<std::string> screened;  ///< what was left out, and why
};

struct WhatIfOptions {
  int threads = 0;
  /// Most stretches of own work that are replayed; of a longer Run the beginning. 44 bytes each.
  std::int64_t most_cells = 24'000'000;
  /// Most simulated operations, counted as scenarios times what one costs: bounds the time.
  std::int64_t most_work = 500'000'000;
};

/// Replays a Run and asks what if.
///
/// Formula: transfer(c) = first exit - last entry, or the shortest time inside
///          where clocks cannot be compared;
///          fixed(r) = own work of r replaced, operation by operation, by the lower median of the others that
///          do the same at that place of that step; removal = (T - T(r fixed)) / (T - T_ideal);
///          add-back = (T(only r as recorded) - T_ideal) / (T - T_ideal).
/// Errors:  none; an input that cannot be replayed is `Refused`.
/// Threads: the same answer for any number.
/// Cost:    linear in events, plus the scenarios (bounded by `most_work`).
/// Source:  Lin et al., OSDI'25 (ByteDance what-if analysis: S, removal and add-back);
///          block bootstrap: Künsch 1989.
/// Held by: src/diagnose/what_if/what_if_test.cpp, tests/property/what_if_laws.cpp
[[nodiscard]] WhatIf what_if(const Matched& matched, const WhatIfOptions& options = {});

}  // namespace cox::diagnose
