// SPDX-License-Identifier: Apache-2.0
// PyTorch's process groups over Gloo: which communicator a Gloo context belongs to, what is submitted to it
// and who waits for it. Tensors and options are never looked into: arguments pass through as they came. No
// local object has a destructor here, so exceptions of PyTorch pass through.
#include "guest/torch/groups.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cox/base/hash.hpp"

#include "guest/gloo/abi.hpp"
#include "guest/torch/abi.hpp"
#include "guest/torch/state.hpp"

namespace cox::guest::torch {

using model::Collective;
using trace::EventKind;
using trace::RawRecord;
using trace::WaitKind;
namespace abi = c10d_abi;
using gloo::contexts;
using gloo::host;
using gloo::occurrences;
using gloo::world_size;

namespace {

CommTable groups;  // by c10d::ProcessGroupGloo

// Key prefixes of the stores through which a group's members find each other. Two groups that share a store
// and a prefix would overwrite each other's keys, and members of one group must agree on both: the chain of
// prefixes is the group's name all over the job.
struct Prefix {
  const void* store = nullptr;
  std::uint64_t chain = 0;  // hash over the prefixes from the innermost store out
  char name[48] = {};       // of the group: the last prefix that is no kind of device
};
constexpr std::size_t kPrefixes = 256;
Prefix prefixes[kPrefixes];
std::size_t prefix_count = 0;
std::atomic<bool> prefix_lock{false};

std::uint64_t hash_bytes(std::uint64_t hash, const void* bytes, std::size_t size) {
  Fnv1a longer(hash);
  longer.add({static_cast<const char*>(bytes), size});
  longer.add_number(0xff, 1);  // so that "a", "bc" and "ab", "c" differ
  return longer.value();
}

// Whether the object is a PrefixStore still: another store may have got the address of a dead one.
bool is_prefix_store(const void* store) {
  static const char* const vtable = static_cast<const char*>(host->find_real("_ZTVN4c10d11PrefixStoreE"));
  constexpr std::size_t kFirstEntry = 16;
  return vtable == nullptr || *static_cast<const char* const*>(store) == vtable + kFirstEntry;
}

// The newest entry of this store; call with the lock held.
const Prefix* newest_of(const void* store) {
  const std::size_t kept = prefix_count < kPrefixes ? prefix_count : kPrefixes;
  for (std::size_t back = 1; back <= kept; ++back) {
    const Prefix& p = prefixes[(prefix_count - back) % kPrefixes];
    if (p.store == store) return is_prefix_store(store) ? &p : nullptr;
  }
  return nullptr;
}

void lock_prefixes() {
  while (prefix_lock.exchange(true, std::memory_order_acquire)) sched_yield();
}
void unlock_prefixes() {
  prefix_lock.store(false, std::memory_order_release);
}

bool is(const abi::String& text, const char* other) {
  return text.size == strlen(other) && memcmp(text.data, other, text.size) == 0;
}

// PyTorch 2 ends a prefix with a slash, and gives each kind of device a store of its own within the group's.
void name_group(Prefix& fresh, const Prefix* below, const abi::String& prefix) {
  if (below != nullptr && (is(prefix, "cpu/") || is(prefix, "cuda/"))) {
    memcpy(fresh.name, below->name, sizeof fresh.name);
    return;
  }
  const bool slash = prefix.size > 0 && prefix.data[prefix.size - 1] == '/';
  const std::size_t length = prefix.size - (slash ? 1 : 0);
  memcpy(fresh.name, prefix.data, length < sizeof fresh.name ? length : sizeof fresh.name - 1);
}

void remember_prefix(const void* store, const abi::String& prefix, const void* inner) {
  lock_prefixes();
  const Prefix* below = newest_of(inner);
  Prefix fresh{
      .store = store,
      .chain = hash_bytes(below == nullptr ? Fnv1a().value() : below->chain, prefix.data, prefix.size)};
  name_group(fresh, below, prefix);
  prefixes[prefix_count++ % kPrefixes] = fresh;
  unlock_prefixes();
}

// Identity of the group that meets in this store, equal on all members; 0 where the store has no prefix.
std::uint64_t identity_of(const void* store, std::int32_t size, char (&name)[64]) {
  name[0] = 0;
  lock_prefixes();
  const Prefix* found = newest_of(store);
  std::uint64_t chain = 0;
  if (found != nullptr) {
    chain = found->chain;
    snprintf(name, sizeof name, "group %s", found->name);
  }
  unlock_prefixes();
  if (found == nullptr) return 0;
  chain = hash_bytes(chain, &size, sizeof size);
  const std::uint32_t again = occurrences.next(chain);  // destroyed and made anew, by all members
  if (again == Occurrences::kUnknown) return 0;
  const std::uint64_t identity = hash_bytes(chain, &again, sizeof again);
  return identity == 0 ? 1 : identity;
}

void describe_group(const void* store, std::int32_t rank, std::int32_t size, Comm& slot) {
  slot.size = size;
  slot.rank = rank;
  const bool first = world_size == 0;
  if (first) world_size = size;  // the first group of a process is the job's
  char name[64];
  const std::uint64_t identity = identity_of(store, size, name);
  if (identity == 0 && size != world_size)
    writer->note("a process group without a store prefix is recorded without its members");
  std::int32_t* members = nullptr;
  if (size == world_size && size > 0)
    members = static_cast<std::int32_t*>(malloc(static_cast<std::size_t>(size) * sizeof(std::int32_t)));
  for (std::int32_t i = 0; members != nullptr && i < size; ++i) members[i] = i;
  slot.number = writer->define_communicator(
      identity != 0 || members == nullptr
          ? identity
          : writer->group_identity(members, static_cast<std::size_t>(size),
                                   occurrences.next(static_cast<std::uint64_t>(size))),
      size, rank, members, members == nullptr ? 0 : static_cast<std::uint32_t>(size), first ? "world" : name);
  free(members);
}

// The group whose constructor runs on this thread: contexts made meanwhile are its own.
thread_local const Comm* under_construction = nullptr;

// Between a collective method and the number that it takes.
struct Submission {
  const void* const* frame = nullptr;  // of the collective method that runs
  const void* returns_to = nullptr;    // as its frame says
  bool armed = false;
  Collective op{};
  Submitted last;
  bool in_monitored_barrier = false;
  std::size_t open = 0;         // of `barriers`
  RawRecord* barriers[2] = {};  // the monitored barrier takes two numbers
};
thread_local Submission submission;
thread_local bool is_worker = false;  // of a process group: what it waits for, the program does not

// Which collective a work belongs to, so that a wait can name it. Overwritten by later ones; nothing is ever
// looked up in a work itself.
struct WorkEntry {
  std::atomic<const void*> work{nullptr};
  std::atomic<std::uint64_t> what{0};  // communicator in the upper half, number in the lower one
};
// Works that fall into one set are kept beside each other until there are more than it has room for.
struct WorkSet {
  WorkEntry entries[4];
  std::atomic<std::uint32_t> oldest{0};
};
constexpr std::size_t kWorkSets = 256;
WorkSet works[kWorkSets];

WorkSet& set_of(const void* work) {
  return works[(reinterpret_cast<std::uintptr_t>(work) >> 4) * 0x9e3779b97f4a7c15 >> 56];
}

WorkEntry* find_work(WorkSet& set, const void* work) {
  for (WorkEntry& entry : set.entries)
    if (entry.work.load(std::memory_order_acquire) == work) return &entry;
  return nullptr;
}

void remember_work(const abi::WorkPointer* result) {
  const Submitted what = submission.last;
  if (result->get == nullptr || what.comm == 0) return;
  WorkSet& set = set_of(result->get);
  WorkEntry* entry = find_work(set, result->get);
  if (entry == nullptr) entry = &set.entries[set.oldest.fetch_add(1, std::memory_order_relaxed) % 4];
  entry->work.store(nullptr, std::memory_order_relaxed);
  entry->what.store(std::uint64_t{what.comm} << 32 | what.tag, std::memory_order_release);
  entry->work.store(result->get, std::memory_order_release);
}

void enter_paced(const void* group) {
  if (const Comm* comm = groups.find(reinterpret_cast<std::uintptr_t>(group))) pacing->enter(comm->number);
}

}  // namespace

Submitted last_submitted() noexcept {
  return submission.last;
}

// A method that threw did not say that it has ended. Its frame is gone then: below ours, or another function's.
bool is_submitting() noexcept {
  const void* const* frame = submission.frame;
  return frame != nullptr && static_cast<const void*>(frame) > __builtin_frame_address(0) &&
         frame[1] == submission.returns_to;
}

void (*real_prefix_store)(void* self, const void* prefix, void* inner) = nullptr;
void (*real_process_group)(void* self, void* store, int rank, int size, void* options) = nullptr;
void (*real_context)(void* self, int rank, int size, int base) = nullptr;
std::uint32_t (*real_next_tag)(void* self) = nullptr;
void (*real_monitored_barrier)(void* self, const void* options, bool wait_for_all) = nullptr;
void (*real_run_loop)(void* self, int worker) = nullptr;
bool (*real_wait)(void* self, std::int64_t timeout_ms) = nullptr;

void wrap_prefix_store(void* self, const void* prefix, void* inner) {
  const void* below = static_cast<const abi::StorePointer*>(inner)->get;  // the constructor takes it over
  // First: a constructor that takes the string by value leaves nothing of it.
  remember_prefix(self, *static_cast<const abi::String*>(prefix), below);
  real_prefix_store(self, prefix, inner);
}

void wrap_process_group(void* self, void* store, int rank, int size, void* options) {
  writer->open({.rank = rank, .world_size = size, .library = "c10d+gloo"});  // the first group is the world
  writer->set_rank(rank, size);
  inspect(reinterpret_cast<const void*>(real_process_group));
  const auto key = reinterpret_cast<std::uintptr_t>(self);
  const void* meets_in = static_cast<const abi::StorePointer*>(store)->get;
  groups.erase(key);  // a group destroyed may have had this address
  under_construction = groups.insert(key, [&](Comm& slot) { describe_group(meets_in, rank, size, slot); });
  real_process_group(self, store, rank, size, options);
  under_construction = nullptr;
}

void wrap_context(void* self, int rank, int size, int base) {
  real_context(self, rank, size, base);
  const auto key = reinterpret_cast<std::uintptr_t>(self) + gloo_abi::kNumbersInRendezvous;
  contexts.erase(key);  // a context destroyed may have had this address
  const Comm* group = under_construction;
  if (group == nullptr) return;
  contexts.insert(key, [group](Comm& slot) {
    slot.number = group->number;
    slot.size = group->size;
    slot.rank = group->rank;
  });
}

// Called by each collective method once it knows that it will submit: the number is the one that
// the workers' collective carries.
std::uint32_t wrap_next_tag(void* self) {
  const std::uint32_t tag = real_next_tag(self);
  if (submission.in_monitored_barrier && submission.open < 2) {
    const Comm* group = groups.find(reinterpret_cast<std::uintptr_t>(self));
    if (pacing != nullptr && group != nullptr) pacing->keep_order(group->number, tag);
    submission.barriers[submission.open++] =
        writer->begin(EventKind::Collective, static_cast<std::uint8_t>(Collective::Barrier), trace::kTagged,
                      group == nullptr ? 0 : group->number, tag, 0, 0);
  }
  if (!submission.armed) return tag;
  submission.armed = false;
  const Comm* group = groups.find(reinterpret_cast<std::uintptr_t>(self));
  submission.last = {group == nullptr ? 0 : group->number, tag};
  RawRecord* const record = writer->begin(EventKind::Submit, static_cast<std::uint8_t>(submission.op),
                                          trace::kTagged, submission.last.comm, tag, 0, 0);
  record->end = record->begin;
  return tag;
}

void wrap_run_loop(void* self, int worker) {
  is_worker = true;
  real_run_loop(self, worker);
}

// A barrier of messages, run where it is called, that takes two numbers: both are recorded,
// so that no number is missing.
void wrap_monitored_barrier(void* self, const void* options, bool wait_for_all) {
  submission.armed = false;
  submission.in_monitored_barrier = true;
  submission.open = 0;
  real_monitored_barrier(self, options, wait_for_all);
  for (std::size_t i = 0; i < submission.open; ++i) writer->end(submission.barriers[i]);
  submission.in_monitored_barrier = false;
}

bool wrap_wait(void* self, std::int64_t timeout_ms) {
  if (is_worker)
    return real_wait(self, timeout_ms);  // a barrier waits there for what was submitted before it
  const WorkEntry* entry = find_work(set_of(self), self);
  const std::uint64_t what = entry == nullptr ? 0 : entry->what.load(std::memory_order_acquire);
  RawRecord* const record =
      writer->begin(EventKind::Wait, static_cast<std::uint8_t>(WaitKind::Request), 0,
                    static_cast<std::uint32_t>(what >> 32), static_cast<std::uint32_t>(what), 0, 0);
  const bool done = real_wait(self, timeout_ms);
  writer->end(record);
  if (pacing != nullptr && done)
    pacing->leave(record->comm, record->begin, record->end, gloo::take_background_bytes(),
                  Boundary::Synchronisation);
  return done;
}

// The collective methods: the result comes back through a hidden pointer, everything else passes through.
// NOLINTBEGIN(bugprone-macro-parentheses): parameters cannot stand in more of them
#define COX_SUBMIT(name, collective, PARAMETERS, ARGUMENTS)                         \
  void*(*real_##name)PARAMETERS = nullptr;                                          \
  void* wrap_##name PARAMETERS {                                                    \
    if (pacing != nullptr) enter_paced(self);                                       \
    submission.op = Collective::collective;                                         \
    submission.last = {};                                                           \
    submission.in_monitored_barrier = false;                                        \
    submission.armed = true;                                                        \
    submission.frame = static_cast<const void* const*>(__builtin_frame_address(0)); \
    submission.returns_to = __builtin_return_address(0);                            \
    real_##name ARGUMENTS;                                                          \
    submission.frame = nullptr;                                                     \
    submission.armed = false;                                                       \
    remember_work(static_cast<const abi::WorkPointer*>(work));                      \
    return work;                                                                    \
  }
#include "guest/torch/submit.def"
#undef COX_SUBMIT
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace cox::guest::torch
