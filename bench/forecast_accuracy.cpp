// SPDX-License-Identifier: Apache-2.0
// Forecasts of jobs whose truth is known: 16, 32 or 64 ranks seen, 4,096 foretold.
//   forecast_accuracy [--jobs 400] [--first 1000000] [--ranks 64] [--each]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"
#include "cox/forecast/calibrate.hpp"
#include "cox/forecast/project.hpp"

#include "forecast_jobs.hpp"

namespace {
using namespace cox;
using namespace cox::forecast;
using namespace cox::forecast_jobs;

struct Score {
  Job job;
  double truth = 0, value = 0, low = 0, high = 0, unseen_low = 0, unseen_high = 0, alone = 0, chance = 0;
  bool seen = false, slow = false, refused = false;
  std::string why;
  double needed = 0;  // widening that would reach the truth
  double calibrate_ms = 0, project_ms = 0;
};

Score score(std::uint64_t number, int ranks, int steps) {
  Score s;
  s.job = draw_job(number);
  const RunOf run = play(s.job, ranks, steps, 1);
  const Truth truth = truth_of(s.job, 4096, 250, 2);
  const auto t0 = std::chrono::steady_clock::now();
  const auto parts = calibrate(run.sample);
  if (!parts) {
    fmt::print(stderr, "{}\n", parts.error().to_string());
    std::exit(1);
  }
  const auto t1 = std::chrono::steady_clock::now();
  ProjectOptions options;
  options.steps = 250;
  options.widening = std::getenv("WIDENING") ? std::atof(std::getenv("WIDENING")) : 0;
  options.rest = [&](std::int64_t n) {
    const Seconds c{s.job.communication(static_cast<double>(n))};
    return TimeEstimate{.value = c, .low = c, .high = c, .origin = Origin::Stated};
  };
  const Projection p = project(*parts, {4096}, options);
  const auto t2 = std::chrono::steady_clock::now();
  const SizePoint& point = p.points[0];
  s.truth = truth.mean;
  s.value = point.mean.value.count();
  s.low = point.mean.low.count();
  s.high = point.mean.high.count();
  s.unseen_low = point.with_unseen.low.count();
  s.unseen_high = point.with_unseen.high.count();
  s.alone = 100 + s.job.drift / 2 + s.job.node_step + s.job.communication(4096);
  s.chance = point.unseen_chance;
  s.slow = truth.slow;
  s.seen = run.slow_seen;
  s.refused = !point.refused.empty();
  s.why = point.refused;
  const double side = s.truth > s.value ? s.high - s.value : s.value - s.low;
  s.needed = side > 0 ? std::abs(s.truth - s.value) / side : 1e9;
  s.calibrate_ms = std::chrono::duration<double, std::milli>(t1 - t0).count();
  s.project_ms = std::chrono::duration<double, std::milli>(t2 - t1).count();
  return s;
}

void line(const std::string& name, const std::vector<const Score*>& set) {
  if (set.empty()) return;
  std::vector<double> error, excess, interval, needed;
  int covered = 0, covered_unseen = 0, flagged = 0, refused = 0;
  for (const Score* s : set) {
    error.push_back(100 * std::abs(s->value - s->truth) / s->truth);
    excess.push_back(100 * std::abs(s->value - s->truth) / std::abs(s->truth - s->alone));
    covered += s->truth >= s->low && s->truth <= s->high;
    covered_unseen += s->truth >= s->unseen_low && s->truth <= s->unseen_high;
    flagged += s->chance > 0.05;
    refused += s->refused;
    interval.push_back(
        100 * (s->high - s->low + 20 * std::max({s->low - s->truth, s->truth - s->high, 0.0})) / s->truth);
    needed.push_back(s->needed);
  }
  const double n = static_cast<double>(set.size());
  double mean_interval = 0;
  for (const double i : interval) mean_interval += i / n;
  fmt::print(
      "{:28} n {:4} err {:5.2f} / {:5.2f}  excess {:5.1f} / {:5.1f}  cover {:5.1f} %  score {:6.2f}  unseen cover {:5.1f} % "
      "flagged {:5.1f} % refused {:4.1f} % widen {:.2f}\n",
      name, set.size(), quantile(error, 0.5), quantile(error, 0.9), quantile(excess, 0.5),
      quantile(excess, 0.9), 100 * covered / n, mean_interval, 100 * covered_unseen / n, 100 * flagged / n,
      100 * refused / n, quantile(needed, 0.9));
}
}  // namespace

int main(int argc, char** argv) {
  int jobs = 400, ranks = 64, steps = 2000;
  bool each = false;
  std::uint64_t first = 1'000'000;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--jobs")) jobs = std::atoi(argv[++i]);
    if (!std::strcmp(argv[i], "--first")) first = std::strtoull(argv[++i], nullptr, 10);
    if (!std::strcmp(argv[i], "--ranks")) ranks = std::atoi(argv[++i]);
    if (!std::strcmp(argv[i], "--steps")) steps = std::atoi(argv[++i]);
    if (!std::strcmp(argv[i], "--each")) each = true;
  }
  std::vector<Score> scores(static_cast<std::size_t>(jobs));
  parallel_for(scores.size(), 0, [&](std::size_t i) { scores[i] = score(first + i, ranks, steps); });
  std::vector<const Score*> all, seen, unseen, heavy, light;
  double cal = 0, proj = 0;
  for (const Score& s : scores) {
    all.push_back(&s);
    const bool missed = s.slow && !s.seen;
    (missed ? unseen : seen).push_back(&s);
    if (!missed) (s.job.heavy() ? heavy : light).push_back(&s);
    cal += s.calibrate_ms / jobs;
    proj += s.project_ms / jobs;
    if (each)
      fmt::print(
          "{} fam {} a {:.1f} sd {:.2f} rank {:.2f} node {:.2f} ns {:.2f} step {:.2f} phi {} drift {:.1f} slow {} {:.1f} | truth {:.2f} "
          "value {:.2f} [{:.2f} {:.2f}] err {:+.2f} %{} {}\n",
          s.job.number, static_cast<int>(s.job.family), s.job.pareto_shape, s.job.residual, s.job.rank,
          s.job.node, s.job.node_step, s.job.step, s.job.correlation, s.job.drift, s.job.slow_share,
          s.job.slow_extra, s.truth, s.value, s.low, s.high, 100 * (s.value / s.truth - 1),
          missed ? " MISSED" : (s.seen ? " seen" : ""), s.why);
  }
  line("population seen or none", seen);
  line("  tails heavier than 3", heavy);
  line("  all others", light);
  line("slow nodes, unseen", unseen);
  line("all", all);
  fmt::print("calibrate {:.1f} ms, project {:.1f} ms\n", cal, proj);
}
