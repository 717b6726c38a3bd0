// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the numbers of a Paraver trace mean: the MPI calls that Extrae numbers,
/// and the names in `.pcf` and `.row`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cox/model/collective.hpp"

namespace cox::trace {

/// What a call of MPI means for who waits for whom.
enum class MpiRole : std::uint8_t {
  Library,     ///< time in the library that orders nobody
  Start,       ///< all processes meet: MPI_Init
  Collective,  ///< blocking
  CollectiveStart,
  PointToPoint,       ///< blocking send, receive or probe
  PointToPointStart,  ///< returns before the message has passed
  Completion,         ///< of one or several requests
  CompletionOfAll,
};

struct MpiCall {
  MpiRole role = MpiRole::Library;
  model::Collective collective = model::Collective::Other;
  bool variable = false;  ///< v and w forms
};

/// Call with this name (`MPI_Allreduce`, in any case); one that is not known is `Library`.
[[nodiscard]] MpiCall mpi_call_by_name(std::string_view name);
/// Call with this number, as Extrae writes it.
[[nodiscard]] MpiCall mpi_call_by_number(std::int64_t value);

/// Event types with a meaning here. Source: Extrae's event types, as in the `.pcf` that it writes.
inline constexpr std::int64_t kFirstMpiType = 50'000'001;  ///< point-to-point, collective, other, RMA, I/O
inline constexpr std::int64_t kLastMpiType = 50'000'005;
inline constexpr std::int64_t kSendSizeType = 50'100'001;
inline constexpr std::int64_t kReceiveSizeType = 50'100'002;
inline constexpr std::int64_t kRootType = 50'100'003;  ///< 1 on the root itself
inline constexpr std::int64_t kCommunicatorType = 50'100'004;

/// What a `.pcf` says, or Extrae's own numbers where there is none.
class ParaverNames {
 public:
  /// Reads the text of a `.pcf`. Lines that are none of it are passed over.
  void read_pcf(std::string_view text);
  [[nodiscard]] MpiCall call(std::int64_t value) const;

  std::int64_t instructions = 42'000'050;  ///< event type of PAPI_TOT_INS
  std::int64_t cycles = 42'000'059;        ///< and of PAPI_TOT_CYC

 private:
  std::unordered_map<std::int64_t, MpiCall> calls_;
};

/// Names of the nodes in the text of a `.row`, in order.
[[nodiscard]] std::vector<std::string> node_names_of_row(std::string_view text);

}  // namespace cox::trace
