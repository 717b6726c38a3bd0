// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names of one rank's operations.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace cox::simulate {

/// Label to operation, by open addressing. Labels are views of the text, which must stay.
class GoalLabels {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  /// Forgets all; costs no more than the last rank's labels did.
  void clear() {
    slots_.assign(kFewest, Slot{});
    used_ = 0;
  }
  /// False where the label is taken.
  bool add(std::string_view label, std::uint32_t operation) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[find(label, hash(label))];
    if (slot.operation != kNone) return false;
    slot = Slot{label.data(), static_cast<std::uint32_t>(label.size()), operation, hash(label)};
    ++used_;
    return true;
  }
  /// The operation, or kNone.
  [[nodiscard]] std::uint32_t operator[](std::string_view label) const {
    return slots_[find(label, hash(label))].operation;
  }

 private:
  static constexpr std::size_t kFewest = 64;
  struct Slot {
    const char* text = nullptr;
    std::uint32_t length = 0;
    std::uint32_t operation = kNone;
    std::uint64_t hash = 0;
  };

  static std::uint64_t hash(std::string_view label) {
    std::uint64_t h = label.size();
    while (label.size() > 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, label.data(), 8);
      h = mix(h ^ word);
      label.remove_prefix(8);
    }
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < label.size(); ++i) word = word << 8 | static_cast<unsigned char>(label[i]);
    return mix(h ^ word);
  }
  static std::uint64_t mix(std::uint64_t h) {
    h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93U;
    return h ^ (h >> 32);
  }
  [[nodiscard]] std::size_t find(std::string_view label, std::uint64_t h) const {
    std::size_t at = h & (slots_.size() - 1);
    while (slots_[at].operation != kNone &&
           (slots_[at].hash != h || std::string_view(slots_[at].text, slots_[at].length) != label))
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& s : old)
      if (s.operation != kNone) slots_[find({s.text, s.length}, s.hash)] = s;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(kFewest);
  std::size_t used_ = 0;
};

}  // namespace cox::simulate
