// SPDX-License-Identifier: Apache-2.0
// Wrappers of Gloo's collectives, and the table of everything that this object wraps. Links to neither Gloo
// nor PyTorch. No local object has a destructor here: an exception of Gloo passes through and leaves the
// record open, as a call that did not return.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "guest/gloo/abi.hpp"
#include "guest/gloo/state.hpp"
#include "guest/torch/groups.hpp"

namespace cox::observe::guest::gloo {

const Host* host = nullptr;
const WriterApi* writer = nullptr;
const PaceApi* pacing = nullptr;
CommTable contexts;
Occurrences occurrences;
std::uint32_t main_thread = 0;
bool under_torch = false;
std::int32_t world_size = 0;

}  // namespace cox::observe::guest::gloo

namespace {

using namespace cox::observe::guest;
using namespace cox::observe::guest::gloo;
using cox::model::Collective;
using cox::trace::EventKind;
using cox::trace::RawRecord;
using namespace cox::trace;  // RecordFlag values
namespace abi = cox::observe::guest::gloo_abi;

// Names that are asked for more than once.
constexpr char kAllreduce[] = "_ZN4gloo9allreduceERKNS_16AllreduceOptionsE";
constexpr char kContextConstructor[] = "_ZN4gloo10rendezvous7ContextC1Eiii";
constexpr char kGroupConstructor[] =
    "_ZN4c10d16ProcessGroupGlooC1ERKN3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_target_default_null_typeIS3_EEEEiiNS2_INS0_7OptionsENS5_ISA_EEEE";
constexpr char kPrefixStoreConstructor[] =
    "_ZN4c10d11PrefixStoreC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEN3c1013intrusive_ptrINS_5StoreENS9_6detail34intrusive_target_default_null_typeISB_EEEE";
constexpr char kNextTag[] = "_ZN4c10d16ProcessGroupGloo7nextTagEv";
constexpr char kSubmitAllreduce[] =
    "_ZN4c10d16ProcessGroupGloo9allreduceERSt6vectorIN2at6TensorESaIS3_EERKNS_16AllreduceOptionsE";
constexpr char kPrepareForForward[] = "_ZN4c10d7Reducer19prepare_for_forwardEv";
constexpr char kAutogradHook[] = "_ZN4c10d7Reducer13autograd_hookEm";
constexpr char kAddCallback[] = "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE";
constexpr char kFinalizeBackward[] = "_ZN4c10d7Reducer17finalize_backwardEv";

// A context that no process group made is a communicator of its own. Only those as large as the world have
// members that can be told from here.
void describe(const abi::Context& context, Comm& slot) {
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
    WRAP(kContextConstructor, context),
    WRAP(kGroupConstructor, process_group),
    WRAP(kPrefixStoreConstructor, prefix_store),
    WRAP(kNextTag, next_tag),
    WRAP("_ZN4c10d16ProcessGroupGloo16monitoredBarrierERKNS_14BarrierOptionsEb", monitored_barrier),
    WRAP("_ZN4c10d16ProcessGroupGloo7runLoopEi", run_loop),
    WRAP("_ZN4c10d16ProcessGroupGloo9broadcastERSt6vectorIN2at6TensorESaIS3_EERKNS_16BroadcastOptionsE",
         submit_broadcast),
    WRAP(kSubmitAllreduce, submit_allreduce),
    WRAP(
        "_ZN4c10d16ProcessGroupGloo19allreduce_coalescedERSt6vectorIN2at6TensorESaIS3_EERKNS_25AllreduceCoalescedOptionsE",
        submit_allreduce_coalesced),
    WRAP("_ZN4c10d16ProcessGroupGloo6reduceERSt6vectorIN2at6TensorESaIS3_EERKNS_13ReduceOptionsE",
         submit_reduce),
    WRAP(
        "_ZN4c10d16ProcessGroupGloo9allgatherERSt6vectorIS1_IN2at6TensorESaIS3_EESaIS5_EERS5_RKNS_16AllgatherOptionsE",
        submit_allgather),
    WRAP(
        "_ZN4c10d16ProcessGroupGloo19allgather_coalescedERSt6vectorIS1_IN2at6TensorESaIS3_EESaIS5_EERS5_RKNS_16AllgatherOptionsE",
        submit_allgather_coalesced),
    WRAP(
        "_ZN4c10d16ProcessGroupGloo6gatherERSt6vectorIS1_IN2at6TensorESaIS3_EESaIS5_EERS5_RKNS_13GatherOptionsE",
        submit_gather),
    WRAP(
        "_ZN4c10d16ProcessGroupGloo7scatterERSt6vectorIN2at6TensorESaIS3_EERS1_IS5_SaIS5_EERKNS_14ScatterOptionsE",
        submit_scatter),
    WRAP(
        "_ZN4c10d16ProcessGroupGloo13alltoall_baseERN2at6TensorES3_RSt6vectorIlSaIlEES7_RKNS_15AllToAllOptionsE",
        submit_alltoall),
    WRAP("_ZN4c10d16ProcessGroupGloo7barrierERKNS_14BarrierOptionsE", submit_barrier),
    WRAP(kPrepareForForward, prepare_for_forward),
    WRAP("_ZN4c10d7Reducer20prepare_for_backwardERKSt6vectorIN2at6TensorESaIS3_EE", prepare_for_backward),
    WRAP(kAutogradHook, autograd_hook),
    WRAP(kFinalizeBackward, finalize_backward),
    WRAP("_ZN4c10d4Work4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE", wait),
    // Only where the ranges are laid out as we know: the last rows, see cox_typed_attach.
    WRAP("_ZN2at14RecordFunctionC1ENS_11RecordScopeE", make_range),
    WRAP(kAddCallback, add_callback),
};
constexpr std::uint32_t kRangeRows = 2;
TypedTable table = {kTypedAbi, sizeof kWrappers / sizeof kWrappers[0], kWrappers};

// What is lost where a PyTorch lacks a symbol.
constexpr struct {
  const char* symbol;
  const char* loss;
} kExpected[] = {
    {kAllreduce, "this PyTorch has Gloo linked in privately: collectives are not seen as they execute"},
    {kContextConstructor, "this PyTorch does not show which process group a Gloo context belongs to"},
    {kPrefixStoreConstructor,
     "this PyTorch does not show the store prefix of a process group: groups smaller than the world are "
     "recorded without their members"},
    {kNextTag, "this PyTorch does not show the number of an operation: submissions are not recorded"},
    {kSubmitAllreduce, "this PyTorch does not show where collectives are submitted: that is not recorded"},
    {kPrepareForForward, "this PyTorch does not show DDP's forward passes: steps are not marked"},
    {kAutogradHook,
     "this PyTorch does not show when gradients are ready: backward passes without synchronisation are not recorded"},
    {kFinalizeBackward, "this PyTorch does not show where DDP waits for gradients: that is not recorded"},
};

}  // namespace

std::int64_t cox::observe::guest::gloo::take_background_bytes() noexcept {
  return static_cast<std::int64_t>(background_bytes.exchange(0, std::memory_order_relaxed)) - 1;
}

void cox::observe::guest::gloo::inspect_torch(const void* anchor) noexcept {
  static bool done = false;  // process groups are made by one thread at a time
  Dl_info info{};
  if (done || dladdr(anchor, &info) == 0) return;
  done = true;
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  for (const auto& expected : kExpected)
    if (dlsym(library, expected.symbol) == nullptr) writer->note(expected.loss);
  start_ranges(library, info.dli_fname);
  dlclose(library);
}

extern "C" __attribute__((visibility("default"))) const TypedTable* cox_typed_attach(const Host* from);

const TypedTable* cox_typed_attach(const Host* from) {
  if (from == nullptr || from->abi != kTypedAbi) return nullptr;
  host = from;
  writer = from->writer;
  pacing = from->pace;
  main_thread = static_cast<std::uint32_t>(getpid());
  under_torch = host->find_real(kGroupConstructor) != nullptr;
  Dl_info info{};
  const void* add = host->find_real(kAddCallback);
  if (add == nullptr || dladdr(add, &info) == 0 || !knows_ranges(info.dli_fname)) table.count -= kRangeRows;
  return &table;
}
