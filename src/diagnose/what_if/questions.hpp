// SPDX-License-Identifier: Apache-2.0
/// \file
/// Asks many questions of one recording, in batches that fit in memory, and puts error bars on the answers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "diagnose/what_if/interval.hpp"
#include "diagnose/what_if/peers.hpp"
#include "diagnose/what_if/recording.hpp"
#include "diagnose/what_if/what_if.hpp"

namespace cox::diagnose {

/// One scenario's answer.
struct Replayed {
  Duration time{};
  BlockBootstrap::Sums sums;  ///< of its step times; empty where there are too few
};

/// Ranks as indices into the Run.
using RankSet = std::vector<std::size_t>;

class Questions {
 public:
  Questions(const Recording& recording, const Peers& peers, const WhatIfOptions& options);

  [[nodiscard]] const Replayed& recorded() const { return recorded_; }
  [[nodiscard]] const Replayed& ideal() const { return ideal_; }
  /// Each set fixed by itself.
  [[nodiscard]] std::vector<Replayed> fixed(std::span<const RankSet> sets);
  /// Each of these ranks as recorded while all others are ideal.
  [[nodiscard]] std::vector<Replayed> only(std::span<const std::size_t> ranks);
  /// Other transfers, one column per meeting each.
  [[nodiscard]] std::vector<Replayed> transfers(std::span<const std::vector<Duration>> columns);

  /// How many of these columns fit in memory together.
  [[nodiscard]] std::size_t columns_at_once() const;

  [[nodiscard]] Estimate estimate(const Replayed& a) const;
  [[nodiscard]] const BlockBootstrap& bootstrap() const { return bootstrap_; }
  [[nodiscard]] std::int64_t asked() const { return asked_; }
  /// How many scenarios that replace `ranks` ranks each can still be asked within `most_work`.
  [[nodiscard]] std::int64_t affordable(std::size_t ranks) const;

 private:
  [[nodiscard]] std::int64_t cost(std::size_t ranks) const;
  [[nodiscard]] std::size_t batch(std::size_t ranks) const;
  std::vector<Replayed> ask(std::span<const replay::OtherDurations> scenarios, std::size_t ranks);

  const Recording& recording_;
  const Peers& peers_;
  int threads_;
  std::int64_t left_ = 0;
  std::int64_t pass_cost_ = 0;
  std::int64_t cells_per_rank_ = 0;
  std::int64_t asked_ = 0;
  replay::Longest longest_;
  replay::Longest longest_ideal_;
  BlockBootstrap bootstrap_;
  Replayed recorded_;
  Replayed ideal_;
};

}  // namespace cox::diagnose
