// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/problem_slice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace cox::learn {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

/// Slices on threads, whose sums are added in an aligned tree.
class Meeting {
 public:
  explicit Meeting(int parts) : barrier_(parts), places_(static_cast<std::size_t>(parts)) {}
  Status sum(int number, std::span<float> values) {
    places_[static_cast<std::size_t>(number)] = values;
    barrier_.arrive_and_wait();
    if (number == 0) {
      for (std::size_t by = 1; by < places_.size(); by *= 2)
        for (std::size_t at = 0; at + by < places_.size(); at += 2 * by)
          for (std::size_t i = 0; i < values.size(); ++i) places_[at][i] += places_[at + by][i];
      sum_.assign(values.begin(), values.end());
    }
    barrier_.arrive_and_wait();
    std::ranges::copy(sum_, values.begin());
    barrier_.arrive_and_wait();
    return {};
  }

 private:
  std::barrier<> barrier_;
  std::vector<std::span<float>> places_;
  std::vector<float> sum_;
};

/// What all slices come to together; elements that several have are the same in all.
struct Split {
  std::vector<double> losses;  ///< by slice
  std::vector<float> g;
  std::vector<std::vector<std::size_t>> summed;  ///< by slice: values of each sum
};
Split split(const std::string& text, const Shard& shard, int parts, std::span<const float> all,
            int left_out = -1) {
  const ProblemSpec spec = *read_problem(text);
  Meeting meeting(parts);
  Split made{.losses = std::vector<double>(static_cast<std::size_t>(parts)),
             .g = std::vector<float>(all.size(), kNone),
             .summed = std::vector<std::vector<std::size_t>>(static_cast<std::size_t>(parts))};
  std::vector<std::vector<float>> own(static_cast<std::size_t>(parts));
  {
    std::vector<std::jthread> threads;
    for (int p = 0; p < parts; ++p)
      threads.emplace_back([&, p] {
        const auto at = static_cast<std::size_t>(p);
        const auto slice = *make_slice(spec, {.number = p, .parts = parts});
        std::vector<float> x(static_cast<std::size_t>(slice->parameters()));
        take_slice(*slice, all, x);
        std::vector<float> room(static_cast<std::size_t>(slice->room() * shard.count), kNone);
        own[at].assign(x.size(), kNone);
        int number = 0;
        const auto sum = [&](std::span<float> values) {
          made.summed[at].push_back(values.size());
          return number++ == left_out ? Status{} : meeting.sum(p, values);
        };
        made.losses[at] = *slice->forward(x, shard, room, sum);
        EXPECT_TRUE(slice->backward(x, shard, room, own[at], sum));
        EXPECT_EQ(made.summed[at].size(), slice->sums().size());
        for (std::size_t s = 0; s < made.summed[at].size(); ++s)
          EXPECT_EQ(static_cast<std::int64_t>(made.summed[at][s]), slice->sums()[s] * shard.count) << s;
      });
  }
  for (int p = 0; p < parts; ++p) {
    const auto slice = *make_slice(spec, {.number = p, .parts = parts});
    const std::vector<float>& g = own[static_cast<std::size_t>(p)];
    for (std::size_t i = 0; i < g.size(); ++i) {
      float& to = made.g[static_cast<std::size_t>(place_of(*slice, static_cast<std::int64_t>(i)))];
      if (left_out < 0) {
        EXPECT_TRUE(std::isnan(to) || to == g[i]) << "slices have unlike gradients of " << i;
      }
      to = g[i];
    }
  }
  return made;
}

struct Whole {
  double loss = 0;
  std::vector<float> x, g;
};
Whole whole(const std::string& text, const Shard& shard) {
  const auto problem = *make_problem(*read_problem(text));
  Whole made;
  made.x.resize(static_cast<std::size_t>(problem->parameters()));
  made.g.resize(made.x.size());
  problem->initial(made.x);
  // Biases begin at 0, where an addition that is done twice would not be seen.
  for (const Tensor& t : problem->tensors())
    for (std::int64_t i = 0; i < t.size() && t.columns == 1; ++i)
      made.x[static_cast<std::size_t>(t.first + i)] = 0.01F * static_cast<float>(i + 1);
  made.loss = problem->gradient(made.x, shard, made.g);
  return made;
}

std::string network(int layers, int hidden, int blocks) {
  return "mlp,dimension=6,hidden=" + std::to_string(hidden) + ",layers=" + std::to_string(layers) +
         ",pairs=2,blocks=" + std::to_string(blocks);
}

TEST(ProblemSlice, SlicesHaveTheBitsOfTheWhole) {
  for (const int layers : {1, 2, 3, 4})
    for (const int blocks : {4, 8})
      for (const std::int64_t samples : {1, 3, 300}) {
        const Shard shard{.first = 11, .count = samples};
        const std::string text = network(layers, 24, blocks);
        const Whole expected = whole(text, shard);
        for (const int parts : {1, 2, 4}) {
          const Split made = split(text, shard, parts, expected.x);
          EXPECT_EQ(made.g, expected.g) << text << " in " << parts;
          for (const double loss : made.losses) EXPECT_EQ(loss, expected.loss) << text << " in " << parts;
        }
      }
}

// One part needs no blocks: it is the whole.
TEST(ProblemSlice, OnePartIsTheWholeWithoutBlocks) {
  const Shard shard{.first = 0, .count = 5};
  const Whole expected = whole(network(3, 24, 1), shard);
  const Split made = split(network(3, 24, 1), shard, 1, expected.x);
  EXPECT_EQ(made.g, expected.g);
  EXPECT_TRUE(made.summed.front().empty());
}

TEST(ProblemSlice, BlocksChangeBitsAndLittleElse) {
  const Shard shard{.first = 0, .count = 5};
  const Whole one = whole(network(3, 24, 1), shard), four = whole(network(3, 24, 4), shard);
  EXPECT_NE(one.g, four.g);
  for (std::size_t i = 0; i < one.g.size(); ++i) EXPECT_NEAR(one.g[i], four.g[i], 1e-5) << i;
}

// A gradient without one of its sums is another: of each sum in turn.
TEST(ProblemSlice, EverySumIsNeeded) {
  const Shard shard{.first = 11, .count = 3};
  for (const int layers : {1, 2, 3, 4}) {
    const std::string text = network(layers, 24, 4);
    const Whole expected = whole(text, shard);
    const std::size_t sums = split(text, shard, 4, expected.x).summed.front().size();
    // Rows forth of each pair; columns back of each but the first.
    const auto pairs = static_cast<std::size_t>((layers + 1) / 2);
    EXPECT_EQ(sums, 2 * pairs - 1);
    for (std::size_t s = 0; s < sums; ++s)
      EXPECT_NE(split(text, shard, 4, expected.x, static_cast<int>(s)).g, expected.g)
          << text << ", sum " << s;
  }
}

// Parts that do not divide the blocks: other bits, close by.
TEST(ProblemSlice, OtherPartsAreCloseToTheWhole) {
  const Shard shard{.first = 11, .count = 3};
  for (const auto& [blocks, parts] : {std::pair{4, 3}, {1, 2}, {2, 4}, {4, 6}}) {
    const std::string text = network(3, 24, blocks);
    const Whole expected = whole(text, shard);
    const Split made = split(text, shard, parts, expected.x);
    EXPECT_NE(made.g, expected.g) << text << " in " << parts;
    for (std::size_t i = 0; i < made.g.size(); ++i) EXPECT_NEAR(made.g[i], expected.g[i], 1e-5) << i;
  }
}

TEST(ProblemSlice, ElementsAndRoomAreThoseOfTheLayers) {
  const ProblemSpec spec = *read_problem(network(2, 24, 4));  // 6 -> 24 -> 24 | 24 -> 4
  const auto slice = *make_slice(spec, {.number = 1, .parts = 4});
  EXPECT_EQ(slice->parameters(), 6 * 6 + 6 + 6 * 24 + 24 + 24 * 4 + 4);
  EXPECT_EQ(slice->room(), 6 + 6 + 24 + 4 + 2 * 24);
  EXPECT_EQ(slice->tensors()[0].own.name, "weights.1");
  EXPECT_EQ(slice->tensors()[3].own.name, "bias.2");
  EXPECT_EQ(place_of(*slice, 0), 6);       // row 0, its first column
  EXPECT_EQ(place_of(*slice, 6), 24 + 6);  // row 1
  EXPECT_EQ(place_of(*slice, 36), 6 * 24 + 6);
  EXPECT_EQ(place_of(*slice, 42), 7 * 24 + 6 * 24);  // of the second layer, row 6
}

TEST(ProblemSlice, OtherProblemsAreNotCut) {
  for (const char* text : {"quadratic", "logistic", "embedding", "convolution", "experts"}) {
    const auto made = make_slice(*read_problem(text), {.number = 0, .parts = 1});
    ASSERT_TRUE(made) << text;
    EXPECT_EQ(*made, nullptr) << text;
  }
}

}  // namespace
}  // namespace cox::learn
