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
    out.bytes = part_of(bytes, how.bits / (8 * static_cast<double>(how.element.count())));
    received =
        static_cast<double>(out.bytes.count()) * others / members * (kind == Collective::AllReduce ? 2 : 1);
  } else {
    const std::int64_t elements = (bytes.count() + how.element.count() - 1) / how.element.count();
    const std::int64_t kept = part_of(Bytes{elements}, how.density).count();
    std::int64_t each = 0;
    std::int64_t all = 0;
    if (__builtin_mul_overflow((how.element + how.index).count(), kept, &each) ||
        __builtin_mul_overflow(each, std::int64_t{members}, &all))
      return std::nullopt;  // more than Bytes holds
    out.kind = Collective::AllGather;
    out.bytes = Bytes{all};
    received = static_cast<double>(each) * others;
  }
  out.decode = at_rate(received, how.decode);
  return out;
}

}  // namespace cox::model
