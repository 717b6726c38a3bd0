// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where ranks spend a step, added up while it is played.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "cox/simulate/training.hpp"

#include "simulate/training/account/watcher.hpp"

namespace cox::simulate::training {

/// Adds up where ranks spend a step: into one account per group.
class Accounts : public Watcher {
 public:
  /// `factors` of every rank, read when its unit begins, and `out`, one per group, and `of_unit`, the place of
  /// each unit's in it: all outlive it.
  Accounts(const Plan& plan, const std::vector<double>& factors, const std::vector<int>& of_unit,
           std::vector<StepParts>& out)
      : plan_(plan),
        factors_(factors),
        of_unit_(of_unit),
        out_(out),
        begin_(factors.size() / static_cast<std::size_t>(plan.ranks_per_unit())),
        own_share_(begin_.size()) {}

  void begin(int unit, Seconds at) override {
    const auto u = static_cast<std::size_t>(unit);
    const auto ranks = static_cast<std::size_t>(plan_.ranks_per_unit());
    double slowest = 0, sum = 0;
    for (std::size_t r = u * ranks; r < (u + 1) * ranks; ++r) {
      slowest = std::max(slowest, factors_[r]);
      sum += factors_[r];
    }
    own_share_[u] = slowest > 0 ? sum / slowest / static_cast<double>(ranks) : 1;
    begin_[u] = at;
  }
  void fed(int unit, Seconds begin, Seconds end) override {
    add(unit, StepPart::Input, (end - begin) * plan_.ranks_per_unit());
  }
  void end(int unit, Seconds at) override {
    rank_time_ += (at - begin_[static_cast<std::size_t>(unit)]) * plan_.ranks_per_unit();
  }
  void computed(int unit, const Instruction& i, Seconds begin, Seconds computed, Seconds end) override {
    const int ranks = plan_.ranks_per_unit();
    const Seconds all = (computed - begin) * ranks;
    const Seconds own = all * own_share_[static_cast<std::size_t>(unit)];
    add(unit, i.part, own);
    add(unit, StepPart::Wait, all - own);
    add(unit, StepPart::Context, i.context * ranks);
    add(unit, StepPart::Tensor, (end - computed - i.context) * ranks);
  }
  void received(int unit, const Instruction& /*i*/, Seconds begin, Seconds leaves, Seconds arrives) override {
    split(unit, begin, leaves, arrives, StepPart::Bubble, StepPart::Pipeline);
  }
  void awaited(int unit, const Instruction& /*i*/, Seconds begin, Seconds alone, Seconds end) override {
    if (end <= begin) return;
    add(unit, StepPart::Wait, alone * plan_.ranks_per_unit());
    add(unit, StepPart::Data, (end - begin - alone) * plan_.ranks_per_unit());
  }
  void met(const Gathering& g) override {
    if (!g.is_exchange()) return;
    const Seconds complete = *std::max_element(g.arrivals.begin(), g.arrivals.end());
    for (std::size_t m = 0; m < g.members.size(); ++m)
      split(g.members[m], g.arrivals[m], complete, g.departures[m], StepPart::Wait, StepPart::Expert);
  }
  /// Sum over ranks of (end - begin).
  [[nodiscard]] Seconds rank_time() const { return rank_time_; }

 private:
  void add(int unit, StepPart part, Seconds s) {
    out_[static_cast<std::size_t>(of_unit_[static_cast<std::size_t>(unit)])]
        [static_cast<std::size_t>(part)] += s;
  }
  /// [begin, end) before and after `border`, on all ranks of a unit.
  void split(int unit, Seconds begin, Seconds border, Seconds end, StepPart before, StepPart after) {
    if (end <= begin) return;
    const Seconds first = std::clamp(border, begin, end) - begin;
    add(unit, before, first * plan_.ranks_per_unit());
    add(unit, after, (end - begin - first) * plan_.ranks_per_unit());
  }

  const Plan& plan_;
  const std::vector<double>& factors_;
  const std::vector<int>& of_unit_;
  std::vector<StepParts>& out_;
  std::vector<Seconds> begin_;
  std::vector<double> own_share_;  ///< of a unit's computation: the mean of its ranks over the slowest
  Seconds rank_time_{};
};

}  // namespace cox::simulate::training
