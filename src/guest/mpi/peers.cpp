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

void count(const Messages& m) noexcept {
  if (m.comm == nullptr) return;
  if (m.to != kNobody) peers.add(*m.comm, peer_of(m.comm, m.to), PeerKind::Send, m.sent);
  if (m.from != kNobody) peers.add(*m.comm, peer_of(m.comm, m.from), PeerKind::Receive, m.room);
}

/// The program may stand still in it.
struct Blocking {
  using Tail = Types<>;
  static RawRecord* before(const Messages& m) noexcept {
    const bool receiving = m.from != kNobody;
    return writer->begin(trace::EventKind::Wait, static_cast<std::uint8_t>(trace::WaitKind::Peer), 0,
                         m.comm == nullptr ? 0 : m.comm->number, 0, receiving ? m.room : m.sent,
                         peer_of(m.comm, receiving ? m.from : m.to));
  }
  static void after(RawRecord* record, bool, MPI_Request) noexcept { writer->end_if_long(record, kLongNs); }
};
struct Counted {
  struct Span {
    Messages messages;
    RawRecord* record;
  };
  using Tail = Types<>;
  static Span before(const Messages& m) noexcept { return {m, Blocking::before(m)}; }
  static void after(const Span& span, bool good, MPI_Request) noexcept {
    writer->end_if_long(span.record, kLongNs);
    if (good) count(span.messages);
  }
};
/// What completes it will know its peer.
struct Starting {
  using Tail = Types<MPI_Request*>;
  static Messages before(const Messages& m) noexcept {
    count(m);
    return m;
  }
  static void after(const Messages& m, bool good, MPI_Request request) noexcept {
    const int peer = m.from != kNobody ? m.from : m.to;
    if (!good || m.comm == nullptr || peer == kNobody || is_nothing(key_of(request))) return;
    messages.put(key_of(request), {m.comm->number, peer_of(m.comm, peer)});
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
    });
  }
};
/// `MPI_Probe` and its like: the tail is what was found.
struct Probing {
  using Tail = Types<MPI_Status*>;
  static RawRecord* before(const Messages& m) noexcept { return Blocking::before(m); }
  static void after(RawRecord* record, bool, MPI_Request) noexcept { writer->end_if_long(record, kLongNs); }
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
