// SPDX-License-Identifier: Apache-2.0
/// \file
/// A TOML file as a plain tree with places, so that only one file compiles the TOML library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/spelling.hpp"

namespace cox::model {

/// Line and column, both from 1; 0 = not in the file.
struct TextPosition {
  std::int64_t line = 0;
  std::int64_t column = 0;
};

/// One value, array or table.
struct DocumentNode {
  enum class Kind : std::uint8_t { Table, Array, Text, Integer, Real, Flag, Date };
  struct Entry;

  Kind kind = Kind::Table;
  TextPosition at;
  std::string text;
  std::int64_t integer = 0;
  double real = 0;
  bool flag = false;
  std::vector<DocumentNode> items;  ///< Array
  std::vector<Entry> entries;       ///< Table, by name

  [[nodiscard]] DocumentNode* find(std::string_view name);
};

struct DocumentNode::Entry {
  std::string name;
  TextPosition at;  ///< of the key
  DocumentNode value;
};

/// How a value is called in a message: `the text "25"`, `25`, `a table`.
/// Printable and short whatever it holds.
[[nodiscard]] std::string shown(const DocumentNode& node);
using cox::shown;

/// Parses TOML 1.0. Nesting, by brackets and by dotted keys, is at most `kDeepest` each, so recursion on the
/// tree is bounded; values are at most `kMostValues`. Errors: scenario-001 with file and line. Memory: below
/// 1 GiB for 16 MB of text. Held by: src/model/toml/document/document_test.cpp, fuzz (scenario)
inline constexpr int kDeepest = 16;
inline constexpr std::int64_t kMostValues = 300'000;
[[nodiscard]] Result<DocumentNode> parse_document(std::string_view text, const std::string& name);

}  // namespace cox::model
