// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/classifier_slice.hpp"

#include <algorithm>

#include "cox/base/assert.hpp"

#include "learn/problem/classifier.hpp"
#include "learn/problem/softmax.hpp"

namespace cox::learn {
namespace {

std::size_t size_of(const Shard& shard) {
  return static_cast<std::size_t>(shard.count);
}

}  // namespace

ClassifierSlice::ClassifierSlice(const ProblemSpec& spec, const SliceOf& of)
    : samples_(spec), summed_(of.parts > 1) {
  const Classifier whole(spec);
  COX_ASSERT(spec.hidden % of.parts == 0 && of.number < of.parts, "columns are cut evenly");
  const std::vector<DenseLayer>& all = whole.layers();
  for (std::size_t l = 0; l < all.size(); ++l) {
    add_layer(all[l], split_of(l, all.size()), of, spec);
    for (const std::size_t t : {2 * l, 2 * l + 1}) tensors_[t].own.name = whole.tensors()[t].name;
  }
  for (std::size_t l = layers_.size(); l-- > 1 && summed_;)
    if (layers_[l].split == Split::Columns)
      sums_.push_back(static_cast<std::int64_t>(layers_[l].dense.inputs));
  const Layer& last = layers_.back();
  logits_ = last.in + last.dense.inputs;
  for (std::size_t l = 1; l < layers_.size(); ++l) widest_ = std::max(widest_, layers_[l].dense.inputs);
  before_[0] = logits_ + last.dense.outputs;
  before_[1] = before_[0] + (layers_.size() > 2 ? widest_ : 0);
}

void ClassifierSlice::add_layer(const DenseLayer& whole, Split split, const SliceOf& of,
                                const ProblemSpec& spec) {
  const auto parts = static_cast<std::size_t>(of.parts), number = static_cast<std::size_t>(of.number);
  const bool columns = split == Split::Columns, rows = split == Split::Rows;
  const std::size_t inputs = whole.inputs / (rows ? parts : 1);
  const std::size_t outputs = whole.outputs / (columns ? parts : 1);
  const std::size_t first_row = rows ? number * inputs : 0, first_column = columns ? number * outputs : 0;
  const std::size_t at = tensors_.empty() ? 0 : static_cast<std::size_t>(parameters());
  const auto blocks = static_cast<std::size_t>(spec.blocks);
  const std::size_t own_blocks = blocks % parts == 0 ? blocks / parts : 1;
  const auto number_of = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  tensors_.push_back(
      {.own = {.name = {}, .first = number_of(at), .rows = number_of(inputs), .columns = number_of(outputs)},
       .first = number_of(whole.weights + first_row * whole.outputs + first_column),
       .stride = number_of(whole.outputs)});
  const std::size_t bias = at + inputs * outputs;
  tensors_.push_back({.own = {.name = {}, .first = number_of(bias), .rows = number_of(outputs), .columns = 1},
                      .first = number_of(whole.bias + first_column),
                      .stride = 1});
  const std::size_t in = layers_.empty() ? 0 : layers_.back().in + layers_.back().dense.inputs;
  layers_.push_back({.dense = {.inputs = inputs,
                               .outputs = outputs,
                               .weights = at,
                               .bias = bias,
                               .forward_blocks = rows ? own_blocks : 1,
                               .backward_blocks = columns ? own_blocks : 1},
                     .split = split,
                     .in = in});
  if (rows && summed_) sums_.push_back(number_of(outputs));
}

Result<double> ClassifierSlice::forward(std::span<const float> x, const Shard& shard, std::span<float> room,
                                        const SliceSum& sum) {
  const std::size_t count = size_of(shard), width = layers_.front().dense.inputs;
  COX_ASSERT(static_cast<std::int64_t>(x.size()) == parameters() &&
                 static_cast<std::int64_t>(room.size()) == this->room() * shard.count,
             "sizes are the slice's");
  labels_.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    labels_[i] =
        samples_.draw(shard.first + static_cast<std::int64_t>(i), false, room.subspan(i * width, width));
  for (const Layer& layer : layers_) {
    const DenseLayer& dense = layer.dense;
    const float* in = room.data() + layer.in * count;
    const std::span<float> out = room.subspan((layer.in + dense.inputs) * count, dense.outputs * count);
    if (layer.split == Split::Rows && summed_) {
      dense.products(product_, x.data(), count, in, out.data());
      COX_CHECK(sum(out));
      dense.add_bias(x.data(), count, out.data());
    } else {
      dense.forward(product_, x.data(), count, in, out.data());
    }
    if (&layer != &layers_.back()) cut_below_zero(out.data(), out.size());
  }
  ClassSums sums;
  cross_entropies(room.subspan(logits_ * count, layers_.back().dense.outputs * count), labels_, sums,
                  working_);
  return sums.loss / static_cast<double>(shard.count);
}

Status ClassifierSlice::backward(std::span<const float> x, const Shard& shard, std::span<float> room,
                                 std::span<float> g, const SliceSum& sum) {
  const std::size_t count = size_of(shard);
  const auto scale = static_cast<float>(1 / static_cast<double>(shard.count));
  std::ranges::fill(g, 0.0F);
  const float* slope = room.data() + logits_ * count;
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const DenseLayer& dense = layers_[l].dense;
    const float* in = room.data() + layers_[l].in * count;
    dense.gradient(product_, g.data(), count, in, slope);
    if (l == 0) break;
    const std::span<float> before = room.subspan(before_[l % 2] * count, dense.inputs * count);
    dense.slopes(product_, x.data(), count, slope, before.data());
    if (layers_[l].split == Split::Columns && summed_) COX_CHECK(sum(before));
    cut_slopes(in, before.size(), before.data());
    slope = before.data();
  }
  for (float& v : g) v *= scale;
  return {};
}

void take_slice(const ProblemSlice& slice, std::span<const float> all, std::span<float> own) {
  for (const SliceTensor& t : slice.tensors())
    for (std::int64_t r = 0; r < t.own.rows; ++r)
      std::copy_n(all.begin() + t.first + r * t.stride, t.own.columns,
                  own.begin() + t.own.first + r * t.own.columns);
}

void put_slice(const ProblemSlice& slice, std::span<const float> own, std::span<float> all) {
  for (const SliceTensor& t : slice.tensors())
    for (std::int64_t r = 0; r < t.own.rows; ++r)
      std::copy_n(own.begin() + t.own.first + r * t.own.columns, t.own.columns,
                  all.begin() + t.first + r * t.stride);
}

std::int64_t place_of(const ProblemSlice& slice, std::int64_t own) {
  for (const SliceTensor& t : slice.tensors()) {
    const std::int64_t at = own - t.own.first;
    if (at < t.own.size()) return t.first + at / t.own.columns * t.stride + at % t.own.columns;
  }
  return slice.parameters();
}

Result<std::unique_ptr<ProblemSlice>> make_slice(const ProblemSpec& spec, const SliceOf& of) {
  COX_TRY(const std::unique_ptr<Problem> whole, make_problem(spec));  // its fields are in range
  if (spec.kind != ProblemKind::Mlp) return std::unique_ptr<ProblemSlice>{};
  return std::make_unique<ClassifierSlice>(spec, of);
}

}  // namespace cox::learn
