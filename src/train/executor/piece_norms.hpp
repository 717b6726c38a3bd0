// SPDX-License-Identifier: Apache-2.0
/// \file
/// Norms of vectors that lie in pieces with all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/learn/optimize.hpp"

#include "train/executor/parting.hpp"
#include "train/transport/transport.hpp"

namespace cox::train {

/// Consecutive elements of one tensor that a rank keeps.
struct KeptPiece {
  std::size_t tensor = 0;
  Stretch elements{};  ///< of all
};
/// What a rank keeps of each unit, cut at tensors; in the order in which it keeps them.
[[nodiscard]] std::vector<KeptPiece> pieces_of(const Parting& parting, int rank,
                                               std::span<const learn::Tensor> tensors);

/// A vector's blocks of learn::kNormBlock elements begin with the vector, so parts cut some of them: what others keep of such a
/// block goes to whoever keeps its first element, who adds up its squares; the sums of all blocks go to everybody, who adds them
/// in learn's tree. So norms have the bits of learn::block_norm, for any number of ranks.
/// Bytes sent: 4 for each element of a cut block that lies elsewhere, and 8 (ranks - 1) for each block.
/// Threads: one owner. Held by: src/train/executor/piece_norms_test.cpp
class RankNorms final : public learn::PieceNorms {
 public:
  /// `transport` outlives it.
  RankNorms(const Parting& parting, std::span<const learn::Tensor> tensors, Transport& transport);
  [[nodiscard]] Result<double> of_all(std::span<const float* const> values) override;
  [[nodiscard]] Result<std::vector<double>> of_tensors(std::span<const float* const> values) override;

  /// Elements that lie together with one rank.
  struct Fragment {
    int rank = 0;
    std::size_t piece = 0;   ///< of that rank
    std::size_t offset = 0;  ///< in the piece
    std::size_t count = 0;
  };
  struct Block {
    std::size_t vector = 0;
    std::vector<Fragment> fragments;  ///< in order; the first one's rank adds up
  };
  /// What the norms of these vectors take.
  struct Plan {
    std::vector<Block> blocks;  ///< in the order of vectors
    std::size_t vectors = 0;
    std::vector<std::int64_t> of_rank;  ///< blocks that it adds up
    std::uint64_t fragments = 0;        ///< that travel
    /// Bytes that a rank sends.
    [[nodiscard]] Bytes sent_by(int rank) const;
  };
  [[nodiscard]] const Plan& all() const { return all_; }
  [[nodiscard]] const Plan& tensors() const { return tensors_; }

 private:
  [[nodiscard]] Result<std::vector<double>> norms(const Plan& plan, std::span<const float* const> values);

  Transport& transport_;
  Plan all_, tensors_;
};

/// Of all elements as one vector, and of each tensor that is no vector of biases.
[[nodiscard]] RankNorms::Plan plan_of_all(const Parting& parting, std::span<const learn::Tensor> tensors);
[[nodiscard]] RankNorms::Plan plan_of_tensors(const Parting& parting, std::span<const learn::Tensor> tensors);

}  // namespace cox::train
