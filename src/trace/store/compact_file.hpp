// SPDX-License-Identifier: Apache-2.0
/// \file
/// One `.cox` file: compressed, checksummed blocks after one another. Layout in docs/reference/run-format.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"

#include "trace/raw/losses.hpp"
#include "trace/raw/record_columns.hpp"

namespace cox::trace {

inline constexpr char kCompactMagic[8] = {'C', 'O', 'X', 'R', 'U', 'N', '1', '\n'};
inline constexpr std::uint32_t kBlockMagic = 0x42584f43;  // "COXB"

enum class BlockKind : std::uint32_t { Header = 1, Meta = 2, Events = 3, End = 4, Samples = 5 };

/// Head of each block, 32 bytes; `stored_bytes` of one zstd frame follow.
struct BlockHeader {
  std::uint32_t magic;
  BlockKind kind;
  std::uint64_t stored_bytes;
  std::uint64_t raw_bytes;  ///< of the content of the frame
  std::uint32_t records;    ///< Events, Samples: how many; else 0
  std::uint32_t check;      ///< FNV-1a (32 bit) of the 28 bytes before
};
static_assert(sizeof(BlockHeader) == 32);

/// The process's records as the bytes of a `.cox` file. Lossless; losses found in the raw file go along.
[[nodiscard]] std::string encode_compact(const ProcessRecords& process);

/// Reads a `.cox` file block by block. The bytes must outlive it.
/// Held by: src/trace/store/compact_test.cpp, tests/property/cut_run.cpp, fuzz/compact_fuzz.cpp
class CompactReader {
 public:
  /// Errors: trace-002 (not a compact file, or its first block is not whole), trace-003 (newer version).
  [[nodiscard]] static Result<CompactReader> open(std::string_view bytes);
  CompactReader(CompactReader&&) noexcept;
  CompactReader& operator=(CompactReader&&) = delete;
  ~CompactReader();

  [[nodiscard]] const RawHeader& header() const { return header_; }
  [[nodiscard]] const std::string& meta() const { return meta_; }
  /// Records that the block heads promise, damaged blocks included.
  [[nodiscard]] std::size_t expected_records() const;
  /// The next block of records; false when there is none.
  [[nodiscard]] bool next(RecordColumns& into);
  /// Samples by ticks, complete once `next` returned false.
  [[nodiscard]] std::vector<RawSample> take_samples();
  /// What was lost, complete once `next` returned false.
  [[nodiscard]] std::vector<std::string> take_losses() { return losses_.take(); }

 private:
  struct Inflater;
  struct Totals {
    std::uint64_t records = 0;
    std::uint64_t blocks = 0;
  };
  explicit CompactReader(std::string_view bytes);
  [[nodiscard]] bool peek(BlockHeader& head);
  [[nodiscard]] bool inflate(const BlockHeader& head);
  void read_samples(const BlockHeader& head, std::size_t number, bool good);
  void read_end();

  std::string_view bytes_;
  std::size_t at_ = sizeof kCompactMagic;
  std::size_t block_ = 0;
  bool ended_ = false;
  RawHeader header_{};
  std::string meta_;
  std::vector<RawSample> samples_;
  std::string content_;  ///< of the block just inflated
  Totals read_;
  Losses losses_;
  std::unique_ptr<Inflater> inflater_;
};

/// The whole of a `.cox` file; the inverse of `encode_compact`. Errors: as `CompactReader::open`.
[[nodiscard]] Result<ProcessRecords> decode_compact(std::string_view bytes);

}  // namespace cox::trace
