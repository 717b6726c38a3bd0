// SPDX-License-Identifier: Apache-2.0
// The one object that is preloaded: libc only, no constructor, no I/O until a hooked function is called for
// the first time. Then it finds the real library and loads the typed object for its ABI; where it cannot, or
// is not wanted, the hook becomes a direct jump to the real function.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "cox/guest/launcher.hpp"
#include "cox/guest/policy.hpp"
#include "cox/guest/writer.hpp"

#include "guest/pacing/one_look.hpp"
#include "guest/pacing/pacing.hpp"
#include "guest/pacing/priority.hpp"
#include "guest/preload/bypass.hpp"
#include "guest/preload/exit.hpp"
#include "guest/preload/lookup.hpp"
#include "guest/preload/mark_api.hpp"
#include "guest/seam/typed.hpp"
#include "guest/writer/at_fork.hpp"
#include "guest/writer/own_arithmetic.hpp"

namespace cox::guest {
namespace {

enum Family : std::uint8_t { Mpi, Gloo, C10d };
constexpr std::size_t kFamilies = 3;

constexpr struct {
  Family family;
  const char* symbol;
} kHooks[] = {
#define COX_HOOK(family, symbol) {family, #symbol},
#define COX_COUNTED(kind, symbol) {Mpi, #symbol},
#include "hooks.inc"
#undef COX_COUNTED
#undef COX_HOOK
};
constexpr std::size_t kHookCount = sizeof kHooks / sizeof *kHooks;

// Those that are only counted come last.
constexpr std::size_t kCounted = 0
#define COX_HOOK(family, symbol)
#define COX_COUNTED(kind, symbol) +1  // NOLINT(bugprone-macro-parentheses): it goes on a sum
#include "hooks.inc"
#undef COX_COUNTED
#undef COX_HOOK
    ;
constexpr std::size_t kFirstCounted = kHookCount - kCounted;

using trace::Unobserved;
// stubs.S has these numbers, too.
static_assert(static_cast<int>(Unobserved::Sessions) == 0 && static_cast<int>(Unobserved::OneSided) == 1 &&
              static_cast<int>(Unobserved::Files) == 2 && static_cast<int>(Unobserved::LargeCounts) == 3 &&
              static_cast<int>(Unobserved::FaultTolerance) == 4 &&
              static_cast<int>(Unobserved::Messages) == 5 && static_cast<int>(Unobserved::Processes) == 6);

}  // namespace
}  // namespace cox::guest

extern "C" {
extern void* cox_slots[] __attribute__((visibility("hidden")));
// NOLINTNEXTLINE(readability-identifier-naming): beside the others
extern void* const cox_counting[] __attribute__((visibility("hidden")));
extern void* cox_counted[] __attribute__((visibility("hidden")));
extern std::uint64_t* cox_counters __attribute__((visibility("hidden")));
void* cox_resolve(std::size_t index, const void* caller) __attribute__((visibility("hidden")));
}

namespace cox::guest {
namespace {

// A function that the process asks for although no library has it.
int missing_function() {
  return -1;
}

bool look_whether_wanted() {
  // First, and where it is set alone: whoever switches us off wants nothing of us.
  const char* disable = getenv("COX_DISABLE");
  if (disable != nullptr && strcmp(disable, "1") == 0) return false;
  const char* dir = getenv("COX_DIR");
  return dir != nullptr && *dir != 0 && !is_of_another_job();
}

// Whether this process is to be observed, asked once: what a program does to its environment later does not
// change that.
bool wanted() {
  static std::atomic<int> answer{-1};
  int known = answer.load(std::memory_order_acquire);
  if (known < 0) {
    known = look_whether_wanted() ? 1 : 0;
    answer.store(known, std::memory_order_release);
  }
  return known == 1;
}

const AdminPolicy& policy() {
  static constinit AdminPolicy known;
  static constinit OneLook look;
  look.take([]() noexcept { read_policy(kPolicyFile, known); });
  return known;
}

// The folder of the Run, where the administrator lets it lie.
const char* allowed_folder() {
  const char* dir = getenv("COX_DIR");
  if (policy().trouble != nullptr) return nullptr;
  if (policy().folder_count == 0) return dir;
  static char real[PATH_MAX];
  return realpath(dir, real) != nullptr && allows_folder(policy(), real) ? dir : nullptr;
}

bool is_pacing_forbidden() {
  const char* asked = getenv("COX_PACE");
  return asked != nullptr && *asked != 0 && (policy().trouble != nullptr || !policy().pacing);
}

// The controller, where one was asked for and may be used.
const PaceApi* allowed_pacing() {
  return is_pacing_forbidden() ? nullptr : pace_api(find_data);
}

// The file that `cox detach` makes.
char detach_file[PATH_MAX];

bool is_detached() noexcept {
  return detach_file[0] != 0 && access(detach_file, F_OK) == 0;
}

// Fills in what the launcher's environment tells and the library did not: the library is the authority.
Identity with_environment(Identity id) {
  static char job[64];  // copied by the writer; threads that get here together write the same
  const Launcher* launcher = find_launcher();
  const LauncherPlace place = place_of(launcher);
  if (id.rank < 0) id.rank = place.rank;
  if (id.world_size < 0) id.world_size = place.world_size;
  if (id.local_rank < 0) id.local_rank = place.local_rank;
  if (id.local_size < 0) id.local_size = place.local_size;
  if (id.node < 0) id.node = place.node;
  id.attempt = place.attempt;
  if (id.job == nullptr) {
    write_job(launcher, job, sizeof job);
    id.job = job;
  }
  if (id.launcher == nullptr) id.launcher = place.launcher == nullptr ? "none" : place.launcher;
  return id;
}

void take_hooks_out() noexcept;
std::atomic<pid_t> recording_process{0};

// Calls that are only counted: here until there is a file, and in a child of fork.
std::uint64_t own_counters[trace::kUnobservedRoom];

}  // namespace
}  // namespace cox::guest

std::uint64_t* cox_counters = cox::guest::own_counters;

namespace cox::guest {
namespace {

void count_here() {
  cox_counters = own_counters;
}
// From now on in the file, with what was counted before.
void count_in_file() noexcept {
  std::uint64_t* const counters = unobserved_calls();
  if (counters == nullptr) return;
  at_fork_in_child(count_here);
  std::atomic_ref<std::uint64_t*>(cox_counters).store(counters, std::memory_order_release);
  for (std::size_t i = 0; i < trace::kUnobservedRoom; ++i)
    std::atomic_ref<std::uint64_t>(counters[i])
        .fetch_add(std::atomic_ref<std::uint64_t>(own_counters[i]).exchange(0));
}
// Process in which a call was counted first; 0 = none.
std::atomic<pid_t> counting_process{0};
bool counted_any() noexcept {
  if (counting_process.load() != getpid()) return false;
  for (const std::uint64_t& n : own_counters)
    if (n != 0) return true;
  return false;
}

// A percentage from the environment as a ratio.
double share_or(const char* text, double otherwise) {
  if (text == nullptr || *text == 0) return otherwise;
  char* end = nullptr;
  const double percent = strtod(text, &end);
  return *end == 0 && percent > 0 ? percent / 100 : otherwise;
}

std::uint64_t bytes_or(const char* text, std::uint64_t otherwise) {
  if (text == nullptr || *text == 0) return otherwise;
  char* end = nullptr;
  const unsigned long long bytes = strtoull(text, &end, 10);
  return *end == 0 ? bytes : otherwise;
}

// The lesser of two bounds, of which 0 is none.
std::uint64_t tighter(std::uint64_t a, std::uint64_t b) {
  return a == 0 || (b != 0 && b < a) ? b : a;
}

// What this process may write: as asked for and as allowed, by itself and as its equal part of what the job may. False
// where that part is less than a file needs.
bool bound_size(std::int32_t world_size, std::uint64_t& max_bytes) {
  max_bytes = tighter(bytes_or(getenv("COX_MAX_SIZE"), max_bytes), policy().max_size_bytes);
  const std::uint64_t job = tighter(bytes_or(getenv("COX_MAX_JOB_SIZE"), 0), policy().max_job_size_bytes);
  if (job == 0) return true;
  const std::uint64_t part = job / static_cast<std::uint64_t>(world_size < 1 ? 1 : world_size);
  if (part < max_bytes) max_bytes = part;
  return part >= kLeastFileBytes;
}

// Says in the file which MPI functions another tool takes before us.
void note_bypassed() {
  const char* symbols[kHookCount];
  std::size_t count = 0;
  for (std::size_t i = 0; i < kFirstCounted; ++i)
    if (kHooks[i].family == Mpi) symbols[count++] = kHooks[i].symbol;
  if (const char* text = describe_bypassed(symbols, count)) note(text);
}

bool open_writer(const Identity& identity) noexcept {
  if (active()) return true;
  if (!wanted()) return false;
  const OwnArithmetic own;
  WriterOptions options;
  options.dir = allowed_folder();
  if (options.dir == nullptr) return false;
  const int length = snprintf(detach_file, sizeof detach_file, "%s/%s", options.dir, trace::kDetachFile);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof detach_file) detach_file[0] = 0;
  if (is_detached()) return false;
  options.told_to_stop = is_detached;
  const char* share = getenv("COX_SHARE");
  options.group_may_read = share != nullptr && strcmp(share, "group") == 0;
  const Identity known = with_environment(identity);
  const bool job_has_room = bound_size(known.world_size, options.max_bytes);
  options.folder_per_host = known.local_size > 0 && known.world_size > known.local_size;
  options.observer = number_or(getenv("COX_OBSERVER"), 0);
  options.sync_seconds = static_cast<std::uint64_t>(number_or(getenv("COX_SYNC"), 1));
  options.keeper_cpus = getenv("COX_KEEPER_CPUS");
  const char* clock = getenv("COX_CLOCK");
  options.force_monotonic = clock != nullptr && strcmp(clock, "monotonic") == 0;
  options.max_overhead = share_or(getenv("COX_MAX_OVERHEAD"), options.max_overhead);
  options.when_off = take_hooks_out;
  if (!open(options, known)) return false;
  count_in_file();
  find_exits();
  recording_process = getpid();
  note_bypassed();
  if (!job_has_room)
    note(
        "what the whole job may write (--max-job-size or the policy) is too little for so many processes: each "
        "writes the least, 2.1 MB");
  if (is_pacing_forbidden()) {
    note("the policy of this machine forbids pacing");
  } else {
    static_cast<void>(pace_api(find_data));
    pace_introduce();
  }
  return true;
}

std::uint32_t define_group(std::uint64_t identity, std::int32_t size, std::int32_t my_rank,
                           const std::int32_t* members, std::uint32_t member_count,
                           const char* name) noexcept {
  const std::uint32_t number = define_communicator(identity, size, my_rank, members, member_count, name);
  pace_define(number, size, my_rank);
  return number;
}

constexpr WriterApi kWriter = {
    .open = open_writer,
    .close = close,
    .set_rank = set_rank,
    .set_library = set_library,
    .begin = begin,
    .end = end,
    .is_stored = is_stored,
    .retract = retract,
    .end_if_long = end_if_long,
    .ticks = ticks,
    .nanoseconds = nanoseconds,
    .count_calls = count_calls,
    .instant = instant,
    .define_communicator = define_group,
    .note = note,
    .thread_id = thread_id,
    .at_fork_in_child = at_fork_in_child,
    .group_identity = group_identity,
};

Host host_of_typed() noexcept {
  return {.abi = kTypedAbi,
          .writer = &kWriter,
          .pace = allowed_pacing(),
          .find_real = find_real,
          .find_data = find_data};
}

const TypedTable* load_typed(const char* file) {
  char path[4096];
  const char* own = own_path();
  const char* slash = strrchr(own, '/');
  const std::size_t length = slash == nullptr ? 0 : static_cast<std::size_t>(slash - own) + 1;
  if (length + strlen(file) + 1 > sizeof path) return nullptr;
  memcpy(path, own, length);
  memcpy(path + length, file, strlen(file) + 1);
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  const auto attach = reinterpret_cast<AttachFunction>(dlsym(handle, "cox_typed_attach"));
  static Host host;  // typed objects keep its address; every load writes the same
  host = host_of_typed();
  const TypedTable* table = attach == nullptr ? nullptr : attach(&host);
  return table != nullptr && table->abi == kTypedAbi ? table : nullptr;
}

bool begins(const char* text, const char* with) {
  return strncmp(text, with, strlen(with)) == 0;
}

// Whether the library speaks the standard ABI of MPI 5, its first version; others have no such function, or say -1.
bool is_standard_abi() {
  const auto ask = reinterpret_cast<int (*)(int*, int*)>(find_real("PMPI_Abi_get_version"));
  int version = -1;
  int subversion = -1;
  return ask != nullptr && ask(&version, &subversion) == 0 && version == 1;
}

// Which object fits the MPI library of this process. The library says itself what it is (by functions that
// need no MPI_Init and have the same form in every ABI); what is not known is not touched.
const char* mpi_object() {
  const auto version = reinterpret_cast<int (*)(char*, int*)>(find_real("PMPI_Get_library_version"));
  if (version == nullptr) return nullptr;
  char text[16384] = {};  // more than any library's MPI_MAX_LIBRARY_VERSION_STRING
  int length = 0;
  if (version(text, &length) != 0) return nullptr;
  if (is_standard_abi()) return "libcox-mpi-abi.so";
  // 6 is split, libmpi over libopen_mpi: the handles lie in the latter.
  for (const char* name : {"Open MPI v3.", "Open MPI v4.", "Open MPI v5.", "Open MPI v6."})
    if (begins(text, name))
      return find_data("ompi_mpi_comm_world") != nullptr ? "libcox-mpi-openmpi.so" : nullptr;
  // Those that keep MPICH's ABI (www.mpich.org/abi, since 2016).
  for (const char* name : {"MPICH Version:", "Intel(R) MPI Library", "MVAPICH", "CRAY MPICH"})
    if (begins(text, name)) return "libcox-mpi-mpich.so";
  return nullptr;
}

// The typed object for what this process has loaded; null where there is none for it.
const TypedTable* typed_for(Family family) {
  if (family != Mpi) return load_typed("libcox-gloo.so");
  const char* object = mpi_object();
  return object != nullptr ? load_typed(object) : nullptr;
}

struct FamilyState {
  OneLook look;
  const TypedTable* table = nullptr;
};
FamilyState family_states[kFamilies];

// `is_known`: false where another thread is at it and does not come to an end.
const TypedTable* table_of(Family family, bool& is_known) {
  // PyTorch and Gloo share one typed object.
  FamilyState& state = family_states[family == C10d ? Gloo : family];
  is_known = state.look.take_soon([&state, family]() noexcept { state.table = typed_for(family); });
  return is_known ? state.table : nullptr;
}

// The real function of each hook that was called.
std::atomic<void*> real_functions[kHookCount];
// What a slot held before it was filled for a library that was the only one: the way to the resolver.
std::atomic<void*> lazy_stubs[kHookCount];

// Every hook becomes the direct jump that it is in a process without us.
void take_hooks_out() noexcept {
  restore_priority();
  for (std::size_t i = 0; i < kHookCount; ++i) {
    void* const real = real_functions[i].load(std::memory_order_acquire);
    const bool is_asked_for = are_several_mpis() && lazy_stubs[i].load(std::memory_order_acquire) != nullptr;
    if (real != nullptr && !is_asked_for)
      std::atomic_ref<void*>(cox_slots[i]).store(real, std::memory_order_release);
  }
}

// PMPI_Init was called and MPI_Init is not ours: a tool that takes every call
// leaves no other trace of this rank.
std::atomic<bool> init_passed_us_by{false};

[[gnu::destructor]] void process_ends() {
  restore_priority();
  if ((init_passed_us_by.load() || counted_any()) && !active()) open_writer({});
  end_recording();
}

// Of the library whose typed object is loaded, so it does not change. Where there is none, all objects are searched: once.
bool is_open_mpi() noexcept {
  static std::atomic<int> answer{-1};
  int known = answer.load(std::memory_order_acquire);
  if (known < 0) {
    known = find_data("ompi_mpi_comm_world") != nullptr ? 1 : 0;
    answer.store(known, std::memory_order_release);
  }
  return known == 1;
}

// Where a call that is only counted goes. MPICH's Fortran calls the C names, which count it, but for mpi_f08's
// functions without a choice buffer.
void* counting(std::size_t index, void* real, bool& is_known) {
  const char* const symbol = kHooks[index].symbol;
  const bool mpif = strncmp(symbol, "MPI", 3) != 0 && strstr(symbol, "_f08_") == nullptr;
  if (table_of(Mpi, is_known) == nullptr) return real;
  if (mpif && !is_open_mpi()) return real;
  counting_process.store(getpid());
  const std::size_t number = index - kFirstCounted;
  std::atomic_ref<void*>(cox_counted[number]).store(real, std::memory_order_release);
  return cox_counting[number];
}

// Where a call of a hooked function goes: to the typed object's wrapper, where there is one.
void* wrapping(std::size_t index, void* real, bool& is_known) {
  const auto& hook = kHooks[index];
  const TypedTable* table = table_of(hook.family, is_known);
  for (std::uint32_t i = 0; table != nullptr && i < table->count; ++i) {
    const Wrapper& wrapper = table->wrappers[i];
    if (strcmp(wrapper.symbol, hook.symbol) != 0) continue;
    std::atomic_ref<void*>(*wrapper.real).store(real, std::memory_order_release);
    return wrapper.function;
  }
  return real;
}

// Several libraries: from now on each caller is asked for.
void make_lazy_again() {
  for (std::size_t i = 0; i < kHookCount; ++i)
    if (void* lazy = lazy_stubs[i].load(std::memory_order_acquire))
      std::atomic_ref<void*>(cox_slots[i]).store(lazy, std::memory_order_release);
}

void fill_slot(std::size_t index, void* target, Reach reach) {
  std::atomic_ref<void*> slot(cox_slots[index]);
  if (reach == Reach::Process) {
    void* none = nullptr;
    lazy_stubs[index].compare_exchange_strong(none, slot.load(std::memory_order_acquire));
  }
  slot.store(target, std::memory_order_release);
  if (reach == Reach::Process && are_several_mpis()) make_lazy_again();
}

// Where the calls of a hook go that reach this definition; the slot is filled with it, but where each caller is asked for.
void* take_target(std::size_t index, const Definition& found) {
  const char* const symbol = kHooks[index].symbol;
  void* const real = found.function;
  void* target = real;
  bool is_known = true;
  const bool is_ours = found.reach == Reach::Everybody || is_observed_mpi(real);
  if (!wanted() || !is_ours) {
    // As it is without us.
  } else if (strncmp(symbol, "PMPI_", 5) == 0) {
    if (is_bypassed(symbol + 1)) init_passed_us_by.store(true);
  } else {
    target = index < kFirstCounted ? wrapping(index, real, is_known) : counting(index, real, is_known);
    if (!is_known) return real;  // this call is not recorded, the next one may be
  }
  if (is_ours || found.reach == Reach::Process) pin(real);  // slots and wrappers point into it
  if (found.reach != Reach::Caller) real_functions[index].store(real, std::memory_order_release);
  if (switched_off()) target = real;
  if (found.reach != Reach::Caller) fill_slot(index, target, found.reach);
  return target;
}

// A first call asks the loader, which another thread may hold: one that opens a library, for as long as a constructor of that
// library runs, and the constructor may wait for the thread that calls. So in a program that is linked to MPI the first of all
// calls fills the slots of all.
void take_all_linked() {
  static std::atomic<bool> is_taken{false};
  if (!wanted() || is_taken.exchange(true)) return;
  for (std::size_t i = 0; i < kHookCount; ++i) {
    const auto& hook = kHooks[i];
    // That a PMPI name is there says nothing; that it is called does.
    if (hook.family != Mpi || strncmp(hook.symbol, "PMPI_", 5) == 0) continue;
    if (real_functions[i].load(std::memory_order_acquire) != nullptr) continue;
    if (void* const real = find_linked(hook.symbol)) take_target(i, {.function = real});
  }
}

// Where the call of a hook goes that returns to `caller`.
void* find_target(std::size_t index, const void* caller) {
  const auto& hook = kHooks[index];
  const bool were_several = are_several_mpis();
  const Definition found =
      hook.family == Mpi ? find_for(caller, hook.symbol) : Definition{.function = find_real(hook.symbol)};
  if (!were_several && are_several_mpis()) make_lazy_again();
  if (found.function == nullptr)
    return reinterpret_cast<void*>(&missing_function);  // whoever defines it may come yet
  void* const target = take_target(index, found);
  const bool is_filled = real_functions[index].load(std::memory_order_acquire) != nullptr;
  if (hook.family == Mpi && found.reach == Reach::Everybody && is_filled) take_all_linked();
  return target;
}

}  // namespace

// A child of fork or vfork has nothing to end.
void end_recording() noexcept {
  if (!active() || recording_process != getpid()) return;
  for (const FamilyState& state : family_states)
    if (state.table != nullptr && state.table->settle != nullptr) state.table->settle();
  close();
}

const WriterApi* mark_writer() {
  return wanted() ? &kWriter : nullptr;
}

const PaceApi* mark_pacing() {
  return allowed_pacing();
}

}  // namespace cox::guest

void* cox_resolve(std::size_t index, const void* caller) {
  using namespace cox::guest;
  const int saved_errno = errno;
  const OwnArithmetic own;
  void* const target = find_target(index, caller);
  errno = saved_errno;
  return target;
}
