// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/problem_stage.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace cox::learn {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

/// What stages come to one after the other; elements that nobody may read are NaN.
struct Split {
  double loss = 0;
  std::vector<float> g;
};
Split split(const ProblemSpec& spec, const Shard& shard, const std::vector<std::size_t>& units,
            std::span<const float> all) {
  const auto problem = *make_problem(spec);
  const std::vector<ParameterUnit> of = problem->units();
  struct Stage {
    std::unique_ptr<ProblemStage> made;
    std::vector<float> x, kept, taken, of_given, between;
  };
  std::vector<Stage> stages;
  const auto floats = [&](std::int64_t of_sample) {
    return std::vector<float>(static_cast<std::size_t>(of_sample * shard.count), kNone);
  };
  for (std::size_t first = 0, s = 0; s < units.size(); first += units[s++]) {
    Stage& stage = stages.emplace_back();
    stage.made = *make_stage(spec, {.first = first, .count = units[s]});
    stage.x.assign(all.size(), kNone);
    for (std::size_t u = first; u < first + units[s]; ++u)
      std::copy_n(all.begin() + of[u].first, of[u].count, stage.x.begin() + of[u].first);
  }
  Split result{.loss = 0, .g = std::vector<float>(all.size(), kNone)};
  for (std::size_t s = 0; s < stages.size(); ++s) {
    Stage& stage = stages[s];
    const ProblemStage::Sizes& sizes = stage.made->sizes();
    stage.kept = floats(sizes.kept);
    stage.between = floats(sizes.between);
    std::vector<float> given = floats(sizes.given);
    const double loss = stage.made->forward(stage.x, shard, stage.taken, stage.kept, given);
    EXPECT_EQ(s + 1 == stages.size(), sizes.given == 0);
    if (s + 1 == stages.size())
      result.loss = loss;
    else
      stages[s + 1].taken = given;
  }
  for (std::size_t s = stages.size(); s-- > 0;) {
    Stage& stage = stages[s];
    std::vector<float> of_taken = floats(stage.made->sizes().taken);
    stage.made->backward(stage.x, shard, stage.taken, stage.kept, stage.of_given, stage.between, of_taken);
    if (s > 0) stages[s - 1].of_given = of_taken;
  }
  // Gradients need no parameters any more, and come in any order.
  for (Stage& stage : stages)
    stage.made->gradient(shard, stage.taken, stage.kept, stage.of_given, stage.between, result.g);
  return result;
}

TEST(ProblemStage, StagesHaveTheBitsOfTheWhole) {
  const std::vector<std::pair<const char*, std::vector<std::vector<std::size_t>>>> cases = {
      {"logistic,dimension=6", {{1}}},
      {"mlp,dimension=6,hidden=5,pairs=2", {{2}, {1, 1}}},
      {"mlp,dimension=6,hidden=16,layers=2,blocks=4", {{3}, {1, 2}, {1, 1, 1}}},
      {"mlp,dimension=9,hidden=17,layers=3", {{4}, {1, 3}, {2, 2}, {3, 1}, {1, 1, 2}, {1, 1, 1, 1}}}};
  for (const auto& [text, cuts] : cases) {
    const ProblemSpec spec = *read_problem(text);
    const auto problem = *make_problem(spec);
    std::vector<float> x(static_cast<std::size_t>(problem->parameters())), g(x.size());
    problem->initial(x);
    for (const std::int64_t samples : {1, 3, 300}) {
      const Shard shard{.first = 11, .count = samples};
      const double loss = problem->gradient(x, shard, g);
      for (const auto& units : cuts) {
        const Split made = split(spec, shard, units, x);
        EXPECT_EQ(made.loss, loss) << text;
        EXPECT_EQ(made.g, g) << text << " in " << units.size();
      }
    }
  }
}

TEST(ProblemStage, ItsFloatsAreThoseOfItsLayers) {
  const ProblemSpec spec = *read_problem("mlp,dimension=6,hidden=5,layers=3,pairs=2");
  const auto sizes = [&](std::size_t first, std::size_t count) {
    const ProblemStage::Sizes s = (*make_stage(spec, {.first = first, .count = count}))->sizes();
    return std::vector<std::int64_t>{s.taken, s.given, s.kept, s.between};
  };
  EXPECT_EQ(sizes(0, 1), (std::vector<std::int64_t>{0, 5, 6, 0}));
  EXPECT_EQ(sizes(1, 2), (std::vector<std::int64_t>{5, 5, 5, 5}));
  EXPECT_EQ(sizes(3, 1), (std::vector<std::int64_t>{5, 0, 4, 0}));
  EXPECT_EQ(sizes(0, 4), (std::vector<std::int64_t>{0, 0, 6 + 15 + 4, 15}));
}

TEST(ProblemStage, ProblemsOfOneUnitAreNotCut) {
  for (const char* text : {"quadratic", "least-squares", "embedding", "convolution", "experts"}) {
    const auto made = make_stage(*read_problem(text), {.first = 0, .count = 1});
    ASSERT_TRUE(made) << text;
    EXPECT_EQ(*made, nullptr) << text;
  }
}

}  // namespace
}  // namespace cox::learn
