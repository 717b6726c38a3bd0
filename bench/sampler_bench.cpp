// SPDX-License-Identifier: Apache-2.0
// What the keeper thread reads about its process, as CPU time of that thread:
//   Sample/short     once a second
//   Sample/whole     every ten seconds: frequency, throttling, control group and pressure too
//   Locality/own     once, at start: what the process may use
//   Locality/machine once, by one process of a node, a few files a second: topology and devices too
#include <benchmark/benchmark.h>

#include "guest/writer/sampler.hpp"

namespace {

namespace guest = cox::guest;

void sample(benchmark::State& state, bool whole) {
  cox::trace::RawSample out{};
  for (auto _ : state) guest::take_sample(out, whole, whole);
  benchmark::DoNotOptimize(out);
}

void locality(benchmark::State& state, bool machine) {
  const auto nowhere = [](const char*, std::size_t) {};
  for (auto _ : state) {
    guest::read_locality(nowhere);
    while (machine && guest::read_machine(24, nowhere)) {
    }
  }
}

BENCHMARK_CAPTURE(sample, short, false)->Name("Sample/short")->Repetitions(15);
BENCHMARK_CAPTURE(sample, whole, true)->Name("Sample/whole")->Repetitions(15);
BENCHMARK_CAPTURE(locality, own, false)->Name("Locality/own")->Repetitions(15);
BENCHMARK_CAPTURE(locality, machine, true)->Name("Locality/machine")->Repetitions(15);

}  // namespace

BENCHMARK_MAIN();
