// SPDX-License-Identifier: Apache-2.0
/// \file
/// The computations that a study's file may name. Rooms bring theirs as a table; `study` knows its own only.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/study/answer.hpp"
#include "cox/study/inputs.hpp"

namespace cox::study {

/// Errors: study-003 for inputs that do not fit, those of the engines. Deterministic for any thread count.
using Compute = Result<Computation> (*)(const Inputs&, const ComputeOptions&);

/// What `compute = ` says, and what it calls. The name lives as long as the program.
struct NamedComputation {
  std::string_view name;
  Compute compute = nullptr;
};

/// All that may be named, in the order in which they were added. Whoever runs studies makes one, from those
/// of the rooms that it knows; nothing adds itself.
class ComputationTable {
 public:
  /// A name that is there already, or none, is a bug (asserted).
  void add(std::span<const NamedComputation> more);
  /// Null where there is none of this name.
  [[nodiscard]] const NamedComputation* find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string_view> names() const;

 private:
  std::vector<NamedComputation> all_;
};

/// Those of this room: sources' questions, computed with the engines.
[[nodiscard]] std::span<const NamedComputation> engine_computations();

/// Computes a study and judges what its source printed.
/// Errors: study-003 (no such computation in `known`; it asks for an input that is missing, of another
/// dimension or out of bounds, or leaves a value that is no number), those of `judge` and of the engines.
/// Deterministic for any thread count. Held by: src/study/answer/run_test.cpp,
/// src/evaluate/studies_test.cpp
[[nodiscard]] Result<AnsweredStudy> run_study(const Study& study, const ComputationTable& known,
                                              const ComputeOptions& options = {});

}  // namespace cox::study
