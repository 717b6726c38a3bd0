// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the messages of a Run tell of a call in which a rank stood still for one peer: until when it waited.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/base/units.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// The messages by rank and by the end of the call that ended them.
class MessageEnds {
 public:
  /// Empty where the Run has no messages, or where the ranks' clocks cannot be compared.
  explicit MessageEnds(const Matched& matched);

  /// When a rank stopped waiting for `peer` in a call from `begin` to `end`: when the other side had come.
  ///
  /// The rest of the call is transfer. `end` where no message ended with the call: then all of it counts as
  /// wait. A sender that left before the receiver came did not wait. Cost: O(log messages of the rank).
  [[nodiscard]] Duration waited_until(std::size_t rank, std::int32_t peer, Duration begin,
                                      Duration end) const;

  /// Who came last of all whose messages ended with a call that names no peer, and when.
  struct Last {
    std::int32_t peer = -1;  ///< -1: no message ended with the call
    Duration until{};
  };
  /// A completion of several messages waits for the last of them. Cost: as above,
  /// and the messages of the call.
  [[nodiscard]] Last last_to_come(std::size_t rank, Duration begin, Duration end) const;

 private:
  struct Half {
    Duration end{};
    std::int32_t peer = -1;
    bool sent = false;
    Duration other_begin{};
  };
  std::vector<std::vector<Half>> halves_;  ///< per rank, by (end, peer)
};

}  // namespace cox::diagnose
