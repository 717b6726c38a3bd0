// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who is told what a rank does.
#pragma once

#include <cstdint>
#include <span>

#include "cox/base/units.hpp"

namespace cox::train {

enum class StepPart : std::uint8_t {
  Forward,
  Gradient,
  Optimizer,
  AllReduce,
  ReduceScatter,
  AllGather,
  Checkpoint
};

/// Hears of every step and of its parts, one after the other. This one does nothing with it. Not by cox/abi/observe.h
/// here: `cox` itself asks nobody for symbols; programs of ranks do (src/train/program).
class Marks {
 public:
  Marks() = default;
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;
  virtual ~Marks() = default;
  virtual void step(std::int64_t /*number*/) {}
  /// Collectives from here on are of these ranks, in this order, of which this one is number `own`; until then of all. `as`: what they are
  /// called where they are new.
  virtual void meets(std::span<const int> /*ranks*/, int /*own*/, const char* /*as*/) {}
  /// `bytes`: of a collective, all elements.
  virtual void begin(StepPart /*part*/, Bytes /*bytes*/) {}
  virtual void end() {}
  /// A message to rank `to` is about to be sent.
  virtual void sent(int /*to*/, Bytes /*bytes*/) {}
  /// A message of rank `from`, or of any (-1), is waited for, or that it takes what was sent to it...
  virtual void wait(int /*from*/) {}
  /// ...and came, or was taken.
  virtual void came(int /*from*/, Bytes /*bytes*/) {}
  virtual void taken() {}
  /// A step counts. `loss`: mean over the samples of this rank's workers before it; on the first rank.
  virtual void version(std::int64_t /*version*/, double /*loss*/) {}
  /// Asked before each step: whether it and all behind it are left. All ranks have to answer alike.
  virtual bool stops_before(std::int64_t /*step*/) { return false; }
};

}  // namespace cox::train
