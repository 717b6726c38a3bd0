// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/convolution.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"
#include "cox/base/random.hpp"

#include "learn/kernels/sample_normals.hpp"
#include "learn/problem/streams.hpp"

namespace cox::learn {
namespace {

constexpr std::int64_t kPart = 64;
constexpr std::size_t kWindow = 9;
constexpr double kEpsilon = 1e-5;

std::int64_t floor_to(std::int64_t value, std::int64_t step) {
  const std::int64_t rest = value % step;
  return value - (rest < 0 ? rest + step : rest);
}

}  // namespace

Convolution::Convolution(const ProblemSpec& spec)
    : spec_(spec),
      side_(static_cast<std::size_t>(spec.side)),
      places_((side_ - 2) * (side_ - 2)),
      filters_(static_cast<std::size_t>(spec.filters)),
      classes_(static_cast<std::size_t>(spec.classes)),
      patterns_(classes_ * kWindow),
      pixels_(side_ * side_) {
  const auto add = [&](const char* name, std::int64_t rows, std::int64_t columns) {
    tensors_.push_back({.name = name, .first = parameters(), .rows = rows, .columns = columns});
    return tensors_.size() - 1;
  };
  add("filters", kWindow, spec.filters);
  if (normalises()) gain_ = add("gain", spec.filters, 1);
  shift_ = add("shift", spec.filters, 1);
  weights_ = add("weights", spec.filters, spec.classes);
  bias_ = add("bias", spec.classes, 1);
  SampleNormals(spec.seed, kTruth).draw(0, patterns_);
}

void Convolution::initial(std::span<float> x) const {
  std::ranges::fill(x, 0.0F);
  const SampleNormals normals(spec_.seed, kWeights);
  for (const std::size_t t : {std::size_t{0}, weights_}) {
    const std::span<float> weights = x.subspan(at(t), static_cast<std::size_t>(tensors_[t].size()));
    normals.draw(static_cast<std::int64_t>(t), weights);
    const auto deviation = static_cast<float>(std::sqrt(2 / static_cast<double>(tensors_[t].rows)));
    for (float& w : weights) w *= deviation;
  }
  if (normalises()) std::ranges::fill(x.subspan(at(gain_), filters_), 1.0F);
}

std::size_t Convolution::draw(std::int64_t number, bool held_out, std::span<float> pixels) const {
  std::ranges::fill(pixels, 0.0F);
  if (spec_.noise > 0) {
    SampleNormals(spec_.seed, held_out ? kHeldOut : kFeatures).draw(number, pixels);
    for (float& v : pixels) v *= static_cast<float>(spec_.noise);
  }
  const RandomStream draws(static_cast<std::uint64_t>(spec_.seed), held_out ? kHeldOutPlaces : kPlaces);
  const std::size_t label = draws.bits(static_cast<std::uint64_t>(number), 0) % classes_;
  const std::size_t place = draws.bits(static_cast<std::uint64_t>(number), 1) % places_;
  const std::size_t corner = place / (side_ - 2) * side_ + place % (side_ - 2);
  for (std::size_t k = 0; k < kWindow; ++k)
    pixels[corner + k / 3 * side_ + k % 3] += patterns_[label * kWindow + k];
  return label;
}

/// Windows and z of a block of at most kPart samples.
void Convolution::load(std::span<const float> x, const Block& block) {
  part_.count = static_cast<std::size_t>(block.count);
  part_.labels.resize(part_.count);
  part_.windows.resize(part_.count * places_ * kWindow);
  float* to = part_.windows.data();
  for (std::size_t i = 0; i < part_.count; ++i) {
    part_.labels[i] = draw(block.first + static_cast<std::int64_t>(i), block.held_out, pixels_);
    for (std::size_t place = 0; place < places_; ++place) {
      const float* corner = pixels_.data() + place / (side_ - 2) * side_ + place % (side_ - 2);
      for (std::size_t k = 0; k < kWindow; ++k) *to++ = corner[k / 3 * side_ + k % 3];
    }
  }
  const std::size_t rows = part_.count * places_;
  part_.z.assign(rows * filters_, 0.0F);
  product_.add(rows, filters_, kWindow, rows_of(part_.windows.data(), kWindow), rows_of(x.data(), filters_),
               part_.z.data());
}

template <class Use>
void Convolution::for_parts(std::span<const float> x, const Block& block, const Use& use) {
  for (std::int64_t done = 0; done < block.count; done += kPart) {
    load(x, {.first = block.first + done,
             .count = std::min(kPart, block.count - done),
             .held_out = block.held_out});
    use();
  }
}

void Convolution::normalise() {
  if (!normalises()) return;
  for (float* row = part_.z.data(); row != part_.z.data() + part_.z.size(); row += filters_)
    for (std::size_t f = 0; f < filters_; ++f)
      row[f] =
          static_cast<float>((static_cast<double>(row[f]) - moments_.mean[f]) * moments_.over_deviation[f]);
}

/// From what is normalised to logits.
void Convolution::pool(std::span<const float> x) {
  part_.pooled.assign(part_.count * filters_, 0.0F);
  const float* value = part_.z.data();
  for (std::size_t i = 0; i < part_.count; ++i) {
    float* mean = part_.pooled.data() + i * filters_;
    for (std::size_t place = 0; place < places_; ++place) {
      for (std::size_t f = 0; f < filters_; ++f) {
        const float y = output(x, value[f], f);
        mean[f] += y < 0 ? 0 : y;  // NaN stays NaN
      }
      value += filters_;
    }
    for (std::size_t f = 0; f < filters_; ++f) mean[f] /= static_cast<float>(places_);
  }
  const float* bias = x.data() + at(bias_);
  part_.logits.resize(part_.count * classes_);
  for (std::size_t i = 0; i < part_.count; ++i)
    std::copy(bias, bias + classes_, part_.logits.data() + i * classes_);
  product_.add(part_.count, classes_, filters_, rows_of(part_.pooled.data(), filters_),
               rows_of(x.data() + at(weights_), classes_), part_.logits.data());
}

void Convolution::losses(ClassSums& sums) {
  cross_entropies(part_.logits, part_.labels, sums, room_);
}

/// Of the loss by each value before max(0, y), where y is above 0: the same for all places of a sample.
void Convolution::slopes(std::span<const float> x) {
  part_.slope.assign(part_.count * filters_, 0.0F);
  product_.add(part_.count, filters_, classes_, rows_of(part_.logits.data(), classes_),
               columns_of(x.data() + at(weights_), classes_), part_.slope.data());
  for (float& v : part_.slope) v /= static_cast<float>(places_);
}

/// m and v of a group.
void Convolution::measure(std::span<const float> x, const Block& group) {
  std::vector<double> sum(filters_), squares(filters_);
  for_parts(x, group, [&] {
    for (const float* row = part_.z.data(); row != part_.z.data() + part_.z.size(); row += filters_)
      for (std::size_t f = 0; f < filters_; ++f) {
        const auto value = static_cast<double>(row[f]);
        sum[f] += value;
        squares[f] += value * value;
      }
  });
  const double n = static_cast<double>(group.count) * static_cast<double>(places_);
  moments_.mean.resize(filters_);
  moments_.over_deviation.resize(filters_);
  for (std::size_t f = 0; f < filters_; ++f) {
    moments_.mean[f] = sum[f] / n;
    const double variance = squares[f] / n - moments_.mean[f] * moments_.mean[f];
    moments_.over_deviation[f] = 1 / std::sqrt((variance < 0 ? 0 : variance) + kEpsilon);
  }
}

/// What goes back through m and v: means over the group of the slope, and of the slope times the value.
void Convolution::measure_slopes(std::span<const float> x, const Block& group) {
  std::vector<double> sum(filters_), product(filters_);
  for_parts(x, group, [&] {
    normalise();
    pool(x);
    ClassSums unused;
    losses(unused);
    slopes(x);
    for (std::size_t row = 0; row < part_.count * places_; ++row) {
      const float* value = part_.z.data() + row * filters_;
      const float* of_sample = part_.slope.data() + row / places_ * filters_;
      for (std::size_t f = 0; f < filters_; ++f) {
        if (output(x, value[f], f) <= 0) continue;
        const auto slope = static_cast<double>(of_sample[f] * x[at(gain_) + f]);
        sum[f] += slope;
        product[f] += slope * static_cast<double>(value[f]);
      }
    }
  });
  const double n = static_cast<double>(group.count) * static_cast<double>(places_);
  moments_.slope.resize(filters_);
  moments_.slope_value.resize(filters_);
  for (std::size_t f = 0; f < filters_; ++f) {
    moments_.slope[f] = sum[f] / n;
    moments_.slope_value[f] = product[f] / n;
  }
}

/// Shards of one group at the same parameters share its moments; so do the bits, since they are computed alike.
void Convolution::share_moments(std::span<const float> x, const Block& group) {
  if (!normalises() || (measured_ == group && std::ranges::equal(measured_x_, x))) return;
  measure(x, group);
  measure_slopes(x, group);
  measured_ = group;
  measured_x_.assign(x.begin(), x.end());
}

/// Adds the part's gradient to g.
void Convolution::backward(std::span<const float> x, std::span<float> g) {
  const std::vector<float>& of_logits = part_.logits;
  for (std::size_t i = 0; i < part_.count; ++i)
    for (std::size_t c = 0; c < classes_; ++c) g[at(bias_) + c] += of_logits[i * classes_ + c];
  product_.add(filters_, classes_, part_.count, columns_of(part_.pooled.data(), filters_),
               rows_of(of_logits.data(), classes_), g.data() + at(weights_));
  for (std::size_t row = 0; row < part_.count * places_; ++row) {
    float* values = part_.z.data() + row * filters_;
    const float* of_sample = part_.slope.data() + row / places_ * filters_;
    for (std::size_t f = 0; f < filters_; ++f) {
      const float value = values[f];
      const float slope = output(x, value, f) > 0 ? of_sample[f] : 0;
      g[at(shift_) + f] += slope;
      values[f] = slope;
      if (!normalises()) continue;
      g[at(gain_) + f] += slope * value;
      values[f] = static_cast<float>(moments_.over_deviation[f] *
                                     (static_cast<double>(slope * x[at(gain_) + f]) - moments_.slope[f] -
                                      static_cast<double>(value) * moments_.slope_value[f]));
    }
  }
  product_.add(kWindow, filters_, part_.count * places_, columns_of(part_.windows.data(), kWindow),
               rows_of(part_.z.data(), filters_), g.data());
}

/// Of a block within one group. Returns the sum of its losses.
double Convolution::add_gradient(std::span<const float> x, const Block& shard, std::span<float> g) {
  ClassSums sums;
  for_parts(x, shard, [&] {
    normalise();
    pool(x);
    losses(sums);
    slopes(x);
    backward(x, g);
  });
  return sums.loss;
}

double Convolution::gradient(std::span<const float> x, const Shard& shard, std::span<float> g) {
  COX_ASSERT(x.size() == g.size() && static_cast<std::int64_t>(x.size()) == parameters() && shard.count > 0,
             "sizes are the problem's");
  std::ranges::fill(g, 0.0F);
  double loss = 0;
  const std::int64_t end = shard.first + shard.count;
  for (std::int64_t first = shard.first; first < end;) {
    Block group{.first = shard.first, .count = shard.count};
    if (spec_.group > 0) group = {.first = floor_to(first, spec_.group), .count = spec_.group};
    const std::int64_t last = std::min(end, group.first + group.count);
    share_moments(x, group);
    loss += add_gradient(x, {.first = first, .count = last - first}, g);
    first = last;
  }
  const auto scale = static_cast<float>(1 / static_cast<double>(shard.count));
  for (float& v : g) v *= scale;
  return loss / static_cast<double>(shard.count);
}

Score Convolution::score(std::span<const float> x) {
  if (normalises()) {
    measure(x, {.first = 0, .count = kCalibration});
    measured_ = {};  // of no group with slopes
  }
  ClassSums sums;
  for_parts(x, {.first = 0, .count = spec_.held_out, .held_out = true}, [&] {
    normalise();
    pool(x);
    losses(sums);
  });
  return sums.score(spec_.held_out);
}

Flops Convolution::flops() const {
  return Flops{static_cast<double>(4 * kWindow * filters_ * places_ + 6 * filters_ * classes_)};
}

}  // namespace cox::learn
