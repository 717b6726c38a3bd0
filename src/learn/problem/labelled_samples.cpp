// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/labelled_samples.hpp"

#include <algorithm>

#include "cox/base/random.hpp"

#include "learn/kernels/sample_normals.hpp"
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
  SampleNormals(spec_.seed, held_out ? kHeldOut : kFeatures).draw(number, features);
  std::ranges::copy(features, seen_.begin());
  if (spec_.noise > 0) {
    SampleNormals(spec_.seed, held_out ? kHeldOutNoise : kNoise).draw(number, noise_);
    for (std::size_t k = 0; k < seen_.size(); ++k) seen_[k] += spec_.noise * static_cast<double>(noise_[k]);
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
