// SPDX-License-Identifier: Apache-2.0
#include "learn/kernels/step_kernels.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "learn/kernels/sample_normals.hpp"

namespace cox::learn {
namespace {

std::vector<float> drawn(std::size_t n, std::int64_t sample) {
  std::vector<float> out(n);
  SampleNormals(3, 5).draw(sample, out);
  return out;
}

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> out;
  for (const float v : values) out.push_back(std::bit_cast<std::uint32_t>(v));
  return out;
}

// Beside loops that are written here, for lengths around those of vectors: the same bits, in every variant.
TEST(StepKernels, EveryVariantMakesTheBitsThatAreWritten) {
  for (const std::size_t n : {1U, 7U, 8U, 9U, 31U, 32U, 33U, 100U, 1000U}) {
    const std::vector<float> y = drawn(n, 1), b = drawn(n, 2), c = drawn(n, 3), z = drawn(n, 4);
    std::vector<float> slope(n), noisy(n), x(n);
    std::array<double, 8> lanes{};
    for (std::size_t i = 0; i < n; ++i) {
      const float away = y[i] - b[i];
      slope[i] = 0.75F * c[i] * away;
      lanes[i < n - n % 8 ? i % 8 : 0] += static_cast<double>(slope[i] * away);
      noisy[i] = slope[i] + 0.3F * z[i];
      x[i] = y[i] - 0.1F * (0.5F * noisy[i] + 0.01F * y[i]);
    }
    double loss = 0;
    for (const double lane : lanes) loss += lane;
    for (const kernels::InstructionSet set : kernels::instruction_sets()) {
      const StepKernels& k = step_kernels(set);
      std::vector<float> g(n), moved = y;
      EXPECT_EQ(k.slopes(n, y.data(), b.data(), c.data(), 0.75F, g.data()), loss / 2) << n;
      EXPECT_EQ(bits(g), bits(slope)) << n;
      k.add_scaled(n, 0.3F, z.data(), g.data());
      EXPECT_EQ(bits(g), bits(noisy)) << n;
      k.descend(n, 0.1F, 0.5F, 0.01F, g.data(), moved.data());
      EXPECT_EQ(bits(moved), bits(x)) << n;
    }
  }
}

TEST(StepKernels, OneThatIsNoNumberIsFoundWhereverItIs) {
  constexpr std::size_t kLength = 67;
  for (const kernels::InstructionSet set : kernels::instruction_sets()) {
    const StepKernels& k = step_kernels(set);
    std::vector<float> x = drawn(kLength, 6);
    x[3] = -std::numeric_limits<float>::max();
    x[4] = std::numeric_limits<float>::denorm_min();
    EXPECT_TRUE(k.all_finite(kLength, x.data()));
    EXPECT_TRUE(k.all_finite(0, x.data()));
    for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()})
      for (std::size_t i = 0; i < kLength; ++i) {
        const float was = x[i];
        x[i] = bad;
        EXPECT_FALSE(k.all_finite(kLength, x.data())) << i;
        x[i] = was;
      }
  }
}

}  // namespace
}  // namespace cox::learn
