// SPDX-License-Identifier: Apache-2.0
/// \file
/// A column of a table that mostly says the same: as large as what it says, not as long as the table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "cox/base/release_memory.hpp"

namespace cox::trace {

/// Values by index, kept in the smallest of three forms: one value for all; one byte each, which numbers up to
/// `kMostValues` different ones; or each as it is. A form is only ever left for the next one.
///
/// Events of a rank differ in their times; kinds, communicators, sizes and threads repeat. Of 44 bytes per event
/// about 20 to 27 are left.
/// Threads: as a std::vector. Cost: reading two predictable branches; appending a value that is not the last one
/// a search among those known; changing one the same. Held by: src/trace/packed_column_test.cpp
template <class T>
class PackedColumn {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  /// Values that a byte each is used for: searched one after the other.
  static constexpr std::size_t kMostValues = 32;

  /// Reads only: a value is changed with `set`.
  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = T;

    Iterator() = default;
    Iterator(const PackedColumn* column, std::size_t at) : column_(column), at_(at) {}
    T operator*() const { return (*column_)[at_]; }
    T operator[](difference_type n) const { return *(*this + n); }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this -= 1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator operator--(int) { return std::exchange(*this, *this - 1); }
    Iterator& operator+=(difference_type n) {
      at_ = static_cast<std::size_t>(static_cast<difference_type>(at_) + n);
      return *this;
    }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    friend Iterator operator+(Iterator i, difference_type n) { return i += n; }
    friend Iterator operator+(difference_type n, Iterator i) { return i += n; }
    friend Iterator operator-(Iterator i, difference_type n) { return i -= n; }
    friend difference_type operator-(Iterator a, Iterator b) {
      return static_cast<difference_type>(a.at_) - static_cast<difference_type>(b.at_);
    }
    friend bool operator==(Iterator a, Iterator b) { return a.at_ == b.at_; }
    friend auto operator<=>(Iterator a, Iterator b) { return a.at_ <=> b.at_; }

   private:
    const PackedColumn* column_ = nullptr;
    std::size_t at_ = 0;
  };

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // Const, so that nobody changes a copy: NOLINTNEXTLINE(readability-const-return-type)
  [[nodiscard]] const T operator[](std::size_t i) const {
    if (form_ == Form::Each) return each_[i];
    return known_[form_ == Form::One ? 0 : numbers_[i]];
  }
  [[nodiscard]] T front() const { return (*this)[0]; }
  [[nodiscard]] T back() const { return (*this)[size_ - 1]; }
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size_}; }

  /// Bytes of memory that the values take.
  [[nodiscard]] std::size_t footprint() const {
    return known_.capacity() * sizeof(T) + numbers_.capacity() + each_.capacity() * sizeof(T);
  }

  /// Room for so many, in whatever form they come.
  void reserve(std::size_t n) {
    reserved_ = n;
    if (form_ == Form::Each) each_.reserve(n);
    if (form_ == Form::Numbered) numbers_.reserve(n);
  }

  void push_back(T value) {
    if (form_ != Form::Each) {
      const std::size_t number = number_of(value);
      if (form_ == Form::Numbered) numbers_.push_back(static_cast<std::uint8_t>(number));
    }
    if (form_ == Form::Each) each_.push_back(value);
    ++size_;
  }

  void set(std::size_t i, T value) {
    if (form_ != Form::Each) {
      const std::size_t number = number_of(value);
      if (form_ == Form::Numbered) numbers_[i] = static_cast<std::uint8_t>(number);
    }
    if (form_ == Form::Each) each_[i] = value;
  }
  void set_back(T value) { set(size_ - 1, value); }

  /// The i-th becomes what the `order[i]`-th was; what `order` leaves out is gone.
  void reorder(std::span<const std::uint32_t> order) {
    size_ = order.size();
    if (form_ == Form::Numbered) reorder(numbers_, order);
    if (form_ == Form::Each) reorder(each_, order);
  }

  friend bool operator==(const PackedColumn& a, const PackedColumn& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  enum class Form : std::uint8_t { One, Numbered, Each };

  /// A value's number; changes the form where this one has no room for it.
  std::size_t number_of(T value) {
    if (last_ < known_.size() && known_[last_] == value) return last_;
    const auto at = std::find(known_.begin(), known_.end(), value);
    if (at == known_.end()) {
      if (!known_.empty() && (sizeof(T) == 1 || known_.size() == kMostValues)) {
        spell_out();
        return 0;
      }
      if (form_ == Form::One && !known_.empty()) {
        form_ = Form::Numbered;
        numbers_.reserve(std::max(reserved_, size_ + 1));
        numbers_.assign(size_, 0);
      }
      known_.push_back(value);
      return last_ = known_.size() - 1;
    }
    return last_ = static_cast<std::size_t>(at - known_.begin());
  }

  void spell_out() {
    each_.reserve(std::max(reserved_, size_ + 1));
    each_.assign(begin(), end());
    form_ = Form::Each;
    release_memory(numbers_);
    release_memory(known_);
  }

  template <class U>
  static void reorder(std::vector<U>& values, std::span<const std::uint32_t> order) {
    std::vector<U> out;
    out.reserve(order.size());
    for (const std::uint32_t i : order) out.push_back(values[i]);
    values = std::move(out);
  }

  std::vector<T> known_;               ///< different values, in the order in which they came
  std::vector<std::uint8_t> numbers_;  ///< Numbered: index into `known_`
  std::vector<T> each_;                ///< Each
  std::size_t size_ = 0;
  std::size_t reserved_ = 0;
  std::size_t last_ = 0;
  Form form_ = Form::One;
};

}  // namespace cox::trace
