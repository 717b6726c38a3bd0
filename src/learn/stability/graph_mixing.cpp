// SPDX-License-Identifier: Apache-2.0
#include "learn/stability/graph_mixing.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/elementary.hpp"
#include "cox/sync/pairs.hpp"

namespace cox::learn {
namespace {

constexpr int kMostWorkers = 128;
constexpr double kExact = 1e-12;  ///< a square of what remains that is rounding

/// Second singular value, squared: the second eigenvalue of W'W.
double second_square(const Mixing& w) {
  Mixing turned = w;
  const auto n = static_cast<std::size_t>(w.workers);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) turned.weights[i * n + j] = w.weights[j * n + i];
  Mixing square = product(turned, w);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) square.weights[j * n + i] = square.weights[i * n + j];
  return std::max(0.0, mixing_rates(square).second);
}

}  // namespace

Mixing graph_weights(const sync::Neighbours& neighbours, std::int64_t round) {
  const auto n = static_cast<std::size_t>(neighbours.workers());
  Mixing w{neighbours.workers(), std::vector<double>(n * n)};
  for (std::size_t i = 0; i < n; ++i) {
    double own = 1;
    for (const int j : neighbours.of(static_cast<int>(i), round)) {
      const double weight = neighbours.weight(static_cast<int>(i), j);
      w.weights[i * n + static_cast<std::size_t>(j)] = weight;
      own -= weight;
    }
    w.weights[i * n + i] = own;
  }
  return w;
}

Mixing pair_weights(const sync::Neighbours& neighbours) {
  const auto n = static_cast<std::size_t>(neighbours.workers());
  Mixing w{neighbours.workers(), std::vector<double>(n * n)};
  for (std::size_t i = 0; i < n; ++i) w.weights[i * n + i] = 1;
  const std::vector<char> asks = sync::who_asks(neighbours);
  const auto asking = static_cast<double>(std::ranges::count(asks, 1));
  for (std::size_t i = 0; i < n; ++i) {
    if (asks[i] == 0) continue;
    for (const int peer : neighbours.of(static_cast<int>(i), 0)) {
      const auto j = static_cast<std::size_t>(peer);
      const double half = 0.5 / (asking * neighbours.degree(static_cast<int>(i)));
      w.weights[i * n + j] += half;
      w.weights[j * n + i] += half;
      w.weights[i * n + i] -= half;
      w.weights[j * n + j] -= half;
    }
  }
  return w;
}

std::optional<GraphMixing> pair_mixing(const sync::Neighbours& neighbours) {
  if (neighbours.workers() < 2 || neighbours.workers() > kMostWorkers) return std::nullopt;
  const Mixing w = pair_weights(neighbours);
  const auto asking = std::ranges::count(sync::who_asks(neighbours), 1);
  GraphMixing out{.sums = sum_errors(w), .period = static_cast<int>(asking)};
  const double second = mixing_rates(w).second;
  if (second > kExact) out.factor = exponential(logarithm(second) * static_cast<double>(asking) / 2);
  return out;
}

std::optional<GraphMixing> graph_mixing(const sync::Neighbours& neighbours) {
  if (neighbours.workers() > kMostWorkers) return std::nullopt;
  GraphMixing out{.period = neighbours.period()};
  Mixing all = graph_weights(neighbours, 0);
  out.sums = sum_errors(all);
  if (out.period == 1) {
    out.factor = mixing_rates(all).factor();
    return out;
  }
  for (int round = 1; round < out.period; ++round) {
    const Mixing one = graph_weights(neighbours, round);
    const SumErrors sums = sum_errors(one);
    out.sums = {.rows = std::max(out.sums.rows, sums.rows),
                .columns = std::max(out.sums.columns, sums.columns)};
    all = product(one, all);
  }
  const double square = second_square(all);
  if (square > kExact) out.factor = exponential(logarithm(square) / (2 * out.period));
  return out;
}

}  // namespace cox::learn
