// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"

#include "simulate/sweep/file.hpp"

namespace cox::simulate {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScenario = R"(name = "tiny"
[cluster]
nodes = 4
devices_per_node = 1
nic = { latency = "1us", bandwidth = "50GB/s" }
[job]
workload = "collective"
steps = 2
[job.collective]
kind = "all-reduce"
algorithm = "ring"
bytes = "1MiB"
)";
constexpr const char* kSweep = R"(name = "grid"
scenario = "tiny.toml"
[grid]
"cluster.nodes" = [2, 4, 8]
"job.collective.bytes" = ["1MiB", "4MiB"]
)";

constexpr const char* kTraining = R"([cluster]
nodes = 4
devices_per_node = 1
nic = { latency = "1us", bandwidth = "50GB/s" }
[job]
workload = "training"
steps = 10
[job.layers]
count = 2
forward = "1ms"
backward = "2ms"
gradients = "1MB"
[[noise]]
law = "gaussian"
cv = 0.1
)";

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}
std::string content(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class SweepTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = (fs::temp_directory_path() / "cox-sweep-XXXXXX").string();
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    folder_ = made;
    write(folder_ / "tiny.toml", kScenario);
    write(folder_ / "grid.toml", kSweep);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

std::string why_not(std::string_view text) {
  std::string scenario;
  const auto made = parse_sweep(text, "s.toml", scenario);
  return made ? "accepted" : made.error().to_string();
}

TEST_F(SweepTest, LastAxisVariesFastest) {
  const auto sweep = read_sweep(folder_ / "grid.toml");
  ASSERT_TRUE(sweep) << sweep.error().to_string();
  EXPECT_EQ(sweep->points(), 6);
  EXPECT_EQ(sweep->at(0), (std::vector<std::size_t>{0, 0}));
  EXPECT_EQ(sweep->at(1), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(sweep->at(5), (std::vector<std::size_t>{2, 1}));
  const auto last = scenario_at(*sweep, 5);
  ASSERT_TRUE(last) << last.error().to_string();
  EXPECT_EQ(last->cluster.nodes, 8);
  EXPECT_EQ(last->job.as<model::CollectiveJob>().collective.bytes, Bytes{4 << 20});
  EXPECT_EQ(last->job.steps, 2);
}

TEST_F(SweepTest, SharesAndInterruptionsGiveTheSameBytes) {
  const auto sweep = read_sweep(folder_ / "grid.toml");
  ASSERT_TRUE(sweep) << sweep.error().to_string();
  const auto alone =
      run_sweep(*sweep, {.output = folder_ / "alone.json", .share = {}, .threads = 2, .progress = {}});
  ASSERT_TRUE(alone) << alone.error().to_string();
  EXPECT_TRUE(alone->merged);
  EXPECT_EQ(alone->computed, 6);

  const fs::path shared = folder_ / "shared.json";
  const auto first =
      run_sweep(*sweep, {.output = shared, .share = {.rank = 0, .of = 2}, .threads = 1, .progress = {}});
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->merged);
  EXPECT_EQ(first->computed, 3);
  EXPECT_FALSE(fs::exists(shared));
  // Killed in the middle of a line: that point is lost, the others are not.
  const fs::path journal = folder_ / "shared.json.points" / "rank-0.jsonl";
  const std::string whole = content(journal);
  write(journal, whole.substr(0, whole.size() - 10));
  const auto again = run_sweep(*sweep, {.output = shared, .share = {}, .threads = 1, .progress = {}});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->found, 2);
  EXPECT_EQ(again->computed, 4);
  EXPECT_TRUE(again->merged);
  EXPECT_EQ(content(shared), content(folder_ / "alone.json"));
}

TEST_F(SweepTest, AJournalOfAnotherSweepIsRefused) {
  const auto sweep = read_sweep(folder_ / "grid.toml");
  ASSERT_TRUE(sweep);
  ASSERT_TRUE(run_sweep(*sweep, {.output = folder_ / "o.json", .share = {}, .threads = 1, .progress = {}}));
  Sweep changed = *sweep;
  changed.digest ^= 1;
  const auto refused =
      run_sweep(changed, {.output = folder_ / "o.json", .share = {}, .threads = 1, .progress = {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id, "sweep-002");
}

TEST_F(SweepTest, APointThatCannotBeIsRecordedWithItsReason) {
  write(folder_ / "grid.toml", "scenario = \"tiny.toml\"\n[grid]\n\"cluster.nodes\" = [2, 0]\n");
  const auto sweep = read_sweep(folder_ / "grid.toml");
  ASSERT_TRUE(sweep) << sweep.error().to_string();
  const auto done =
      run_sweep(*sweep, {.output = folder_ / "o.json", .share = {}, .threads = 1, .progress = {}});
  ASSERT_TRUE(done);
  EXPECT_NE(content(folder_ / "o.json").find("\"error\": \""), std::string::npos);
}

TEST(SweepFile, SaysWhatIsWrongAndWhere) {
  EXPECT_NE(why_not("scenario = 3").find("scenario is missing"), std::string::npos);
  EXPECT_NE(why_not("scenario = \"a\"").find("[grid] is missing"), std::string::npos);
  EXPECT_NE(why_not("scenario = \"a\"\ngird = 1").find("s.toml:2:1: unknown key 'gird'"), std::string::npos)
      << why_not("scenario = \"a\"\ngird = 1");
  EXPECT_NE(why_not("scenario = \"a\"\n[grid]\nx = 1").find("expected a list of values"), std::string::npos);
  EXPECT_NE(why_not("scenario = \"a\"\n[grid]\nx = [[1]]").find("plain values"), std::string::npos);
  EXPECT_NE(why_not("= 1").find("s.toml:1"), std::string::npos);
}

TEST(Replicas, EachIsTheRunOfItsSeedAlone) {
  const std::string shuffled = R"([cluster]
nodes = 8
nic = { latency = "1us", bandwidth = "10GB/s" }
[fabric]
kind = "fat-tree"
hosts_per_leaf = 4
oversubscription = 4
[job]
order = "random"
[job.collective]
bytes = "1MiB"
)";
  const auto totals = [&](const std::string& set) {
    const auto read = model::parse_scenario(shuffled, "s.toml", "", {.set = {"seed=" + set}});
    EXPECT_TRUE(read);
    auto scenario = read->scenario;
    const auto alone = simulate(scenario, {});
    scenario.replicas = 2;
    const auto both = simulate(scenario, {});
    EXPECT_TRUE(alone && both);
    return std::pair(alone->total.count(), both->over_replicas.mean.count());
  };
  bool differ = false;
  for (int seed = 1; seed < 8; ++seed) {
    const auto [first, mean] = totals(std::to_string(seed));
    const auto [second, next] = totals(std::to_string(seed + 1));
    EXPECT_NEAR(mean, (first + second) / 2, 1e-15) << seed;
    differ = differ || first != second;
  }
  EXPECT_TRUE(differ) << "the order of ranks is drawn anew";
}

// Of 4 and 12 nodes, with one source of noise: two simulations each. The larger one is no lump.
TEST_F(SweepTest, ProgressOfSizesCountsWithinEach) {
  const fs::path file = folder_ / "noisy.toml";
  write(file, std::string(kTraining));
  for (const bool attributed : {false, true}) {
    std::vector<double> told;
    SimulateOptions options{.threads = 1};
    options.progress = [&](double done, double total) {
      EXPECT_EQ(total, 16);
      told.push_back(done);
    };
    const auto sizes = simulate_sizes(file, {4, 12}, {}, options, attributed);
    ASSERT_TRUE(sizes) << sizes.error().to_string();
    EXPECT_TRUE(std::ranges::is_sorted(told));
    EXPECT_EQ(told.back(), 16);
    EXPECT_GE(std::ranges::count_if(told, [](double d) { return d > 4 && d < 16; }), attributed ? 19 : 9)
        << "ten steps of each simulation, but the last";
    EXPECT_TRUE(std::ranges::count(told, 4.0 + 12.0 / (attributed ? 4 : 2)) > 0)
        << "half of the first simulation";
  }
}

// What of a step is communication grows with the size, which is why efficiency falls.
TEST_F(SweepTest, SizesSayWhatIsExposed) {
  const fs::path file = folder_ / "training.toml";
  write(file, std::string(kTraining));
  const auto sizes = simulate_sizes(file, {2, 16}, {}, {}, false);
  ASSERT_TRUE(sizes) << sizes.error().to_string();
  const auto alone = model::read_scenario(file, {.set = {"cluster.nodes=16"}});
  ASSERT_TRUE(alone);
  const auto large = simulate(alone->scenario, {});
  ASSERT_TRUE(large);
  const GroupTime& g = large->groups.at(0);
  ASSERT_TRUE(sizes->at(0).exposed_ratio && sizes->at(1).exposed_ratio);
  EXPECT_EQ(large->groups.size(), 1U);
  EXPECT_DOUBLE_EQ(*sizes->at(1).exposed_ratio, g.exposed / (g.busy + g.exposed + g.waiting));
  EXPECT_LT(*sizes->at(0).exposed_ratio, *sizes->at(1).exposed_ratio);
}

// Found when it is simulated, at one size: the line of the key that the hint names, and the size.
TEST_F(SweepTest, AnErrorOfASizeNamesItAndItsLine) {
  const fs::path file = folder_ / "backup.toml";
  write(file,
        "[cluster]\nnodes = 4\nnic = { latency = \"1us\", bandwidth = \"50GB/s\" }\n"
        "[job]\nworkload = \"training\"\nsteps = 4\n[job.layers]\nforward = \"1s\"\n"
        "[failures]\nnode_mtbf = \"4s\"\nrestart = \"1s\"\ncheckpoint_interval = \"60s\"\n");
  const auto sizes = simulate_sizes(file, {1, 1000}, {}, {}, false);
  ASSERT_FALSE(sizes);
  const Error& error = sizes.error();
  EXPECT_EQ(error.message.rfind("--scaling 1000: ", 0), 0U) << error.to_string();
  ASSERT_TRUE(error.where) << error.to_string() << error.hint;
  EXPECT_EQ(error.where->file, file.string());
  EXPECT_EQ(error.where->line, 10) << error.hint;
}

}  // namespace
}  // namespace cox::simulate
