// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the wrappers of an MPI object share: communicators, requests that stand for collectives,
/// and sums of point-to-point messages.
#pragma once

#include <atomic>
#include <cstdint>

#include "cox/model/collective.hpp"

#include "guest/mpi/abi.hpp"
#include "guest/mpi/requests.hpp"
#include "guest/seam/communicators.hpp"

namespace cox::guest::mpi {

inline const Host* host = nullptr;
inline const WriterApi* writer = nullptr;
inline const PaceApi* pacing = nullptr;  ///< null where nobody asked for it
inline bool announced = false;

inline CommTable comms;
inline RequestTable requests;
inline MessageTable messages;

/// A blocking call with one peer leaves a record of its own only where it took at least this long.
inline constexpr std::uint64_t kLongNs = 50'000;

// Out of line: where nobody asked for pacing, a call pays for two tests of a pointer.
[[gnu::noinline, gnu::cold]] inline void enter_paced(const Comm* comm) noexcept {
  if (comm != nullptr) pacing->enter(comm->number);
}
[[gnu::noinline, gnu::cold]] inline void leave_paced(const trace::RawRecord* record) noexcept {
  pacing->leave(record->comm, record->begin, record->end, static_cast<std::int64_t>(record->bytes),
                Boundary::Synchronisation);
}

/// Opens the file once the library can say who we are.
void announce() noexcept;
/// What tells a communicator from others of the same members: equal on all of them.
struct Birth {
  std::uint64_t of = 0;  ///< of which communicator it was made, and how; 0 = not known
  bool once = false;     ///< no other one was made so; else it counts how many were before
};
/// Records a communicator that is new here. `like` is the one that tells its members where `comm` cannot yet.
/// Null for what is none.
Comm* learn(MPI_Comm comm, MPI_Comm like, Birth birth) noexcept;

inline Comm* lookup(MPI_Comm comm) noexcept {
  if (!announced) [[unlikely]]
    announce();
  Comm* found = comms.find(key_of(comm));
  if (found == nullptr && announced) [[unlikely]]
    found = learn(comm, comm, {});
  return found;
}

/// 0 where that is not a type.
[[nodiscard]] inline std::uint32_t element_of(MPI_Datatype type) noexcept {
  int bytes = 0;
  if (!is_type(type)) return 0;
  library.type_size(type, &bytes);
  return bytes < 0 ? 0 : static_cast<std::uint32_t>(bytes);
}
[[nodiscard]] inline std::uint64_t size_of(MPI_Datatype type, std::int64_t count) noexcept {
  return count <= 0 ? 0 : static_cast<std::uint64_t>(count) * element_of(type);
}

/// Point-to-point messages since the last flush, added up per communicator, peer and direction.
/// Threads: any; counts are atomic. Cost: one clock read and a few additions per message.
class PeerSums {
 public:
  void add(const Comm& comm, std::uint32_t peer, trace::PeerKind kind, std::uint64_t bytes) noexcept;
  /// Writes one record per entry in use. Called where a collective begins,
  /// and by `add` after a tenth of a second.
  void flush() noexcept;
  [[nodiscard]] bool pending() const noexcept { return used_.load(std::memory_order_relaxed) != 0; }

 private:
  struct Entry {
    std::atomic<std::uint64_t> key{0};  ///< communicator, peer and direction; 0 = free
    std::atomic<std::uint64_t> messages{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> first{0};
    std::atomic<std::uint64_t> last{0};
  };
  static constexpr std::size_t kEntries = 512;
  static constexpr std::size_t kProbe = 16;
  [[nodiscard]] Entry* entry(std::uint64_t key) noexcept;
  void write(Entry& entry) noexcept;

  Entry entries_[kEntries];
  std::atomic<std::uint32_t> used_{0};
  std::atomic<std::uint32_t> in_use_[kEntries];  ///< indices of entries in use, plus 1
  std::atomic<std::uint64_t> oldest_{0};
  std::atomic<bool> flushing_{false};
};
inline PeerSums peers;

[[nodiscard]] Wrappers collective_wrappers() noexcept;
[[nodiscard]] Wrappers peer_wrappers() noexcept;
[[nodiscard]] Wrappers completion_wrappers() noexcept;
[[nodiscard]] Wrappers communicator_wrappers() noexcept;

}  // namespace cox::guest::mpi
