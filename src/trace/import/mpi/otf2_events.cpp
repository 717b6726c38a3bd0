// SPDX-License-Identifier: Apache-2.0
#include "trace/import/mpi/otf2_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace cox::trace::otf2 {
namespace {

using model::Collective;

// Numbers of event records (otf2_events_int.h).
constexpr std::uint8_t kBufferFlush = 10;
constexpr std::array<const char*, 79> kEventNames{"BufferFlush",
                                                  "MeasurementOnOff",
                                                  "Enter",
                                                  "Leave",
                                                  "MpiSend",
                                                  "MpiIsend",
                                                  "MpiIsendComplete",
                                                  "MpiIrecvRequest",
                                                  "MpiRecv",
                                                  "MpiIrecv",
                                                  "MpiRequestTest",
                                                  "MpiRequestCancelled",
                                                  "MpiCollectiveBegin",
                                                  "MpiCollectiveEnd",
                                                  "OmpFork",
                                                  "OmpJoin",
                                                  "OmpAcquireLock",
                                                  "OmpReleaseLock",
                                                  "OmpTaskCreate",
                                                  "OmpTaskSwitch",
                                                  "OmpTaskComplete",
                                                  "Metric",
                                                  "ParameterString",
                                                  "ParameterInt",
                                                  "ParameterUnsignedInt",
                                                  "RmaWinCreate",
                                                  "RmaWinDestroy",
                                                  "RmaCollectiveBegin",
                                                  "RmaCollectiveEnd",
                                                  "RmaGroupSync",
                                                  "RmaRequestLock",
                                                  "RmaAcquireLock",
                                                  "RmaTryLock",
                                                  "RmaReleaseLock",
                                                  "RmaSync",
                                                  "RmaWaitChange",
                                                  "RmaPut",
                                                  "RmaGet",
                                                  "RmaAtomic",
                                                  "RmaOpCompleteBlocking",
                                                  "RmaOpCompleteNonBlocking",
                                                  "RmaOpTest",
                                                  "RmaOpCompleteRemote",
                                                  "ThreadFork",
                                                  "ThreadJoin",
                                                  "ThreadTeamBegin",
                                                  "ThreadTeamEnd",
                                                  "ThreadAcquireLock",
                                                  "ThreadReleaseLock",
                                                  "ThreadTaskCreate",
                                                  "ThreadTaskSwitch",
                                                  "ThreadTaskComplete",
                                                  "ThreadCreate",
                                                  "ThreadBegin",
                                                  "ThreadWait",
                                                  "ThreadEnd",
                                                  "CallingContextEnter",
                                                  "CallingContextLeave",
                                                  "CallingContextSample",
                                                  "IoCreateHandle",
                                                  "IoDestroyHandle",
                                                  "IoDuplicateHandle",
                                                  "IoSeek",
                                                  "IoChangeStatusFlags",
                                                  "IoDeleteFile",
                                                  "IoOperationBegin",
                                                  "IoOperationTest",
                                                  "IoOperationIssued",
                                                  "IoOperationComplete",
                                                  "IoOperationCancelled",
                                                  "IoAcquireLock",
                                                  "IoReleaseLock",
                                                  "IoTryLock",
                                                  "ProgramBegin",
                                                  "ProgramEnd",
                                                  "NonBlockingCollectiveRequest",
                                                  "NonBlockingCollectiveComplete",
                                                  "CommCreate",
                                                  "CommDestroy"};
enum class Otf2Event : std::uint8_t {
  Enter = 12,
  Leave = 13,
  MpiSend = 14,
  MpiIsend = 15,
  MpiIsendComplete = 16,
  MpiIrecvRequest = 17,
  MpiRecv = 18,
  MpiIrecv = 19,
  MpiRequestTest = 20,
  MpiRequestCancelled = 21,
  MpiCollectiveBegin = 22,
  MpiCollectiveEnd = 23,
  NonBlockingCollectiveRequest = 85,
  NonBlockingCollectiveComplete = 86,
};
constexpr std::uint32_t kRootNone = kUndefined32;
constexpr std::uint32_t kRootSelf = kUndefined32 - 1;
constexpr std::uint32_t kRootThisGroup = kUndefined32 - 2;

/// By OTF2_CollectiveOp (OTF2_Events.h).
constexpr std::array kOperations{std::pair{Collective::Barrier, 0},
                                 std::pair{Collective::Broadcast, 0},
                                 std::pair{Collective::Gather, 0},
                                 std::pair{Collective::Gather, int{kVariable}},
                                 std::pair{Collective::Scatter, 0},
                                 std::pair{Collective::Scatter, int{kVariable}},
                                 std::pair{Collective::AllGather, 0},
                                 std::pair{Collective::AllGather, int{kVariable}},
                                 std::pair{Collective::AllToAll, 0},
                                 std::pair{Collective::AllToAll, int{kVariable}},
                                 std::pair{Collective::AllToAll, int{kVariable}},
                                 std::pair{Collective::AllReduce, 0},
                                 std::pair{Collective::Reduce, 0},
                                 std::pair{Collective::ReduceScatter, int{kVariable}},
                                 std::pair{Collective::Scan, 0},
                                 std::pair{Collective::Scan, 0},
                                 std::pair{Collective::ReduceScatter, 0}};

std::int64_t clamp(std::uint64_t v) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(v, std::numeric_limits<std::int64_t>::max()));
}

/// What a collective moved, as its record says it: bytes sent and received by this rank, as Score-P counts
/// them (one share per member where everybody gets the same), in the convention of nccl-tests.
Bytes size_of(Collective op, std::uint64_t sent, std::uint64_t received, int members) {
  const Bytes s(clamp(sent));
  const Bytes r(clamp(received));
  const Bytes most = std::max(s, r);
  switch (op) {
    case Collective::AllReduce:
      return members > 0 && most.count() % members == 0 ? most / members : most;
    case Collective::Broadcast:
      return r.count() > 0 ? r : s;
    case Collective::Reduce:
      return s.count() > 0 ? s : r;
    case Collective::Gather:
      return r.count() > 0 ? r : whole_array(s, members);
    case Collective::Scatter:
      return s.count() > 0 ? s : whole_array(r, members);
    case Collective::AllToAll:
      return s;
    default:
      return most;
  }
}

/// Turns the records of one location into calls. One outermost call of MPI is open at a time.
class CallReader {
 public:
  CallReader(const LocalDefinitions& local, const Context& context, std::uint32_t thread, LocationResult* out)
      : local_(local), context_(context), thread_(thread), out_(*out) {}

  void read(const Record& record);
  /// `whole`: the file ended in order, so a call that is open did not return.
  void finish(bool whole);

 private:
  struct Region {
    std::uint32_t id;
    bool is_mpi;
  };
  /// The outermost call of MPI that the location is in.
  struct Call {
    Duration begin{};
    MpiFunction function;
    CommId comm = kNoComm;
    std::uint32_t peer = kAnyPeer;  ///< in `comm`
    Bytes bytes{};
    int transfers = 0;                     ///< messages that began or completed in it
    int done_collectives = 0;              ///< non-blocking ones that completed in it
    std::size_t done_collective = 0;       ///< index of the last of them among the events
    std::vector<std::size_t> collectives;  ///< events that were recorded in it
    std::vector<std::size_t> sends_posted, receives_posted, sends_done, receives_done;
  };
  enum class Posted : std::uint8_t { Send, Receive, Collective };
  struct Request {
    Posted kind;
    std::size_t index;
    std::uint32_t peer = kAnyPeer;  ///< in the communicator
  };

  void enter(std::uint32_t own_region);
  void leave(std::uint32_t own_region);
  void close_call(Duration end);
  void add_call_event(const Call& call, Duration end);
  void blocking_message(Cursor& c, Posted kind);
  void start_send(Cursor& c);
  void start_receive(Cursor& c);
  void complete_send(Cursor& c);
  void complete_receive(Cursor& c);
  void collective_end(Cursor& c);
  void start_collective(Cursor& c);
  void complete_collective(Cursor& c);
  void describe_collective(Event& event, Cursor& c, std::uint16_t flags) const;
  std::optional<Request> take_request(std::uint64_t id);
  MessageEnd message(Cursor& c, std::uint32_t* peer) const;
  void touch(const MessageEnd& m, std::uint32_t peer);
  [[nodiscard]] Duration call_begin() const { return in_mpi_ > 0 ? call_.begin : now_; }
  [[nodiscard]] int members(CommId comm) const {
    const auto at = context_.sizes.find(static_cast<std::uint32_t>(comm.value()));
    return at == context_.sizes.end() ? 0 : at->second;
  }

  const LocalDefinitions& local_;
  const Context& context_;
  std::uint32_t thread_;
  LocationResult& out_;
  std::vector<Region> stack_;
  int in_mpi_ = 0;
  Call call_;
  Duration now_{};
  bool started_ = false;
  std::vector<Duration> begun_;  ///< collectives
  std::map<std::uint64_t, Request> requests_;
};

void CallReader::read(const Record& record) {
  ++out_.records[record.id];
  const std::optional<Duration> at = context_.clock.time(local_.corrected(record.time));
  if (!at) {
    ++out_.far;
    return;
  }
  // OTF2 records are in order; where they are not, time stands still rather than running backwards.
  if (started_ && *at < now_)
    ++out_.backwards;
  else
    now_ = *at;
  started_ = true;
  if (thread_ == 0) out_.calls.saw(now_);
  Cursor c = record.content;
  ++out_.used;
  switch (static_cast<Otf2Event>(record.id)) {
    case Otf2Event::Enter:
      enter(c.packed32());
      break;
    case Otf2Event::Leave:
      leave(c.packed32());
      break;
    case Otf2Event::MpiSend:
      blocking_message(c, Posted::Send);
      break;
    case Otf2Event::MpiRecv:
      blocking_message(c, Posted::Receive);
      break;
    case Otf2Event::MpiIsend:
      start_send(c);
      break;
    case Otf2Event::MpiIrecvRequest:
      start_receive(c);
      break;
    case Otf2Event::MpiIsendComplete:
      complete_send(c);
      break;
    case Otf2Event::MpiIrecv:
      complete_receive(c);
      break;
    case Otf2Event::MpiRequestCancelled:
      static_cast<void>(take_request(c.packed64()));
      break;
    case Otf2Event::MpiCollectiveBegin:
      begun_.push_back(now_);
      break;
    case Otf2Event::MpiCollectiveEnd:
      collective_end(c);
      break;
    case Otf2Event::NonBlockingCollectiveRequest:
      start_collective(c);
      break;
    case Otf2Event::NonBlockingCollectiveComplete:
      complete_collective(c);
      break;
    default:
      --out_.used;
      break;
  }
  if (!c.ok()) ++out_.damaged;
}

void CallReader::enter(std::uint32_t own_region) {
  const std::uint32_t id = local_.regions(own_region);
  const auto at = context_.definitions.regions.find(id);
  const bool is_mpi = at != context_.definitions.regions.end() && at->second.is_mpi;
  stack_.push_back({.id = id, .is_mpi = is_mpi});
  if (!is_mpi) {
    ++out_.user_regions;
    return;
  }
  if (in_mpi_++ > 0) return;
  call_ = {};
  call_.begin = now_;
  call_.function = at->second.function;
}

void CallReader::leave(std::uint32_t own_region) {
  if (stack_.empty() || stack_.back().id != local_.regions(own_region)) {
    ++out_.strange_leaves;
    return;
  }
  const bool is_mpi = stack_.back().is_mpi;
  stack_.pop_back();
  if (is_mpi && --in_mpi_ == 0) close_call(now_);
}

void CallReader::close_call(Duration end) {
  MpiRank& calls = out_.calls;
  for (const std::size_t i : call_.sends_done) calls.sends[i].end = end;
  for (const std::size_t i : call_.receives_done) calls.receives[i].end = end;
  for (const std::size_t i : call_.collectives) {
    // Several in one call are told apart by their own records, one alone lasts as long as the call.
    if (call_.collectives.size() > 1) break;
    calls.events[i].begin = call_.begin;
    calls.events[i].end = end;
  }
  add_call_event(call_, end);
  if (thread_ == 0 && end != kStillRunning) calls.inside.push_back({.begin = call_.begin, .end = end});
  if (call_.function.call == MpiCall::Init) ++calls.inits;
  if (call_.function.call == MpiCall::Finalize) ++calls.finalizes;
  call_ = {};
}

void CallReader::add_call_event(const Call& call, Duration end) {
  Event event{.begin = call.begin, .end = end, .thread = thread_};
  if (call.function.call == MpiCall::Collective && call.collectives.empty()) {
    event.kind = EventKind::Collective;
    event.op = static_cast<std::uint8_t>(call.function.op);
    event.flags = call.function.flags;
    ++out_.without_comm;
  } else if (call.function.call == MpiCall::Transfer ||
             (call.function.call == MpiCall::Wait && call.transfers == 1 && call.done_collectives == 0)) {
    event.kind = EventKind::Wait;
    event.op = static_cast<std::uint8_t>(WaitKind::Peer);
    event.comm = call.comm;
    event.aux = call.peer;
    event.bytes = call.bytes;
  } else if (call.function.call == MpiCall::Wait) {
    event.kind = EventKind::Wait;
    event.op = static_cast<std::uint8_t>(WaitKind::Request);
    if (call.done_collectives == 1 && call.transfers == 0)
      out_.calls.waits_for.emplace_back(static_cast<std::uint32_t>(out_.calls.events.size()),
                                        static_cast<std::uint32_t>(call.done_collective));
  } else {
    return;
  }
  out_.calls.events.push_back(event);
}

MessageEnd CallReader::message(Cursor& c, std::uint32_t* peer) const {
  *peer = c.packed32();
  const std::uint32_t comm = local_.comms(c.packed32());
  const std::uint32_t tag = c.packed32();
  const std::uint64_t length = c.packed64();
  MessageEnd m;
  m.comm = CommId(static_cast<std::int32_t>(comm));
  m.tag = tag;
  m.bytes = Bytes(clamp(length));
  const auto at = context_.members.find(comm);
  if (at != context_.members.end() && *peer < at->second->size()) m.peer = (*at->second)[*peer];
  // A communicator of one that has no list (MPI_COMM_SELF) holds this rank.
  const auto size = context_.sizes.find(comm);
  if (at == context_.members.end() && size != context_.sizes.end() && *peer == 0)
    m.peer = out_.calls.rank.value();
  if (!context_.definitions.comms.contains(comm)) m.comm = kNoComm;
  return m;
}

/// The open call has to do with this message.
void CallReader::touch(const MessageEnd& m, std::uint32_t peer) {
  ++call_.transfers;
  call_.comm = m.comm;
  call_.peer = peer;
  call_.bytes = m.bytes;
}

void CallReader::blocking_message(Cursor& c, Posted kind) {
  std::uint32_t peer = 0;
  MessageEnd m = message(c, &peer);
  if (!c.ok()) return;
  m.begin = call_begin();
  m.end = now_;
  auto& ends = kind == Posted::Send ? out_.calls.sends : out_.calls.receives;
  ends.push_back(m);
  if (in_mpi_ == 0) return;
  touch(m, peer);
  (kind == Posted::Send ? call_.sends_done : call_.receives_done).push_back(ends.size() - 1);
}

void CallReader::start_send(Cursor& c) {
  std::uint32_t peer = 0;
  MessageEnd m = message(c, &peer);
  const std::uint64_t request = c.packed64();
  if (!c.ok()) return;
  m.begin = call_begin();
  out_.calls.sends.push_back(m);
  requests_.insert_or_assign(request, Request{Posted::Send, out_.calls.sends.size() - 1, peer});
}

void CallReader::start_receive(Cursor& c) {
  const std::uint64_t request = c.packed64();
  if (!c.ok()) return;
  MessageEnd m;  // whom it is from and how long it is, its completion tells
  m.begin = call_begin();
  out_.calls.receives.push_back(m);
  requests_.insert_or_assign(request, Request{Posted::Receive, out_.calls.receives.size() - 1});
}

std::optional<CallReader::Request> CallReader::take_request(std::uint64_t id) {
  const auto at = requests_.find(id);
  if (at == requests_.end()) {
    ++out_.orphans;
    return std::nullopt;
  }
  const Request found = at->second;
  requests_.erase(at);
  return found;
}

void CallReader::complete_send(Cursor& c) {
  const std::uint64_t id = c.packed64();
  if (!c.ok()) return;
  const std::optional<Request> request = take_request(id);
  if (!request || request->kind != Posted::Send) return;
  MessageEnd& m = out_.calls.sends[request->index];
  m.end = now_;
  if (in_mpi_ == 0) return;
  touch(m, request->peer);
  call_.sends_done.push_back(request->index);
}

void CallReader::complete_receive(Cursor& c) {
  std::uint32_t peer = 0;
  const MessageEnd m = message(c, &peer);
  const std::uint64_t id = c.packed64();
  if (!c.ok()) return;
  const std::optional<Request> request = take_request(id);
  if (!request || request->kind != Posted::Receive) return;
  MessageEnd& posted = out_.calls.receives[request->index];
  const Duration begin = posted.begin;
  posted = m;
  posted.begin = begin;
  posted.end = now_;
  if (in_mpi_ == 0) return;
  touch(m, peer);
  call_.receives_done.push_back(request->index);
}

void CallReader::describe_collective(Event& event, Cursor& c, std::uint16_t flags) const {
  const std::uint8_t op = c.u8();
  const std::uint32_t comm = local_.comms(c.packed32());
  const std::uint32_t root = c.packed32();
  const std::uint64_t sent = c.packed64();
  const std::uint64_t received = c.packed64();
  if (!c.ok()) return;
  event.flags = flags;
  Collective kind = Collective::Other;  // making and freeing handles
  if (op < kOperations.size()) {
    kind = kOperations[op].first;
    event.flags |= static_cast<std::uint16_t>(kOperations[op].second);
  }
  event.op = static_cast<std::uint8_t>(kind);
  if (context_.definitions.comms.contains(comm)) event.comm = CommId(static_cast<std::int32_t>(comm));
  event.bytes = size_of(kind, sent, received, members(event.comm));
  if (root == kRootNone || root == kRootSelf || root == kRootThisGroup) return;
  event.flags |= kRooted;
  event.aux = root;
}

void CallReader::collective_end(Cursor& c) {
  Event event{.kind = EventKind::Collective, .begin = call_begin(), .end = now_, .thread = thread_};
  if (!begun_.empty()) {
    event.begin = begun_.back();
    begun_.pop_back();
  }
  describe_collective(event, c, 0);
  if (!c.ok()) return;
  out_.calls.events.push_back(event);
  if (in_mpi_ > 0) call_.collectives.push_back(out_.calls.events.size() - 1);
}

void CallReader::start_collective(Cursor& c) {
  const std::uint64_t request = c.packed64();
  if (!c.ok()) return;
  Event event{.kind = EventKind::Collective,
              .op = static_cast<std::uint8_t>(call_.function.op),
              .flags = kNonBlocking,
              .begin = call_begin(),
              .end = now_,
              .thread = thread_};
  out_.calls.events.push_back(event);
  const std::size_t index = out_.calls.events.size() - 1;
  requests_.insert_or_assign(request, Request{Posted::Collective, index});
  if (in_mpi_ > 0) call_.collectives.push_back(index);
}

void CallReader::complete_collective(Cursor& c) {
  Event completed;
  describe_collective(completed, c, kNonBlocking);
  const std::uint64_t id = c.packed64();
  if (!c.ok()) return;
  const std::optional<Request> request = take_request(id);
  if (!request || request->kind != Posted::Collective) return;
  Event& event = out_.calls.events[request->index];
  event.op = completed.op;
  event.flags = completed.flags;
  event.comm = completed.comm;
  event.bytes = completed.bytes;
  event.aux = completed.aux;
  ++call_.done_collectives;
  call_.done_collective = request->index;
}

void CallReader::finish(bool whole) {
  if (in_mpi_ > 0 && whole) {
    call_.sends_done.clear();
    call_.receives_done.clear();
    const MpiCall function = call_.function.call;
    if (function == MpiCall::Collective || function == MpiCall::Wait || function == MpiCall::Transfer)
      add_call_event(call_, kStillRunning);
  }
}

}  // namespace

std::optional<Duration> TickClock::time(std::uint64_t ticks) const {
  constexpr std::int64_t kPicoseconds = 1'000'000'000'000;
  constexpr std::int64_t kMost = std::int64_t{50} * 86'400 * kPicoseconds;
  const auto apart = static_cast<std::int64_t>(ticks - origin_);
  if (per_second_ == 0) return std::nullopt;
  __extension__ using Wide = __int128;
  const Wide ps = Wide{apart} * kPicoseconds / static_cast<Wide>(per_second_);
  if (ps > kMost || ps < -kMost) return std::nullopt;
  return Duration(static_cast<std::int64_t>(ps));
}

LocationResult read_events(std::string_view bytes, std::uint64_t chunk_bytes, const LocalDefinitions& local,
                           const Context& context, Rank rank, std::uint32_t thread) {
  LocationResult out;
  out.calls.rank = rank;
  RecordReader records(bytes, Content::Events, chunk_bytes);
  CallReader calls(local, context, thread, &out);
  Record record;
  while (records.next(record)) calls.read(record);
  calls.finish(records.ending() == Ending::Whole);
  out.ending = records.ending();
  out.end_at = records.position();
  return out;
}

std::optional<std::uint64_t> first_time(std::string_view bytes, std::uint64_t chunk_bytes,
                                        const LocalDefinitions& local) {
  RecordReader records(bytes, Content::Events, chunk_bytes);
  Record record;
  if (!records.next(record)) return std::nullopt;
  return local.corrected(record.time);
}

std::string event_name(std::uint8_t id) {
  if (id >= kBufferFlush && id < kBufferFlush + kEventNames.size()) return kEventNames[id - kBufferFlush];
  return fmt::format("record {}", int{id});
}

}  // namespace cox::trace::otf2
