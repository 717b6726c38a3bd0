// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/classifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"

#include "learn/kernels/sample_normals.hpp"
#include "learn/problem/streams.hpp"

namespace cox::learn {
namespace {

constexpr std::size_t kPart = 256;

}  // namespace

Classifier::Classifier(const ProblemSpec& spec) : spec_(spec), samples_(spec) {
  widths_.push_back(static_cast<std::size_t>(spec.dimension));
  if (spec.kind == ProblemKind::Mlp)
    widths_.insert(widths_.end(), static_cast<std::size_t>(spec.layers),
                   static_cast<std::size_t>(spec.hidden));
  widths_.push_back(samples_.classes());
  std::int64_t at = 0;
  for (std::size_t l = 1; l < widths_.size(); ++l) {
    const auto inputs = static_cast<std::int64_t>(widths_[l - 1]);
    const auto outputs = static_cast<std::int64_t>(widths_[l]);
    tensors_.push_back(
        {.name = fmt::format("weights.{}", l), .first = at, .rows = inputs, .columns = outputs});
    tensors_.push_back(
        {.name = fmt::format("bias.{}", l), .first = at + inputs * outputs, .rows = outputs, .columns = 1});
    const auto blocks = static_cast<std::size_t>(spec.blocks);
    layers_.push_back(
        {.inputs = widths_[l - 1],
         .outputs = widths_[l],
         .weights = static_cast<std::size_t>(at),
         .bias = static_cast<std::size_t>(at + inputs * outputs),
         .forward_blocks = split_of(l - 1, widths_.size() - 1) == Split::Rows ? blocks : 1,
         .backward_blocks = split_of(l - 1, widths_.size() - 1) == Split::Columns ? blocks : 1});
    at += (inputs + 1) * outputs;
  }
  part_.values.resize(widths_.size());
}

void Classifier::initial(std::span<float> x) const {
  std::ranges::fill(x, 0.0F);
  if (spec_.kind == ProblemKind::Logistic) return;
  const SampleNormals normals(spec_.seed, kWeights);
  for (std::size_t t = 0; t < tensors_.size(); t += 2) {
    const std::span<float> weights =
        x.subspan(static_cast<std::size_t>(tensors_[t].first), static_cast<std::size_t>(tensors_[t].size()));
    normals.draw(static_cast<std::int64_t>(t), weights);
    const auto deviation = static_cast<float>(std::sqrt(2 / static_cast<double>(tensors_[t].rows)));
    for (float& w : weights) w *= deviation;
  }
}

void Classifier::draw(std::int64_t first, std::size_t count, bool held_out) {
  const std::size_t width = widths_.front();
  part_.count = count;
  part_.labels.resize(count);
  part_.values.front().resize(count * width);
  for (std::size_t i = 0; i < count; ++i)
    part_.labels[i] = samples_.draw(first + static_cast<std::int64_t>(i), held_out,
                                    std::span(part_.values.front()).subspan(i * width, width));
}

std::vector<ParameterUnit> Classifier::units() const {
  std::vector<ParameterUnit> all;
  for (std::size_t t = 0; t < tensors_.size(); t += 2)
    all.push_back({.first = tensors_[t].first, .count = tensors_[t].size() + tensors_[t + 1].size()});
  return all;
}

std::int64_t Classifier::passes(std::int64_t samples) const {
  const auto most = static_cast<std::int64_t>(kPart);
  return (samples + most - 1) / most;
}

std::span<float> Classifier::of_layer(std::span<float> g, std::size_t layer) const {
  const Tensor& weights = tensors_[2 * layer];
  return g.subspan(static_cast<std::size_t>(weights.first),
                   static_cast<std::size_t>(weights.size() + tensors_[2 * layer + 1].size()));
}

void Classifier::forward(std::span<const float> x, UnitUse& use) {
  for (std::size_t l = 1; l < widths_.size(); ++l) {
    use.need(l - 1);
    std::vector<float>& out = part_.values[l];
    out.resize(part_.count * widths_[l]);
    layers_[l - 1].forward(product_, x.data(), part_.count, part_.values[l - 1].data(), out.data());
    if (l + 1 == widths_.size()) break;
    use.release(l - 1);
    cut_below_zero(out.data(), out.size());
  }
}

void Classifier::losses(ClassSums& sums) {
  cross_entropies(part_.values.back(), part_.labels, sums, room_);
}

/// Adds to g. What is after the last layer is the slope already.
void Classifier::backward(std::span<const float> x, std::span<float> g, UnitUse& use) {
  slope_ = part_.values.back();
  for (std::size_t l = widths_.size() - 1; l > 0; --l) {
    const std::vector<float>& in = part_.values[l - 1];
    if (l > 1 && l + 1 < widths_.size()) use.need(l - 1);
    if (first_pass_) {
      use.open(l - 1);
      std::ranges::fill(of_layer(g, l - 1), 0.0F);
    }
    const DenseLayer& dense = layers_[l - 1];
    dense.gradient(product_, g.data(), part_.count, in.data(), slope_.data());
    if (l > 1) {
      before_.resize(part_.count * dense.inputs);
      dense.backward(product_, x.data(), part_.count, in.data(), slope_.data(), before_.data());
      std::swap(slope_, before_);
    }
    if (l > 1 || widths_.size() == 2) use.release(l - 1);
    if (!last_pass_) continue;
    for (float& v : of_layer(g, l - 1)) v *= scale_;
    use.done(l - 1);
  }
}

double Classifier::gradient(std::span<const float> x, const Shard& shard, std::span<float> g) {
  UnitUse nobody;
  return gradient_by_units(x, shard, g, nobody);
}

double Classifier::gradient_by_units(std::span<const float> x, const Shard& shard, std::span<float> g,
                                     UnitUse& use) {
  COX_ASSERT(x.size() == g.size() && static_cast<std::int64_t>(x.size()) == parameters() && shard.count > 0,
             "sizes are the problem's");
  scale_ = static_cast<float>(1 / static_cast<double>(shard.count));
  const ClassSums all =
      by_parts(shard.first, shard.count, kPart, [&](std::int64_t first, std::size_t count, ClassSums& sums) {
        first_pass_ = first == shard.first;
        last_pass_ = first + static_cast<std::int64_t>(count) == shard.first + shard.count;
        draw(first, count, false);
        forward(x, use);
        losses(sums);
        backward(x, g, use);
      });
  return all.loss / static_cast<double>(shard.count);
}

Score Classifier::score(std::span<const float> x) {
  UnitUse nobody;
  const auto part = [&](std::int64_t first, std::size_t count, ClassSums& sums) {
    draw(first, count, true);
    forward(x, nobody);
    losses(sums);
  };
  return by_parts(0, spec_.held_out, kPart, part).score(spec_.held_out);
}

Flops Classifier::flops() const {
  double weights = 0;
  for (std::size_t t = 0; t < tensors_.size(); t += 2) weights += static_cast<double>(tensors_[t].size());
  const auto first = static_cast<double>(tensors_.front().size());
  return Flops{6 * weights -
               2 * first};  // forward 2, backward 4 per weight; nothing goes back beyond the first layer
}

}  // namespace cox::learn
