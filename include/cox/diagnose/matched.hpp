// SPDX-License-Identifier: Apache-2.0
/// \file
/// A Run, matched: the value that the diagnosis and the page are both made from.
#pragma once

#include <cstdint>
#include <memory>

#include "cox/trace/read.hpp"
#include "cox/trace/run.hpp"

namespace cox::diagnose {

/// Who synchronised with whom and when, of a whole Run. What is in it is the room's own business.
class Matched;

/// Stages that are told to a progress bar: three of matching, two of diagnosing.
inline constexpr std::int64_t kDiagnoseStages = 5;

struct MatchOptions {
  int threads = 0;
  trace::Progress progress{};
};

/// Matches a Run, which has to outlive the result. Any Run can be matched; whether there is anything to
/// diagnose in it `diagnose` says. Threads: the same outcome for any number. Cost: linear in events.
[[nodiscard]] std::shared_ptr<const Matched> match_run(const trace::Run& run,
                                                       const MatchOptions& options = {});
std::shared_ptr<const Matched> match_run(const trace::Run&& run, const MatchOptions& options = {}) = delete;

}  // namespace cox::diagnose
