// SPDX-License-Identifier: Apache-2.0
/// \file
/// Enumerations as scenario files spell them. The place in the list is the value, except for collectives.
#pragma once

#include <span>
#include <string_view>

#include "cox/model/scenario.hpp"
#include "cox/pace/settings.hpp"

namespace cox::model {

using Words = std::span<const std::string_view>;

[[nodiscard]] Words preset_words();
[[nodiscard]] Words fabric_words();
[[nodiscard]] Words routing_words();
[[nodiscard]] Words switching_words();
[[nodiscard]] Words workload_words();
[[nodiscard]] Words pipeline_words();
[[nodiscard]] Words order_words();
[[nodiscard]] Words place_words();
[[nodiscard]] Words neighbour_words();
[[nodiscard]] Words law_words();
[[nodiscard]] Words scope_words();
[[nodiscard]] Words target_words();
[[nodiscard]] Words pattern_words();
[[nodiscard]] Words policy_words();
[[nodiscard]] Words failure_unit_words();
[[nodiscard]] Words jitter_words();
[[nodiscard]] Words imbalance_words();
[[nodiscard]] Words wait_words();
/// Those of `name_of`.
[[nodiscard]] Words algorithm_words();
[[nodiscard]] Words form_words();
[[nodiscard]] Words compressor_words();
[[nodiscard]] Words price_words();
/// Behind `any`, which leaves the choice to NCCL: those of `name_of`, in small letters.
[[nodiscard]] Words nccl_protocol_words();
[[nodiscard]] Words nccl_algorithm_words();
[[nodiscard]] Words protocol_words();
[[nodiscard]] Words engine_words();
/// Of a parameter of the pacing controller; none where it takes a number.
[[nodiscard]] Words setting_words(const pace::Parameter& parameter);

/// `all-reduce` for NCCL's `AllReduce`, and so on; only those that a schedule can have.
[[nodiscard]] Words collective_words();
[[nodiscard]] Collective collective_at(std::size_t word);
[[nodiscard]] std::size_t word_of(Collective c);

}  // namespace cox::model
