// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a span is, by its name alone.
#pragma once

#include <cstdint>
#include <string_view>

#include "cox/model/collective.hpp"
#include "cox/trace/raw_format.hpp"

namespace cox::trace {

enum class SpanKind : std::uint8_t { Other, Collective, Message, Step, Phase, Gc };

struct SpanMeaning {
  SpanKind kind = SpanKind::Other;
  model::Collective collective = model::Collective::Other;
  PhaseKind phase = PhaseKind::Other;
  std::int64_t step = -1;  ///< of a Step that ends in its number
};

/// `all_reduce`, `nccl:_all_gather_base`, `train_step`, `ProfilerStep#12`, `forward`, `data_loader`, `gc`, ...
/// Held by: src/trace/import/lines/span_lines_test.cpp
[[nodiscard]] SpanMeaning span_meaning(std::string_view name);

}  // namespace cox::trace
