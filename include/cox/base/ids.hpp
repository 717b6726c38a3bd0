// SPDX-License-Identifier: Apache-2.0
/// \file
/// Identifiers that cannot be mixed up: a rank is not a step, and neither is a number to calculate with.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace cox {

/// A named integer: ordered, hashable, no arithmetic.
/// \tparam Tag makes each kind of id a type of its own.
/// \tparam Rep is signed so that a negative value read from a file is visible as such.
template <class Tag, class Rep = std::int32_t>
class Id {
 public:
  using rep = Rep;
  constexpr Id() = default;
  explicit constexpr Id(Rep value) : value_(value) {}
  [[nodiscard]] constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  Rep value_ = 0;
};

/// Rank in the job's world, counted from 0 (MPI, torchrun).
using Rank = Id<struct RankTag>;
/// Rank among the ranks of one node.
using LocalRank = Id<struct LocalRankTag>;
/// Host (node), an index into the hosts of a Run.
using NodeId = Id<struct NodeTag>;
using LinkId = Id<struct LinkTag>;
/// Communicator (PyTorch: process group), an index into the communicators of a Run.
using CommId = Id<struct CommTag>;
/// Training step, counted from 0 within the job.
using StepId = Id<struct StepTag, std::int64_t>;

}  // namespace cox

template <class Tag, class Rep>
struct std::hash<cox::Id<Tag, Rep>> {
  std::size_t operator()(cox::Id<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value()); }
};
