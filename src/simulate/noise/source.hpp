// SPDX-License-Identifier: Apache-2.0
/// \file
/// One noise source as it is used: whom it concerns in which step, and what it adds there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/noise.hpp"

#include "simulate/noise/bursts.hpp"
#include "simulate/noise/laws.hpp"
#include "simulate/noise/trace.hpp"

namespace cox::simulate {

/// Ranks that something is drawn for: `first`, `first` + 1, ..., or those that are named.
struct Whom {
  int first = 0;
  std::span<const int> named{};  ///< empty: from `first` on
  std::size_t count = 0;

  [[nodiscard]] int at(std::size_t i) const { return named.empty() ? first + static_cast<int>(i) : named[i]; }
  [[nodiscard]] Whom part(std::size_t from, std::size_t n) const {
    if (!named.empty()) return {.first = 0, .named = named.subspan(from, n), .count = n};
    return {.first = first + static_cast<int>(from), .named = {}, .count = n};
  }
};

/// Purposes of a source's streams, beside those of its law (0 and 1).
enum class StreamPurpose : std::uint32_t { StartRow = 2, MessageSeed = 3, Phase = 4, Bursts = 5 };

/// At most this many ranks are drawn at a time.
inline constexpr std::size_t kNoiseChunk = 512;

/// What a source keeps from step to step, of the same ranks.
struct SourceMemory {
  std::vector<double> amounts;           ///< that hold for the whole job; empty = none yet
  std::vector<CorrelatedMemory> chunks;  ///< by kNoiseChunk ranks each
};

class NoiseUnits {
 public:
  NoiseUnits() = default;
  NoiseUnits(model::NoiseScope scope, const SharedPlaces& placement);
  /// Nodes, switches and rails by the devices of the ranks, numbered as they are used; a rank beyond the job's (a
  /// collective's server) is its own.
  [[nodiscard]] static NoiseUnits where_ranks_sit(model::NoiseScope scope, const SharedPlaces& placement);
  [[nodiscard]] std::uint64_t of(int rank) const;
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Every rank is its own.
  [[nodiscard]] bool single() const { return kind_ == Kind::Runs && size_ == 1 && of_rank_.empty(); }

 private:
  enum class Kind : std::uint8_t { Runs, Rails, Stages };
  Kind kind_ = Kind::Runs;
  int size_ = 1;    ///< ranks of a unit that follow each other; rails: of a node
  int number_ = 1;  ///< rails, stages
  std::uint64_t count_ = 1;
  std::vector<std::uint32_t> of_rank_{};  ///< where ranks are not in order; empty = by the formula
};

struct Source {
  NoiseDraws draws;
  std::string file;  // of a recording
  model::NoiseTarget target = model::NoiseTarget::Compute;
  model::NoisePattern pattern = model::NoisePattern::EveryStep;
  bool relative = true;
  bool correlated = false;
  std::uint64_t period_steps = 1;
  std::int64_t when = 0;  // once: its step
  double period = 0;      // seconds
  NoiseUnits units;
  std::vector<int> only;  // ascending; empty = all ranks
  std::optional<Bursts> bursts;
  std::optional<StepTimes> steps;
  std::optional<Detours> detours;

  /// Errors: simulate-001 (values that have no meaning), base-002 to base-004 and simulate-002 (file).
  [[nodiscard]] static Result<Source> make(const model::NoiseSource& source, const SharedPlaces& placement,
                                           std::size_t number);

  [[nodiscard]] bool timed() const { return pattern == model::NoisePattern::Periodic || detours.has_value(); }
  [[nodiscard]] bool concerns(int rank) const;
  [[nodiscard]] std::uint32_t stream(StreamPurpose purpose) const {
    return draws.stream(static_cast<std::uint32_t>(purpose));
  }
  /// Of messages: each has a draw of its own, whatever is drawn in other rounds and steps.
  [[nodiscard]] bool per_message() const { return pattern == model::NoisePattern::EveryStep && !correlated; }
  /// Of messages or bandwidth: it matters which rank receives, beyond that ranks differ.
  [[nodiscard]] bool names_ranks() const {
    return !(target == model::NoiseTarget::Message && per_message() && units.single() && only.empty() &&
             !bursts);
  }
  /// What it adds in `step`, as a ratio or as seconds. Not for sources in time, nor recorded steps.
  void amounts(std::uint64_t seed, std::int64_t step, const Whom& whom, std::span<double> out,
               CorrelatedMemory* memory = nullptr) const;
  /// The same in every step.
  [[nodiscard]] bool lasting() const { return pattern == model::NoisePattern::Persistent && !bursts; }
  /// The same for the messages that `whom` receive in round `round` of the collective that has the key `key`;
  /// `first` is the place of the first, by which messages differ.
  void message_amounts(std::uint64_t seed, std::uint64_t key, std::int64_t step, std::int64_t round,
                       int first, const Whom& whom, std::span<double> out) const;
  /// Rank r (or its node, by the scope) takes column r modulo the recorded ranks; each further lap of the columns
  /// begins at a row of its own. Pre: it has recorded steps.
  [[nodiscard]] double recorded_time(std::uint64_t seed, std::int64_t step, int rank) const;

 private:
  [[nodiscard]] std::uint64_t counter_at(std::int64_t step) const;
  void limit(std::uint64_t seed, std::int64_t step, const Whom& whom, std::span<double> amounts) const;
  template <class Draw>
  void by_unit(const Whom& whom, std::span<double> out, Draw draw) const;
  template <class In>
  void keep_units(const Whom& whom, std::span<double> amounts, In in) const;
};

}  // namespace cox::simulate
