// SPDX-License-Identifier: Apache-2.0
#include "simulate/event/first_receives.hpp"

#include <bit>

namespace cox::simulate {

void FirstReceives::add_rank(std::uint32_t receives) {
  const std::uint32_t operations = image_->block(static_cast<std::uint32_t>(tables_.size())).count;
  // 1 + the last operation's number is below the number that marks what was taken.
  const auto numbers = static_cast<std::uint32_t>(std::bit_ceil(std::uint64_t{operations} + 2) - 1);
  const std::size_t size = places(receives);
  tables_.push_back({slots_.size(), size == 0 ? 0 : static_cast<std::uint32_t>(size - 1), numbers});
  slots_.resize(slots_.size() + size);
}

bool FirstReceives::add(std::uint32_t rank, std::uint32_t operation) {
  const Table& table = tables_[rank];
  const GoalBlock& block = image_->block(rank);
  const GoalNode node = block.node(operation);
  const std::uint32_t h = hash(node.peer(), node.tag());
  const std::uint32_t entry = (h & ~table.numbers) | (operation + 1);
  for (std::uint32_t i = h & table.mask;; i = (i + 1) & table.mask) {
    std::uint32_t& slot = slots_[table.begin + i];
    if (slot == 0) {
      slot = entry;
      ++waiting_;
      return true;
    }
    if (((slot ^ entry) & ~table.numbers) != 0) continue;
    const GoalNode other = block.node((slot & table.numbers) - 1);
    if (other.peer() == node.peer() && other.tag() == node.tag()) return false;
  }
}

std::uint32_t FirstReceives::take(std::uint32_t rank, std::uint32_t source, std::uint32_t tag) {
  const Table& table = tables_[rank];
  if (table.mask == 0) return kNone;
  const std::uint32_t h = hash(source, tag);
  for (std::uint32_t i = h & table.mask;; i = (i + 1) & table.mask) {
    std::uint32_t& slot = slots_[table.begin + i];
    if (slot == 0) return kNone;
    const std::uint32_t number = slot & table.numbers;
    if (((slot ^ h) & ~table.numbers) != 0 || number == table.numbers) continue;
    const GoalNode node = image_->block(rank).node(number - 1);
    if (node.peer() != source || node.tag() != tag) continue;
    slot |= table.numbers;
    --waiting_;
    return number - 1;
  }
}

}  // namespace cox::simulate
