// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums that ran beside the work of recorded steps, as layers of a Scenario: each where in the backward pass it was seen to begin.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

#include "forecast/sample/sample.hpp"

namespace cox::forecast {

/// What recorded steps say of the sums beside their work; nothing where `job.layers` is empty.
struct BesideWork {
  model::TrainingJob job{};   ///< a layer for each sum, the last one's first in the backward pass
  model::MessageCost cost{};  ///< of each message
  double cv = 0;        ///< of their time per byte, from step to step; 0 = steady, or `deviation` says it
  Seconds deviation{};  ///< of all that a step follows, where messages that differ are too many to be played
  std::vector<std::string> notes;  ///< what was assumed, one sentence each
  std::string why_not{};           ///< why there is nothing; empty = nothing ran beside work, or it is there
};

/// A step of `compute` of own work of each of so many ranks, with the sums of `sample`, whose messages are as `samples` of one job tell.
///
/// A sum begins where in the work it was seen to begin: that part of the time until the last rank waits, the median over steps. Of one
/// that waited for the sum before it only the latest place is known: those in a row of such are evenly behind one that did not, by their bytes, no later than they
/// were seen. Steps are from wait to wait, so work behind the waits is
/// the next step's, before its forward pass. Two thirds of the work are backward, or what is behind the first sum. Messages: `message_growth`,
/// a ring, halving and doubling, or doubling, so that the sums of a step take as long as they did in the mean. Nothing where steps were not recorded so (`OverlappedStep`), where unlike steps have unlike sums, others than
/// all-reduces, or several groups that sum beside each other, or where work hides less than 2 % of a step.
///
/// Messages that differ from step to step are played one by one: up to 2^24 in all recorded steps.
///
/// Cost: linear, and `message_growth`. Threads: pure. Held by: src/forecast/scenario/beside_work_test.cpp
[[nodiscard]] BesideWork beside_work(const Sample& sample, std::span<const Sample> samples, Seconds compute,
                                     std::int64_t ranks);

}  // namespace cox::forecast
