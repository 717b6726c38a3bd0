// SPDX-License-Identifier: Apache-2.0
/// \file
/// run.json as text, apart from where it lies: what the fuzzer and the tests call.
#pragma once

#include <string>
#include <string_view>

#include "cox/base/result.hpp"
#include "cox/trace/run.hpp"

namespace cox::trace {

[[nodiscard]] Result<RunInfo> parse_run_info(std::string_view text);
[[nodiscard]] std::string format_run_info(const RunInfo& info);

}  // namespace cox::trace
