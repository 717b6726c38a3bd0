// SPDX-License-Identifier: Apache-2.0
// What the keeper writes into the file: chunks as far as they have come, again and again until they are full and
// nothing in them is under way. Runs on the keeper thread alone.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>

#include "guest/writer/state.hpp"

namespace cox::guest {
namespace {

constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
constexpr std::uint32_t kNothing = ~std::uint32_t{0};

// How far a slot's chunk has come in the file.
struct Progress {
  std::uint64_t ticket = ~std::uint64_t{0};  // of which chunk this is told
  std::uint32_t place = kNowhere;            // index of the chunk in the file
  std::uint32_t written = kNothing;  // records (bytes of Meta) in the file; kNothing = not even a head
  std::uint32_t settled = 0;         // of those never to be written again
  std::uint32_t counted = 0;         // calls told to the budget
  std::uint64_t retracted = 0;
  bool is_sealed = false;  // as the file says
  RawRecord last{};        // as the file has it: one that may be taken back is looked at again and again
};

// What the file holds at one place.
struct Place {
  std::uint32_t records;
  std::uint8_t kind;
  bool busy;  // of a chunk that is still in memory
};

constinit Progress progress[kMostSlots];
constinit Place* places = nullptr;
constinit std::uint32_t places_used = 0;
constinit std::uint32_t next_reused = 0;
constinit RawHeader saved_header{};
constinit bool is_synced = true;
constinit bool is_folder_synced = false;

std::size_t unit_of(ChunkKind kind) noexcept {
  return kind == ChunkKind::Events ? sizeof(RawRecord) : kind == ChunkKind::Samples ? sizeof(RawSample) : 1;
}

std::uint64_t offset_of(std::uint32_t place) noexcept {
  return kHeaderBytes + std::uint64_t{place} * g.header->chunk_bytes;
}

bool put_head(std::uint32_t place, const ChunkHeader& chunk, std::uint64_t committed,
              bool is_sealed) noexcept {
  const ChunkHeader head{.magic = kChunkMagic,
                         .kind = chunk.kind,
                         .ticket = chunk.ticket,
                         .thread = chunk.thread,
                         .sealed = is_sealed ? 1U : 0U,
                         .committed = committed,
                         .first_ticks = chunk.first_ticks,
                         .reserved = {}};
  return put(offset_of(place), &head, sizeof head);
}

// A place in the file: the next, and under --max-size the oldest but the first few, those of chunks that are
// still in memory and those of Meta. kNowhere where there is none.
std::uint32_t find_place() noexcept {
  RawHeader& h = *g.header;
  if (places_used < h.chunk_limit) return places_used++;
  for (std::uint32_t tries = h.pinned_chunks; tries < h.chunk_limit; ++tries) {
    if (next_reused < h.pinned_chunks || next_reused >= h.chunk_limit) next_reused = h.pinned_chunks;
    const Place& oldest = places[next_reused++];
    if (oldest.busy || oldest.kind == static_cast<std::uint8_t>(ChunkKind::Meta)) continue;
    shared(h.recycled_chunks).fetch_add(1, std::memory_order_relaxed);
    if (oldest.kind == static_cast<std::uint8_t>(ChunkKind::Events))
      shared(h.recycled_records).fetch_add(oldest.records, std::memory_order_relaxed);
    return next_reused - 1;
  }
  return kNowhere;
}

// The place is empty in the file before anything new is in it: what was there is never taken for this chunk's.
bool take_place(Progress& p, const ChunkHeader& chunk) noexcept {
  const std::uint32_t before = places_used;
  p.place = find_place();
  if (p.place == kNowhere) return true;
  places[p.place] = {.records = 0, .kind = static_cast<std::uint8_t>(chunk.kind), .busy = true};
  return places_used != before || put_head(p.place, chunk, 0, false);
}

// The first record from `from` on that may still change: one under way, and the last one while its thread may
// take it back.
std::uint32_t first_unsettled(ChunkHeader& chunk, std::uint32_t from, std::uint32_t committed,
                              bool is_sealed) noexcept {
  if (chunk.kind != ChunkKind::Events) return committed;
  const std::uint32_t last = is_sealed || committed == 0 ? committed : committed - 1;
  auto* records = reinterpret_cast<RawRecord*>(&chunk + 1);
  while (from < last && shared(records[from].end).load(std::memory_order_acquire) != 0) ++from;
  return from;
}

// Whether all that may still change is one record, which has not. What is compared is a copy, made before the record is
// written: what changes in between is seen the next time.
bool is_as_written(Progress& p, const ChunkHeader& chunk, std::uint32_t committed) noexcept {
  if (chunk.kind != ChunkKind::Events) return false;
  RawRecord now_is{};  // no record has no begin
  if (committed == p.settled + 1) {
    const ReadsUnsettled open_end;
    memcpy(&now_is, reinterpret_cast<const RawRecord*>(&chunk + 1) + p.settled, sizeof now_is);
  }
  if (now_is.begin != 0 && p.written == committed && memcmp(&now_is, &p.last, sizeof now_is) == 0)
    return true;
  p.last = now_is;
  return false;
}

void count_calls_of(Progress& p, ChunkHeader& chunk, std::uint32_t committed) noexcept {
  if (chunk.kind != ChunkKind::Events) return;
  const std::uint64_t retracted = retracted_in(chunk).load(std::memory_order_relaxed);
  // A record taken back was counted or is not there: either way one call for each.
  g.calls += std::uint64_t{committed} - p.counted + (retracted - p.retracted);
  p.counted = committed;
  p.retracted = retracted;
}

bool save_slot(std::uint32_t slot) noexcept {
  ChunkHeader& chunk = *chunk_at(slot);
  if (shared(chunk.magic).load(std::memory_order_acquire) != kChunkMagic) return true;  // being handed out
  Progress& p = progress[slot];
  if (p.ticket != chunk.ticket) p = Progress{.ticket = chunk.ticket};
  const bool is_sealed = shared(chunk.sealed).load(std::memory_order_acquire) != 0;
  const auto committed = static_cast<std::uint32_t>(shared(chunk.committed).load(std::memory_order_acquire));
  count_calls_of(p, chunk, committed);
  if (p.place == kNowhere && !take_place(p, chunk)) return false;
  if (p.place == kNowhere) return true;  // all places are busy: it waits in memory
  if (p.settled > committed) p.settled = committed;
  const std::uint32_t settled = first_unsettled(chunk, p.settled, committed, is_sealed);
  if (committed > p.settled && !is_as_written(p, chunk, committed)) {
    const std::size_t unit = unit_of(chunk.kind);
    const std::byte* content = reinterpret_cast<const std::byte*>(&chunk + 1);
    const ReadsUnsettled open_ends;
    if (!put(offset_of(p.place) + sizeof chunk + p.settled * unit, content + p.settled * unit,
             (committed - p.settled) * unit))
      return false;
    if (chunk.kind != ChunkKind::Samples) is_synced = false;
  }
  if (committed != p.written || is_sealed != p.is_sealed) {
    if (!put_head(p.place, chunk, committed, is_sealed)) return false;
  }
  p.written = committed;
  p.is_sealed = is_sealed;
  p.settled = settled;
  Place& place = places[p.place];
  place.records = committed;
  if (is_sealed && settled == committed) {
    place.busy = false;
    p.ticket = ~std::uint64_t{0};
    release_slot(slot);
  }
  return true;
}

// Whether only the time has gone on: then the header waits for events, or for some wakes.
bool is_only_later(const RawHeader& now_is) noexcept {
  static constinit RawHeader as_saved{};
  memcpy(&as_saved, &now_is, sizeof as_saved);
  as_saved.sample_tickets = saved_header.sample_tickets;
  as_saved.pair_count = saved_header.pair_count;
  memcpy(as_saved.pairs, saved_header.pairs, sizeof as_saved.pairs);
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): both are copies of one object, padding too
  return memcmp(&as_saved, &saved_header, sizeof as_saved) == 0;
}

// The header last: what it counts is in the file.
bool save_header() noexcept {
  constexpr std::uint32_t kMostWaits = 30;
  static constinit std::uint32_t waits = 0;
  static constinit RawHeader now_is{};
  {
    const ReadsUnsettled counters;
    memcpy(&now_is, g.header, sizeof now_is);
  }
  now_is.tickets = places_used + now_is.recycled_chunks;
  now_is.chunks_reserved = places_used;
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): the same
  if (memcmp(&now_is, &saved_header, sizeof now_is) == 0) return true;
  if (is_synced && is_only_later(now_is) && ++waits < kMostWaits) return true;
  waits = 0;
  if (!put(0, &now_is, sizeof now_is)) return false;
  memcpy(&saved_header, &now_is, sizeof now_is);
  return true;
}

template <class F>
bool for_used_slots(F&& visit) noexcept {
  bool good = true;
  for (std::uint32_t word = 0; word < kMostSlots / 64; ++word)
    for (std::uint64_t bits = used_slots(word); bits != 0; bits &= bits - 1)
      good = visit(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits))) && good;
  return good;
}

}  // namespace

bool start_saving() noexcept {
  const std::size_t bytes = std::size_t{g.header->chunk_limit} * sizeof(Place);
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return false;
  places = static_cast<Place*>(at);
  return true;
}

bool save() noexcept {
  g.claims.store(0, std::memory_order_relaxed);
  int reason = 0;
  const bool good = for_used_slots([&](std::uint32_t slot) noexcept {
    if (save_slot(slot)) return true;
    reason = errno;
    return false;
  });
  if (save_header() && good) return true;
  if (!good) errno = reason;
  return false;
}

std::uint64_t unsaved_records() noexcept {
  std::uint64_t sum = 0;
  for_used_slots([&](std::uint32_t slot) noexcept {
    ChunkHeader& chunk = *chunk_at(slot);
    if (shared(chunk.magic).load(std::memory_order_acquire) != kChunkMagic) return true;
    if (chunk.kind != ChunkKind::Events) return true;
    const Progress& p = progress[slot];
    const std::uint64_t committed = shared(chunk.committed).load(std::memory_order_acquire);
    const std::uint64_t written = p.ticket == chunk.ticket && p.written != kNothing ? p.written : 0;
    sum += committed > written ? committed - written : 0;
    return true;
  });
  return sum;
}

namespace {

// The disk has it, or the file system is of the kind that has none to say.
bool is_on_disk(int result) noexcept {
  return result == 0 || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP || errno == EROFS ||
         errno == EINTR;
}

// What a folder's sync says is no reason to end: the file is there for all who look.
void sync_folder(const char* path) noexcept {
  const int folder = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);
  ::close(folder);
}

bool ask_disk() noexcept {
  if (!is_on_disk(fdatasync(g.fd))) return false;
  if (is_folder_synced) return true;
  is_folder_synced = true;
  sync_folder(own_folder());
  if (strcmp(own_folder(), run_folder()) != 0) sync_folder(run_folder());
  return true;
}

}  // namespace

// Samples wait for the events that come with them: of a process that does nothing no disk is kept busy.
bool sync_file() noexcept {
  if (is_synced) return true;
  is_synced = true;
  g.is_syncing.store(true, std::memory_order_release);
  const bool has_it = ask_disk();
  const int reason = errno;
  g.is_syncing.store(false, std::memory_order_release);
  errno = reason;
  return has_it;
}

}  // namespace cox::guest
