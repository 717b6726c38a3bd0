// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/classifier_stage.hpp"

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

ClassifierStage::ClassifierStage(const ProblemSpec& spec, UnitStretch units) : samples_(spec) {
  const std::vector<DenseLayer> all = Classifier(spec).layers();
  COX_ASSERT(units.count > 0 && units.first + units.count <= all.size(), "units of the problem");
  first_ = units.first == 0;
  last_ = units.first + units.count == all.size();
  layers_.assign(all.begin() + static_cast<std::ptrdiff_t>(units.first),
                 all.begin() + static_cast<std::ptrdiff_t>(units.first + units.count));
  std::size_t kept = 0;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    places_.push_back(kept);
    if (l > 0 || first_) kept += layers_[l].inputs;
  }
  sizes_.taken = first_ ? 0 : static_cast<std::int64_t>(layers_.front().inputs);
  sizes_.given = last_ ? 0 : static_cast<std::int64_t>(layers_.back().outputs);
  sizes_.between = static_cast<std::int64_t>(kept - (first_ ? layers_.front().inputs : 0));
  places_.push_back(kept);  // of slopes by logits
  if (last_) kept += layers_.back().outputs;
  sizes_.kept = static_cast<std::int64_t>(kept);
  features_.resize(static_cast<std::size_t>(spec.dimension));
}

const float* ClassifierStage::into(std::size_t l, std::size_t count, std::span<const float> taken,
                                   std::span<const float> kept) const {
  return l == 0 && !first_ ? taken.data() : kept.data() + places_[l] * count;
}

const float* ClassifierStage::slopes_of(std::size_t l, std::size_t count, std::span<const float> kept,
                                        std::span<const float> of_given,
                                        std::span<const float> between) const {
  if (l + 1 < layers_.size()) return between.data() + (places_[l + 1] - places_[1]) * count;
  return last_ ? kept.data() + places_.back() * count : of_given.data();
}

double ClassifierStage::forward(std::span<const float> x, const Shard& shard, std::span<const float> taken,
                                std::span<float> kept, std::span<float> given) {
  const std::size_t count = size_of(shard);
  labels_.resize(count);
  for (std::size_t i = 0; i < count && (first_ || last_); ++i) {
    const std::span<float> room = first_ ? kept.subspan(i * features_.size(), features_.size()) : features_;
    labels_[i] = samples_.draw(shard.first + static_cast<std::int64_t>(i), false, room);
  }
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const bool end = l + 1 == layers_.size();
    float* out = end && !last_ ? given.data() : kept.data() + places_[l + 1] * count;
    layers_[l].forward(product_, x.data(), count, into(l, count, taken, kept), out);
    if (!(end && last_)) cut_below_zero(out, count * layers_[l].outputs);
  }
  if (!last_) return 0;
  ClassSums sums;
  cross_entropies(kept.subspan(places_.back() * count, count * layers_.back().outputs), labels_, sums, room_);
  return sums.loss / static_cast<double>(shard.count);
}

void ClassifierStage::backward(std::span<const float> x, const Shard& shard, std::span<const float> taken,
                               std::span<const float> kept, std::span<const float> of_given,
                               std::span<float> between, std::span<float> of_taken) {
  const std::size_t count = size_of(shard);
  for (std::size_t l = layers_.size(); l-- > 0;) {
    if (l == 0 && first_) break;
    float* before = l == 0 ? of_taken.data() : between.data() + (places_[l] - places_[1]) * count;
    layers_[l].backward(product_, x.data(), count, into(l, count, taken, kept),
                        slopes_of(l, count, kept, of_given, between), before);
  }
}

void ClassifierStage::gradient(const Shard& shard, std::span<const float> taken, std::span<const float> kept,
                               std::span<const float> of_given, std::span<const float> between,
                               std::span<float> g) {
  const std::size_t count = size_of(shard);
  const auto scale = static_cast<float>(1 / static_cast<double>(shard.count));
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const DenseLayer& layer = layers_[l];
    const std::span<float> own = g.subspan(layer.weights, (layer.inputs + 1) * layer.outputs);
    std::ranges::fill(own, 0.0F);
    layer.gradient(product_, g.data(), count, into(l, count, taken, kept),
                   slopes_of(l, count, kept, of_given, between));
    for (float& v : own) v *= scale;
  }
}

Result<std::unique_ptr<ProblemStage>> make_stage(const ProblemSpec& spec, UnitStretch units) {
  COX_TRY(const std::unique_ptr<Problem> whole, make_problem(spec));  // its fields are in range
  if (spec.kind != ProblemKind::Mlp && spec.kind != ProblemKind::Logistic)
    return std::unique_ptr<ProblemStage>{};
  COX_ASSERT(units.first + units.count <= whole->units().size(), "units of the problem");
  return std::make_unique<ClassifierStage>(spec, units);
}

}  // namespace cox::learn
