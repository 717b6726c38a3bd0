// SPDX-License-Identifier: Apache-2.0
#include "learn/compress/compressor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "cox/base/elementary.hpp"
#include "cox/base/random.hpp"

namespace cox::learn {
namespace {

std::vector<Tensor> one_tensor(std::size_t n) {
  return {{.name = "x", .first = 0, .rows = static_cast<std::int64_t>(n), .columns = 1}};
}

std::vector<float> gaussian(std::size_t n, std::uint64_t step = 0) {
  std::vector<double> z(n);
  RandomStream(11, 1).normals(step, 0, z);
  return {z.begin(), z.end()};
}

struct Sent {
  std::vector<float> out;
  Bytes bytes;
};
Sent sent(const std::string& text, const std::vector<float>& x, std::int64_t step = 0, int worker = 0) {
  const auto spec = read_compressor(text);
  EXPECT_TRUE(spec) << text;
  Compressor by(*spec, one_tensor(x.size()), 42);
  Sent s{std::vector<float>(x.size()), Bytes{}};
  s.bytes = by.compress(x, step, worker, s.out);
  return s;
}
double left_of(const std::string& text, const std::vector<float>& x) {
  return left_over(x, sent(text, x).out);
}

constexpr std::size_t kMany = 1 << 20;

// Check 43 of the reference: 2 (t phi(t) + Q(t)), t the upper k/2 quantile, over draws of a finite vector.
TEST(Compressor, TopKKeepsTheEnergyOfTheTails) {
  const std::vector<float> x = gaussian(kMany);
  const struct {
    const char* text;
    double energy;
  } rows[] = {{"top-k,keep=0.001", .012696},
              {"top-k,keep=0.01", .084492},
              {"top-k,keep=0.1", .439286},
              {"top-k,keep=0.5", .928674}};
  for (const auto& row : rows)
    EXPECT_NEAR(1 - left_of(row.text, x), row.energy, 0.01 * row.energy) << row.text;
}

// Check 44.
TEST(Compressor, SignsOfGaussians) {
  const std::vector<float> x = gaussian(kMany);
  EXPECT_NEAR(1 - left_of("sign", x), .636620, 0.002);
  EXPECT_NEAR(left_of("sign-rms", x), .404231, 0.002);
  std::vector<float> sparse(kMany);
  for (std::size_t i = 0; i < kMany; i += 20) sparse[i] = x[i];
  EXPECT_GT(left_of("sign-rms", sparse), 1.6);  // more than there was
  EXPECT_LT(left_of("sign", sparse), 1);
}

TEST(Compressor, SignsAreAContractionByTheirFormula) {
  const std::vector<float> x = gaussian(1000);
  double sizes = 0;
  double squares = 0;
  for (const float v : x) {
    sizes += std::abs(static_cast<double>(v));
    squares += static_cast<double>(v) * static_cast<double>(v);
  }
  EXPECT_NEAR(1 - left_of("sign", x), sizes * sizes / (1000 * squares), 1e-6);
  EXPECT_NEAR(left_of("sign-rms", x), 2 * (1 - sizes / std::sqrt(1000 * squares)), 1e-6);
}

// Section 5's table: Monte Carlo on Gaussians.
TEST(Compressor, VarianceOfLevels) {
  const std::vector<float> x = gaussian(kMany);
  const struct {
    const char* text;
    double omega;
    double within;
  } rows[] = {{"qsgd,levels=1,bucket=512", 17.0, 0.2},
              {"qsgd,levels=7,bucket=512", 1.58, 0.02},
              {"qsgd,levels=127,bucket=512", 0.0053, 0.0001},
              {"qsgd,levels=127,bucket=0", 5.4, 0.1},
              {"max-scaled,levels=7,bucket=512", 0.0363, 0.0005},
              {"max-scaled,levels=127,bucket=512", 0.00011, 0.00001}};
  for (const auto& row : rows) EXPECT_NEAR(left_of(row.text, x), row.omega, row.within) << row.text;
}

TEST(Compressor, TernGradLeavesWhatItsFormulaSays) {
  const std::vector<float> x = gaussian(kMany);
  double largest = 0;
  double sizes = 0;
  double squares = 0;
  for (const float v : x) {
    largest = std::max(largest, std::abs(static_cast<double>(v)));
    sizes += std::abs(static_cast<double>(v));
    squares += static_cast<double>(v) * static_cast<double>(v);
  }
  EXPECT_NEAR(left_of("terngrad", x), largest * sizes / squares - 1, 0.02);
  EXPECT_NEAR(left_of("terngrad,clip=2.5", x), 1.0, 0.02);
}

TEST(Compressor, WhatIsStochasticIsRightInTheMean) {
  const std::vector<float> x = gaussian(512);
  for (const char* text : {"qsgd,levels=3", "max-scaled,levels=2", "terngrad", "random-k,keep=0.1"}) {
    const auto spec = read_compressor(text);
    Compressor by(*spec, one_tensor(x.size()), 42);
    std::vector<double> mean(x.size());
    std::vector<float> out(x.size());
    double variance = 0;
    constexpr int kDraws = 2000;
    for (int t = 0; t < kDraws; ++t) {
      by.compress(x, t, 0, out);
      variance += left_over(x, out) / kDraws;
      for (std::size_t j = 0; j < x.size(); ++j) mean[j] += static_cast<double>(out[j]) / kDraws;
    }
    const std::vector<float> rounded(mean.begin(), mean.end());
    EXPECT_NEAR(left_over(x, rounded) * kDraws, variance, 0.4 * variance)
        << text;  // of a mean of so many draws
  }
}

TEST(Compressor, RandomKHasTheSamePlacesOnAllWorkers) {
  const std::vector<float> x = gaussian(1000);
  const Sent a = sent("random-k,keep=0.1", x, 3, 0);
  const Sent b = sent("random-k,keep=0.1", x, 3, 5);
  EXPECT_EQ(a.out, b.out);
  EXPECT_NE(a.out, sent("random-k,keep=0.1", x, 4, 0).out);
  EXPECT_EQ(a.bytes, Bytes{400});
  EXPECT_EQ(std::count_if(a.out.begin(), a.out.end(), [](float v) { return v != 0; }), 100);
}

TEST(Compressor, RandomKDrawsAllPlacesAlike) {
  const std::vector<float> x(100, 1.0F);
  std::vector<int> seen(100);
  for (int t = 0; t < 3000; ++t) {
    const Sent s = sent("random-k,keep=0.1", x, t);
    for (std::size_t j = 0; j < 100; ++j) seen[j] += s.out[j] != 0 ? 1 : 0;
  }
  for (const int n : seen) EXPECT_NEAR(n, 300, 5 * std::sqrt(270));
}

// Section 5's column of bytes.
TEST(Compressor, BytesOnTheWire) {
  const std::vector<float> x = gaussian(5120);
  const struct {
    const char* text;
    std::int64_t bytes;
  } rows[] = {{"dense", 20480},
              {"top-k,keep=0.01", 416},
              {"top-k,keep=0.1", 2048 + 640},  // one bit for each element is shorter than 512 places
              {"top-k,keep=1", 20480},
              {"threshold,threshold=100", 4},
              {"qsgd,levels=127", 5120 + 40},
              {"qsgd,levels=7", 2560 + 40},
              {"max-scaled,levels=1,bucket=0", 1280 + 4},
              {"terngrad", 1280 + 4},
              {"sign", 640 + 4},
              {"fp16", 10240},
              {"bf16", 10240},
              {"e4m3fn", 5120 + 4},
              {"e5m2", 5120 + 4}};
  for (const auto& row : rows) EXPECT_EQ(sent(row.text, x).bytes, Bytes{row.bytes}) << row.text;
}

TEST(Compressor, ThresholdSendsThoseAtLeastAsLarge) {
  const Sent s = sent("threshold,threshold=1.5", {1.5F, -1.4F, -2, 0});
  EXPECT_EQ(s.out, (std::vector<float>{1.5F, 0, -2, 0}));
}

TEST(Compressor, FormatsRoundAtTheirUnit) {
  const std::vector<float> x = gaussian(kMany);
  EXPECT_NEAR(left_of("fp16", x), 4.3e-8, 0.2e-8);
  EXPECT_NEAR(left_of("bf16", x), 2.8e-6, 0.1e-6);
  const std::vector<float> small(100, 3e-9F);  // below FP8's least number: the scale lifts it
  EXPECT_LT(left_of("e4m3fn", small), 1.0 / 256);
  EXPECT_LT(left_of("e5m2", small), 1.0 / 64);
  EXPECT_EQ(left_of("fp16", small), 1);  // none here
}

TEST(Compressor, AZeroTensorDoesNotDivide) {
  const std::vector<float> zero(1000, 0.0F);
  for (int kind = 0; kind <= static_cast<int>(CompressorKind::E5m2); ++kind) {
    Compressor by({.kind = static_cast<CompressorKind>(kind), .threshold = 1, .clip = 2},
                  std::vector<Tensor>{{.name = "w", .first = 0, .rows = 40, .columns = 25}}, 1);
    std::vector<float> out(1000, 7.0F);
    by.compress(zero, 0, 0, out);
    EXPECT_EQ(out, zero) << name_of(by.spec().kind);
  }
}

TEST(Compressor, NaNIsNotHidden) {
  std::vector<float> x = gaussian(1000);
  x[500] = NAN;
  for (int kind = 0; kind <= static_cast<int>(CompressorKind::E5m2); ++kind) {
    if (static_cast<CompressorKind>(kind) == CompressorKind::RandomK)
      continue;  // it may not be among the places
    Compressor by({.kind = static_cast<CompressorKind>(kind), .threshold = 1, .clip = 2},
                  std::vector<Tensor>{{.name = "w", .first = 0, .rows = 40, .columns = 25}}, 1);
    std::vector<float> out(1000);
    by.compress(x, 0, 0, out);
    EXPECT_TRUE(std::any_of(out.begin(), out.end(), [](float v) { return std::isnan(v); }))
        << name_of(by.spec().kind);
  }
}

TEST(Compressor, ByTensorEachHasItsOwnK) {
  const std::vector<Tensor> two = {{.name = "a", .first = 0, .rows = 4, .columns = 1},
                                   {.name = "b", .first = 4, .rows = 4, .columns = 1}};
  const std::vector<float> x = {10, 11, 12, 13, 1, 2, 3, 4};
  std::vector<float> out(8);
  Compressor all({.kind = CompressorKind::TopK, .keep = 0.25}, two, 1);
  all.compress(x, 0, 0, out);
  EXPECT_EQ(out, (std::vector<float>{0, 0, 12, 13, 0, 0, 0, 0}));
  Compressor each({.kind = CompressorKind::TopK, .keep = 0.25, .by_tensor = true}, two, 1);
  each.compress(x, 0, 0, out);
  EXPECT_EQ(out, (std::vector<float>{0, 0, 0, 13, 0, 0, 0, 4}));
}

TEST(Compressor, WarmUpKeepsFewerByTheSameFactorEachStep) {
  const std::vector<float> x = gaussian(10000);
  Compressor by({.kind = CompressorKind::TopK, .keep = 0.01, .warm_up = 4}, one_tensor(10000), 1);
  std::vector<float> out(10000);
  std::vector<std::int64_t> counts;
  for (int t = 0; t < 6; ++t) {
    by.compress(x, t, 0, out);
    counts.push_back(std::count_if(out.begin(), out.end(), [](float v) { return v != 0; }));
  }
  EXPECT_EQ(counts, (std::vector<std::int64_t>{3163, 1000, 317, 100, 100, 100}));
}

TEST(Compressor, TheSameForAnyOrderOfWorkersAndSteps) {
  const std::vector<float> x = gaussian(2000);
  for (const char* text : {"qsgd", "int8", "terngrad", "random-k"}) {
    Compressor by(*read_compressor(text), one_tensor(2000), 42);
    std::vector<float> out(2000);
    for (int t = 5; t-- > 0;)
      for (int w = 3; w-- > 0;) {
        by.compress(x, t, w, out);
        EXPECT_EQ(out, sent(text, x, t, w).out) << text;
      }
  }
}

TEST(Compressor, WhatScheduleCostsNeed) {
  const auto sparse = wire_of(CompressorKind::TopK, Bytes{800}, 10000);
  EXPECT_EQ(sparse.kind, model::Compressor::Sparse);
  EXPECT_DOUBLE_EQ(sparse.density, 0.01);
  const auto signs = wire_of(CompressorKind::Sign, Bytes{1250}, 10000);
  EXPECT_EQ(signs.kind, model::Compressor::Quantised);
  EXPECT_DOUBLE_EQ(signs.bits, 1);
  EXPECT_EQ(wire_of(CompressorKind::Dense, Bytes{40000}, 10000).kind, model::Compressor::None);
  // n k 8 bytes of an all-gather against 2 d 4 of a ring: 1 % saves 36 % of 64 ranks'.
  const auto gather = model::compressed(model::Collective::AllReduce, Bytes{40000}, 64, sparse);
  EXPECT_EQ(gather->kind, model::Collective::AllGather);
  EXPECT_NEAR(static_cast<double>(gather->bytes.count()) / (2 * 40000), 0.64, 1e-9);
}

}  // namespace
}  // namespace cox::learn
