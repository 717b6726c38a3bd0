// SPDX-License-Identifier: Apache-2.0
/// \file
/// When a job is saved, and how all its ranks do it together.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

#include "train/checkpoint/generations.hpp"
#include "train/transport/transport.hpp"

namespace cox::train {

/// How often: after so many steps, or as often as a part of the job's time allows.
struct SaveEvery {
  std::int64_t steps = 0;  ///< 0 = by `share`
  double share = 0;        ///< above 0, below 1
};
/// Reads `100` or `5%`. Errors: train-002 (Errc::Usage).
[[nodiscard]] Result<SaveEvery> read_save_every(const std::string& text);

/// Consecutive elements that a rank saves.
struct SavedSpan {
  Stretch elements{};
  std::vector<std::span<const float>> values{};  ///< of the parameters, then of each moment
};

/// What was saved.
struct Saved {
  std::int64_t count = 0;
  Seconds took{};  ///< of the first rank, all together
};

/// Steps until one more save of length `longest` leaves saving at most that share of all time: with S saved and T stepped so far,
/// ceil(((S + longest) (1 - share) / share - T) / step), at least 1.
/// Held by: src/train/checkpoint/saver_test.cpp
[[nodiscard]] std::int64_t steps_until_saved(double share, Seconds saved, Seconds longest, Seconds stepped,
                                             Seconds step);

/// Saves in turn: every rank its own elements, whatever else it holds. All ranks call the same things in the same order, and what one of
/// them cannot do is an error of all, with its words. A rank that is slow to write counts into the patience of the others.
/// Held by: src/train/run/resume_test.cpp
class Saver {
 public:
  Saver(const std::string& folder, SaveEvery every, std::string job, std::int64_t elements, int moments,
        Transport& transport);

  /// Where the job goes on: the first rank chooses, the others read the same version. Nothing where the folder has no checkpoint
  /// yet; refused ones get out of the way. Errors: train-007, -008 (see Generations::newest; ranks that read unlike ones); those of exchange.
  [[nodiscard]] Result<FoundState> resume();
  /// Errors: train-008 (there are checkpoints, and nobody asked to go on from them); those of Generations::open and exchange.
  [[nodiscard]] Status begin_anew();

  [[nodiscard]] bool due(std::int64_t version, std::int64_t last) const {
    return version == next_ || version == last;
  }
  /// `mine`: this rank's elements, as many spans as each other rank has, a file each; all ranks' first ones follow each other, then their
  /// second ones. Errors: train-007 (it could not be written: the rank, and why, on all ranks; the checkpoint before is what it
  /// was); those of exchange.
  [[nodiscard]] Status save(std::int64_t version, std::span<const SavedSpan> mine);
  [[nodiscard]] const Saved& saved() const { return saved_; }
  /// The version that was saved last, or gone on from; -1 = none.
  [[nodiscard]] std::int64_t newest() const { return newest_; }

 private:
  /// The first rank's lock, and the job's name for what is half done, on all ranks.
  [[nodiscard]] Status open();
  /// Of the first rank that could not, on all ranks.
  [[nodiscard]] Status agree(const Status& mine);
  [[nodiscard]] Status agree(std::int64_t version, int cause);

  Generations generations_;
  SaveEvery every_;
  Manifest manifest_;
  Transport& transport_;
  Saved saved_;
  Seconds longest_{};
  std::int64_t began_ = 0;
  std::int64_t newest_ = -1;
  std::int64_t next_ = 0;
  std::chrono::steady_clock::time_point since_;
};

}  // namespace cox::train
