// SPDX-License-Identifier: Apache-2.0
#include "learn/compress/compressor.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"
#include "cox/base/random.hpp"

#include "learn/compress/compress_kernels.hpp"
#include "learn/compress/largest_places.hpp"
#include "learn/compress/levels.hpp"
#include "learn/compress/low_rank.hpp"
#include "learn/compress/packed.hpp"

namespace cox::learn {
namespace {

// Streams of draws; `learn` counts its own from 40.
constexpr std::uint32_t kRoundingStream = 40;
constexpr std::uint32_t kPlacesStream = 41;
constexpr std::uint32_t kFactorStream = 42;

std::size_t index_of(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// k of `size`: rounded up, at least one. The factor takes back what `keep` was rounded up by.
std::size_t kept(const CompressorSpec& spec, std::int64_t size, std::int64_t step) {
  double keep = spec.keep;
  if (step + 1 < spec.warm_up)
    keep = power(keep, static_cast<double>(step + 1) / static_cast<double>(spec.warm_up));
  const auto k = static_cast<std::int64_t>(std::ceil(keep * static_cast<double>(size) * (1 - 1e-12)));
  return index_of(std::clamp<std::int64_t>(k, 1, size));
}

/// k places of `size`, all equally likely, the same for all workers of a step. In order.
/// Source: Floyd's sampling (Bentley 1987).
std::vector<std::uint32_t> drawn_places(std::uint64_t seed, std::int64_t step, std::uint64_t first,
                                        std::size_t size, std::size_t k) {
  const RandomStream random(seed, kPlacesStream);
  std::vector<bool> in(size);
  for (std::size_t last = size - k; last < size; ++last) {
    const std::uint64_t high = random.bits(static_cast<std::uint64_t>(step), first + last) >> 32;
    const auto place = static_cast<std::size_t>((high * (last + 1)) >> 32);
    in[in[place] ? last : place] = true;
  }
  std::vector<std::uint32_t> places;
  places.reserve(k);
  for (std::size_t i = 0; i < size; ++i)
    if (in[i]) places.push_back(static_cast<std::uint32_t>(i));
  return places;
}

/// Places as a list or as one bit for each element, whichever is shorter; none where all are there.
bool listed(std::size_t k, std::size_t size) {
  return 4 * k <= (size + 7) / 8;
}

void put_sparse(Packed& to, std::span<const float> in, std::span<const std::uint32_t> places) {
  if (places.size() < in.size()) {
    if (listed(places.size(), in.size())) {
      for (const std::uint32_t place : places) to.put(place);
    } else {
      std::vector<std::uint8_t> bits((in.size() + 7) / 8);
      for (const std::uint32_t place : places)
        bits[place / 8] = static_cast<std::uint8_t>(bits[place / 8] | 1U << place % 8);
      to.put_all<std::uint8_t>(bits);
    }
  }
  for (const std::uint32_t place : places) to.put(in[place]);
}

void take_sparse(PackedReader& from, std::size_t k, std::span<float> out) {
  std::vector<std::uint32_t> places;
  if (k == out.size()) {
    from.take_all(out);
    return;
  }
  if (listed(k, out.size())) {
    places.resize(k);
    from.take_all<std::uint32_t>(places);
  } else {
    std::vector<std::uint8_t> bits((out.size() + 7) / 8);
    from.take_all<std::uint8_t>(bits);
    for (std::size_t i = 0; i < out.size(); ++i)
      if ((bits[i / 8] >> i % 8 & 1) != 0) places.push_back(static_cast<std::uint32_t>(i));
  }
  std::fill(out.begin(), out.end(), 0.0F);
  for (const std::uint32_t place : places) out[place] = from.take<float>();
}

/// FP8 has too few exponents to do without: the power of two that puts the largest just below `top`.
float power_of_two_below(float top, float largest) {
  if (largest == 0) return 1;
  // NaN stays NaN, infinity gives 0, and 0 / 0 then NaN
  const float quotient = std::min(top / largest, 0x1p100F);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(quotient) & 0x7f800000U);
}

struct Wire {
  NumberFormat format;
  float top;  ///< 0: no scale
};
Wire wire_format(CompressorKind kind) {
  switch (kind) {
    case CompressorKind::Fp16:
      return {NumberFormat::Fp16, 0};
    case CompressorKind::Bf16:
      return {NumberFormat::Bf16, 0};
    case CompressorKind::E4m3Fn:
      return {NumberFormat::E4m3Fn, 448};
    default:
      return {NumberFormat::E5m2, 57344};
  }
}

void put_format(Wire wire, std::span<const float> in, Packed& to) {
  std::vector<float> scaled;
  if (wire.top > 0) {
    const float factor =
        power_of_two_below(wire.top, std::bit_cast<float>(compress_kernels().largest(in.size(), in.data())));
    to.put(factor);
    scaled.resize(in.size());
    std::transform(in.begin(), in.end(), scaled.begin(), [&](float v) { return v * factor; });
    in = scaled;
  }
  compress_kernels().to_codes(wire.format, in.size(), in.data(),
                              to.grow(in.size() * index_of(size_of(wire.format).count())));
}

void take_format(Wire wire, PackedReader& from, std::span<float> out) {
  const float factor = wire.top > 0 ? from.take<float>() : 1;
  compress_kernels().from_codes(wire.format, out.size(),
                                from.skip(out.size() * index_of(size_of(wire.format).count())), out.data());
  if (wire.top > 0)
    for (float& v : out) v /= factor;
}

void put_signs(CompressorKind kind, std::span<const float> in, Packed& to) {
  const auto d = static_cast<double>(in.size());
  const CompressKernels& kernels = compress_kernels();
  to.put(static_cast<float>(kind == CompressorKind::Sign
                                ? kernels.sum_of_sizes(in.size(), in.data()) / d
                                : std::sqrt(kernels.sum_of_squares(in.size(), in.data()) / d)));
  kernels.pack_signs(in.size(), in.data(), reinterpret_cast<std::uint8_t*>(to.grow((in.size() + 7) / 8)));
}

void take_signs(PackedReader& from, std::span<float> out) {
  const auto scale = from.take<float>();
  compress_kernels().unpack_signs(
      out.size(), reinterpret_cast<const std::uint8_t*>(from.skip((out.size() + 7) / 8)), scale, out.data());
}

Levels levels_of(const CompressorSpec& spec) {
  if (spec.kind == CompressorKind::TernGrad) return {.count = 1, .bucket = 0, .clip = spec.clip};
  return {.scale = spec.kind == CompressorKind::Qsgd ? BucketScale::Norm : BucketScale::Largest,
          .count = spec.levels,
          .bucket = index_of(spec.bucket)};
}

}  // namespace

Compressor::Compressor(const CompressorSpec& spec, std::span<const Tensor> tensors, std::uint64_t seed)
    : spec_(spec), seed_(seed) {
  for (const Tensor& tensor : tensors) {
    COX_ASSERT(tensor.first == parameters_, "tensors in order and without gaps");
    parameters_ += tensor.size();
    if (spec.by_tensor || spec.kind == CompressorKind::PowerSgd)
      parts_.push_back({tensor.first, tensor.rows, tensor.columns});
  }
  if (parts_.empty()) parts_.push_back({0, parameters_, 1});
}

std::size_t Compressor::rank_of(const Part& part) const {
  const std::int64_t rank = std::min<std::int64_t>({spec_.rank, part.rows, part.columns});
  return rank * (part.rows + part.columns) < part.rows * part.columns ? index_of(rank) : 0;
}

bool Compressor::dense(const Part& part) const {
  const std::size_t size = index_of(part.size());
  switch (spec_.kind) {
    case CompressorKind::Dense:
      return true;
    case CompressorKind::Qsgd:
    case CompressorKind::MaxScaled:
    case CompressorKind::TernGrad:
      return bytes_of(levels_of(spec_), size) >= 4 * size;
    case CompressorKind::Sign:
    case CompressorKind::SignRms:
    case CompressorKind::E4m3Fn:
    case CompressorKind::E5m2:
      return size < 2;
    case CompressorKind::PowerSgd:
      return rank_of(part) == 0;
    default:
      return false;
  }
}

std::vector<float>& Compressor::factor_of(std::size_t number, int worker) {
  const std::size_t at = index_of(worker) * parts_.size() + number;
  if (factors_.size() <= at) factors_.resize((index_of(worker) + 1) * parts_.size());
  return factors_[at];
}

/// Columns of Q that are zero, at first all, are drawn: the same for all workers.
void Compressor::draw_missing(std::size_t number, std::int64_t step, std::vector<float>& q) const {
  const Part& part = parts_[number];
  const std::size_t columns = index_of(part.columns);
  q.resize(columns * rank_of(part));
  std::vector<double> normals(columns);
  for (std::size_t first = 0; first < q.size(); first += columns) {
    const std::span<float> column = std::span(q).subspan(first, columns);
    if (std::any_of(column.begin(), column.end(), [](float v) { return v != 0; })) continue;
    RandomStream(seed_, kFactorStream)
        .normals(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(part.first) + first, normals);
    std::transform(normals.begin(), normals.end(), column.begin(),
                   [](double v) { return static_cast<float>(v); });
  }
}

void Compressor::put_part(std::size_t number, std::span<const float> in, std::int64_t step, int worker,
                          Packed& to) {
  const Part& part = parts_[number];
  if (dense(part)) return to.put_all(in);
  switch (spec_.kind) {
    case CompressorKind::TopK:
      return put_sparse(to, in, largest_places(in, kept(spec_, part.size(), step)));
    case CompressorKind::RandomK:
      for (const std::uint32_t place : shared_places(part, step)) to.put(in[place]);
      return;
    case CompressorKind::Threshold: {
      const auto places = places_at_least(in, size_bits(static_cast<float>(spec_.threshold)));
      to.put(static_cast<std::uint32_t>(places.size()));
      return put_sparse(to, in, places);
    }
    case CompressorKind::Qsgd:
    case CompressorKind::MaxScaled:
    case CompressorKind::TernGrad: {
      const std::size_t place = index_of(worker) * parts_.size() + number;
      return put_levels(levels_of(spec_), in,
                        RandomStream(seed_, kRoundingStream).bits(static_cast<std::uint64_t>(step), place),
                        to);
    }
    case CompressorKind::Sign:
    case CompressorKind::SignRms:
      return put_signs(spec_.kind, in, to);
    case CompressorKind::PowerSgd: {
      std::vector<float>& q = factor_of(number, worker);
      draw_missing(number, step, q);
      std::vector<float> p(index_of(part.rows) * rank_of(part));
      low_rank(in, {index_of(part.rows), index_of(part.columns)}, rank_of(part), p, q);
      to.put_all<float>(p);
      return to.put_all<float>(q);
    }
    default:
      return put_format(wire_format(spec_.kind), in, to);
  }
}

void Compressor::take_part(std::size_t number, PackedReader& from, std::int64_t step,
                           std::span<float> out) const {
  const Part& part = parts_[number];
  if (dense(part)) return from.take_all(out);
  switch (spec_.kind) {
    case CompressorKind::TopK:
      return take_sparse(from, kept(spec_, part.size(), step), out);
    case CompressorKind::RandomK: {
      const auto places = shared_places(part, step);
      const auto factor =
          spec_.scaled
              ? static_cast<float>(static_cast<double>(out.size()) / static_cast<double>(places.size()))
              : 1.0F;
      std::fill(out.begin(), out.end(), 0.0F);
      for (const std::uint32_t place : places) out[place] = from.take<float>() * factor;
      return;
    }
    case CompressorKind::Threshold: {
      const auto count = from.take<std::uint32_t>();
      return take_sparse(from, count, out);
    }
    case CompressorKind::Qsgd:
    case CompressorKind::MaxScaled:
    case CompressorKind::TernGrad:
      return take_levels(levels_of(spec_), from, out);
    case CompressorKind::Sign:
    case CompressorKind::SignRms:
      return take_signs(from, out);
    case CompressorKind::PowerSgd: {
      const MatrixShape shape{index_of(part.rows), index_of(part.columns)};
      std::vector<float> p(shape.rows * rank_of(part));
      std::vector<float> q(shape.columns * rank_of(part));
      from.take_all<float>(p);
      from.take_all<float>(q);
      return multiply(p, q, shape, rank_of(part), out);
    }
    default:
      return take_format(wire_format(spec_.kind), from, out);
  }
}

std::vector<std::uint32_t> Compressor::shared_places(const Part& part, std::int64_t step) const {
  return drawn_places(seed_, step, static_cast<std::uint64_t>(part.first), index_of(part.size()),
                      kept(spec_, part.size(), step));
}

void Compressor::encode(std::span<const float> in, std::int64_t step, int worker,
                        std::vector<std::byte>& packed) {
  COX_ASSERT(in.size() == index_of(parameters_), "all parameters");
  Packed to(packed);
  for (std::size_t i = 0; i < parts_.size(); ++i)
    put_part(i, in.subspan(index_of(parts_[i].first), index_of(parts_[i].size())), step, worker, to);
}

void Compressor::decode(std::span<const std::byte> packed, std::int64_t step, std::span<float> out) const {
  COX_ASSERT(out.size() == index_of(parameters_), "all parameters");
  PackedReader from(packed);
  for (std::size_t i = 0; i < parts_.size(); ++i)
    take_part(i, from, step, out.subspan(index_of(parts_[i].first), index_of(parts_[i].size())));
  COX_ASSERT(from.done(), "bytes of the same compressor");
}

Bytes Compressor::compress(std::span<const float> in, std::int64_t step, int worker, std::span<float> out) {
  encode(in, step, worker, packed_);
  decode(packed_, step, out);
  return Bytes{static_cast<std::int64_t>(packed_.size())};
}

double left_over(std::span<const float> in, std::span<const float> out) {
  COX_ASSERT(in.size() == out.size(), "one for each");
  double left = 0;
  double all = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double x = static_cast<double>(in[i]);
    const double rest = x - static_cast<double>(out[i]);
    left += rest * rest;
    all += x * x;
  }
  return all == 0 ? 0 : left / all;
}

Reduction reduction_of(CompressorKind kind) {
  switch (kind) {
    case CompressorKind::Dense:
    case CompressorKind::Fp16:
    case CompressorKind::Bf16:
    case CompressorKind::RandomK:
    case CompressorKind::PowerSgd:
      return Reduction::AllReduce;
    case CompressorKind::TopK:
    case CompressorKind::Threshold:
      return Reduction::AllGather;
    default:
      return Reduction::AllToAllThenAllGather;
  }
}

model::Compression wire_of(CompressorKind kind, Bytes sent, std::int64_t elements) {
  const double bytes_each = static_cast<double>(sent.count()) / static_cast<double>(elements);
  if (kind == CompressorKind::Dense) return {};
  if (reduction_of(kind) == Reduction::AllGather)
    return {.kind = model::Compressor::Sparse, .density = bytes_each / 8};
  return {.kind = model::Compressor::Quantised, .bits = 8 * bytes_each};
}

}  // namespace cox::learn
