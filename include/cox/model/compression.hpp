// SPDX-License-Identifier: Apache-2.0
/// \file
/// What gradients cost that are sent with fewer bytes: the collective that such data need, its bytes, and the time of
/// packing and unpacking. Formulas and break-even: docs/concepts/compression.md.
#pragma once

#include <cstdint>
#include <optional>

#include "cox/base/units.hpp"
#include "cox/model/schedule.hpp"

namespace cox::model {

enum class Compressor : std::uint8_t {
  None,
  Quantised,  ///< fewer bits for each element; a sum is unpacked, added and packed again at every hop
  Sparse,     ///< the largest elements with their places (top-k); ranks choose different ones
};

struct Compression {
  Compressor kind = Compressor::None;
  double bits = 8;        ///< quantised: of an element on the wire
  double density = 0.01;  ///< sparse: part of the elements that is sent
  Bytes element{4};       ///< before; at least one (asserted)
  Bytes index{4};         ///< sparse: of a place
  Bandwidth encode{};     ///< of bytes before packing; zero = no time
  Bandwidth decode{};     ///< of packed bytes that a rank receives; zero = no time
};

/// A collective as it is carried out, and what each member does on its own before and after it.
struct Compressed {
  Collective kind = Collective::AllReduce;
  Bytes bytes{};  ///< as `CollectiveSpec::bytes`
  Seconds encode{};
  Seconds decode{};
};

/// Sums (all-reduce, reduce-scatter) of `bytes` over `members`.
///   None: as asked for.
///   Quantised: the same collective on bytes x bits / (8 element). Encode: bytes / encode, as every member packs each
///     chunk once. Decode: what a member of a ring receives, 2 (members - 1) / members (reduce-scatter: half) of it.
///   Sparse: an all-gather of k (element + index) bytes of each member, k = density x bytes / element rounded up:
///     supports differ, so sums do not stay small. Decode: those of all others.
/// Nothing: other collectives, and the reduce-scatter of sparse data, which is none.
/// Held by: src/model/compression_test.cpp
[[nodiscard]] std::optional<Compressed> compressed(Collective kind, Bytes bytes, int members,
                                                   const Compression& how);

/// One rank's gradients of `bytes` on their way to a server, a message of their own: bytes x bits / (8 element), or k (element +
/// index). Packed by the sender, unpacked by who receives it. Held by: src/model/compression_test.cpp
[[nodiscard]] Compressed packed_message(Bytes bytes, const Compression& how);

}  // namespace cox::model
