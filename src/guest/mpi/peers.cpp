// SPDX-License-Identifier: Apache-2.0
// Point-to-point messages: added up per peer between two collectives. A blocking call is open in the file
// while it runs, and stays there where it took long.
#include "guest/mpi/bindings.hpp"
#include "guest/mpi/state.hpp"

namespace cox::guest::mpi {
namespace {

using trace::PeerKind;
using trace::RawRecord;

constexpr int kNobody = MPI_PROC_NULL;

/// What a point-to-point call sends and receives.
struct Messages {
  MPI_Comm handle{};
  Comm* comm = nullptr;
  int to = kNobody;
  std::uint64_t sent = 0;
  int from = kNobody;
  std::uint64_t room = 0;  ///< of the buffer that is received into
};

// N: the type of counts; wider in the functions that end with _c.
/// A message to or from nobody has no size: its buffer's arguments are ignored.
std::uint64_t size_with(int peer, MPI_Datatype type, std::int64_t count) {
  return peer == kNobody ? 0 : size_of(type, count);
}
template <class N>
Messages sends(const void*, N count, MPI_Datatype type, int to, int, MPI_Comm comm) {
  return {.handle = comm, .comm = lookup(comm), .to = to, .sent = size_with(to, type, count)};
}
template <class N>
Messages receives(void*, N count, MPI_Datatype type, int from, int, MPI_Comm comm) {
  return {.handle = comm, .comm = lookup(comm), .from = from, .room = size_with(from, type, count)};
}
template <class N>
Messages exchanges(const void*, N out_count, MPI_Datatype out_type, int to, int, void*, N in_count,
                   MPI_Datatype in_type, int from, int, MPI_Comm comm) {
  return {
      comm, lookup(comm), to, size_with(to, out_type, out_count), from, size_with(from, in_type, in_count)};
}
template <class N>
Messages replaces(void*, N count, MPI_Datatype type, int to, int, int from, int, MPI_Comm comm) {
  const std::uint64_t bytes = size_with(to == kNobody ? from : to, type, count);
  return {comm, lookup(comm), to, bytes, from, bytes};
}
/// Waits for a message without taking it.
Messages awaits(int from, int, MPI_Comm comm) {
  return {.handle = comm, .comm = lookup(comm), .from = from};
}

/// Its place in the communicator; a rank of the other group where there are two.
std::uint32_t peer_of(const Comm* c, int rank) {
  if (rank < 0) return trace::kAnyPeer;
  return static_cast<std::uint32_t>(c == nullptr ? rank : c->remote_first + rank);
}

PeerSums::Counted count_sent(const Messages& m) noexcept {
  if (m.comm == nullptr || m.to == kNobody) return {};
  return peers.add(m.comm->number, peer_of(m.comm, m.to), PeerKind::Send, m.sent);
}
PeerSums::Counted count_received(const Messages& m) noexcept {
  if (m.comm == nullptr || m.from == kNobody) return {};
  return peers.add(m.comm->number, peer_of(m.comm, m.from), PeerKind::Receive, m.room);
}

constexpr auto kPeerWait = static_cast<std::uint8_t>(trace::WaitKind::Peer);

/// An open record of the messages with one peer.
RawRecord* begin_one(trace::EventKind kind, const Messages& m, int peer, std::uint32_t sent,
                     std::uint32_t received) noexcept {
  const std::uint8_t op = kind == trace::EventKind::Wait ? kPeerWait : 0;
  const std::uint32_t comm = m.comm == nullptr ? 0 : m.comm->number;
  if (peer < 0) return writer->begin(kind, op, 0, comm, 0, 1, trace::kAnyPeer);
  return writer->begin(kind, op, trace::kNumbered, comm, m.from == peer ? received : 0,
                       m.to == peer ? sent : 0, peer_of(m.comm, peer));
}
/// The program may stand still in it: it waits for the peer of its one message, or for both peers.
struct Span {
  RawRecord* record;
  RawRecord* awaited[2];  ///< where there are two peers
};
Span begin_span(const Messages& m, std::uint32_t sent, std::uint32_t received) noexcept {
  const bool two = m.comm != nullptr && m.to != kNobody && m.from != kNobody && m.to != m.from;
  if (!two)
    return {begin_one(trace::EventKind::Wait, m, m.from != kNobody ? m.from : m.to, sent, received), {}};
  Span span{};
  std::uint32_t named = 0;
  for (const int peer : {m.from, m.to}) {
    if (peer < 0) continue;
    RawRecord* one = begin_one(trace::EventKind::Awaited, m, peer, sent, received);
    one->end = one->begin;
    span.awaited[named++] = one;
  }
  span.record =
      writer->begin(trace::EventKind::Wait, kPeerWait, 0, m.comm->number, named, 2 - named, trace::kAnyPeer);
  return span;
}
void end_span(const Span& span) noexcept {
  if (short_calls.end(span.record)) return;
  for (int i = 1; i >= 0; --i)
    if (span.awaited[i] != nullptr) writer->retract(span.awaited[i]);
}

struct Counted {
  using Tail = Types<>;
  static Span before(const Messages& m) noexcept {
    const std::uint32_t sent = count_sent(m).number;
    return begin_span(m, sent, count_received(m).number);
  }
  static void after(const Span& span, bool, MPI_Request) noexcept { end_span(span); }
};
/// What completes it will know its peer.
struct Starting {
  using Tail = Types<MPI_Request*>;
  static MessageTable::Message before(const Messages& m) noexcept {
    const bool sending = m.from == kNobody;
    if (m.comm == nullptr || (sending && m.to == kNobody)) return {};
    const PeerSums::Counted counted = sending ? count_sent(m) : count_received(m);
    return {MessageTable::key(m.comm->number, peer_of(m.comm, sending ? m.to : m.from)),
            MessageTable::number(counted.number, sending), counted.at};
  }
  static void after(const MessageTable::Message& m, bool good, MPI_Request request) noexcept {
    if (good && m.started != 0 && !is_nothing(key_of(request))) messages.put(key_of(request), m);
  }
};
/// Persistent: `MPI_Start` counts it, as often as the program likes.
struct Preparing {
  using Tail = Types<MPI_Request*>;
  static Messages before(const Messages& m) noexcept { return m; }
  static void after(const Messages& m, bool good, MPI_Request request) noexcept {
    if (!good || m.comm == nullptr || request == library.null_request) return;
    const bool receiving = m.from != kNobody;
    if (!receiving && m.to == kNobody) return;
    requests.put(key_of(request), [&](RequestFacts& r) {
      r.comm_handle = key_of(m.handle);
      r.comm = m.comm->number;
      r.bytes = receiving ? m.room : m.sent;
      r.aux = peer_of(m.comm, receiving ? m.from : m.to);
      r.op = static_cast<std::uint8_t>(receiving ? PeerKind::Receive : PeerKind::Send);
      r.message = true;
      r.persistent = true;
      r.active = false;
    });
  }
};
/// `MPI_Probe` and its like: the tail is what was found.
struct Probing {
  using Tail = Types<MPI_Status*>;
  static RawRecord* before(const Messages& m) noexcept {
    return begin_one(trace::EventKind::Wait, m, m.from, 0, 0);
  }
  static void after(RawRecord* record, bool, MPI_Request) noexcept { short_calls.end(record); }
};
struct MatchedProbing : Probing {
  using Tail = Types<MPI_Message*, MPI_Status*>;
};
struct Receiving : Counted {
  using Tail = Types<MPI_Status*>;
};

// NOLINTBEGIN(bugprone-macro-parentheses)
#define COX_SIZED(Name, name, describe, policy) \
  COX_BINDINGS(Name, name, describe<int>, policy), wrapper<C<"MPI_" Name "_c", describe<MPI_Count>, policy>>()
// NOLINTEND(bugprone-macro-parentheses)

const Wrapper kWrappers[] = {
    COX_SIZED("Send", "send", sends, Counted),
    COX_SIZED("Bsend", "bsend", sends, Counted),
    COX_SIZED("Ssend", "ssend", sends, Counted),
    COX_SIZED("Rsend", "rsend", sends, Counted),
    COX_SIZED("Recv", "recv", receives, Receiving),
    COX_SIZED("Sendrecv", "sendrecv", exchanges, Receiving),
    COX_SIZED("Sendrecv_replace", "sendrecv_replace", replaces, Receiving),
    COX_BINDINGS("Probe", "probe", awaits, Probing),
    COX_BINDINGS("Mprobe", "mprobe", awaits, MatchedProbing),
    COX_SIZED("Isend", "isend", sends, Starting),
    COX_SIZED("Ibsend", "ibsend", sends, Starting),
    COX_SIZED("Issend", "issend", sends, Starting),
    COX_SIZED("Irsend", "irsend", sends, Starting),
    COX_SIZED("Irecv", "irecv", receives, Starting),
    COX_SIZED("Send_init", "send_init", sends, Preparing),
    COX_SIZED("Bsend_init", "bsend_init", sends, Preparing),
    COX_SIZED("Ssend_init", "ssend_init", sends, Preparing),
    COX_SIZED("Rsend_init", "rsend_init", sends, Preparing),
    COX_SIZED("Recv_init", "recv_init", receives, Preparing),
};

#define COX_SAME_PARAMETERS(function, describe, policy) \
  static_assert(std::is_same_v<decltype(&PMPI_##function), decltype(C<"", describe, policy>::real)>)
COX_SAME_PARAMETERS(Send, sends<int>, Counted);
COX_SAME_PARAMETERS(Recv, receives<int>, Receiving);
COX_SAME_PARAMETERS(Sendrecv, exchanges<int>, Receiving);
COX_SAME_PARAMETERS(Sendrecv_replace, replaces<int>, Receiving);
COX_SAME_PARAMETERS(Probe, awaits, Probing);
COX_SAME_PARAMETERS(Mprobe, awaits, MatchedProbing);
COX_SAME_PARAMETERS(Isend, sends<int>, Starting);
COX_SAME_PARAMETERS(Irecv, receives<int>, Starting);
COX_SAME_PARAMETERS(Send_init, sends<int>, Preparing);
COX_SAME_PARAMETERS(Recv_init, receives<int>, Preparing);
#if MPI_VERSION >= 4
COX_SAME_PARAMETERS(Send_c, sends<MPI_Count>, Counted);
COX_SAME_PARAMETERS(Recv_c, receives<MPI_Count>, Receiving);
COX_SAME_PARAMETERS(Sendrecv_c, exchanges<MPI_Count>, Receiving);
COX_SAME_PARAMETERS(Sendrecv_replace_c, replaces<MPI_Count>, Receiving);
COX_SAME_PARAMETERS(Isend_c, sends<MPI_Count>, Starting);
COX_SAME_PARAMETERS(Irecv_c, receives<MPI_Count>, Starting);
COX_SAME_PARAMETERS(Send_init_c, sends<MPI_Count>, Preparing);
COX_SAME_PARAMETERS(Recv_init_c, receives<MPI_Count>, Preparing);
#endif

}  // namespace

Wrappers peer_wrappers() noexcept {
  return {kWrappers, sizeof kWrappers / sizeof kWrappers[0]};
}

}  // namespace cox::guest::mpi
