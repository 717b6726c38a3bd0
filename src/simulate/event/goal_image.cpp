// SPDX-License-Identifier: Apache-2.0
#include "simulate/event/goal_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/prefetch.hpp"

namespace cox::simulate {
namespace {

constexpr std::size_t kFixed = 8;                 // what offsets count from
constexpr std::size_t kTable = kFixed + 4 + 2;    // the table of ranks
constexpr std::size_t kBlockHead = 8;             // operations, roots
constexpr std::uint32_t kMostRanks = 0x7fffffff;  // the top bit is free for whoever keys by rank

tl::unexpected<Error> damaged(const std::string& name, std::string what) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "goal-005",
                    .message = std::move(what),
                    .hint = "write the binary schedule again, with txt2bin of LogGOPSim or from its text",
                    .where = Where{.file = name}});
}

}  // namespace

/// The pass over all bytes that makes an image trustworthy.
class GoalImageCheck {
 public:
  GoalImageCheck(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes) {
    image_.name_ = name;
  }

  Result<GoalImage> run() {
    COX_CHECK(check_head());
    for (std::uint32_t rank = 0; rank < image_.ranks(); ++rank) COX_CHECK(check_place(rank));
    for (std::uint32_t rank = 0; rank < image_.ranks(); ++rank) COX_CHECK(check_block(rank));
    return std::move(image_);
  }

 private:
  Status check_head() {
    const std::string& name = image_.name_;
    if (bytes_.size() >= kFixed && load_as<std::uint64_t>(bytes_.data()) == kGoalSpent)
      return damaged(name, "used up by LogGOPSim --save-mem, which overwrites what it runs");
    if (bytes_.size() < kTable || load_as<std::uint64_t>(bytes_.data()) != kGoalMagic)
      return damaged(name, "not a binary GOAL schedule, expected 4223 in its first 8 bytes");
    const auto ranks = load_as<std::uint32_t>(bytes_.data() + kFixed);
    if (ranks == 0 || ranks > kMostRanks || ranks > (bytes_.size() - kTable) / 16)
      return damaged(name, fmt::format("{} ranks in a file of {} bytes", ranks, bytes_.size()));
    image_.blocks_.resize(ranks);
    return {};
  }

  /// Where the rank's block is, and that all blocks together are no longer than the file: they cannot be
  /// used to make a short file mean a long schedule.
  Status check_place(std::uint32_t rank) {
    const std::byte* entry = bytes_.data() + kTable + std::size_t{rank} * 16;
    const auto begin = load_as<std::uint64_t>(entry);
    const auto end = load_as<std::uint64_t>(entry + 8);
    const std::size_t room = bytes_.size() - kFixed;
    if (begin > end || end > room || end - begin < kBlockHead || end - begin > room - claimed_)
      return damaged(image_.name_,
                     fmt::format("rank {} is at bytes {} to {} of {}, expected a block of its own", rank,
                                 begin, end, room));
    claimed_ += end - begin;
    const std::byte* at = bytes_.data() + kFixed + begin;
    GoalBlock& block = image_.blocks_[rank];
    block.count = load_as<std::uint32_t>(at);
    block.roots = load_as<std::uint32_t>(at + 4);
    const std::uint64_t need =
        kBlockHead + std::uint64_t{block.roots} * 4 + std::uint64_t{block.count} * kGoalNodeBytes;
    if (block.roots > block.count || need > end - begin)
      return damaged(image_.name_,
                     fmt::format("rank {} has {} operations in {} bytes", rank, block.count, end - begin));
    block.nodes = at + kBlockHead + std::size_t{block.roots} * 4;
    block.first = image_.operations_;
    if (block.count > std::numeric_limits<std::uint32_t>::max() - 1 - image_.operations_)
      return fail(Error{.code = Errc::Unsupported,
                        .id = "goal-006",
                        .message = "more than 4294967294 operations",
                        .hint = "simulate fewer ranks or steps",
                        .where = Where{.file = image_.name_}});
    image_.operations_ += block.count;
    return {};
  }

  Status check_block(std::uint32_t rank) {
    const GoalBlock block = image_.blocks_[rank];
    const std::byte* entry = bytes_.data() + kTable + std::size_t{rank} * 16;
    const std::uint64_t length = load_as<std::uint64_t>(entry + 8) - load_as<std::uint64_t>(entry);
    edges_ =
        (length - kBlockHead - std::uint64_t{block.roots} * 4 - std::uint64_t{block.count} * kGoalNodeBytes) /
        4;
    named_.assign(block.count, 0);
    std::uint64_t next = 0;
    Most most;
    const std::uint32_t ranks = image_.ranks();
    for (std::uint32_t i = 0; i < block.count; ++i) {
      const GoalNode node = block.node(i);
      prefetch(block.nodes + (std::size_t{i} + 24) * kGoalNodeBytes);
      block.prefetch_successors(static_cast<std::uint32_t>(next) + 64);
      most.cpu = std::max(most.cpu, node.cpu());
      most.nic = std::max(most.nic, node.nic());
      // Nearly all operations pass here; whether others do takes longer to say.
      const bool plain = node.kind() <= GoalNode::kReceive && node.kind() >= GoalNode::kSend &&
                         node.peer() < ranks && node.tag() != kAnyTag;
      if (plain)
        most.message = std::max(most.message, node.amount());
      else if (!check_node(rank, i, node))
        return damaged(image_.name_, std::move(problem_));
      if (!check_edges(block, rank, i, node.after_end(), node.after_end_at(), next) ||
          !check_edges(block, rank, i, node.after_start(), node.after_start_at(), next))
        return damaged(image_.name_, std::move(problem_));
    }
    image_.cpus_ = std::max(image_.cpus_, most.cpu + 1);
    image_.nics_ = std::max(image_.nics_, most.nic + 1);
    image_.longest_message_ = std::max(image_.longest_message_, most.message);
    return check_roots(block, rank);
  }

  /// Of a rank's operations.
  struct Most {
    std::uint8_t cpu = 0;
    std::uint8_t nic = 0;
    std::uint64_t message = 0;
  };

  /// Keeps what is wrong for the error; the checks of single operations return a bool, since there are many.
  bool refuse(std::string what) {
    problem_ = std::move(what);
    return false;
  }

  bool check_node(std::uint32_t rank, std::uint32_t i, const GoalNode& node) {
    const std::uint8_t kind = node.kind();
    if (kind != GoalNode::kSend && kind != GoalNode::kReceive && kind != GoalNode::kCalc)
      return refuse(
          fmt::format("operation {} of rank {} is of kind {}, expected 1 (send), 2 (receive) "
                      "or 3 (calc)",
                      i, rank, kind));
    if (kind == GoalNode::kCalc) {
      image_.longest_calc_ = std::max(image_.longest_calc_, node.amount());
      return true;
    }
    image_.longest_message_ = std::max(image_.longest_message_, node.amount());
    const bool any = kind == GoalNode::kReceive && node.peer() == kAnySource;
    if (!any && node.peer() >= image_.ranks())
      return refuse(
          fmt::format("operation {} of rank {} names rank {} of {}", i, rank, node.peer(), image_.ranks()));
    if (node.tag() != kAnyTag) {
      image_.any_source_ |= any;
      return true;
    }
    if (kind == GoalNode::kSend)
      return refuse(fmt::format("operation {} of rank {} sends with any tag, expected a tag", i, rank));
    (any ? image_.any_both_ : image_.any_tag_) = true;
    return true;
  }

  /// Lists of successors lie one behind the other, as they are written: so their sum is bounded.
  [[gnu::always_inline]] bool check_edges(const GoalBlock& block, std::uint32_t rank, std::uint32_t i,
                                          std::uint32_t count, std::uint32_t at, std::uint64_t& next) {
    if (count == 0) return true;
    if (at != next || count > edges_ - next) return refuse_place(rank, i, count, at, next);
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::uint32_t to = block.successor(at + k);
      if (to >= block.count) return refuse_successor(rank, i, to, block.count);
      ++named_[to];
    }
    next += count;
    return true;
  }
  bool refuse_place(std::uint32_t rank, std::uint32_t i, std::uint32_t count, std::uint32_t at,
                    std::uint64_t next) {
    return refuse(
        fmt::format("operation {} of rank {} has {} successors from place {} on, expected place {} of {}", i,
                    rank, count, at, next, edges_));
  }
  bool refuse_successor(std::uint32_t rank, std::uint32_t i, std::uint32_t to, std::uint32_t count) {
    return refuse(
        fmt::format("operation {} of rank {} is followed by operation {} of {}", i, rank, to, count));
  }

  Status check_roots(const GoalBlock& block, std::uint32_t rank) {
    std::uint32_t roots = 0;
    for (std::uint32_t i = 0; i < block.count; ++i) {
      const std::uint32_t have = named_[i];
      if (block.node(i).predecessors() != have)
        return damaged(image_.name_,
                       fmt::format("operation {} of rank {} waits for {} others, but {} name it", i, rank,
                                   block.node(i).predecessors(), have));
      image_.most_predecessors_ = std::max(image_.most_predecessors_, have);
      if (have != 0) continue;
      if (block.node(i).kind() == GoalNode::kReceive) ++image_.blocks_[rank].root_receives;
      if (roots == block.roots || block.root(roots) != i)
        return damaged(image_.name_,
                       fmt::format("operation {} of rank {} waits for none and is not listed so", i, rank));
      ++roots;
    }
    if (roots != block.roots)
      return damaged(image_.name_, fmt::format("rank {} lists {} operations that wait for none, {} do", rank,
                                               block.roots, roots));
    return {};
  }

  std::span<const std::byte> bytes_;
  GoalImage image_;
  std::string problem_;
  std::uint64_t claimed_ = 0;
  std::vector<std::uint32_t> named_;  ///< how often each operation of the block at hand is a successor
  std::uint64_t edges_ = 0;
};

Result<GoalImage> GoalImage::check(std::span<const std::byte> bytes, const std::string& name) {
  return GoalImageCheck(bytes, name).run();
}

namespace {

template <class T>
void put(char*& at, T value) {
  std::memcpy(at, &value, sizeof value);
  at += sizeof value;
}

std::uint8_t kind_of(GraphOp op) {
  switch (op) {
    case GraphOp::Send:
      return GoalNode::kSend;
    case GraphOp::Receive:
      return GoalNode::kReceive;
    case GraphOp::Calc:
      break;
  }
  return GoalNode::kCalc;
}

}  // namespace

GoalImageWriter::GoalImageWriter(std::uint32_t ranks) : ranks_(ranks) {
  COX_ASSERT(ranks > 0 && ranks <= kMostRanks, "a schedule has ranks");
  bytes_.assign(kTable + std::size_t{ranks} * 16, '\0');
}

bool GoalImageWriter::has(std::uint32_t rank) const {
  return load_as<std::uint64_t>(
             reinterpret_cast<const std::byte*>(bytes_.data() + kTable + std::size_t{rank} * 16)) != 0;
}

void GoalImageWriter::add_rank(std::uint32_t rank, std::span<const GoalOperation> operations,
                               std::span<const GoalEdge> edges) {
  COX_ASSERT(rank < ranks_ && !has(rank), "each rank is written once");
  const std::size_t n = operations.size();
  // Per operation: successors of its end, then of its start; a counting sort
  // that keeps the order of the edges.
  places_.assign(2 * n + 1, 0);
  std::vector<std::uint32_t> before(n, 0);
  for (const GoalEdge& e : edges) {
    ++places_[2 * std::size_t{e.before} + (e.on_start ? 1 : 0) + 1];
    ++before[e.after];
  }
  const auto roots = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), 0U));
  const std::size_t begin = bytes_.size();
  bytes_.resize(begin + kBlockHead + std::size_t{roots} * 4 + n * kGoalNodeBytes + edges.size() * 4);
  char* at = bytes_.data() + begin;
  put(at, static_cast<std::uint32_t>(n));
  put(at, roots);
  for (std::size_t i = 0; i < n; ++i)
    if (before[i] == 0) put(at, static_cast<std::uint32_t>(i));
  for (std::size_t i = 0; i < n; ++i) {
    const GoalOperation& op = operations[i];
    const std::uint32_t ends = places_[2 * i + 1];
    const std::uint32_t starts = places_[2 * i + 2];
    places_[2 * i + 1] += places_[2 * i];
    places_[2 * i + 2] += places_[2 * i + 1];
    put(at, before[i]);
    put(at, kind_of(op.kind));
    put(at, op.peer);
    put(at, op.amount);
    put(at, op.tag);
    put(at, op.cpu);
    put(at, op.nic);
    put(at, ends);
    put(at, places_[2 * i]);
    put(at, starts);
    put(at, places_[2 * i + 1]);
    highest_cpu_ = std::max(highest_cpu_, op.cpu);
    highest_nic_ = std::max(highest_nic_, op.nic);
  }
  for (const GoalEdge& e : edges) {
    const std::uint32_t place = places_[2 * std::size_t{e.before} + (e.on_start ? 1 : 0)]++;
    std::memcpy(at + std::size_t{place} * 4, &e.after, 4);
  }
  char* entry = bytes_.data() + kTable + std::size_t{rank} * 16;
  put(entry, static_cast<std::uint64_t>(begin - kFixed));
  put(entry, static_cast<std::uint64_t>(bytes_.size() - kFixed));
}

std::string GoalImageWriter::finish() && {
  for (std::uint32_t rank = 0; rank < ranks_; ++rank)
    if (!has(rank)) add_rank(rank, {}, {});
  char* at = bytes_.data();
  put(at, kGoalMagic);
  put(at, ranks_);
  put(at, highest_cpu_);
  put(at, highest_nic_);
  return std::move(bytes_);
}

}  // namespace cox::simulate
