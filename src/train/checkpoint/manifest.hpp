// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a checkpoint says of itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

#include "train/executor/parting.hpp"

namespace cox::train {

/// One file: some elements of the parameters, then of each moment, as float32, lowest byte first.
struct SavedPart {
  Stretch elements{};
  std::uint64_t hash = 0;  ///< FNV-1a of the file's bytes
};

/// Text, a line each, words between tabs; the last line is the hash of all before it. Parts follow each other without a gap.
struct Manifest {
  std::int64_t version = 0;   ///< steps that count so far
  std::string job{};          ///< what has to be the same to go on
  std::int64_t elements = 0;  ///< parameters
  int moments = 0;            ///< values of the optimizer per parameter: 0 to 2
  std::vector<SavedPart> parts{};

  [[nodiscard]] Bytes bytes_of(const SavedPart& part) const {
    return Bytes{part.elements.count * (1 + moments)} * sizeof(float);
  }
};
[[nodiscard]] std::string text_of(const Manifest& manifest);
/// Errors: train-008 (what is not as it was written, or no manifest). Held by: src/train/checkpoint/manifest_test.cpp (every byte changed,
/// every length cut)
[[nodiscard]] Result<Manifest> read_manifest(std::string_view text);

}  // namespace cox::train
