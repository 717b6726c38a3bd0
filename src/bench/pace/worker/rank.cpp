// SPDX-License-Identifier: Apache-2.0
#include "bench/pace/worker/rank.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace cox::bench::worker {
namespace {

std::int64_t in_ns(Seconds s) {
  return static_cast<std::int64_t>(s.count() * 1e9);
}

Duration span(std::int64_t ns) {
  return Nanoseconds{ns};
}

// The line `cpu user nice system idle iowait irq softirq steal ...` of /proc/stat.
void read_ticks(Ticks& ticks, int which) {
  std::FILE* file = std::fopen("/proc/stat", "re");
  if (file == nullptr) return;
  unsigned long long v[8] = {};
  if (std::fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3], &v[4],
                  &v[5], &v[6], &v[7]) == 8) {
    ticks.all[which] = 0;
    for (const unsigned long long part : v) ticks.all[which] += part;
    ticks.stolen[which] = v[7];
  }
  std::fclose(file);
}

}  // namespace

RankProcess::RankProcess(const PacePlan& plan, const Shared& shared, const Network& network, int rank)
    : plan_(plan),
      shared_(shared),
      network_(network),
      rank_(rank),
      arms_(plan.arms.size()),
      ring_(rank, plan.job.ranks, plan.job.reduce) {
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    arms_[i].controlled = !plan.arms[i].settings.empty();
    [[maybe_unused]] const auto read = pace::set_all(arms_[i].settings, plan.arms[i].settings.c_str());
  }
  own_nice_ = nice_ = getpriority(PRIO_PROCESS, 0);
}

bool RankProcess::connect() {
  if (plan_.job.reduce.count() == 0) return plan_.job.fetch.count() == 0 || input_.open(rank_);
  if (!network_.enter(is_far(plan_.job, rank_)) || !ring_.listen()) return false;
  if (plan_.job.fetch.count() > 0 && !input_.open(rank_)) return false;
  pass_barrier(*shared_.control(), static_cast<std::uint32_t>(plan_.job.ranks), pace::WaitMode::Block);
  return ring_.connect();
}

void RankProcess::set_nice(int nice) {
  if (nice == nice_) return;
  if (setpriority(PRIO_PROCESS, 0, nice) == 0) nice_ = nice;
}

void RankProcess::begin_block(const PaceBlock& block, std::size_t index) {
  if (rank_ == 0) read_ticks(shared_.ticks(index), 0);
  Arm& arm = arms_[block.arm];
  if (!arm.controlled || (!block.cold && arm.controller)) return;
  arm.controller = std::make_unique<pace::Controller>(arm.settings, static_cast<std::uint32_t>(rank_),
                                                      static_cast<std::uint32_t>(plan_.job.ranks));
  arm.step = 0;
}

bool RankProcess::synchronise(pace::WaitMode mode) {
  if (plan_.job.reduce.count() > 0) return ring_.all_reduce(*shared_.control());
  pass_barrier(*shared_.control(), static_cast<std::uint32_t>(plan_.job.ranks), mode);
  return true;
}

bool RankProcess::do_step(const PaceBlock& block, std::int64_t draw, std::int64_t row) {
  const model::Iteration& job = plan_.job;
  const PlannedArm& how = plan_.arms[block.arm];
  Arm& arm = arms_[block.arm];
  const std::int64_t begin = last_end_;
  const pace::Decision decision = arm.controller ? arm.controller->decide() : pace::Decision{};
  const std::int64_t delay = decision.delay.count() / 1000;
  const bool at_entry = arm.settings.placement == pace::Placement::Collective;
  std::int64_t served = 0;
  if (rank_ == 0) shared_.control()->draw.store(draw, std::memory_order_relaxed);
  set_nice(how.nice != 0 && model::is_slow(job, plan_.seed, rank_, draw) ? how.nice : own_nice_);
  if (delay > 0 && !at_entry) {
    sleep_until(begin + delay);
    served = now_ns() - begin;
  }
  if (job.prepare > Seconds{}) use_processor(in_ns(job.prepare));
  if (job.fetch.count() > 0 && !input_.fetch(job.fetch)) return false;
  const std::int64_t compute = in_ns(model::compute_time(job, plan_.seed, rank_, draw));
  if (job.compute_on_cores)
    use_processor(compute);
  else if (compute > 0)
    sleep_until(now_ns() + compute);
  std::int64_t ready = now_ns();
  if (delay > 0 && at_entry) {
    sleep_until(ready + delay);
    served = now_ns() - ready;
    ready += served;
  }
  if (!synchronise(how.wait.value_or(job.wait))) return false;
  last_end_ = now_ns();

  const std::int64_t work = ready - begin - served;
  const std::int64_t wait = last_end_ - ready;
  const bool is_transfer_known = job.reduce.count() == 0;
  if (arm.controller)
    arm.controller->observe({.step = arm.step++,
                             .work = span(work),
                             .sync = span(wait),
                             .transfer = is_transfer_known ? Duration{} : Duration{-1},
                             .delayed = span(served)});
  shared_.cell(row, rank_) = {.work = static_cast<float>(work),
                              .wait = static_cast<float>(wait),
                              .delay = static_cast<float>(served),
                              .draw = static_cast<float>(compute),
                              .reason = static_cast<std::uint8_t>(decision.reason),
                              .state = static_cast<std::uint8_t>(decision.state)};
  if (rank_ == 0) shared_.period(row) = last_end_ - begin;
  return true;
}

int RankProcess::run() {
  prctl(PR_SET_TIMERSLACK, 1UL);
  if (!connect()) {
    std::fprintf(stderr, "cox-bench-pace: rank %d cannot reach its partners\n", rank_);
    return 1;
  }
  pass_barrier(*shared_.control(), static_cast<std::uint32_t>(plan_.job.ranks), pace::WaitMode::Block);
  last_end_ = now_ns();
  std::int64_t row = 0;
  for (std::size_t i = 0; i < plan_.blocks.size(); ++i) {
    const PaceBlock& block = plan_.blocks[i];
    begin_block(block, i);
    for (std::int64_t s = 0; s < block.steps; ++s, ++row)
      if (!do_step(block, block.first_draw + s, row)) {
        std::fprintf(stderr, "cox-bench-pace: rank %d: a transfer broke off in step %lld\n", rank_,
                     static_cast<long long>(row));
        return 1;
      }
    if (rank_ == 0) read_ticks(shared_.ticks(i), 1);
  }
  return 0;
}

}  // namespace cox::bench::worker
