// SPDX-License-Identifier: Apache-2.0
#include "learn/slice/classifier_slice.hpp"

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

ClassifierSlice::ClassifierSlice(const ProblemSpec& spec, int parts) : samples_(spec), summed_(parts > 1) {
  const Classifier whole(spec);
  COX_ASSERT(spec.hidden % parts == 0, "columns are cut evenly");
  const std::vector<DenseLayer>& all = whole.layers();
  for (std::size_t l = 0; l < all.size(); ++l) {
    add_layer(all[l], split_of(l, all.size()), parts, spec);
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

void ClassifierSlice::add_layer(const DenseLayer& whole, Split split, int parts, const ProblemSpec& spec) {
  const auto cut = static_cast<std::size_t>(parts);
  const bool columns = split == Split::Columns, rows = split == Split::Rows;
  const std::size_t inputs = whole.inputs / (rows ? cut : 1), outputs = whole.outputs / (columns ? cut : 1);
  const std::size_t at = tensors_.empty() ? 0 : static_cast<std::size_t>(parameters());
  const auto blocks = static_cast<std::size_t>(spec.blocks);
  const std::size_t own_blocks = blocks % cut == 0 ? blocks / cut : 1;
  const auto number_of = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  const std::size_t bias = at + inputs * outputs;
  tensors_.push_back(
      {.own = {.name = {}, .first = number_of(at), .rows = number_of(inputs), .columns = number_of(outputs)},
       .first = number_of(whole.weights),
       .stride = number_of(whole.outputs),
       .step = number_of(columns ? outputs
                         : rows  ? inputs * whole.outputs
                                 : 0)});
  tensors_.push_back({.own = {.name = {}, .first = number_of(bias), .rows = number_of(outputs), .columns = 1},
                      .first = number_of(whole.bias),
                      .stride = 1,
                      .step = number_of(columns ? outputs : 0)});
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

std::vector<std::int64_t> ClassifierSlice::sums(std::int64_t samples) const {
  std::vector<std::int64_t> all = sums_;
  for (std::int64_t& floats : all) floats *= samples;
  return all;
}

Result<double> ClassifierSlice::gradient(std::span<const float> x, const Shard& shard, std::span<float> room,
                                         std::span<float> g, SliceUse& use) {
  use.forth();
  COX_TRY(const double loss, forward(x, shard, room, use));
  use.back();
  COX_CHECK(backward(x, shard, room, g, use));
  return loss;
}

Result<double> ClassifierSlice::forward(std::span<const float> x, const Shard& shard, std::span<float> room,
                                        SliceUse& use) {
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
      COX_CHECK(use.sum(out));
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
                                 std::span<float> g, SliceUse& use) {
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
    if (layers_[l].split == Split::Columns && summed_) COX_CHECK(use.sum(before));
    cut_slopes(in, before.size(), before.data());
    slope = before.data();
  }
  for (float& v : g) v *= scale;
  return {};
}

}  // namespace cox::learn
