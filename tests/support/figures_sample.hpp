// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tables of figures, and what is said of them, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/figures/figures.hpp"

namespace cox::test {

inline trace::Figures figures(const std::string& text) {
  auto read = trace::figures_of(text);
  EXPECT_TRUE(read && *read) << text.substr(0, 60);
  return read && *read ? **std::move(read) : trace::Figures{};
}

inline diagnose::FiguresAnswer answer(const std::string& text) {
  return diagnose::understand_figures(figures(text));
}

inline bool says(const diagnose::FiguresAnswer& a, const std::string& part) {
  for (const std::string& line : diagnose::figure_lines(a))
    if (line.find(part) != std::string::npos) return true;
  return false;
}

inline constexpr int kSizes = 20;

/// One time per size, with noise in its logarithm; some sizes take `ratio` times as long.
inline trace::SizeTable table_of(double noise, double ratio, const std::vector<int>& slow, bool tails,
                                 std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, 1);
  std::student_t_distribution<double> student(5);
  trace::SizeSeries s;
  for (int k = 0; k < kSizes; ++k) {
    const double size = std::exp2(k + 3);
    double time = 1e-5 + 2e-11 * size;
    for (const int at : slow)
      if (at == k) time *= ratio;
    s.values.push_back({Bytes(std::int64_t{8} << k),
                        Seconds(time * std::exp(noise * (tails ? student(random) : normal(random))))});
  }
  return {.series = {s}};
}

/// A sweep from 8 B on as nccl-tests prints it: 25 us, 100 GB/s; `in_place` takes so many times as long.
inline std::string nccl_sweep(int sizes, double in_place, const std::string& test = "all_reduce_perf",
                              double bus_ratio = 1.75, double slower = 1) {
  std::string text = "# Collective test starting: " + test +
                     "\n# nThread 1 nGpus 1 minBytes 8\n# Rank 0 Group 0 Pid 1 on n001 device 0\n"
                     "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
  for (int k = 3; k < 3 + sizes; ++k) {
    const auto size = std::exp2(k);
    text += std::to_string(1LL << k) + " 1 float sum -1";
    for (const double factor : {slower, in_place}) {
      const double time = (25 + size / 1e5) * factor;
      text += " " + std::to_string(time) + " " + std::to_string(size / time / 1e3) + " " +
              std::to_string(size / time / 1e3 * bus_ratio) + " 0";
    }
    text += "\n";
  }
  return text;
}

/// As of a folder; file `slow` (if any) takes `ratio` times as long.
inline trace::Figures of_files(int count, double noise, int slow, double ratio, std::mt19937_64& random) {
  trace::SizeTable all;
  for (int i = 0; i < count; ++i) {
    trace::SizeSeries s = table_of(noise, 1, {}, false, random).series.front();
    s.file = "node" + std::to_string(i);
    s.name = s.file + ": test";
    s.measures = "test";
    for (trace::SizeTime& v : s.values)
      if (i == slow) v.time = Seconds(v.time.count() * ratio);
    all.series.push_back(s);
  }
  return {.format = "nccl-tests", .table = all, .notes = {}};
}

}  // namespace cox::test
