// SPDX-License-Identifier: Apache-2.0
// The law of the slowest of N: one evaluation, by what is shared and how many there are.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "cox/forecast/maximum.hpp"

namespace cox::forecast {
namespace {

Law body_and_tail() {
  const Law body = Law::logistic(Seconds{100}, Seconds{1});
  std::vector<Seconds> values;
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

BENCHMARK(independent)->Arg(4096)->Arg(1 << 20);
BENCHMARK(shared_by_nodes)->Arg(4096)->Arg(4099)->Arg(1 << 20);
BENCHMARK(shared_by_nodes_and_switches)->Arg(4096)->Arg(1 << 20);

}  // namespace
}  // namespace cox::forecast

BENCHMARK_MAIN();
