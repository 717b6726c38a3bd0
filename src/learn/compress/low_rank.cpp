// SPDX-License-Identifier: Apache-2.0
#include "learn/compress/low_rank.hpp"

#include <cmath>
#include <vector>

namespace cox::learn {
namespace {

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

/// Gram and Schmidt, twice over each column: once leaves rounding errors in the direction of the earlier ones.
void make_orthonormal(std::span<float> p, std::size_t rows, std::size_t rank) {
  for (std::size_t c = 0; c < rank; ++c) {
    const std::span<float> column = p.subspan(c * rows, rows);
    const double before = std::sqrt(dot(column, column));
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t e = 0; e < c; ++e) {
        const std::span<const float> earlier = p.subspan(e * rows, rows);
        const double along = dot(column, earlier);
        for (std::size_t i = 0; i < rows; ++i)
          column[i] =
              static_cast<float>(static_cast<double>(column[i]) - along * static_cast<double>(earlier[i]));
      }
    }
    const double norm = std::sqrt(dot(column, column));
    const double factor = norm > 1e-6 * before ? 1 / norm : norm == norm ? 0 : norm;  // NaN stays
    for (float& v : column) v = static_cast<float>(static_cast<double>(v) * factor);
  }
}

}  // namespace

void low_rank(std::span<const float> matrix, MatrixShape shape, std::size_t rank, std::span<float> p,
              std::span<float> q) {
  for (std::size_t c = 0; c < rank; ++c)
    for (std::size_t i = 0; i < shape.rows; ++i)
      p[c * shape.rows + i] = static_cast<float>(
          dot(matrix.subspan(i * shape.columns, shape.columns), q.subspan(c * shape.columns, shape.columns)));
  make_orthonormal(p, shape.rows, rank);
  std::vector<double> sums(shape.columns);
  for (std::size_t c = 0; c < rank; ++c) {
    sums.assign(shape.columns, 0);
    for (std::size_t i = 0; i < shape.rows; ++i) {
      const auto weight = static_cast<double>(p[c * shape.rows + i]);
      const std::span<const float> row = matrix.subspan(i * shape.columns, shape.columns);
      for (std::size_t j = 0; j < shape.columns; ++j) sums[j] += weight * static_cast<double>(row[j]);
    }
    for (std::size_t j = 0; j < shape.columns; ++j) q[c * shape.columns + j] = static_cast<float>(sums[j]);
  }
}

void multiply(std::span<const float> p, std::span<const float> q, MatrixShape shape, std::size_t rank,
              std::span<float> out) {
  for (std::size_t i = 0; i < shape.rows; ++i) {
    for (std::size_t j = 0; j < shape.columns; ++j) {
      float sum = 0;
      for (std::size_t c = 0; c < rank; ++c) sum += p[c * shape.rows + i] * q[c * shape.columns + j];
      out[i * shape.columns + j] = sum;
    }
  }
}

}  // namespace cox::learn
