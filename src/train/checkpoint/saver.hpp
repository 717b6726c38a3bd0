// SPDX-License-Identifier: Apache-2.0
/// \file
/// When a job is saved, and how all its ranks do it together.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

#include "train/checkpoint/generations.hpp"
#include "train/executor/memory_count.hpp"
#include "train/transport/transport.hpp"

namespace cox::train {

/// How often: after so many steps, or as often as a part of the job's time allows.
struct SaveEvery {
  std::int64_t steps = 0;  ///< 0 = by `share`
  double share = 0;        ///< above 0, below 1
};
/// Reads `100` or `5%`. Errors: train-002 (Errc::Usage).
[[nodiscard]] Result<SaveEvery> read_save_every(const std::string& text);

/// Consecutive elements that a rank saves, or what its workers keep for themselves.
struct SavedSpan {
  Stretch elements{};  ///< or workers
  std::vector<std::span<const float>>
      values{};  ///< of the parameters, then of each moment; or of each worker
};

/// Floats of all of them.
[[nodiscard]] std::int64_t floats_of(std::span<const SavedSpan> spans);

/// What was saved.
struct Saved {
  std::int64_t count = 0;
  Seconds took{};    ///< of the first rank's steps, all together
  Seconds beside{};  ///< that its thread wrote beside them
};

/// Steps until one more save of length `longest` leaves saving at most that share of all time: with S saved and T stepped so far,
/// ceil(((S + longest) (1 - share) / share - T) / step), at least 1.
/// Held by: src/train/checkpoint/saver_test.cpp
[[nodiscard]] std::int64_t steps_until_saved(double share, Seconds saved, Seconds longest, Seconds stepped,
                                             Seconds step);

/// Saves in turn: every rank its own elements, whatever else it holds. All ranks call the same things with the same versions, and what one of
/// them cannot do is an error of all, with its words. A rank that is slow to write counts into the patience of the others where they wait for it.
/// Beside the steps: what is saved is copied, a thread of each rank writes the copy, and ranks ask each other 1, 2, 4, ..., 16 steps later whether
/// all are done; then the first rank's thread publishes. One at a time: the next waits for it, or, by a share of the time, comes later.
/// Held by: src/train/run/resume_test.cpp, src/train/checkpoint/saver_test.cpp
class Saver {
 public:
  Saver(const std::string& folder, SaveEvery every, std::string job, std::int64_t elements, int moments,
        Transport& transport);
  /// Before all else: so many workers keep so many values each; the last of the spans that a rank saves is theirs.
  void keep_workers(std::int64_t workers, std::int64_t floats) {
    manifest_.workers = workers;
    manifest_.worker_floats = floats;
  }
  /// From here on beside the steps, with room for a copy of so many floats. `memory` outlives it.
  void write_beside(MemoryCount& memory, std::int64_t floats);
  /// Of the files that it writes, for tests.
  void set_hook(DiskHook hook) { generations_.set_hook(std::move(hook)); }

  /// Where the job goes on: the first rank chooses, the others read the same version. Nothing where the folder has no checkpoint
  /// yet; refused ones get out of the way. Errors: train-007, -008 (see Generations::newest; ranks that read unlike ones); those of exchange.
  [[nodiscard]] Result<FoundState> resume();
  /// Errors: train-008 (there are checkpoints, and nobody asked to go on from them); those of Generations::open and exchange.
  [[nodiscard]] Status begin_anew();

  [[nodiscard]] bool due(std::int64_t version, std::int64_t last) const {
    return version == last || (version >= next_ && !(under_way_ && every_.steps == 0));
  }
  /// `mine`: this rank's elements, as many spans as each other rank has, a file each; all ranks' first ones follow each other, then their
  /// second ones. `since`: when the step stopped for it. Waits for the one before; without `write_beside` also for this one.
  /// Errors: train-007 (one could not be written: the rank, the file, and why, on all ranks; the checkpoint before is what it
  /// was); those of exchange.
  [[nodiscard]] Status save(std::int64_t version, std::span<const SavedSpan> mine,
                            std::chrono::steady_clock::time_point since,
                            std::optional<learn::LossScaleState> scale = {});
  /// Whether `follow` has something to do behind that step.
  [[nodiscard]] bool asks(std::int64_t version) const { return under_way_ && version >= under_way_->next; }
  /// How far ranks are with what is written beside the steps. Errors: as `save`.
  [[nodiscard]] Status follow(std::int64_t version);
  /// Waits for what is written beside the steps. Errors: as `save`.
  [[nodiscard]] Status finish(std::int64_t version);
  [[nodiscard]] const Saved& saved() const { return saved_; }
  /// The version that was published last, or gone on from; -1 = none.
  [[nodiscard]] std::int64_t newest() const { return newest_; }

 private:
  /// The first rank's lock, and the job's name for what is half done, on all ranks.
  [[nodiscard]] Status open();
  /// Of the first rank that could not, on all ranks.
  [[nodiscard]] Status agree(const Status& mine);
  /// What could not be written.
  struct Unwritten {
    int cause = 0;  ///< errno; 0 = nothing
    std::array<char, 48> file{};
  };
  /// What a rank says of what is under way.
  struct Progress {
    int done = 0;
    Unwritten failed{};
    std::int64_t more = 0;  ///< steps until the next one
  };
  struct UnderWay {
    std::int64_t version = 0;
    std::vector<SavedSpan> spans{};
    std::vector<SavedPart> parts{};
    std::optional<learn::LossScaleState> scale{};  ///< when it was saved
    bool publishes = false;
    std::int64_t next = 0, distance = 1;  ///< when ranks ask each other, in versions
    Seconds cost{};                       ///< in steps
    // Of the thread, until `done_`.
    Unwritten failed{};
    Seconds beside{};
  };
  /// On the thread: this rank's files; the manifest and the name.
  void write(const std::stop_token& stop);
  void publish(const std::stop_token& stop);
  void begin_thread(void (Saver::*what)(const std::stop_token&));
  [[nodiscard]] Status ask(std::int64_t version, bool wait);
  [[nodiscard]] Status finish_one(std::int64_t version);
  [[nodiscard]] Status give_up(std::span<const Progress> all);
  [[nodiscard]] Status collect_parts();
  [[nodiscard]] std::int64_t steps_to_next(std::int64_t version) const;
  void count_cost();

  Generations generations_;
  SaveEvery every_;
  Manifest manifest_;
  Transport& transport_;
  Saved saved_;
  Seconds longest_{};
  std::int64_t began_ = 0;
  std::int64_t newest_ = -1;
  std::int64_t next_ = 0;
  std::chrono::steady_clock::time_point since_, stopped_{};  ///< the job began; the step stopped
  CountedFloats room_{};
  bool beside_ = false;
  std::optional<UnderWay> under_way_;
  std::atomic<bool> done_ = false;
  std::jthread thread_;  ///< last: what it uses outlives it
};

}  // namespace cox::train
