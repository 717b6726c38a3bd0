// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checkpoints of a job in a folder: the newest whole one, and the one before it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/result.hpp"

#include "train/checkpoint/manifest.hpp"

namespace cox::train {

/// What a job whose workers meet is between two versions: samples are numbered, so there is nothing else.
struct SavedState {
  std::int64_t version = 0;
  std::vector<float> parameters{};
  std::vector<float> moments{};  ///< of all parameters: the first ones, then the second ones
  std::vector<float> workers{};  ///< what each worker keeps for itself, worker by worker
  std::optional<learn::LossScaleState> scale{};
};

/// A checkpoint that is not as it was written.
struct RefusedState {
  std::int64_t version = 0;
  std::string what{};  ///< is wrong with it
};

/// What a folder holds.
struct FoundState {
  std::optional<SavedState> state{};    ///< of the newest that is whole; nothing where there is none
  std::vector<RefusedState> refused{};  ///< newer ones
};

/// What is asked of the system while a checkpoint is written.
enum class DiskCall : std::uint8_t { MakeFolder, Create, Write, Synchronise, Close, Rename };
/// Heard before each call, with what it is about; an errno that is not 0 is its result, and the call is not made. For tests: on any thread that writes.
using DiskHook = std::function<int(DiskCall, const std::filesystem::path&)>;

/// `FOLDER/00000120/` holds `manifest` and `part-0`, `part-1`, ... It is written as `00000120.tmp-NONCE`, each file and the folder are
/// synchronised, and it gets its name when it is whole, so that whoever is killed leaves the one before, and what is left of a killed
/// job writes where nobody looks. A folder that holds neither a manifest nor a first part is none of ours; nothing but files of these
/// names is removed. One job at a time: the first rank holds `FOLDER/lock`.
/// Threads: any rank writes its own part; what says so is for one rank alone. Held by: src/train/checkpoint/generations_test.cpp
class Generations {
 public:
  explicit Generations(std::filesystem::path folder) : folder_(std::move(folder)) {}
  Generations(const Generations&) = delete;
  Generations& operator=(const Generations&) = delete;
  ~Generations();

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  /// Of the job's temporary folders, on all its ranks.
  void set_nonce(std::uint64_t nonce) { nonce_ = nonce; }
  void set_hook(DiskHook hook) { hook_ = std::move(hook); }

  /// One rank, before all else: makes the folder, takes its lock, removes what killed jobs left half done.
  /// Errors: train-008 (another job has it), train-007 (it cannot be made or looked at).
  [[nodiscard]] Status open();
  /// Whether there are checkpoints. Errors: train-007 (the folder cannot be looked at).
  [[nodiscard]] Result<bool> any() const;

  /// The newest by its name, whole or not; nothing where there is none. Errors: as `any`.
  [[nodiscard]] Result<std::optional<std::int64_t>> newest_version() const;

  /// Room for the parts of a version, also where another rank has made it. Returns errno, 0 = done.
  [[nodiscard]] int prepare(std::int64_t version) const;
  /// A file: these values, one span after the other. `given_up`, where there is one, is asked now and then. Returns errno (ECANCELED: given up).
  [[nodiscard]] int write_part(std::int64_t version, int number,
                               std::span<const std::span<const float>> values, std::uint64_t& hash,
                               const std::function<bool()>& given_up = {}) const;
  /// One rank, when all parts are there: gives it its name, and removes those of the job before the one before. Returns errno; `at`,
  /// where there is one, then has the name of what could not be written.
  [[nodiscard]] int publish(const Manifest& manifest, std::string* at = nullptr) const;
  /// One rank: away with what was not published.
  void give_up(std::int64_t version) const;

  /// The newest whole one of that job, for any number of parts. Errors: train-008 (one of another job, or there are some and none is
  /// whole), train-007 (something cannot be read that is there).
  [[nodiscard]] Result<FoundState> newest(const Manifest& job) const;
  /// That one. Errors: as `newest`.
  [[nodiscard]] Result<SavedState> at(std::int64_t version, const Manifest& job) const;
  /// One rank: those get out of the way, as `00000140.refused`. Returns errno.
  [[nodiscard]] int set_aside(std::span<const RefusedState> refused) const;

 private:
  enum class Fault : std::uint8_t { Damaged, AnotherJob, Unreadable };
  struct Unread {
    Fault fault;
    std::string what;
  };
  [[nodiscard]] Result<std::vector<std::int64_t>> versions() const;  ///< newest first
  [[nodiscard]] std::filesystem::path place(std::int64_t version) const;
  [[nodiscard]] std::filesystem::path half_done(std::int64_t version) const;
  [[nodiscard]] tl::expected<SavedState, Unread> read(std::int64_t version, const Manifest& job) const;

  std::filesystem::path folder_;
  std::uint64_t nonce_ = 0;
  DiskHook hook_{};
  int lock_ = -1;
};

}  // namespace cox::train
