// SPDX-License-Identifier: Apache-2.0
// Wrappers of Gloo's collectives and of the places in PyTorch's DDP where a step begins and where it waits.
// Links to neither library. No local object has a destructor here: an exception of Gloo passes through and
// leaves the record open, as a call that did not return.
#include <unistd.h>

#include <cstdlib>

#include "cox/model/collective.hpp"

#include "observe/guest/communicators.hpp"
#include "observe/guest/gloo_abi.hpp"
#include "observe/guest/typed.hpp"

namespace {

using namespace cox::observe::guest;
using cox::model::Collective;
using cox::trace::EventKind;
using cox::trace::PhaseKind;
using cox::trace::RawRecord;
using cox::trace::WaitKind;
using namespace cox::trace;  // RecordFlag values
namespace abi = cox::observe::guest::gloo_abi;

const Host* host = nullptr;
const WriterApi* writer = nullptr;
CommTable contexts;
Occurrences occurrences;
std::uint32_t main_thread = 0;  // of a rank; a forked child records nothing
bool under_torch = false;       // collectives then run on pool threads and carry an operation number
std::uint64_t steps = 0;        // DDP forward passes of this process
RawRecord* forward = nullptr;   // open phase of the program's thread
RawRecord* backward = nullptr;

// A context is a communicator. Only those as large as the world have members that can be told from here.
void describe(const abi::Context& context, Comm& slot) {
  slot.size = context.size;
  slot.rank = context.rank;
  writer->open(
      {.rank = context.rank, .world_size = context.size, .library = under_torch ? "c10d+gloo" : "gloo"});
  writer->set_rank(context.rank, context.size);
  static std::int32_t world = context.size;  // the first one made is the job's
  if (context.size != world) {
    writer->note("a process group smaller than the world is recorded without its members");
    slot.number = writer->define_communicator(0, context.size, context.rank, nullptr, 0, "");
    return;
  }
  const auto count = static_cast<std::size_t>(context.size);
  auto* members = static_cast<std::int32_t*>(malloc(count * sizeof(std::int32_t)));
  if (members == nullptr) return;
  for (std::int32_t i = 0; i < context.size; ++i) members[i] = i;
  const std::uint32_t occurrence = occurrences.next(writer->group_identity(members, count, 0));
  slot.number = writer->define_communicator(writer->group_identity(members, count, occurrence), context.size,
                                            context.rank, members, static_cast<std::uint32_t>(count),
                                            occurrence == 0 ? "world" : "");
  free(members);
}

inline Comm* lookup(const abi::Context* context) {
  if (context == nullptr) return nullptr;
  const auto key = reinterpret_cast<std::uintptr_t>(context);
  Comm* found = contexts.find(key);
  if (found == nullptr) [[unlikely]]
    found = contexts.insert(key, [context](Comm& slot) { describe(*context, slot); });
  return found;
}

inline RawRecord* enter(Comm* comm, Collective op, std::uint64_t bytes, std::uint32_t tag,
                        std::uint16_t flags = 0, int root = 0) {
  std::uint32_t seq = tag;
  if (under_torch) {
    flags |= kTagged;  // PyTorch numbers its operations; two pool threads may run them out of order
    if (writer->thread_id() != main_thread) flags |= kOffThread;
  } else {
    seq = comm == nullptr ? 0 : comm->seq++;
  }
  return writer->begin(EventKind::Collective, static_cast<std::uint8_t>(op), flags,
                       comm == nullptr ? 0 : comm->number, seq, bytes, static_cast<std::uint32_t>(root));
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

// Calls the real function between entry and exit of a record.
#define OBSERVED(record, call)       \
  RawRecord* const event = (record); \
  call;                              \
  writer->end(event)

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

// PyTorch (c10d). Its types are never looked into: pointers pass through as they came.
void (*real_process_group)(void* self, void* store, int rank, int size, void* options) = nullptr;
void (*real_prepare_for_forward)(void* self) = nullptr;
void (*real_prepare_for_backward)(void* self, const void* outputs) = nullptr;
void (*real_finalize_backward)(void* self) = nullptr;
bool (*real_wait)(void* self, std::int64_t timeout_ms) = nullptr;

void wrap_process_group(void* self, void* store, int rank, int size, void* options) {
  writer->open({.rank = rank, .world_size = size, .library = "c10d+gloo"});  // the first group is the world
  writer->set_rank(rank, size);
  real_process_group(self, store, rank, size, options);
}

void close_phase(RawRecord*& phase) {
  if (phase != nullptr) writer->end(phase);
  phase = nullptr;
}

// Called by DDP at each forward pass that will end in a gradient all-reduce: a step begins.
void wrap_prepare_for_forward(void* self) {
  close_phase(backward);
  close_phase(forward);
  writer->instant(EventKind::Step, 0, 0, steps++);
  real_prepare_for_forward(self);
  forward = writer->begin(EventKind::Phase, static_cast<std::uint8_t>(PhaseKind::Forward), 0, 0, 0, 0, 0);
}
void wrap_prepare_for_backward(void* self, const void* outputs) {
  close_phase(forward);
  real_prepare_for_backward(self, outputs);
  if (backward == nullptr)
    backward = writer->begin(EventKind::Phase, static_cast<std::uint8_t>(PhaseKind::Backward), 0, 0, 0, 0, 0);
}
// Here the program waits for the all-reduces that its pool threads run: the exposed communication of the
// step.
void wrap_finalize_backward(void* self) {
  close_phase(backward);
  OBSERVED(writer->begin(EventKind::Wait, static_cast<std::uint8_t>(WaitKind::GradientSync), 0, 0, 0, 0, 0),
           real_finalize_backward(self));
}
bool wrap_wait(void* self, std::int64_t timeout_ms) {
  RawRecord* const event =
      writer->begin(EventKind::Wait, static_cast<std::uint8_t>(WaitKind::Request), 0, 0, 0, 0, 0);
  const bool done = real_wait(self, timeout_ms);
  writer->end(event);
  return done;
}

#define WRAP(symbol, name) \
  { symbol, reinterpret_cast<void*>(&wrap_##name), reinterpret_cast<void**>(&real_##name) }
const Wrapper kWrappers[] = {
    WRAP("_ZN4gloo9allreduceERKNS_16AllreduceOptionsE", allreduce),
    WRAP("_ZN4gloo9broadcastERNS_16BroadcastOptionsE", broadcast),
    WRAP("_ZN4gloo9allgatherERNS_16AllgatherOptionsE", allgather),
    WRAP("_ZN4gloo10allgathervERNS_17AllgathervOptionsE", allgatherv),
    WRAP("_ZN4gloo7barrierERNS_14BarrierOptionsE", barrier),
    WRAP("_ZN4gloo6reduceERNS_13ReduceOptionsE", reduce),
    WRAP("_ZN4gloo6gatherERNS_13GatherOptionsE", gather),
    WRAP("_ZN4gloo7scatterERNS_14ScatterOptionsE", scatter),
    WRAP("_ZN4gloo8alltoallERNS_15AlltoallOptionsE", alltoall),
    WRAP("_ZN4gloo9alltoallvERNS_16AlltoallvOptionsE", alltoallv),
    WRAP("_ZN4c10d16ProcessGroupGlooC1ERKN3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_target_"
         "default_null_"
         "typeIS3_EEEEiiNS2_INS0_7OptionsENS5_ISA_EEEE",
         process_group),
    WRAP("_ZN4c10d7Reducer19prepare_for_forwardEv", prepare_for_forward),
    WRAP("_ZN4c10d7Reducer20prepare_for_backwardERKSt6vectorIN2at6TensorESaIS3_EE", prepare_for_backward),
    WRAP("_ZN4c10d7Reducer17finalize_backwardEv", finalize_backward),
    WRAP("_ZN4c10d4Work4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE", wait),
};
const TypedTable kTable = {kTypedAbi, sizeof kWrappers / sizeof kWrappers[0], kWrappers};

}  // namespace

extern "C" __attribute__((visibility("default"))) const TypedTable* cox_typed_attach(const Host* from);

const TypedTable* cox_typed_attach(const Host* from) {
  if (from == nullptr || from->abi != kTypedAbi) return nullptr;
  host = from;
  writer = from->writer;
  main_thread = static_cast<std::uint32_t>(getpid());
  under_torch = host->find_real("_ZN4c10d7Reducer19prepare_for_forwardEv") != nullptr;
  return &kTable;
}
