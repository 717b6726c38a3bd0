// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/experts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"
#include "cox/base/random.hpp"

#include "learn/kernels/sample_normals.hpp"
#include "learn/problem/streams.hpp"

namespace cox::learn {
namespace {

constexpr float kApart = 2;  ///< centres, in standard deviations of a token

enum Place : std::size_t { kRouter, kBias, kExperts };

std::size_t weights_of(std::size_t expert) {
  return kExperts + 2 * expert;
}

}  // namespace

Experts::Experts(const ProblemSpec& spec)
    : spec_(spec),
      width_(static_cast<std::size_t>(spec.width)),
      experts_(static_cast<std::size_t>(spec.experts)),
      top_(static_cast<std::size_t>(spec.top)),
      classes_(static_cast<std::size_t>(spec.classes)),
      up_to_(static_cast<std::size_t>(spec.kinds)),
      centres_(up_to_.size() * width_),
      truth_(up_to_.size() * classes_ * width_),
      noise_(classes_) {
  const auto add = [&](std::string name, std::int64_t rows, std::int64_t columns) {
    tensors_.push_back({.name = std::move(name), .first = parameters(), .rows = rows, .columns = columns});
  };
  add("router", spec.width, spec.experts);
  add("bias", spec.classes, 1);
  for (std::int64_t e = 1; e <= spec.experts; ++e) {
    add(fmt::format("weights.{}", e), spec.width, spec.classes);
    add(fmt::format("bias.{}", e), spec.classes, 1);
  }
  double sum = 0;
  for (std::size_t k = 0; k < up_to_.size(); ++k)
    up_to_[k] = sum += power(static_cast<double>(k + 1), -spec.zipf);
  for (double& v : up_to_) v /= sum;
  const SampleNormals normals(spec.seed, kTruth);
  normals.draw(0, centres_);
  for (float& v : centres_) v *= kApart;
  normals.draw(1, truth_);
}

void Experts::initial(std::span<float> x) const {
  std::ranges::fill(x, 0.0F);
  const SampleNormals normals(spec_.seed, kWeights);
  const auto deviation = static_cast<float>(1 / std::sqrt(static_cast<double>(width_)));
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    if (tensors_[t].columns == 1) continue;
    const std::span<float> weights = x.subspan(at(t), static_cast<std::size_t>(tensors_[t].size()));
    normals.draw(static_cast<std::int64_t>(t), weights);
    for (float& w : weights) w *= deviation;
  }
}

std::size_t Experts::draw(std::int64_t number, bool held_out, std::span<float> token) {
  const RandomStream draws(static_cast<std::uint64_t>(spec_.seed), held_out ? kHeldOutPlaces : kPlaces);
  const auto found = std::ranges::upper_bound(up_to_, draws.uniform(static_cast<std::uint64_t>(number), 0));
  const std::size_t kind = std::min(static_cast<std::size_t>(found - up_to_.begin()), up_to_.size() - 1);
  SampleNormals(spec_.seed, held_out ? kHeldOut : kFeatures).draw(number, token);
  std::ranges::fill(noise_, 0.0F);
  if (spec_.noise > 0) SampleNormals(spec_.seed, held_out ? kHeldOutNoise : kNoise).draw(number, noise_);
  std::size_t best = 0;
  double largest = 0;
  for (std::size_t c = 0; c < classes_; ++c) {
    double product = spec_.noise * static_cast<double>(noise_[c]);
    const float* row = truth_.data() + (kind * classes_ + c) * width_;
    for (std::size_t k = 0; k < width_; ++k) product += static_cast<double>(row[k] * token[k]);
    if (c > 0 && product <= largest) continue;
    best = c;
    largest = product;
  }
  for (std::size_t k = 0; k < width_; ++k) token[k] += centres_[kind * width_ + k];
  return best;
}

std::int64_t Experts::room(std::int64_t tokens) const {
  const auto all = static_cast<double>(tokens) * static_cast<double>(top_);
  if (spec_.capacity <= 0) return tokens;
  return std::min(tokens,
                  static_cast<std::int64_t>(std::ceil(spec_.capacity * all / static_cast<double>(experts_))));
}

/// Tokens, their labels and p.
void Experts::load(std::span<const float> x, std::int64_t first, std::size_t count, bool held_out) {
  part_.count = count;
  part_.labels.resize(count);
  part_.tokens.resize(count * width_);
  for (std::size_t i = 0; i < count; ++i)
    part_.labels[i] = draw(first + static_cast<std::int64_t>(i), held_out,
                           std::span(part_.tokens).subspan(i * width_, width_));
  part_.p.assign(count * experts_, 0.0F);
  product_.add(count, experts_, width_, rows_of(part_.tokens.data(), width_),
               rows_of(x.data() + at(kRouter), experts_), part_.p.data());
  for (std::size_t i = 0; i < count; ++i) softmax(std::span(part_.p).subspan(i * experts_, experts_), room_);
}

template <class Use>
void Experts::for_parts(std::span<const float> x, const Shard& shard, bool held_out, const Use& use) {
  for (std::int64_t done = 0; done < shard.count; done += kBlock) {
    load(x, shard.first + done, static_cast<std::size_t>(std::min(kBlock, shard.count - done)), held_out);
    use(static_cast<std::size_t>(done));
  }
}

/// Choices of a whole shard, and who finds room.
void Experts::choose(std::span<const float> x, const Shard& shard, bool held_out) {
  const auto tokens = static_cast<std::size_t>(shard.count);
  routes_.expert.resize(tokens * top_);
  routes_.kept.assign(tokens * top_, 0);
  routes_.first.assign(experts_, 0);
  routes_.taken.assign(experts_, 0);
  routes_.mean.assign(experts_, 0);
  for_parts(x, shard, held_out, [&](std::size_t done) {
    for (std::size_t i = 0; i < part_.count; ++i) {
      const std::span<const float> p = std::span(part_.p).subspan(i * experts_, experts_);
      const auto best = static_cast<std::size_t>(std::ranges::max_element(p) - p.begin());
      std::size_t* choice = routes_.expert.data() + (done + i) * top_;
      choice[0] = best;
      ++routes_.first[best];
      for (std::size_t e = 0; e < experts_; ++e) routes_.mean[e] += static_cast<double>(p[e]);
      if (top_ == 1) continue;
      choice[1] = best == 0 ? 1 : 0;
      for (std::size_t e = 0; e < experts_; ++e)
        if (e != best && p[e] > p[choice[1]]) choice[1] = e;
    }
  });
  for (double& v : routes_.mean) v /= static_cast<double>(shard.count);
  const std::int64_t most = room(shard.count);
  for (std::size_t j = 0; j < top_; ++j)
    for (std::size_t i = 0; i < tokens; ++i) {
      std::int64_t& taken = routes_.taken[routes_.expert[i * top_ + j]];
      if (taken == most) continue;
      ++taken;
      routes_.kept[i * top_ + j] = 1;
    }
}

double Experts::balance_loss(std::int64_t tokens) const {
  double sum = 0;
  for (std::size_t e = 0; e < experts_; ++e)
    sum += static_cast<double>(routes_.first[e]) / static_cast<double>(tokens) * routes_.mean[e];
  return spec_.balance * static_cast<double>(experts_) * sum;
}

/// What each choice of the part that begins at token `done` of the shard is multiplied with.
void Experts::gate(std::size_t done) {
  part_.gates.resize(part_.count * top_);
  for (std::size_t i = 0; i < part_.count; ++i) {
    const float* p = part_.p.data() + i * experts_;
    const std::size_t* choice = routes_.expert.data() + (done + i) * top_;
    float* gates = part_.gates.data() + i * top_;
    gates[0] = p[choice[0]];
    if (top_ == 1) continue;
    const float both = p[choice[0]] + p[choice[1]];
    gates[0] /= both;
    gates[1] = p[choice[1]] / both;
  }
}

void Experts::gather(std::size_t e, std::size_t done) {
  gathered_.clear();
  choices_.clear();
  for (std::size_t k = 0; k < part_.count * top_; ++k) {
    if (routes_.kept[done * top_ + k] == 0 || routes_.expert[done * top_ + k] != e) continue;
    choices_.push_back(k);
    const auto token = part_.tokens.begin() + static_cast<std::ptrdiff_t>(k / top_ * width_);
    gathered_.insert(gathered_.end(), token, token + static_cast<std::ptrdiff_t>(width_));
  }
}

void Experts::forward(std::span<const float> x, std::size_t done) {
  gate(done);
  part_.outputs.assign(part_.count * top_ * classes_, 0.0F);
  for (std::size_t e = 0; e < experts_; ++e) {
    gather(e, done);
    const float* bias = x.data() + at(weights_of(e) + 1);
    slopes_.resize(choices_.size() * classes_);
    for (std::size_t n = 0; n < choices_.size(); ++n)
      std::copy(bias, bias + classes_, slopes_.data() + n * classes_);
    product_.add(choices_.size(), classes_, width_, rows_of(gathered_.data(), width_),
                 rows_of(x.data() + at(weights_of(e)), classes_), slopes_.data());
    for (std::size_t n = 0; n < choices_.size(); ++n)
      std::copy_n(slopes_.data() + n * classes_, classes_, part_.outputs.data() + choices_[n] * classes_);
  }
  part_.logits.resize(part_.count * classes_);
  for (std::size_t i = 0; i < part_.count; ++i)
    for (std::size_t c = 0; c < classes_; ++c) {
      float sum = x[at(kBias) + c];
      for (std::size_t j = 0; j < top_; ++j)
        sum += part_.gates[i * top_ + j] * part_.outputs[(i * top_ + j) * classes_ + c];
      part_.logits[i * classes_ + c] = sum;
    }
}

/// From slopes by gates, and the balance, to those by the router's logits.
void Experts::slope_of_router(std::size_t done) {
  const auto tokens = static_cast<double>(routes_.expert.size() / top_);
  of_router_.resize(part_.count * experts_);
  for (std::size_t i = 0; i < part_.count; ++i) {
    const float* p = part_.p.data() + i * experts_;
    const std::size_t* choice = routes_.expert.data() + (done + i) * top_;
    float* slope = of_router_.data() + i * experts_;
    for (std::size_t e = 0; e < experts_; ++e)
      slope[e] = static_cast<float>(spec_.balance * static_cast<double>(experts_) *
                                    static_cast<double>(routes_.first[e]) / tokens);
    const float* of_gate = of_gates_.data() + i * top_;
    if (top_ == 1) {
      slope[choice[0]] += of_gate[0];
    } else {
      const float both = p[choice[0]] + p[choice[1]];
      const float difference = (of_gate[0] - of_gate[1]) / (both * both);
      slope[choice[0]] += p[choice[1]] * difference;
      slope[choice[1]] -= p[choice[0]] * difference;
    }
    float mean = 0;
    for (std::size_t e = 0; e < experts_; ++e) mean += p[e] * slope[e];
    for (std::size_t e = 0; e < experts_; ++e) slope[e] = p[e] * (slope[e] - mean);
  }
}

/// Adds the part's gradient to g.
void Experts::backward(std::span<const float> x, std::size_t done, std::span<float> g) {
  COX_ASSERT(x.size() == g.size(), "sizes are the problem's");
  const std::vector<float>& of_logits = part_.logits;
  of_gates_.assign(part_.count * top_, 0.0F);
  for (std::size_t i = 0; i < part_.count; ++i)
    for (std::size_t c = 0; c < classes_; ++c) {
      g[at(kBias) + c] += of_logits[i * classes_ + c];
      for (std::size_t j = 0; j < top_; ++j)  // outputs of what was dropped are 0
        of_gates_[i * top_ + j] += of_logits[i * classes_ + c] * part_.outputs[(i * top_ + j) * classes_ + c];
    }
  for (std::size_t e = 0; e < experts_; ++e) {
    gather(e, done);
    slopes_.resize(choices_.size() * classes_);
    float* bias = g.data() + at(weights_of(e) + 1);
    for (std::size_t n = 0; n < choices_.size(); ++n)
      for (std::size_t c = 0; c < classes_; ++c) {
        const float slope = part_.gates[choices_[n]] * of_logits[choices_[n] / top_ * classes_ + c];
        slopes_[n * classes_ + c] = slope;
        bias[c] += slope;
      }
    product_.add(width_, classes_, choices_.size(), columns_of(gathered_.data(), width_),
                 rows_of(slopes_.data(), classes_), g.data() + at(weights_of(e)));
  }
  slope_of_router(done);
  product_.add(width_, experts_, part_.count, columns_of(part_.tokens.data(), width_),
               rows_of(of_router_.data(), experts_), g.data() + at(kRouter));
}

double Experts::gradient(std::span<const float> x, const Shard& shard, std::span<float> g) {
  COX_ASSERT(x.size() == g.size() && static_cast<std::int64_t>(x.size()) == parameters() && shard.count > 0,
             "sizes are the problem's");
  std::ranges::fill(g, 0.0F);
  choose(x, shard, false);
  ClassSums sums;
  for_parts(x, shard, false, [&](std::size_t done) {
    forward(x, done);
    cross_entropies(part_.logits, part_.labels, sums, room_);
    backward(x, done, g);
  });
  const auto scale = static_cast<float>(1 / static_cast<double>(shard.count));
  for (float& v : g) v *= scale;
  return sums.loss / static_cast<double>(shard.count) + balance_loss(shard.count);
}

Score Experts::score(std::span<const float> x) {
  ClassSums sums;
  std::vector<std::int64_t> asked(experts_), taken(experts_);
  for (std::int64_t first = 0; first < spec_.held_out; first += kBlock) {
    const Shard block{.first = first, .count = std::min(kBlock, spec_.held_out - first)};
    choose(x, block, true);
    for (const std::size_t e : routes_.expert) ++asked[e];
    for (std::size_t e = 0; e < experts_; ++e) taken[e] += routes_.taken[e];
    for_parts(x, block, true, [&](std::size_t done) {
      forward(x, done);
      cross_entropies(part_.logits, part_.labels, sums, room_);
    });
  }
  const auto choices = static_cast<double>(spec_.held_out) * static_cast<double>(top_);
  Score score = sums.score(spec_.held_out);
  std::int64_t kept = 0;
  for (const std::int64_t n : taken) kept += n;
  score.experts = ExpertLoads{
      .busiest = static_cast<double>(std::ranges::max(asked)) * static_cast<double>(experts_) / choices,
      .dropped = 1 - static_cast<double>(kept) / choices,
      .idle = static_cast<std::int64_t>(std::ranges::count(asked, 0))};
  return score;
}

Flops Experts::flops() const {
  return Flops{static_cast<double>(4 * width_ * (experts_ + top_ * classes_))};
}

}  // namespace cox::learn
