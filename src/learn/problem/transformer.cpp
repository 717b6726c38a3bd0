// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/transformer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/random.hpp"

#include "learn/kernels/sample_normals.hpp"
#include "learn/problem/streams.hpp"

namespace cox::learn {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr std::size_t kRows = 0;    ///< tensor of symbols
constexpr std::size_t kPlaced = 1;  ///< of places in a window
constexpr std::size_t kWide = 4;

}  // namespace

Transformer::Transformer(const ProblemSpec& spec, SymbolTexts texts, int parts)
    : spec_(spec),
      texts_(std::move(texts)),
      hidden_(static_cast<std::size_t>(spec.hidden)),
      heads_(static_cast<std::size_t>(spec.heads / parts)),
      context_(static_cast<std::size_t>(spec.context)),
      inner_(hidden_ / static_cast<std::size_t>(parts)),
      wide_(kWide * inner_),
      blocks_(static_cast<std::size_t>(spec.blocks % parts == 0 ? spec.blocks / parts : 1)),
      in_blocks_(spec.blocks > 1 || parts > 1),
      layers_(static_cast<std::size_t>(spec.layers)) {
  COX_ASSERT(spec.hidden % spec.heads == 0 && spec.heads % parts == 0,
             "heads divide the width, and slices the heads");
  const auto end_unit = [this] {
    const std::int64_t first = units_.empty() ? 0 : units_.back().first + units_.back().count;
    units_.push_back({.first = first, .count = parameters() - first});
  };
  add("symbols", texts_.symbols, hidden_);
  add("places", context_, hidden_);
  end_unit();
  const auto add_norm = [&](const std::string& name) {
    const std::size_t gain = add(name + ".gain", hidden_, 1);
    add(name + ".shift", hidden_, 1);
    return gain;
  };
  for (std::size_t l = 1; l <= layers_.size(); ++l) {
    const auto name = [&](const char* what) { return fmt::format("{}.{}", what, l); };
    Places p;
    p.before = add_norm(name("before"));
    p.qkv = add(name("attention"), hidden_, 3 * inner_);
    p.out = add(name("mix"), inner_, hidden_);
    p.between = add_norm(name("between"));
    p.up = add(name("up"), hidden_, wide_);
    add(name("up.bias"), wide_, 1);
    p.down = add(name("down"), wide_, hidden_);
    add(name("down.bias"), hidden_, 1);
    places_.push_back(p);
    end_unit();
  }
  last_ = add_norm("last");
  weights_ = add("weights", hidden_, texts_.symbols);
  bias_ = add("bias", texts_.symbols, 1);
  end_unit();
}

std::vector<ParameterUnit> Transformer::units() const {
  return units_;
}

std::span<float> Transformer::of_unit(std::span<float> g, std::size_t unit) const {
  return g.subspan(static_cast<std::size_t>(units_[unit].first),
                   static_cast<std::size_t>(units_[unit].count));
}

void Transformer::open(std::span<float> g, std::size_t unit, UnitUse& use) const {
  if (!first_pass_) return;
  use.open(unit);
  std::ranges::fill(of_unit(g, unit), 0.0F);
}

void Transformer::close(std::span<float> g, std::size_t unit, UnitUse& use) const {
  if (!last_pass_) return;
  for (float& v : of_unit(g, unit)) v *= scale_;
  use.done(unit);
}

std::size_t Transformer::add(std::string name, std::size_t rows, std::size_t columns) {
  tensors_.push_back({.name = std::move(name),
                      .first = parameters(),
                      .rows = static_cast<std::int64_t>(rows),
                      .columns = static_cast<std::int64_t>(columns)});
  return tensors_.size() - 1;
}

void Transformer::initial(std::span<float> x) const {
  std::ranges::fill(x, 0.0F);
  const SampleNormals normals(spec_.seed, kWeights);
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    if (tensors_[t].columns == 1) continue;
    const std::span<float> weights = x.subspan(at(t), static_cast<std::size_t>(tensors_[t].size()));
    normals.draw(static_cast<std::int64_t>(t), weights);
    double variance = t <= kPlaced ? 0.01 : 1 / static_cast<double>(tensors_[t].rows);
    for (const Places& p : places_)
      if (t == p.out || t == p.down) variance /= 2 * static_cast<double>(layers_.size());
    const auto deviation = static_cast<float>(std::sqrt(variance));
    for (float& w : weights) w *= deviation;
  }
  const auto ones = [&](std::size_t gain) { std::ranges::fill(x.subspan(at(gain), hidden_), 1.0F); };
  for (const Places& p : places_) {
    ones(p.before);
    ones(p.between);
  }
  ones(last_);
}

std::span<const std::uint8_t> Transformer::window(std::int64_t number, bool held_out) const {
  const auto& texts = held_out ? texts_.held_out : texts_.trained;
  const auto starts = [&](const std::vector<std::uint8_t>& text) {
    return text.size() > context_ ? text.size() - context_ : 0;
  };
  std::uint64_t all = 0;
  for (const auto& text : texts) all += starts(text);
  COX_ASSERT(all > 0, "a text is longer than a window");
  const RandomStream draws(static_cast<std::uint64_t>(spec_.seed), held_out ? kHeldOutPlaces : kPlaces);
  std::uint64_t start = draws.bits(static_cast<std::uint64_t>(number), 0) % all;
  std::size_t which = 0;
  while (start >= starts(texts[which])) start -= starts(texts[which++]);
  return std::span(texts[which]).subspan(static_cast<std::size_t>(start), context_ + 1);
}

void Transformer::load(std::int64_t first, std::size_t count, bool held_out) {
  inputs_.clear();
  labels_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const auto symbols = window(first + static_cast<std::int64_t>(i), held_out);
    inputs_.insert(inputs_.end(), symbols.begin(), symbols.end() - 1);
    labels_.insert(labels_.end(), symbols.begin() + 1, symbols.end());
  }
}

void Transformer::through(std::span<const float> x, std::size_t t, const std::vector<float>& in,
                          std::vector<float>& out) {
  const auto inputs = static_cast<std::size_t>(tensors_[t].rows);
  const auto outputs = static_cast<std::size_t>(tensors_[t].columns);
  product_.add(tokens(), outputs, inputs, rows_of(in.data(), inputs), rows_of(x.data() + at(t), outputs),
               out.data());
}

void Transformer::sum_over_slices(std::vector<float>& values) {
  if (slices_ != nullptr && inner_ < hidden_ && summed_) summed_ = slices_->sum(values);
}

void Transformer::through_rows(std::span<const float> x, std::size_t t, const std::vector<float>& in,
                               std::vector<float>& out) {
  if (!in_blocks_) return through(x, t, in, out);
  const auto inputs = static_cast<std::size_t>(tensors_[t].rows);
  const auto outputs = static_cast<std::size_t>(tensors_[t].columns);
  rows_.resize(out.size());
  product_.in_blocks(tokens(), outputs, inputs, blocks_, rows_of(in.data(), inputs),
                     rows_of(x.data() + at(t), outputs), rows_.data());
  sum_over_slices(rows_);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += rows_[i];
}

void Transformer::weights_back(std::size_t t, const std::vector<float>& in, const std::vector<float>& slope,
                               std::span<float> g) {
  const auto inputs = static_cast<std::size_t>(tensors_[t].rows);
  const auto outputs = static_cast<std::size_t>(tensors_[t].columns);
  product_.add(inputs, outputs, tokens(), columns_of(in.data(), inputs), rows_of(slope.data(), outputs),
               g.data() + at(t));
}

void Transformer::back_through(std::span<const float> x, std::size_t t, const std::vector<float>& in,
                               const std::vector<float>& slope, std::span<float> g) {
  const auto inputs = static_cast<std::size_t>(tensors_[t].rows);
  const auto outputs = static_cast<std::size_t>(tensors_[t].columns);
  weights_back(t, in, slope, g);
  before_.assign(tokens() * inputs, 0.0F);
  product_.add(tokens(), inputs, outputs, rows_of(slope.data(), outputs),
               columns_of(x.data() + at(t), outputs), before_.data());
}

void Transformer::back_through_columns(std::span<const float> x, std::size_t t, std::size_t stretches,
                                       const std::vector<float>& in, const std::vector<float>& slope,
                                       std::span<float> g) {
  if (!in_blocks_) return back_through(x, t, in, slope, g);
  const auto inputs = static_cast<std::size_t>(tensors_[t].rows);
  const auto outputs = static_cast<std::size_t>(tensors_[t].columns);
  const std::size_t apart = outputs / stretches, depth = apart / blocks_;
  weights_back(t, in, slope, g);
  before_.resize(tokens() * inputs);
  // A block is some heads: their columns of each stretch, one after the other.
  const auto leaf = [&](std::size_t block, float* to) {
    for (std::size_t s = 0; s < stretches; ++s) {
      const std::size_t column = s * apart + block * depth;
      product_.add(tokens(), inputs, depth, rows_of(slope.data() + column, outputs),
                   columns_of(x.data() + at(t) + column, outputs), to);
    }
  };
  product_.in_tree(before_.size(), blocks_, leaf, before_.data());
  sum_over_slices(before_);
}

void Transformer::add_bias(std::span<const float> x, std::size_t t, std::vector<float>& out) const {
  const auto width = static_cast<std::size_t>(tensors_[t].rows);
  const float* bias = x.data() + at(t);
  for (std::size_t i = 0; i < tokens(); ++i)
    for (std::size_t j = 0; j < width; ++j) out[i * width + j] += bias[j];
}

void Transformer::bias_back(std::size_t t, const std::vector<float>& slope, std::span<float> g) const {
  const auto width = static_cast<std::size_t>(tensors_[t].rows);
  float* bias = g.data() + at(t);
  for (std::size_t i = 0; i < tokens(); ++i)
    for (std::size_t j = 0; j < width; ++j) bias[j] += slope[i * width + j];
}

/// Of `stream_`.
void Transformer::norm(std::span<const float> x, std::size_t gain, Normed& to) const {
  to.unit.resize(stream_.size());
  to.out.resize(stream_.size());
  to.over_deviation.resize(tokens());
  const float* gains = x.data() + at(gain);
  const float* shifts = x.data() + at(gain + 1);
  const auto n = static_cast<double>(hidden_);
  for (std::size_t i = 0; i < tokens(); ++i) {
    const float* row = stream_.data() + i * hidden_;
    double mean = 0, variance = 0;
    for (std::size_t j = 0; j < hidden_; ++j) mean += static_cast<double>(row[j]);
    mean /= n;
    for (std::size_t j = 0; j < hidden_; ++j) {
      const double apart = static_cast<double>(row[j]) - mean;
      variance += apart * apart;
    }
    to.over_deviation[i] = 1 / std::sqrt(variance / n + kEpsilon);
    for (std::size_t j = 0; j < hidden_; ++j) {
      const auto unit = static_cast<float>((static_cast<double>(row[j]) - mean) * to.over_deviation[i]);
      to.unit[i * hidden_ + j] = unit;
      to.out[i * hidden_ + j] = gains[j] * unit + shifts[j];
    }
  }
}

void Transformer::norm_back(std::span<const float> x, std::size_t gain, const Normed& of,
                            std::span<const float> of_out, std::span<float> g) {
  const float* gains = x.data() + at(gain);
  float* of_gains = g.data() + at(gain);
  float* of_shifts = g.data() + at(gain + 1);
  const auto n = static_cast<double>(hidden_);
  for (std::size_t i = 0; i < tokens(); ++i) {
    const float* slope = of_out.data() + i * hidden_;
    const float* unit = of.unit.data() + i * hidden_;
    double mean = 0, product = 0;
    for (std::size_t j = 0; j < hidden_; ++j) {
      of_shifts[j] += slope[j];
      of_gains[j] += slope[j] * unit[j];
      const auto of_unit = static_cast<double>(slope[j] * gains[j]);
      mean += of_unit;
      product += of_unit * static_cast<double>(unit[j]);
    }
    mean /= n;
    product /= n;
    for (std::size_t j = 0; j < hidden_; ++j)
      slope_[i * hidden_ + j] +=
          static_cast<float>(of.over_deviation[i] * (static_cast<double>(slope[j] * gains[j]) - mean -
                                                     static_cast<double>(unit[j]) * product));
  }
}

/// Of each window and head: chosen = softmax(q k' / sqrt(width)) up to the token itself, mixed = chosen v.
void Transformer::attend(Layer& layer) {
  const std::size_t width = inner_ / heads_, stride = 3 * inner_, square = context_ * context_;
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(width)));
  const std::size_t count = tokens() / context_;
  layer.chosen.assign(count * heads_ * square, 0.0F);
  layer.mixed.resize(tokens() * inner_);
  for (std::size_t part = 0; part < count * heads_; ++part) {
    const std::size_t row = part / heads_ * context_, column = part % heads_ * width;
    const float* q = layer.qkv.data() + row * stride + column;
    float* chosen = layer.chosen.data() + part * square;
    product_.add(context_, context_, width, {q, stride, 1}, {q + inner_, 1, stride}, chosen);
    for (std::size_t i = 0; i < context_; ++i) {
      const std::span<float> line(chosen + i * context_, context_);
      for (float& v : line.first(i + 1)) v *= scale;
      softmax(line.first(i + 1), room_);
      std::ranges::fill(line.subspan(i + 1), 0.0F);
    }
    head_.assign(context_ * width, 0.0F);
    product_.add(context_, width, context_, rows_of(chosen, context_), {q + 2 * inner_, stride, 1},
                 head_.data());
    for (std::size_t i = 0; i < context_; ++i)
      std::copy_n(head_.data() + i * width, width, layer.mixed.data() + (row + i) * inner_ + column);
  }
}

/// From `of_mixed_` to `of_qkv_`.
void Transformer::attend_back(const Layer& layer) {
  const std::size_t width = inner_ / heads_, stride = 3 * inner_, square = context_ * context_;
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(width)));
  of_qkv_.resize(tokens() * stride);
  for (std::size_t part = 0; part < tokens() / context_ * heads_; ++part) {
    const std::size_t row = part / heads_ * context_, column = part % heads_ * width;
    const float* q = layer.qkv.data() + row * stride + column;
    const float* chosen = layer.chosen.data() + part * square;
    const Operand of_mixed{of_mixed_.data() + row * inner_ + column, inner_, 1};
    const auto keep = [&](std::size_t which, Operand left, Operand right) {
      head_.assign(context_ * width, 0.0F);
      product_.add(context_, width, context_, left, right, head_.data());
      for (std::size_t i = 0; i < context_; ++i)
        std::copy_n(head_.data() + i * width, width,
                    of_qkv_.data() + (row + i) * stride + which * inner_ + column);
    };
    of_scores_.assign(square, 0.0F);
    product_.add(context_, context_, width, of_mixed, {q + 2 * inner_, 1, stride}, of_scores_.data());
    keep(2, columns_of(chosen, context_), of_mixed);
    for (std::size_t i = 0; i < context_; ++i) {
      const float* p = chosen + i * context_;
      float* slope = of_scores_.data() + i * context_;
      float mean = 0;
      for (std::size_t j = 0; j <= i; ++j) mean += p[j] * slope[j];
      for (std::size_t j = 0; j < context_; ++j) slope[j] = scale * p[j] * (slope[j] - mean);
    }
    keep(0, rows_of(of_scores_.data(), context_), {q + inner_, stride, 1});
    keep(1, columns_of(of_scores_.data(), context_), {q, stride, 1});
  }
}

void Transformer::forward(std::span<const float> x, UnitUse& use) {
  use.need(0);
  stream_.resize(tokens() * hidden_);
  for (std::size_t i = 0; i < tokens(); ++i) {
    const float* symbol = x.data() + at(kRows) + inputs_[i] * hidden_;
    const float* place = x.data() + at(kPlaced) + i % context_ * hidden_;
    for (std::size_t j = 0; j < hidden_; ++j) stream_[i * hidden_ + j] = symbol[j] + place[j];
  }
  use.release(0);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    use.need(l + 1);
    Layer& layer = layers_[l];
    const Places& p = places_[l];
    norm(x, p.before, layer.before);
    layer.qkv.assign(tokens() * 3 * inner_, 0.0F);
    through(x, p.qkv, layer.before.out, layer.qkv);
    attend(layer);
    through_rows(x, p.out, layer.mixed, stream_);
    norm(x, p.between, layer.between);
    layer.wide.assign(tokens() * wide_, 0.0F);
    add_bias(x, p.up + 1, layer.wide);
    through(x, p.up, layer.between.out, layer.wide);
    for (float& v : layer.wide) v = v < 0 ? 0 : v;  // NaN stays NaN
    add_bias(x, p.down + 1, stream_);
    through_rows(x, p.down, layer.wide, stream_);
    use.release(l + 1);
  }
  use.need(units_.size() - 1);
  norm(x, last_, end_);
  logits_.assign(tokens() * texts_.symbols, 0.0F);
  add_bias(x, bias_, logits_);
  through(x, weights_, end_.out, logits_);
}

/// Adds to g. `logits_` are their slopes already.
void Transformer::backward(std::span<const float> x, std::span<float> g, UnitUse& use) {
  slope_.assign(tokens() * hidden_, 0.0F);
  open(g, units_.size() - 1, use);
  bias_back(bias_, logits_, g);
  back_through(x, weights_, end_.out, logits_, g);
  norm_back(x, last_, end_, before_, g);
  use.release(units_.size() - 1);
  close(g, units_.size() - 1, use);
  for (std::size_t l = layers_.size(); l-- > 0;) {
    use.need(l + 1);
    open(g, l + 1, use);
    const Layer& layer = layers_[l];
    const Places& p = places_[l];
    bias_back(p.down + 1, slope_, g);
    back_through(x, p.down, layer.wide, slope_, g);
    std::swap(before_, of_mixed_);  // of what is wide
    for (std::size_t i = 0; i < of_mixed_.size(); ++i)
      if (layer.wide[i] <= 0) of_mixed_[i] = 0;
    bias_back(p.up + 1, of_mixed_, g);
    back_through_columns(x, p.up, 1, layer.between.out, of_mixed_, g);
    norm_back(x, p.between, layer.between, before_, g);
    back_through(x, p.out, layer.mixed, slope_, g);
    std::swap(before_, of_mixed_);
    attend_back(layer);
    back_through_columns(x, p.qkv, 3, layer.before.out, of_qkv_, g);
    norm_back(x, p.before, layer.before, before_, g);
    use.release(l + 1);
    close(g, l + 1, use);
  }
  open(g, 0, use);
  for (std::size_t i = 0; i < tokens(); ++i) {
    float* symbol = g.data() + at(kRows) + inputs_[i] * hidden_;
    float* place = g.data() + at(kPlaced) + i % context_ * hidden_;
    for (std::size_t j = 0; j < hidden_; ++j) {
      symbol[j] += slope_[i * hidden_ + j];
      place[j] += slope_[i * hidden_ + j];
    }
  }
  close(g, 0, use);
}

double Transformer::gradient(std::span<const float> x, const Shard& shard, std::span<float> g) {
  UnitUse nobody;
  return gradient_by_units(x, shard, g, nobody);
}

Result<double> Transformer::gradient_in_slices(std::span<const float> x, const Shard& shard,
                                               std::span<float> g, SliceUse& use) {
  slices_ = &use;
  summed_ = {};
  const double loss = gradient(x, shard, g);
  slices_ = nullptr;
  COX_CHECK(std::exchange(summed_, {}));
  return loss;
}

double Transformer::gradient_by_units(std::span<const float> x, const Shard& shard, std::span<float> g,
                                      UnitUse& use) {
  COX_ASSERT(x.size() == g.size() && static_cast<std::int64_t>(x.size()) == parameters() && shard.count > 0,
             "sizes are the problem's");
  const double all = static_cast<double>(shard.count) * static_cast<double>(context_);
  scale_ = static_cast<float>(1 / all);
  ClassSums sums;
  for (std::int64_t done = 0; done < shard.count; done += kPart) {
    first_pass_ = done == 0;
    last_pass_ = done + kPart >= shard.count;
    load(shard.first + done, static_cast<std::size_t>(std::min(kPart, shard.count - done)), false);
    if (slices_ != nullptr) slices_->forth();
    forward(x, use);
    cross_entropies(logits_, labels_, sums, room_);
    if (slices_ != nullptr) slices_->back();
    backward(x, g, use);
  }
  return sums.loss / all;
}

Score Transformer::score(std::span<const float> x) {
  UnitUse nobody;
  ClassSums sums;
  for (std::int64_t done = 0; done < spec_.held_out; done += kPart) {
    load(done, static_cast<std::size_t>(std::min(kPart, spec_.held_out - done)), true);
    forward(x, nobody);
    cross_entropies(logits_, labels_, sums, room_);
  }
  return sums.score(spec_.held_out * spec_.context);
}

Flops Transformer::flops() const {
  double weights = 0;
  for (std::size_t t = kPlaced + 1; t < tensors_.size(); ++t)
    if (tensors_[t].columns > 1) weights += static_cast<double>(tensors_[t].size());
  const auto context = static_cast<double>(context_);
  return Flops{6 * context * weights +
               12 * static_cast<double>(layers_.size() * hidden_) * context * context};
}

}  // namespace cox::learn
