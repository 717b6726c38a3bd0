// SPDX-License-Identifier: Apache-2.0
#include "learn/answer/sparse_needs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "learn/answer/comparison.hpp"
#include "learn/answer/ways_for_tests.hpp"
#include "learn/drive/job_for_tests.hpp"

namespace cox::learn {
namespace {

/// Touches what it is told to.
class Touching final : public Problem {
 public:
  explicit Touching(std::vector<ParameterUnit> ranges) : ranges_(std::move(ranges)) {}
  [[nodiscard]] std::span<const Tensor> tensors() const override { return {&tensor_, 1}; }
  void initial(std::span<float> x) const override { std::ranges::fill(x, 0.0F); }
  double gradient(std::span<const float>, const Shard&, std::span<float>) override { return 0; }
  void touched(const Shard&, std::vector<ParameterUnit>& ranges) const override {
    ranges.insert(ranges.end(), ranges_.begin(), ranges_.end());
  }
  [[nodiscard]] Score score(std::span<const float>) override { return {}; }
  [[nodiscard]] Flops flops() const override { return {}; }

 private:
  Tensor tensor_{.name = "all", .first = 0, .rows = 20, .columns = 1};
  std::vector<ParameterUnit> ranges_;
};

// 20 parameters in 3 shards: 6, 7, 7. By hand: values and a key for each range, over the shard's values.
TEST(SparseNeeds, PartsAreValuesAndKeys) {
  const Touching problem({{.first = 4, .count = 4}, {.first = 10, .count = 1}, {.first = 4, .count = 4}});
  const auto needs = needs_of(problem, {}, 2, 3);
  ASSERT_TRUE(needs);
  std::vector<double> parts;
  (*needs)(0, 0, parts);
  // 4 and 5 with a key; 6 and 7 with a key, 10 with a key; nothing.
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_DOUBLE_EQ(parts[0], 3 / 6.0);
  EXPECT_DOUBLE_EQ(parts[1], 5 / 7.0);
  EXPECT_EQ(parts[2], 0);
  const Touching whole({{.first = 13, .count = 7}});
  const auto all = needs_of(whole, {}, 2, 3);
  ASSERT_TRUE(all);
  (*all)(1, 5, parts);
  EXPECT_EQ(parts, (std::vector<double>{0, 0, 1})) << "a whole shard needs no keys";
  // Seven rows of one value with a key each are twice as long as the shard that they are all of.
  std::vector<ParameterUnit> rows;
  for (std::int64_t row = 13; row < 20; ++row) rows.push_back({.first = row, .count = 1});
  const Touching every_row(rows);
  const auto each = needs_of(every_row, {}, 2, 3);
  ASSERT_TRUE(each);
  (*each)(0, 0, parts);
  EXPECT_EQ(parts, (std::vector<double>{0, 0, 1})) << "then the shard goes as a whole";
}

TEST(SparseNeeds, AProblemThatNeedsEverythingIsRefused) {
  const auto problem = make_problem({.dimension = 20});
  ASSERT_TRUE(problem);
  const auto needs = needs_of(**problem, {}, 2, 3);
  ASSERT_FALSE(needs);
  EXPECT_EQ(needs.error().id, "learn-002");
}

// Zipf keys: the server of the commonest rows has the most to do, and the dense layer behind the table is the last one's. Rows pulled
// alone make a smaller message than the table, so that the same steps take less time.
TEST(SparseNeeds, CommonKeysMakeAHotServer) {
  WaysQuestion q =
      testing::question({"sharded-asynchronous,servers=4,pull=sparse", "sharded-asynchronous,servers=4"});
  q.problem = {.kind = ProblemKind::Embedding, .keys = 400, .zipf = 1.2, .held_out = 100};
  q.optimizer = {.rate = 2};
  q.share = {.leaves = 1, .samples = 16};
  q.rate_factors = {0.25, 0.5, 1};
  q.tuning_seeds = 1;
  q.seeds = 2;
  q.target = 1;
  const auto made = compare(testing::job(8, Bandwidth::gbyte_per_s(2)), q);
  ASSERT_TRUE(made) << made.error().message;
  const auto of = [&](bool sparse) -> const WayResult& {
    return *std::ranges::find_if(made->ways,
                                 [&](const WayResult& w) { return w.way.server.sparse_pulls == sparse; });
  };
  ASSERT_TRUE(of(true).all_reached());
  ASSERT_TRUE(of(false).all_reached());
  for (const Attempt& a : of(true).attempts) {
    ASSERT_EQ(a.servers.size(), 4U);
    EXPECT_GT(a.servers[0].load.part, 0.4);
    EXPECT_GT(a.servers[0].load.part, 3 * a.servers[2].load.part);
    double all = 0;
    for (const ServerResult& s : a.servers) all += s.load.part;
    EXPECT_NEAR(all, 1, 1e-9);
    EXPECT_GT(a.servers[0].ages.count(), 0);
  }
  const Attempt& dense = of(false).attempts.front();
  for (const ServerResult& s : dense.servers) EXPECT_NEAR(s.load.part, 0.25, 0.02);
  const Attempt& rows = of(true).attempts.front();
  EXPECT_GT(dense.time / static_cast<double>(dense.samples),
            1.5 * (rows.time / static_cast<double>(rows.samples)));
}

}  // namespace
}  // namespace cox::learn
