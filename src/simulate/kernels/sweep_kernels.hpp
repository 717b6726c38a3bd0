// SPDX-License-Identifier: Apache-2.0
/// \file
/// One round of messages over a stretch of ranks, compiled once per instruction set.
/// Times and costs in seconds.
#pragma once

#include <cstddef>

#include "cox/base/instruction_set.hpp"

namespace cox::simulate {

/// From which end of the stretch a sweep in place goes, so that it reads each peer before it writes it.
enum class Direction : unsigned char { Down, Up };

/// Costs of a stretch: one for all, or an array.
struct CostSource {
  const double* each = nullptr;  ///< null: `all`
  double all = 0;

  [[nodiscard]] CostSource from(std::size_t i) const { return {each == nullptr ? nullptr : each + i, all}; }
  [[nodiscard]] double at(std::size_t i) const { return each == nullptr ? all : each[i]; }
};

/// Sweeps with own times t, those of the peers p, costs w (port form: latency l and occupation w):
///   meet:  t = max(t, p) + w             rendezvous
///   leave: t = max(t, p + w)             eager
///   port:  t = max(t, p + l) + w         eager with gaps
/// `pairs`: the peer of element i is i xor m, m = `distance`, in the sense of blocks of 2 m elements.
struct SweepKernels {
  void (*meet)(double* t, const double* p, std::size_t n, CostSource w, Direction direction);
  void (*leave)(double* t, const double* p, std::size_t n, CostSource w, Direction direction);
  void (*port)(double* t, const double* p, std::size_t n, CostSource l, CostSource w, Direction direction);
  void (*meet_pairs)(double* t, std::size_t n, std::size_t distance, CostSource w);
  void (*leave_pairs)(double* t, std::size_t n, std::size_t distance, CostSource w);
  void (*port_pairs)(double* t, std::size_t n, std::size_t distance, CostSource l, CostSource w);
  /// costs[i] += costs[i] (low + width u[i]), not below 0.
  void (*stretch)(double* costs, const double* u, std::size_t n, double low, double width);
  /// costs[i] += costs[i] (max(mean (1 + spread z[i]), 0) - less), not below 0.
  void (*stretch_by_normals)(double* costs, const double* z, std::size_t n, double mean, double spread,
                             double less);
};

[[nodiscard]] const SweepKernels& sweep_kernels(kernels::InstructionSet set);
[[nodiscard]] const SweepKernels& sweep_kernels();

}  // namespace cox::simulate
