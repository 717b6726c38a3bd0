// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/figures.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <variant>

#include "support/test_data.hpp"
#include "trace/import/figures/lines.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

Figures read(const std::string& text) {
  auto figures = figures_of(text);
  EXPECT_TRUE(figures) << figures.error().message;
  EXPECT_TRUE(figures && *figures) << "not recognised: " << text.substr(0, 60);
  return figures && *figures ? **std::move(figures) : Figures{};
}

SizeTable sizes(const std::string& text) {
  return std::get<SizeTable>(read(text).table);
}
RankTable ranks(const std::string& text) {
  return std::get<RankTable>(read(text).table);
}

const char* const kNcclHeader =
    "# nThread 1 nGpus 1 minBytes 8\n"
    "#  Rank  0 Group  0 Pid  4101 on      n001 device  0 [0x01] H100\n"
    "#  Rank  1 Group  0 Pid  4102 on      n002 device  0 [0x01] H100\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";

TEST(FiguresFile, NcclTestsTextHasTwoTimesPerSize) {
  const std::string text = std::string(kNcclHeader) +
                           "       8   2  float  sum  -1   12.5  0.0  0.0  0   11.5  0.0  0.0  0\n"
                           "    1024 256  float  sum  -1   13.5  0.1  0.1  0   12.5  0.1  0.1  3\n"
                           "    4096 1024 float  sum  -1   15.5";
  const Figures f = read(text);
  EXPECT_STREQ(f.format, "nccl-tests");
  const SizeTable& t = std::get<SizeTable>(f.table);
  ASSERT_EQ(t.series.size(), 2U);
  EXPECT_EQ(t.series[0].name, "out of place");
  EXPECT_EQ(t.series[1].name, "in place");
  EXPECT_EQ(t.series[0].nodes, 2);
  EXPECT_FALSE(t.series[0].in_place);
  EXPECT_TRUE(t.series[1].in_place);
  EXPECT_EQ(t.series[0].bus_ratio, 0) << "0.1 GB/s is too round";
  ASSERT_EQ(t.series[0].values.size(), 2U) << "nothing follows 15.5: it may have been 15.57";
  EXPECT_EQ(t.series[0].values[1].size, Bytes(1024));
  EXPECT_NEAR(t.series[1].values[1].time.count(), 12.5e-6, 1e-12);
  ASSERT_EQ(f.notes.size(), 2U);
  EXPECT_NE(f.notes[0].find("1 row says that the result was wrong"), std::string::npos);
  EXPECT_NE(f.notes[1].find("1 row is cut"), std::string::npos);
}

TEST(FiguresFile, NcclTestsTellTheirTestAndTheRatioOfTheirRates) {
  const SizeTable t = sizes("# Collective test starting: all_reduce_perf\n" + std::string(kNcclHeader) +
                            "8 2 float sum -1 12.5 0.6 0.9 0 11.5 0.0 0.0 0\n"
                            "1073741824 256 float sum -1 10737 100.00 175.00 0 10737 100.00 500.00 0\n");
  ASSERT_EQ(t.series.size(), 2U);
  EXPECT_EQ(t.series[1].measures, "all_reduce_perf");
  EXPECT_NEAR(t.series[0].bus_ratio, 1.75, 1e-9);
  EXPECT_EQ(t.series[1].bus_ratio, 0) << "five times is none";
}

TEST(FiguresFile, AFolderIsOneTable) {
  const std::filesystem::path dir = std::filesystem::path(testing::TempDir()) / "cox_figures_folder";
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir / "below");
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(dir / name) << text; };
  EXPECT_FALSE(read_figures_folder(dir)) << "an empty folder";
  write("README", "how it was measured");
  EXPECT_FALSE(read_figures_folder(dir));
  const std::string row = "8 2 float sum -1 12.5 0.0 0.0 0 11.5 0.0 0.0 0\n";
  write("b.txt", std::string(kNcclHeader) + row);
  const auto one = read_figures_folder(dir);
  ASSERT_TRUE(one);
  EXPECT_EQ(std::get<SizeTable>(one->table).series[0].name, "out of place")
      << "one alone is as if it was given";
  write("a.txt", "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n8  1.2\n");
  write("c.txt", kNcclHeader);
  write("below/d.txt", std::string(kNcclHeader) + row);
  const auto all = read_figures_folder(dir);
  ASSERT_TRUE(all);
  EXPECT_STREQ(all->format, "several");
  const SizeTable& t = std::get<SizeTable>(all->table);
  ASSERT_EQ(t.series.size(), 3U);
  EXPECT_EQ(t.series[0].name, "a.txt: OSU MPI Latency Test");
  EXPECT_EQ(t.series[2].name, "b.txt: in place");
  EXPECT_EQ(t.series[2].file, "b.txt");
  EXPECT_EQ(all->damaged, 1);
  std::string notes;
  for (const std::string& note : all->notes) notes += note + "\n";
  EXPECT_NE(notes.find("c.txt: no row of nccl-tests"), std::string::npos) << notes;
  EXPECT_NE(notes.find("not used: README"), std::string::npos) << notes;
  std::filesystem::remove_all(dir);
}

TEST(FiguresFile, TheSecondTimeOfAnNcclCsvIsNoStepNumber) {
  const std::string text =
      "size,count,type,redop,root,time,algbw,busbw,wrong,time,algbw,busbw,wrong\n"
      "8,2,float,sum,-1,12.6,0.0,0.0,0,12.3,0.0,0.0,0\n1024,256,float,sum,-1,13,0,0,0,12.9,0,0,0\n";
  const SizeTable t = sizes(text);
  ASSERT_EQ(t.series.size(), 2U);
  EXPECT_TRUE(t.has_unit);
  EXPECT_NEAR(t.series[1].values[0].time.count(), 12.3e-6, 1e-12);
  EXPECT_FALSE(kStepTableReader.recognises({.path = "t.csv", .bytes = text}));
}

TEST(FiguresFile, OsuLatencyAndBandwidth) {
  const SizeTable t = sizes(
      "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n0  1.1\n8  1.2\n"
      "# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n1000000 500\n");
  ASSERT_EQ(t.series.size(), 2U);
  EXPECT_EQ(t.series[0].name, "OSU MPI Latency Test") << "the version is no configuration";
  EXPECT_EQ(t.series[1].measures, "OSU MPI Bandwidth Test");
  EXPECT_NEAR(t.series[0].values[1].time.count(), 1.2e-6, 1e-12);
  EXPECT_NEAR(t.series[1].values[0].time.count(), 2e-3, 1e-9);
}

TEST(FiguresFile, SizeTablesTellConfigurationsAndRepetitions) {
  const Figures f = read("size,value,repeat\n8,1.0,0\n8,1.1,1\n64,1.2,0\n64,nan,1\n");
  const SizeTable& plain = std::get<SizeTable>(f.table);
  ASSERT_EQ(plain.series.size(), 1U);
  EXPECT_FALSE(plain.has_unit);
  EXPECT_EQ(plain.series[0].values.size(), 3U);
  const SizeTable t = sizes("nodes;library;bytes;time_us\n1;a;8;9.4\n1;b;8;9.5\n2;a;1M;23\n");
  ASSERT_EQ(t.series.size(), 3U);
  EXPECT_EQ(t.series[1].name, "b");
  EXPECT_EQ(t.series[2].nodes, 2);
  EXPECT_EQ(t.series[2].values[0].size, Bytes(1 << 20));
}

TEST(FiguresFile, SummariesPerRankInTheirForms) {
  const RankTable one = ranks("rank,mean_ms,std_ms,count\n1,2,0.1,50\n0,1,0.1,40\n");
  ASSERT_EQ(one.quantities.size(), 1U);
  EXPECT_EQ(one.quantities[0].figures[0].rank, Rank(0));
  EXPECT_NEAR(one.quantities[0].figures[1].value, 2e-3, 1e-12);
  EXPECT_NEAR(one.quantities[0].figures[1].spread.value_or(0), 1e-4, 1e-12);
  EXPECT_EQ(one.quantities[0].figures[1].count, 50);
  EXPECT_TRUE(one.quantities[0].is_time);

  const RankTable named =
      ranks("name,rank,count,mean_us,deviation_us\nall_reduce,0,9,5,1\nforward,0,9,7,1\nforward,1,9,7,1\n");
  ASSERT_EQ(named.quantities.size(), 2U);
  EXPECT_EQ(named.quantities[0].name, "all_reduce");
  EXPECT_EQ(named.ranks.size(), 2U);

  const RankTable phases = ranks("rank,forward_s,backward_s,forward_std_s\n0,0.1,0.2,0.01\n1,0.1,,0.01\n");
  ASSERT_EQ(phases.quantities.size(), 2U);
  EXPECT_EQ(phases.quantities[0].name, "forward");
  EXPECT_TRUE(phases.quantities[0].figures[0].spread);
  EXPECT_FALSE(phases.quantities[1].figures[0].spread);
  EXPECT_EQ(phases.quantities[1].figures.size(), 1U);
}

TEST(FiguresFile, OneValuePerRankIsNoStep) {
  const std::string text = "rank,time_s\n0,1.0\n1,1.5\n2,1.0\n";
  EXPECT_TRUE(is_figures(text));
  EXPECT_FALSE(kStepTableReader.recognises({.path = "t.csv", .bytes = text}));
  const std::string steps = "rank,time_s\n0,1.0\n1,1.5\n0,1.0\n1,1.2\n";
  EXPECT_FALSE(is_figures(steps));
  EXPECT_TRUE(kStepTableReader.recognises({.path = "t.csv", .bytes = steps}));
}

TEST(FiguresFile, GaugesOfRanks) {
  const Figures f = read(
      "# TYPE step_seconds gauge\nstep_seconds{rank=\"0\",host=\"a\"} 1.5\nstep_seconds{host=\"b\",rank=\"1\"} 1.25 170\n"
      "# TYPE temp gauge\ntemp{rank=\"0\",sensor=\"hot\"} 61\n# TYPE n counter\nn{rank=\"0\"} 3\n");
  const RankTable& t = std::get<RankTable>(f.table);
  ASSERT_EQ(t.quantities.size(), 2U);
  EXPECT_TRUE(t.quantities[0].is_time);
  EXPECT_EQ(t.quantities[0].figures.size(), 2U);
  EXPECT_EQ(t.quantities[1].name, "temp (hot)");
  EXPECT_FALSE(t.quantities[1].is_time);
  ASSERT_EQ(f.notes.size(), 1U);
}

TEST(FiguresFile, OfSeveralSamplesOfAGaugeTheNewestIsUsed) {
  const auto of_rank_0 = [](const std::string& lines) {
    const Figures f = read("# TYPE step_seconds gauge\nstep_seconds{rank=\"1\"} 9\n" + lines);
    EXPECT_EQ(f.notes, (std::vector<std::string>{"1 value of a rank is older than another and left out"}));
    return std::get<RankTable>(f.table).quantities.at(0).figures.at(0).value;
  };
  EXPECT_EQ(of_rank_0("step_seconds{rank=\"0\"} 1\nstep_seconds{rank=\"0\"} 2\n"), 2);
  EXPECT_EQ(of_rank_0("step_seconds{rank=\"0\"} 1 200\nstep_seconds{rank=\"0\"} 2 100\n"), 1);
  EXPECT_EQ(of_rank_0("step_seconds{rank=\"0\"} 1 100\nstep_seconds{rank=\"0\"} 2 200\n"), 2);
}

TEST(FiguresFile, NotesAgreeWithTheirNumber) {
  EXPECT_EQ(read("size,time_us\n8,1\n64,x\n").notes,
            (std::vector<std::string>{"1 value cannot be read and is left out"}));
  EXPECT_EQ(read("size,time_us\n8,1\n64,x\n64,y\n").notes,
            (std::vector<std::string>{"2 values cannot be read and are left out"}));
  EXPECT_EQ(read("rank,mean_ms,count\n0,1,9\n1,x,9\n2,2,9\n").notes,
            (std::vector<std::string>{"1 rank or value cannot be read and is left out"}));
}

TEST(FiguresFile, ANumberCutAtTheEndIsLeftOut) {
  const auto last = [](const std::string& text) {
    const Figures f = read(text);
    return std::pair(std::get<SizeTable>(f.table).series.front().values.back().time.count(), f.notes.size());
  };
  using Last = std::pair<double, std::size_t>;
  const std::string head = "size,time_s\n8,25\n16,26\n";
  EXPECT_EQ(last(head + "32,3"), Last(26, 1)) << "3 of 38";
  EXPECT_EQ(last(head + "32,3\n"), Last(3, 0)) << "the row is whole";
  EXPECT_EQ(last(head + "32,38"), Last(38, 0));
  EXPECT_EQ(last("size,time_s\n64,200\n32,90").second, 0U) << "a smaller message takes less";
  EXPECT_EQ(last("config,size,time_s\na,8,25\nb,8,3").second, 0U) << "the first of its configuration";
  const Figures rate = read("size,time,algbw,busbw\n1048576,10,100.0,175.0\n2097152,18,110.0,19");
  EXPECT_EQ(std::get<SizeTable>(rate.table).series.front().values.size(), 2U);
  EXPECT_NEAR(std::get<SizeTable>(rate.table).series.front().bus_ratio, 1.75, 1e-9);
  EXPECT_EQ(rate.notes.size(), 1U);
  const std::string sizes_last = "time_s,size\n25,8388608\n31,16777216\n";
  EXPECT_EQ(last(sizes_last + "38,32"), Last(31, 1)) << "32 of 33554432";
  EXPECT_EQ(last(sizes_last + "38,32\n").second, 0U);
  EXPECT_EQ(last(sizes_last + "38,33554432"), Last(38, 0));
  EXPECT_EQ(last("time_s,size\n31,16777216\n25,8388608\n38,32").second, 0U) << "sizes fall";
  EXPECT_EQ(last("time_s,size\n25,8\n31,16\n25,8\n31,16\n25,8").second, 0U) << "repetitions";
  const std::string latency = "# OSU MPI Latency Test v7.3\n# Size Latency (us)\n8 1.2\n";
  EXPECT_EQ(read(latency + "16 0").notes.back(), kCutNote);
  EXPECT_EQ(read(latency + "16 1").notes.size(), 1U) << "the version alone";
}

TEST(FiguresFile, ARateBelongsToItsTimeWhereverItStands) {
  for (const char* text : {"busbw,algbw,time,size\n175.0,100.0,10737,1073741824\n",
                           "size,busbw,time,algbw\n1G,175.0,10737,100.0\n"})
    EXPECT_NEAR(sizes(text).series.at(0).bus_ratio, 1.75, 1e-9) << text;
}

TEST(FiguresFile, TwoTimesAreOfTwoPlacesOnlyWhereRatesAreBesideThem) {
  const SizeTable units = sizes("size,time_us,time_ms\n8,25,0.025\n");
  ASSERT_EQ(units.series.size(), 2U);
  EXPECT_EQ(units.series[0].name, "time_us");
  EXPECT_EQ(units.series[1].name, "time_ms");
  EXPECT_FALSE(units.series[1].in_place);
  EXPECT_EQ(sizes("size,time_us,time_us\n8,25,26\n").series[1].name, "time_us (column 3)");
}

TEST(FiguresFile, OsuUnitsAreReadOrRefused) {
  const auto first = [](const std::string& header, const std::string& row) {
    return sizes("# OSU MPI Test v7.3\n# Size  " + header + "\n" + row + "\n")
        .series.at(0)
        .values.at(0)
        .time.count();
  };
  EXPECT_NEAR(first("Latency (ms)", "8 1.5"), 1.5e-3, 1e-12);
  EXPECT_NEAR(first("Avg Latency(us)   Min Latency(us)", "8 1.5 1.2"), 1.5e-6, 1e-12);
  EXPECT_NEAR(first("Latency (s)", "8 1.5"), 1.5, 1e-12);
  EXPECT_NEAR(first("Latency (usec)", "8 1.5"), 1.5e-6, 1e-12);
  EXPECT_NEAR(first("Bandwidth (MB/s)  Latency (us)", "1000000 2 9"), 0.5, 1e-12) << "beside the size";
  EXPECT_NEAR(first("Bandwidth (GB/s)", "1000000000 2"), 0.5, 1e-12);
  const auto other = figures_of("# OSU MPI Test v7.3\n# Size  Latency (furlongs)\n8 1.5\n");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("furlongs"), std::string::npos);
}

TEST(FiguresFile, TimesOfZeroAreRefused) {
  const auto zero = figures_of("size,time_us\n8,0\n16,0\n");
  ASSERT_FALSE(zero);
  EXPECT_EQ(zero.error().id, "import-005");
  EXPECT_TRUE(figures_of("size,time_us\n8,0\n16,1\n"));
}

TEST(FiguresFile, OtherTextsAreNone) {
  for (const char* text :
       {"", "hello\n", "{\"a\": 1}\n", "step,rank0,rank1\n1,2,3\n", "step,iteration_time_s\n1,2\n",
        "dp_rank,stage,rank,step,optype,start_ts,duration\n0,0,0,1,a,0,1\n", "size\n8\n",
        "# TYPE a gauge\na 1\n"}) {
    const auto figures = figures_of(text);
    ASSERT_TRUE(figures) << text;
    EXPECT_FALSE(*figures) << text;
  }
}

TEST(FiguresFile, HeadsThatPromiseAndDoNotHoldAreRefused) {
  for (const std::string& text :
       {std::string(kNcclHeader), std::string("# OSU MPI Latency Test v7\n# Size  Latency (us)\nabc def\n"),
        std::string("size,time_us\n8,nan\n")}) {
    const auto figures = figures_of(text);
    ASSERT_FALSE(figures) << text;
    EXPECT_EQ(figures.error().id, "import-005");
  }
}

TEST(FiguresFile, EveryCutOfAFileIsReadOrRefused) {
  const std::string whole =
      std::string(kNcclHeader) + "       8   2  float  sum  -1   12.5  0 0  0   11.5  0 0 0\n";
  for (std::size_t n = 0; n <= whole.size(); ++n) {
    const auto figures = figures_of(whole.substr(0, n));
    if (!figures) {
      EXPECT_EQ(figures.error().id, "import-005");
    }
  }
}

TEST(FiguresFile, ReadsTheTablesOfFacts) {
  COX_NEED_DATA(path, "traces/facts/alps_default_allreduce_le32nodes.csv");
  const auto figures = read_figures(path);
  ASSERT_TRUE(figures && *figures);
  const SizeTable& t = std::get<SizeTable>((**figures).table);
  EXPECT_EQ(t.series.size(), 6U);
  EXPECT_EQ(t.series[1].nodes, 2);
}

}  // namespace
}  // namespace cox::trace
