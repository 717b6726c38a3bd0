// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who is told what a rank does.
#pragma once

#include <cstdint>

#include "cox/base/units.hpp"

namespace cox::train {

enum class StepPart : std::uint8_t { Gradient, Optimizer, AllReduce, ReduceScatter, AllGather, Checkpoint };

/// Hears of every step and of its parts, one after the other. This one does nothing with it. Not by cox/abi/observe.h
/// here: `cox` itself asks nobody for symbols; programs of ranks do (src/train/program).
class Marks {
 public:
  Marks() = default;
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;
  virtual ~Marks() = default;
  virtual void step(std::int64_t /*number*/) {}
  /// `bytes`: of a collective, all elements.
  virtual void begin(StepPart /*part*/, Bytes /*bytes*/) {}
  virtual void end() {}
};

}  // namespace cox::train
