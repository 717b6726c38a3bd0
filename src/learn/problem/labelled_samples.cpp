// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/labelled_samples.hpp"

#include <algorithm>

#include "learn/problem/streams.hpp"

namespace cox::learn {

LabelledSamples::LabelledSamples(const ProblemSpec& spec)
    : spec_(spec),
      classes_(spec.kind == ProblemKind::Logistic ? static_cast<std::size_t>(spec.classes)
                                                  : std::size_t{1} << spec.pairs),
      seen_(static_cast<std::size_t>(spec.dimension)),
      noise_(seen_.size()) {
  if (spec.kind != ProblemKind::Logistic) return;
  rows_.resize(classes_ * seen_.size());
  RandomStream(static_cast<std::uint64_t>(spec.seed), kTruth).normals(0, 0, rows_);
}

std::size_t LabelledSamples::draw(std::int64_t number, bool held_out, std::span<float> features) {
  const auto seed = static_cast<std::uint64_t>(spec_.seed);
  const auto step = static_cast<std::uint64_t>(number);
  RandomStream(seed, held_out ? kHeldOut : kFeatures).normals32(step, 0, seen_);
  std::ranges::transform(seen_, features.begin(), [](double v) { return static_cast<float>(v); });
  if (spec_.noise > 0) {
    RandomStream(seed, held_out ? kHeldOutNoise : kNoise).normals32(step, 0, noise_);
    for (std::size_t k = 0; k < seen_.size(); ++k) seen_[k] += spec_.noise * noise_[k];
  }
  return rows_.empty() ? class_of_signs() : class_of_product();
}

std::size_t LabelledSamples::class_of_signs() const {
  std::size_t label = 0;
  for (std::size_t pair = 0; pair < static_cast<std::size_t>(spec_.pairs); ++pair)
    if ((seen_[2 * pair] > 0) == (seen_[2 * pair + 1] > 0)) label |= std::size_t{1} << pair;
  return label;
}

std::size_t LabelledSamples::class_of_product() const {
  std::size_t best = 0;
  double largest = 0;
  for (std::size_t c = 0; c < classes_; ++c) {
    double product = 0;
    for (std::size_t k = 0; k < seen_.size(); ++k) product += rows_[c * seen_.size() + k] * seen_[k];
    if (c > 0 && product <= largest) continue;
    best = c;
    largest = product;
  }
  return best;
}

}  // namespace cox::learn
