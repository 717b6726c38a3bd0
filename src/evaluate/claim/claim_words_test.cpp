// SPDX-License-Identifier: Apache-2.0
#include "evaluate/claim/claim_words.hpp"

#include <gtest/gtest.h>

namespace cox::evaluate {
namespace {

using study::Dimension;

TEST(ClaimWords, ReadsUnitsAsPeopleWriteThem) {
  struct Case {
    std::string_view text;
    Dimension dimension;
    double base;
  };
  for (const Case& c : {Case{"18 hours", Dimension::Time, 64800},
                        {"5 years", Dimension::Time, 5 * 365 * 86400.0},
                        {"189 days", Dimension::Time, 189 * 86400.0},
                        {"12-minute", Dimension::Time, 720},
                        {"200 Gbit/s", Dimension::Rate, 25e9},
                        {"200 Gb/s", Dimension::Rate, 25e9},
                        {"200GB/s", Dimension::Rate, 200e9},
                        {"700 MB", Dimension::Size, 700e6},
                        {"70B", Dimension::Size, 70},
                        {"70B parameters", Dimension::Count, 70e9},
                        {"70B-parameter", Dimension::Count, 70e9},
                        {"1.4T tokens", Dimension::Count, 1.4e12},
                        {"256k", Dimension::Count, 256e3},
                        {"2,048", Dimension::Count, 2048},
                        {"1e9", Dimension::Count, 1e9},
                        {"3.15e23 FLOP", Dimension::Work, 3.15e23},
                        {"312 TFLOPS", Dimension::WorkRate, 312e12},
                        {"22.6 %", Dimension::Ratio, 0.226},
                        {"3.9x", Dimension::Ratio, 3.9}}) {
    SCOPED_TRACE(std::string(c.text));
    const ClaimWords read = claim_words(c.text);
    ASSERT_EQ(read.numbers.size(), 1U);
    EXPECT_EQ(read.numbers[0].value.value.dimension(), c.dimension);
    EXPECT_DOUBLE_EQ(read.numbers[0].value.value.in_base_unit(), c.base);
  }
  EXPECT_TRUE(claim_words("1F1B and 2D, x4").numbers.empty());
}

TEST(ClaimWords, KnowsWhatStandsBesideANumber) {
  const ClaimWords read =
      claim_words("An all-reduce over 256 workers, latency 10 us and 70 ms of compute takes at most 28 ms");
  ASSERT_EQ(read.numbers.size(), 4U);
  EXPECT_EQ(read.words[1], "allreduce");
  EXPECT_EQ(read.numbers[0].after, (std::vector<std::string>{"workers"}));
  EXPECT_EQ(read.numbers[1].before, (std::vector<std::string>{"latency"}));
  EXPECT_EQ(read.numbers[2].after, (std::vector<std::string>{"of", "compute"}));
  EXPECT_EQ(read.numbers[3].before[0], "takes");
  EXPECT_EQ(read.numbers[3].relation, Relation::AtMost);
  EXPECT_EQ(claim_words("an all reduce by all to all").words,
            (std::vector<std::string>{"an", "allreduce", "by", "alltoall"}));
}

TEST(ClaimWords, PluralsAreTheSameWord) {
  EXPECT_TRUE(is_one_of("workers", "rank worker"));
  EXPECT_TRUE(is_one_of("rank", "rank worker"));
  EXPECT_FALSE(is_one_of("ran", "rank worker"));
  EXPECT_FALSE(is_one_of("", "rank worker"));
}

}  // namespace
}  // namespace cox::evaluate
