// SPDX-License-Identifier: Apache-2.0
/// \file
/// A run before a change against the same job after it.
#pragma once

#include <string>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"
#include "cox/diagnose/diagnosis.hpp"

namespace cox::diagnose {

/// A ratio and the interval that holds it in 95 of 100 resamplings.
struct RatioInterval {
  double value = 1;
  double low = 1;
  double high = 1;
};

enum class Change : unsigned char { Faster, Slower, Unclear };
[[nodiscard]] const char* name_of(Change c);  ///< `faster`, `slower`, `unclear`

/// In what two runs are not the same job. Text forms are `ranks`, `times`, `collectives_per_step`.
enum class JobDifference : unsigned char {
  Ranks,
  Times,  ///< how they were recorded
  CollectivesPerStep
};
[[nodiscard]] const char* name_of(JobDifference d);

struct Comparison {
  Duration before{};  ///< median step time
  Duration after{};
  RatioInterval step_ratio;  ///< after over before, medians
  double lost_before = 0;    ///< part of the run lost to late arrivals
  double lost_after = 0;
  Change change = Change::Unclear;
  Duration mean_before{};  ///< step time: pauses and stretches move it, and leave the median where it is
  Duration mean_after{};
  RatioInterval mean_ratio;  ///< after over before, means
  Change mean_change = Change::Unclear;
  bool has_enough_steps = false;       ///< on both sides, to tell a change
  std::vector<JobDifference> differs;  ///< empty where they are alike
  std::string not_alike;               ///< the same as a sentence; empty where they are alike
  std::vector<Finding> gone;           ///< named before, not after
  std::vector<Finding> remaining;      ///< named in both, as after
  std::vector<Finding> fresh;          ///< named only after
  std::vector<std::string> lines;      ///< all of it in words
};

/// Whether the median or the mean is told to be longer than before.
[[nodiscard]] bool is_slower(const Comparison& c);

/// Compares two diagnoses of one job.
///
/// Formula: ratio of the medians (and of the means) of step times; interval by a moving block bootstrap (the cube root of the
///          number of steps, 1,000 resamplings, fixed seed), so that neighbours that resemble each other do
///          not pass for many. Unclear where the interval holds 1, below 0.5 %, and under 10 steps.
/// Source:  Kuensch 1989 (moving blocks). Cost: 1,000 x steps. Held by:
/// src/diagnose/verdict/comparison_test.cpp
[[nodiscard]] Comparison compare(const Diagnosis& before, const Diagnosis& after);

}  // namespace cox::diagnose
