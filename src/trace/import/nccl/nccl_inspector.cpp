// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cox/base/number_text.hpp"

#include "trace/import/nccl/nccl_lines.hpp"
#include "trace/import/nccl/nccl_names.hpp"
#include "trace/import/nccl/nccl_ring.hpp"
#include "trace/import/nccl/nccl_world.hpp"
#include "trace/import/part/part_builder.hpp"
#include "trace/import/part/reader.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kLongestName = 256;
/// Processes and communicators of one file; an Inspector writes a file per process.
constexpr std::size_t kMostProcesses = 4096;
constexpr std::size_t kMostStreams = 65536;
constexpr std::size_t kNotesPerKind = 16;
/// A day; a call that lasts longer is damage.
constexpr std::int64_t kLongestCallUs = std::int64_t{86'400} * 1'000'000;
/// Times that far from the first one would not fit a Duration.
constexpr std::int64_t kLongestRunUs = std::int64_t{100} * kLongestCallUs;

/// One finished operation, as its line says.
struct Operation {
  std::uint32_t stream = 0;
  std::uint32_t sequence = 0;
  std::uint32_t peer = kAnyPeer;
  bool message = false;
  bool receives = false;
  NcclFunction function{};
  std::int64_t bytes = 0;
  std::int64_t length_us = 0;
  std::int64_t end_us = 0;  ///< Unix time; 0 = not in the file
};

struct InspectorCommunicator {
  std::string id;
  std::string name;
  int size = 0;
  std::array<CommId, model::kCollectiveCount + 1> by_function{};  ///< the last one: messages
};

/// The operations of one communicator in one process under one rank: one ring of the Inspector.
struct Stream {
  std::uint32_t process = 0;
  std::uint32_t communicator = 0;
  int rank = -1;
  std::uint64_t dropped = 0;  ///< as its dump_stats say
};

class InspectorReader {
 public:
  InspectorReader(const std::filesystem::path& path, JsonLines lines)
      : path_(path), lines_(std::move(lines)), part_(path.string(), kNcclInspectorReader.format) {}

  Result<Run> read() && {
    for (;;) {
      COX_TRY(const auto line, lines_.next());
      if (!line) break;
      take(*line);
    }
    if (operations_.empty() && streams_.empty())
      return fail(Error{.code = Errc::InvalidInput,
                        .id = "import-005",
                        .message = "no record with a header, expected NCCL Inspector's JSON lines",
                        .hint = "keep the dump_stats line in front of each batch when cutting the file",
                        .where = Where{.file = path_.string(), .line = lines_.first_unreadable()}});
    place();
    write_notes();
    return std::move(part_).finish();
  }

 private:
  // --- lines ----------------------------------------------------------------------------------------------
  /// Header and metadata stand in each line (v4.0 to v4.2) or once per batch, in front of it (v4.3).
  void take(dom::element line) {
    if (const auto header = object_at(line, "header")) {
      const auto metadata = object_at(line, "metadata");
      if (metadata) process_ = process_of(*metadata);
      open(*header);
    }
    if (const auto stats = object_at(line, "dump_stats")) take_stats(*stats);
    if (const auto coll = object_at(line, "coll_perf"))
      take_operation(*coll, "coll", false);
    else if (const auto p2p = object_at(line, "p2p_perf"))
      take_operation(*p2p, "p2p", true);
    else if (object_at(line, "proxy_trace") || text_at(line, "record_type"))
      ++proxies_;
  }

  std::optional<std::uint32_t> process_of(dom::element metadata) {
    const std::string host = clean_text(text_at(metadata, "hostname").value_or("").substr(0, kLongestName));
    const std::int64_t pid = integer_at(metadata, "pid").value_or(0);
    if (version_.empty())
      version_ = clean_text(text_at(metadata, "inspector_output_format_version").value_or("").substr(0, 16));
    const auto at = process_numbers_.find({host, pid});
    if (at != process_numbers_.end()) return at->second;
    if (processes_.size() == kMostProcesses) return std::nullopt;
    const auto number = static_cast<std::uint32_t>(processes_.size());
    process_numbers_.emplace(std::pair{host, pid}, number);
    processes_.emplace_back(host, pid);
    return number;
  }

  void open(dom::element header) {
    stream_.reset();
    const std::string id = nccl_comm_id(header, "id");
    const std::int64_t rank = integer_at(header, "rank").value_or(-1);
    const std::int64_t size = integer_at(header, "n_ranks").value_or(0);
    if (id.empty() || !process_ || rank < 0 || size <= rank || size > std::numeric_limits<int>::max()) return;
    const auto [comm, is_new] =
        communicator_numbers_.try_emplace(id, static_cast<std::uint32_t>(communicators_.size()));
    if (is_new) {
      InspectorCommunicator c{.id = id, .name = {}, .size = static_cast<int>(size)};
      c.name = clean_text(text_at(header, "comm_name").value_or("").substr(0, kLongestName));
      c.by_function.fill(kNoComm);
      communicators_.push_back(std::move(c));
    }
    const std::array<std::uint32_t, 3> key{*process_, comm->second, static_cast<std::uint32_t>(rank)};
    if (const auto known = stream_numbers_.find(key); known != stream_numbers_.end()) {
      stream_ = known->second;
    } else if (streams_.size() < kMostStreams) {
      stream_ = static_cast<std::uint32_t>(streams_.size());
      stream_numbers_.emplace(key, *stream_);
      streams_.push_back(
          {.process = *process_, .communicator = comm->second, .rank = static_cast<int>(rank)});
    }
  }

  void take_stats(dom::element stats) {
    if (!stream_) return;
    std::uint64_t& dropped = streams_[*stream_].dropped;
    std::uint64_t now = 0;
    for (const char* key : {"coll_dropped_total", "p2p_dropped_total"})
      now += static_cast<std::uint64_t>(
          std::clamp<std::int64_t>(integer_at(stats, key).value_or(0), 0, std::int64_t{1} << 62));
    dropped = std::max(dropped, now);
  }

  void take_operation(dom::element about, const char* prefix, bool message) {
    ++records_;
    const auto key = [&](const char* name) { return fmt::format("{}_{}", prefix, name); };
    const auto name = text_at(about, prefix);
    const auto length = number_at(about, key("exec_time_us"));
    const std::int64_t sequence = integer_at(about, key("sn")).value_or(-1);
    if (!stream_ || !name || !length || !(*length >= 0 && *length <= kLongestCallUs) || sequence < 0 ||
        sequence > std::numeric_limits<std::uint32_t>::max()) {
      ++unusable_;
      return;
    }
    Operation op{.stream = *stream_, .sequence = static_cast<std::uint32_t>(sequence), .message = message};
    op.length_us = static_cast<std::int64_t>(*length);
    op.bytes = std::max<std::int64_t>(0, integer_at(about, key("msg_size_bytes")).value_or(0));
    op.end_us = end_of(about, key("start_ts"), op.length_us);
    if (op.end_us == 0) ++undated_;
    if (message) {
      op.receives = *name == "Recv";
      const std::int64_t peer = integer_at(about, key("peer")).value_or(-1);
      if (peer >= 0 && peer < kAnyPeer) op.peer = static_cast<std::uint32_t>(peer);
    } else {
      op.function = nccl_function(*name);
      const int size = communicators_[streams_[op.stream].communicator].size;
      op.bytes = nccl_message_bytes(op.function.op, op.bytes, size);
    }
    if (const auto source = text_at(about, key("timing_source")); source && sources_.size() < kNotesPerKind)
      ++sources_[clean_text(source->substr(0, 32))];
    operations_.push_back(op);
  }

  /// When it ended: where its last channel did, or by the host's clock when it was handed
  /// over and how long it took.
  static std::int64_t end_of(dom::element about, const std::string& start_key, std::int64_t length_us) {
    const auto trace = object_at(about, "event_trace_ts");
    if (!trace) return 0;
    std::int64_t last = 0;
    dom::array channels;
    if ((*trace)["kernel_events"].get(channels) == simdjson::SUCCESS)
      for (const dom::element channel : channels)
        last = std::max(last, integer_at(channel, "kernel_stop_ts").value_or(0));
    if (last > 0) return last;
    const std::int64_t start = integer_at(*trace, start_key).value_or(0);
    return start > 0 && start < std::numeric_limits<std::int64_t>::max() - length_us ? start + length_us : 0;
  }

  // --- ranks and times ------------------------------------------------------------------------------------
  void find_ranks() {
    // A process that has several ranks in one communicator drives several GPUs: its smaller communicators
    // cannot be told apart, so each of its streams stands alone.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> ranks_in;
    for (const Stream& s : streams_) ++ranks_in[{s.process, s.communicator}];
    std::vector<bool> several(processes_.size());
    for (const auto& [key, n] : ranks_in)
      if (n > 1) several[key.first] = true;
    std::vector<int> sizes;
    sizes.reserve(communicators_.size());
    for (const InspectorCommunicator& c : communicators_) sizes.push_back(c.size);
    const int largest = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
    std::vector<NcclMember> members;
    std::map<std::pair<std::uint32_t, int>, std::uint32_t> tracks;
    track_of_.assign(streams_.size(), kNoTrack);
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      const Stream& s = streams_[i];
      if (several[s.process] && sizes[s.communicator] != largest) continue;
      const auto [at, is_new] = tracks.try_emplace({s.process, several[s.process] ? s.rank : -1},
                                                   static_cast<std::uint32_t>(process_of_track_.size()));
      if (is_new) process_of_track_.push_back(s.process);
      track_of_[i] = at->second;
      members.push_back({.process = at->second, .communicator = s.communicator, .rank = s.rank});
    }
    world_ = find_nccl_world(members, sizes, process_of_track_.size());
  }

  void add_ranks() {
    part_.run().world_size = world_.size;
    for (std::size_t t = 0; t < process_of_track_.size(); ++t) {
      const auto& [host, pid] = processes_[process_of_track_[t]];
      RankTrack& track = part_.rank(part_.add_rank(world_.rank_of[t], host));
      track.pid = pid > 0 && pid <= std::numeric_limits<int>::max() ? static_cast<int>(pid) : 0;
      track.library = fmt::format("nccl, Inspector {}", version_.empty() ? "?" : version_);
      track.timing = "collective=" + most_frequent_source();
    }
    for (std::size_t i = 0; i < streams_.size(); ++i)
      if (track_of_[i] != kNoTrack) part_.rank(track_of_[i]).recycled_records += streams_[i].dropped;
  }

  [[nodiscard]] std::string most_frequent_source() const {
    const auto most = std::max_element(sources_.begin(), sources_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == sources_.end() ? "unknown" : most->first;
  }

  void place() {
    find_ranks();
    add_ranks();
    const bool clocked = undated_ == 0 && set_origin();
    part_.run().times = clocked ? TimesKind::Clocked : TimesKind::Durations;
    if (!clocked) part_.run().origin_realtime_ns = 0;
    std::vector<std::int64_t> cursor_us(process_of_track_.size());
    std::int64_t used = 0;
    for (const Operation& op : operations_) {
      const std::uint32_t track = track_of_[op.stream];
      if (track == kNoTrack) {
        ++homeless_;
        continue;
      }
      std::int64_t& cursor = cursor_us[track];
      const std::int64_t begin = clocked ? op.end_us - op.length_us - origin_us_ : cursor;
      if (!clocked && cursor > kLongestRunUs) {
        ++unusable_;
        continue;
      }
      cursor += op.length_us;
      add(track, op, begin);
      ++used;
    }
    part_.count(records_, used);
  }

  /// False where the times span more than a Duration holds.
  bool set_origin() {
    if (operations_.empty()) return false;
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = 0;
    for (const Operation& op : operations_) {
      first = std::min(first, op.end_us - op.length_us);
      last = std::max(last, op.end_us);
    }
    if (first < 0 || last - first > kLongestRunUs) {
      part_.note("the times of the file span more than 100 days and are not used");
      return false;
    }
    origin_us_ = first;
    std::int64_t ns = 0;
    part_.run().origin_realtime_ns = __builtin_mul_overflow(first, 1000, &ns) ? 0 : ns;
    return true;
  }

  void add(std::uint32_t track, const Operation& op, std::int64_t begin_us) {
    Event event;
    event.begin = std::chrono::microseconds(begin_us);
    event.end = std::chrono::microseconds(begin_us + op.length_us);
    event.bytes = Bytes(op.bytes);
    event.comm = communicator_of(streams_[op.stream].communicator, op);
    if (op.message) {
      event.kind = EventKind::PointToPoint;
      event.op = static_cast<std::uint8_t>(op.receives ? PeerKind::Receive : PeerKind::Send);
      event.seq = 1;
      event.aux = op.peer;
      ++messages_;
    } else {
      event.op = static_cast<std::uint8_t>(op.function.op);
      event.seq = op.sequence;
      event.flags = static_cast<std::uint16_t>(kTagged | (op.function.variable ? kVariable : 0));
    }
    part_.add_event(track, event);
  }

  /// NCCL counts each function of a communicator on its own, so each is a communicator of its own here.
  CommId communicator_of(std::uint32_t number, const Operation& op) {
    InspectorCommunicator& c = communicators_[number];
    CommId& id =
        c.by_function[op.message ? model::kCollectiveCount : static_cast<std::size_t>(op.function.op)];
    if (id == kNoComm)
      id = part_.communicator(
          nccl_title(c.id, c.name, op.message ? "messages" : model::name_of(op.function.op)), {}, c.size);
    return id;
  }

  // --- what to say ----------------------------------------------------------------------------------------
  void note_rings() {
    std::vector<NcclRing> rings(streams_.size());
    for (const Operation& op : operations_)
      rings[op.stream].add(op.message, op.message ? model::Collective::SendRecv : op.function.op,
                           op.sequence);
    std::size_t said = 0;
    std::int64_t more = 0;
    for (std::size_t i = 0; i < rings.size(); ++i) {
      const std::string text = std::move(rings[i]).describe();
      if (text.empty() && streams_[i].dropped == 0) continue;
      if (said++ >= kNotesPerKind) {
        ++more;
        continue;
      }
      const InspectorCommunicator& c = communicators_[streams_[i].communicator];
      const std::string dropped =
          streams_[i].dropped > 0
              ? counted(static_cast<std::int64_t>(streams_[i].dropped), "record", "records") +
                    " overwritten as its own count says"
              : "";
      part_.note(fmt::format("communicator {}{}{}, rank {}: {}{}{}", c.id, c.name.empty() ? "" : " ", c.name,
                             streams_[i].rank, text, text.empty() || dropped.empty() ? "" : "; ", dropped));
    }
    part_.note_count(more, "more ring", "more rings", " with missing records");
  }

  void write_notes() {
    part_.note(fmt::format("ranks are those of the largest communicator ({}), taken for the world",
                           counted(world_.size, "member", "members")));
    part_.note_count(static_cast<std::int64_t>(world_.unknown),
                     "process has no single rank in a largest communicator: its rank is not known",
                     "processes have no single rank in a largest communicator: their rank is not known");
    if (part_.run().times == TimesKind::Durations)
      part_.note(
          "no times of day, only durations: calls are placed back to back in the file's order (record with "
          "NCCL_INSPECTOR_DUMP_VERBOSE=1 for times)");
    note_rings();
    part_.note_count(messages_, "message is kept as a point-to-point event",
                     "messages are kept as point-to-point events", ", not matched with the other side");
    part_.note_count(homeless_, "operation of a process", "operations of processes",
                     " with several GPUs cannot be given to one of them");
    part_.note_count(proxies_, "proxy record is not used", "proxy records are not used");
    part_.note_count(unusable_, "operation without a header, name, duration or sequence number is left out",
                     "operations without a header, name, duration or sequence number are left out");
    note_unreadable(part_, lines_.unreadable(), lines_.first_unreadable());
    if (lines_.cut()) part_.note("the compressed file stops early; what could be unpacked is used");
  }

  static constexpr std::uint32_t kNoTrack = 0xffffffff;

  std::filesystem::path path_;
  JsonLines lines_;
  PartBuilder part_;
  std::string version_;
  std::optional<std::uint32_t> process_;
  std::optional<std::uint32_t> stream_;
  std::map<std::pair<std::string, std::int64_t>, std::uint32_t> process_numbers_;
  std::vector<std::pair<std::string, std::int64_t>> processes_;
  std::unordered_map<std::string, std::uint32_t> communicator_numbers_;
  std::vector<InspectorCommunicator> communicators_;
  std::map<std::array<std::uint32_t, 3>, std::uint32_t> stream_numbers_;
  std::vector<Stream> streams_;
  std::vector<Operation> operations_;
  std::map<std::string, std::size_t> sources_;
  std::vector<std::uint32_t> track_of_;  // by stream
  std::vector<std::uint32_t> process_of_track_;
  NcclWorld world_;
  std::int64_t origin_us_ = 0;
  std::int64_t records_ = 0, unusable_ = 0, undated_ = 0, homeless_ = 0, proxies_ = 0, messages_ = 0;
};

bool recognise(const Head& head) {
  const std::string_view text = head.bytes;
  const auto has = [&](std::string_view key) { return text.find(key) != std::string_view::npos; };
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  return has("\"inspector_output_format_version\"") || (has("\"coll_perf\"") && has("\"coll_sn\"")) ||
         (has("\"p2p_perf\"") && has("\"p2p_sn\""));
}

Result<Run> read(const std::filesystem::path& path, const ImportOptions& options) {
  COX_TRY(ByteSource source, ByteSource::open(path, options.limit_bytes));
  return InspectorReader(path, JsonLines(std::move(source))).read();
}

}  // namespace

const Reader kNcclInspectorReader{.format = "nccl-inspector",
                                  .title = "NCCL Inspector JSON lines",
                                  .recognises = recognise,
                                  .read = read_without_program<read>};

}  // namespace cox::trace
