// SPDX-License-Identifier: Apache-2.0
/// \file
/// Defaults that depend on other values, each with its formula; and what cannot go together.
#pragma once

#include "cox/base/result.hpp"

#include "model/toml/draft_notes.hpp"
#include "model/toml/keys.hpp"

namespace cox::model {

/// Fills what the file leaves open. Errors: scenario-004.
[[nodiscard]] Status derive(Draft& draft, Notes& notes);

/// The part of it that is about the job.
void derive_job(const Cluster& cluster, JobKeys& job, Notes& notes);

/// What each value alone cannot tell. Errors: scenario-004.
[[nodiscard]] Status check(const Draft& draft, const Notes& notes);
/// Where each class of nodes begins.
void derive_classes(Cluster& cluster, Notes& notes);
/// The part of `check` that is about places; before all that counts the job's nodes.
[[nodiscard]] Status check_places(const Draft& draft, const Notes& notes);
/// The part of it that is about noise.
[[nodiscard]] Status check_noise(const Draft& draft, const Notes& notes);
/// Those about what a job's time, energy and money go into beside its steps: failures, starts, input, power, price.
[[nodiscard]] Status check_running(const Draft& draft, const Notes& notes);
/// Of what prices collectives, and of compression.
[[nodiscard]] Status check_price(const Draft& draft, const Notes& notes);

}  // namespace cox::model
