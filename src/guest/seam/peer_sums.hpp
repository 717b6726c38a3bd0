// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages between two ranks inside a guest: counted, and added up for the Run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "guest/seam/typed.hpp"

namespace cox::guest {

/// Point-to-point messages since the last flush, added up per communicator, peer and direction.
/// Threads: any; counts are atomic. Cost: one clock read and a few additions per message.
class PeerSums {
 public:
  /// Before the first message; where records go.
  void set_writer(const WriterApi* writer) noexcept { writer_ = writer; }
  /// A message's number, from 1 per communicator, peer and direction (0 = not known), and when it was started.
  struct Counted {
    std::uint32_t number = 0;
    std::uint64_t at = 0;
  };
  Counted add(std::uint32_t comm, std::uint32_t peer, trace::PeerKind kind, std::uint64_t bytes) noexcept;
  /// The last message started to a peer; number 0 where there was none.
  [[nodiscard]] Counted last_sent(std::uint32_t comm, std::uint32_t peer) const noexcept;
  /// Writes one record per entry in use. Called where a collective begins,
  /// and by `add` after a tenth of a second.
  void flush() noexcept;
  [[nodiscard]] bool pending() const noexcept { return used_.load(std::memory_order_relaxed) != 0; }

 private:
  struct Entry {
    std::atomic<std::uint64_t> key{0};       ///< communicator, peer and direction; 0 = free
    std::atomic<std::uint64_t> messages{0};  ///< since the start
    std::atomic<std::uint64_t> told{0};      ///< of these, those that records hold
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> first{0};
    std::atomic<std::uint64_t> last{0};
  };
  static constexpr std::size_t kEntries = 512;
  static constexpr std::size_t kProbe = 16;
  [[nodiscard]] static std::uint64_t key_for(std::uint32_t comm, std::uint32_t peer,
                                             trace::PeerKind kind) noexcept {
    return std::uint64_t{comm} << 33 | std::uint64_t{peer} << 1 | static_cast<std::uint64_t>(kind) |
           std::uint64_t{1} << 63;
  }
  [[nodiscard]] static std::size_t place_of(std::uint64_t key) noexcept {
    return static_cast<std::size_t>(key * 0x9e3779b97f4a7c15 >> 40);
  }
  [[nodiscard]] Entry* entry(std::uint64_t key) noexcept;
  void write(Entry& entry) noexcept;

  const WriterApi* writer_ = nullptr;
  Entry entries_[kEntries];
  std::atomic<std::uint32_t> used_{0};
  std::atomic<std::uint32_t> in_use_[kEntries];  ///< indices of entries in use, plus 1
  std::atomic<std::uint64_t> oldest_{0};
  std::atomic<bool> flushing_{false};
};

/// What a record that begins at `begin` says of the last message sent to its peer; nothing where that was later.
[[nodiscard]] inline trace::MessageNumbers sent_before(const WriterApi& writer, PeerSums::Counted last,
                                                       std::uint64_t begin) noexcept {
  if (last.number == 0 || last.at >= begin) return {};
  const std::uint64_t ns = writer.nanoseconds(begin - last.at);
  trace::MessageNumbers numbers{.sent = last.number, .sent_before_ns = trace::MessageNumbers::kLongest};
  if (ns < numbers.sent_before_ns) numbers.sent_before_ns = static_cast<std::uint32_t>(ns);
  return numbers;
}

}  // namespace cox::guest
