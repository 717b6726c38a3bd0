// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether a block of two matrices that is split over devices gives the numbers of the block in one piece.
#pragma once

#include <span>
#include <vector>

#include "cox/base/random.hpp"

namespace cox::study {

/// How both matrices are split, and what puts the parts together.
enum class BlockSplit {
  Columns,  ///< whole outputs on each device, gathered after each matrix
  Rows,     ///< a part of each sum on each device, added up after each matrix
  Pair,     ///< the first by columns, the second by rows, added up once
};

/// `outputs` rows of `inputs` numbers each.
struct Weights {
  int outputs = 0;
  int inputs = 0;
  std::vector<float> values{};
};
/// Numbers drawn evenly from -1 to 1. Draws: (stream, step).
[[nodiscard]] Weights draw_weights(int outputs, int inputs, const RandomStream& draws, std::uint64_t step);

/// y = second * max(0, first * x), sums in float from the first input on: on one device, or on `devices` of which each
/// has its slice of the weights. Products are exact and rounded with the sum, so that every machine gets the same.
/// Precondition (asserted): sizes fit. Cost: O(numbers in both).
/// Held by: src/study/runs/split_check_test.cpp (whole numbers: equal; else against double)
[[nodiscard]] std::vector<float> block_in_one_piece(const Weights& first, const Weights& second,
                                                    std::span<const float> x);
[[nodiscard]] std::vector<float> block_in_parts(const Weights& first, const Weights& second,
                                                std::span<const float> x, BlockSplit split, int devices);

/// Largest difference over the largest number.
[[nodiscard]] double largest_difference(std::span<const float> a, std::span<const float> b);

}  // namespace cox::study
