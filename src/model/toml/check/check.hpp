// SPDX-License-Identifier: Apache-2.0
/// \file
/// What cannot go together.
#pragma once

#include "cox/base/result.hpp"

#include "model/toml/keys/draft_notes.hpp"
#include "model/toml/keys/keys.hpp"

namespace cox::model {

/// What each value alone cannot tell. Errors: scenario-004.
[[nodiscard]] Status check(const Draft& draft, const Notes& notes);
/// The part of `check` that is about places; before all that counts the job's nodes.
[[nodiscard]] Status check_places(const Draft& draft, const Notes& notes);
/// Of places again, when it is known what nothing reads: what needs links where none are played.
[[nodiscard]] Status check_links(const Draft& draft, const Notes& notes);
/// The part of it that is about noise.
[[nodiscard]] Status check_noise(const Draft& draft, const Notes& notes);
/// Those about what a job's time, energy and money go into beside its steps: failures, starts, input, power, price.
[[nodiscard]] Status check_running(const Draft& draft, const Notes& notes);
/// Of what prices collectives, and of compression.
[[nodiscard]] Status check_price(const Draft& draft, const Notes& notes);

/// Whether the policy is whole.
[[nodiscard]] Status check_policy(const Draft& draft, const Notes& notes);
/// Whether anything says what runs. Errors: scenario-005, at a table of the job that is empty.
[[nodiscard]] Status check_says_a_job(const Notes& notes);

}  // namespace cox::model
