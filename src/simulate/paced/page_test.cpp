// SPDX-License-Identifier: Apache-2.0
// The table of docs/concepts/pacing-simulated.md: measured conditions simulated under the measured rules, and
// whether the simulation says the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "cox/simulate/paced.hpp"

namespace cox::simulate {
namespace {

using model::Imbalance;
using model::Iteration;
using pace::WaitMode;

/// What is done to the early ranks.
enum class Rule : std::uint8_t {
  HalfMean,     ///< a delay of half the mean wait of 16 steps
  MostOfLeast,  ///< of 0.8 of the least of them
  Priority,     ///< none; late ranks first
};

/// A measured condition: a step without pacing, and the change of throughput.
struct Row {
  const char* name;
  Iteration job;
  double step_ms;
  double change_percent;
  Rule rule = Rule::HalfMean;
};

Iteration emulated(int ranks, Seconds compute, double spread) {
  Iteration job;
  job.ranks = ranks;
  job.compute = compute;
  job.jitter = model::JitterLaw::Lognormal;
  job.spread = spread;
  return job;
}

Iteration with_slow(Iteration job, Imbalance imbalance, int ranks, double factor) {
  job.imbalance = imbalance;
  job.slow_ranks = ranks;
  job.slow_factor = factor;
  return job;
}

std::vector<Row> rows() {
  Iteration host = emulated(32, Seconds{20e-3}, 0.03);
  host.prepare = Seconds{0.6e-3};
  Iteration host10 = host;
  host10.spread = 0.1;
  // Link and compute are chosen so that the two rows without pacing come out; their changes are predictions.
  Iteration link = emulated(8, Seconds{35e-3}, 0.03);
  link.fetch = Bytes{1'000'000};
  link.link = Bandwidth::bytes_per_s(8e6 / 37e-3);
  // So is the compute of the row that blocks; that it spins is the only change of the other.
  Iteration cores = with_slow(emulated(4, Seconds{9e-3}, 0.1), Imbalance::Persistent, 2, 2);
  cores.compute_on_cores = true;
  Iteration spin = cores;
  spin.wait = WaitMode::Spin;
  const Iteration timer = emulated(64, Seconds{20e-3}, 0.03);
  const Iteration late = with_slow(host, Imbalance::Persistent, 4, 1.5);
  return {
      {"64 ranks, nothing shared, jitter 10 %", emulated(64, Seconds{20e-3}, 0.1), 25.645, -10.31},
      {"the same, 3 %, one slow for ever", with_slow(timer, Imbalance::Persistent, 1, 1.5), 30.260, -0.64},
      {"the same, one slow in turn", with_slow(timer, Imbalance::Rotating, 1, 1.5), 30.289, -9.25},
      {"32 ranks prepare on 2 cores, 4 slow", late, 39.210, 22.18, Rule::MostOfLeast},
      {"the same, priority instead of delay", late, 39.210, 22.23, Rule::Priority},
      {"the same, nobody slow", host, 29.649, -8.03},
      {"the same, nobody slow, jitter 10 %", host10, 31.541, -10.56},
      {"8 ranks fetch over a link, 2 slow", with_slow(link, Imbalance::Persistent, 2, 1.5), 91.31, 15.47},
      {"the same, nobody slow", link, 73.42, -5.07},
      {"4 ranks compute on 2 cores, 2 slow, block", cores, 28.734, -1.25},
      {"the same, waiters spin", spin, 41.830, 13.69}};
}

struct Simulated {
  double step_ms = 0;
  double change_percent = 0;
};

/// The measured rules are simpler than the controller's: no threshold, no test, no bound.
class MeasuredRule {
 public:
  MeasuredRule(Rule rule, int ranks) : rule_(rule), waits_(static_cast<std::size_t>(ranks)) {}
  void see(const PacedStep& step) {
    for (std::size_t r = 0; r < waits_.size(); ++r)
      waits_[r][static_cast<std::size_t>(step.step) % kWindow] = step.end - step.transfer - step.arrived[r];
  }
  [[nodiscard]] Seconds delay(int rank, std::int64_t step) const {
    const auto& waits = waits_[static_cast<std::size_t>(rank)];
    if (rule_ == Rule::Priority || step < static_cast<std::int64_t>(kWindow)) return {};
    if (rule_ == Rule::MostOfLeast) return 0.8 * *std::min_element(waits.begin(), waits.end());
    return 0.5 * std::accumulate(waits.begin(), waits.end(), Seconds{}) / static_cast<double>(kWindow);
  }

 private:
  static constexpr std::size_t kWindow = 16;
  Rule rule_;
  std::vector<std::array<Seconds, kWindow>> waits_;
};

Simulated simulate(const Row& row, Seconds time_slice) {
  Iteration job = row.job;
  job.time_slice = time_slice;
  PacedOptions options;
  options.steps = 600;
  const auto off = simulate_paced(job, options);
  MeasuredRule rule(row.rule, job.ranks);
  options.arms[0].delays = [&](int rank, std::int64_t step) { return rule.delay(rank, step); };
  options.arms[0].early_nice = row.rule == Rule::Priority ? 19 : 0;
  options.each_step = [&](const PacedStep& step) { rule.see(step); };
  const auto on = simulate_paced(job, options);
  EXPECT_TRUE(off && on) << row.name;
  return {off->summary[0].mean.count() * 1e3, 100 * (off->summary[0].total / on->summary[0].total - 1)};
}

constexpr Seconds kSlice{1.5e-3};

struct Result {
  Row row;
  Simulated sliced;
  Simulated even;
};

/// Once for both tests.
const std::vector<Result>& results() {
  static const auto all = [] {
    std::vector<Result> out;
    for (const Row& row : rows()) out.push_back({row, simulate(row, kSlice), simulate(row, Seconds{})});
    return out;
  }();
  return all;
}

std::string table() {
  std::string out =
      "| condition | step, measured | simulated | change, measured | slices | even sharing |\n"
      "|---|---|---|---|---|---|\n";
  for (const auto& [row, sliced, even] : results())
    out += fmt::format("| {} | {:.1f} ms | {:.1f} ms | {:+.1f} % | {:+.1f} % | {:+.1f} % |\n", row.name,
                       row.step_ms, sliced.step_ms, row.change_percent, sliced.change_percent,
                       even.change_percent);
  return out;
}

TEST(PacedPage, HoldsTheSimulatedTable) {
  const std::string begin = "<!-- begin: written by paced_page_test -->\n";
  const std::string end = "<!-- end -->\n";
  std::ifstream in(COX_PACED_PAGE);
  std::stringstream read;
  read << in.rdbuf();
  std::string page = read.str();
  const auto from = page.find(begin);
  const auto to = page.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos && from < to);
  const std::string made = table();
  const std::string held = page.substr(from + begin.size(), to - from - begin.size());
  if (std::getenv("COX_WRITE_REFERENCE") != nullptr) {
    page.replace(from + begin.size(), held.size(), made);
    std::ofstream(COX_PACED_PAGE) << page;
    return;
  }
  EXPECT_EQ(held, made) << "write it anew: COX_WRITE_REFERENCE=1 build/release/simulate_test "
                           "--gtest_filter=PacedPage.*";
}

/// Where the measurement is beyond 2 %, so is the simulation, with the same sign and about the same size (5
/// points or 40 %, whichever is more). Steps without pacing are within 10 %.
TEST(PacedPage, SimulatedAndMeasuredAgree) {
  for (const auto& [row, made, even] : results()) {
    EXPECT_NEAR(made.step_ms / row.step_ms, 1, 0.1) << row.name;
    const double most = std::max(5.0, 0.4 * std::abs(row.change_percent));
    EXPECT_NEAR(made.change_percent, row.change_percent, most) << row.name;
    if (std::abs(row.change_percent) > 2) {
      EXPECT_GT(made.change_percent * row.change_percent, 0) << row.name;
    } else {
      EXPECT_LT(std::abs(made.change_percent), 2) << row.name;
    }
  }
}

}  // namespace
}  // namespace cox::simulate
