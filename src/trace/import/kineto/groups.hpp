// SPDX-License-Identifier: Apache-2.0
/// \file
/// The process groups of a profiler trace: from the header, and from the arguments of collectives.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/trace/run.hpp"

#include "trace/import/kineto/event.hpp"
#include "trace/import/part/part_builder.hpp"

namespace cox::trace::kineto {

/// What `distributedInfo` says; -1 = it does not.
struct Distributed {
  bool present = false;
  std::string backend;
  std::string library_version;
  int rank = -1;
  int world_size = -1;
  std::int64_t group_count = -1;
  struct Group {
    std::string name;
    std::string description;
    int size = -1;
    std::vector<Rank> ranks;
  };
  std::vector<Group> groups;
};
/// Reads the raw JSON of the member; what it cannot read stays unknown.
[[nodiscard]] Distributed parse_distributed(std::string_view raw);

/// Groups that collectives name, each once.
class GroupTable {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;
  /// Group of these arguments; kNone where they name none.
  [[nodiscard]] std::uint32_t index(const CommsArguments& arguments);

  /// Makes communicators of the header's groups, in its order, then of those in `used` that it lacks; so
  /// that groups of equal members come in the same order on every rank.
  void resolve(PartBuilder& builder, const Distributed& header, const std::set<std::uint32_t>& used);
  [[nodiscard]] CommId communicator(std::uint32_t group) const { return resolved_[group]; }
  /// Groups of which the members are not known.
  [[nodiscard]] std::int64_t without_members() const { return without_members_; }

  /// The ranks from 0 to `world_size`, as long as that many are believable; else nobody.
  [[nodiscard]] std::vector<Rank> everybody(int world_size);

 private:
  struct Group {
    std::string name;
    std::string description;
    std::vector<Rank> ranks;
    int size = 0;
  };
  [[nodiscard]] std::vector<Rank> members_of(const CommsArguments& arguments);
  [[nodiscard]] std::vector<Rank> stride(std::int64_t first, std::int64_t step, std::int64_t count);

  TextTable keys_;
  std::vector<std::uint32_t> group_of_key_;
  std::map<std::string, std::uint32_t, std::less<>> by_name_;
  std::vector<Group> groups_;
  std::vector<CommId> resolved_;
  std::int64_t without_members_ = 0;
  std::int64_t made_up_ = 0;  // ranks that were written out from a claim of a few bytes
  std::string key_;
};

}  // namespace cox::trace::kineto
