// SPDX-License-Identifier: Apache-2.0
#include "train/transport/group.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "train/transport/exchange.hpp"
#include "train/transport/threads.hpp"

namespace cox::train {
namespace {

// Six ranks as two rows of three: each row and each column by itself, then all together.
TEST(Group, MembersMeetUnderTheirOwnRanks) {
  ThreadHub hub(6, Seconds{20});
  std::vector<std::unique_ptr<Transport>> links;
  for (int r = 0; r < 6; ++r) links.push_back(hub.transport(r));
  const auto meet = [](Transport& link) {
    const int row = link.rank() / 3, column = link.rank() % 3;
    GroupTransport across(link, column, {row * 3, row * 3 + 1, row * 3 + 2});
    GroupTransport down(link, row, {column, column + 3});
    const auto of_row = exchange(across, link.rank());
    const auto of_column = exchange(down, link.rank());
    const auto all = exchange(link, link.rank());
    ASSERT_TRUE(of_row && of_column && all);
    EXPECT_EQ(*of_row, (std::vector{row * 3, row * 3 + 1, row * 3 + 2}));
    EXPECT_EQ(*of_column, (std::vector{column, column + 3}));
    EXPECT_EQ(*all, (std::vector{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(across.sent()[static_cast<std::size_t>((column + 1) % 3)], Bytes{sizeof(int)});
  };
  {
    std::vector<std::jthread> threads;
    for (const auto& link : links) threads.emplace_back([&] { meet(*link); });
  }
  EXPECT_EQ(links[0]->sent(), (std::vector{Bytes{0}, Bytes{8}, Bytes{8}, Bytes{8}, Bytes{4}, Bytes{4}}));
}

}  // namespace
}  // namespace cox::train
