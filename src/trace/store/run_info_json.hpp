// SPDX-License-Identifier: Apache-2.0
/// \file
/// run.json as text, apart from where it lies: what the fuzzer and the tests call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/trace/run.hpp"

namespace cox::trace {

[[nodiscard]] Result<RunInfo> parse_run_info(std::string_view text);
[[nodiscard]] std::string format_run_info(const RunInfo& info);
/// The lines of `run.ends`, in order of time; what is no such line is left out.
[[nodiscard]] std::vector<RankEnd> parse_rank_ends(std::string_view text);

}  // namespace cox::trace
