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
#include "guest/seam/peer_sums.hpp"

namespace cox::guest::mpi {

inline const Host* host = nullptr;
inline const WriterApi* writer = nullptr;
inline const PaceApi* pacing = nullptr;  ///< null where nobody asked for it
inline bool announced = false;

inline CommTable comms;
inline RequestTable requests;
inline MessageTable messages;

/// A blocking call for messages leaves a record of its own where it took at least this long...
inline constexpr std::uint64_t kLongNs = 50'000;
/// ...or where none did for so long: whoever never waits is known to have been there, and what it had sent.
inline constexpr std::uint64_t kSeldomNs = 500'000;

/// Which short calls for messages leave a record: the first ones after a while, together with those that
/// follow closely. Threads: any; they may take each other's turns.
class ShortCalls {
 public:
  void set_clock(std::uint64_t ns_per_million_ticks) noexcept {
    const std::uint64_t ns = ns_per_million_ticks == 0 ? 1 : ns_per_million_ticks;
    close_ = kLongNs * 1'000'000 / ns;
    seldom_ = kSeldomNs * 1'000'000 / ns;
  }
  /// Ends a record, or takes it back. Whether it stays.
  bool end(trace::RawRecord* record) noexcept {
    const std::uint64_t begin = record->begin;
    std::uint32_t left = left_.load(std::memory_order_relaxed);
    if (begin - last_.load(std::memory_order_relaxed) > close_)
      left = begin - kept_.load(std::memory_order_relaxed) > seldom_ ? kTogether : 0;
    if (!writer->end_if_long(record, left != 0 ? 0 : kLongNs)) {
      last_.store(begin, std::memory_order_relaxed);
      left_.store(0, std::memory_order_relaxed);
      return false;
    }
    last_.store(record->end, std::memory_order_relaxed);
    kept_.store(record->end, std::memory_order_relaxed);
    left_.store(record->end - begin >= close_ ? kTogether : left - (left != 0), std::memory_order_relaxed);
    return true;
  }

 private:
  static constexpr std::uint32_t kTogether = 16;
  std::uint64_t close_ = ~std::uint64_t{0};
  std::uint64_t seldom_ = ~std::uint64_t{0};
  std::atomic<std::uint64_t> last_{0};  ///< end of the last call, or begin where it was short
  std::atomic<std::uint64_t> kept_{0};
  std::atomic<std::uint32_t> left_{0};  ///< so many short calls may follow and stay
};
inline ShortCalls short_calls;

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
/// The communicator that this thread frees: a callback that uses it must not make it known again.
inline thread_local std::uintptr_t being_freed [[gnu::tls_model("initial-exec")]] = 0;

/// Records a communicator that is new here. `like` is the one that tells its members where `comm` cannot yet.
/// Null for what is none, and for one that the program's error handler uses while another is looked at.
Comm* learn(MPI_Comm comm, MPI_Comm like, Birth birth) noexcept;

inline Comm* lookup(MPI_Comm comm) noexcept {
  if (!announced) [[unlikely]]
    announce();
  Comm* found = comms.find(key_of(comm));
  if (found == nullptr && announced && key_of(comm) != being_freed) [[unlikely]]
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

inline PeerSums peers;

[[nodiscard]] Wrappers collective_wrappers() noexcept;
[[nodiscard]] Wrappers peer_wrappers() noexcept;
[[nodiscard]] Wrappers completion_wrappers() noexcept;
[[nodiscard]] Wrappers communicator_wrappers() noexcept;

}  // namespace cox::guest::mpi
