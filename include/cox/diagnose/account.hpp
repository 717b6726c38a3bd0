// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the time went: per rank, per communicator, per step.
#pragma once

#include <cstdint>
#include <string>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"

namespace cox::diagnose {

/// How long steps took.
struct StepSpread {
  Duration median{};
  Duration p05{};
  Duration p95{};
  double cv = 0;
  std::int64_t count = 0;
};

/// One rank's account: run time = work + wait + message wait + transfer.
struct RankAccount {
  Rank rank;
  Duration work{};               ///< own work between synchronisations
  Duration wait{};               ///< inside synchronisations, before the last member entered
  Duration message_wait{};       ///< in calls for messages, before the last one awaited was sent
  Duration transfer{};           ///< inside either, after that
  Duration self_delay{};         ///< sum over steps of the positive part of (own work - median of all)
  Duration self_delay_median{};  ///< median over steps of (own work - median of all), may be negative
  Duration charged{};            ///< time others lost because this rank was last
  double last_share = 0;         ///< of the synchronisations, the part in which it was last
  std::int64_t collectives = 0;
  std::int64_t steps = 0;
};

/// Collectives of one communicator, as one member made them (equal on all members where matched).
struct CommAccount {
  CommId comm;
  std::string name;
  int size = 0;
  std::int64_t collectives = 0;  ///< operations
  Bytes bytes{};                 ///< sum over operations of the message size
};

/// How steps were found.
enum class StepSource : std::uint8_t { Marks, Period, EachSync, None };
[[nodiscard]] const char* name_of(StepSource s);

}  // namespace cox::diagnose
