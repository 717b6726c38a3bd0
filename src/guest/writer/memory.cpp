// SPDX-License-Identifier: Apache-2.0
// The chunks that events are written to: plain shared memory, so that no file system can take it away from a
// rank. Nothing of this runs per event.
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <bit>
#include <cerrno>

#include "guest/writer/state.hpp"

namespace cox::guest {
namespace {

constexpr std::uint32_t kWordBits = 64;
constexpr std::size_t kPage = 4096;

// The lowest free slot, taken; kMostSlots where none is free. Low ones first, so that few are ever touched.
std::uint32_t take_slot() noexcept {
  for (std::uint32_t w = 0; w < kMostSlots / kWordBits; ++w) {
    std::uint64_t bits = g.free_slots[w].load(std::memory_order_relaxed);
    while (bits != 0)
      if (g.free_slots[w].compare_exchange_weak(bits, bits & (bits - 1), std::memory_order_acq_rel))
        return w * kWordBits + static_cast<std::uint32_t>(std::countr_zero(bits));
  }
  return kMostSlots;
}

void start_chunk(ChunkHeader* chunk, ChunkKind kind, std::uint32_t tid) noexcept {
  chunk->ticket = shared(g.header->tickets).fetch_add(1, std::memory_order_relaxed);
  chunk->thread = tid;
  chunk->first_ticks = now();
  chunk->kind = kind;
  chunk->sealed = 0;
  chunk->committed = 0;
  retracted_in(*chunk).store(0, std::memory_order_relaxed);
  shared(chunk->magic).store(kChunkMagic, std::memory_order_release);
}

// Slots to ask for: all, and where the process may have so much address space and no more (ulimit -v), the part of it
// that a guest may take. What is left belongs to the program.
std::uint32_t most_slots(std::uint32_t chunk_bytes) noexcept {
  constexpr std::uint64_t kPart = 64;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMostSlots;
  std::uint32_t slots = kMostSlots;
  while (slots > kSlotsAhead && std::uint64_t{slots} * chunk_bytes > limit.rlim_cur / kPart) slots /= 2;
  return slots;
}

}  // namespace

// Shared and not private, so that a fork neither copies it nor makes the parent's next stores do so; the child
// never writes to it. The kernel promises the whole of it here, or refuses; then less must do.
bool start_memory(const WriterOptions& o) noexcept {
  for (std::uint32_t slots = most_slots(o.chunk_bytes); slots >= kSlotsAhead; slots /= 2) {
    const std::size_t bytes = kHeaderBytes + std::size_t{slots} * o.chunk_bytes;
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) continue;
    g.base = static_cast<std::byte*>(at);
    g.mapped_bytes = bytes;
    g.slots = slots;
    g.header = static_cast<RawHeader*>(at);
    g.header->chunk_bytes = o.chunk_bytes;
    make_ready(kSlotsAhead);
    return true;
  }
  return false;
}

void make_ready(std::uint32_t wanted) noexcept {
  if (wanted > g.slots) wanted = g.slots;
  while (g.growing.exchange(true, std::memory_order_acquire)) sched_yield();
  for (std::uint32_t slot = g.ready_slots.load(std::memory_order_relaxed); slot < wanted; ++slot) {
    auto* bytes = reinterpret_cast<volatile char*>(chunk_at(slot));
    for (std::size_t at = 0; at < g.header->chunk_bytes; at += kPage) bytes[at] = 0;
    g.ready_slots.store(slot + 1, std::memory_order_release);
    g.free_slots[slot / kWordBits].fetch_or(std::uint64_t{1} << slot % kWordBits, std::memory_order_acq_rel);
  }
  g.growing.store(false, std::memory_order_release);
}

ChunkHeader* claim_chunk(ChunkKind kind, std::uint32_t tid) noexcept {
  for (;;) {
    const std::uint32_t slot = take_slot();
    if (slot < kMostSlots) {
      start_chunk(chunk_at(slot), kind, tid);
      if (g.claims.fetch_add(1, std::memory_order_relaxed) + 1 == g.wake_after.load()) wake_keeper();
      return chunk_at(slot);
    }
    const std::uint32_t ready = g.ready_slots.load(std::memory_order_acquire);
    if (ready >= g.slots) {  // the file system is slower than the events: they are dropped and counted
      wake_keeper();
      return nullptr;
    }
    make_ready(ready + kSlotsAhead);  // the keeper fell behind: once per many thousand events
  }
}

void release_slot(std::uint32_t slot) noexcept {
  shared(chunk_at(slot)->magic).store(0, std::memory_order_release);
  g.free_slots[slot / kWordBits].fetch_or(std::uint64_t{1} << slot % kWordBits, std::memory_order_acq_rel);
}

std::uint64_t used_slots(std::uint32_t word) noexcept {
  const std::uint32_t ready = g.ready_slots.load(std::memory_order_acquire);
  const std::uint32_t first = word * kWordBits;
  if (ready <= first) return 0;
  const std::uint64_t there =
      ready - first >= kWordBits ? ~std::uint64_t{0} : (std::uint64_t{1} << (ready - first)) - 1;
  return there & ~g.free_slots[word].load(std::memory_order_acquire);
}

}  // namespace cox::guest
