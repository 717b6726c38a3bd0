// SPDX-License-Identifier: Apache-2.0
#include "guest/seam/peer_sums.hpp"

namespace cox::guest {
namespace {

constexpr std::uint64_t kFlushNs = 100'000'000;

}  // namespace

PeerSums::Entry* PeerSums::entry(std::uint64_t key) noexcept {
  const std::size_t start = place_of(key);
  for (std::size_t i = 0; i < kProbe; ++i) {
    const std::size_t index = (start + i) % kEntries;
    Entry& e = entries_[index];
    std::uint64_t have = e.key.load(std::memory_order_acquire);
    if (have == key) return &e;
    if (have != 0) continue;
    if (e.key.compare_exchange_strong(have, key, std::memory_order_acq_rel)) {
      // An entry stays with its key for ever: which peers a rank talks to rarely changes.
      const std::uint32_t at = used_.fetch_add(1, std::memory_order_acq_rel);
      in_use_[at].store(static_cast<std::uint32_t>(index) + 1, std::memory_order_release);
      return &e;
    }
    if (have == key) return &e;
  }
  return nullptr;
}

PeerSums::Counted PeerSums::last_sent(std::uint32_t comm, std::uint32_t peer) const noexcept {
  const std::uint64_t key = key_for(comm, peer, trace::PeerKind::Send);
  const std::size_t start = place_of(key);
  for (std::size_t i = 0; i < kProbe; ++i) {
    const Entry& e = entries_[(start + i) % kEntries];
    const std::uint64_t have = e.key.load(std::memory_order_acquire);
    if (have == key)
      return {static_cast<std::uint32_t>(e.messages.load(std::memory_order_relaxed)),
              e.last.load(std::memory_order_relaxed)};
    if (have == 0) break;
  }
  return {};
}

PeerSums::Counted PeerSums::add(std::uint32_t comm, std::uint32_t peer, trace::PeerKind kind,
                                std::uint64_t bytes) noexcept {
  const std::uint64_t key = key_for(comm, peer, kind);
  const std::uint64_t now = writer_->ticks();
  Entry* e = entry(key);
  if (e == nullptr) {
    writer_->note("messages with more peers than there is room for are not counted");
    return {0, now};
  }
  const std::uint64_t before = e->messages.fetch_add(1, std::memory_order_relaxed);
  if (before == e->told.load(std::memory_order_relaxed)) e->first.store(now, std::memory_order_relaxed);
  e->bytes.fetch_add(bytes, std::memory_order_relaxed);
  e->last.store(now, std::memory_order_relaxed);
  std::uint64_t oldest = oldest_.load(std::memory_order_relaxed);
  if (oldest == 0)
    oldest_.store(now, std::memory_order_relaxed);
  else if (now > oldest && writer_->nanoseconds(now - oldest) > kFlushNs) [[unlikely]]
    flush();
  return {static_cast<std::uint32_t>(before + 1), now};
}

void PeerSums::write(Entry& e) noexcept {
  const std::uint64_t all = e.messages.load(std::memory_order_acquire);
  const std::uint64_t passed = all - e.told.exchange(all, std::memory_order_acq_rel);
  if (passed == 0) return;
  const std::uint64_t key = e.key.load(std::memory_order_relaxed);
  const std::uint64_t bytes = e.bytes.exchange(0, std::memory_order_relaxed);
  trace::RawRecord* record =
      writer_->begin(trace::EventKind::PointToPoint, static_cast<std::uint8_t>(key & 1), 0,
                     static_cast<std::uint32_t>(key >> 33 & 0x3fffffff), static_cast<std::uint32_t>(passed),
                     bytes, static_cast<std::uint32_t>(key >> 1 & 0xffffffff));
  record->begin = e.first.load(std::memory_order_relaxed);
  record->end = e.last.load(std::memory_order_relaxed);
  writer_->count_calls(passed);
}

void PeerSums::flush() noexcept {
  if (oldest_.exchange(0, std::memory_order_acq_rel) == 0) return;  // nothing since the last time
  if (flushing_.exchange(true, std::memory_order_acquire)) return;
  const std::uint32_t used = used_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < used; ++i)
    if (const std::uint32_t index = in_use_[i].load(std::memory_order_acquire); index != 0)
      write(entries_[index - 1]);
  flushing_.store(false, std::memory_order_release);
}

}  // namespace cox::guest
