// SPDX-License-Identifier: Apache-2.0
/// \file
/// Events of one OTF2 location as calls of MPI.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/import/mpi/mpi_part.hpp"
#include "trace/import/mpi/otf2_definitions.hpp"

namespace cox::trace::otf2 {

/// From ticks of the archive's clock to time from its origin.
class TickClock {
 public:
  TickClock(std::uint64_t ticks_per_second, std::uint64_t origin)
      : per_second_(ticks_per_second), origin_(origin) {}
  /// Nothing where it is more than fifty days away: no `Duration` holds that.
  [[nodiscard]] std::optional<Duration> time(std::uint64_t ticks) const;

 private:
  std::uint64_t per_second_;
  std::uint64_t origin_;
};

/// What the events of all locations share. Read only, so that locations can be read in parallel.
struct Context {
  const Definitions& definitions;
  TickClock clock;
  /// World ranks of each group that a communicator has, in the group's order. Many may have the same.
  std::map<std::uint32_t, std::vector<std::int32_t>> groups;
  std::map<std::uint32_t, const std::vector<std::int32_t>*> members;  ///< by communicator; where known
  std::map<std::uint32_t, int> sizes;                                 ///< by communicator; where known
};

struct LocationResult {
  MpiRank calls;
  std::array<std::int64_t, 256> records{};  ///< by number of the kind of record
  std::int64_t used = 0;                    ///< records that went into the Run
  std::int64_t far = 0;                     ///< records whose time no `Duration` holds
  std::int64_t backwards = 0;               ///< records before the one in front of them
  std::int64_t damaged = 0;                 ///< shorter than their fields
  std::int64_t strange_leaves = 0;          ///< without the enter that belongs to them
  std::int64_t user_regions = 0;            ///< entered; not MPI
  std::int64_t without_comm = 0;            ///< collectives of which only the call is recorded
  std::int64_t orphans = 0;                 ///< completions of requests that were not started here
  Ending ending = Ending::Whole;
  std::size_t end_at = 0;
};

/// Reads one `.evt`. `thread`: small number of the location within its process; the first alone gives the
/// times outside MPI. Cost: linear in bytes, and a search per request.
[[nodiscard]] LocationResult read_events(std::string_view bytes, std::uint64_t chunk_bytes,
                                         const LocalDefinitions& local, const Context& context, Rank rank,
                                         std::uint32_t thread);

/// Time of the first event in ticks of the archive's clock; nothing where there is none.
[[nodiscard]] std::optional<std::uint64_t> first_time(std::string_view bytes, std::uint64_t chunk_bytes,
                                                      const LocalDefinitions& local);

/// Name of a kind of event record for notes: `Metric`; its number where it is newer than this reader.
[[nodiscard]] std::string event_name(std::uint8_t id);

}  // namespace cox::trace::otf2
