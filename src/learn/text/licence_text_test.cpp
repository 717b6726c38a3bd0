// SPDX-License-Identifier: Apache-2.0
#include "learn/text/licence_text.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

namespace cox::learn {
namespace {

std::size_t sum_of(const std::vector<std::vector<std::uint8_t>>& texts) {
  std::size_t sum = 0;
  for (const auto& t : texts) sum += t.size();
  return sum;
}

TEST(LicenceText, WhatIsHeldOutOccursNowhereElse) {
  const auto read = read_licences();
  if (!read) GTEST_SKIP() << read.error().message;
  EXPECT_EQ(read->symbols, 86U);
  EXPECT_EQ(sum_of(read->trained), 207'435U);
  EXPECT_EQ(sum_of(read->held_out), 29'885U);
  constexpr std::size_t kWindow = 50;
  std::set<std::string> windows;
  for (const auto& t : read->trained)
    for (std::size_t i = 0; i + kWindow <= t.size(); ++i)
      windows.emplace(t.begin() + static_cast<std::ptrdiff_t>(i),
                      t.begin() + static_cast<std::ptrdiff_t>(i + kWindow));
  for (const auto& t : read->held_out) {
    double found = 0;
    for (std::size_t i = 0; i + kWindow <= t.size(); ++i)
      found += windows.contains({t.begin() + static_cast<std::ptrdiff_t>(i),
                                 t.begin() + static_cast<std::ptrdiff_t>(i + kWindow)})
                   ? 1
                   : 0;
    EXPECT_LT(found / static_cast<double>(t.size()), 0.012);
  }
}

TEST(LicenceText, OtherBytesAreRefusedInOneLine) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "licences";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  auto read = read_licences(folder);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().id, "learn-003");
  EXPECT_EQ(read.error().message,
            (folder / "Apache-2.0").string() + " cannot be read, and text is learned from it");
  std::ofstream(folder / "Apache-2.0") << "abc";
  read = read_licences(folder);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, (folder / "Apache-2.0").string() +
                                      " has 3 bytes with the hash e71fa2190541574b, expected 11358 with "
                                      "2eb9294a0308d938");
}

}  // namespace
}  // namespace cox::learn
