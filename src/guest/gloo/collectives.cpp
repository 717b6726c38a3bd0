// SPDX-License-Identifier: Apache-2.0
// Wrappers of Gloo's collectives. Links to nothing of Gloo. No local object has a destructor here: an
// exception of Gloo passes through and leaves the record open, as a call that did not return.
#include <cstdlib>

#include "guest/gloo/abi.hpp"
#include "guest/gloo/state.hpp"

namespace cox::guest::gloo {

const Host* host = nullptr;
const WriterApi* writer = nullptr;
const PaceApi* pacing = nullptr;
CommTable contexts;
Occurrences occurrences;
std::uint32_t main_thread = 0;
bool under_torch = false;
std::int32_t world_size = 0;

namespace {

using model::Collective;
using trace::EventKind;
using trace::RawRecord;
using namespace trace;  // RecordFlag values
namespace abi = gloo_abi;

std::size_t numbers_at = 0;  // in a gloo::Context

// A context that no process group made is a communicator of its own. Only those as large as the world have
// members that can be told from here.
void describe(const abi::ContextNumbers& context, Comm& slot) {
  slot.size = context.size;
  slot.rank = context.rank;
  writer->open(
      {.rank = context.rank, .world_size = context.size, .library = under_torch ? "c10d+gloo" : "gloo"});
  writer->set_rank(context.rank, context.size);
  if (world_size == 0) world_size = context.size;  // the first one made is the job's
  if (context.size != world_size) {
    writer->note("a Gloo context smaller than the first one is recorded without its members");
    slot.number = writer->define_communicator(0, context.size, context.rank, nullptr, 0, "");
    return;
  }
  const auto count = static_cast<std::size_t>(context.size);
  auto* members = static_cast<std::int32_t*>(malloc(count * sizeof(std::int32_t)));
  if (members == nullptr) return;
  for (std::int32_t i = 0; i < context.size; ++i) members[i] = i;
  const std::uint32_t occurrence = occurrences.next(writer->group_identity(members, count, 0));
  const std::uint64_t identity =
      occurrence == Occurrences::kUnknown ? 0 : writer->group_identity(members, count, occurrence);
  slot.number =
      writer->define_communicator(identity, context.size, context.rank, members,
                                  static_cast<std::uint32_t>(count), occurrence == 0 ? "world" : "");
  free(members);
}

inline Comm* lookup(const void* context) {
  if (context == nullptr) return nullptr;
  const void* numbers = static_cast<const std::byte*>(context) + numbers_at;
  const auto key = reinterpret_cast<std::uintptr_t>(numbers);
  Comm* found = contexts.find(key);
  if (found == nullptr) [[unlikely]]
    found = contexts.insert(
        key, [numbers](Comm& slot) { describe(*static_cast<const abi::ContextNumbers*>(numbers), slot); });
  return found;
}

// The record made last on this thread. PyTorch runs some operations as several collectives under one number
// (a sparse all-reduce is three all-gathers): they are one record, from the first entry to the last return.
struct Latest {
  RawRecord* record = nullptr;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  std::uint32_t comm = 0;
  std::uint32_t tag = 0;
};
thread_local Latest latest;

// What pool threads transferred since the program last waited, plus 1; 0 = nothing ran. Of all groups: too
// much is subtracted from a wait rather than too little.
std::atomic<std::uint64_t> background_bytes{0};

inline RawRecord* enter_tagged(std::uint32_t comm, Collective op, std::uint64_t bytes, std::uint32_t tag,
                               std::uint16_t flags, int root) {
  // PyTorch numbers its operations; two pool threads may run them out of order.
  flags |= kTagged;
  if (writer->thread_id() != main_thread) flags |= kOffThread;
  const bool is_first = latest.record == nullptr || latest.tag != tag || latest.comm != comm || comm == 0;
  if (pacing != nullptr && is_first) pacing->keep_order(comm, tag);
  const std::uint64_t own_bytes = bytes;
  std::uint64_t began = 0;
  if (!is_first) {
    writer->retract(latest.record);
    bytes += latest.bytes;
    began = latest.begin;
  }
  RawRecord* const record = writer->begin(EventKind::Collective, static_cast<std::uint8_t>(op), flags, comm,
                                          tag, bytes, static_cast<std::uint32_t>(root));
  if (began != 0) record->begin = began;
  latest = {record, record->begin, bytes, comm, tag};
  // One more per record, so that the Run tells the same sum.
  if (pacing != nullptr)
    background_bytes.fetch_add(own_bytes + (began == 0 ? 1 : 0), std::memory_order_relaxed);
  return record;
}

inline RawRecord* enter(Comm* comm, Collective op, std::uint64_t bytes, std::uint32_t tag,
                        std::uint16_t flags = 0, int root = 0) {
  const std::uint32_t number = comm == nullptr ? 0 : comm->number;
  if (under_torch) return enter_tagged(number, op, bytes, tag, flags, root);
  const std::uint32_t seq = comm == nullptr ? 0 : comm->seq++;
  if (pacing != nullptr) pacing->enter(number);
  return writer->begin(EventKind::Collective, static_cast<std::uint8_t>(op), flags, number, seq, bytes,
                       static_cast<std::uint32_t>(root));
}

inline std::uint64_t members_of(const Comm* comm) {
  return comm == nullptr ? 1 : static_cast<std::uint64_t>(comm->size);
}

template <class Options>
inline Comm* comm_of(const Options& o) {
  return lookup(o.context.get);
}
inline std::uint64_t bytes_of(const abi::UnboundBuffer* buffer) {
  return buffer == nullptr ? 0 : buffer->size;
}
inline std::uint64_t sum_of(const abi::Vector& v) {
  std::uint64_t sum = 0;
  for (const std::size_t* at = v.first; at != v.last; ++at) sum += *at;
  return sum;
}

inline void leave(RawRecord* record) {
  writer->end(record);
  if (pacing != nullptr && !under_torch)
    pacing->leave(record->comm, record->begin, record->end, static_cast<std::int64_t>(record->bytes),
                  Boundary::Synchronisation);
}

// Calls the real function between entry and exit of a record.
#define OBSERVED(record, call)       \
  RawRecord* const event = (record); \
  call;                              \
  leave(event)

template <class Options>
using Real = void (*)(const Options&);
Real<abi::AllreduceOptions> real_allreduce = nullptr;
Real<abi::BroadcastOptions> real_broadcast = nullptr;
Real<abi::AllgatherOptions> real_allgather = nullptr;
Real<abi::AllgathervOptions> real_allgatherv = nullptr;
Real<abi::BarrierOptions> real_barrier = nullptr;
Real<abi::ReduceOptions> real_reduce = nullptr;
Real<abi::GatherOptions> real_gather = nullptr;
Real<abi::ScatterOptions> real_scatter = nullptr;
Real<abi::AlltoallOptions> real_alltoall = nullptr;
Real<abi::AlltoallvOptions> real_alltoallv = nullptr;

void wrap_allreduce(const abi::AllreduceOptions& o) {
  OBSERVED(enter(comm_of(o), Collective::AllReduce, o.elements * o.element_size, o.tag), real_allreduce(o));
}
void wrap_broadcast(const abi::BroadcastOptions& o) {
  OBSERVED(enter(comm_of(o), Collective::Broadcast, o.elements * o.element_size, o.tag, kRooted, o.root),
           real_broadcast(o));
}
void wrap_allgather(const abi::AllgatherOptions& o) {
  OBSERVED(enter(comm_of(o), Collective::AllGather, bytes_of(o.out), o.tag), real_allgather(o));
}
void wrap_allgatherv(const abi::AllgathervOptions& o) {
  OBSERVED(enter(comm_of(o), Collective::AllGather, sum_of(o.elements) * o.element_size, o.tag, kVariable),
           real_allgatherv(o));
}
void wrap_barrier(const abi::BarrierOptions& o) {
  OBSERVED(enter(comm_of(o), Collective::Barrier, 0, o.tag), real_barrier(o));
}
void wrap_reduce(const abi::ReduceOptions& o) {
  OBSERVED(enter(comm_of(o), Collective::Reduce, o.elements * o.element_size, o.tag, kRooted, o.root),
           real_reduce(o));
}
void wrap_gather(const abi::GatherOptions& o) {
  Comm* comm = comm_of(o);
  OBSERVED(enter(comm, Collective::Gather, bytes_of(o.in) * members_of(comm), o.tag, kRooted, o.root),
           real_gather(o));
}
void wrap_scatter(const abi::ScatterOptions& o) {
  Comm* comm = comm_of(o);
  OBSERVED(enter(comm, Collective::Scatter, bytes_of(o.out) * members_of(comm), o.tag, kRooted, o.root),
           real_scatter(o));
}
void wrap_alltoall(const abi::AlltoallOptions& o) {
  OBSERVED(enter(comm_of(o), Collective::AllToAll, bytes_of(o.in), o.tag), real_alltoall(o));
}
void wrap_alltoallv(const abi::AlltoallvOptions& o) {
  OBSERVED(enter(comm_of(o), Collective::AllToAll, sum_of(o.in_length) * o.element_size, o.tag, kVariable),
           real_alltoallv(o));
}

#define WRAP(symbol, name) \
  { symbol, reinterpret_cast<void*>(&wrap_##name), reinterpret_cast<void**>(&real_##name) }
const Wrapper kWrappers[] = {
    WRAP(kAllreduce, allreduce),
    WRAP("_ZN4gloo9broadcastERNS_16BroadcastOptionsE", broadcast),
    WRAP("_ZN4gloo9allgatherERNS_16AllgatherOptionsE", allgather),
    WRAP("_ZN4gloo10allgathervERNS_17AllgathervOptionsE", allgatherv),
    WRAP("_ZN4gloo7barrierERNS_14BarrierOptionsE", barrier),
    WRAP("_ZN4gloo6reduceERNS_13ReduceOptionsE", reduce),
    WRAP("_ZN4gloo6gatherERNS_13GatherOptionsE", gather),
    WRAP("_ZN4gloo7scatterERNS_14ScatterOptionsE", scatter),
    WRAP("_ZN4gloo8alltoallERNS_15AlltoallOptionsE", alltoall),
    WRAP("_ZN4gloo9alltoallvERNS_16AlltoallvOptionsE", alltoallv),
};

}  // namespace

Wrappers collective_wrappers() noexcept {
  numbers_at = host->find_real(abi::kContextTable) != nullptr ? sizeof(void*) : 0;
  return {kWrappers, sizeof kWrappers / sizeof kWrappers[0]};
}

std::int64_t take_background_bytes() noexcept {
  return static_cast<std::int64_t>(background_bytes.exchange(0, std::memory_order_relaxed)) - 1;
}

}  // namespace cox::guest::gloo
