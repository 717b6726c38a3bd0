// SPDX-License-Identifier: Apache-2.0
#include "trace/run/communicators.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace cox::trace {
namespace {

ProcessFile process(int rank, std::vector<LocalCommunicator> communicators) {
  ProcessFile p;
  p.file = "p" + std::to_string(rank);
  p.rank = rank;
  p.communicators = std::move(communicators);
  return p;
}

LocalCommunicator comm(std::uint64_t identity, std::uint32_t number, int size,
                       const std::vector<std::int32_t>& members, std::string name = "") {
  const std::vector<Rank> ranks(members.begin(), members.end());
  return {.identity = identity,
          .local_number = number,
          .size = size,
          .my_rank = 0,
          .members = ranges_of(ranks),
          .name = std::move(name)};
}

std::vector<int> values(const std::vector<Rank>& ranks) {
  std::vector<int> out;
  out.reserve(ranks.size());
  for (const Rank r : ranks) out.push_back(r.value());
  return out;
}

TEST(Communicators, SameIdentityIsOneWhateverItsNumber) {
  const auto m = match_communicators({process(0, {comm(9, 1, 2, {0, 1}), comm(7, 2, 1, {0})}),
                                      process(1, {comm(9, 5, 2, {1, 0}, "world")})});
  ASSERT_EQ(m.all.size(), 2U);
  EXPECT_EQ(m.all[0].identity, 9U);  // larger, so first
  EXPECT_EQ(m.all[0].name, "world");
  EXPECT_EQ(values(m.all[0].ranks), (std::vector{0, 1}));
  EXPECT_EQ(m.local[0].at(1), CommId{0});
  EXPECT_EQ(m.local[1].at(5), CommId{0});
  EXPECT_EQ(m.local[0].at(2), CommId{1});
  EXPECT_TRUE(m.notes.empty());
}

TEST(Communicators, WithoutListThoseWhoDeclareItAreMembers) {
  const auto m = match_communicators({process(2, {comm(9, 1, 4, {})}), process(3, {comm(9, 1, 4, {})})});
  ASSERT_EQ(m.all.size(), 1U);
  EXPECT_EQ(m.all[0].size, 4);
  EXPECT_EQ(values(m.all[0].ranks), (std::vector{2, 3}));
}

TEST(Communicators, WithoutIdentityBySizeNameAndOccurrence) {
  const auto m = match_communicators({process(0, {comm(0, 1, 2, {}, "x"), comm(0, 2, 2, {}, "x")}),
                                      process(1, {comm(0, 4, 2, {}, "x"), comm(0, 6, 2, {}, "x")})});
  ASSERT_EQ(m.all.size(), 2U);
  EXPECT_EQ(m.local[0].at(1), m.local[1].at(4));
  EXPECT_EQ(m.local[0].at(2), m.local[1].at(6));
  EXPECT_NE(m.local[0].at(1), m.local[0].at(2));
}

TEST(Communicators, AmbiguousOnesStayApart) {
  // Two pairs of ranks, both called "pair": nothing says who belongs to whom.
  std::vector<ProcessFile> processes;
  processes.reserve(4);
  for (int r = 0; r < 4; ++r) processes.push_back(process(r, {comm(0, 1, 2, {}, "pair")}));
  const auto m = match_communicators(processes);
  EXPECT_EQ(m.all.size(), 4U);
  ASSERT_EQ(m.notes.size(), 1U);
  EXPECT_NE(m.notes[0].text.find("4 ranks declare a communicator \"pair\" of 2 members"), std::string::npos);
}

TEST(Communicators, DisagreeingSizesAreNoted) {
  const auto m = match_communicators({process(0, {comm(9, 1, 2, {})}), process(1, {comm(9, 1, 3, {})})});
  ASSERT_EQ(m.all.size(), 1U);
  EXPECT_EQ(m.all[0].size, 3);
  EXPECT_EQ(m.notes.size(), 1U);
}

TEST(Communicators, MetaEntriesOfAnyContent) {
  std::string meta(64, '\0');
  const MetaHead head{MetaKind::Communicator, 32};
  std::memcpy(meta.data(), &head, sizeof head);
  const MetaCommunicator fixed{
      .identity = 1, .local_number = 1, .size = 2, .my_rank = 0, .member_count = 0x40000000};
  std::memcpy(meta.data() + 8, &fixed, sizeof fixed);
  EXPECT_TRUE(parse_meta(meta).communicators.empty());  // promises more members than its size holds
  EXPECT_FALSE(parse_meta(meta).losses.empty());
  const MetaHead huge{MetaKind::Communicator, 0xfffffff8};
  std::memcpy(meta.data(), &huge, sizeof huge);
  EXPECT_EQ(whole_entries(meta), 0U);
}

std::string meta_entry(std::int32_t size, const std::vector<MetaRanks>& ranges) {
  const MetaHead head{
      MetaKind::CommunicatorRanges,
      static_cast<std::uint32_t>(sizeof(MetaCommunicator) + ranges.size() * sizeof(MetaRanks))};
  const MetaCommunicator fixed{.identity = 1,
                               .local_number = 1,
                               .size = size,
                               .my_rank = 0,
                               .member_count = static_cast<std::uint32_t>(ranges.size())};
  std::string meta(sizeof head + (std::size_t{head.size} + 7) / 8 * 8, '\0');
  std::memcpy(meta.data(), &head, sizeof head);
  std::memcpy(meta.data() + sizeof head, &fixed, sizeof fixed);
  if (!ranges.empty())
    std::memcpy(meta.data() + sizeof head + sizeof fixed, ranges.data(), ranges.size() * sizeof(MetaRanks));
  return meta;
}

TEST(Communicators, MembersAreRangesHoweverManyTheyAre) {
  const MetaContent content = parse_meta(meta_entry(4096, {{.first = 3, .count = 4096, .step = 8}}));
  ASSERT_EQ(content.communicators.size(), 1U);
  EXPECT_EQ(content.communicators[0].members.size(), 1U);
  const auto m = match_communicators({process(3, content.communicators), process(11, content.communicators)});
  ASSERT_EQ(m.all.size(), 1U);
  EXPECT_EQ(m.all[0].ranks.size(), 4096U);
  EXPECT_EQ(m.all[0].ranks.back(), Rank{3 + 4095 * 8});
}

TEST(Communicators, RangesThatCannotBeAreRefused) {
  for (const std::vector<MetaRanks>& ranges :
       {std::vector<MetaRanks>{{.first = 0, .count = 3, .step = 1}},  // more than the communicator has
        std::vector<MetaRanks>{{.first = 0, .count = 0, .step = 1}},
        std::vector<MetaRanks>{{.first = 0, .count = -1, .step = 1}},
        std::vector<MetaRanks>{{.first = 0, .count = INT32_MAX, .step = 1},
                               {.first = 0, .count = 1, .step = 1}}}) {
    const MetaContent content = parse_meta(meta_entry(2, ranges));
    EXPECT_TRUE(content.communicators.empty());
    EXPECT_EQ(content.losses.size(), 1U);
  }
  // Ranks that cannot be: far outside, and past what an integer holds.
  const MetaContent content = parse_meta(meta_entry(
      4, {{.first = INT32_MAX - 1, .count = 2, .step = INT32_MAX}, {.first = 1, .count = 2, .step = -1}}));
  const auto m = match_communicators({process(0, content.communicators)});
  EXPECT_EQ(values(m.all[0].ranks), (std::vector{0, 1}));
}

TEST(Communicators, ClaimsOfMoreMembersThanThereIsRoomForAreLeftOut) {
  std::vector<LocalCommunicator> claims;
  for (std::uint32_t n = 1; n <= 5; ++n) {
    claims.push_back(comm(n, n, 1 << 24, {}));
    claims.back().members = {{.first = 0, .count = 1 << 24, .step = 0}};
  }
  const auto m = match_communicators({process(0, std::move(claims))});
  EXPECT_EQ(m.all.size(), 5U);
  ASSERT_EQ(m.notes.size(), 1U);
  EXPECT_TRUE(m.notes[0].text.starts_with("1 list of members was left out: all")) << m.notes[0].text;
}

TEST(Communicators, TextsAreMadeSafe) {
  EXPECT_EQ(clean_text(std::string("na\xc3\xafve\0rest", 11)), "na\xc3\xafve");
  EXPECT_EQ(clean_text("\x1b[31mred\x07"), "?[31mred?");
  EXPECT_EQ(clean_text("bad \xff\xc0\xaf\xed\xa0\x80 end"), "bad ?????? end");
  EXPECT_EQ(clean_text("\xc2\x9b"
                       "cut \xe2\x82"),
            "?cut ??");
}

}  // namespace
}  // namespace cox::trace
