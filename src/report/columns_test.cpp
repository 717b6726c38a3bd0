// SPDX-License-Identifier: Apache-2.0
#include "report/columns.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <numeric>

#include "report/sample.hpp"
#include "support/make_run.hpp"

namespace cox::report {
namespace {

using namespace std::chrono_literals;

std::string inflated(const Columns& columns) {
  std::size_t size = 0;
  for (const Section& s : columns.sections) size += s.length;
  std::string out(size, '\0');
  auto have = static_cast<uLongf>(size);
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(out.data()), &have,
                       reinterpret_cast<const Bytef*>(columns.deflated.data()),
                       static_cast<uLong>(columns.deflated.size())),
            Z_OK);
  EXPECT_EQ(have, size);
  return out;
}

Columns encoded(const trace::Run& run, const diagnose::Diagnosis& d, std::size_t budget) {
  const auto matched = diagnose::match_run(run);
  return encode_columns(run, diagnose::Timeline(*matched), d, budget);
}

/// What the page's own decoder does with one column.
std::vector<std::int64_t> numbers(const Columns& columns, std::string_view name) {
  const std::string bytes = inflated(columns);
  std::vector<std::int64_t> out;
  for (const Section& s : columns.sections) {
    if (s.name != name) continue;
    std::uint64_t value = 0;
    unsigned shift = 0;
    for (std::size_t i = s.offset; i < s.offset + s.length; ++i) {
      const auto b = static_cast<unsigned char>(bytes[i]);
      value |= static_cast<std::uint64_t>(b & 127) << shift;
      shift += 7;
      if (b < 128) {
        out.push_back(static_cast<std::int64_t>(value));
        value = 0;
        shift = 0;
      }
    }
  }
  return out;
}

std::int64_t total(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

TEST(ShortTime, IsExactWhereSmallAndCloseWhereLarge) {
  for (std::int64_t ns = 0; ns < 2048; ++ns) {
    EXPECT_EQ(from_short_time(short_time(std::chrono::nanoseconds{ns})), Duration{ns * 1000});
  }
  for (std::int64_t ns = 2048; ns < 3'000'000'000'000; ns = ns * 17 / 16 + 1) {
    const Duration d = std::chrono::nanoseconds{ns};
    EXPECT_LT(std::abs(ratio(from_short_time(short_time(d)), d) - 1), 0.0003) << ns;
  }
}

TEST(ShortTime, RisesAndStaysInRange) {
  std::uint16_t last = 0;
  for (std::int64_t ns = 1; ns < 9'000'000'000'000'000; ns = ns * 5 / 4 + 1) {
    const std::uint16_t code = short_time(std::chrono::nanoseconds{ns});
    EXPECT_GE(code, last) << ns;
    last = code;
  }
  EXPECT_EQ(last, 0xFFFF);
  EXPECT_EQ(short_time(Duration::max()), 0xFFFF);
  EXPECT_EQ(short_time(Duration::min()), 0);
  EXPECT_EQ(short_time(std::chrono::nanoseconds{4095}), short_time(Duration{4095'499}));
}

TEST(Columns, HoldEveryNanosecondOfWaitAndTransfer) {
  const trace::Run run = test::make_run({.ranks = 4, .steps = 50, .jitter = 300us});
  const diagnose::Diagnosis d = test::sample_diagnosis(run);
  const Columns columns = encoded(run, d, 1'000'000);
  EXPECT_EQ(columns.unit, Duration{1ns});
  EXPECT_EQ(columns.merged, 1);
  EXPECT_EQ(columns.spans, 4 * 50);
  Duration wait{};
  Duration transfer{};
  for (const diagnose::RankAccount& a : d.ranks) {
    wait += a.wait;
    transfer += a.transfer;
  }
  const double spans = static_cast<double>(columns.spans);
  EXPECT_NEAR(static_cast<double>(total(numbers(columns, "wait"))), in_seconds(wait) * 1e9, spans);
  EXPECT_NEAR(static_cast<double>(total(numbers(columns, "transfer"))), in_seconds(transfer) * 1e9, spans);
}

TEST(Columns, MergeStepsUnderATightBudgetWithoutLosingTime) {
  const trace::Run run = test::make_run({.ranks = 4, .steps = 2000, .jitter = 300us});
  const diagnose::Diagnosis d = test::sample_diagnosis(run);
  const Columns fine = encoded(run, d, 10'000'000);
  const Columns coarse = encoded(run, d, 16'000);
  EXPECT_GT(coarse.merged, 1);
  EXPECT_LE(coarse.deflated.size(), 16'000U);
  EXPECT_EQ(coarse.columns, (2000 + coarse.merged - 1) / coarse.merged);
  EXPECT_EQ(coarse.spans, fine.spans) << "counts what was there, not what was written";
  const double unit = ratio(coarse.unit, fine.unit);
  for (const char* name : {"wait", "transfer"}) {
    const auto exact = static_cast<double>(total(numbers(fine, name)));
    EXPECT_NEAR(static_cast<double>(total(numbers(coarse, name))) * unit, exact, 8000 * unit) << name;
  }
  // Gap, wait, transfer and the own work between add up to the same end of each row.
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_NEAR(static_cast<double>(coarse.rows[r].last) * unit, static_cast<double>(fine.rows[r].last),
                unit);
  }
}

TEST(Columns, PreselectTheStepWithTheMostWaiting) {
  const trace::Run run = test::make_run(
      {.ranks = 4, .steps = 60, .extras = {{.rank = 2, .amount = 30ms, .first_step = 41, .last_step = 41}}});
  EXPECT_EQ(encoded(run, test::sample_diagnosis(run), 1'000'000).worst.step, 41);
}

TEST(Columns, EndEvenWhereNothingFits) {
  const trace::Run run = test::make_run({.ranks = 8, .steps = 64});
  const Columns columns = encoded(run, test::sample_diagnosis(run), 1);
  EXPECT_GE(columns.merged, 64);
  EXPECT_FALSE(columns.deflated.empty());
}

}  // namespace
}  // namespace cox::report
