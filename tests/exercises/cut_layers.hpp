// SPDX-License-Identifier: Apache-2.0
/// \file
/// For the exercises: two layers of a network, the first cut by columns and the second by rows, in whole numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace cox::exercises {

struct CutShape {
  int batch = 1;
  int width = 1;   ///< elements of a row in and out
  int hidden = 1;  ///< between the two
  int ways = 1;
};
struct CutPair {
  std::vector<std::int64_t> whole;    ///< batch x width, uncut
  std::vector<std::int64_t> summed;   ///< the same, the sum of what the ranks have
  std::int64_t reduced_elements = 0;  ///< that an all-reduce takes, on each rank
  std::int64_t multiplications = 0;   ///< of one rank
};

/// y = relu(x A) B with A of width x hidden, B of hidden x width. Rank r holds hidden / ways columns of A and the same rows of
/// B, so that nothing is exchanged between the two.
inline CutPair cut_pair(const CutShape& s) {
  const auto entry = [](int row, int column, int salt) {
    return std::int64_t{(row * 31 + column * 17 + salt * 7) % 11 - 5};
  };
  const auto part = [&](int from, int to, std::int64_t& multiplications) {
    std::vector<std::int64_t> y(static_cast<std::size_t>(s.batch * s.width));
    for (int b = 0; b < s.batch; ++b)
      for (int h = from; h < to; ++h) {
        std::int64_t sum = 0;
        for (int i = 0; i < s.width; ++i) sum += entry(b, i, 1) * entry(i, h, 2);
        if (sum < 0) sum = 0;
        for (int o = 0; o < s.width; ++o)
          y[static_cast<std::size_t>(b * s.width + o)] += sum * entry(h, o, 3);
        multiplications += 2 * s.width;
      }
    return y;
  };
  CutPair pair;
  std::int64_t uncounted = 0;
  pair.whole = part(0, s.hidden, uncounted);
  pair.summed.resize(pair.whole.size());
  for (int r = 0; r < s.ways; ++r) {
    pair.multiplications = 0;
    const auto mine = part(r * s.hidden / s.ways, (r + 1) * s.hidden / s.ways, pair.multiplications);
    for (std::size_t i = 0; i < mine.size(); ++i) pair.summed[i] += mine[i];
    pair.reduced_elements = static_cast<std::int64_t>(mine.size());
  }
  return pair;
}

}  // namespace cox::exercises
