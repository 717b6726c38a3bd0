// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which replicas of a stage come together, and for what.
#pragma once

#include <cstdint>

#include "cox/model/scenario.hpp"

namespace cox::simulate::training {

/// A kind of group of replicas. Replicas of one group are told apart by their place in it, `member`.
enum class ReplicaGroup : std::uint8_t {
  All,
  Shards,   ///< neighbours that hold one set of shards among them
  Copies,   ///< one of each such set: they hold the same shard
  Experts,  ///< neighbours whose experts exchange
};
inline constexpr ReplicaGroup kAllReplicaGroups[] = {ReplicaGroup::All, ReplicaGroup::Shards,
                                                     ReplicaGroup::Copies, ReplicaGroup::Experts};

/// Those whose collectives are on a rank's streams: one kind, or shards and their copies.
inline constexpr ReplicaGroup kDataGroups[] = {ReplicaGroup::All, ReplicaGroup::Shards, ReplicaGroup::Copies};

/// Formula: replica = group x size + member, of neighbours; of copies member x shard + group.
class ReplicaGroups {
 public:
  ReplicaGroups() = default;
  explicit ReplicaGroups(const model::TrainingJob& job)
      : data_(job.layout.data),
        shard_(job.is_hybrid() ? job.layout.shard : job.layout.data),
        expert_(job.layout.expert),
        context_(job.layout.context) {}

  /// Replicas of a group.
  [[nodiscard]] int size(ReplicaGroup of) const {
    switch (of) {
      case ReplicaGroup::All:
        return data_;
      case ReplicaGroup::Shards:
        return shard_;
      case ReplicaGroup::Copies:
        return data_ / shard_;
      case ReplicaGroup::Experts:
        break;
    }
    return expert_;
  }
  [[nodiscard]] int count(ReplicaGroup of) const { return data_ / size(of); }
  /// Ranks of a unit that belong to one group; the others are in groups that do the same beside it.
  [[nodiscard]] int ranks_of_member(ReplicaGroup of) const {
    return of == ReplicaGroup::All || of == ReplicaGroup::Shards ? context_ : 1;
  }
  [[nodiscard]] int group_of(ReplicaGroup of, int replica) const {
    return of == ReplicaGroup::Copies ? replica % shard_ : replica / size(of);
  }
  [[nodiscard]] int member_of(ReplicaGroup of, int replica) const {
    return of == ReplicaGroup::Copies ? replica / shard_ : replica % size(of);
  }
  [[nodiscard]] int replica_of(ReplicaGroup of, int group, int member) const {
    return of == ReplicaGroup::Copies ? member * shard_ + group : group * size(of) + member;
  }

 private:
  int data_ = 1;
  int shard_ = 1;
  int expert_ = 1;
  int context_ = 1;
};

}  // namespace cox::simulate::training
