// SPDX-License-Identifier: Apache-2.0
// Synchronous steps whose devices are timers, for bench/live_forecast.py and live_decay.py:
//   live_jitter RANKS STEPS WORK_MS MECHANISM SEED [DELAY_MS DELAY_RANK DELAY_STEP]
// Forks RANKS processes. A step of one: WORK_MS on a timer, longer or shorter as MECHANISM says, then one small all-reduce
// over Gloo, on loopback. The draws of rank r in step k depend on SEED, r and k alone, so that a job with the delay is the
// twin of the one without it. Rank 0 prints when each step ended, in seconds.
//   jitter      lognormal, cv 0.1
//   persistent  the same with cv 0.03, and each rank has a speed of its own: normal, 5 %
//   detours     the same with cv 0.03, and one step of a rank in a hundred takes half as long again
//   shared-host the same with cv 0.03, and before it a fortieth of the work on a core: there are fewer than ranks
//   shared-link the same with cv 0.03, and before it a fortieth of the work on a link that serves one after the other
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "cox/base/random.hpp"

#include "bench/probe/gloo_connect.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr double kSharedPart = 1.0 / 40;

struct Job {
  int ranks = 0;
  int steps = 0;
  Milliseconds work{};
  std::string mechanism;
  std::uint64_t seed = 0;
  Milliseconds delay{};
  int delay_rank = -1;
  int delay_step = -1;
};

/// When the link is free again, in ns of the clock; shared by the processes.
using Link = std::atomic<std::int64_t>;

double work_factor(const Job& job, int rank, int step) {
  const auto k = static_cast<std::uint64_t>(step);
  const auto r = static_cast<std::uint64_t>(rank);
  const double cv = job.mechanism == "jitter" ? 0.1 : 0.03;
  double factor = std::exp(cv * cox::RandomStream(job.seed, 0).normal(k, r));
  if (job.mechanism == "persistent") factor += 0.05 * cox::RandomStream(job.seed, 1).normal(0, r);
  if (job.mechanism == "detours" && cox::RandomStream(job.seed, 2).uniform(k, r) < 0.01) factor += 0.5;
  return factor;
}

void share(const Job& job, Link& link) {
  const auto part = std::chrono::duration_cast<std::chrono::nanoseconds>(job.work * kSharedPart);
  if (job.mechanism == "shared-host") {
    timespec begin{};
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1'000'000'000 + now.tv_nsec - begin.tv_nsec < part.count());
  }
  if (job.mechanism == "shared-link") {
    const std::int64_t now = std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
    std::int64_t free = link.load();
    std::int64_t end = 0;
    do end = std::max(free, now) + part.count();
    while (!link.compare_exchange_weak(free, end));
    std::this_thread::sleep_until(Clock::time_point(std::chrono::nanoseconds(end)));
  }
}

int run_rank(const Job& job, int rank, const std::string& store, Link& link) try {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_TIMERSLACK, 1000);
  const auto context =
      cox::bench::probe::gloo_context(rank, job.ranks, store, "lo", std::chrono::seconds(120));
  std::vector<float> values(64, 1.0F);
  std::vector<double> ends;
  for (int step = 0; step < job.steps; ++step) {
    share(job, link);
    std::this_thread::sleep_for(job.work * work_factor(job, rank, step));
    if (rank == job.delay_rank && step == job.delay_step) std::this_thread::sleep_for(job.delay);
    gloo::AllreduceOptions options(context);
    options.setOutput(values.data(), values.size());
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::BCUBE);  // few rounds: the host has few cores
    options.setReduceFunction(
        [](void* c, const void* a, const void* b, std::size_t n) { gloo::sum<float>(c, a, b, n); });
    options.setTag(static_cast<std::uint32_t>(step));
    gloo::allreduce(options);
    ends.push_back(std::chrono::duration<double>(Clock::now().time_since_epoch()).count());
  }
  if (rank == 0)
    for (const double end : ends) std::printf("%.6f\n", end);
  std::fflush(stdout);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "live_jitter: rank %d: %s\n", rank, e.what());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6 && argc != 9) return 2;
  Job job{.ranks = std::atoi(argv[1]),
          .steps = std::atoi(argv[2]),
          .work = Milliseconds(std::atof(argv[3])),
          .mechanism = argv[4],
          .seed = std::strtoull(argv[5], nullptr, 10)};
  if (argc == 9) {
    job.delay = Milliseconds(std::atof(argv[6]));
    job.delay_rank = std::atoi(argv[7]);
    job.delay_step = std::atoi(argv[8]);
  }
  std::string store = (std::filesystem::temp_directory_path() / "cox-live.XXXXXX").string();
  if (mkdtemp(store.data()) == nullptr) return 1;
  void* page = mmap(nullptr, sizeof(Link), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return 1;
  Link* link = new (page) Link(0);
  for (int rank = 0; rank < job.ranks; ++rank)
    if (fork() == 0) {
      const int code = run_rank(job, rank, store, *link);
      std::fflush(stderr);
      _exit(code);
    }
  bool good = true;
  int status = 0;
  while (wait(&status) > 0) good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  std::error_code ignored;
  std::filesystem::remove_all(store, ignored);
  return good ? 0 : 1;
}
