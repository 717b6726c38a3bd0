// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/import.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "trace/import/part_builder.hpp"
#include "trace/import/reader.hpp"

namespace cox::trace {
namespace {

TEST(Readers, NamesAreUnique) {
  std::set<std::string> names;
  for (const Reader* r : all_readers()) EXPECT_TRUE(names.insert(r->format).second) << r->format;
}

TEST(PartBuilder, SortsEventsAndKeepsLaunchesWithThem) {
  PartBuilder b("f", "test");
  const std::size_t r = b.add_rank(Rank(3), "host");
  for (const int at : {5, 1, 3}) {
    const std::size_t i = b.add_event(r, {.begin = Duration(at), .end = Duration(at + 1)});
    b.rank(r).launches.push_back(
        {.event = static_cast<std::uint32_t>(i), .begin = Duration(at - 1), .end = Duration(at)});
  }
  const trace::Run run = std::move(b).finish();
  const RankTrack& t = run.ranks.front();
  ASSERT_EQ(t.launches.size(), 3U);
  for (const CollectiveLaunch& l : t.launches) EXPECT_EQ(t.events.begin[l.event], l.end);
  EXPECT_EQ(t.events.begin.front(), Duration(1));
}

TEST(PartBuilder, EqualMembersInAnotherFileGiveTheSameIdentity) {
  const auto identity = [](std::vector<Rank> members) {
    PartBuilder b("f", "test");
    b.communicator("anything", std::move(members), 2);
    return std::move(b).finish().communicators.front().identity;
  };
  EXPECT_EQ(identity({Rank(0), Rank(4)}), identity({Rank(4), Rank(0)}));
  EXPECT_NE(identity({Rank(0), Rank(4)}), identity({Rank(0), Rank(3)}));
}

}  // namespace
}  // namespace cox::trace
