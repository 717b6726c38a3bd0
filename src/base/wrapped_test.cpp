// SPDX-License-Identifier: Apache-2.0
#include "cox/base/wrapped.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace cox {
namespace {

TEST(Wrapped, BreaksAtBlanksAndIndentsAsFarAsTheLead) {
  EXPECT_EQ(wrapped("- ", "one two three", 9), "- one two\n  three\n");
  EXPECT_EQ(wrapped("", "", 9), "\n");
  EXPECT_EQ(wrapped("", "a/path/that/is/wide and more", 9), "a/path/that/is/wide\nand more\n");
}

TEST(Wrapped, LettersOfSeveralBytesAreOneColumn) {
  EXPECT_EQ(columns_of("2.00 µs ± 1"), 11U);
  EXPECT_EQ(wrapped("", "ééé ééé ééé", 7), "ééé ééé\nééé\n");
}

TEST(Wrapped, AGroupedNumberIsOneWordAtEveryWidth) {
  const std::string text = "less than x 1.41 beyond 8 192, most at 12 345 678 ranks";
  for (std::size_t columns = 12; columns < text.size(); ++columns) {
    const std::string out = wrapped("", text, columns);
    EXPECT_NE(out.find("8 192"), std::string::npos) << out;
    EXPECT_NE(out.find("12 345 678"), std::string::npos) << out;
  }
  EXPECT_EQ(wrapped("", "beyond 8 192", 9), "beyond\n8 192\n");
}

TEST(Wrapped, AUnitStaysWithItsNumber) {
  for (const char* quantity : {"43 %", "2 000 006 units", "1.20 µs", "25.0 MB", "12.5 GB/s", "3.00 d"}) {
    const std::string text = "it takes about " + std::string(quantity) + ", then ends";
    for (std::size_t columns = 16; columns < text.size(); ++columns)
      EXPECT_NE(wrapped("", text, columns).find(quantity), std::string::npos) << wrapped("", text, columns);
  }
}

TEST(Wrapped, NumbersBesideEachOtherArePulledApart) {
  EXPECT_EQ(wrapped("", "in 2026 192", 8), "in 2026\n192\n");
  EXPECT_EQ(wrapped("", "in 26 1920", 6), "in 26\n1920\n");
  EXPECT_EQ(wrapped("", "ranks s and d", 8), "ranks s\nand d\n");
}

TEST(Wrapped, WhatIsTooWideAsOneWordIsBrokenAtItsBlanks) {
  std::string many = "1";
  for (int i = 0; i < 40; ++i) many += " 234";
  const std::string out = wrapped("", many, 40);
  for (std::size_t from = 0; from < out.size();) {
    const std::size_t end = std::min(out.find('\n', from), out.size());
    EXPECT_LE(end - from, 40U);
    from = end + 1;
  }
}

}  // namespace
}  // namespace cox
