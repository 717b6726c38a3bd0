// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/embedding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <set>

#include "cox/base/stats.hpp"
#include "cox/learn/compressor.hpp"
#include "cox/learn/drawn.hpp"
#include "cox/learn/optimize.hpp"

#include "learn/compress/compressor.hpp"
#include "learn/kernels/sample_normals.hpp"
#include "learn/problem/dual_test.hpp"

namespace cox::learn {
namespace {

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

const ProblemSpec kSmall{
    .kind = ProblemKind::Embedding, .noise = 0.5, .classes = 3, .keys = 20, .bag = 4, .width = 5};
const ProblemSpec kTable{.kind = ProblemKind::Embedding};

/// The mean loss again, one sample after the other, for any kind of number.
template <class T>
T mean_loss(const ProblemSpec& s, Embedding& p, const std::vector<T>& x, const Shard& shard) {
  using std::sqrt;
  const auto classes = index(s.classes);
  const auto width = index(s.width);
  const std::size_t weights = index(p.tensors()[1].first);
  const std::size_t bias = index(p.tensors()[2].first);
  std::vector<std::size_t> keys(index(s.bag));
  T sum = 0;
  for (std::int64_t i = 0; i < shard.count; ++i) {
    p.keys_of(shard.first + i, false, keys);
    std::vector<T> z(classes);
    for (std::size_t c = 0; c < classes; ++c) {
      z[c] = x[bias + c];
      for (std::size_t j = 0; j < width; ++j)
        for (const std::size_t key : keys)
          z[c] += x[key * width + j] / sqrt(T(static_cast<double>(s.bag))) * x[weights + j * classes + c];
    }
    sum += cross_entropy_of(z.data(), classes, p.label_of(shard.first + i, false, keys));
  }
  return sum / T(static_cast<double>(shard.count));
}

TEST(Embedding, GradientIsThatOfDualNumbers) {
  Embedding p(kSmall);
  const Shard shard{.first = 11, .count = 9};
  std::vector<float> x(index(p.parameters())), g(x.size());
  SampleNormals(3, 4).draw(0, x);
  const double loss = p.gradient(x, shard, g);
  std::vector<Dual> dual(x.begin(), x.end());
  for (std::size_t k = 0; k < x.size(); ++k) {
    dual[k].slope = 1;
    const Dual expected = mean_loss(kSmall, p, dual, shard);
    dual[k].slope = 0;
    EXPECT_NEAR(loss, expected.value, 2e-6);
    EXPECT_NEAR(g[k], expected.slope, 2e-6) << k;
  }
}

TEST(Embedding, SamplesAloneAreThoseOfABatch) {
  Embedding p(kSmall);
  std::vector<float> x(index(p.parameters())), g(x.size());
  p.initial(x);
  constexpr std::int64_t kCount = 300;  // more than one part
  double sum = 0;
  for (std::int64_t i = 0; i < kCount; ++i) sum += p.gradient(x, {.first = i, .count = 1}, g);
  EXPECT_EQ(p.gradient(x, {.first = 0, .count = kCount}, g), sum / kCount);
}

TEST(Embedding, KeysFollowTheirLaw) {
  Embedding p(kTable);
  constexpr int kSamples = 20'000;
  std::vector<std::size_t> keys(index(kTable.bag));
  std::vector<double> seen(index(kTable.keys));
  for (int i = 0; i < kSamples; ++i) {
    p.keys_of(i, false, keys);
    for (const std::size_t key : keys) seen[key] += 1;
  }
  double harmonic = 0;
  for (int r = 1; r <= kTable.keys; ++r) harmonic += 1.0 / r;
  for (const std::size_t r : {0, 1, 9, 99, 999}) {
    const double share = 1 / (harmonic * static_cast<double>(r + 1));
    EXPECT_NEAR(p.share(r), share, 1e-12);
    const double draws = 8.0 * kSamples;
    EXPECT_NEAR(seen[r], draws * share, 4 * std::sqrt(draws * share)) << r;
  }
}

TEST(Embedding, ItIsLearnt) {
  Embedding p(kTable);
  std::vector<float> x(index(p.parameters())), g(x.size());
  p.initial(x);
  Optimizer adam({.kind = OptimizerKind::Adam, .rate = 0.02}, p.tensors());
  const double before = p.score(x).accuracy;
  for (int t = 0; t < 400; ++t) {
    p.gradient(x, {.first = std::int64_t{t} * 32, .count = 32}, g);
    adam.step(x, g);
  }
  EXPECT_LT(before, 0.4);
  EXPECT_GT(p.score(x).accuracy, 0.7);
}

/// Rows that a shard touches.
std::set<std::size_t> touched(const Embedding& p, const ProblemSpec& s, const Shard& shard) {
  std::set<std::size_t> rows;
  std::vector<std::size_t> keys(index(s.bag));
  for (std::int64_t i = 0; i < shard.count; ++i) {
    p.keys_of(shard.first + i, false, keys);
    rows.insert(keys.begin(), keys.end());
  }
  return rows;
}

bool moved(const std::vector<float>& a, const std::vector<float>& b, std::size_t row, std::size_t width) {
  return !std::equal(a.begin() + static_cast<std::ptrdiff_t>(row * width),
                     a.begin() + static_cast<std::ptrdiff_t>((row + 1) * width),
                     b.begin() + static_cast<std::ptrdiff_t>(row * width));
}

TEST(Embedding, OnlyTouchedRowsMoveUnlessTheOptimizerRemembers) {
  Embedding p(kTable);
  const Shard first{.first = 0, .count = 4}, second{.first = 4, .count = 4};
  const auto in_first = touched(p, kTable, first);
  const auto in_second = touched(p, kTable, second);
  std::vector<float> begin(index(p.parameters())), g(begin.size());
  p.initial(begin);
  for (const OptimizerKind kind : {OptimizerKind::Sgd, OptimizerKind::Momentum, OptimizerKind::Adam}) {
    Optimizer optimizer({.kind = kind, .rate = 0.1, .momentum = 0.9}, p.tensors());
    std::vector<float> x = begin;
    p.gradient(x, first, g);
    optimizer.step(x, g);
    const std::vector<float> between = x;
    p.gradient(x, second, g);
    optimizer.step(x, g);
    int lingering = 0;
    for (std::size_t row = 0; row < index(kTable.keys); ++row) {
      EXPECT_EQ(moved(begin, between, row, 8), in_first.contains(row)) << row;
      if (in_second.contains(row))
        EXPECT_TRUE(moved(between, x, row, 8)) << row;
      else
        lingering += moved(between, x, row, 8) ? 1 : 0;
    }
    if (kind == OptimizerKind::Sgd)
      EXPECT_EQ(lingering, 0);
    else  // each row of the first step that the second one did not touch goes on by itself
      EXPECT_EQ(lingering, std::ranges::count_if(in_first, [&](auto r) { return !in_second.contains(r); }));
  }
}

/// Asynchronous workers: the versions between reading and applying that touched the same row. Draws are independent of
/// ages, so their mean is the mean age times the chance that a sample touches it, 1 - (1 - share)^bag.
// A gradient is 0 outside of what a shard says that it touches, and does not depend on what is there.
TEST(Embedding, WhatAGradientTouchesIsSaid) {
  Embedding p(kSmall);
  std::vector<float> x(index(p.parameters())), g(x.size()), again(x.size());
  p.initial(x);
  for (const Shard& shard : {Shard{.first = 0, .count = 1}, Shard{.first = 7, .count = 3}}) {
    std::vector<ParameterUnit> ranges;
    p.touched(shard, ranges);
    std::vector<char> touched(x.size(), 0);
    for (const ParameterUnit& r : ranges)
      std::fill_n(touched.begin() + static_cast<std::ptrdiff_t>(r.first), r.count, static_cast<char>(1));
    EXPECT_LT(std::ranges::count(touched, 1), p.parameters());
    p.gradient(x, shard, g);
    std::vector<float> other = x;
    std::size_t moved = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (touched[k] == 0) {
        other[k] += 1;
        EXPECT_EQ(g[k], 0.0F) << k;
      }
      moved += g[k] != 0 ? 1 : 0;
    }
    EXPECT_EQ(moved, static_cast<std::size_t>(std::ranges::count(touched, 1))) << "and nothing too much";
    p.gradient(other, shard, again);
    EXPECT_EQ(g, again);
  }
}

TEST(Embedding, HotRowsConflictAndRareOnesDoNot) {
  Embedding p(kTable);
  constexpr int kWorkers = 8;
  constexpr std::size_t kRows[] = {0, 9, 99};
  std::vector<Welford> conflicts(std::size(kRows));
  Welford ages;
  std::vector<std::set<std::size_t>> by_version;
  std::vector<std::int64_t> steps(kWorkers);
  stream_drawn({.kind = model::PolicyKind::Asynchronous},
               {.workers = kWorkers, .law = StepLaw::Exponential, .steps = 2500},
               [&](const sync::StreamEvent& e, Seconds) {
                 if (e.kind != sync::StreamEvent::Kind::Delivered) return true;
                 const std::int64_t sample =
                     steps[static_cast<std::size_t>(e.update.worker)]++ * kWorkers + e.update.worker;
                 const auto rows = touched(p, kTable, {.first = sample, .count = 1});
                 const std::size_t from = by_version.size() - index(e.update.age());
                 ages.add(static_cast<double>(e.update.age()));
                 for (std::size_t k = 0; k < std::size(kRows); ++k) {
                   if (!rows.contains(kRows[k])) continue;
                   double met = 0;
                   for (std::size_t v = from; v < by_version.size(); ++v)
                     met += by_version[v].contains(kRows[k]) ? 1 : 0;
                   conflicts[k].add(met);
                 }
                 by_version.push_back(rows);
                 return true;
               });
  EXPECT_NEAR(ages.mean(), 7, 0.1);
  for (std::size_t k = 0; k < std::size(kRows); ++k) {
    const double chance = 1 - std::pow(1 - p.share(kRows[k]), 8);
    EXPECT_NEAR(conflicts[k].mean(), 7 * chance, 0.1 * 7 * chance + 0.05) << kRows[k];
  }
  EXPECT_GT(conflicts[0].mean(), 4);
  EXPECT_LT(conflicts[2].mean(), 0.2);
}

/// What few bits do to a gradient of which most rows are 0.
TEST(Embedding, FewBitsOfASparseGradient) {
  Embedding p(kTable);
  const Shard shard{.first = 0, .count = 16};
  const auto rows = touched(p, kTable, shard);
  std::vector<float> x(index(p.parameters())), g(x.size()), arrived(x.size());
  p.initial(x);
  p.gradient(x, shard, g);
  const auto through = [&](const char* text) {
    Compressor by(*read_compressor(text), p.tensors(), 1);
    return by.compress(g, 0, 0, arrived).count();
  };
  const auto energy_of = [&](std::size_t row, const std::vector<float>& v) {
    double sum = 0;
    for (std::size_t j = 0; j < 8; ++j) sum += std::pow(static_cast<double>(v[row * 8 + j]), 2);
    return sum;
  };
  // Bytes: rows with their numbers are exact and fewer than eight bits, or four, of every element.
  const auto exact = static_cast<std::int64_t>(rows.size() * (4 + 8 * 4) + 4 * (8 * 4 + 4));
  EXPECT_LT(rows.size(), 100U);
  EXPECT_GT(through("int8"), 2 * exact);
  for (std::size_t row = 0; row < 1000; ++row)
    EXPECT_EQ(energy_of(row, arrived) > 0, rows.contains(row)) << row;
  // A scale that hot rows set: the worst row loses a larger part of itself.
  double worst = 0, hottest = 0;
  for (const std::size_t row : rows) {
    double lost = 0;
    for (std::size_t j = 0; j < 8; ++j)
      lost += std::pow(static_cast<double>(arrived[row * 8 + j] - g[row * 8 + j]), 2);
    worst = std::max(worst, lost / energy_of(row, g));
    if (row == 0) hottest = lost / energy_of(row, g);
  }
  EXPECT_GT(worst, 10 * hottest);
  // Signs have no zero: every row that nobody touched is pushed, by as much as those that are.
  through("sign,feedback=none");
  const double push = std::abs(static_cast<double>(arrived[999 * 8]));
  EXPECT_FALSE(rows.contains(999));
  EXPECT_GT(push, 0);
  EXPECT_EQ(energy_of(999, arrived), energy_of(0, arrived));
}

}  // namespace
}  // namespace cox::learn
