// SPDX-License-Identifier: Apache-2.0
/// \file
/// A language model of a few layers of attention, over symbols of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cox/learn/problem.hpp"
#include "cox/learn/problem_slice.hpp"

#include "learn/problem/softmax.hpp"
#include "learn/product/product.hpp"
#include "learn/text/licence_text.hpp"

namespace cox::learn {

/// A sample is a window of `context` + 1 neighbouring symbols at a drawn place of one text; each but the last has to tell the
/// next. x = row of the symbol + row of its place; `layers` times: x += attention(norm(x)) (causal, `heads` heads), x +=
/// max(0, norm(x) U + u) D + d, 4 `hidden` wide; logits = norm(x) W + b; loss: mean cross-entropy over the window's symbols, in
/// nats. norm: of each row, with gain and shift. Held-out windows are of texts that are not trained on at all.
/// Weights begin normal with variance 1 / inputs, what ends in x by 2 `layers` less; rows of symbols and places with 0.1.
/// Bits: products have a fixed order, sums of norms are doubles in order, exponentials are the tool's own; each element of
/// the gradient is one chain over the shard's symbols, scaled once.
/// Source: Vaswani et al. 2017; norm before each part: Xiong et al. 2020.
/// Cost per sample: 6 context weights + 12 layers context^2 hidden operations. Memory: kPart windows.
/// Held by: src/learn/problem/transformer_test.cpp (dual numbers)
class Transformer final : public Problem {
 public:
  static constexpr std::int64_t kPart = 16;
  /// Pre: some text of both kinds is longer than a window (asserted). `parts`: the elements are those of one of so many slices (heads, columns up,
  /// rows down), for gradient_in_slices alone; it divides the heads (asserted).
  Transformer(const ProblemSpec& spec, SymbolTexts texts, int parts = 1);

  [[nodiscard]] std::span<const Tensor> tensors() const override { return tensors_; }
  void initial(std::span<float> x) const override;
  double gradient(std::span<const float> x, const Shard& shard, std::span<float> g) override;
  /// The rows of symbols and places, each layer, and what makes logits.
  [[nodiscard]] std::vector<ParameterUnit> units() const override;
  double gradient_by_units(std::span<const float> x, const Shard& shard, std::span<float> g,
                           UnitUse& use) override;
  /// As ProblemSlice has it: behind attention and behind what is wide samples are summed forth, before them back; in each pass.
  [[nodiscard]] Result<double> gradient_in_slices(std::span<const float> x, const Shard& shard,
                                                  std::span<float> g, SliceUse& use);
  [[nodiscard]] std::int64_t passes(std::int64_t samples) const override {
    return (samples + kPart - 1) / kPart;
  }
  [[nodiscard]] Score score(std::span<const float> x) override;
  [[nodiscard]] Flops flops() const override;

  /// The window of sample `number`: context + 1 symbols.
  [[nodiscard]] std::span<const std::uint8_t> window(std::int64_t number, bool held_out) const;

 private:
  /// Rows of mean 0 and variance 1, and what they were multiplied with.
  struct Normed {
    std::vector<float> unit;
    std::vector<double> over_deviation;
    std::vector<float> out;  ///< with gain and shift
  };
  /// What a layer keeps for the way back.
  struct Layer {
    Normed before, between;
    std::vector<float> qkv;     ///< tokens x 3 hidden (of a slice: of its heads, and so on)
    std::vector<float> chosen;  ///< for each window and head: context x context
    std::vector<float> mixed;   ///< tokens x hidden
    std::vector<float> wide;    ///< tokens x 4 hidden, behind max
  };
  /// Numbers of tensors.
  struct Places {
    std::size_t before = 0, qkv = 0, out = 0, between = 0, up = 0, down = 0;
  };

  std::size_t add(std::string name, std::size_t rows, std::size_t columns);
  void load(std::int64_t first, std::size_t count, bool held_out);
  void forward(std::span<const float> x, UnitUse& use);
  void backward(std::span<const float> x, std::span<float> g, UnitUse& use);
  /// A unit's gradient: from zero on in the first pass, scaled in the last.
  void open(std::span<float> g, std::size_t unit, UnitUse& use) const;
  void close(std::span<float> g, std::size_t unit, UnitUse& use) const;
  [[nodiscard]] std::span<float> of_unit(std::span<float> g, std::size_t unit) const;
  void norm(std::span<const float> x, std::size_t gain, Normed& to) const;
  /// Adds to `slope_` what goes through a norm; `of_out` is the slope by its output.
  void norm_back(std::span<const float> x, std::size_t gain, const Normed& of, std::span<const float> of_out,
                 std::span<float> g);
  void attend(Layer& layer);
  void attend_back(const Layer& layer);
  /// out += in W, of tensor t.
  void through(std::span<const float> x, std::size_t t, const std::vector<float>& in,
               std::vector<float>& out);
  /// The same of rows that slices share.
  void through_rows(std::span<const float> x, std::size_t t, const std::vector<float>& in,
                    std::vector<float>& out);
  void sum_over_slices(std::vector<float>& values);
  /// W's gradient.
  void weights_back(std::size_t t, const std::vector<float>& in, const std::vector<float>& slope,
                    std::span<float> g);
  /// W's gradient, and `before_` of columns that slices share, in so many stretches for each.
  void back_through_columns(std::span<const float> x, std::size_t t, std::size_t stretches,
                            const std::vector<float>& in, const std::vector<float>& slope,
                            std::span<float> g);
  /// W's gradient; `before_` = slope W'.
  void back_through(std::span<const float> x, std::size_t t, const std::vector<float>& in,
                    const std::vector<float>& slope, std::span<float> g);
  void add_bias(std::span<const float> x, std::size_t t, std::vector<float>& out) const;
  void bias_back(std::size_t t, const std::vector<float>& slope, std::span<float> g) const;
  [[nodiscard]] std::size_t at(std::size_t tensor) const {
    return static_cast<std::size_t>(tensors_[tensor].first);
  }
  [[nodiscard]] std::size_t tokens() const { return inputs_.size(); }

  ProblemSpec spec_;
  SymbolTexts texts_;
  std::size_t hidden_, heads_, context_;
  std::size_t inner_, wide_;  ///< columns of own heads; of what is wide
  std::size_t blocks_;        ///< own, of inner dimensions that slices cut
  bool in_blocks_;            ///< these are no chains
  std::vector<Tensor> tensors_;
  std::vector<Places> places_;
  std::vector<ParameterUnit> units_;
  bool first_pass_ = true, last_pass_ = true;
  float scale_ = 1;  ///< of the shard's sum
  std::size_t last_ = 0, weights_ = 0, bias_ = 0;
  std::vector<std::size_t> inputs_, labels_;  ///< of the part's tokens
  std::vector<float> stream_;                 ///< tokens x hidden
  std::vector<Layer> layers_;
  Normed end_;
  std::vector<float> logits_;
  std::vector<float> slope_;                       ///< of the loss by `stream_`
  std::vector<float> before_, of_qkv_, of_mixed_;  ///< the same by what is named
  std::vector<float> head_, of_scores_;
  std::vector<float> rows_;     ///< of a product before it is added
  SliceUse* slices_ = nullptr;  ///< while their gradient is computed
  Status summed_;               ///< by them
  std::vector<double> room_;
  Product product_;
};

}  // namespace cox::learn
