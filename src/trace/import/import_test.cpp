// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/import.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "support/make_run.hpp"
#include "trace/import/part/part_builder.hpp"
#include "trace/import/part/reader.hpp"

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

/// A profiler's trace of one rank: all-reduces of 2 ms, 10 ms apart.
std::string trace_of(int rank, int world, std::int64_t first_us, int calls = 12) {
  std::string events;
  for (int k = 0; k < calls; ++k)
    events += fmt::format(
        R"({}{{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL","pid":0,"tid":7,"ts":{},"dur":2000,"args":{{"stream":7}}}})",
        k > 0 ? "," : "", first_us + std::int64_t{k} * 10'000);
  return fmt::format(
      R"({{"traceEvents":[{}],"distributedInfo":{{"backend":"nccl","rank":{},"world_size":{}}}}})", events,
      rank, world);
}

class Folder {
 public:
  void put(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((dir_.path() / name).parent_path());
    std::ofstream(dir_.path() / name, std::ios::binary) << content;
  }
  [[nodiscard]] Imported read(int threads = 1) const {
    auto found = import_path(dir_.path(), {.threads = threads});
    EXPECT_TRUE(found) << found.error().to_string();
    return found ? *std::move(found) : Imported{};
  }
  [[nodiscard]] const std::filesystem::path& path() const { return dir_.path(); }

 private:
  test::ScratchDir dir_;
};

constexpr std::int64_t kStart = 1'700'000'000'000'000;  // microseconds of Unix time

std::string why_of(const Imported& found, const std::string& file) {
  for (const SourceFile& s : found.sources)
    if (s.file == file) return s.used ? "used" : s.why;
  return "not listed";
}

TEST(Import, RanksOfOneJobBecomeOneRun) {
  Folder f;
  for (int r = 0; r < 4; ++r) f.put(fmt::format("any{}.json", 3 - r), trace_of(r, 4, kStart + r));
  const Imported found = f.read();
  ASSERT_EQ(found.jobs.size(), 1U);
  const trace::Run& run = found.jobs.front().run;
  ASSERT_EQ(run.ranks.size(), 4U);
  for (int r = 0; r < 4; ++r) EXPECT_EQ(run.ranks[static_cast<std::size_t>(r)].rank, Rank(r));
  EXPECT_EQ(run.world_size, 4);
  ASSERT_EQ(run.communicators.size(), 1U);
  EXPECT_EQ(run.communicators.front().ranks.size(), 4U);
}

TEST(Import, ACopyIsUsedOnce) {
  Folder f;
  f.put("a.json", trace_of(0, 2, kStart));
  f.put("b.json", trace_of(0, 2, kStart));
  f.put("c.json", trace_of(1, 2, kStart));
  const Imported found = f.read();
  ASSERT_EQ(found.jobs.size(), 1U);
  EXPECT_EQ(why_of(found, "b.json"), "holds the same as a.json");
}

TEST(Import, WhatCouldNotBeReadIsListed) {
  Folder f;
  f.put("a.json", trace_of(0, 2, kStart));
  f.put("notes.txt", "nothing of ours");
  f.put("b.json", R"({"schemaVersion": 1, "traceEvents": [)");
  f.put("c.json", "\x1f\x8b not packed by anybody");
  const Imported found = f.read();
  ASSERT_EQ(found.unread.size(), 2U);
  EXPECT_EQ(found.unread[0].file, "b.json");
  EXPECT_EQ(found.unread[0].why, why_of(found, "b.json"));
  EXPECT_EQ(found.unread[1].file, "c.json");
}

TEST(Import, ARankThatComesAgainBeginsTheNextRun) {
  Folder f;
  for (int r = 0; r < 2; ++r) {
    f.put(fmt::format("first-{}.json", r), trace_of(r, 2, kStart));
    f.put(fmt::format("second-{}.json", r), trace_of(r, 2, kStart + 5'000'000));
  }
  const Imported found = f.read();
  ASSERT_EQ(found.jobs.size(), 2U);
  for (const ImportedJob& job : found.jobs) EXPECT_EQ(job.run.ranks.size(), 2U);
  EXPECT_NE(found.jobs[0].run.info.name, found.jobs[1].run.info.name);
}

TEST(Import, OtherWorldsFoldersAndHoursAreOtherRuns) {
  Folder f;
  f.put("a.json", trace_of(0, 2, kStart));
  f.put("b.json", trace_of(1, 4, kStart));
  f.put("sub/c.json", trace_of(1, 2, kStart));
  f.put("d.json", trace_of(1, 2, kStart + std::int64_t{3'600'000'000}));
  EXPECT_EQ(f.read().jobs.size(), 4U);
}

TEST(Import, WhatIsNotATraceIsNamed) {
  Folder f;
  f.put("a.json", trace_of(0, 1, kStart));
  f.put("notes.txt", "nothing here");
  f.put("near.csv", "step,rank,compute,allreduce\n0,0,1,2\n");
  f.put(".hidden", "not looked at");
  for (const char* beside : {"LICENSE", "README.md", "SHA256SUMS", "page.html.tmp-123-4"})
    f.put(beside, "text");
  const Imported found = f.read();
  EXPECT_EQ(why_of(found, "a.json"), "used");
  EXPECT_EQ(why_of(found, "notes.txt"), "of no known format: text");
  EXPECT_EQ(why_of(found, "near.csv"),
            "of no known format: a table whose columns are not known: step,rank,compute,allreduce");
  EXPECT_EQ(why_of(found, ".hidden"), "not listed");
  for (const char* beside : {"LICENSE", "README.md", "SHA256SUMS", "page.html.tmp-123-4"})
    EXPECT_EQ(why_of(found, beside), "not listed");
}

TEST(Import, ADamagedFileBesideAGoodOneIsNoError) {
  Folder f;
  f.put("a.json", trace_of(0, 2, kStart));
  f.put("b.json", R"({"traceEvents":[{"ph":"X","ts":!!!)");
  const Imported found = f.read();
  EXPECT_EQ(found.jobs.size(), 1U);
  EXPECT_NE(why_of(found, "b.json"), "used");
}

TEST(Import, TheThreadsDoNotMatter) {
  Folder f;
  for (int r = 0; r < 6; ++r) f.put(fmt::format("{}.json", r), trace_of(r, 6, kStart + std::int64_t{r} * 3));
  const Imported one = f.read(1);
  const Imported many = f.read(4);
  ASSERT_EQ(one.jobs.size(), many.jobs.size());
  EXPECT_EQ(test::difference(one.jobs.front().run, many.jobs.front().run), "");
}

TEST(Import, AFileThatDoesNotTellItsRankIsRankZeroAndSaysSo) {
  Folder f;
  std::string text = trace_of(0, 2, kStart);
  text.replace(text.find(R"("rank":0,)"), 9, "");
  f.put("a.json", text);
  const Imported found = f.read();
  ASSERT_EQ(found.jobs.size(), 1U);
  EXPECT_EQ(found.jobs.front().run.ranks.front().rank, Rank(0));
  EXPECT_TRUE(std::any_of(found.jobs.front().run.notes.begin(), found.jobs.front().run.notes.end(),
                          [](const Note& n) { return n.text.find("called rank 0") != std::string::npos; }));
}

}  // namespace
}  // namespace cox::trace
