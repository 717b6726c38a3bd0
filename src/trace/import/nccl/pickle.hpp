// SPDX-License-Identifier: Apache-2.0
/// \file
/// Plain data (none, booleans, numbers, text, lists, dictionaries) as a tree, and a reader of Python pickles
/// that builds such data and nothing else.
///
/// Hostile input: no object is made and no name is looked up; an opcode that would is an error. Nothing
/// recurses, and memory is a small multiple of the bytes read: shared and cyclic values stay shared.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"

namespace cox::trace {

enum class PlainKind : std::uint8_t { None, Bool, Integer, Real, Text, List, Dict };

/// Values that refer to each other by index. A value may be part of several others, or of itself: whoever
/// walks it bounds the depth.
class PlainTree {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNothing = std::numeric_limits<Index>::max();
  /// Keys of one dictionary that `find` looks at; the formats read here have at most 30.
  static constexpr std::size_t kKeysSearched = 64;

  PlainTree();
  [[nodiscard]] Index none() const { return 0; }
  [[nodiscard]] Index boolean(bool value) const { return value ? 2 : 1; }
  Index integer(std::int64_t value);
  Index real(double value);
  Index text(std::string_view value);
  Index list();
  Index dict();
  /// Appends to a list; a dictionary takes key and value in turn.
  void append(Index container, Index value);

  [[nodiscard]] PlainKind kind(Index i) const { return i < nodes_.size() ? nodes_[i].kind : PlainKind::None; }
  /// Nothing where the value is of another kind.
  [[nodiscard]] std::optional<std::int64_t> as_integer(Index i) const;
  [[nodiscard]] std::optional<double> as_real(Index i) const;  ///< of integers too
  [[nodiscard]] std::optional<bool> as_bool(Index i) const;
  [[nodiscard]] std::optional<std::string_view> as_text(Index i) const;
  /// Elements of a list, or keys and values in turn; empty for all else.
  [[nodiscard]] const std::vector<Index>& items(Index i) const;
  /// Value of the first such key among the first `kKeysSearched`; kNothing where there is none.
  [[nodiscard]] Index find(Index dict, std::string_view key) const;
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

 private:
  struct Node {
    std::uint64_t payload = 0;  // bits of the number; place of the text; number of the container's items
    std::uint32_t length = 0;   // of the text
    PlainKind kind = PlainKind::None;
  };
  Index add(Node node);

  std::vector<Node> nodes_;
  std::vector<std::vector<Index>> items_;  // 0 is the empty one of all containers that hold nothing yet
  std::string text_;
};

struct PlainDocument {
  PlainTree tree;
  PlainTree::Index root = 0;
};

/// Reads a pickle of protocol 2 to 5. Tuples and sets become lists; bytes become text;
/// integers beyond 64 bit are refused.
///
/// Source: opcodes and their operands as listed by CPython's `pickletools`.
/// Errors: import-005 (damaged, not plain data, or would execute; the message holds the place in bytes).
/// Memory: at most about 50 bytes per byte of input. Held by: src/trace/import/nccl/pickle_test.cpp
[[nodiscard]] Result<PlainDocument> parse_pickle(std::string_view bytes);

/// Whether the first bytes are those of a pickle of protocol 2 to 5 that begins with data.
[[nodiscard]] bool looks_like_pickle(std::string_view head);

}  // namespace cox::trace
