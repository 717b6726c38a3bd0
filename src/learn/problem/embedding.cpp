// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/embedding.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"
#include "cox/base/random.hpp"

#include "learn/kernels/sample_normals.hpp"
#include "learn/problem/streams.hpp"

namespace cox::learn {
namespace {

constexpr std::size_t kPart = 256;

enum Place : std::size_t { kRows, kWeightsOfClasses, kBias };

}  // namespace

Embedding::Embedding(const ProblemSpec& spec)
    : spec_(spec),
      bag_(static_cast<std::size_t>(spec.bag)),
      width_(static_cast<std::size_t>(spec.width)),
      classes_(static_cast<std::size_t>(spec.classes)),
      up_to_(static_cast<std::size_t>(spec.keys)),
      truth_(up_to_.size() * classes_),
      noise_(classes_),
      seen_(classes_) {
  const std::int64_t rows = spec.keys * spec.width;
  const std::int64_t weights = spec.width * spec.classes;
  tensors_ = {{.name = "rows", .first = 0, .rows = spec.keys, .columns = spec.width},
              {.name = "weights", .first = rows, .rows = spec.width, .columns = spec.classes},
              {.name = "bias", .first = rows + weights, .rows = spec.classes, .columns = 1}};
  double sum = 0;
  for (std::size_t r = 0; r < up_to_.size(); ++r)
    up_to_[r] = sum += power(static_cast<double>(r + 1), -spec.zipf);
  for (double& v : up_to_) v /= sum;
  SampleNormals(spec.seed, kTruth).draw(0, truth_);
}

void Embedding::initial(std::span<float> x) const {
  std::ranges::fill(x, 0.0F);
  const SampleNormals normals(spec_.seed, kWeights);
  const auto deviation = static_cast<float>(1 / std::sqrt(static_cast<double>(width_)));
  for (const std::size_t t : {kRows, kWeightsOfClasses}) {
    const std::span<float> weights =
        x.subspan(static_cast<std::size_t>(tensors_[t].first), static_cast<std::size_t>(tensors_[t].size()));
    normals.draw(static_cast<std::int64_t>(t), weights);
    for (float& w : weights) w *= deviation;
  }
}

void Embedding::keys_of(std::int64_t number, bool held_out, std::span<std::size_t> keys) const {
  COX_ASSERT(keys.size() == bag_, "room for a bag");
  const RandomStream draws(static_cast<std::uint64_t>(spec_.seed), held_out ? kHeldOut : kFeatures);
  for (std::size_t i = 0; i < bag_; ++i) {
    const auto at = std::ranges::upper_bound(up_to_, draws.uniform(static_cast<std::uint64_t>(number), i));
    keys[i] = std::min(static_cast<std::size_t>(at - up_to_.begin()), up_to_.size() - 1);
  }
}

std::size_t Embedding::label_of(std::int64_t number, bool held_out, std::span<const std::size_t> keys) {
  std::ranges::fill(seen_, 0);
  for (const std::size_t key : keys)
    for (std::size_t c = 0; c < classes_; ++c) seen_[c] += static_cast<double>(truth_[key * classes_ + c]);
  if (spec_.noise > 0) {
    SampleNormals(spec_.seed, held_out ? kHeldOutNoise : kNoise).draw(number, noise_);
    for (std::size_t c = 0; c < classes_; ++c) seen_[c] += spec_.noise * static_cast<double>(noise_[c]);
  }
  return static_cast<std::size_t>(std::ranges::max_element(seen_) - seen_.begin());
}

void Embedding::draw(std::int64_t first, std::size_t count, bool held_out) {
  part_.count = count;
  part_.labels.resize(count);
  part_.keys.resize(count * bag_);
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<std::size_t> keys = std::span(part_.keys).subspan(i * bag_, bag_);
    const std::int64_t number = first + static_cast<std::int64_t>(i);
    keys_of(number, held_out, keys);
    part_.labels[i] = label_of(number, held_out, keys);
  }
}

void Embedding::forward(std::span<const float> x) {
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(bag_)));
  part_.hidden.assign(part_.count * width_, 0.0F);
  for (std::size_t i = 0; i < part_.count; ++i) {
    float* h = part_.hidden.data() + i * width_;
    for (std::size_t k = 0; k < bag_; ++k) {
      const float* row = x.data() + part_.keys[i * bag_ + k] * width_;
      for (std::size_t j = 0; j < width_; ++j) h[j] += row[j];
    }
    for (std::size_t j = 0; j < width_; ++j) h[j] *= scale;
  }
  const float* bias = x.data() + tensors_[kBias].first;
  part_.logits.resize(part_.count * classes_);
  for (std::size_t i = 0; i < part_.count; ++i)
    std::copy(bias, bias + classes_, part_.logits.data() + i * classes_);
  product_.add(part_.count, classes_, width_, rows_of(part_.hidden.data(), width_),
               rows_of(x.data() + tensors_[kWeightsOfClasses].first, classes_), part_.logits.data());
}

void Embedding::losses(ClassSums& sums) {
  cross_entropies(part_.logits, part_.labels, sums, room_);
}

/// Adds to g.
void Embedding::backward(std::span<const float> x, std::span<float> g) {
  const std::vector<float>& slope = part_.logits;
  float* bias = g.data() + tensors_[kBias].first;
  for (std::size_t i = 0; i < part_.count; ++i)
    for (std::size_t c = 0; c < classes_; ++c) bias[c] += slope[i * classes_ + c];
  product_.add(width_, classes_, part_.count, columns_of(part_.hidden.data(), width_),
               rows_of(slope.data(), classes_), g.data() + tensors_[kWeightsOfClasses].first);
  slope_.assign(part_.count * width_, 0.0F);
  product_.add(part_.count, width_, classes_, rows_of(slope.data(), classes_),
               columns_of(x.data() + tensors_[kWeightsOfClasses].first, classes_), slope_.data());
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(bag_)));
  for (std::size_t i = 0; i < part_.count; ++i)
    for (std::size_t k = 0; k < bag_; ++k) {
      float* row = g.data() + part_.keys[i * bag_ + k] * width_;
      for (std::size_t j = 0; j < width_; ++j) row[j] += scale * slope_[i * width_ + j];
    }
}

void Embedding::touched(const Shard& shard, std::vector<ParameterUnit>& ranges) const {
  const auto width = static_cast<std::int64_t>(width_);
  std::vector<std::size_t> keys(bag_);
  for (std::int64_t i = 0; i < shard.count; ++i) {
    keys_of(shard.first + i, false, keys);
    for (const std::size_t key : keys)
      ranges.push_back({.first = static_cast<std::int64_t>(key) * width, .count = width});
  }
  const std::int64_t dense = tensors_[kWeightsOfClasses].first;
  ranges.push_back({.first = dense, .count = parameters() - dense});
}

double Embedding::gradient(std::span<const float> x, const Shard& shard, std::span<float> g) {
  COX_ASSERT(x.size() == g.size() && static_cast<std::int64_t>(x.size()) == parameters() && shard.count > 0,
             "sizes are the problem's");
  return mean_gradient(shard, kPart, g, [&](std::int64_t first, std::size_t count, ClassSums& sums) {
    draw(first, count, false);
    forward(x);
    losses(sums);
    backward(x, g);
  });
}

Score Embedding::score(std::span<const float> x) {
  const auto part = [&](std::int64_t first, std::size_t count, ClassSums& sums) {
    draw(first, count, true);
    forward(x);
    losses(sums);
  };
  return by_parts(0, spec_.held_out, kPart, part).score(spec_.held_out);
}

Flops Embedding::flops() const {
  return Flops{static_cast<double>(6 * width_ * classes_ + 4 * bag_ * width_)};
}

}  // namespace cox::learn
