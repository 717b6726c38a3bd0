// SPDX-License-Identifier: Apache-2.0
#include "simulate/event/goal_blocked.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace cox::simulate {
namespace {

std::string peer_text(std::uint32_t peer) {
  return peer == kAnySource ? "any rank" : fmt::format("rank {}", peer);
}
std::string tag_text(std::uint32_t tag) {
  return tag == kAnyTag ? "any tag" : fmt::format("tag {}", tag);
}

/// One that waits for the other side: the rank that it is on and its operation there.
struct Stuck {
  std::uint32_t rank = 0;
  std::uint32_t operation = 0;
  std::uint32_t receiver = 0;
  bool message = false;

  auto operator<=>(const Stuck&) const = default;
};

std::string describe(const GoalImage& image, const Stuck& stuck) {
  const GoalNode node = image.block(stuck.rank).node(stuck.operation);
  if (stuck.message)
    return fmt::format(
        "rank {} is blocked: operation {} sends {} bytes to rank {}, {}, and no receive takes them",
        stuck.rank, stuck.operation, node.amount(), stuck.receiver, tag_text(node.tag()));
  return fmt::format("rank {} is blocked: operation {} waits for {} bytes from {}, {}, that nobody sends",
                     stuck.rank, stuck.operation, node.amount(), peer_text(node.peer()),
                     tag_text(node.tag()));
}

/// An unfinished predecessor of `operation`: the first that itself waits for others.
std::uint32_t waits_for(const GoalBlock& block, std::span<const std::uint32_t> left,
                        std::uint32_t operation) {
  for (std::uint32_t i = 0; i < block.count; ++i) {
    if (left[block.first + i] == 0) continue;
    const GoalNode node = block.node(i);
    for (std::uint32_t k = 0; k < node.after_end(); ++k)
      if (block.successor(node.after_end_at() + k) == operation) return i;
    for (std::uint32_t k = 0; k < node.after_start(); ++k)
      if (block.successor(node.after_start_at() + k) == operation) return i;
  }
  return operation;
}

/// Follows unfinished predecessors from the first operation that never began until one comes back.
std::string describe_cycle(const GoalImage& image, std::span<const std::uint32_t> left) {
  constexpr std::size_t kMostSteps = 64;
  for (std::uint32_t rank = 0; rank < image.ranks(); ++rank) {
    const GoalBlock& block = image.block(rank);
    for (std::uint32_t i = 0; i < block.count; ++i) {
      if (left[block.first + i] == 0) continue;
      std::vector<std::uint32_t> way{i};
      while (way.size() < kMostSteps) {
        const std::uint32_t before = waits_for(block, left, way.back());
        const auto seen = std::find(way.begin(), way.end(), before);
        if (seen != way.end()) {
          way.erase(way.begin(), seen);
          return fmt::format("rank {} is blocked: its operations {} wait for each other in a circle", rank,
                             fmt::join(way, ", "));
        }
        way.push_back(before);
      }
      return fmt::format(
          "rank {} is blocked: operation {} waits for operation {}, in a circle of more than {}", rank, i,
          way[1], kMostSteps);
    }
  }
  return "the schedule is blocked";
}

}  // namespace

Error explain_blocked(const GoalImage& image, std::span<const std::uint32_t> left,
                      const FirstReceives& first_receives, const MessageMatcher& matcher) {
  bool any = false;
  Stuck first;
  std::size_t others = 0;
  const auto add = [&](const Stuck& stuck) {
    if (any) ++others;
    first = any ? std::min(first, stuck) : stuck;
    any = true;
  };
  first_receives.for_each([&](std::uint32_t rank, std::uint32_t operation) {
    add(Stuck{rank, operation, rank, false});
  });
  matcher.for_each([&](std::uint32_t rank, bool message, const MessageMatcher::Waiting& waiting) {
    add(Stuck{message ? waiting.source : rank, waiting.operation, rank, message});
  });
  std::string message = any ? describe(image, first) : describe_cycle(image, left);
  if (others > 0) message += fmt::format("; {} more wait for their other side", others);
  return Error{
      .code = Errc::InvalidInput,
      .id = "simulate-004",
      .message = std::move(message),
      .hint = "operations count from 0 in their rank; check peers, tags and the number of messages both ways",
      .where = Where{.file = image.name()}};
}

}  // namespace cox::simulate
