// SPDX-License-Identifier: Apache-2.0
/// \file
/// A command line without the secrets in it, for a file that others may read.
#pragma once

#include <string>
#include <vector>

namespace cox::observe {

struct Redacted {
  std::vector<std::string> words{};
  int count = 0;  ///< secrets that were replaced by `<redacted>`
};

/// Replaces what looks like a secret: values of flags and variables whose names say so (`--hf-token X`,
/// `WANDB_API_KEY=X`, also inside a script given as one word), passwords in URLs, what follows `Bearer`, and
/// words that begin as the tokens of well-known services do. A guess: a secret under an innocent name stays.
/// Held by: src/observe/redact_test.cpp
[[nodiscard]] Redacted redact(const std::vector<std::string>& command);

}  // namespace cox::observe
