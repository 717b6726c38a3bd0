// SPDX-License-Identifier: Apache-2.0
#include "train/transport/transport.hpp"

#include <fmt/format.h>

#include "cox/base/units_text.hpp"

namespace cox::train {

Error Transport::late(bool receiving, int peer, Slot slot, Seconds patience) const {
  return {.code = Errc::Timeout,
          .id = "train-003",
          .message = fmt::format("rank {} waited {} for rank {} to {} message {} of generation {}", rank_,
                                 to_string(patience), peer, receiving ? "send" : "take", slot.number,
                                 slot.generation),
          .hint = "see whether that rank still runs",
          .where = {}};
}

Error Transport::nobody(Slot slot, Seconds patience) const {
  return {.code = Errc::Timeout,
          .id = "train-003",
          .message = fmt::format("rank {} waited {} for anybody to send message {} of generation {}", rank_,
                                 to_string(patience), slot.number, slot.generation),
          .hint = "see whether the other ranks still run",
          .where = {}};
}

Error Transport::lost_one(Slot slot) const {
  return {.code = Errc::Timeout,
          .id = "train-003",
          .message = fmt::format("rank {} has lost one of those who send message {} of generation {}", rank_,
                                 slot.number, slot.generation),
          .hint = "see how the other ranks ended",
          .where = {}};
}

Error Transport::lost(bool receiving, int peer, Slot slot) const {
  return {.code = Errc::Timeout,
          .id = "train-003",
          .message = fmt::format("rank {} has lost rank {}, which was to {} message {} of generation {}",
                                 rank_, peer, receiving ? "send" : "take", slot.number, slot.generation),
          .hint = "see how that rank ended",
          .where = {}};
}

Error Transport::unlike(int peer, Slot slot, const char* what, std::uint64_t got,
                        std::uint64_t expected) const {
  return {
      .code = Errc::Io,
      .id = "train-004",
      .message = fmt::format("rank {} got message {} of generation {} from rank {} with {} {}, expected {}",
                             rank_, slot.number, slot.generation, peer, what, got, expected),
      .hint = "all ranks have to run the same program with the same job",
      .where = {}};
}

}  // namespace cox::train
