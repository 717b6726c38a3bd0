// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a pacing controller may do and how careful it is. One table of parameters drives the command line,
/// the environment of a job, `cox pace --explain` and the reference page. Libc only: part of the guest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cox/base/units.hpp"

namespace cox::pace {

/// Which rule decides. Values are part of the Run format and are never renumbered.
enum class Mode : std::uint8_t {
  Off = 0,      ///< no controller
  Observe = 1,  ///< decides nothing: what `auto` would see is recorded, no rank is held back
  Paper = 2,   ///< "When Scaling Fails", section 5.3, as it stands: threshold, hysteresis, no test of benefit
  Auto = 3,    ///< delays predictable slack where paced blocks are measurably better than unpaced ones
  Always = 4,  ///< the delay found in the first window, from then on, without any test (a control)
  Random = 5,  ///< a random delay of the same mean as the predictable slack allows (a control)
};

/// What "better" means to the test of `auto`.
enum class Objective : std::uint8_t {
  Throughput = 0,  ///< mean time of an iteration
  Tail = 1,        ///< mean of the slowest quarter of a block's iterations
  Energy = 2,      ///< estimated energy of the rank's wait and work: see Settings::idle_power
};

/// Where the delay is served.
enum class Placement : std::uint8_t {
  Iteration = 0,   ///< right after a synchronisation, before the next iteration's work
  Collective = 1,  ///< at the entry of the next collective
};

/// Parameters of one controller; the same on every rank of a job. `kParameters` says what each does.
struct Settings {
  Mode mode = Mode::Off;
  Objective objective = Objective::Throughput;
  Placement placement = Placement::Iteration;
  std::uint64_t seed = 1;
  std::uint32_t window = 64;
  std::uint32_t warm_up = 32;
  // bounds of one delay
  Duration max_delay = std::chrono::milliseconds{100};
  double max_ratio = 0.25;
  Duration min_delay = std::chrono::microseconds{100};
  // predictable slack
  double share = 0.8;
  double deviations = 1;
  // the test of benefit
  double budget = 0.005;
  double alpha = 0.05;
  double min_gain = 0.005;
  std::uint32_t block = 8;
  std::uint32_t settle = 1;
  std::uint32_t min_pairs = 4;
  std::uint32_t max_pairs = 32;
  std::uint32_t retry = 256;
  std::uint32_t carry = 256;
  double idle_power = 0.3;
  // the published rule
  double activate = 0.05;
  double release = 0.025;
  double paper_share = 0.5;
  // transfer time, where it is known from a calibration: latency + bytes * per_byte
  Duration transfer_latency = Duration{-1};
  double transfer_ps_per_byte = 0;
  // where a pool of threads submits collectives
  Duration order{};
  /// The process drives an accelerator whose queue absorbs a delay of the host: stay passive.
  bool launch_ahead = false;
};

/// One parameter: how it is spelled, its unit, its default as text, and what it does.
struct Parameter {
  const char* key;
  const char* unit;
  const char* fallback;
  const char* effect;
};
/// All of them, in the order of `Settings`. Held by: src/pace/settings_test.cpp
[[nodiscard]] std::span<const Parameter> parameters() noexcept;

/// Sets one parameter from text (`window=32`, `max_delay=5ms`); false where key or value is not known or not
/// in range, and nothing is changed.
bool set(Settings& settings, const char* key, const char* value) noexcept;
/// Sets several, comma-separated: `auto,window=32`. A word without `=` is a mode. Returns the byte offset of
/// the first part that was refused, or -1.
[[nodiscard]] std::ptrdiff_t set_all(Settings& settings, const char* text) noexcept;

[[nodiscard]] const char* name_of(Mode mode) noexcept;            ///< `off`, `observe`, `paper`, ...
[[nodiscard]] const char* name_of(Objective objective) noexcept;  ///< `throughput`, `tail`, `energy`
[[nodiscard]] const char* name_of(Placement placement) noexcept;  ///< `iteration`, `collective`

}  // namespace cox::pace
