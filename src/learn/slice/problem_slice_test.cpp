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

/// Of one slice, which leaves one of the sums out, or none.
class Use final : public SliceUse {
 public:
  Use(Meeting& meeting, int number, int left_out) : meeting_(meeting), number_(number), left_out_(left_out) {}
  void forth() override { said += 'f'; }
  void back() override { said += 'b'; }
  Status sum(std::span<float> values) override {
    said += 's';
    summed.push_back(static_cast<std::int64_t>(values.size()));
    return std::ssize(summed) == left_out_ + 1 ? Status{} : meeting_.sum(number_, values);
  }
  std::string said;
  std::vector<std::int64_t> summed;

 private:
  Meeting& meeting_;
  int number_, left_out_;
};

/// What all slices come to together; elements that several have are the same in all.
struct Split {
  std::vector<double> losses;     ///< by slice
  std::vector<std::string> said;  ///< by slice
  std::vector<float> g;
};
Split split(const std::string& text, const Shard& shard, int parts, std::span<const float> all,
            int left_out = -1) {
  const ProblemSpec spec = *read_problem(text);
  const auto slices = static_cast<std::size_t>(parts);
  Meeting meeting(parts);
  Split made{.losses = std::vector<double>(slices),
             .said = std::vector<std::string>(slices),
             .g = std::vector<float>(all.size(), kNone)};
  std::vector<std::vector<float>> own(slices);
  const auto work = [&](int p) {
    const auto at = static_cast<std::size_t>(p);
    const auto slice = *make_slice(spec, {.number = p, .parts = parts});
    std::vector<float> x(static_cast<std::size_t>(slice->parameters()));
    take_slice(*slice, p, all, x);
    std::vector<float> room(static_cast<std::size_t>(slice->room() * shard.count), kNone);
    own[at].assign(x.size(), kNone);
    Use use(meeting, p, left_out);
    made.losses[at] = *slice->gradient(x, shard, room, own[at], use);
    made.said[at] = use.said;
    EXPECT_EQ(use.summed, slice->sums(shard.count));
  };
  {
    std::vector<std::jthread> threads;
    for (int p = 0; p < parts; ++p) threads.emplace_back(work, p);
  }
  const auto slice = *make_slice(spec, {.number = 0, .parts = parts});
  for (int p = 0; p < parts; ++p) {
    std::vector<float> theirs(all.size(), kNone);
    put_slice(*slice, p, own[static_cast<std::size_t>(p)], theirs);
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      if (std::isnan(theirs[i])) continue;
      if (left_out < 0) {
        EXPECT_TRUE(std::isnan(made.g[i]) || made.g[i] == theirs[i])
            << "slices have unlike gradients of " << i;
      }
      made.g[i] = theirs[i];
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
  EXPECT_EQ(made.said.front(), "fb");
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
    const std::string said = split(text, shard, 4, expected.x).said.front();
    const auto sums = static_cast<std::size_t>(std::ranges::count(said, 's'));
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
  EXPECT_EQ(place_of(*slice, 1, 0), 6);       // row 0, its first column
  EXPECT_EQ(place_of(*slice, 1, 6), 24 + 6);  // row 1
  EXPECT_EQ(place_of(*slice, 1, 36), 6 * 24 + 6);
  EXPECT_EQ(place_of(*slice, 1, 42), 7 * 24 + 6 * 24);  // of the second layer, row 6
}

// Two layers of four heads of two columns, 16 wide in each head's part.
constexpr const char* kText = "text,hidden=8,heads=4,layers=2,context=6,held-out=4";

/// Empty where the texts, which are a distribution's, are not here.
std::string texts_missing() {
  const auto made = make_problem(*read_problem(kText));
  return made || made.error().id != "learn-003" ? std::string() : made.error().message;
}

TEST(ProblemSlice, HeadsHaveTheBitsOfTheWhole) {
  if (const std::string missing = texts_missing(); !missing.empty()) GTEST_SKIP() << missing;
  for (const int blocks : {2, 4})
    for (const std::int64_t samples : {1, 3, 20}) {  // of 20, four go through behind the first sixteen
      const Shard shard{.first = 11, .count = samples};
      const std::string text = std::string(kText) + ",blocks=" + std::to_string(blocks);
      const Whole expected = whole(text, shard);
      for (int parts = 1; parts <= blocks; parts *= 2) {
        const Split made = split(text, shard, parts, expected.x);
        EXPECT_EQ(made.g, expected.g) << text << " in " << parts;
        for (const double loss : made.losses) EXPECT_EQ(loss, expected.loss) << text << " in " << parts;
        const std::string pass = parts == 1 ? "fb" : "fssssbssss";
        for (const std::string& said : made.said) EXPECT_EQ(said, samples > 16 ? pass + pass : pass);
      }
    }
}

TEST(ProblemSlice, EverySumOfHeadsIsNeeded) {
  if (const std::string missing = texts_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const Shard shard{.first = 11, .count = 2};
  const std::string text = std::string(kText) + ",blocks=4";
  const Whole expected = whole(text, shard);
  for (int s = 0; s < 8; ++s) EXPECT_NE(split(text, shard, 4, expected.x, s).g, expected.g) << "sum " << s;
}

TEST(ProblemSlice, BlocksOfHeadsChangeBitsAndLittleElse) {
  if (const std::string missing = texts_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const Shard shard{.first = 0, .count = 5};
  const std::string text = kText;
  const Whole one = whole(text, shard), four = whole(text + ",blocks=4", shard);
  const Split two = split(text, shard, 2, one.x);
  EXPECT_NE(one.g, four.g);
  EXPECT_NE(one.g, two.g);
  for (std::size_t i = 0; i < one.g.size(); ++i) {
    EXPECT_NEAR(one.g[i], four.g[i], 1e-5) << i;
    EXPECT_NEAR(one.g[i], two.g[i], 1e-5) << i;
  }
}

// Stretches of all elements, each put together from what every slice has of it, which is one stretch of its own.
TEST(ProblemSlice, StretchesOfAllAreStretchesOfSlices) {
  for (const std::string text : {network(3, 24, 4), network(2, 8, 8), std::string(kText)}) {
    const bool heads = text == kText;
    if (heads && !texts_missing().empty()) continue;
    const ProblemSpec spec = *read_problem(text);
    std::vector<float> all(static_cast<std::size_t>((*make_problem(spec))->parameters()));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i);
    for (const int parts : {1, 2, heads ? 4 : 8}) {
      const auto slice = *make_slice(spec, {.number = 0, .parts = parts});
      std::vector<float> own(static_cast<std::size_t>(slice->parameters()));
      for (const std::size_t length : {std::size_t{1}, std::size_t{37}, all.size() / 3, all.size()})
        for (std::size_t first = 0; first < all.size(); first += std::max(length, all.size() / 50)) {
          const std::size_t end = std::min(all.size(), first + length);
          std::vector<float> made(end - first, kNone);
          std::int64_t taken = 0;
          for (int p = 0; p < parts; ++p) {
            take_slice(*slice, p, all, own);
            const std::int64_t from = own_before(*slice, p, static_cast<std::int64_t>(first));
            const std::int64_t to = own_before(*slice, p, static_cast<std::int64_t>(end));
            put_stretch(
                *slice, p,
                std::span(own).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)),
                static_cast<std::int64_t>(first), made);
            taken += to - from;
          }
          EXPECT_TRUE(std::ranges::equal(made, std::span(all).subspan(first, end - first)))
              << text << " in " << parts << ", from " << first;
          EXPECT_GE(taken, std::ssize(made));
        }
      EXPECT_EQ(own_before(*slice, parts - 1, std::ssize(all)), slice->parameters());
    }
  }
}

TEST(ProblemSlice, OtherProblemsAreNotCut) {
  for (const char* text : {"quadratic", "logistic", "embedding", "convolution", "experts"})
    EXPECT_EQ(most_slices(*read_problem(text)), 0) << text;
  EXPECT_EQ(most_slices(*read_problem("mlp,hidden=24")), 24);
  EXPECT_EQ(most_slices(*read_problem("text,heads=2")), 2);
}

}  // namespace
}  // namespace cox::learn
