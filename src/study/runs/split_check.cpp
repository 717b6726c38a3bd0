// SPDX-License-Identifier: Apache-2.0
#include "study/runs/split_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "cox/base/assert.hpp"

namespace cox::study {
namespace {

struct Slice {
  int from = 0;
  int to = 0;
};
Slice slice_of(int n, int devices, int device) {
  return {.from = static_cast<int>(std::int64_t{n} * device / devices),
          .to = static_cast<int>(std::int64_t{n} * (device + 1) / devices)};
}

Weights some_outputs(const Weights& w, Slice s) {
  const auto row = static_cast<std::ptrdiff_t>(w.inputs);
  return {.outputs = s.to - s.from,
          .inputs = w.inputs,
          .values = {w.values.begin() + s.from * row, w.values.begin() + s.to * row}};
}
Weights some_inputs(const Weights& w, Slice s) {
  Weights out{.outputs = w.outputs, .inputs = s.to - s.from};
  for (std::ptrdiff_t o = 0; o < w.outputs; ++o)
    out.values.insert(out.values.end(), w.values.begin() + o * w.inputs + s.from,
                      w.values.begin() + o * w.inputs + s.to);
  return out;
}
std::span<const float> part_of(std::span<const float> x, Slice s) {
  return x.subspan(static_cast<std::size_t>(s.from), static_cast<std::size_t>(s.to - s.from));
}

std::vector<float> product(const Weights& w, std::span<const float> x) {
  COX_ASSERT(x.size() == static_cast<std::size_t>(w.inputs), "a number for every input");
  std::vector<float> out;
  const float* at = w.values.data();
  for (int o = 0; o < w.outputs; ++o) {
    float sum = 0;
    for (const float v : x) sum = static_cast<float>(double{sum} + double{v} * double{*at++});
    out.push_back(sum);
  }
  return out;
}

std::vector<float> positive(std::vector<float> y) {
  for (float& v : y) v = std::max(v, 0.0F);
  return y;
}

/// One matrix on all devices; every device ends with all outputs.
std::vector<float> by_columns(const Weights& w, std::span<const float> x, int devices) {
  std::vector<float> gathered;
  for (int d = 0; d < devices; ++d) {
    const std::vector<float> mine = product(some_outputs(w, slice_of(w.outputs, devices, d)), x);
    gathered.insert(gathered.end(), mine.begin(), mine.end());
  }
  return gathered;
}

/// Adds what device after device has.
void reduce(std::vector<float>& sum, const std::vector<float>& mine) {
  if (sum.empty()) sum.assign(mine.size(), 0.0F);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += mine[i];
}
std::vector<float> by_rows(const Weights& w, std::span<const float> x, int devices) {
  std::vector<float> sum;
  for (int d = 0; d < devices; ++d) {
    const Slice s = slice_of(w.inputs, devices, d);
    reduce(sum, product(some_inputs(w, s), part_of(x, s)));
  }
  return sum;
}

}  // namespace

Weights draw_weights(int outputs, int inputs, const RandomStream& draws, std::uint64_t step) {
  std::vector<double> u(static_cast<std::size_t>(outputs) * static_cast<std::size_t>(inputs));
  draws.uniforms(step, 0, u);
  Weights w{.outputs = outputs, .inputs = inputs};
  for (const double v : u) w.values.push_back(static_cast<float>(2 * v - 1));
  return w;
}

std::vector<float> block_in_one_piece(const Weights& first, const Weights& second, std::span<const float> x) {
  return product(second, positive(product(first, x)));
}

std::vector<float> block_in_parts(const Weights& first, const Weights& second, std::span<const float> x,
                                  BlockSplit split, int devices) {
  COX_ASSERT(devices >= 1 && second.inputs == first.outputs, "the second matrix takes what the first gives");
  if (split == BlockSplit::Columns)
    return by_columns(second, positive(by_columns(first, x, devices)), devices);
  if (split == BlockSplit::Rows) return by_rows(second, positive(by_rows(first, x, devices)), devices);
  std::vector<float> sum;
  for (int d = 0; d < devices; ++d) {
    const Slice s = slice_of(first.outputs, devices, d);
    reduce(sum, product(some_inputs(second, s), positive(product(some_outputs(first, s), x))));
  }
  return sum;
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
  COX_ASSERT(a.size() == b.size(), "numbers of the same outputs");
  double difference = 0;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = std::max(difference, std::abs(double{a[i]} - double{b[i]}));
    largest = std::max({largest, std::abs(double{a[i]}), std::abs(double{b[i]})});
  }
  return largest > 0 ? difference / largest : 0;
}

}  // namespace cox::study
