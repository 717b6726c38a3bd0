// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "cox/learn/problem.hpp"

namespace cox::learn {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

/// Parameters and gradients are there only where a unit is in use; elsewhere they are NaN.
class OnlyWhereUsed final : public UnitUse {
 public:
  OnlyWhereUsed(const Problem& problem, std::vector<float> all)
      : units_(problem.units()), kept_(std::move(all)), x(kept_.size(), kNone), g(kept_.size(), kNone) {}
  void need(std::size_t unit) override {
    said += " +" + std::to_string(unit);
    copy(kept_, x, unit);
  }
  void release(std::size_t unit) override {
    said += " -" + std::to_string(unit);
    for (std::size_t i = first(unit); i < end(unit); ++i) x[i] = kNone;
  }
  void open(std::size_t unit) override { said += " (" + std::to_string(unit); }
  void done(std::size_t unit) override {
    said += " )" + std::to_string(unit);
    if (taken.empty()) taken.resize(kept_.size(), kNone);
    copy(g, taken, unit);
    for (std::size_t i = first(unit); i < end(unit); ++i) g[i] = kNone;
  }

 private:
  [[nodiscard]] std::size_t first(std::size_t unit) const {
    return static_cast<std::size_t>(units_[unit].first);
  }
  [[nodiscard]] std::size_t end(std::size_t unit) const {
    return first(unit) + static_cast<std::size_t>(units_[unit].count);
  }
  void copy(const std::vector<float>& from, std::vector<float>& to, std::size_t unit) const {
    for (std::size_t i = first(unit); i < end(unit); ++i) to[i] = from[i];
  }
  std::vector<ParameterUnit> units_;
  std::vector<float> kept_;

 public:
  std::vector<float> x, g, taken;
  std::string said;
};

struct Case {
  const char* problem;
  std::int64_t samples;
  const char* said;
};

TEST(ParameterUnits, GradientsTouchUnitsOnlyInTheirUse) {
  const std::vector<Case> cases = {{"quadratic,dimension=9,noise=1", 2, " +0 (0 -0 )0"},
                                   {"logistic,dimension=6", 3, " +0 (0 -0 )0"},
                                   {"mlp,dimension=6,hidden=5", 3, " +0 -0 +1 (1 -1 )1 (0 )0"},
                                   {"mlp,dimension=6,hidden=5,layers=3", 3,
                                    " +0 -0 +1 -1 +2 -2 +3 (3 -3 )3 +2 (2 -2 )2 +1 (1 -1 )1 (0 )0"},
                                   // two passes: gradients are open from the first on
                                   {"mlp,dimension=6,hidden=5", 300, " +0 -0 +1 (1 -1 (0 +0 -0 +1 -1 )1 )0"}};
  for (const Case& c : cases) {
    const auto problem = *make_problem(*read_problem(c.problem));
    const auto all = static_cast<std::size_t>(problem->parameters());
    std::vector<float> x(all), g(all);
    problem->initial(x);
    const Shard shard{.first = 7, .count = c.samples};
    const double loss = problem->gradient(x, shard, g);
    OnlyWhereUsed use(*problem, x);
    EXPECT_EQ(problem->gradient_by_units(use.x, shard, use.g, use), loss) << c.problem;
    EXPECT_EQ(use.taken, g) << c.problem;
    EXPECT_EQ(use.said, c.said) << c.problem;
    std::int64_t covered = 0;
    for (const ParameterUnit& u : problem->units()) {
      EXPECT_EQ(u.first, covered);
      covered += u.count;
    }
    EXPECT_EQ(covered, problem->parameters());
  }
}

TEST(ParameterUnits, OfATransformerAreItsLayers) {
  const auto made = make_problem(*read_problem("text,hidden=8,layers=2,heads=2,context=8,held-out=4"));
  if (!made && made.error().id == "learn-003")
    GTEST_SKIP() << made.error().message;  // the texts are a distribution's
  ASSERT_TRUE(made) << made.error().to_string();
  Problem& problem = **made;
  const auto all = static_cast<std::size_t>(problem.parameters());
  std::vector<float> x(all), g(all);
  problem.initial(x);
  for (const std::int64_t samples : {3, 40}) {
    const Shard shard{.first = 5, .count = samples};
    problem.gradient(x, shard, g);
    OnlyWhereUsed use(problem, x);
    problem.gradient_by_units(use.x, shard, use.g, use);
    EXPECT_EQ(use.taken, g);
    EXPECT_EQ(problem.passes(samples), samples == 3 ? 1 : 3);
    if (samples == 3) {
      EXPECT_EQ(use.said, " +0 -0 +1 -1 +2 -2 +3 (3 -3 )3 +2 (2 -2 )2 +1 (1 -1 )1 (0 )0");
    }
  }
}

}  // namespace
}  // namespace cox::learn
