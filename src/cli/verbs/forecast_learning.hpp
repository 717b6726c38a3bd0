// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox forecast`: what samples are worth, learned by `cox::learn`.
#pragma once

#include <optional>

#include "cox/base/result.hpp"
#include "cox/forecast/learning.hpp"

#include "cli/frame/command.hpp"

namespace cox::cli {

/// Of --learn and --learn-batch; nothing where neither is there. Errors: learn-001, cli-003.
[[nodiscard]] Result<std::optional<forecast::LearningQuestion>> learning_question(const Invocation& call);

}  // namespace cox::cli
