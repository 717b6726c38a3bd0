// SPDX-License-Identifier: Apache-2.0
#include "train/executor/paged_floats.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace cox::train {
namespace {

/// Pages that the system has memory for.
std::int64_t there(const PagedFloats& floats) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = floats.all().size_bytes();
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  EXPECT_EQ(mincore(floats.all().data(), bytes, pages.data()), 0);
  return std::ranges::count_if(pages, [](unsigned char p) { return (p & 1U) != 0; });
}

TEST(PagedFloats, OnlyWhatIsOpenIsInMemory) {
  const std::int64_t page = sysconf(_SC_PAGESIZE), floats = page / 4;
  MemoryCount memory;
  {
    PagedFloats all(10 * floats, memory, Use::Parameters);
    EXPECT_EQ(there(all), 0);
    const Stretch left{.first = 0, .count = 3 * floats + floats / 2},
        right{.first = left.end(), .count = 4 * floats};
    all.open(left);
    std::ranges::fill(all.of(left), 1.0F);
    EXPECT_EQ(memory.now(), Bytes{4 * page});
    EXPECT_EQ(there(all), 4);
    all.open(right);  // its first page is open already
    std::ranges::fill(all.of(right), 2.0F);
    EXPECT_EQ(memory.now(), Bytes{8 * page});
    EXPECT_EQ(there(all), 8);
    all.close(left);  // all but the page that is shared
    EXPECT_EQ(memory.now(), Bytes{5 * page});
    EXPECT_EQ(there(all), 5);
    EXPECT_EQ(all.of(right).front(), 2.0F);
    all.close(right);
    EXPECT_EQ(memory.now(), Bytes{});
    EXPECT_EQ(there(all), 0);
    all.open(left);
    all.open(right);
    std::ranges::fill(all.of(right), 2.0F);
    all.close(right);
    EXPECT_EQ(memory.now(), Bytes{4 * page});
    EXPECT_EQ(memory.at_most()[static_cast<std::size_t>(Use::Parameters)], Bytes{8 * page});
    EXPECT_EQ(paged_bytes(right), Bytes{5 * page});
    all.open({.first = 5, .count = 0});
    all.close({.first = 5, .count = 0});
    EXPECT_EQ(paged_bytes({.first = 5, .count = 0}), Bytes{});
  }
  EXPECT_EQ(memory.now(), Bytes{});
  EXPECT_EQ(memory.most(), Bytes{8 * page});
}

}  // namespace
}  // namespace cox::train
