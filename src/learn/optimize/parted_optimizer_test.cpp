// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "cox/learn/block_norm.hpp"
#include "cox/learn/optimize.hpp"

namespace cox::learn {
namespace {

/// 2,100 weights, 40 biases, 900 weights: a norm has several blocks.
const std::vector<Tensor> kTensors = {{.name = "a", .first = 0, .rows = 42, .columns = 50},
                                      {.name = "b", .first = 2100, .rows = 40, .columns = 1},
                                      {.name = "c", .first = 2140, .rows = 30, .columns = 30}};
constexpr std::size_t kElements = 3040;

struct CutPiece {
  std::size_t tensor = 0, first = 0, count = 0;
};
/// All tensors, cut at `cuts`.
std::vector<CutPiece> pieces_of(const std::vector<std::size_t>& cuts) {
  std::vector<CutPiece> made;
  for (std::size_t t = 0; t < kTensors.size(); ++t) {
    auto at = static_cast<std::size_t>(kTensors[t].first);
    const std::size_t end = at + static_cast<std::size_t>(kTensors[t].size());
    for (const std::size_t cut : cuts)
      if (cut > at && cut < end) {
        made.push_back({.tensor = t, .first = at, .count = cut - at});
        at = cut;
      }
    made.push_back({.tensor = t, .first = at, .count = end - at});
  }
  return made;
}

/// One rank has all pieces: norms are of what they make up.
class AllHere final : public PieceNorms {
 public:
  explicit AllHere(std::vector<CutPiece> pieces) : pieces_(std::move(pieces)) {}
  Result<double> of_all(std::span<const float* const> values) override {
    return block_norm(together(values));
  }
  Result<std::vector<double>> of_tensors(std::span<const float* const> values) override {
    const std::vector<float> all = together(values);
    std::vector<double> norms;
    for (const Tensor& t : kTensors)
      norms.push_back(block_norm(
          std::span(all).subspan(static_cast<std::size_t>(t.first), static_cast<std::size_t>(t.size()))));
    return norms;
  }

 private:
  [[nodiscard]] std::vector<float> together(std::span<const float* const> values) const {
    std::vector<float> all;
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      all.insert(all.end(), values[i], values[i] + pieces_[i].count);
    return all;
  }
  std::vector<CutPiece> pieces_;
};

TEST(PartedOptimizer, PiecesHaveTheBitsOfTheWhole) {
  for (const OptimizerKind kind :
       {OptimizerKind::Sgd, OptimizerKind::Momentum, OptimizerKind::Nesterov, OptimizerKind::Adam,
        OptimizerKind::AdamW, OptimizerKind::Lars, OptimizerKind::Lamb})
    for (const double clip : {0.0, 2.0}) {
      const OptimizerSpec spec{.kind = kind, .rate = 0.03, .decay = 0.01, .clip = clip};
      Optimizer whole(spec, kTensors);
      PartedOptimizer parted(spec, kElements);
      const std::vector<CutPiece> pieces = pieces_of({37, 1500, 2110, 2111, 2800});
      AllHere norms(pieces);
      std::vector<float> x(kElements), g(kElements);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 113) / 7 - 5;
      std::vector<float> y = x;
      for (int t = 1; t < 5; ++t) {
        for (std::size_t i = 0; i < g.size(); ++i) g[i] = x[i] / static_cast<float>(t) + 0.3F;
        whole.step(x, g, 1.0 / t);
        std::vector<OptimizerPiece> mine;
        for (const CutPiece& p : pieces)
          mine.push_back({.weight = kTensors[p.tensor].columns > 1,
                          .tensor = p.tensor,
                          .count = p.count,
                          .x = y.data() + p.first,
                          .g = g.data() + p.first});
        ASSERT_TRUE(parted.step(mine, 1.0 / t, norms));
      }
      EXPECT_EQ(x, y) << name_of(kind) << ", clip " << clip;
      const auto state = whole.state();
      EXPECT_EQ(std::vector<float>(parted.state().begin(), parted.state().end()),
                std::vector<float>(state.begin(), state.end()));
    }
}

// 10,000 elements: a piece has several blocks.
TEST(PartedOptimizer, GradientsThatAreReadByBlocksHaveTheSameBits) {
  const std::vector<Tensor> tensors = {{.name = "a", .first = 0, .rows = 99, .columns = 100},
                                       {.name = "b", .first = 9900, .rows = 100, .columns = 1}};
  for (const OptimizerKind kind : {OptimizerKind::Sgd, OptimizerKind::Momentum, OptimizerKind::Nesterov,
                                   OptimizerKind::Adam, OptimizerKind::AdamW}) {
    const OptimizerSpec spec{.kind = kind, .rate = 0.03, .decay = 0.01};
    EXPECT_FALSE(takes_norms(spec));
    Optimizer whole(spec, tensors);
    PartedOptimizer parted(spec, 10'000);
    std::vector<float> x(10'000), g(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 113) / 7 - 5;
    std::vector<float> y = x;
    const std::vector<OptimizerPiece> mine = {
        {.tensor = 0, .count = 9900, .x = y.data()},
        {.weight = false, .tensor = 1, .count = 100, .x = y.data() + 9900}};
    for (int t = 1; t < 4; ++t) {
      for (std::size_t i = 0; i < g.size(); ++i) g[i] = x[i] / static_cast<float>(t) + 0.3F;
      whole.step(x, g, 1.0 / t);
      parted.step(mine, 1.0 / t, [&](std::size_t at, std::span<float> out) {
        std::copy_n(g.begin() + static_cast<std::ptrdiff_t>(at), out.size(), out.begin());
      });
    }
    EXPECT_EQ(x, y) << name_of(kind);
    EXPECT_EQ(parted.steps(), 3);
  }
  EXPECT_TRUE(takes_norms({.kind = OptimizerKind::Lamb}));
  EXPECT_TRUE(takes_norms({.clip = 1}));
}

}  // namespace
}  // namespace cox::learn
