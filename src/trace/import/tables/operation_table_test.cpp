// SPDX-License-Identifier: Apache-2.0
#include "trace/import/tables/operation_table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <utility>

#include "support/test_data.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

constexpr std::string_view kHeader = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";

class TableFile {
 public:
  explicit TableFile(std::string_view text) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(::testing::TempDir()) /
            ("cox-table-" + std::to_string(getpid()) + test->name());
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TableFile() { std::filesystem::remove(path_); }
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;
  [[nodiscard]] Result<ImportedJob> read() const { return kOperationCsvReader.read(path_, {.threads = 1}); }

 private:
  std::filesystem::path path_;
};

Result<ImportedJob> read_text(std::string_view text) {
  return TableFile(text).read();
}

void expect_equal(const model::Program& a, const model::Program& b) {
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.begin, b.begin);
  EXPECT_EQ(a.duration, b.duration);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.micro_batch, b.micro_batch);
  EXPECT_EQ(a.chunk, b.chunk);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.comm, b.comm);
}

TEST(OperationTable, WithoutNumbersTheOrderOfATypeInAStepTells) {
  std::string text = "step,rank,optype,start_ts,duration\n";
  for (const int step : {0, 1})
    for (const int rank : {0, 1, 2})
      for (const int i : {0, 1, 2})
        text +=
            fmt::format("{},{},optimizer-clip-main-grad,{},0.1\n", step, rank, 10 * step + i + 0.01 * rank);
  const auto job = read_text(text);
  ASSERT_TRUE(job);
  std::map<std::pair<int, int>, int> calls;  // by step and number
  for (std::size_t i = 0; i < job->program.size(); ++i)
    ++calls[{job->program.step[i], job->program.sequence[i]}];
  EXPECT_EQ(calls.size(), 6U) << "three in each step";
  for (const auto& [call, members] : calls) EXPECT_EQ(members, 3);
}

TEST(OperationTable, ReadsQuotedCellsInAnyOrderOfColumns) {
  const auto job = read_text(
      "duration,\"optype\",extra,start_ts,rank\r\n"
      "0.5,\"odd, \"\"type\"\"\",x,1.25,3\r\n"
      "0.25,optimizer,,1.75,3.0\n");
  ASSERT_TRUE(job) << job.error().to_string();
  ASSERT_EQ(job->program.size(), 2U);
  EXPECT_EQ(job->program.names[job->program.name[0]], "odd, \"type\"");
  EXPECT_EQ(job->program.begin[0], Duration::zero());
  EXPECT_EQ(job->program.begin[1], duration_from_seconds(0.5));
  EXPECT_EQ(job->program.duration[1], duration_from_seconds(0.25));
  EXPECT_EQ(job->program.step[0], -1);
  EXPECT_EQ(job->run.ranks.at(0).rank, Rank(3));
  EXPECT_EQ(job->run.sources.at(0).used_records, 2);
}

TEST(OperationTable, RanksFollowFromPlacesWhereTheyAreNotGiven) {
  const auto job = read_text(
      "dp_rank,stage,optype,start_ts,duration\n"
      "0,0,gc,0,1\n1,0,gc,0,1\n0,1,gc,0,1\n1,1,gc,0,1\n");
  ASSERT_TRUE(job) << job.error().to_string();
  ASSERT_EQ(job->run.ranks.size(), 4U);
  EXPECT_EQ(job->run.ranks[1].role.data, 1);
  EXPECT_EQ(job->run.ranks[1].role.pipeline, 0);
  EXPECT_EQ(job->run.ranks[2].role.data, 0);
  EXPECT_EQ(job->run.ranks[2].role.pipeline, 1);
}

TEST(OperationTable, SaysHowManyRanksThereAreWhereItCan) {
  const auto world = [](const std::vector<int>& ranks, bool with_places) {
    std::string text = "rank,dp_rank,stage,optype,start_ts,duration\n";
    for (std::size_t i = 0; i < ranks.size(); ++i)
      text += fmt::format("{},{},{},gc,0,1\n", ranks[i], with_places ? static_cast<int>(i) : -1,
                          with_places ? 0 : -1);
    return read_text(text)->run.world_size;
  };
  EXPECT_EQ(world({0, 1, 2}, false), 3);
  EXPECT_EQ(world({0, 2, 3}, false), 4);  // rank 1 is missing
  EXPECT_EQ(world({0, 1, 2}, true), 3);
  EXPECT_EQ(world({0, 4, 8}, true), 0);  // one of each tensor group
}

TEST(OperationTable, SaysWhichPlacesAreMissing) {
  const auto job = read_text("dp_rank,stage,rank,optype,start_ts,duration\n0,0,0,gc,0,1\n1,1,3,gc,0,1\n");
  ASSERT_TRUE(job) << job.error().to_string();
  ASSERT_EQ(job->run.notes.size(), 1U);
  EXPECT_TRUE(job->run.notes[0].text.starts_with("2 of 4 places")) << job->run.notes[0].text;
}

TEST(OperationTable, SaysWhichRowsItCouldNotUse) {
  std::string text(kHeader);
  text += "0,0,0,1,gc,0,1,0,0,0,0\n";
  text += "0,0,0,1,gc,0,1,0,0,0,0\n";    // the same again
  text += "0,0,0,1,gc,nan,1,1,0,0,0\n";  // no start
  text += "0,0,0,1,gc,1,-1,1,0,0,0\n";   // ends before it begins
  text += "0,0,0,1,,1,1,1,0,0,0\n";      // no type
  text += "0,0,99999999999,1,gc,1,1\n";  // no such rank
  const auto job = read_text(text);
  ASSERT_TRUE(job) << job.error().to_string();
  EXPECT_EQ(job->program.size(), 1U);
  ASSERT_EQ(job->run.notes.size(), 2U);
  EXPECT_EQ(job->run.notes[0].text, "4 of 6 rows without a type, start, duration or rank that can be used");
  EXPECT_EQ(job->run.sources.at(0).records, 6);
  EXPECT_EQ(job->run.sources.at(0).used_records, 1);
}

TEST(OperationTable, NamesTheMissingColumn) {
  const auto job = read_text("rank,optype,start_ts\n0,gc,1\n");
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().id, "import-005");
  EXPECT_EQ(job.error().message, "the table has no column duration");
}

TEST(OperationTable, RecognisesItsHeaderOnly) {
  const auto recognises = [](std::string_view bytes) {
    return kOperationCsvReader.recognises({.path = {}, .bytes = bytes});
  };
  EXPECT_TRUE(recognises(kHeader));
  EXPECT_FALSE(recognises("rank,step,duration\n0,1,2\n"));
  EXPECT_FALSE(recognises(""));
  EXPECT_FALSE(recognises("{\"optype\": 1}"));
}

TEST(OperationTable, PlacesStepsThatCountFromTheirOwnBeginning) {
  const auto job = read_text(
      "rank,step,optype,start_ts,duration\n"
      "0,7,gc,0,1\n0,7,optimizer,1,1\n0,9,gc,0,1\n0,9,optimizer,1,1\n");
  ASSERT_TRUE(job) << job.error().to_string();
  EXPECT_EQ(job->program.begin[2], duration_from_seconds(2));
  const auto absolute = read_text(
      "rank,step,optype,start_ts,duration\n"
      "0,7,gc,5,1\n0,7,optimizer,6,1\n0,9,gc,8,1\n0,9,optimizer,9,1\n");
  ASSERT_TRUE(absolute) << absolute.error().to_string();
  EXPECT_EQ(absolute->program.begin[2], duration_from_seconds(3));
}

/// Times of the steps that rank 0 marked, and the ends of its collectives.
std::pair<std::vector<Duration>, std::vector<Duration>> marks_and_ends(const ImportedJob& job) {
  std::pair<std::vector<Duration>, std::vector<Duration>> out;
  const EventColumns& e = job.run.ranks.front().events;
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (e.kind[i] == EventKind::Step) out.first.push_back(e.begin[i]);
    if (e.kind[i] == EventKind::Collective) out.second.push_back(e.end[i]);
  }
  return out;
}

TEST(OperationTable, AStepBeginsBehindTheCollectiveThatRoundingMakesEndAfterIt) {
  const auto text_of = [](std::string_view second_begin) {
    std::string text = "step,dp_rank,stage,optype,seq_id,start_ts,duration\n";
    for (const int rank : {0, 1}) {
      text += fmt::format("0,{},0,forward-compute,0,0,1\n0,{},0,grads-reduce-scatter,0,1,0.5000001\n", rank,
                          rank);
      text += fmt::format("1,{},0,forward-compute,0,{},1\n1,{},0,grads-reduce-scatter,0,2.5,0.5\n", rank,
                          second_begin, rank);
    }
    return text;
  };
  const auto touching = read_text(text_of("1.5"));
  ASSERT_TRUE(touching) << touching.error().to_string();
  const auto [marks, ends] = marks_and_ends(*touching);
  ASSERT_EQ(marks.size(), 2U);
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_EQ(marks[1], ends[0]) << "else the first step's collective is one of the second";
  const auto beside = read_text(text_of("1.3"));
  ASSERT_TRUE(beside);
  EXPECT_LT(marks_and_ends(*beside).first.at(1), ends[0]) << "real overlap stays";
}

TEST(OperationTable, RowsFarFromTheFirstStepAreLeftOutOnBothSides) {
  std::string text(kHeader);
  for (const auto& [step, start] :
       {std::pair(3, "100"), std::pair(4, "101"), std::pair(5, "-2147483648"), std::pair(6, "5000000"),
        std::pair(7, "50"), std::pair(8, "102"), std::pair(9, "103")})
    text += fmt::format("0,0,0,{},forward-compute,{},0.5,0,0,0,\n", step, start);
  const auto job = read_text(text);
  ASSERT_TRUE(job) << job.error().to_string();
  ASSERT_EQ(job->program.size(), 5U);
  // The step that began earlier than the one with the lowest number stays where it was.
  EXPECT_EQ(*std::min_element(job->program.begin.begin(), job->program.begin.end()),
            duration_from_seconds(-50));
  EXPECT_TRUE(std::any_of(job->run.notes.begin(), job->run.notes.end(), [](const Note& n) {
    return n.text == "2 rows more than 50 days from the first step";
  }));
}

TEST(OperationTable, CollectivesHaveOneNumberOnAllMembersAlsoWhereARowIsMissing) {
  // Rank 1 has no all-gather in the first step.
  const auto job = read_text(std::string(kHeader) +
                             "0,0,0,1,params-all-gather,0,1,0,0,-1,-1\n"
                             "0,0,0,1,grads-reduce-scatter,2,1,0,0,-1,-1\n"
                             "1,0,1,1,grads-reduce-scatter,2,1,0,0,-1,-1\n"
                             "0,0,0,2,params-all-gather,0,1,0,0,-1,-1\n"
                             "1,0,1,2,params-all-gather,0.1,1,0,0,-1,-1\n");
  ASSERT_TRUE(job) << job.error().to_string();
  const auto numbers = [&](std::size_t rank) {
    std::vector<std::uint32_t> out;
    const EventColumns& e = job->run.ranks[rank].events;
    for (std::size_t i = 0; i < e.size(); ++i)
      if (e.kind[i] == EventKind::Collective) out.push_back(e.seq[i]);
    return out;
  };
  EXPECT_EQ(numbers(0), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(numbers(1), (std::vector<std::uint32_t>{1, 2}));
}

TEST(OperationTable, AReceiveIsAWaitWhereTheRankDoesNotCompute) {
  const auto job = read_text(std::string(kHeader) +
                             "0,0,0,1,forward-compute,0,1,0,0,0,0\n"
                             "0,1,1,1,forward-recv,0,4,0,-1,-1,-1\n"
                             "0,1,1,1,forward-compute,1,2,0,0,0,1\n");
  ASSERT_TRUE(job) << job.error().to_string();
  const EventColumns& e = job->run.ranks[1].events;
  std::vector<std::pair<Duration, Duration>> waits;
  for (std::size_t i = 0; i < e.size(); ++i)
    if (e.kind[i] == EventKind::Wait) {
      waits.emplace_back(e.begin[i], e.end[i]);
      EXPECT_EQ(e.aux[i], 0U);
    }
  ASSERT_EQ(waits.size(), 2U);
  EXPECT_EQ(waits[0].second, duration_from_seconds(1));
  EXPECT_EQ(waits[1].first, duration_from_seconds(3));
}

TEST(OperationTableData, CsvAndParquetGiveTheSamePart) {
  COX_NEED_DATA(dir, "traces/bytedance-st");
  const auto csv = kOperationCsvReader.read(dir / "trace-ST.csv", {.threads = 1});
  const auto parquet = kOperationParquetReader.read(dir / "trace-ST.parquet", {.threads = 1});
  ASSERT_TRUE(csv) << csv.error().to_string();
  ASSERT_TRUE(parquet) << parquet.error().to_string();
  EXPECT_EQ(csv->program.size(), 6784U);
  EXPECT_EQ(csv->program.names.size(), 13U);
  EXPECT_EQ(csv->run.ranks.size(), 8U);
  EXPECT_EQ(csv->program.names, parquet->program.names);
  ASSERT_EQ(csv->program.size(), parquet->program.size());
  // CSV holds the shortest decimal of each 32 bit float: the same float, another double by up to half a unit.
  model::Program rounded = parquet->program;
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    EXPECT_NEAR(in_seconds(rounded.begin[i]), in_seconds(csv->program.begin[i]), 1e-5);
    EXPECT_NEAR(in_seconds(rounded.duration[i]), in_seconds(csv->program.duration[i]), 1e-6);
    rounded.begin[i] = csv->program.begin[i];
    rounded.duration[i] = csv->program.duration[i];
  }
  expect_equal(csv->program, rounded);
  EXPECT_EQ(csv->run.event_count(), parquet->run.event_count());
}

TEST(OperationTableData, FilesAreRecognisedByWhatIsInThem) {
  COX_NEED_DATA(dir, "traces/bytedance-st");
  const auto head = [&](const char* name) {
    std::ifstream in(dir / name, std::ios::binary);
    std::string bytes(kHeadBytes, '\0');
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(in.gcount()));
    return bytes;
  };
  const std::string csv = head("trace-ST.csv");
  const std::string parquet = head("trace-ST.parquet");
  EXPECT_TRUE(kOperationCsvReader.recognises({.path = "x", .bytes = csv}));
  EXPECT_FALSE(kOperationCsvReader.recognises({.path = "x.csv", .bytes = parquet}));
  EXPECT_TRUE(kOperationParquetReader.recognises({.path = "x", .bytes = parquet}));
  EXPECT_FALSE(kOperationParquetReader.recognises({.path = "x.parquet", .bytes = csv}));
}

TEST(OperationTableData, OrderOfRowsLeavesNoTrace) {
  COX_NEED_DATA(dir, "traces/bytedance-st");
  std::ifstream in(dir / "trace-ST.csv");
  std::string header;
  std::getline(in, header);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  const auto join = [&] {
    std::string text = header + "\n";
    for (const std::string& line : lines) text += line + "\n";
    return text;
  };
  const auto sorted = read_text(join());
  std::shuffle(lines.begin(), lines.end(), std::mt19937(7));
  const auto shuffled = read_text(join());
  ASSERT_TRUE(sorted && shuffled);
  EXPECT_EQ(sorted->program.names, shuffled->program.names);
  expect_equal(sorted->program, shuffled->program);
}

}  // namespace
}  // namespace cox::trace
