// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checkpoints of a job in a folder: the newest whole one, and the one before it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cox/base/result.hpp"

#include "train/checkpoint/manifest.hpp"

namespace cox::train {

/// What a synchronous job is between two steps: samples are numbered, so there is nothing else.
struct SavedState {
  std::int64_t version = 0;
  std::vector<float> parameters{};
  std::vector<float> moments{};  ///< of all parameters: the first ones, then the second ones
};

/// What a folder holds.
struct FoundState {
  std::optional<SavedState> state{};   ///< of the newest that is whole; nothing where there is none
  std::vector<std::string> refused{};  ///< newer ones, each with what is wrong with it
};

/// `FOLDER/00000120/` holds `manifest` and `part-0`, `part-1`, ... It is written as `00000120.tmp`, each file and the folder are synchronised,
/// and it gets its name when it is whole, so that whoever is killed leaves the one before. Nothing but files of these names is
/// removed or moved. Threads: any rank writes its own part; what says so is for one rank alone.
/// Held by: src/train/checkpoint/generations_test.cpp
class Generations {
 public:
  explicit Generations(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  /// Whether anything there has the name of a checkpoint.
  [[nodiscard]] bool any() const;

  /// One rank: room for the parts of a version; what a killed job left half done is removed. Returns errno, 0 = done.
  [[nodiscard]] int prepare(std::int64_t version) const;
  /// A rank's file: these values, one span after the other. Returns errno.
  [[nodiscard]] int write_part(std::int64_t version, int rank, std::span<const std::span<const float>> values,
                               std::uint64_t& hash) const;
  /// One rank, when all parts are there: gives it its name, and removes those before the one before. Returns errno.
  [[nodiscard]] int publish(const Manifest& manifest) const;
  /// One rank: away with what was not published.
  void give_up(std::int64_t version) const;

  /// The newest whole one of that job, for any number of parts. Errors: train-008 (one of another job, or there are some and none is whole).
  [[nodiscard]] Result<FoundState> newest(const Manifest& job) const;
  /// One rank: those above `version` were refused, and get out of the way, as `00000140.refused`.
  void set_aside(std::int64_t version) const;

 private:
  [[nodiscard]] std::vector<std::int64_t> versions() const;  ///< newest first
  [[nodiscard]] std::filesystem::path place(std::int64_t version, const char* more = "") const;
  [[nodiscard]] Result<SavedState> read(std::int64_t version, const Manifest& job) const;

  std::filesystem::path folder_;
};

}  // namespace cox::train
