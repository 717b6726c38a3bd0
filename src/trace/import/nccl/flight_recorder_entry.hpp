// SPDX-License-Identifier: Apache-2.0
/// \file
/// One entry of a Flight Recorder's ring, read by key from its tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"
#include "cox/model/collective.hpp"
#include "cox/trace/raw_format.hpp"

#include "trace/import/nccl/pickle.hpp"

namespace cox::trace {

/// What the ring says of one operation. Times are nanoseconds of the Unix clock as dumped; nothing where the
/// recorder had not seen that moment.
struct RingEntry {
  std::string group;           ///< name of the process group, or its number in old dumps
  std::string_view backend;    ///< what stands before the colon of the profiling name
  std::int64_t record = -1;    ///< position since the recorder began; -1 = not dumped
  std::int64_t sequence = -1;  ///< of the group: `collective_seq_id`, or `p2p_seq_id` of a message
  std::optional<std::int64_t> created_ns{};
  std::optional<std::int64_t> started_ns{};
  std::optional<std::int64_t> completed_ns{};
  std::optional<Duration> device_time{};  ///< `duration_ms`: between the events on the device's stream
  Bytes bytes{};
  std::uint32_t element_bytes = 0;  ///< 0 = types not dumped, unknown, or of several sizes
  model::Collective op = model::Collective::Other;
  bool variable = false;   ///< members may contribute different sizes
  bool message = false;    ///< point to point
  bool coalesced = false;  ///< stands for all entries of the group with the same sequence number
  bool retired = false;
  bool sized = true;  ///< `bytes` is known
  PeerKind direction = PeerKind::Send;
  std::int64_t own = -1;   ///< message: this rank's place in the group; -1 = not told
  std::int64_t peer = -1;  ///< message: the other one's
};

/// Counts down the values looked at, so that values shared by many entries cannot make work quadratic.
class WorkBudget {
 public:
  explicit WorkBudget(std::size_t values) : left_(values) {}
  [[nodiscard]] bool take(std::size_t values) {
    if (values > left_) return false;
    left_ -= values;
    return true;
  }

 private:
  std::size_t left_;
};

/// Longest name of a group or an operation that is looked at.
inline constexpr std::size_t kRingNameBytes = 256;

/// Reads one entry; nothing where it is no dictionary or has no name. `backend` points into the tree.
[[nodiscard]] std::optional<RingEntry> read_ring_entry(const PlainTree& tree, PlainTree::Index at,
                                                       WorkBudget& budget);

/// Operation by c10d's spelling of it: `_all_gather_base`, `ALLGATHER_coalesced`, `all_reduce_barrier`, ...
[[nodiscard]] model::Collective collective_of_c10d(std::string_view name);

/// Global ranks of a group from `"[0, 1]"` or a list; empty where that is not what it is, or the budget ends.
[[nodiscard]] std::vector<Rank> read_rank_list(const PlainTree& tree, PlainTree::Index at,
                                               WorkBudget& budget);

}  // namespace cox::trace
