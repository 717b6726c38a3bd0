// SPDX-License-Identifier: Apache-2.0
/// \file
/// The two halves of what figures tell.
#pragma once

#include <vector>

#include "cox/diagnose/figures.hpp"

namespace cox::diagnose {

[[nodiscard]] std::vector<SizeAnswer> answer_sizes(const trace::SizeTable& table);
/// Every series against the first with as many nodes, or against the one of its name in `before`.
[[nodiscard]] std::vector<SizeComparison> compare_series(const trace::SizeTable& table,
                                                         const trace::SizeTable* before);
[[nodiscard]] std::vector<QuantityAnswer> answer_ranks(const trace::RankTable& table);

}  // namespace cox::diagnose
