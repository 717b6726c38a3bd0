// SPDX-License-Identifier: Apache-2.0
// The law of the slowest of N: one evaluation, by what is shared and how many there are. And a whole forecast.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "cox/base/random.hpp"

#include "forecast/answer/forecast.hpp"
#include "forecast/law/maximum.hpp"

namespace cox::forecast {
namespace {

Law body_and_tail() {
  const Law body = Law::logistic(Seconds{100}, Seconds{1});
  std::vector<Seconds> values;
  values.reserve(200);
  for (int i = 0; i < 200; ++i) values.push_back(body.quantile(std::max(0.98 * i / 199, 2e-6)));
  return Law::quantiles(values, {values.back(), Seconds{1.5}, 0.2, 0.02});
}

void independent(benchmark::State& state) {
  const Nest nest{.own = body_and_tail()};
  for (auto _ : state) benchmark::DoNotOptimize(Maximum(nest, state.range(0)).mean());
}
void shared_by_nodes(benchmark::State& state) {
  const Nest nest{.own = body_and_tail(), .node = Law::normal(Seconds{0}, Seconds{2}), .ranks_per_node = 8};
  for (auto _ : state) benchmark::DoNotOptimize(Maximum(nest, state.range(0)).mean());
}
void shared_by_nodes_and_switches(benchmark::State& state) {
  const Nest nest{.own = body_and_tail(),
                  .node = Law::exponential(Seconds{2}),
                  .group = Law::lognormal(Seconds{3}, 0.5),
                  .ranks_per_node = 8,
                  .nodes_per_group = 32};
  for (auto _ : state) benchmark::DoNotOptimize(Maximum(nest, state.range(0)).mean());
}

/// 64 ranks on 8 nodes, 2,000 steps: all parts but tails.
Evidence run_of_64() {
  constexpr std::int32_t kRanks = 64;
  const RandomStream random(1, 0);
  Sample s;
  s.positions.resize(1);
  for (std::int32_t r = 0; r < kRanks; ++r) s.ranks.push_back({.rank = r, .node = r / 8});
  for (std::uint64_t k = 0; k < 2'000; ++k) {
    Seconds most{};
    for (std::uint64_t r = 0; r < kRanks; ++r) {
      const double ms = 100 + 0.3 * random.normal(1'000'000, r) + 0.4 * random.normal(1'000'001, r / 8) +
                        0.5 * random.normal(k, 1'000 + r / 8) + random.normal(k, r);
      s.positions[0].own.emplace_back(ms / 1e3);
      most = std::max(most, s.positions[0].own.back());
    }
    s.steps.push_back({.number = static_cast<std::int64_t>(k), .begin = {}, .length = most + Seconds{5e-3}});
  }
  Evidence out;
  out.inputs.push_back({.name = "run", .ranks = kRanks});
  out.samples.push_back(std::move(s));
  return out;
}

/// Four sizes with bands, and all levers at the largest, on one thread.
void four_sizes_and_all_levers(benchmark::State& state) {
  const Evidence evidence = run_of_64();
  Asked question;
  question.sizes = {256, 1'024, 4'096, 16'384};
  question.project.threads = question.goodness.threads = 1;
  ControlQuestion control;
  control.levers = true;
  for (auto _ : state) {
    Result<FullForecast> made = make_forecast(evidence, question);
    if (state.range(0) != 0) add_part_levers(*made, evidence, question, control);
    state.counters["at ranks"] = static_cast<double>(made->margins_at);
    benchmark::DoNotOptimize(made);
  }
}

BENCHMARK(four_sizes_and_all_levers)->ArgName("levers")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(independent)->Arg(4096)->Arg(1 << 20);
BENCHMARK(shared_by_nodes)->Arg(4096)->Arg(4099)->Arg(1 << 20);
BENCHMARK(shared_by_nodes_and_switches)->Arg(4096)->Arg(1 << 20);

}  // namespace
}  // namespace cox::forecast

BENCHMARK_MAIN();
