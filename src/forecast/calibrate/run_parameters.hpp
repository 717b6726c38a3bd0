// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters of a job beside its parts: messages, what is hidden, the start, failures; each with its interval.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cox/base/units.hpp"

#include "forecast/calibrate/parts.hpp"
#include "forecast/sample/sample.hpp"

namespace cox::forecast {

struct PerByteEstimate {
  TimePerByte value{};
  TimePerByte low{};
  TimePerByte high{};
  Origin origin = Origin::Measured;
};

/// Collectives of one kind among as many ranks, over their sizes: time = latency + bytes x per_byte (Hockney 1994).
struct MessageFit {
  model::Collective kind = model::Collective::Other;
  std::int64_t ranks = 0;
  bool one_node = false;
  std::int64_t sizes = 0;       ///< different ones
  std::int64_t operations = 0;  ///< of all sizes
  Bytes least{};
  Bytes most{};
  TimeEstimate latency{};      ///< of the whole collective, not of a message in it
  PerByteEstimate per_byte{};  ///< the same
  double misfit = 0;           ///< median over sizes of |time / fit - 1|; 0 for two sizes
  std::optional<Bandwidth>
      ceiling{};  ///< of the bus: highest (busbw factor) bytes / time, where it was reached
  std::optional<Bytes> ceiling_from{};  ///< smallest size from which all reach 90 % of it
  RatioEstimate dips{};  ///< part of the operations that take over twice the median of their size
  double dip = 0;        ///< how many times as long those take, mean; 0 = none seen
};

/// What starting the job takes: fixed + ranks x per_rank.
struct StartFit {
  std::int64_t runs = 0;
  std::int64_t sizes = 0;
  TimeEstimate at_seen{};  ///< at the largest size
  TimeEstimate fixed{};
  TimeEstimate per_rank{};  ///< of one size: a range, from nothing to all of it
};

/// What was seen of failures.
struct FailuresSeen {
  std::int64_t ended = 0;     ///< ranks whose program did not end with status 0
  std::int64_t restarts = 0;  ///< by the launcher, or as gaps or repeated numbers of steps
  Seconds node_time{};        ///< nodes times the time that was recorded
  /// Of a node, between failures. Without one, or where nodes are not known, `value` is zero: at least `low`.
  TimeEstimate between{};
};

struct RunParameters {
  std::vector<MessageFit> messages{};     ///< in the order of the record
  std::optional<RatioEstimate> hidden{};  ///< part of background communication in which ranks are at work
  bool hidden_at_most = false;            ///< operations count until their wait returned
  Seconds in_flight{};                    ///< of a rank, in a step, mean
  std::optional<StartFit> start{};
  std::optional<FailuresSeen> failures{};  ///< none where nothing was recorded live
};

/// From samples of one job. `restarts`: of each sample, as steps tell them (`restarts_of`).
/// Formula: messages by weighted least squares of the medians; dips and failures by Jeffreys' and the gamma law.
/// Source: docs/concepts/forecasting.md. Cost: sorting of the times. Held by: src/forecast/calibrate/run_parameters_test.cpp
[[nodiscard]] RunParameters run_parameters(std::span<const Sample> samples,
                                           std::span<const std::int64_t> restarts = {});

}  // namespace cox::forecast
