// SPDX-License-Identifier: Apache-2.0
#include "diagnose/what_if/questions.hpp"

#include <algorithm>

namespace cox::diagnose {
namespace {

/// An interval that reaches below this part of its estimate is none.
constexpr double kLeastOfEstimate = 0.5;

/// Scenarios that replay takes in one pass.
constexpr std::size_t kBatch = 32;
/// Replaced stretches of work that are in memory at once: 64 MiB.
constexpr std::size_t kBatchCells = std::size_t{8} << 20;
/// What it costs to work out one replaced stretch and to keep it apart, beside a simulated operation.
constexpr std::int64_t kReplacing = 24;

}  // namespace

Questions::Questions(const Recording& recording, const Peers& peers, const WhatIfOptions& options)
    : recording_(recording),
      peers_(peers),
      threads_(options.threads),
      left_(options.most_work),
      longest_(recording.tracks, {}, options.threads),
      longest_ideal_(recording.tracks, peers.ideal(), options.threads),
      bootstrap_(recording.tracks.blocks()) {
  pass_cost_ = static_cast<std::int64_t>(replay::separate_arrivals(recording.tracks) +
                                         recording.tracks.work().size() / kBatch + 1);
  for (const auto& meetings : recording.attended)
    cells_per_rank_ = std::max(cells_per_rank_, static_cast<std::int64_t>(meetings.size()));
  std::vector<replay::OtherDurations> both(2);
  both[0].longest = &longest_;
  both[1].work = peers.ideal();
  both[1].longest = &longest_ideal_;
  std::vector<Replayed> answers = ask(both, 0);
  recorded_ = std::move(answers[0]);
  ideal_ = std::move(answers[1]);
}

std::int64_t Questions::cost(std::size_t ranks) const {
  return pass_cost_ + cells_per_rank_ * static_cast<std::int64_t>(ranks) * kReplacing;
}

std::int64_t Questions::affordable(std::size_t ranks) const {
  return std::max<std::int64_t>(0, left_) / cost(ranks);
}

std::size_t Questions::batch(std::size_t ranks) const {
  const auto cells = static_cast<std::size_t>(std::max<std::int64_t>(1, cells_per_rank_)) * ranks;
  return std::clamp<std::size_t>(kBatchCells / cells, 1, kBatch);
}

std::vector<Replayed> Questions::ask(std::span<const replay::OtherDurations> scenarios, std::size_t ranks) {
  std::vector<Replayed> answers;
  for (const replay::BlockTimes& times : replay::replay(recording_.tracks, scenarios, threads_))
    answers.push_back({times.makespan, bootstrap_.prepare(times.block_end)});
  asked_ += static_cast<std::int64_t>(scenarios.size());
  left_ -= cost(ranks) * static_cast<std::int64_t>(scenarios.size());
  return answers;
}

std::vector<Replayed> Questions::fixed(std::span<const RankSet> sets) {
  std::vector<Replayed> out;
  std::size_t widest = 1;
  for (const RankSet& set : sets) widest = std::max(widest, set.size());
  const std::size_t step = batch(widest);
  for (std::size_t from = 0; from < sets.size(); from += step) {
    const auto some = sets.subspan(from, std::min(step, sets.size() - from));
    std::vector<std::vector<std::vector<Duration>>> instead;
    std::vector<replay::OtherDurations> scenarios(some.size());
    for (std::size_t i = 0; i < some.size(); ++i) {
      instead.push_back(peers_.fixed(some[i]));
      scenarios[i].longest = &longest_;
      for (std::size_t k = 0; k < some[i].size(); ++k)
        scenarios[i].instead.emplace_back(static_cast<replay::Track>(some[i][k]), instead[i][k]);
    }
    for (Replayed& a : ask(scenarios, widest)) out.push_back(std::move(a));
  }
  return out;
}

std::vector<Replayed> Questions::only(std::span<const std::size_t> ranks) {
  std::vector<Replayed> out;
  const std::size_t step = batch(1);
  for (std::size_t from = 0; from < ranks.size(); from += step) {
    const auto some = ranks.subspan(from, std::min(step, ranks.size() - from));
    std::vector<std::vector<Duration>> instead;
    std::vector<replay::OtherDurations> scenarios(some.size());
    for (std::size_t i = 0; i < some.size(); ++i) {
      instead.push_back(peers_.recorded(some[i]));
      scenarios[i].work = peers_.ideal();
      scenarios[i].longest = &longest_ideal_;
      scenarios[i].instead.emplace_back(static_cast<replay::Track>(some[i]), instead[i]);
    }
    for (Replayed& a : ask(scenarios, 1)) out.push_back(std::move(a));
  }
  return out;
}

std::vector<Replayed> Questions::transfers(std::span<const std::vector<Duration>> columns) {
  std::vector<replay::OtherDurations> scenarios(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    scenarios[i].transfer = columns[i];
    scenarios[i].longest = &longest_;
  }
  return ask(scenarios, 0);
}

std::size_t Questions::columns_at_once() const {
  return std::clamp<std::size_t>(kBatchCells / std::max<std::size_t>(1, recording_.tracks.meetings().size()),
                                 2, kBatch);
}

Estimate Questions::estimate(const Replayed& a) const {
  Estimate e;
  e.time = a.time;
  e.speedup_ratio = ratio(recorded_.time, std::max(a.time, Duration{1}));
  e.speedup_low = e.speedup_high = e.speedup_ratio;
  if (!bootstrap_.possible()) return e;
  const Interval i = bootstrap_.quotient(recorded_.sums, a.sums);
  // Where single steps hold most of the time, draws without them say nothing of the run.
  if (i.low < kLeastOfEstimate * e.speedup_ratio) return e;
  // A few draws of few steps may lie aside of the estimate; an interval that excludes it would say nothing.
  e.speedup_low = std::min(i.low, e.speedup_ratio);
  e.speedup_high = std::max(i.high, e.speedup_ratio);
  e.has_interval = true;
  return e;
}

}  // namespace cox::diagnose
