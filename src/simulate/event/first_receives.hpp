// SPDX-License-Identifier: Apache-2.0
/// \file
/// Receives that are posted before anything can come.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cox/base/prefetch.hpp"

#include "simulate/event/goal_image.hpp"

namespace cox::simulate {

/// Of each rank the receives that wait from the start, the first of each source and tag; further ones of a key are not kept
/// here. They never move and what they name is read in the schedule, so one is 4 bytes instead of a list's 24.
///
/// A table per rank, open addressing: an operation's number, and in the bits above it some of its key's hash, so that another
/// operation is rarely looked at. What was taken stays marked.
/// Memory: 8 to 16 bytes per receive that was made room for, 24 per rank. Cost: O(1). Held by:
/// src/simulate/event/first_receives_test.cpp
class FirstReceives {
 public:
  /// `image` must outlive it.
  explicit FirstReceives(const GoalImage& image) : image_(&image) {}

  static constexpr std::uint32_t kNone = 0xffffffff;

  /// Places that `add_rank` makes for so many.
  [[nodiscard]] static std::size_t places(std::uint32_t receives) {
    return receives == 0 ? 0 : std::bit_ceil(2 * std::size_t{receives});
  }
  void reserve(std::size_t places) { slots_.reserve(places); }
  /// The next rank's, in order of ranks: for so many receives.
  void add_rank(std::uint32_t receives);
  /// A receive that names its source and tag. False: one of its key is or was there; it was not added.
  [[nodiscard]] bool add(std::uint32_t rank, std::uint32_t operation);
  /// Takes the receive for a message from `source` out; kNone where there is none any more.
  [[nodiscard]] std::uint32_t take(std::uint32_t rank, std::uint32_t source, std::uint32_t tag);

  [[nodiscard]] std::size_t waiting() const { return waiting_; }
  /// Calls `visit(rank, operation)` for each that waits.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t rank = 0; rank < tables_.size(); ++rank)
      for (std::size_t i = 0; tables_[rank].mask != 0 && i <= tables_[rank].mask; ++i)
        if (const std::uint32_t number = slots_[tables_[rank].begin + i] & tables_[rank].numbers;
            number != 0 && number != tables_[rank].numbers)
          visit(rank, number - 1);
  }

  /// Brings the place where such a message's receive is looked for into the cache.
  void prefetch(std::uint32_t rank, std::uint32_t source, std::uint32_t tag) const {
    const Table& table = tables_[rank];
    if (table.mask != 0) cox::prefetch(&slots_[table.begin + (hash(source, tag) & table.mask)]);
  }

  /// The same of the receive itself, as far as that place says which it is.
  void prefetch_receive(std::uint32_t rank, std::uint32_t source, std::uint32_t tag) const {
    const Table& table = tables_[rank];
    if (table.mask == 0) return;
    const std::uint32_t h = hash(source, tag);
    for (std::uint32_t i = h & table.mask, end = i + 4; i != end; ++i) {
      const std::uint32_t slot = slots_[table.begin + (i & table.mask)];
      if (((slot ^ h) & ~table.numbers) != 0 && slot != 0) continue;
      const std::uint32_t number = slot & table.numbers;
      if (number == 0 || number == table.numbers) return;
      cox::prefetch(image_->block(rank).at(number - 1));
      return cox::prefetch(image_->block(rank).at(number - 1) + kGoalNodeBytes - 1);
    }
  }

 private:
  struct Table {
    std::size_t begin = 0;
    std::uint32_t mask = 0;     ///< size less one; 0: none
    std::uint32_t numbers = 0;  ///< bits of an entry that are 1 + operation; all of them set: taken
  };
  static std::uint32_t hash(std::uint32_t source, std::uint32_t tag) {
    const std::uint64_t h = ((std::uint64_t{tag} << 32 | source) ^ 0x2545f491U) * 0x9e3779b97f4a7c15U;
    return static_cast<std::uint32_t>((h ^ (h >> 29)) * 0xd6e8feb86659fd93U >> 32);
  }

  const GoalImage* image_;
  std::vector<Table> tables_;
  std::vector<std::uint32_t> slots_;
  std::size_t waiting_ = 0;
};

}  // namespace cox::simulate
