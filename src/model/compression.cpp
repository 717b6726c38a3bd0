// SPDX-License-Identifier: Apache-2.0
#include "cox/model/compression.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"

namespace cox::model {
namespace {

/// Rounded up to whole bytes; as many as asked for at most.
Bytes part_of(Bytes bytes, double part) {
  return Bytes{static_cast<std::int64_t>(
      std::ceil(std::min(part, 1.0) * static_cast<double>(bytes.count()) * (1 - 1e-15)))};
}

Seconds at_rate(double bytes, Bandwidth rate) {
  return rate > Bandwidth{} ? Seconds{bytes / rate.in_bytes_per_s()} : Seconds{};
}

Bytes quantised(Bytes bytes, const Compression& how) {
  return part_of(bytes, how.bits / (8 * static_cast<double>(how.element.count())));
}

/// Of the elements that are kept, with their places; nothing = more than Bytes holds.
std::optional<Bytes> sparse(Bytes bytes, const Compression& how) {
  const std::int64_t elements = (bytes.count() + how.element.count() - 1) / how.element.count();
  std::int64_t each = 0;
  if (__builtin_mul_overflow((how.element + how.index).count(), part_of(Bytes{elements}, how.density).count(),
                             &each))
    return std::nullopt;
  return Bytes{each};
}

}  // namespace

std::optional<Compressed> compressed(Collective kind, Bytes bytes, int members, const Compression& how) {
  COX_ASSERT(how.element > Bytes{}, "an element has bytes");
  const bool sum = kind == Collective::AllReduce || kind == Collective::ReduceScatter;
  if (how.kind == Compressor::None) return Compressed{.kind = kind, .bytes = bytes};
  if (!sum || (how.kind == Compressor::Sparse && kind != Collective::AllReduce)) return std::nullopt;
  Compressed out{.kind = kind, .encode = at_rate(static_cast<double>(bytes.count()), how.encode)};
  const double others = members - 1;
  double received = 0;
  if (how.kind == Compressor::Quantised) {
    out.bytes = quantised(bytes, how);
    received =
        static_cast<double>(out.bytes.count()) * others / members * (kind == Collective::AllReduce ? 2 : 1);
  } else {
    const std::optional<Bytes> each = sparse(bytes, how);
    std::int64_t all = 0;
    if (!each || __builtin_mul_overflow(each->count(), std::int64_t{members}, &all)) return std::nullopt;
    out.kind = Collective::AllGather;
    out.bytes = Bytes{all};
    received = static_cast<double>(each->count()) * others;
  }
  out.decode = at_rate(received, how.decode);
  return out;
}

Compressed packed_message(Bytes bytes, const Compression& how) {
  COX_ASSERT(how.element > Bytes{}, "an element has bytes");
  Compressed out{.kind = Collective::SendRecv, .bytes = bytes};
  if (how.kind == Compressor::None) return out;
  out.bytes = how.kind == Compressor::Quantised ? quantised(bytes, how) : sparse(bytes, how).value_or(bytes);
  out.encode = at_rate(static_cast<double>(bytes.count()), how.encode);
  out.decode = at_rate(static_cast<double>(out.bytes.count()), how.decode);
  return out;
}

}  // namespace cox::model
