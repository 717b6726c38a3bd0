// SPDX-License-Identifier: Apache-2.0
#include "trace/import/nccl/nccl_profiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "trace/import/nccl/nccl_lines.hpp"
#include "trace/import/part/reader.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kLongestText = 128;
constexpr std::size_t kMostMembers = 65536;
constexpr std::size_t kMostGpus = 4096;
constexpr double kLatestUs = 9e15;  // three hundred years, and its nanoseconds still fit

std::uint32_t element_bytes_of(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, std::uint32_t>, 12> kSizes{{
      {"ncclInt8", 1},
      {"ncclUint8", 1},
      {"ncclFloat8e4m3", 1},
      {"ncclFloat8e5m2", 1},
      {"ncclFloat16", 2},
      {"ncclBfloat16", 2},
      {"ncclInt32", 4},
      {"ncclUint32", 4},
      {"ncclFloat32", 4},
      {"ncclInt64", 8},
      {"ncclUint64", 8},
      {"ncclFloat64", 8},
  }};
  for (const auto& [name, bytes] : kSizes)
    if (name == type) return bytes;
  return 0;
}

std::optional<ProfilerSpan> span_of(dom::element line) {
  const auto start = object_at(line, "start");
  const auto stop = object_at(line, "stop");
  if (!start || !stop) return std::nullopt;
  const auto begin = number_at(*start, "ts");
  const auto end = number_at(*stop, "ts");
  if (!begin || !end || !(*begin >= 0) || !(*end >= *begin) || !std::isfinite(*end)) return std::nullopt;
  return ProfilerSpan{*begin, *end};
}

class ProfilerParser {
 public:
  Result<ProfilerTrace> parse(JsonLines& lines) && {
    for (;;) {
      COX_TRY(const auto line, lines.next());
      if (!line) break;
      take(*line);
    }
    trace_.unreadable = lines.unreadable();
    trace_.first_unreadable = lines.first_unreadable();
    trace_.cut = lines.cut();
    return std::move(trace_);
  }

 private:
  void take(dom::element line) {
    const std::string_view record = text_at(line, "recordType").value_or("");
    const std::string_view type = text_at(line, "type").value_or("");
    if (record == "state")
      take_state(line);
    else if (record == "event")
      take_event(line, type);
    else if (record == "cuptiActivity")
      take_kernel(line, type);
    else if (type == "ProfilerLifecycle")
      take_lifecycle(line);
    else
      ++trace_.unusable;
  }

  void take_lifecycle(dom::element line) {
    ++trace_.lifecycle;
    const auto member = member_of(line);
    const auto details = object_at(line, "details");
    if (!member || !details) return;
    ProfilerCommunicator& c = trace_.communicators[trace_.members[*member].communicator];
    const std::int64_t ranks = integer_at(*details, "nranks").value_or(0);
    if (ranks > c.size && ranks <= std::numeric_limits<int>::max()) c.size = static_cast<int>(ranks);
    if (c.name.empty())
      c.name = clean_text(text_at(*details, "commName").value_or("").substr(0, kLongestText));
  }

  void take_event(dom::element line, std::string_view type) {
    ++trace_.events;
    if (type == "ncclProfileColl")
      take_collective(line);
    else if (type == "ncclProfileKernelLaunch")
      take_launch(line);
    else if (type == "ncclProfileKernelCh")
      take_channel(line);
    else if (type == "ncclProfileP2p")
      ++trace_.messages;
  }

  void take_collective(dom::element line) {
    const auto member = member_of(line);
    const auto span = span_of(line);
    const auto details = object_at(line, "details");
    const std::int64_t sequence = details ? integer_at(*details, "seq").value_or(-1) : -1;
    if (!member || !span || sequence < 0 || sequence > std::numeric_limits<std::uint32_t>::max()) {
      ++trace_.unusable;
      return;
    }
    ProfilerCollective c{.member = *member, .handed = *span};
    c.function = nccl_function(text_at(*details, "func").value_or(""));
    c.sequence = static_cast<std::uint32_t>(sequence);
    c.element_bytes = element_bytes_of(text_at(*details, "dtype").value_or(""));
    const std::int64_t count = std::max<std::int64_t>(0, integer_at(*details, "count").value_or(0));
    if (__builtin_mul_overflow(count, c.element_bytes, &c.bytes)) c.bytes = 0;
    c.root = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(integer_at(*details, "root").value_or(0), 0, 0x7fffffff));
    c.channels =
        static_cast<int>(std::clamp<std::int64_t>(integer_at(*details, "channels").value_or(0), 0, 65536));
    c.algorithm = clean_text(text_at(*details, "algo").value_or("").substr(0, 16));
    c.protocol = clean_text(text_at(*details, "proto").value_or("").substr(0, 16));
    // Addresses come from a pool and are used again: the latest collective at one is meant.
    if (const auto address = text_at(line, "eventAddr"))
      by_address_[std::string(address->substr(0, kLongestText))] = trace_.collectives.size();
    trace_.collectives.push_back(std::move(c));
  }

  void take_launch(dom::element line) {
    const auto member = member_of(line);
    const auto span = span_of(line);
    if (!member || !span) {
      ++trace_.unusable;
      return;
    }
    trace_.launches.push_back(
        {.member = *member, .span = *span, .correlation = integer_at(line, "extCorrId").value_or(-1)});
  }

  /// States stand before the line of their event, which is written when the event ends.
  void take_state(dom::element line) {
    ++trace_.states;
    if (text_at(line, "name") != "KernelChStop") return;
    const auto address = text_at(line, "eventAddr");
    const std::int64_t timer = integer_at(line, "pTimer").value_or(0);
    const auto seen = number_at(line, "ts");
    if (address && timer > 0 && seen && *seen >= 0 && *seen < kLatestUs)
      stops_[std::string(address->substr(0, kLongestText))] = {timer, std::llround(*seen * 1e3)};
  }

  void take_channel(dom::element line) {
    const auto parent = text_at(line, "parentObj");
    const auto address = text_at(line, "eventAddr");
    const auto details = object_at(line, "details");
    if (!parent || !address || !details) return;
    const auto of = by_address_.find(std::string(parent->substr(0, kLongestText)));
    const auto stop = stops_.find(std::string(address->substr(0, kLongestText)));
    if (of == by_address_.end()) return;
    ProfilerCollective& c = trace_.collectives[of->second];
    ++c.channels_seen;
    const std::int64_t start = integer_at(*details, "pTimer").value_or(0);
    if (stop == stops_.end() || start <= 0) return;
    const auto [last, seen_ns] = stop->second;
    c.first_timer = c.first_timer == 0 ? start : std::min(c.first_timer, start);
    c.last_timer = std::max(c.last_timer, last);
    auto& offset = trace_.members[c.member].clock_offset_ns;
    offset = std::min(offset.value_or(seen_ns - last), seen_ns - last);
    stops_.erase(stop);
  }

  void take_kernel(dom::element line, std::string_view type) {
    if (type != "KERNEL") {
      ++trace_.unusable;
      return;
    }
    ++trace_.kernel_lines;
    const auto span = span_of(line);
    const std::int64_t correlation = integer_at(line, "extCorrId").value_or(-1);
    if (!span || correlation < 0) {
      ++trace_.unusable;
      return;
    }
    ProfilerKernel kernel{.span = *span};
    kernel.device =
        static_cast<int>(std::clamp<std::int64_t>(integer_at(line, "deviceId").value_or(-1), -1, 65535));
    trace_.kernels.emplace(correlation, kernel);
  }

  std::optional<std::uint32_t> member_of(dom::element line) {
    const std::string id = nccl_comm_id(line, "commId");
    const std::int64_t rank = integer_at(line, "rank").value_or(-1);
    if (id.empty() || rank < 0 || rank >= std::numeric_limits<int>::max()) return std::nullopt;
    const auto gpu = gpu_of(line, id, rank);
    if (!gpu) return std::nullopt;
    const auto [comm, is_new] =
        communicators_.try_emplace(id, static_cast<std::uint32_t>(trace_.communicators.size()));
    if (is_new) trace_.communicators.push_back({.id = id, .name = {}, .size = 0});
    int& size = trace_.communicators[comm->second].size;
    size = std::max(size, static_cast<int>(rank) + 1);
    const std::tuple key{comm->second, static_cast<int>(rank), *gpu};
    if (const auto known = members_.find(key); known != members_.end()) return known->second;
    if (trace_.members.size() == kMostMembers) return std::nullopt;
    const auto number = static_cast<std::uint32_t>(trace_.members.size());
    members_.emplace(key, number);
    trace_.members.push_back({.communicator = comm->second, .rank = static_cast<int>(rank), .gpu = *gpu});
    return number;
  }

  std::optional<std::uint32_t> gpu_of(dom::element line, const std::string& id, std::int64_t rank) {
    std::string uuid(text_at(line, "gpuUuid").value_or("").substr(0, kLongestText));
    if (uuid.empty()) uuid = fmt::format("{} {}", id, rank);
    std::int64_t pid = 0;
    if (const auto start = object_at(line, "start")) pid = integer_at(*start, "pid").value_or(0);
    const auto known = gpus_.find({uuid, pid});
    if (known != gpus_.end()) return known->second;
    if (trace_.gpus.size() == kMostGpus) return std::nullopt;
    const auto number = static_cast<std::uint32_t>(trace_.gpus.size());
    gpus_.emplace(std::pair{uuid, pid}, number);
    trace_.gpus.push_back({.uuid = uuid, .pid = pid});
    return number;
  }

  ProfilerTrace trace_;
  std::unordered_map<std::string, std::uint32_t> communicators_;
  std::map<std::pair<std::string, std::int64_t>, std::uint32_t> gpus_;
  std::map<std::tuple<std::uint32_t, int, std::uint32_t>, std::uint32_t> members_;
  std::unordered_map<std::string, std::size_t> by_address_;
  // By address: the device's timer, and when the host saw it.
  std::unordered_map<std::string, std::pair<std::int64_t, std::int64_t>> stops_;
};

bool recognise(const Head& head) {
  const std::string_view text = head.bytes;
  const auto has = [&](std::string_view key) { return text.find(key) != std::string_view::npos; };
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  return has("\"ProfilerLifecycle\"") ||
         (has("\"recordType\"") && (has("\"ncclProfile") || has("\"cuptiActivity\"")));
}

Result<Run> read(const std::filesystem::path& path, const ImportOptions& options) {
  COX_TRY(ByteSource source, ByteSource::open(path, options.limit_bytes));
  COX_TRY(const ProfilerTrace trace, parse_nccl_profiler(std::move(source)));
  if (trace.members.empty())
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "import-005",
                      .message = "no event with a communicator and a rank, expected NCCL profiler JSON lines",
                      .hint = {},
                      .where = Where{.file = path.string(), .line = trace.first_unreadable}});
  PartBuilder part(path.string(), kNcclProfilerReader.format);
  map_nccl_profiler(trace, part);
  note_unreadable(part, trace.unreadable, trace.first_unreadable);
  if (trace.cut) part.note("the compressed file stops early; what could be unpacked is used");
  return std::move(part).finish();
}

}  // namespace

Result<ProfilerTrace> parse_nccl_profiler(ByteSource source) {
  JsonLines lines(std::move(source));
  return ProfilerParser().parse(lines);
}

const Reader kNcclProfilerReader{.format = "nccl-profiler",
                                 .title = "NCCL profiler JSON lines",
                                 .recognises = recognise,
                                 .read = read_without_program<read>};

}  // namespace cox::trace
