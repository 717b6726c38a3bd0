// SPDX-License-Identifier: Apache-2.0
/// \file
/// The binary form of a GOAL schedule: the form in which every schedule is run, mapped or made from text.
///
/// Source: format written by spcl/LogGOPSim 76451de (src/LogGOPSim/Parser.hpp), read for its facts:
///   u64 4223, u32 ranks, u8 highest cpu, u8 highest nic, ranks x (u64 begin, u64 end; both count from behind
///   the first u64); then a block per rank: u32 operations, u32 roots, roots x u32, operations x 39 bytes,
///   successors x u32. All little-endian, nothing is padded.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "cox/base/prefetch.hpp"
#include "cox/base/result.hpp"
#include "cox/model/program.hpp"
#include "cox/simulate/event.hpp"

namespace cox::simulate {

static_assert(std::endian::native == std::endian::little, "GOAL's binary form is read in place");

/// What an operation of a schedule is.
enum class GraphOp : std::uint8_t { Calc, Send, Receive };
inline constexpr std::uint32_t kAnySource = model::kAnyPeer;
inline constexpr std::uint32_t kAnyTag = model::kAnyTag;

inline constexpr std::uint64_t kGoalMagic = 4223;
inline constexpr std::uint64_t kGoalSpent = 2342;  ///< what LogGOPSim --save-mem leaves behind
inline constexpr std::size_t kGoalNodeBytes = 39;

template <class T>
[[nodiscard]] inline T load_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// One operation in place. 39 bytes: u32 predecessors, u8 kind, u32 peer, u64 amount, u32 tag, u8 cpu, u8
/// nic, u32 count and u32 place of the successors of its end, and the same of its start.
class GoalNode {
 public:
  enum Kind : std::uint8_t { kSend = 1, kReceive = 2, kCalc = 3 };

  explicit GoalNode(const std::byte* at) : at_(at) {}
  [[nodiscard]] std::uint32_t predecessors() const { return load_as<std::uint32_t>(at_); }
  [[nodiscard]] std::uint8_t kind() const { return load_as<std::uint8_t>(at_ + 4); }
  [[nodiscard]] std::uint32_t peer() const { return load_as<std::uint32_t>(at_ + 5); }
  [[nodiscard]] std::uint64_t amount() const { return load_as<std::uint64_t>(at_ + 9); }
  [[nodiscard]] std::uint32_t tag() const { return load_as<std::uint32_t>(at_ + 17); }
  [[nodiscard]] std::uint8_t cpu() const { return load_as<std::uint8_t>(at_ + 21); }
  [[nodiscard]] std::uint8_t nic() const { return load_as<std::uint8_t>(at_ + 22); }
  [[nodiscard]] std::uint32_t after_end() const { return load_as<std::uint32_t>(at_ + 23); }
  [[nodiscard]] std::uint32_t after_end_at() const { return load_as<std::uint32_t>(at_ + 27); }
  [[nodiscard]] std::uint32_t after_start() const { return load_as<std::uint32_t>(at_ + 31); }
  [[nodiscard]] std::uint32_t after_start_at() const { return load_as<std::uint32_t>(at_ + 35); }

 private:
  const std::byte* at_;
};

/// Where a rank's operations lie. 24 bytes.
struct GoalBlock {
  const std::byte* nodes = nullptr;
  std::uint32_t first = 0;  ///< its first operation among those of all ranks
  std::uint32_t count = 0;
  std::uint32_t roots = 0;  ///< operations without predecessors; their u32 list ends at `nodes`
  std::uint32_t root_receives = 0;

  [[nodiscard]] const std::byte* at(std::uint32_t operation) const {
    return nodes + std::size_t{operation} * kGoalNodeBytes;
  }
  [[nodiscard]] GoalNode node(std::uint32_t operation) const { return GoalNode(at(operation)); }
  [[nodiscard]] std::uint32_t operation_at(const std::byte* node) const {
    return static_cast<std::uint32_t>(static_cast<std::size_t>(node - nodes) / kGoalNodeBytes);
  }
  [[nodiscard]] std::uint32_t successor(std::uint32_t at) const {
    return load_as<std::uint32_t>(nodes + std::size_t{count} * kGoalNodeBytes + std::size_t{at} * 4);
  }
  void prefetch_successors(std::uint32_t at) const {
    prefetch(nodes + std::size_t{count} * kGoalNodeBytes + std::size_t{at} * 4);
  }
  [[nodiscard]] std::uint32_t root(std::uint32_t i) const {
    return load_as<std::uint32_t>(nodes - std::size_t{roots - i} * 4);
  }
};

/// A checked view of a schedule's bytes, which must outlive it.
class GoalImage {
 public:
  /// Reads all of it once; afterwards every index in it can be followed.
  /// Errors: goal-005 (damaged), goal-006 (more than can be run). Memory: 24 bytes per rank; while it checks,
  /// 4 per operation of one rank. Cost: O(operations + dependencies), bounded by the length of `bytes`.
  [[nodiscard]] static Result<GoalImage> check(std::span<const std::byte> bytes, const std::string& name);

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(blocks_.size()); }
  [[nodiscard]] const GoalBlock& block(std::uint32_t rank) const { return blocks_[rank]; }
  [[nodiscard]] std::uint32_t operations() const { return operations_; }
  /// For how many others an operation waits at most.
  [[nodiscard]] std::uint32_t most_predecessors() const { return most_predecessors_; }

  [[nodiscard]] int cpus() const { return cpus_; }
  [[nodiscard]] int nics() const { return nics_; }
  [[nodiscard]] std::uint64_t longest_calc() const { return longest_calc_; }
  [[nodiscard]] std::uint64_t longest_message() const { return longest_message_; }
  [[nodiscard]] bool any_source() const { return any_source_; }  ///< a receive takes any source's message
  [[nodiscard]] bool any_tag() const { return any_tag_; }
  [[nodiscard]] bool any_both() const { return any_both_; }  ///< ... of any source and any tag
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  friend class GoalImageCheck;
  std::string name_;
  std::vector<GoalBlock> blocks_;
  std::uint32_t operations_ = 0;
  std::uint32_t most_predecessors_ = 0;
  int cpus_ = 1;
  int nics_ = 1;
  std::uint64_t longest_calc_ = 0;
  std::uint64_t longest_message_ = 0;
  bool any_source_ = false;
  bool any_tag_ = false;
  bool any_both_ = false;
};

/// What a writer is given. `peer` and `tag` are kAnySource and kAnyTag where any will do.
struct GoalOperation {
  std::uint64_t amount = 0;
  std::uint32_t peer = 0;
  std::uint32_t tag = 0;
  GraphOp kind = GraphOp::Calc;
  std::uint8_t cpu = 0;
  std::uint8_t nic = 0;
};
struct GoalEdge {
  std::uint32_t before = 0;
  std::uint32_t after = 0;
  bool on_start = false;
};

/// Makes a binary schedule in memory. Ranks may come in any order, each once;
/// those that never come are empty.
class GoalImageWriter {
 public:
  explicit GoalImageWriter(std::uint32_t ranks);
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  /// Indices in `edges` must be below the number of operations (asserted by `GoalImage::check` later).
  void add_rank(std::uint32_t rank, std::span<const GoalOperation> operations,
                std::span<const GoalEdge> edges);
  [[nodiscard]] bool has(std::uint32_t rank) const;
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::string finish() &&;

 private:
  std::uint32_t ranks_;
  std::uint8_t highest_cpu_ = 0;
  std::uint8_t highest_nic_ = 0;
  std::string bytes_;
  std::vector<std::uint32_t> places_;  ///< of each operation's next successor
};

/// Runs a checked schedule, as `simulate_goal` says.
[[nodiscard]] Result<EventOutcome> run_image(const GoalImage& image, const LogGops& cost);

}  // namespace cox::simulate
