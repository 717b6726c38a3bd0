// SPDX-License-Identifier: Apache-2.0
/// \file
/// What happens in a step, told to whoever adds it up, records it, or takes it apart.
#pragma once

#include <span>

#include "cox/base/units.hpp"
#include "cox/model/schedule.hpp"

#include "simulate/training/plan/plan.hpp"

namespace cox::simulate::training {

/// A collective among units as it happened. Spans are parallel to the members, in the group's order.
struct Gathering {
  ReplicaGroup of = ReplicaGroup::All;  ///< experts exchange; the others are on a stream
  model::Collective kind = model::Collective::AllReduce;
  Bytes bytes{};
  int stage = 0;
  int group = 0;  ///< of its kind and stage, in the whole job
  int slot = 0;   ///< in the step
  std::span<const int> members;
  std::span<const Seconds> arrivals;
  std::span<const Seconds> departures;
  [[nodiscard]] bool is_exchange() const { return of == ReplicaGroup::Experts; }
};

/// Told what happens, in an order in which causes come before effects. All calls from the one thread.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void begin(int /*unit*/, Seconds /*at*/) {}
  /// It waited for its input.
  virtual void fed(int /*unit*/, Seconds /*begin*/, Seconds /*end*/) {}
  /// `computed` is when the slowest rank of the unit was done computing; `end` when their communication was.
  virtual void computed(int /*unit*/, const Instruction& /*i*/, Seconds /*begin*/, Seconds /*computed*/,
                        Seconds /*end*/) {}
  virtual void sent(int /*unit*/, int /*to*/, const Instruction& /*i*/, Seconds /*at*/, Seconds /*leaves*/,
                    Seconds /*arrives*/) {}
  virtual void received(int /*unit*/, const Instruction& /*i*/, Seconds /*begin*/, Seconds /*leaves*/,
                        Seconds /*arrives*/) {}
  virtual void issued(int /*unit*/, const Instruction& /*i*/, Seconds /*at*/) {}
  virtual void met(const Gathering& /*g*/) {}
  /// The unit stood still for data collective `i.slot`; for `alone` of it some member had not come.
  virtual void awaited(int /*unit*/, const Instruction& /*i*/, Seconds /*begin*/, Seconds /*alone*/,
                       Seconds /*end*/) {}
  virtual void end(int /*unit*/, Seconds /*at*/) {}
};

/// Tells two watchers.
class Both : public Watcher {
 public:
  Both(Watcher& a, Watcher& b) : a_(a), b_(b) {}
  void begin(int u, Seconds at) override {
    a_.begin(u, at);
    b_.begin(u, at);
  }
  void fed(int u, Seconds b, Seconds e) override {
    a_.fed(u, b, e);
    b_.fed(u, b, e);
  }
  void computed(int u, const Instruction& i, Seconds b, Seconds c, Seconds e) override {
    a_.computed(u, i, b, c, e);
    b_.computed(u, i, b, c, e);
  }
  void sent(int u, int to, const Instruction& i, Seconds at, Seconds l, Seconds r) override {
    a_.sent(u, to, i, at, l, r);
    b_.sent(u, to, i, at, l, r);
  }
  void received(int u, const Instruction& i, Seconds b, Seconds l, Seconds r) override {
    a_.received(u, i, b, l, r);
    b_.received(u, i, b, l, r);
  }
  void issued(int u, const Instruction& i, Seconds at) override {
    a_.issued(u, i, at);
    b_.issued(u, i, at);
  }
  void met(const Gathering& g) override {
    a_.met(g);
    b_.met(g);
  }
  void awaited(int u, const Instruction& i, Seconds b, Seconds c, Seconds e) override {
    a_.awaited(u, i, b, c, e);
    b_.awaited(u, i, b, c, e);
  }
  void end(int u, Seconds at) override {
    a_.end(u, at);
    b_.end(u, at);
  }

 private:
  Watcher& a_;
  Watcher& b_;
};

}  // namespace cox::simulate::training
