// SPDX-License-Identifier: Apache-2.0
#include "learn/stability/mixing.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"

namespace cox::learn {
namespace {

std::size_t index_of(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// Square matrix, row by row.
struct Square {
  std::size_t n;
  std::vector<double>& values;
  [[nodiscard]] double& at(std::size_t i, std::size_t j) const { return values[i * n + j]; }
};

/// Turns rows and columns p and q so that their common element vanishes.
void rotate(const Square& m, std::size_t p, std::size_t q) {
  const double off = m.at(p, q);
  if (off == 0) return;
  const double theta = (m.at(q, q) - m.at(p, p)) / (2 * off);
  const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
  const double c = 1 / std::sqrt(t * t + 1);
  const double s = t * c;
  for (std::size_t k = 0; k < m.n; ++k) {
    const double kp = m.at(k, p);
    const double kq = m.at(k, q);
    m.at(k, p) = c * kp - s * kq;
    m.at(k, q) = s * kp + c * kq;
  }
  for (std::size_t k = 0; k < m.n; ++k) {
    const double pk = m.at(p, k);
    const double qk = m.at(q, k);
    m.at(p, k) = c * pk - s * qk;
    m.at(q, k) = s * pk + c * qk;
  }
}

/// Of a symmetric matrix, ascending, by Jacobi's method (Golub, Van Loan, 8.5).
std::vector<double> eigenvalues(std::size_t n, std::vector<double> values) {
  const Square m{n, values};
  for (int sweep = 0; sweep < 50; ++sweep) {
    double off = 0;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) off += m.at(p, q) * m.at(p, q);
    if (off < 1e-26) break;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) rotate(m, p, q);
  }
  std::vector<double> found(n);
  for (std::size_t i = 0; i < n; ++i) found[i] = m.at(i, i);
  std::sort(found.begin(), found.end());
  return found;
}

Mixing empty(std::int64_t workers) {
  return {workers, std::vector<double>(index_of(workers * workers))};
}

}  // namespace

Mixing ring_mixing(std::int64_t workers) {
  COX_ASSERT(workers >= 3, "two neighbours");
  Mixing w = empty(workers);
  for (std::int64_t i = 0; i < workers; ++i)
    for (const std::int64_t j : {workers - 1, std::int64_t{0}, std::int64_t{1}})
      w.weights[index_of(i * workers + (i + j) % workers)] = 1.0 / 3;
  return w;
}

Mixing hypercube_mixing(int dimensions) {
  Mixing w = empty(std::int64_t{1} << dimensions);
  for (std::int64_t i = 0; i < w.workers; ++i) {
    w.weights[index_of(i * w.workers + i)] = 1.0 / (dimensions + 1);
    for (int d = 0; d < dimensions; ++d)
      w.weights[index_of(i * w.workers + (i ^ (std::int64_t{1} << d)))] = 1.0 / (dimensions + 1);
  }
  return w;
}

Mixing torus_mixing(std::int64_t side) {
  COX_ASSERT(side >= 3, "four neighbours");
  Mixing w = empty(side * side);
  for (std::int64_t i = 0; i < side * side; ++i) {
    const std::int64_t row = i / side;
    const std::int64_t column = i % side;
    for (const std::int64_t j : {i, (row + 1) % side * side + column, (row + side - 1) % side * side + column,
                                 row * side + (column + 1) % side, row * side + (column + side - 1) % side})
      w.weights[index_of(i * w.workers + j)] = 0.2;
  }
  return w;
}

Mixing one_peer_mixing(std::int64_t workers, int hop) {
  Mixing w = empty(workers);
  for (std::int64_t i = 0; i < workers; ++i) {
    const std::int64_t peer = ((i - (std::int64_t{1} << hop)) % workers + workers) % workers;
    w.weights[index_of(i * workers + i)] += 0.5;
    w.weights[index_of(i * workers + peer)] += 0.5;
  }
  return w;
}

Mixing product(const Mixing& after, const Mixing& before) {
  COX_ASSERT(after.workers == before.workers, "the same workers");
  Mixing out = empty(after.workers);
  const std::size_t n = index_of(after.workers);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j)
        out.weights[i * n + j] += after.weights[i * n + k] * before.weights[k * n + j];
  return out;
}

SumErrors sum_errors(const Mixing& w) {
  const std::size_t n = index_of(w.workers);
  COX_ASSERT(w.weights.size() == n * n, "a square");
  SumErrors out;
  for (std::size_t i = 0; i < n; ++i) {
    double row = -1;
    double column = -1;
    for (std::size_t j = 0; j < n; ++j) {
      row += w.weights[i * n + j];
      column += w.weights[j * n + i];
    }
    out.rows = std::max(out.rows, std::abs(row));
    out.columns = std::max(out.columns, std::abs(column));
  }
  return out;
}

double consensus_error(const Mixing& w) {
  double most = 0;
  for (const double weight : w.weights)
    most = std::max(most, std::abs(weight - 1 / static_cast<double>(w.workers)));
  return most;
}

MixingRates mixing_rates(const Mixing& w) {
  const std::size_t n = index_of(w.workers);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j)
      COX_ASSERT(w.weights[i * n + j] == w.weights[j * n + i], "symmetric weights");
  if (n < 2) return {};
  const std::vector<double> found = eigenvalues(n, w.weights);
  return {.second = found[n - 2], .least = found.front()};
}

double elastic_averaging_factor(std::int64_t workers, double a, double pull) {
  const std::size_t n = index_of(workers);
  std::vector<double> m((n + 1) * (n + 1));
  for (std::size_t i = 0; i < n; ++i) {
    m[i * (n + 1) + i] = 1 - a - pull;
    m[i * (n + 1) + n] = pull;
    m[n * (n + 1) + i] = pull;
  }
  m[n * (n + 1) + n] = 1 - static_cast<double>(workers) * pull;
  const std::vector<double> found = eigenvalues(n + 1, m);
  return std::max(std::abs(found.front()), std::abs(found.back()));
}

double backup_wait(std::int64_t workers, std::int64_t backups) {
  double sum = 0;
  for (std::int64_t i = workers + backups; i > backups; --i) sum += 1 / static_cast<double>(i);
  return sum;
}

}  // namespace cox::learn
