// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cox/trace/import.hpp"

#include "diagnose/efficiency/json.hpp"
#include "diagnose/efficiency/measure.hpp"
#include "diagnose/match/synthetic_job.hpp"
#include "tests/support/test_data.hpp"

namespace cox::diagnose {
namespace {

using namespace testing;

/// Rows of a published table: name, then one value per size.
std::map<std::string, std::vector<double>> read_table(const std::filesystem::path& path) {
  std::map<std::string, std::vector<double>> table;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream cells(line);
    std::string name;
    std::getline(cells, name, ';');
    for (std::string cell; std::getline(cells, cell, ';');) table[name].push_back(std::stod(cell));
  }
  return table;
}

/// Whether `value` is the published one, as exactly as the table prints it.
void expect_published(const std::map<std::string, std::vector<double>>& table, const char* row,
                      std::size_t column, double value, double scale, double tolerance) {
  const auto at = table.find(row);
  ASSERT_NE(at, table.end()) << row;
  ASSERT_LT(column, at->second.size()) << row;
  EXPECT_NEAR(value * scale / at->second[column], 1, tolerance) << row << ", column " << column;
}

TEST(Efficiency, EpochHasItsPublishedFactors) {
  COX_NEED_DATA(dir, "traces/epoch-paraver");
  const auto table = read_table(dir / "modelfactors-1-2-4.csv");
  std::vector<Efficiencies> measured;
  for (const int n : {4, 1, 2}) {
    const auto imported = trace::import_path(dir / ("epoch_" + std::to_string(n) + "proc.prv.gz"));
    ASSERT_TRUE(imported) << imported.error().to_string();
    const auto e = measure_efficiencies(imported->jobs.front().run);
    ASSERT_TRUE(e);
    measured.push_back(*e);
  }
  const auto scaling = compare_sizes(measured);
  ASSERT_TRUE(scaling);
  ASSERT_EQ(scaling->sizes.size(), 3U);
  for (std::size_t c = 0; c < 3; ++c) {
    const SizeEfficiencies& s = scaling->sizes[c];
    const auto expect = [&](const char* row, double value, double scale, double tolerance) {
      expect_published(table, row, c, value, scale, tolerance);
    };
    expect("Number of processes", static_cast<double>(s.at.ranks), 1, 0);
    expect("Parallel efficiency", s.at.parallel, 100, 1e-7);
    expect("Load balance", s.at.load_balance, 100, 1e-7);
    expect("Communication efficiency", s.at.communication, 100, 1e-7);
    ASSERT_TRUE(s.at.serialisation && s.at.transfer && s.at.counters && s.instruction_scaling);
    expect("Serialization efficiency", *s.at.serialisation, 100, 1e-7);
    expect("Transfer efficiency", *s.at.transfer, 100, 1e-7);
    expect("Computation scalability", s.computation_scaling, 100, 1e-7);
    expect("Global efficiency", s.global, 100, 1e-7);
    expect("IPC scalability", *s.ipc_scaling, 100, 1e-7);
    expect("Instruction scalability", *s.instruction_scaling, 100, 1e-7);
    expect("Frequency scalability", *s.frequency_scaling, 100, 1e-7);
    expect("Speedup", s.speed_up, 1, 1e-6);
    expect("Average IPC", s.at.counters->ipc, 1, 1e-6);
    expect("Average frequency (GHz)", static_cast<double>(s.at.counters->frequency_hz), 1e-9, 1e-6);
    expect("Runtime (us)", in_seconds(s.at.runtime), 1e6, 1e-9);
    expect("Runtime (ideal)", in_seconds(*s.at.ideal_runtime), 1e6, 1e-9);
    expect("Useful duration (average)", in_seconds(s.at.useful_average), 1e6, 1e-9);
    expect("Useful duration (maximum)", in_seconds(s.at.useful_maximum), 1e6, 1e-9);
    expect("Useful duration (ideal, max)", in_seconds(*s.at.ideal_useful_maximum), 1e6, 1e-9);
    expect("Useful instructions (total)", static_cast<double>(s.at.counters->instructions), 1, 0);
    expect("Useful cycles (total)", static_cast<double>(s.at.counters->cycles), 1, 0);
    EXPECT_NEAR(s.computation_scaling, *s.instruction_scaling * *s.ipc_scaling * *s.frequency_scaling, 1e-8);
    EXPECT_EQ(s.at.source, UsefulSource::States);
    EXPECT_LE(efficiency_lines(s.at).size(), 8U);
  }
}

trace::Run uneven_job(std::uint64_t seed, int ranks) {
  Job job{.ranks = ranks, .steps = 12, .calls_per_step = 2, .transfer = 700us, .marks = true};
  job.work = [=](int rank, int step) {
    return lognormal_work(seed, rank, step, 10ms, 0.3) + (rank == 1 ? 3ms : 0ms);
  };
  return make_job(job);
}

TEST(Efficiency, FactorsMultiplyToWhatTheyArePartOf) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const trace::Run input = uneven_job(seed, 2 + static_cast<int>(seed % 7));
    const auto e = measure_efficiencies(input);
    ASSERT_TRUE(e && e->serialisation && e->transfer) << e->no_ideal;
    EXPECT_NEAR(e->parallel, e->load_balance * e->communication, 1e-12);
    EXPECT_NEAR(e->communication, *e->serialisation * *e->transfer, 1e-12);
    EXPECT_NEAR(e->parallel, ratio(e->useful_average, e->runtime), 1e-9);
    for (const double x : {e->parallel, e->load_balance, e->communication, *e->serialisation, *e->transfer}) {
      EXPECT_GT(x, 0);
      EXPECT_LE(x, 1 + 1e-12);
    }
    EXPECT_EQ(e->source, UsefulSource::OwnWork);
    EXPECT_TRUE(e->no_ideal.empty());
  }
}

TEST(Efficiency, RenamingRanksChangesNothing) {
  trace::Run run = uneven_job(3, 6);
  const auto before = measure_efficiencies(run);
  std::reverse(run.ranks.begin(), run.ranks.end());
  for (std::size_t r = 0; r < run.ranks.size(); ++r) run.ranks[r].rank = Rank(static_cast<std::int32_t>(r));
  const auto after = measure_efficiencies(run);
  ASSERT_TRUE(before && after);
  EXPECT_NEAR(before->load_balance, after->load_balance, 1e-15);
  EXPECT_EQ(before->communication, after->communication);
  EXPECT_EQ(before->ideal_runtime, after->ideal_runtime);
  EXPECT_EQ(before->ideal_useful_maximum, after->ideal_useful_maximum);
}

TEST(Efficiency, TransferIsTheNetworksPartAndSerialisationIsNot) {
  Job job{.ranks = 4, .steps = 20, .transfer = 2ms, .marks = true};
  const trace::Run input = make_job(job);
  const auto network = measure_efficiencies(input);
  ASSERT_TRUE(network && network->serialisation);
  EXPECT_NEAR(*network->serialisation, 1, 1e-12);
  EXPECT_NEAR(*network->transfer, 10.0 / 12, 1e-12);
  EXPECT_NEAR(network->load_balance, 1, 1e-12);

  job.transfer = Duration::zero();
  job.work = [](int rank, int step) { return rank == step % 4 ? Duration{20ms} : Duration{10ms}; };
  const trace::Run in_turn = make_job(job);
  const auto turns = measure_efficiencies(in_turn);
  ASSERT_TRUE(turns && turns->serialisation);
  EXPECT_NEAR(*turns->serialisation, 12.5 / 20, 1e-12);
  EXPECT_NEAR(*turns->transfer, 1, 1e-12);
  EXPECT_NEAR(turns->load_balance, 1, 1e-12);
}

TEST(Efficiency, SourceFollowsWhatTheInputTells) {
  trace::Run run = uneven_job(1, 3);
  for (trace::RankTrack& t : run.ranks) t.library = "Open MPI 4.1.4";
  EXPECT_EQ(measure_efficiencies(run)->source, UsefulSource::OutsideMpi);

  run.names = {"gemm"};
  for (trace::RankTrack& t : run.ranks) {
    const auto add = [&](Duration begin, Duration end, std::uint32_t stream) {
      t.activities.begin.push_back(begin);
      t.activities.end.push_back(end);
      t.activities.kind.push_back(trace::ActivityKind::Kernel);
      t.activities.lane.push_back(stream);
      t.activities.name.push_back(0);
      t.activities.launched.push_back(trace::kNoActivity);
    };
    add(1ms, 5ms, 7);
    add(2ms, 4ms, 8);
    add(4ms, 9ms, 8);
  }
  const auto kernels = measure_efficiencies(run);
  ASSERT_TRUE(kernels);
  EXPECT_EQ(kernels->source, UsefulSource::ComputeKernels);
  EXPECT_EQ(kernels->useful_maximum, Duration{8ms});
  EXPECT_FALSE(kernels->serialisation);
  EXPECT_FALSE(kernels->no_ideal.empty());
}

TEST(Efficiency, NothingTimedIsNoAnswer) {
  const trace::Run nobody;
  EXPECT_FALSE(measure_efficiencies(nobody));
  const trace::Run empty = empty_run(4);
  EXPECT_FALSE(measure_efficiencies(empty));
  trace::Run untimed = uneven_job(1, 3);
  untimed.times = trace::TimesKind::None;
  EXPECT_FALSE(measure_efficiencies(untimed));
}

TEST(Efficiency, SizesAreComparedWithTheSmallest) {
  Efficiencies small;
  small.ranks = 2;
  small.parallel = 0.9;
  small.runtime = 100s;
  small.useful_average = 90s;
  small.counters =
      UsefulCounters{.instructions = 1000, .cycles = 500, .ipc = 2, .frequency_hz = 1'000'000'000};
  Efficiencies large = small;
  large.ranks = 4;
  large.runtime = 60s;
  large.useful_average = 50s;
  large.counters = UsefulCounters{.instructions = 1100, .cycles = 550, .ipc = 2, .frequency_hz = 990'000'000};
  EXPECT_FALSE(compare_sizes({small}));
  const auto fixed = compare_sizes({large, small});
  ASSERT_TRUE(fixed);
  EXPECT_EQ(fixed->sizes[0].at.ranks, 2);
  EXPECT_NEAR(fixed->sizes[0].global, 0.9, 1e-12);
  EXPECT_NEAR(fixed->sizes[1].computation_scaling, 180.0 / 200, 1e-12);
  EXPECT_NEAR(*fixed->sizes[1].instruction_scaling, 1000.0 / 1100, 1e-12);
  EXPECT_NEAR(fixed->sizes[1].speed_up, 100.0 / 60, 1e-12);
  const auto grows = compare_sizes({large, small}, ProblemSize::Grows);
  ASSERT_TRUE(grows);
  EXPECT_NEAR(grows->sizes[1].computation_scaling, 180.0 / 200 * 2, 1e-12);
  EXPECT_NEAR(grows->sizes[1].speed_up, 100.0 / 60 * 2, 1e-12);
  EXPECT_EQ(scaling_lines(*grows).size(), 3U);
}

TEST(Efficiency, JsonAndLinesSayTheSame) {
  const trace::Run input = uneven_job(5, 4);
  const auto e = measure_efficiencies(input);
  ASSERT_TRUE(e);
  nlohmann::ordered_json j;
  write_json(*e, j);
  EXPECT_EQ(j.at("ranks"), 4);
  EXPECT_EQ(j.at("useful_source"), "own work");
  EXPECT_DOUBLE_EQ(j.at("parallel_ratio").get<double>(), e->parallel);
  EXPECT_DOUBLE_EQ(j.at("transfer_ratio").get<double>(), *e->transfer);
  EXPECT_TRUE(j.at("counters").is_null());
  EXPECT_TRUE(j.at("no_ideal").is_null());
  const auto lines = efficiency_lines(*e);
  EXPECT_GE(lines.size(), 3U);
  EXPECT_LE(lines.size(), 8U);
  EXPECT_EQ(lines.front().find("parallel efficiency"), 0U);
}

}  // namespace
}  // namespace cox::diagnose
