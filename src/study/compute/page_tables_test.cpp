// SPDX-License-Identifier: Apache-2.0
// What stands on the studies' pages as tables, held against figures of the same row or of the theory.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "cox/study/computation.hpp"
#include "cox/study/write.hpp"

namespace cox::study {
namespace {

/// The study of the tree, with some inputs changed.
AnsweredStudy answered(const std::string& name, const std::function<void(StudyInput&)>& change = {}) {
  const auto all = read_studies(COX_STUDIES);
  EXPECT_TRUE(all);
  ComputationTable table;
  table.add(engine_computations());
  for (Study s : *all) {
    if (s.name != name) continue;
    for (StudyInput& in : s.inputs)
      if (change) change(in);
    auto made = run_study(s, table, {.threads = 2});
    EXPECT_TRUE(made) << (made ? "" : made.error().to_string());
    if (made) return *std::move(made);
  }
  ADD_FAILURE() << "no study " << name;
  return {};
}

std::vector<std::vector<std::string>> rows_of(const AnsweredStudy& a, const std::string& title) {
  for (const ValueTable& t : a.computation.tables)
    if (t.title == title) return t.rows;
  ADD_FAILURE() << "no table " << title;
  return {};
}

/// `67.25 %`, `1.062x`, `23`: the number in front, a percentage as a part of one.
double number_in(const std::string& cell) {
  const double v = std::strtod(cell.c_str(), nullptr);
  return cell.find('%') != std::string::npos ? v / 100 : v;
}

// An alert stands where the row's own figures say so: communication over 30 % of the median step, compute under 60 % of it.
TEST(PageTables, AlertsAreThoseOfTheRowsFigures) {
  const auto held = [](const AnsweredStudy& a, double much, double little) {
    int alerts = 0;
    for (const auto& row : rows_of(a, "By number of workers")) {
      const double step = number_in(row[3]) * (row[3].find("ms") != std::string::npos ? 1e-3 : 1);
      std::string wanted = number_in(row[7]) > much ? "communication" : "";
      if (0.125 / step < little) wanted += wanted.empty() ? "efficiency" : ", efficiency";
      EXPECT_EQ(row[8], wanted.empty() ? "-" : wanted) << row[0];
      alerts += wanted.empty() ? 0 : 1;
    }
    return alerts;
  };
  const int as_asked = held(answered("data-parallel-step"), 0.3, 0.6);
  EXPECT_GT(as_asked, 0);
  const AnsweredStudy strict = answered("data-parallel-step", [](StudyInput& in) {
    if (in.name == "communication that alerts") in.values.front().value = Quantity::ratio(0.2);
  });
  EXPECT_GT(held(strict, 0.2, 0.6), as_asked);
}

// Speeds drift: a split is worth less the older it is, and one that is never made again less than none.
TEST(PageTables, DealingAnewPaysWhereSpeedsDrift) {
  const auto rows = rows_of(answered("load-balancing"), "Splitting anew");
  ASSERT_GE(rows.size(), 4U);
  const double equal = number_in(rows.back()[1]);
  const double once = number_in(rows[rows.size() - 2][1]);
  for (std::size_t r = 1; r + 1 < rows.size(); ++r)
    EXPECT_GT(number_in(rows[r][1]), number_in(rows[r - 1][1])) << rows[r][0];
  EXPECT_GE(number_in(rows.front()[1]), 1);
  EXPECT_LT(number_in(rows.front()[1]), equal);
  EXPECT_GT(once, equal);
  // Speeds that hardly change: an old split is as good as a new one, and better than none.
  const auto calm = rows_of(answered("load-balancing",
                                     [](StudyInput& in) {
                                       if (in.name == "correlation of a step with the next")
                                         in.values.front().value = Quantity::ratio(0.999999);
                                     }),
                            "Splitting anew");
  EXPECT_LT(number_in(calm[calm.size() - 2][1]), 1.05);
  EXPECT_GT(number_in(calm.back()[1]), 1.2);
}

// GPipe holds all m micro-batches, 1F1B at most p of them: m is what 90 % of the device has room for, or any number.
TEST(PageTables, MicroBatchesThatFitAreTheDevicesRoom) {
  const auto check = [](const AnsweredStudy& a, int which, double device) {
    double each = 0;  // bytes of a micro-batch on the first stage
    for (const Computed& c : a.computation.values)
      if (c.name == "activations-gpipe-m1") each = c.value.in_base_unit();
    ASSERT_GT(each, 0);
    int seen = 0;
    for (const auto& row : rows_of(a, "What fits")) {
      if (row[2] != "kept" || seen++ / 2 != which) continue;  // two schedules of each device
      const double room = std::floor(0.9 * device / each);
      if (row[1] == "gpipe") {
        EXPECT_EQ(number_in(row[3]), room) << row[0];
        EXPECT_NEAR(number_in(row[4]), room / (room + 7), 5e-5) << "8 stages";
      } else {
        EXPECT_EQ(row[3] == "any", room >= 8) << row[0] << ": " << row[3];
      }
    }
    EXPECT_EQ(seen, 4);
  };
  const AnsweredStudy a = answered("pipeline");
  check(a, 0, 40e9);
  check(a, 1, 80e9);
  check(answered("pipeline",
                 [](StudyInput& in) {
                   if (in.name == "device memory")
                     in.values.front().value = Quantity::of(Bytes{10'000'000'000});
                 }),
        0, 10e9);
}

}  // namespace
}  // namespace cox::study
