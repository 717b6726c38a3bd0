// SPDX-License-Identifier: Apache-2.0
/// \file
/// Records as a guest wrote them (ticks, local communicator numbers, thread ids), as columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cox/trace/raw_format.hpp"

namespace cox::trace {

/// Most records that are read from one file: a bound on memory where a file promises more than it can hold.
inline constexpr std::size_t kMaxRecordsPerFile = std::size_t{1} << 28;
/// Most samples: a day at ten a second, and then some.
inline constexpr std::size_t kMaxSamplesPerFile = std::size_t{1} << 20;

struct RecordColumns {
  std::vector<std::uint64_t> begin;
  std::vector<std::uint64_t> end;
  std::vector<std::uint64_t> bytes;
  std::vector<std::uint32_t> comm;
  std::vector<std::uint32_t> seq;
  std::vector<std::uint32_t> aux;
  std::vector<std::uint32_t> thread;
  std::vector<std::uint8_t> kind;
  std::vector<std::uint8_t> op;
  std::vector<std::uint16_t> flags;

  [[nodiscard]] std::size_t size() const { return begin.size(); }
  void resize(std::size_t n);
  void set(std::size_t i, const RawRecord& record, std::uint32_t thread_id);
  void append(const RecordColumns& other);
  bool operator==(const RecordColumns&) const = default;
};

/// Everything of one process that is worth keeping: what a raw file holds,
/// and what a compact file gives back.
struct ProcessRecords {
  RawHeader header{};
  std::string meta;                 ///< Meta entries, one after the other
  RecordColumns records;            ///< by begin; equal begins in the order of their chunks' tickets
  std::vector<RawSample> samples;   ///< by ticks
  std::vector<std::string> losses;  ///< what should have been there and could not be read
};

}  // namespace cox::trace
