// SPDX-License-Identifier: Apache-2.0
// Steps and phases, from two sources: the methods of DistributedDataParallel's reducer (every version that
// exports them) and PyTorch's named ranges (optimizer, data loader, DDP's forward pass, the passes of
// fully_shard; versions that abi.hpp knows).
//
// A forward pass is only known for what it was afterwards: with gradients synchronised, with gradients
// accumulated (no_sync), or without any (an evaluation that left gradients on). Its records stay open until
// then, which also keeps them from being overwritten; only their ends are stored late.
//
// One training of a process is followed. Reducer and ranges call from threads without a common lock, of one
// training or of several at once: whoever changes what is here takes a turn, and where it cannot be had soon,
// nothing is recorded.
#include <dlfcn.h>
#include <pthread.h>

#include <cstring>

#include "guest/torch/abi.hpp"
#include "guest/torch/groups.hpp"
#include "guest/torch/state.hpp"
#include "guest/torch/turn.hpp"
#include "guest/torch/version.hpp"

namespace cox::guest::torch {

using trace::EventKind;
using trace::PhaseKind;
using trace::RawRecord;
using trace::WaitKind;

namespace {

// A forward pass whose backward pass has not begun.
struct Pass {
  const void* reducer = nullptr;  // null: its gradients are not synchronised
  RawRecord* forward = nullptr;   // null: this slot is free
  RawRecord* step = nullptr;      // the step that it began, where it began one
  std::uint64_t begin = 0;
  std::uint64_t end = 0;       // 0: the pass is under way
  bool without_grads = false;  // known from the start to evaluate
};
constexpr std::size_t kPasses = 8;  // DDP models whose forward passes precede one backward pass
Pass passes[kPasses];
Pass* current = nullptr;        // the pass under way
bool current_is_range = false;  // it ends with the range, not with prepare_for_backward
std::uint64_t steps = 0;        // begun by this process
bool in_step = false;           // a step has begun and no gradients were synchronised since
// The thread whose passes and ranges count.
std::atomic<std::uint32_t> phase_thread{0};

RawRecord* backward = nullptr;
std::atomic<bool> backward_syncs{false};  // `backward` is open and the hooks need not look closer
std::size_t first_parameter = 0;          // of this backward pass without synchronisation
std::atomic<std::uint64_t> last_hook{0};  // when a gradient last became ready in it
RawRecord* gap = nullptr;                 // optimizer and data together, where no range tells them apart

// Records are kept from call to call here. One that is not part of the file would go with its thread: this
// one stands in for it.
RawRecord unrecorded{};
RawRecord* kept(RawRecord* record) {
  return writer->is_stored(record) ? record : &unrecorded;
}

RawRecord* begin_phase(PhaseKind kind, std::uint16_t flags = 0) {
  return kept(writer->begin(EventKind::Phase, static_cast<std::uint8_t>(kind), flags, 0, 0, 0, 0));
}
void end_phase(RawRecord*& phase) {
  if (phase != nullptr) writer->end(phase);
  phase = nullptr;
}
// Ends a record that is open, at a time that has passed. Never used on one that was ended before: its room
// may be somebody else's by now.
void end_at(RawRecord* record, std::uint64_t ticks) {
  record->end = ticks > record->begin ? ticks : record->begin;
}

void end_backward() {
  if (backward == nullptr) return;
  if (backward_syncs.load(std::memory_order_relaxed))
    writer->end(backward);
  else
    end_at(backward, last_hook.load(std::memory_order_relaxed));
  backward = nullptr;
  backward_syncs.store(false, std::memory_order_relaxed);
}

void begin_step(Pass& pass) {
  if (in_step) return;
  in_step = true;
  pass.step = kept(writer->begin(EventKind::Step, 0, 0, 0, 0, steps++, 0));
  pass.step->begin = pass.begin;
}

// The pass was followed by a backward pass.
void confirm(Pass& pass) {
  if (pass.step != nullptr) end_at(pass.step, pass.step->begin);
  end_at(pass.forward, pass.end != 0 ? pass.end : writer->ticks());
  pass = Pass{};
}

// The pass was followed by none: it evaluated, and began no step.
void take_as_evaluation(Pass& pass) {
  RawRecord* record = pass.forward;
  if (pass.step != nullptr) {  // its record becomes the evaluation, and its number is given out again
    record = pass.step;
    record->kind = static_cast<std::uint8_t>(EventKind::Phase);
    record->bytes = 0;
    --steps;
    in_step = false;
    pass.forward->op = static_cast<std::uint8_t>(PhaseKind::Other);  // an empty one stays behind
    end_at(pass.forward, pass.forward->begin);
  }
  record->op = static_cast<std::uint8_t>(PhaseKind::Evaluation);
  end_at(record, pass.end != 0 ? pass.end : writer->ticks());
  pass = Pass{};
}

// Passes of one reducer (null: those without synchronisation) that another one of it follows.
void judge_earlier(const void* reducer) {
  for (Pass& pass : passes)
    if (pass.forward != nullptr && &pass != current && pass.reducer == reducer) take_as_evaluation(pass);
}

Pass& free_slot() {
  Pass* oldest = &passes[0];
  for (Pass& pass : passes) {
    if (pass.forward == nullptr) return pass;
    if (pass.begin < oldest->begin) oldest = &pass;
  }
  confirm(*oldest);
  return *oldest;
}

Pass& begin_pass(bool with_grads = true) {
  end_backward();
  end_phase(gap);
  judge_earlier(nullptr);
  Pass& pass = free_slot();
  pass.begin = writer->ticks();
  pass.without_grads = !with_grads;
  if (with_grads) begin_step(pass);
  pass.forward = begin_phase(PhaseKind::Forward);
  pass.forward->begin = pass.begin;
  return pass;
}

void end_pass() {
  if (current != nullptr && current->end == 0) current->end = writer->ticks();
  current = nullptr;
}

void begin_backward(std::uint64_t begin, std::uint16_t flags) {
  end_backward();
  backward = begin_phase(PhaseKind::Backward, flags);
  if (begin != 0) backward->begin = begin;
  backward_syncs.store((flags & trace::kNoSync) == 0, std::memory_order_relaxed);
}

// The newest pass that is over and whose gradients this reducer would synchronise, or accumulate.
Pass* awaited_pass(const void* reducer) {
  Pass* newest = nullptr;
  for (Pass& pass : passes) {
    if (pass.forward == nullptr || pass.end == 0) continue;
    if (pass.reducer != reducer && pass.reducer != nullptr) continue;
    if (newest == nullptr || pass.begin > newest->begin) newest = &pass;
  }
  return newest;
}

// A gradient is ready and no backward pass with synchronisation is known to be under way.
void look_at_hook(const void* reducer, std::size_t index) {
  if (Pass* pass = awaited_pass(reducer)) {
    const std::uint64_t begin = pass->end;
    const bool syncs = pass->reducer != nullptr;
    confirm(*pass);
    judge_earlier(reducer);
    begin_backward(begin, syncs ? 0 : trace::kNoSync);
    first_parameter = index;
  } else if (backward == nullptr ||
             index == first_parameter) {  // each parameter comes once per backward pass
    begin_backward(0, trace::kNoSync);
    first_parameter = index;
  }
  last_hook.store(writer->ticks(), std::memory_order_relaxed);
}

// Named ranges.
enum class Range : std::uint8_t {
  None,
  Forward,
  Optimizer,
  Data,
  ShardedForward,      // a pass of the outermost module begins
  ShardedForwardPart,  // one module of it ends
  ShardedBackward,     // the backward pass comes to a module
  ShardedReduction,    // and reduces its gradients
  ShardedBackwardEnd,
};
const char* (*range_name)(const void* range) = nullptr;
bool (*gradients_on)() = nullptr;
bool ranges_on = false;
bool (*thread_listens)() = nullptr;      // whether the calling thread runs a profiler
std::atomic<bool> others_listen{false};  // somebody else registered for ranges of all threads
struct Nested {
  int depth = 0;
  RawRecord* record = nullptr;  // of the outermost one; null where the reducer keeps it
};
Nested nested[4];  // by Range, up to Data

template <std::size_t N>
bool starts_with(const char* name, const char (&start)[N]) {
  return strncmp(name, start, N - 1) == 0;
}

Range range_of(const void* range) {
  const char* name = range_name(range);
  if (name == nullptr) return Range::None;
  if (starts_with(name, "Optimizer.step#") || starts_with(name, "Optimizer.zero_grad#"))
    return Range::Optimizer;
  if (strcmp(name, "DistributedDataParallel.forward") == 0) return Range::Forward;
  if (starts_with(name, "enumerate(DataLoader)#")) return Range::Data;
  if (!starts_with(name, "FSDP::")) return Range::None;
  name += sizeof "FSDP::" - 1;  // what follows most of these is the name of a module
  if (strcmp(name, "root_pre_forward") == 0) return Range::ShardedForward;
  if (starts_with(name, "post_forward")) return Range::ShardedForwardPart;
  if (starts_with(name, "pre_backward")) return Range::ShardedBackward;
  if (starts_with(name, "post_backward_reduce")) return Range::ShardedReduction;
  if (strcmp(name, "root_post_backward_callback") == 0) return Range::ShardedBackwardEnd;
  return Range::None;
}

// The passes of fully_shard: no reducer, but ranges of their own. Their `Pass::reducer` is this.
constexpr char kSharded = 0;

// Those that the pass now beginning was not known to follow: with gradients they are its own, whatever model
// they went through; without they evaluated.
void judge_sharded(bool backward_begins) {
  for (Pass& pass : passes) {
    if (pass.forward == nullptr || pass.reducer != &kSharded) continue;
    if (pass.without_grads)
      take_as_evaluation(pass);
    else if (backward_begins)
      confirm(pass);
  }
}

void begin_sharded_forward() {
  judge_sharded(false);
  begin_pass(gradients_on()).reducer = &kSharded;
}

void end_sharded_part() {
  Pass* newest = nullptr;
  for (Pass& pass : passes)
    if (pass.forward != nullptr && pass.reducer == &kSharded &&
        (newest == nullptr || pass.begin > newest->begin))
      newest = &pass;
  if (newest != nullptr) newest->end = writer->ticks();
}

void begin_sharded_backward() {
  const Pass* newest = awaited_pass(&kSharded);
  if (newest != nullptr) {
    const std::uint64_t begin = newest->end;
    judge_sharded(true);
    begin_backward(begin, trace::kNoSync);  // until a gradient is reduced
  }
  last_hook.store(writer->ticks(), std::memory_order_relaxed);
}

void reduce_sharded() {
  if (backward == nullptr) return;
  backward->flags &= static_cast<std::uint16_t>(~trace::kNoSync);
  backward_syncs.store(true, std::memory_order_relaxed);
}

void end_sharded_backward() {
  if (backward == nullptr) return;
  last_hook.store(writer->ticks(), std::memory_order_relaxed);
  if (backward_syncs.load(std::memory_order_relaxed)) in_step = false;
  end_backward();
}

// What fully_shard's ranges say where they begin and where they end.
void take_sharded_begin(Range what) {
  if (what == Range::ShardedForward) {
    phase_thread.store(writer->thread_id(), std::memory_order_relaxed);  // as in DDP's forward pass
    begin_sharded_forward();
  }
  if (what == Range::ShardedBackward) begin_sharded_backward();
  if (what == Range::ShardedReduction) reduce_sharded();
}
void take_sharded_end(Range what) {
  if (what == Range::ShardedForwardPart) end_sharded_part();
  if (what == Range::ShardedBackwardEnd) end_sharded_backward();
}

RawRecord* begin_range(Range range) {
  switch (range) {
    case Range::Optimizer:
      end_backward();
      return begin_phase(PhaseKind::Optimizer);
    case Range::Data:
      end_backward();
      return begin_phase(PhaseKind::Data);
    case Range::Forward:
      if (!gradients_on()) {
        end_backward();
        return begin_phase(PhaseKind::Evaluation);
      }
      current = &begin_pass();
      current_is_range = true;
      return nullptr;
    default:
      break;
  }
  return nullptr;
}

bool counts_here() {
  return writer->thread_id() == phase_thread.load(std::memory_order_relaxed);
}

// Several trainings in threads of one process: the one that was there first is followed.
bool several = false;
std::uint32_t rival = 0;  // the thread of another training that came last; 0 = none since ours was heard of
std::uint64_t heard_at = 0;  // when ours was heard of last, in ticks
constexpr std::uint64_t kSilentNs = 1'000'000'000;
std::uint64_t longest_gap = 0;  // between two times that ours was heard of, in ticks
constexpr std::size_t kReducers = 8;
const void* reducers[kReducers];  // of the training that is followed, newest last
std::size_t reducer_count = 0;

bool is_ours(const void* reducer) {
  for (const void* own : reducers)
    if (own == reducer) return true;
  return false;
}

bool is_followed(const void* reducer) {
  return (!several && rival == 0) || is_ours(reducer);
}

// Another thread goes on with the training: what the one before left open is over.
void hand_over(std::uint32_t to) {
  for (Pass& pass : passes)
    if (pass.forward != nullptr) confirm(pass);
  current = nullptr;
  end_backward();
  end_phase(gap);
  for (Nested& n : nested) {
    end_phase(n.record);
    n.depth = 0;
  }
  in_step = false;
  for (const void*& own : reducers) own = nullptr;
  phase_thread.store(to, std::memory_order_relaxed);
}

void hear_of_ours() {
  if (rival != 0 && !several) {
    several = true;
    writer->note(
        "several threads of this process train at the same time: steps and phases are those of one training");
  }
  rival = 0;
  const std::uint64_t now = writer->ticks();
  if (heard_at != 0 && now - heard_at > longest_gap) longest_gap = now - heard_at;
  heard_at = now;
}

// Whether ours may come back: not heard of for a second, and for four times as long as ever before, it is over.
bool may_come_back() {
  if (heard_at == 0) return false;
  const std::uint64_t silent = writer->ticks() - heard_at;
  return writer->nanoseconds(silent) < kSilentNs || silent / 4 < longest_gap;
}

// Whether a forward pass that begins on this thread belongs to the training that is followed: by its thread, or by its model,
// whichever thread of a pool goes on with it. Another one takes over where ours is not heard of again.
bool is_of_training(const void* reducer) {
  const std::uint32_t own = writer->thread_id();
  if (phase_thread.load(std::memory_order_relaxed) == own || is_ours(reducer)) {
    phase_thread.store(own, std::memory_order_relaxed);
    hear_of_ours();
  } else {
    if (may_come_back()) {
      rival = own;
      return false;
    }
    hand_over(own);
    rival = 0;
    several = false;
    longest_gap = 0;
    heard_at = writer->ticks();
  }
  if (!is_ours(reducer)) reducers[reducer_count++ % kReducers] = reducer;
  return true;
}

void forget_in_child() {  // the records are the parent's, and a turn that was under way is nobody's
  for (Pass& pass : passes) pass = Pass{};
  current = nullptr;
  backward = gap = nullptr;
  backward_syncs.store(false);
  Turn::forget();
}

// Passes of fully_shard are those of one thread, the first that begins one.
bool takes_passes() {
  static std::atomic<std::uint32_t> taker{0};
  const std::uint32_t own = writer->thread_id();
  std::uint32_t before = 0;
  return taker.compare_exchange_strong(before, own) || before == own;
}

// Called by PyTorch where a named range begins and ends; most of them are not ours.
void* on_range_start(void** context, const void* range) {
  *context = nullptr;
  const Range what = range_of(range);
  if (what == Range::None || (what == Range::ShardedForward ? !takes_passes() : !counts_here()))
    return static_cast<void*>(context);
  const bool is_sharded = what >= Range::ShardedForward;
  Nested* const n = is_sharded ? nullptr : &nested[static_cast<std::size_t>(what)];
  // Depths are of the thread that counts: a turn that is lost loses a record and no count.
  if (n != nullptr && n->depth++ > 0) return static_cast<void*>(context);
  const Turn turn;
  if (!turn) return static_cast<void*>(context);
  if (is_sharded)
    take_sharded_begin(what);
  else
    n->record = begin_range(what);
  return static_cast<void*>(context);
}

void on_range_end(const void* range, void*) {
  const Range what = range_of(range);
  if (what == Range::None || !counts_here()) return;
  const bool is_sharded = what >= Range::ShardedForward;
  Nested& n = nested[is_sharded ? 0 : static_cast<std::size_t>(what)];
  if (!is_sharded && (n.depth == 0 || --n.depth > 0)) return;  // began before we were told
  const Turn turn;
  if (!turn) return;
  if (is_sharded) {
    take_sharded_end(what);
    return;
  }
  if (what == Range::Forward && n.record == nullptr) {
    end_pass();
    current_is_range = false;
  }
  end_phase(n.record);
}

// Called by DDP at each forward pass that is to end in a gradient all-reduce: steps begin here, on the thread that trains.
void begin_synchronised_pass(const void* reducer) {
  const Turn turn;
  if (!turn || !is_of_training(reducer)) return;
  if (current == nullptr || !current_is_range) {
    current = &begin_pass();
    current_is_range = false;
  }
  current->reducer = reducer;
  judge_earlier(reducer);
  begin_step(*current);
}

void end_synchronised_pass() {
  if (!counts_here()) return;
  const Turn turn;
  if (!turn) return;
  if (current != nullptr && current->end == 0) current->end = writer->ticks();
  if (!current_is_range) current = nullptr;
}

void look_in_turn(const void* reducer, std::size_t index) {
  const Turn turn(Turn::Wait::None);  // hooks of several threads: one looks, the others pass by
  if (turn && is_followed(reducer)) look_at_hook(reducer, index);
}

void finish_step(const void* reducer) {
  const Turn turn;
  if (!turn || !is_followed(reducer)) return;
  for (Pass& pass : passes)
    if (pass.forward != nullptr && pass.reducer == reducer) confirm(pass);
  if (backward != nullptr && !backward_syncs.load(std::memory_order_relaxed)) {
    // Under no_sync, but an earlier forward pass had told the reducer to expect gradients: it synchronises.
    backward->flags &= static_cast<std::uint16_t>(~trace::kNoSync);
    backward_syncs.store(true, std::memory_order_relaxed);
  }
  end_backward();
  in_step = false;
  if (is_ours(reducer)) hear_of_ours();
}

void begin_gap(const void* reducer) {
  const Turn turn;
  if (!turn || !is_followed(reducer)) return;
  end_phase(gap);
  gap = begin_phase(PhaseKind::Other);
}

}  // namespace

// What is still open when the process ends in order.
void settle() noexcept {
  const Turn turn;
  if (!turn) return;
  end_pass();
  end_backward();
  for (Pass& pass : passes)
    if (pass.forward != nullptr) take_as_evaluation(pass);
}

void start_ranges(void* library, const char* file) noexcept {
  writer->at_fork_in_child(forget_in_child);
  phase_thread.store(writer->thread_id());
  const auto add = reinterpret_cast<std::uint64_t (*)(c10d_abi::RangeCallback)>(
      dlsym(library, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"));
  range_name =
      reinterpret_cast<const char* (*)(const void*)>(dlsym(library, "_ZNK2at14RecordFunction4nameEv"));
  gradients_on = reinterpret_cast<bool (*)()>(dlsym(library, "_ZN3c108GradMode10is_enabledEv"));
  thread_listens = reinterpret_cast<bool (*)()>(dlsym(library, "_ZN2at23hasThreadLocalCallbacksEv"));
  if (!knows_ranges(file) || add == nullptr || range_name == nullptr || gradients_on == nullptr) {
    writer->note(
        "this PyTorch is none of 1.13 to 2.14: optimizer, data loading, evaluation and fully_shard's passes are "
        "not told apart");
    return;
  }
  ranges_on = true;
  add(c10d_abi::range_callback(on_range_start, on_range_end));
}

void (*real_make_range)(void* self, std::uint8_t scope) = nullptr;
std::uint64_t (*real_add_callback)(c10d_abi::RangeCallback callback) = nullptr;
void (*real_prepare_for_forward)(void* self) = nullptr;
void (*real_prepare_for_backward)(void* self, const void* outputs) = nullptr;
void (*real_autograd_hook)(void* self, std::size_t index) = nullptr;
void (*real_finalize_backward)(void* self) = nullptr;

// Each Gloo operation makes a range of its own, which takes 2 us where anybody listens to named ranges.
// We do, but not to these: where nobody else does, they are made as ranges of operators,
// to which nobody listens at all.
void wrap_make_range(void* self, std::uint8_t scope) {
  if (scope == c10d_abi::kUserScope && ranges_on && is_submitting() &&
      !others_listen.load(std::memory_order_relaxed) && thread_listens != nullptr && !thread_listens())
    scope = c10d_abi::kOperatorScope;
  real_make_range(self, scope);
}

std::uint64_t wrap_add_callback(c10d_abi::RangeCallback callback) {
  others_listen.store(true, std::memory_order_relaxed);
  return real_add_callback(callback);
}

void wrap_prepare_for_forward(void* self) {
  begin_synchronised_pass(self);
  real_prepare_for_forward(self);
}

void wrap_prepare_for_backward(void* self, const void* outputs) {
  end_synchronised_pass();
  real_prepare_for_backward(self, outputs);
}

// Called for every parameter of every backward pass, whether gradients are synchronised or not.
void wrap_autograd_hook(void* self, std::size_t index) {
  if (!backward_syncs.load(std::memory_order_relaxed)) look_in_turn(self, index);
  real_autograd_hook(self, index);
}

// Here the program waits for the all-reduces that its pool threads run:
// the exposed communication of the step.
void wrap_finalize_backward(void* self) {
  finish_step(self);
  const Submitted what = last_submitted();
  RawRecord* const record = writer->begin(EventKind::Wait, static_cast<std::uint8_t>(WaitKind::GradientSync),
                                          0, what.comm, what.tag, 0, 0);
  real_finalize_backward(self);
  writer->end(record);
  if (pacing != nullptr)
    pacing->leave(record->comm, record->begin, record->end, gloo::take_background_bytes(),
                  Boundary::Gradients);
  if (!ranges_on) begin_gap(self);
}

}  // namespace cox::guest::torch
