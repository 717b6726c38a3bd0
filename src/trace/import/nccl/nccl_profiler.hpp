// SPDX-License-Identifier: Apache-2.0
/// \file
/// JSON lines that a plugin of NCCL's profiler interface writes: states, events, and kernels from CUPTI.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cox/base/result.hpp"

#include "trace/import/bytes/byte_source.hpp"
#include "trace/import/nccl/nccl_names.hpp"
#include "trace/import/part/part_builder.hpp"

namespace cox::trace {

/// Begin and end as written: microseconds of the host's clock since some moment.
struct ProfilerSpan {
  double begin_us = 0;
  double end_us = 0;
};

/// One collective as NCCL handed it over (`ncclProfileColl`).
struct ProfilerCollective {
  std::uint32_t member = 0;  ///< index into `ProfilerTrace::members`
  ProfilerSpan handed{};     ///< the hand-over on the host, right after the launch
  NcclFunction function{};
  std::int64_t bytes = 0;
  std::uint32_t sequence = 0;
  std::uint32_t element_bytes = 0;
  std::uint32_t root = 0;
  int channels = 0;
  std::int64_t channels_seen = 0;  ///< windows of its channels in the file
  std::int64_t first_timer = 0;    ///< device clock, nanoseconds: earliest begin of a channel; 0 = none
  std::int64_t last_timer = 0;     ///< latest end of a channel
  std::string algorithm{};
  std::string protocol{};
};

struct ProfilerLaunch {
  std::uint32_t member = 0;
  ProfilerSpan span{};
  std::int64_t correlation = -1;
};

/// A kernel on a device, linked to its launch by `extCorrId`: the device is not the rank.
struct ProfilerKernel {
  ProfilerSpan span{};
  int device = -1;
};

/// One rank of one communicator, on one GPU of one process.
struct ProfilerMember {
  std::uint32_t communicator = 0;
  int rank = 0;
  std::uint32_t gpu = 0;
  std::optional<std::int64_t> clock_offset_ns{};  ///< smallest distance host's clock - device's clock
};

struct ProfilerCommunicator {
  std::string id;
  std::string name;
  int size = 0;  ///< declared at init, or one more than the highest rank seen
};

struct ProfilerGpu {
  std::string uuid;
  std::int64_t pid = 0;
};

/// What the file holds, before it becomes a Run.
struct ProfilerTrace {
  std::vector<ProfilerCommunicator> communicators;
  std::vector<ProfilerGpu> gpus;
  std::vector<ProfilerMember> members;
  std::vector<ProfilerCollective> collectives;
  std::vector<ProfilerLaunch> launches;
  std::unordered_map<std::int64_t, ProfilerKernel> kernels;  ///< by correlation
  std::int64_t states = 0, events = 0, lifecycle = 0, kernel_lines = 0, messages = 0, unusable = 0;
  std::int64_t unreadable = 0;        ///< lines that hold no JSON object
  std::int64_t first_unreadable = 0;  ///< number of the first of them
  bool cut = false;                   ///< the compressed file stops early
};

/// Errors: import-003, import-004, base-002 of the bytes below.
[[nodiscard]] Result<ProfilerTrace> parse_nccl_profiler(ByteSource source);

/// Ranks, launches and collectives into `part`. Held by: src/trace/import/nccl/nccl_profiler_test.cpp
void map_nccl_profiler(const ProfilerTrace& trace, PartBuilder& part);

}  // namespace cox::trace
