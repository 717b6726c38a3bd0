// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a rank keeps in memory, counted as it is taken and given back.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "cox/base/units.hpp"

namespace cox::train {

/// What memory is for.
enum class Use : std::uint8_t {
  Parameters,
  Gradients,
  Optimizer,    ///< momentum, moments, and room for its step
  Sums,         ///< of leaves of the own workers, that wait for their neighbours
  Received,     ///< parts of others' sums
  Activations,  ///< of micro-batches on their way through stages, with the messages between these
  Copies,       ///< of what is saved, while it is written beside the steps
  Master,       ///< parameters in FP32, of which the others are rounded
};
inline constexpr std::size_t kUses = 8;
/// `parameters`, `gradients`, `optimizer`, `sums`, `received`, `activations`, `copies`, `master`
[[nodiscard]] constexpr std::string_view name_of(Use use) {
  constexpr std::array<std::string_view, kUses> kNames = {"parameters", "gradients",   "optimizer", "sums",
                                                          "received",   "activations", "copies",    "master"};
  return kNames[static_cast<std::size_t>(use)];
}
using BytesByUse = std::array<Bytes, kUses>;

/// Threads: one owner.
class MemoryCount {
 public:
  void take(Use use, Bytes bytes) {
    now_[static_cast<std::size_t>(use)] += bytes;
    all_ += bytes;
    if (all_ <= most_) return;
    most_ = all_;
    at_most_ = now_;
  }
  void give_back(Use use, Bytes bytes) {
    now_[static_cast<std::size_t>(use)] -= bytes;
    all_ -= bytes;
  }
  [[nodiscard]] Bytes now() const { return all_; }
  [[nodiscard]] Bytes most() const { return most_; }
  /// What it was for when it was most, the first time.
  [[nodiscard]] const BytesByUse& at_most() const { return at_most_; }

 private:
  BytesByUse now_{}, at_most_{};
  Bytes all_{}, most_{};
};

/// Numbers whose memory is counted; what is given up is given back. Not initialised: whoever takes them writes them first.
template <class T>
class Counted {
 public:
  Counted() = default;
  Counted(MemoryCount& memory, Use use, std::size_t count)
      : memory_(&memory), use_(use), count_(count), values_(std::make_unique_for_overwrite<T[]>(count)) {
    memory_->take(use_, bytes());
  }
  Counted(Counted&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)),
        use_(other.use_),
        count_(std::exchange(other.count_, 0)),
        values_(std::move(other.values_)) {}
  Counted& operator=(Counted&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(use_, other.use_);
    std::swap(count_, other.count_);
    std::swap(values_, other.values_);
    return *this;
  }
  ~Counted() {
    if (memory_ != nullptr) memory_->give_back(use_, bytes());
  }
  [[nodiscard]] std::span<T> all() { return {values_.get(), count_}; }
  [[nodiscard]] std::span<const T> all() const { return {values_.get(), count_}; }

 private:
  [[nodiscard]] Bytes bytes() const { return Bytes{static_cast<std::int64_t>(count_ * sizeof(T))}; }
  MemoryCount* memory_ = nullptr;
  Use use_ = Use::Parameters;
  std::size_t count_ = 0;
  std::unique_ptr<T[]> values_;  // NOLINT(modernize-avoid-c-arrays): nothing else leaves them unwritten
};
using CountedFloats = Counted<float>;
using CountedCodes = Counted<std::uint16_t>;  ///< of numbers of two bytes

}  // namespace cox::train
