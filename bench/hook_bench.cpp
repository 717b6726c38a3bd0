// SPDX-License-Identifier: Apache-2.0
// What observing costs per call, with and without, side by side in one process:
//   Raw/ClockOnly          two reads of the recording clock: the floor
//   Raw/Record             begin + end of the writer, no library behind it
//   Pace/<mode>            what a synchronisation costs its controller while it is passive (--pace)
//   Mpi/<call>/plain       the library's own entry point (PMPI_*), which is never hooked
//   Mpi/<call>/hooked      the same call by its MPI_* name, through stub, wrapper and writer
// With COX_MAX_SIZE large enough (12000000000) the file grows all the time, else it wraps within a second. The last
// line says how many events were dropped since the file system was slower than this loop.
// Runs on one rank, with COX_PACE as it is set (one rank is never paced). Starts itself again with the
// preload object and a folder for its file, then removes the folder:
//   build/release/hook_bench
#define OMPI_SKIP_MPICXX 1
#include <benchmark/benchmark.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "cox/guest/writer.hpp"

#include "guest/pacing/pacing.hpp"

namespace {

namespace guest = cox::guest;
namespace fs = std::filesystem;

void clock_only(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(guest::ticks());
    benchmark::DoNotOptimize(guest::ticks());
  }
}

void raw_record(benchmark::State& state) {
  std::uint32_t seq = 0;
  for (auto _ : state) guest::end(guest::begin(cox::trace::EventKind::Collective, 1, 0, 1, seq++, 8, 0));
}

/// Iterations of 10 ms, a fifth of it waiting, by turns more and less: nothing that a rank could give up.
void pace_passive(benchmark::State& state, cox::pace::Mode mode) {
  cox::pace::Settings settings;
  settings.mode = mode;
  namespace observed = cox::guest;
  auto pacer = std::make_unique<observed::Pacer>(
      settings, observed::PaceWorld{.is_recording = guest::active,
                                    .thread = guest::thread_id,
                                    .ticks = guest::ticks,
                                    .picoseconds_per_tick = guest::picoseconds_per_tick,
                                    .sleep = [](cox::Duration) noexcept {},
                                    .begin = guest::begin,
                                    .end = guest::end,
                                    .is_stored = guest::is_stored,
                                    .drives_accelerator = []() noexcept { return false; },
                                    .decided = nullptr});
  pacer->define(1, 8, 0);
  const auto ms = static_cast<std::uint64_t>(1e9 / guest::picoseconds_per_tick());
  std::uint64_t now = guest::ticks();
  std::uint64_t step = 0;
  for (auto _ : state) {
    const std::uint64_t wait = ++step % 8 == 0 ? 16 * ms : 0;
    pacer->enter(1);
    pacer->leave(1, now, now + wait, 8, observed::Boundary::Synchronisation);
    now += wait + 8 * ms;
  }
}

void barrier_plain(benchmark::State& state) {
  for (auto _ : state) PMPI_Barrier(MPI_COMM_WORLD);
}
void barrier_hooked(benchmark::State& state) {
  for (auto _ : state) MPI_Barrier(MPI_COMM_WORLD);
}
void allreduce_plain(benchmark::State& state) {
  double in = 1;
  double out = 0;
  for (auto _ : state) PMPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
void allreduce_hooked(benchmark::State& state) {
  double in = 1;
  double out = 0;
  for (auto _ : state) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/// What became of the guests' events, by their own count.
void say_drops(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    cox::trace::RawHeader h{};
    std::ifstream(entry.path(), std::ios::binary).read(reinterpret_cast<char*>(&h), sizeof h);
    std::printf("%s: %llu chunks written, %llu events dropped\n", entry.path().filename().c_str(),
                static_cast<unsigned long long>(h.tickets),
                static_cast<unsigned long long>(h.dropped_records));
  }
}

/// Starts this program again with the guest in place.
int run_observed(char** argv) {
  const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
  std::string folder = (fs::temp_directory_path() / "cox-hook-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  setenv("COX_MAX_OVERHEAD", "1000", 1);  // nothing but hooked calls: any limit would be passed
  setenv("LD_PRELOAD", (own / "libcox-preload.so").c_str(), 1);
  setenv("COX_DIR", folder.c_str(), 1);
  execv("/proc/self/exe", argv);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const observed = std::getenv("COX_DIR");
  if (observed == nullptr) return run_observed(argv);
  const std::string folder = observed;
  benchmark::Initialize(&argc, argv);
  MPI_Init(&argc, &argv);
  // The writer linked into this program is another copy than the guest's: it records to a file of its own.
  guest::open({.dir = folder.c_str(), .max_overhead = 10}, {.rank = 0, .world_size = 1});
  benchmark::RegisterBenchmark("Raw/ClockOnly", clock_only);
  benchmark::RegisterBenchmark("Raw/Record", raw_record);
  benchmark::RegisterBenchmark("Pace/observe", pace_passive, cox::pace::Mode::Observe);
  benchmark::RegisterBenchmark("Pace/auto", pace_passive, cox::pace::Mode::Auto);
  benchmark::RegisterBenchmark("Mpi/Barrier/plain", barrier_plain);
  benchmark::RegisterBenchmark("Mpi/Barrier/hooked", barrier_hooked);
  benchmark::RegisterBenchmark("Mpi/Allreduce8B/plain", allreduce_plain);
  benchmark::RegisterBenchmark("Mpi/Allreduce8B/hooked", allreduce_hooked);
  benchmark::RunSpecifiedBenchmarks();
  MPI_Finalize();
  guest::close();
  say_drops(folder);
  fs::remove_all(folder);
  return 0;
}
