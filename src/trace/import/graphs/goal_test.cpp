// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trace/import/graphs/chakra_graph.hpp"
#include "trace/import/graphs/chakra_memory_file.hpp"
#include "trace/import/graphs/goal_text.hpp"

namespace cox::trace {
namespace {

constexpr const char* kSmall = R"(// two ranks
num_ranks 2
/* rank 9 { */
rank 0 { l1: calc 100; l2: send 10b to 1 tag 5 cpu 0 nic 0
  l2 requires l1 }
rank 1 {
l3: calc 7 cpu 1
l1: recv 10 b from 0 tag 5
l3 requires l1
}
)";

std::vector<std::uint32_t> before(const ImportedJob& job, std::uint32_t i) {
  const auto before = job.program.needs.before(i);
  return {before.begin(), before.end()};
}

TEST(Goal, ReadsOperationsAndTiesMessages) {
  EXPECT_TRUE(recognises(kGoalReader, kSmall));
  const auto job = read_bytes(kGoalReader, kSmall);
  ASSERT_TRUE(job) << job.error().to_string();
  const model::Program& o = job->program;
  ASSERT_EQ(o.size(), 4U);
  EXPECT_EQ(job->run.world_size, 2);
  EXPECT_EQ(job->run.times, TimesKind::None);
  EXPECT_EQ(o.kind, (std::vector<OperationKind>{OperationKind::Compute, OperationKind::Send,
                                                OperationKind::Compute, OperationKind::Receive}));
  EXPECT_EQ(o.duration[0], duration_from_nanos(100));
  EXPECT_EQ(o.duration[1], kNoDuration);
  EXPECT_EQ(o.bytes[1], Bytes(10));
  EXPECT_EQ(before(*job, 1), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(before(*job, 2), (std::vector<std::uint32_t>{3})) << "a label may come later";
  EXPECT_EQ(before(*job, 3), (std::vector<std::uint32_t>{1})) << "the message";
  EXPECT_TRUE(job->run.notes.empty()) << notes_of(job->run);
  EXPECT_EQ(job->run.sources.front().records, 4);
}

TEST(Goal, WhatWaitsForABeginningOnlyWaitsForWhatComesBeforeIt) {
  const auto job = read_bytes(kGoalReader, R"(num_ranks 1
rank 0 {
a: calc 10
b: calc 100
c: calc 1
b requires a
c irequires b
})");
  ASSERT_TRUE(job);
  const model::Program& o = job->program;
  ASSERT_EQ(o.size(), 4U) << "a, the beginning of b, b, c";
  EXPECT_EQ(job->program.names[o.name[1]], "start");
  EXPECT_EQ(o.duration[1], Duration::zero());
  EXPECT_EQ(before(*job, 1), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(before(*job, 2), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(before(*job, 3), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(job->run.sources.front().records, 3) << "the beginning is no statement of the file";
}

TEST(Goal, MatchesMessagesInOrderAndSaysWhatIsLeft) {
  const auto job = read_bytes(kGoalReader, R"(num_ranks 3
rank 1 {
r1: recv 8b from 0 tag 1
r2: recv 9b from 0 tag 1
r3: recv 8b from -1 tag 2
}
rank 0 {
s1: send 8b to 1 tag 1
s2: send 8b to 1 tag 1
s3: send 8b to 1 tag 2
s4: send 8b to 2 tag 2
x requires s1
}
bad line
rank 0 {
)");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->run.ranks.front().rank, Rank(0)) << "sorted, whatever the order of blocks";
  EXPECT_EQ(before(*job, 0), (std::vector<std::uint32_t>{3}));
  EXPECT_EQ(before(*job, 1), (std::vector<std::uint32_t>{4}));
  EXPECT_EQ(before(*job, 2), (std::vector<std::uint32_t>{}));
  const std::string notes = notes_of(job->run);
  for (const char* want : {"1 receive from any rank", "2 sends and receives without a counterpart",
                           "1 message is received with another", "1 dependency on a label",
                           "1 statement that is none of the format, in line 14",
                           "ends inside the operations of rank 0", "2 of 3 ranks"})
    EXPECT_NE(notes.find(want), std::string::npos) << want << " in\n" << notes;
}

TEST(Goal, KnowsItsStatements) {
  for (const char* good : {"num_ranks 3", "rank 1 {", "}", "calc 5", "a:calc 5 cpu 2", "a: send 5b to 1",
                           "a : recv 5b from -1 tag -1 nic 2", "a requires b", "a irequires b"})
    EXPECT_TRUE(parse_goal_statement(good)) << good;
  for (const char* bad :
       {"", "num_ranks", "rank 1", "calc", "calc -5", "calc 5 nic 1", "a: send 5 to 1", "send 5b from 1",
        "send 5b to -1", "a requires", "a requires b c", "a: b", "calc 99999999999999999999", "rank 1 { x"})
    EXPECT_FALSE(parse_goal_statement(bad)) << bad;
  EXPECT_FALSE(recognises(kGoalReader, "rank,step,time\n1,2,3\n"));
  EXPECT_FALSE(recognises(kGoalReader, "calc 5\n"));
}

TEST(Goal, SurvivesCutsAndReplacedBytes) {
  const std::string text = kSmall;
  for (std::size_t i = 0; i < text.size(); ++i) {
    static_cast<void>(read_bytes(kGoalReader, text.substr(0, i)));
    for (const char c : {'{', '}', ';', '\n', '/', '*', '\0', '-'}) {
      std::string damaged = text;
      damaged[i] = c;
      static_cast<void>(read_bytes(kGoalReader, damaged));
    }
  }
  EXPECT_FALSE(read_bytes(kGoalReader, "num_ranks 4\n"));
}

TEST(Goal, ReadsALongChain) {
  std::string text = "num_ranks 1\nrank 0 {\nl0: calc 1\n";
  for (int i = 1; i < 100'000; ++i)
    text += "l" + std::to_string(i) + ": calc 1\nl" + std::to_string(i) + " requires l" +
            std::to_string(i - 1) + "\n";
  const auto job = read_bytes(kGoalReader, text + "}\n");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->program.needs.edges(), 99'999U);
}

}  // namespace
}  // namespace cox::trace
