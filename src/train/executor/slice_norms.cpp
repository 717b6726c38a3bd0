// SPDX-License-Identifier: Apache-2.0
#include "train/executor/slice_norms.hpp"

#include <algorithm>

#include "cox/learn/block_norm.hpp"

#include "train/executor/parting.hpp"

namespace cox::train {

Status gather_slices(const learn::ProblemSlice& slice, GroupTransport& links, std::span<const float> own,
                     const Gathered& how, std::span<float> room, std::span<float> all) {
  const std::uint64_t number = links.numbers(1);
  const auto place = [&](int s) {
    return room.subspan(static_cast<std::size_t>(s) * own.size(), own.size());
  };
  for (int s = 0; s < links.ranks() && how.wanted; ++s)
    if (s != links.rank()) links.receive(s, number, std::as_writable_bytes(place(s)));
  for (int s = 0; s < links.ranks() && how.gives; ++s)
    if (s != links.rank() && (s == 0 || !how.by_first)) links.send(s, number, std::as_bytes(own));
  COX_CHECK(links.wait());
  if (!how.wanted) return {};
  for (int s = 0; s < links.ranks(); ++s)
    if (s != links.rank()) learn::put_slice(slice, s, place(s), all);
  learn::put_slice(slice, links.rank(), own, all);
  return {};
}

namespace {

/// What slice `from` has of the stretch of slice `to`, among its own.
Stretch own_part(const learn::ProblemSlice& slice, int from, const Stretch& to) {
  const std::int64_t first = learn::own_before(slice, from, to.first);
  return {.first = first, .count = learn::own_before(slice, from, to.end()) - first};
}

}  // namespace

Status gather_stretch(const learn::ProblemSlice& slice, GroupTransport& links, std::span<const float> own,
                      std::int64_t elements, std::span<float> room, std::span<float> mine) {
  const std::uint64_t number = links.numbers(1);
  if (mine.empty()) return {};
  const int slices = links.ranks(), me = links.rank();
  const auto stretch_of = [&](int s) { return part_of(elements, s, slices); };
  const auto cut = [](auto values, const Stretch& part) {
    return values.subspan(static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count));
  };
  const std::int64_t first = stretch_of(me).first;
  for (int by = 1; by < slices; ++by) {
    const int from = (me + by) % slices, to = (me + slices - by) % slices;
    const auto coming = room.first(static_cast<std::size_t>(own_part(slice, from, stretch_of(me)).count));
    const auto going = cut(own, own_part(slice, me, stretch_of(to)));
    if (!coming.empty()) links.receive(from, number, std::as_writable_bytes(coming));
    if (!going.empty()) links.send(to, number, std::as_bytes(going));
    COX_CHECK(links.wait());
    learn::put_stretch(slice, from, coming, first, mine);
  }
  learn::put_stretch(slice, me, cut(own, own_part(slice, me, stretch_of(me))), first, mine);
  return {};
}

std::int64_t stretch_room(const learn::ProblemSlice& slice, int number, int slices, std::int64_t elements) {
  std::int64_t most = 0;
  for (int s = 0; s < slices; ++s)
    if (s != number) most = std::max(most, own_part(slice, s, part_of(elements, number, slices)).count);
  return most;
}

SliceNorms::SliceNorms(const learn::ProblemSlice& slice, std::span<const learn::Tensor> tensors,
                       GroupTransport& links, MemoryCount& memory)
    : slice_(slice), tensors_(tensors), links_(links) {
  const auto own = static_cast<std::size_t>(slice.parameters());
  own_ = CountedFloats(memory, Use::Received, own);
  room_ = CountedFloats(memory, Use::Received, own * static_cast<std::size_t>(links.ranks()));
  all_ = CountedFloats(memory, Use::Received,
                       static_cast<std::size_t>(tensors.back().first + tensors.back().size()));
}

Status SliceNorms::gather(std::span<const float* const> values) {
  for (std::size_t t = 0; t < values.size(); ++t) {
    const learn::Tensor& own = slice_.tensors()[t].own;
    std::copy_n(values[t], own.size(), own_.all().begin() + own.first);
  }
  return gather_slices(slice_, links_, own_.all(), {}, room_.all(), all_.all());
}

Result<double> SliceNorms::of_all(std::span<const float* const> values) {
  COX_CHECK(gather(values));
  return learn::block_norm(all_.all());
}

Result<std::vector<double>> SliceNorms::of_tensors(std::span<const float* const> values) {
  COX_CHECK(gather(values));
  std::vector<double> norms;
  for (const learn::Tensor& t : tensors_) {
    const std::span<const float> all = all_.all();
    norms.push_back(t.columns == 1 ? 0
                                   : learn::block_norm(all.subspan(static_cast<std::size_t>(t.first),
                                                                   static_cast<std::size_t>(t.size()))));
  }
  return norms;
}

Bytes norm_bytes(const learn::ProblemSlice& slice, int slices, const learn::OptimizerSpec& optimizer) {
  const bool of_tensors =
      optimizer.kind == learn::OptimizerKind::Lars || optimizer.kind == learn::OptimizerKind::Lamb;
  const std::int64_t vectors = (optimizer.clip > 0 ? 1 : 0) + (of_tensors ? 2 : 0);
  return Bytes{slice.parameters()} * sizeof(float) * (slices - 1) * vectors;
}

}  // namespace cox::train
