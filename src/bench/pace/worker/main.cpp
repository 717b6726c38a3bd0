// SPDX-License-Identifier: Apache-2.0
// cox-bench-pace PLAN: does what the plan says with real processes and prints what they saw. Status 77: this
// machine cannot; the reason is the first line of the output. No process and no network survives this one:
// ranks and servers die with their parent, and the networks have no names.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <vector>

#include "cox/base/file.hpp"
#include "cox/base/processes.h"
#include "cox/bench/pace.hpp"

#include "bench/pace/wire.hpp"
#include "bench/pace/worker/rank.hpp"

namespace cox::bench::worker {
namespace {

constexpr int kCannot = 77;

/// Forks the ranks. On return in the parent: their ids.
std::vector<pid_t> start_ranks(const PacePlan& plan, const Shared& shared, const Network& network) {
  std::vector<pid_t> ids;
  const pid_t parent = getpid();
  std::fflush(nullptr);
  for (int rank = 0; rank < plan.job.ranks; ++rank) {
    const pid_t id = fork();
    if (id == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      RankProcess process(plan, shared, network, rank);
      _exit(process.run());
    }
    if (id < 0) shared.control()->stop.store(1);
    if (id > 0) ids.push_back(id);
  }
  return ids;
}

/// Waits for all ranks; where one fails the others are ended too. Whether all was well.
bool wait_for(std::vector<pid_t> ids, Control& control) {
  bool good = control.stop.load() == 0;
  while (!ids.empty()) {
    int status = 0;
    const pid_t id = wait(&status);
    if (id < 0 && errno == EINTR) continue;
    if (id < 0) return false;
    const auto at = std::find(ids.begin(), ids.end(), id);
    if (at == ids.end()) continue;  // a server or the background traffic
    ids.erase(at);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    if (good) std::fprintf(stderr, "cox-bench-pace: a rank ended with wait status %d\n", status);
    good = false;
    control.stop.store(1);  // ranks at the barrier leave; those in a transfer see their partner close
  }
  return good;
}

void print_step(const PacePlan& plan, const Shared& shared, std::int64_t row) {
  Cell most{};
  double wait = 0;
  double delay = 0;
  int holding = 0;
  int trying = 0;
  for (int r = 0; r < plan.job.ranks; ++r) {
    const Cell& c = shared.cell(row, r);
    most.wait = std::max(most.wait, c.wait);
    most.delay = std::max(most.delay, c.delay);
    most.draw = std::max(most.draw, c.draw);
    wait += c.wait;
    delay += c.delay;
    const auto state = static_cast<pace::State>(c.state);
    holding += state == pace::State::Hold ? 1 : 0;
    trying += state == pace::State::Probe || state == pace::State::Trial ? 1 : 0;
  }
  fmt::print("step\t{}\t{:.0f}\t{:.0f}\t{:.0f}\t{:.0f}\t{:.0f}\t{}\t{}\t{}\n", shared.period(row), most.wait,
             wait / plan.job.ranks, most.delay, delay / plan.job.ranks, most.draw, shared.cell(row, 0).reason,
             holding, trying);
}

double steal_of(const Ticks& t) {
  const auto all = static_cast<double>(t.all[1]) - static_cast<double>(t.all[0]);
  const auto stolen = static_cast<double>(t.stolen[1]) - static_cast<double>(t.stolen[0]);
  return all > 0 ? std::clamp(stolen / all, 0.0, 1.0) : 0;
}

void print_rows(const PacePlan& plan, const Shared& shared) {
  struct Sums {
    std::int64_t steps = 0;
    double work = 0;
    double wait = 0;
    double delay = 0;
  };
  const auto ranks = static_cast<std::size_t>(plan.job.ranks);
  std::vector<Sums> sums(plan.arms.size() * ranks);
  fmt::print("cox-pace-rows 1\n");
  std::int64_t row = 0;
  for (std::size_t i = 0; i < plan.blocks.size(); ++i) {
    fmt::print("block\t{}\t{:.6f}\n", i, steal_of(shared.ticks(i)));
    for (std::int64_t s = 0; s < plan.blocks[i].steps; ++s, ++row) {
      print_step(plan, shared, row);
      for (std::size_t r = 0; r < ranks; ++r) {
        const Cell& c = shared.cell(row, static_cast<int>(r));
        Sums& sum = sums[plan.blocks[i].arm * ranks + r];
        ++sum.steps;
        sum.work += c.work;
        sum.wait += c.wait;
        sum.delay += c.delay;
      }
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    fmt::print("rank\t{}\t{}\t{}\t{:.0f}\t{:.0f}\t{:.0f}\n", i / ranks, i % ranks, sums[i].steps,
               sums[i].work, sums[i].wait, sums[i].delay);
}

int run(const char* path) {
  constexpr std::size_t kMostText = 4'000'000;
  const auto text = read_file(path, kMostText);
  const auto plan = text ? parse_pace_plan(*text, path) : Result<PacePlan>(tl::unexpect, text.error());
  if (!plan) {
    std::fprintf(stderr, "cox-bench-pace: %s\n", plan.error().to_string().c_str());
    return 1;
  }
  std::int64_t steps = 0;
  for (const PaceBlock& b : plan->blocks) steps += b.steps;
  const Shared shared(steps, plan->job.ranks, plan->blocks.size());
  if (shared.control() == nullptr) {
    fmt::print("not enough memory for {} steps of {} ranks\n", steps, plan->job.ranks);
    return kCannot;
  }
  Network network;
  if (plan->job.fetch.count() > 0 || plan->job.reduce.count() > 0)
    if (const std::string reason = network.make(*plan); !reason.empty()) {
      fmt::print("{}\n", reason);
      return kCannot;
    }
  const pid_t background = network.start_background(*plan, *shared.control());
  const bool good = wait_for(start_ranks(*plan, shared, network), *shared.control());
  for (const pid_t id : {background, network.far_process()})
    if (id > 0) cox_signal_process(id, SIGKILL);
  while (wait(nullptr) > 0 || errno == EINTR) {  // servers too: they come to us when their parent dies
  }
  if (!good) return 1;
  print_rows(*plan, shared);
  return 0;
}

}  // namespace
}  // namespace cox::bench::worker

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s PLAN (written by `cox study pacing`)\n", argv[0]);
    return 2;
  }
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  prctl(PR_SET_CHILD_SUBREAPER, 1UL);
  if (getppid() != parent) return 1;
  return cox::bench::worker::run(argv[1]);
}
