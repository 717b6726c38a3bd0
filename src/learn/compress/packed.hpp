// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers one after the other in a buffer of bytes, in this machine's order: both ends are ranks of one job.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "cox/base/assert.hpp"

namespace cox::learn {

class Packed {
 public:
  /// Empties `bytes` and fills it.
  explicit Packed(std::vector<std::byte>& bytes) : bytes_(bytes) { bytes_.clear(); }
  /// Room for `count` bytes more, zero; valid until more is put.
  [[nodiscard]] std::byte* grow(std::size_t count) {
    bytes_.resize(bytes_.size() + count);
    return bytes_.data() + bytes_.size() - count;
  }
  template <class T>
  void put_all(std::span<const T> values) {
    if (!values.empty()) std::memcpy(grow(values.size_bytes()), values.data(), values.size_bytes());
  }
  template <class T>
  void put(T value) {
    std::memcpy(grow(sizeof value), &value, sizeof value);
  }

 private:
  std::vector<std::byte>& bytes_;
};

class PackedReader {
 public:
  explicit PackedReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  /// The next `count` bytes. Pre: they are there (asserted): the bytes are those of an encoder with the same spec.
  [[nodiscard]] const std::byte* skip(std::size_t count) {
    COX_ASSERT(count <= bytes_.size(), "bytes of the same compressor");
    const std::byte* const at = bytes_.data();
    bytes_ = bytes_.subspan(count);
    return at;
  }
  template <class T>
  void take_all(std::span<T> values) {
    const std::byte* const from = skip(values.size_bytes());
    if (!values.empty()) std::memcpy(values.data(), from, values.size_bytes());
  }
  template <class T>
  [[nodiscard]] T take() {
    T value;
    std::memcpy(&value, skip(sizeof value), sizeof value);
    return value;
  }
  [[nodiscard]] bool done() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace cox::learn
