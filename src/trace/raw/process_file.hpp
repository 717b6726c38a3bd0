// SPDX-License-Identifier: Apache-2.0
/// \file
/// One process of a Run as its own file tells it, before it is put beside the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/trace/run.hpp"

#include "trace/raw/losses.hpp"
#include "trace/raw/meta_entries.hpp"
#include "trace/raw/record_columns.hpp"
#include "trace/raw/tick_scale.hpp"

namespace cox::trace {

/// What a note begins with that the guest itself left in the file.
inline constexpr std::string_view kGuestSays = "the guest says: ";

struct ProcessFile {
  std::string file;  ///< name within the folder
  int pid = 0;
  std::uint64_t start_time = 0;
  std::uint64_t pid_namespace = 0;
  std::uint64_t time_namespace = 0;
  int node_number = -1;
  int local_size = 0;
  int rank = -1;
  int world_size = -1;
  int local_rank = -1;
  int attempt = 0;
  WriterState state = WriterState::Open;
  std::string host, boot_id, job, launcher, library, program, timing;
  ClockKind clock_kind = ClockKind::Unknown;
  Duration residual{};
  bool aligned = false;           ///< has clock readings, so its times mean something beside others'
  std::int64_t reference_ns = 0;  ///< monotonic clock at time zero of `events`
  Duration reference_fraction{};
  std::optional<std::int64_t> realtime_offset_ns;
  Duration overhead{};
  std::uint64_t dropped_records = 0;
  std::uint64_t recycled_records = 0;
  UnobservedCalls unobserved_calls{};
  std::vector<LocalCommunicator> communicators;
  EventColumns events;          ///< times from the reference; `comm` holds local numbers
  std::vector<Sample> samples;  ///< times from the reference
  std::vector<LocalityFact> locality;
  ActivityColumns activities;  ///< times from the reference, as the next two
  std::vector<CollectiveLaunch> launches;
  UsefulColumns useful;
  model::Role role;
  std::vector<std::string> notes;
};

/// Turns records into events, block by block, so that a file never exists twice in memory.
class ProcessBuilder {
 public:
  /// `meta` is used during the call only. `expected` records are room to reserve, a claim that may be wrong.
  ProcessBuilder(std::string file, const RawHeader& header, std::string_view meta, std::size_t expected);
  void add(const RecordColumns& records);
  /// Samples by ticks; once, after the records.
  void add_samples(const std::vector<RawSample>& samples);
  void add_losses(std::vector<std::string> losses);
  [[nodiscard]] ProcessFile finish() &&;

 private:
  std::uint32_t thread_number(std::uint32_t tid);
  void sort_events();

  RawHeader header_;
  std::optional<TickScale> scale_;
  ProcessFile process_;
  Losses losses_;
  std::vector<std::uint32_t> tids_;  ///< index = small number
  std::uint32_t last_tid_ = 0;
  std::uint32_t last_number_ = 0;
  bool sorted_ = true;
  std::int64_t unknown_kind_ = 0;
  std::int64_t backwards_ = 0;
  std::int64_t out_of_time_ = 0;
  /// Kept in the file, and not used: a step or a wait would seem to span what was overwritten after them.
  std::size_t before_overwritten_ = 0;
};

}  // namespace cox::trace
