// SPDX-License-Identifier: Apache-2.0
// What the fixed-order matrix product of `learn` makes on one core, beside Eigen where it is installed: GFLOP/s of CPU
// time, median of 9, for square matrices and for the shapes of a small network (batch x in x out).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>

#include "learn/product/product.hpp"

#if defined(COX_EIGEN)
#include <Eigen/Dense>
#endif

namespace {

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Shape {
  std::size_t m, n, k;
};

template <class F>
double gflop_per_s(Shape s, F&& multiply) {
  const double work = 2e-9 * static_cast<double>(s.m * s.n) * static_cast<double>(s.k);
  const int repeats = static_cast<int>(0.5 / work) + 1;
  std::array<double, 9> rates{};
  for (double& rate : rates) {
    const double begin = cpu_seconds();
    for (int i = 0; i < repeats; ++i) multiply();
    rate = work * repeats / (cpu_seconds() - begin);
  }
  std::ranges::nth_element(rates, rates.begin() + 4);
  return rates[4];
}

}  // namespace

int main() {
  using cox::kernels::InstructionSet;
  constexpr std::array kNames = {std::string_view("avx512"), std::string_view("avx2"),
                                 std::string_view("baseline")};
  for (const Shape s :
       {Shape{512, 512, 512}, {1024, 1024, 1024}, {64, 256, 256}, {32, 128, 20}, {256, 96, 384}}) {
    const std::vector<float> a(s.m * s.k, 0.5F);
    const std::vector<float> b(s.k * s.n, 0.25F);
    std::vector<float> c(s.m * s.n);
    fmt::print("{} x {} x {}:", s.m, s.k, s.n);
    for (const InstructionSet set : cox::kernels::instruction_sets()) {
      cox::learn::Product product(set);
      fmt::print("  {} {:.1f}", kNames[static_cast<std::size_t>(set)], gflop_per_s(s, [&] {
                   product.add(s.m, s.n, s.k, cox::learn::rows_of(a.data(), s.k),
                               cox::learn::rows_of(b.data(), s.n), c.data());
                 }));
    }
#if defined(COX_EIGEN)
    using M = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const auto index = [](std::size_t i) { return static_cast<Eigen::Index>(i); };
    const Eigen::Map<const M> ea(a.data(), index(s.m), index(s.k));
    const Eigen::Map<const M> eb(b.data(), index(s.k), index(s.n));
    Eigen::Map<M> ec(c.data(), index(s.m), index(s.n));
    fmt::print("  Eigen (this processor's own instructions) {:.1f}",
               gflop_per_s(s, [&] { ec.noalias() += ea * eb; }));
#endif
    fmt::print("  GFLOP/s\n");
  }
}
