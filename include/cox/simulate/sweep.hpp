// SPDX-License-Identifier: Apache-2.0
/// \file
/// A grid of scenarios, computed by threads here or by the ranks of a launcher, resumed after a kill.
///
/// A sweep file names a scenario and lists values of its keys; a point is one combination, the last axis
/// fastest. Points do not depend on each other. Finished ones are appended to a journal, a line each, so
/// whatever ends a sweep loses at most the points under way. Format: docs/reference/sweep.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/model/toml.hpp"
#include "cox/simulate/attribution.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::simulate {

struct SweepAxis {
  std::string key;                  ///< dotted, as in the scenario: `cluster.nodes`
  std::vector<std::string> values;  ///< as `--set` takes them: `8`, `1MiB`, `ring`
};

struct Sweep {
  std::string name;
  std::filesystem::path scenario;  ///< the file that points vary
  std::string base;                ///< its text
  std::vector<SweepAxis> axes;
  std::uint64_t digest = 0;  ///< of the sweep's and the scenario's text: two sweeps never share a journal

  [[nodiscard]] std::int64_t points() const;
  /// Value index of each axis at point i.
  [[nodiscard]] std::vector<std::size_t> at(std::int64_t i) const;
};

/// Reads a sweep file. Errors: base-002 to base-004, sweep-001 (not a sweep: line, got,
/// wanted; over a million points).
[[nodiscard]] Result<Sweep> read_sweep(const std::filesystem::path& path);

/// One point's scenario. Errors: those of `parse_scenario`, with the point's values in the message.
[[nodiscard]] Result<model::Scenario> scenario_at(const Sweep& sweep, std::int64_t point);

/// The scenario of a file, with `changes`, at several numbers of nodes, in the order given; `attributed`: with what
/// each mechanism costs there. Errors: those of
/// `read_scenario` and `simulate`, with the size in the message.
[[nodiscard]] Result<std::vector<SizeOutcome>> simulate_sizes(const std::filesystem::path& scenario,
                                                              const std::vector<int>& nodes,
                                                              const model::ScenarioOptions& changes,
                                                              const SimulateOptions& options,
                                                              bool attributed = false);

/// Which of how many processes of one launch this is.
struct Share {
  int rank = 0;
  int of = 1;
};

struct SweepOptions {
  std::filesystem::path output;  ///< the one file at the end; the journal lies in `<output>.points/`
  Share share{};
  int threads = 0;
  std::function<void(std::int64_t done, std::int64_t total)> progress{};
};

struct SweepProgress {
  std::int64_t points = 0;
  std::int64_t found = 0;     ///< in the journal, of an earlier start
  std::int64_t computed = 0;  ///< by this process
  std::int64_t failed = 0;    ///< of those that are done, by whomever: their `error` says why
  bool merged = false;        ///< this process found all points done and wrote the output
};

/// Computes what is missing of this process's share (points i with i mod `of` = `rank`), then, where every
/// point is done, writes `output`; the same bytes whoever does it. Points that fail are recorded with their
/// error. Threads: `threads` at a time. Errors: sweep-002 (the journal is of another sweep), base-006. Held
/// by: src/simulate/sweep/sweep_test.cpp, tests/e2e/sweep_test.sh (mpirun -n 4, killed, resumed).
[[nodiscard]] Result<SweepProgress> run_sweep(const Sweep& sweep, const SweepOptions& options);

}  // namespace cox::simulate
