// SPDX-License-Identifier: Apache-2.0
/// \file
/// Defaults that depend on other values, each with its formula.
#pragma once

#include "cox/base/result.hpp"

#include "model/toml/keys/draft_notes.hpp"
#include "model/toml/keys/keys.hpp"

namespace cox::model {

/// Fills what the file leaves open. Errors: scenario-004.
[[nodiscard]] Status derive(Draft& draft, Notes& notes);

/// The part of it that is about the job.
void derive_job(const Cluster& cluster, JobKeys& job, Notes& notes);

}  // namespace cox::model
