// SPDX-License-Identifier: Apache-2.0
// Learning in virtual time: worker-steps per second of a diagonal quadratic of 100 parameters under an asynchronous
// server, by number of workers, without and with noise that is drawn; the same for a stream alone.
#include <benchmark/benchmark.h>

#include "cox/learn/drawn.hpp"
#include "cox/learn/learner.hpp"

namespace cox::learn {
namespace {

constexpr std::int64_t kUpdates = 200'000;

void stream_alone(benchmark::State& state) {
  const int workers = static_cast<int>(state.range(0));
  for (auto _ : state) {
    std::int64_t left = kUpdates;
    stream_drawn({.kind = model::PolicyKind::Asynchronous},
                 {.workers = workers, .law = StepLaw::Lognormal, .cv = 0.3},
                 [&](const sync::StreamEvent& e, Seconds) {
                   return e.kind != sync::StreamEvent::Kind::Delivered || --left > 0;
                 });
  }
  state.SetItemsProcessed(state.iterations() * kUpdates);
}

void learned(benchmark::State& state) {
  const int workers = static_cast<int>(state.range(0));
  auto problem = make_problem({.dimension = 100, .condition = 100, .noise = state.range(1) != 0 ? 1.0 : 0.0});
  for (auto _ : state) {
    Learner learner(**problem, {.rate = 0.1 / workers}, {.policy = {.kind = model::PolicyKind::Asynchronous}},
                    {}, workers);
    stream_drawn(
        {.kind = model::PolicyKind::Asynchronous}, {.workers = workers, .law = StepLaw::Lognormal, .cv = 0.3},
        [&](const sync::StreamEvent& e, Seconds) { return learner.take(e) && learner.version() < kUpdates; });
    benchmark::DoNotOptimize(learner.parameters()[0]);
  }
  state.SetItemsProcessed(state.iterations() * kUpdates);
}

BENCHMARK(stream_alone)->Arg(8)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(learned)->Args({8, 0})->Args({8, 1})->Args({1024, 0})->Args({1024, 1})->Unit(
    benchmark::kMillisecond);

}  // namespace
}  // namespace cox::learn

BENCHMARK_MAIN();
