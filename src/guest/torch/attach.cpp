// SPDX-License-Identifier: Apache-2.0
// Entry of the typed object for Gloo and PyTorch: the table of everything that it wraps, and what is lost
// where a PyTorch lacks a symbol. Links to neither library.
#include <dlfcn.h>
#include <unistd.h>

#include "guest/gloo/state.hpp"
#include "guest/torch/groups.hpp"
#include "guest/torch/state.hpp"
#include "guest/torch/version.hpp"

namespace cox::guest::torch {
namespace {

// Names that are asked for more than once.
constexpr char kContextConstructor[] = "_ZN4gloo10rendezvous7ContextC1Eiii";
constexpr char kGroupConstructor[] =
    "_ZN4c10d16ProcessGroupGlooC1ERKN3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_target_default_null_typeIS3_EEEEiiNS2_INS0_7OptionsENS5_ISA_EEEE";
constexpr char kPrefixStoreConstructor[] =
    "_ZN4c10d11PrefixStoreC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEN3c1013intrusive_ptrINS_5StoreENS9_6detail34intrusive_target_default_null_typeISB_EEEE";
// The same with the string by value (2.x): what is passed is its address in both.
constexpr char kPrefixStoreByValue[] =
    "_ZN4c10d11PrefixStoreC1ENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEN3c1013intrusive_ptrINS_5StoreENS7_6detail34intrusive_target_default_null_typeIS9_EEEE";
constexpr char kNextTag[] = "_ZN4c10d16ProcessGroupGloo7nextTagEv";
constexpr char kSubmitAllreduce[] =
    "_ZN4c10d16ProcessGroupGloo9allreduceERSt6vectorIN2at6TensorESaIS3_EERKNS_16AllreduceOptionsE";
constexpr char kPrepareForForward[] = "_ZN4c10d7Reducer19prepare_for_forwardEv";
constexpr char kAutogradHook[] = "_ZN4c10d7Reducer13autograd_hookEm";
constexpr char kAddCallback[] = "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE";
constexpr char kFinalizeBackward[] = "_ZN4c10d7Reducer17finalize_backwardEv";

#define WRAP(symbol, name) \
  { symbol, reinterpret_cast<void*>(&wrap_##name), reinterpret_cast<void**>(&real_##name) }
const Wrapper kWrappers[] = {
    WRAP(kContextConstructor, context),
    WRAP(kGroupConstructor, process_group),
    WRAP(kPrefixStoreConstructor, prefix_store),
    WRAP(kPrefixStoreByValue, prefix_store),
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
    WRAP(  // what 2.14 calls it
        "_ZN4c10d16ProcessGroupGloo17all_to_all_singleERN2at6TensorES3_RSt6vectorIlSaIlEES7_RKNS_15AllToAllOptionsE",
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

constexpr std::size_t kRangeRows = 2;
constexpr std::size_t kRows = sizeof kWrappers / sizeof kWrappers[0];
#undef WRAP

constexpr std::size_t kMostWrappers = 64;
Wrapper all_wrappers[kMostWrappers];
TypedTable table{kTypedAbi, 0, all_wrappers};

bool add(Wrappers more) noexcept {
  if (table.count + more.count > kMostWrappers) return false;
  for (std::size_t i = 0; i < more.count; ++i) all_wrappers[table.count++] = more.first[i];
  return true;
}

// What is lost where a PyTorch lacks a symbol.
constexpr struct {
  const char* symbol;
  const char* loss;
  const char* or_symbol = nullptr;  // has the same elsewhere
} kExpected[] = {
    {gloo::kAllreduce, "this PyTorch has Gloo linked in privately: collectives are not seen as they execute"},
    {kContextConstructor, "this PyTorch does not show which process group a Gloo context belongs to"},
    {kPrefixStoreConstructor,
     "this PyTorch does not show the store prefix of a process group: groups smaller than the world are "
     "recorded without their members",
     kPrefixStoreByValue},
    {kNextTag, "this PyTorch does not show the number of an operation: submissions are not recorded"},
    {kSubmitAllreduce, "this PyTorch does not show where collectives are submitted: that is not recorded"},
    {kPrepareForForward, "this PyTorch does not show DDP's forward passes: steps are not marked"},
    {kAutogradHook,
     "this PyTorch does not show when gradients are ready: backward passes without synchronisation are not recorded"},
    {kFinalizeBackward, "this PyTorch does not show where DDP waits for gradients: that is not recorded"},
};

}  // namespace

void inspect(const void* anchor) noexcept {
  static bool done = false;  // process groups are made by one thread at a time
  Dl_info info{};
  if (done || dladdr(anchor, &info) == 0) return;
  done = true;
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  for (const auto& expected : kExpected)
    if (dlsym(library, expected.symbol) == nullptr &&
        (expected.or_symbol == nullptr || dlsym(library, expected.or_symbol) == nullptr))
      gloo::writer->note(expected.loss);
  start_ranges(library, info.dli_fname);
  dlclose(library);
}

}  // namespace cox::guest::torch

extern "C" __attribute__((visibility("default"))) const cox::guest::TypedTable* cox_typed_attach(
    const cox::guest::Host* from);

const cox::guest::TypedTable* cox_typed_attach(const cox::guest::Host* from) {
  using namespace cox::guest;
  using namespace cox::guest::torch;
  if (from == nullptr || from->abi != kTypedAbi) return nullptr;
  gloo::host = from;
  gloo::writer = from->writer;
  gloo::pacing = from->pace;
  gloo::main_thread = static_cast<std::uint32_t>(getpid());
  gloo::under_torch = from->find_real(kGroupConstructor) != nullptr;
  Dl_info info{};
  const void* callback = from->find_real(kAddCallback);
  const bool has_ranges = callback != nullptr && dladdr(callback, &info) != 0 && knows_ranges(info.dli_fname);
  table.count = 0;
  table.settle = settle;
  const bool good =
      add(gloo::collective_wrappers()) && add({kWrappers, has_ranges ? kRows : kRows - kRangeRows});
  return good ? &table : nullptr;
}
