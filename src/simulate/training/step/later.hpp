// SPDX-License-Identifier: Apache-2.0
/// \file
/// A step is played on its own clock; who watches is told the job's.
#pragma once

#include <vector>

#include "simulate/training/account/watcher.hpp"

namespace cox::simulate::training {

/// Passes on what it is told, `by` later.
class Later : public Watcher {
 public:
  Later(Watcher& to, Seconds by) : to_(to), by_(by) {}
  void begin(int unit, Seconds at) override { to_.begin(unit, at + by_); }
  void fed(int unit, Seconds begin, Seconds end) override { to_.fed(unit, begin + by_, end + by_); }
  void computed(int unit, const Instruction& i, Seconds begin, Seconds computed, Seconds end) override {
    to_.computed(unit, i, begin + by_, computed + by_, end + by_);
  }
  void sent(int unit, int to, const Instruction& i, Seconds at, Seconds leaves, Seconds arrives) override {
    to_.sent(unit, to, i, at + by_, leaves + by_, arrives + by_);
  }
  void received(int unit, const Instruction& i, Seconds begin, Seconds leaves, Seconds arrives) override {
    to_.received(unit, i, begin + by_, leaves + by_, arrives + by_);
  }
  void issued(int unit, const Instruction& i, Seconds at) override { to_.issued(unit, i, at + by_); }
  void met(const Gathering& g) override {
    arrivals_.assign(g.arrivals.begin(), g.arrivals.end());
    departures_.assign(g.departures.begin(), g.departures.end());
    for (Seconds& t : arrivals_) t += by_;
    for (Seconds& t : departures_) t += by_;
    Gathering later = g;
    later.arrivals = arrivals_;
    later.departures = departures_;
    to_.met(later);
  }
  void awaited(int unit, const Instruction& i, Seconds begin, Seconds alone, Seconds end) override {
    to_.awaited(unit, i, begin + by_, alone, end + by_);
  }
  void end(int unit, Seconds at) override { to_.end(unit, at + by_); }

 private:
  Watcher& to_;
  Seconds by_;
  std::vector<Seconds> arrivals_;
  std::vector<Seconds> departures_;
};

}  // namespace cox::simulate::training
