// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/transformer.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cox/learn/drawn.hpp"
#include "cox/learn/learner.hpp"

#include "learn/kernels/sample_normals.hpp"
#include "learn/problem/dual_test.hpp"

namespace cox::learn {
namespace {

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

const ProblemSpec kSmall{.kind = ProblemKind::Text, .hidden = 6, .layers = 2, .heads = 2, .context = 4};

/// Symbols in an order that one symbol before does not tell.
SymbolTexts three_symbols() {
  SymbolTexts texts{.symbols = 3, .trained = {{}}, .held_out = {{}}};
  for (int i = 0; i < 60; ++i) texts.trained[0].push_back(static_cast<std::uint8_t>(i * i % 7 % 3));
  for (int i = 0; i < 40; ++i) texts.held_out[0].push_back(static_cast<std::uint8_t>((i + 2) * i % 7 % 3));
  return texts;
}

/// The model again, symbol after symbol, for any kind of number.
template <class T>
class Again {
 public:
  Again(const Problem& p, const std::vector<T>& x) : tensors_(p.tensors()), x_(x) {}

  T loss(std::span<const std::uint8_t> window) {
    const std::size_t context = window.size() - 1;
    std::vector<std::vector<T>> h(context, std::vector<T>(kWidth));
    for (std::size_t i = 0; i < context; ++i)
      for (std::size_t j = 0; j < kWidth; ++j)
        h[i][j] = at(0, window[i] * kWidth + j) + at(1, i * kWidth + j);
    std::size_t t = 2;
    for (int layer = 0; layer < 2; ++layer, t += 10) {
      attention(h, t);
      for (auto& row : h) {
        auto wide = times(norm(row, t + 4), t + 6);
        for (std::size_t j = 0; j < wide.size(); ++j) {
          wide[j] += at(t + 7, j);
          if (wide[j] < T(0)) wide[j] = 0;
        }
        const auto back = times(wide, t + 8);
        for (std::size_t j = 0; j < kWidth; ++j) row[j] += back[j] + at(t + 9, j);
      }
    }
    T sum = 0;
    for (std::size_t i = 0; i < context; ++i) {
      auto z = times(norm(h[i], t), t + 2);
      for (std::size_t c = 0; c < z.size(); ++c) z[c] += at(t + 3, c);
      sum += cross_entropy_of(z.data(), z.size(), window[i + 1]) / T(static_cast<double>(context));
    }
    return sum;
  }

 private:
  static constexpr std::size_t kWidth = 6;
  static constexpr std::size_t kHeads = 2;

  T at(std::size_t tensor, std::size_t i) const { return x_[index(tensors_[tensor].first) + i]; }

  std::vector<T> times(const std::vector<T>& in, std::size_t tensor) const {
    std::vector<T> out(index(tensors_[tensor].columns));
    for (std::size_t j = 0; j < out.size(); ++j)
      for (std::size_t k = 0; k < in.size(); ++k) out[j] += in[k] * at(tensor, k * out.size() + j);
    return out;
  }
  std::vector<T> norm(const std::vector<T>& in, std::size_t gain) const {
    using std::sqrt;
    T mean = 0, variance = 0;
    const T n = static_cast<double>(in.size());
    for (const T& v : in) mean += v / n;
    for (const T& v : in) variance += (v - mean) * (v - mean) / n;
    std::vector<T> out(in.size());
    for (std::size_t j = 0; j < in.size(); ++j)
      out[j] = (in[j] - mean) / sqrt(variance + T(1e-5)) * at(gain, j) + at(gain + 1, j);
    return out;
  }
  void attention(std::vector<std::vector<T>>& h, std::size_t t) const {
    using std::exp;
    constexpr std::size_t kEach = kWidth / kHeads;
    std::vector<std::vector<T>> qkv;
    for (const auto& row : h) qkv.push_back(times(norm(row, t), t + 2));
    for (std::size_t i = h.size(); i-- > 0;) {  // a row reads none behind it
      std::vector<T> mixed(kWidth);
      for (std::size_t head = 0; head < kHeads; ++head) {
        std::vector<T> weight(i + 1);
        T sum = 0;
        for (std::size_t k = 0; k <= i; ++k) {
          T product = 0;
          for (std::size_t j = head * kEach; j < (head + 1) * kEach; ++j)
            product += qkv[i][j] * qkv[k][kWidth + j];
          weight[k] = exp(product / sqrt(T(static_cast<double>(kEach))));
          sum += weight[k];
        }
        for (std::size_t k = 0; k <= i; ++k)
          for (std::size_t j = head * kEach; j < (head + 1) * kEach; ++j)
            mixed[j] += weight[k] / sum * qkv[k][2 * kWidth + j];
      }
      const auto out = times(mixed, t + 3);
      for (std::size_t j = 0; j < kWidth; ++j) h[i][j] += out[j];
    }
  }

  std::span<const Tensor> tensors_;
  const std::vector<T>& x_;
};

std::vector<float> somewhere(const Problem& p) {
  std::vector<float> x(index(p.parameters()));
  SampleNormals(3, 4).draw(0, x);
  for (float& v : x) v *= 0.6F;
  return x;
}

TEST(Transformer, GradientIsThatOfDualNumbers) {
  Transformer p(kSmall, three_symbols());
  const Shard shard{.first = 11, .count = 5};
  const auto x = somewhere(p);
  std::vector<float> g(x.size());
  const double loss = p.gradient(x, shard, g);
  std::vector<Dual> dual(x.begin(), x.end());
  for (std::size_t k = 0; k < x.size(); ++k) {
    dual[k].slope = 1;
    Dual expected = 0;
    for (std::int64_t i = 0; i < shard.count; ++i)
      expected += Again<Dual>(p, dual).loss(p.window(shard.first + i, false)) / Dual(5);
    dual[k].slope = 0;
    EXPECT_NEAR(loss, expected.value, 3e-6);
    EXPECT_NEAR(g[k], expected.slope, 5e-6) << k;
  }
}

TEST(Transformer, SamplesAloneAreThoseOfABatch) {
  Transformer p(kSmall, three_symbols());
  const auto x = somewhere(p);
  std::vector<float> g(x.size());
  constexpr std::int64_t kCount = 37;  // several parts
  double sum = 0;
  for (std::int64_t i = 0; i < kCount; ++i) sum += 4 * p.gradient(x, {.first = i, .count = 1}, g);
  EXPECT_NEAR(p.gradient(x, {.first = 0, .count = kCount}, g), sum / (4 * kCount), 1e-13);
}

TEST(Transformer, AWindowIsOfOneTextAndItsKind) {
  SymbolTexts texts{
      .symbols = 4, .trained = {{0, 0, 0, 0, 0, 0}, {1}, {2, 2, 2, 2, 2}}, .held_out = {{3, 3, 3, 3, 3}}};
  Transformer p(kSmall, texts);
  std::size_t first = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    const auto w = p.window(i, false);
    ASSERT_EQ(w.size(), 5U);
    EXPECT_EQ(w.front(), w.back());
    EXPECT_NE(w.front(), 1);
    first += w.front() == 0 ? 1 : 0;
    EXPECT_EQ(p.window(i, true).front(), 3);
  }
  EXPECT_NEAR(static_cast<double>(first), 200 * 2.0 / 3, 4 * std::sqrt(200 * 2.0 / 9));  // 2 places against 1
}

/// 64 samples a step in shards of 4.
std::vector<float> after(Problem& p, const char* policy, int workers, double rate, std::int64_t updates) {
  const Way way = *read_way(policy);
  Learner learner(p, {.kind = OptimizerKind::Adam, .rate = rate}, way, {.leaves = 16 / workers, .samples = 4},
                  workers);
  std::int64_t delivered = 0;
  stream_drawn(way.policy, {.workers = workers, .law = StepLaw::Exponential},
               [&](const sync::StreamEvent& e, Seconds) {
                 delivered += e.kind == sync::StreamEvent::Kind::Delivered ? 1 : 0;
                 return learner.take(e) &&
                        !(delivered == updates && e.kind == sync::StreamEvent::Kind::Advanced);
               });
  return {learner.parameters().begin(), learner.parameters().end()};
}

TEST(Transformer, SynchronousHasTheSameBitsOnAnyNumberOfWorkers) {
  Transformer p(kSmall, three_symbols());
  const std::vector<float> expected = after(p, "synchronous", 1, 0.01, 10);
  for (const int workers : {2, 4, 16})
    EXPECT_EQ(after(p, "synchronous", workers, 0.01, 10 * workers), expected) << workers;
}

/// Mean of -log of what the symbol before tells of the next in what is trained on, over what is held out.
double by_pairs(const SymbolTexts& texts) {
  constexpr double kUnseen = 0.1;  // of a pair
  std::vector<double> pairs(texts.symbols * texts.symbols, kUnseen);
  std::vector<double> firsts(texts.symbols, kUnseen * static_cast<double>(texts.symbols));
  for (const auto& t : texts.trained)
    for (std::size_t i = 1; i < t.size(); ++i) {
      pairs[t[i - 1] * texts.symbols + t[i]] += 1;
      firsts[t[i - 1]] += 1;
    }
  double sum = 0, count = 0;
  for (const auto& t : texts.held_out)
    for (std::size_t i = 1; i < t.size(); ++i) {
      sum -= std::log(pairs[t[i - 1] * texts.symbols + t[i]] / firsts[t[i - 1]]);
      count += 1;
    }
  return sum / count;
}

/// Licences that it has not seen, better than by pairs of symbols; and workers that wait for nobody pay for their ages at a rate
/// that is good where all wait.
TEST(Transformer, LicencesAreLearntAndAgesCost) {
  auto texts = read_licences();
  if (!texts) GTEST_SKIP() << texts.error().message;
  Transformer p({.kind = ProblemKind::Text, .hidden = 32, .held_out = 200}, *texts);
  std::vector<float> begin(index(p.parameters()));
  p.initial(begin);
  EXPECT_GT(p.score(begin).loss, std::log(86) - 0.2);  // no worse than guessing is where it begins
  const double pairs = by_pairs(*texts);
  EXPECT_NEAR(pairs, 2.5526, 1e-4);
  constexpr std::int64_t kUpdates = 16 * 140;
  const double synchronous = p.score(after(p, "synchronous", 16, 0.01, kUpdates)).loss;
  const double asynchronous = p.score(after(p, "asynchronous", 16, 0.01, kUpdates)).loss;
  EXPECT_LT(synchronous, pairs);
  EXPECT_GT(asynchronous, synchronous + 0.2);
}

}  // namespace
}  // namespace cox::learn
