// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a checkpoint says of itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/learn/loss_scale.hpp"

#include "train/executor/parting.hpp"

namespace cox::train {

/// One file: some elements of the parameters, then of each moment, as float32, lowest byte first; or what some workers keep for themselves.
struct SavedPart {
  Stretch elements{};      ///< or workers
  std::uint64_t hash = 0;  ///< FNV-1a of the file's bytes
};

/// Text, a line each, words between tabs; the last line is the hash of all before it. Parts follow each other without a gap.
struct Manifest {
  std::int64_t version = 0;        ///< steps that count so far
  std::string job{};               ///< what has to be the same to go on
  std::int64_t elements = 0;       ///< parameters
  int moments = 0;                 ///< values of the optimizer per parameter: 0 to 2
  std::int64_t workers = 0;        ///< that keep something for themselves
  std::int64_t worker_floats = 0;  ///< values that each of them keeps
  std::optional<learn::LossScaleState> scale{};
  std::vector<SavedPart> parts{};
  std::vector<SavedPart> worker_parts{};  ///< files behind `parts`

  [[nodiscard]] std::size_t files() const { return parts.size() + worker_parts.size(); }
  /// Of file `number`.
  [[nodiscard]] Bytes bytes_of_file(std::size_t number) const {
    if (number < parts.size()) return bytes_of(parts[number]);
    return Bytes{worker_parts[number - parts.size()].elements.count * worker_floats} * sizeof(float);
  }
  [[nodiscard]] Bytes bytes_of(const SavedPart& part) const {
    return Bytes{part.elements.count * (1 + moments)} * sizeof(float);
  }
};
[[nodiscard]] std::string text_of(const Manifest& manifest);
/// Errors: train-008 (what is not as it was written, or no manifest). Held by: src/train/checkpoint/manifest_test.cpp (every byte changed,
/// every length cut)
[[nodiscard]] Result<Manifest> read_manifest(std::string_view text);

}  // namespace cox::train
