// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tokens that a router sends to one or two of many experts, which have room for so many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cox/learn/problem.hpp"

#include "learn/problem/softmax.hpp"
#include "learn/product/product.hpp"

namespace cox::learn {

/// A token is of one of `kinds` kinds, kind k with a share of (k + 1)^-zipf: the centre of its kind (2 times a standard
/// normal, drawn once) plus a standard normal a. Its class is the largest product of a with the rows of its kind's own
/// matrix, plus `noise`: one layer of weights cannot have all kinds right, one for each kind can.
/// p = softmax of the token times the router. Its `top` experts are those of the largest p. An expert is a layer of
/// weights; what a token gets is a bias, plus its experts' outputs times their gates: p (top 1), or p over the sum of both
/// (top 2). An expert takes ceil(capacity top T / experts) of the shard's T tokens, first choices in order before second ones
/// (`capacity` 0: all); what finds no room is dropped and adds nothing.
/// Loss: cross-entropy + balance experts sum_e f_e P_e, with f_e the part of the shard's tokens whose first choice is e, and
/// P_e the mean of p_e; f and choices are constants to the gradient. A score has cross-entropy alone, and the same capacity
/// for each kBlock held-out tokens.
/// Bits: each element is one chain over the shard's tokens in order, scaled once. Room and balance are those of a shard:
/// shards together are not one larger shard.
/// Source: Shazeer et al. 2017; Lepikhin et al. 2021 (two choices, room); Fedus, Zoph, Shazeer 2022 (one, and the balance).
/// Cost per token: 4 width (2 experts + top classes) operations, drawn twice. Memory: a few numbers for each token of a shard.
/// Held by: src/learn/problem/experts_test.cpp (dual numbers)
class Experts final : public Problem {
 public:
  static constexpr std::int64_t kBlock = 256;
  explicit Experts(const ProblemSpec& spec);

  [[nodiscard]] std::span<const Tensor> tensors() const override { return tensors_; }
  void initial(std::span<float> x) const override;
  double gradient(std::span<const float> x, const Shard& shard, std::span<float> g) override;
  [[nodiscard]] Score score(std::span<const float> x) override;
  [[nodiscard]] Flops flops() const override;

  /// Token `number` of those trained on, or of those held out. Returns its class.
  std::size_t draw(std::int64_t number, bool held_out, std::span<float> token);
  /// Of `tokens`: how many choices one expert takes at most.
  [[nodiscard]] std::int64_t room(std::int64_t tokens) const;

 private:
  /// Who goes where in a shard.
  struct Routes {
    std::vector<std::size_t> expert;  ///< of token i, choice j: [i top + j]
    std::vector<char> kept;           ///< the same: whether there was room
    std::vector<std::int64_t> first;  ///< of each expert: tokens whose first choice it is
    std::vector<std::int64_t> taken;  ///< of each expert: choices that it took
    std::vector<double> mean;         ///< of each expert: p, over the tokens
  };
  /// Tokens that go through the layers together.
  struct Part {
    std::size_t count = 0;
    std::vector<std::size_t> labels;
    std::vector<float> tokens;   ///< count x width
    std::vector<float> p;        ///< count x experts
    std::vector<float> gates;    ///< count x top
    std::vector<float> outputs;  ///< (count x top) x classes
    std::vector<float> logits;   ///< count x classes; behind `cross_entropies` their slopes
  };

  template <class Use>
  void for_parts(std::span<const float> x, const Shard& shard, bool held_out, const Use& use);
  void load(std::span<const float> x, std::int64_t first, std::size_t count, bool held_out);
  void choose(std::span<const float> x, const Shard& shard, bool held_out);
  void gate(std::size_t done);
  void forward(std::span<const float> x, std::size_t done);
  void backward(std::span<const float> x, std::size_t done, std::span<float> g);
  void slope_of_router(std::size_t done);
  /// Tokens of the part that expert e took, one below the other in `gathered_`, and which choices they are.
  void gather(std::size_t e, std::size_t done);
  [[nodiscard]] double balance_loss(std::int64_t tokens) const;
  [[nodiscard]] std::size_t at(std::size_t tensor) const {
    return static_cast<std::size_t>(tensors_[tensor].first);
  }

  ProblemSpec spec_;
  std::size_t width_, experts_, top_, classes_;
  std::vector<Tensor> tensors_;  ///< router, bias, then weights and bias of each expert
  std::vector<double> up_to_;    ///< part of the tokens that are this kind or a commoner one
  std::vector<float> centres_;   ///< kinds x width
  std::vector<float> truth_;     ///< kinds x classes x width
  std::vector<float> noise_;
  std::vector<double> room_;
  Routes routes_;
  std::vector<float> gathered_;
  std::vector<std::size_t> choices_;  ///< of `gathered_`: i top + j in the part
  std::vector<float> slopes_;         ///< of the loss by an expert's outputs
  std::vector<float> of_gates_;       ///< count x top
  std::vector<float> of_router_;      ///< count x experts
  Product product_;
  Part part_;
};

}  // namespace cox::learn
