// SPDX-License-Identifier: Apache-2.0
#include "train/executor/piece_norms.hpp"

#include <algorithm>
#include <utility>

#include "cox/learn/block_norm.hpp"

namespace cox::train {
namespace {

/// A piece, and who keeps it.
struct Placed {
  int rank = 0;
  std::size_t piece = 0;
  Stretch elements{};
};

/// All pieces in the order of elements.
std::vector<Placed> placed(const Parting& parting, std::span<const learn::Tensor> tensors) {
  std::vector<Placed> all;
  for (int r = 0; r < parting.ranks(); ++r) {
    const std::vector<KeptPiece> pieces = pieces_of(parting, r, tensors);
    for (std::size_t p = 0; p < pieces.size(); ++p)
      all.push_back({.rank = r, .piece = p, .elements = pieces[p].elements});
  }
  std::ranges::sort(all, {}, [](const Placed& p) { return p.elements.first; });
  return all;
}

RankNorms::Block block_of(const Stretch& elements, std::size_t vector, const std::vector<Placed>& all) {
  RankNorms::Block block{.vector = vector, .fragments = {}};
  auto at =
      std::ranges::upper_bound(all, elements.first, {}, [](const Placed& p) { return p.elements.first; });
  for (--at; at != all.end() && at->elements.first < elements.end(); ++at) {
    const std::int64_t from = std::max(elements.first, at->elements.first);
    const std::int64_t to = std::min(elements.end(), at->elements.end());
    const auto offset = static_cast<std::size_t>(from - at->elements.first);
    const auto count = static_cast<std::size_t>(to - from);
    block.fragments.push_back({.rank = at->rank, .piece = at->piece, .offset = offset, .count = count});
  }
  return block;
}

RankNorms::Plan plan_of(const std::vector<Stretch>& vectors, const Parting& parting,
                        std::span<const learn::Tensor> tensors) {
  constexpr auto kBlock = static_cast<std::int64_t>(learn::kNormBlock);
  const std::vector<Placed> all = placed(parting, tensors);
  RankNorms::Plan plan;
  plan.vectors = vectors.size();
  plan.of_rank.resize(static_cast<std::size_t>(parting.ranks()));
  for (std::size_t v = 0; v < vectors.size(); ++v)
    for (std::int64_t at = vectors[v].first; at < vectors[v].end(); at += kBlock) {
      plan.blocks.push_back(
          block_of({.first = at, .count = std::min(kBlock, vectors[v].end() - at)}, v, all));
      const auto& fragments = plan.blocks.back().fragments;
      ++plan.of_rank[static_cast<std::size_t>(fragments.front().rank)];
      for (const RankNorms::Fragment& f : fragments)
        plan.fragments += f.rank != fragments.front().rank ? 1 : 0;
    }
  return plan;
}

}  // namespace

std::vector<KeptPiece> pieces_of(const Parting& parting, int rank, std::span<const learn::Tensor> tensors) {
  std::vector<KeptPiece> pieces;
  std::size_t t = 0;
  for (std::size_t u = 0; u < parting.units(); ++u) {
    const Stretch part = parting.part(u, rank);
    for (std::int64_t at = part.first; at < part.end();) {
      while (tensors[t].first + tensors[t].size() <= at) ++t;
      const std::int64_t end = std::min(part.end(), tensors[t].first + tensors[t].size());
      pieces.push_back({.tensor = t, .elements = {.first = at, .count = end - at}});
      at = end;
    }
  }
  return pieces;
}

RankNorms::Plan plan_of_all(const Parting& parting, std::span<const learn::Tensor> tensors) {
  return plan_of({{.first = 0, .count = parting.elements()}}, parting, tensors);
}

RankNorms::Plan plan_of_tensors(const Parting& parting, std::span<const learn::Tensor> tensors) {
  std::vector<Stretch> vectors;
  for (const learn::Tensor& t : tensors)
    vectors.push_back({.first = t.first, .count = t.columns > 1 ? t.size() : 0});
  return plan_of(vectors, parting, tensors);
}

Bytes RankNorms::Plan::sent_by(int rank) const {
  const auto others = static_cast<std::int64_t>(of_rank.size()) - 1;
  Bytes sent = Bytes{of_rank[static_cast<std::size_t>(rank)] * others} * sizeof(double);
  for (const Block& b : blocks)
    for (const Fragment& f : b.fragments)
      if (f.rank == rank && b.fragments.front().rank != rank)
        sent += Bytes{static_cast<std::int64_t>(f.count * sizeof(float))};
  return sent;
}

RankNorms::RankNorms(const Parting& parting, std::span<const learn::Tensor> tensors, Transport& transport)
    : transport_(transport),
      all_(plan_of_all(parting, tensors)),
      tensors_(plan_of_tensors(parting, tensors)) {}

Result<double> RankNorms::of_all(std::span<const float* const> values) {
  COX_TRY(const std::vector<double> one, norms(all_, values));
  return one.front();
}

Result<std::vector<double>> RankNorms::of_tensors(std::span<const float* const> values) {
  return norms(tensors_, values);
}

Result<std::vector<double>> RankNorms::norms(const Plan& plan, std::span<const float* const> values) {
  const int rank = transport_.rank();
  std::vector<std::vector<double>> sums;  // by rank
  for (const std::int64_t blocks : plan.of_rank) sums.emplace_back(static_cast<std::size_t>(blocks));
  std::vector<double>& mine = sums[static_cast<std::size_t>(rank)];
  struct Cut {
    std::size_t block = 0;  // of the own ones
    std::vector<float> values;
  };
  std::vector<Cut> cut;
  std::size_t own = 0;
  std::uint64_t number = transport_.numbers(plan.fragments);  // each of those that travel has its own
  for (const Block& b : plan.blocks) {
    const int home = b.fragments.front().rank;
    if (home == rank && b.fragments.size() == 1) {
      const Fragment& f = b.fragments.front();
      mine[own++] = learn::block_sum({values[f.piece] + f.offset, f.count});
      continue;
    }
    if (home == rank) cut.push_back({.block = own++, .values = std::vector<float>(learn::kNormBlock)});
    std::size_t at = 0;
    for (const Fragment& f : b.fragments) {
      const std::span<const float> here =
          f.rank == rank ? std::span(values[f.piece] + f.offset, f.count) : std::span<const float>{};
      const std::span<float> room =
          home == rank ? std::span(cut.back().values).subspan(at, f.count) : std::span<float>{};
      at += f.count;
      if (home == rank) std::ranges::copy(here, room.begin());
      if (f.rank == home) continue;
      if (f.rank == rank) transport_.send(home, number, std::as_bytes(here));
      if (home == rank) transport_.receive(f.rank, number, std::as_writable_bytes(room));
      ++number;
    }
    if (home == rank) cut.back().values.resize(at);
  }
  COX_CHECK(transport_.wait());
  for (const Cut& c : cut) mine[c.block] = learn::block_sum(c.values);
  const std::uint64_t last = transport_.numbers(1);
  for (int r = 0; r < transport_.ranks(); ++r) {
    if (r == rank) continue;
    transport_.send(r, last, std::as_bytes(std::span(mine)));
    transport_.receive(r, last, std::as_writable_bytes(std::span(sums[static_cast<std::size_t>(r)])));
  }
  COX_CHECK(transport_.wait());
  std::vector<std::vector<double>> of_vector(plan.vectors);
  std::vector<std::size_t> next(sums.size());
  for (const Block& b : plan.blocks) {
    const auto home = static_cast<std::size_t>(b.fragments.front().rank);
    of_vector[b.vector].push_back(sums[home][next[home]++]);
  }
  std::vector<double> norms;
  for (std::vector<double>& blocks : of_vector) norms.push_back(learn::norm_of_blocks(std::move(blocks)));
  return norms;
}

}  // namespace cox::train
