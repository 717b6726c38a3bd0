// SPDX-License-Identifier: Apache-2.0
#include "cox/model/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cox/base/toml_library.hpp"

namespace cox::model {
namespace {

tl::unexpected<Error> refuse(const std::string& name, TextPosition at, std::string message) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "scenario-001",
                    .message = std::move(message),
                    .hint = "see docs/reference/scenario.md for what a scenario looks like",
                    .where = Where{.file = name, .line = at.line, .column = at.column}});
}

/// Walks over the text as TOML's own lexer does, far enough to know what is inside a string or a comment, and
/// finds what the library must not be given:
/// - a key of more than `kDeepest` parts: it builds and destroys the tables of dotted keys by recursion
/// without a bound;
/// - characters beyond ASCII outside of strings and comments, where TOML 1.0 has none: the library's test for
///   white space (3.3.0, is_non_ascii_horizontal_whitespace) runs into undefined behaviour on some of them.
class Guard {
 public:
  explicit Guard(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark may stand first
  }

  struct Fault {
    std::int64_t line;
    std::string message;
  };
  std::optional<Fault> first_fault() {
    int dots = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      switch (c) {
        case '#':
          skip_line();
          continue;
        case '"':
        case '\'':
          skip_string(c);
          continue;
        case '.':
          if (++dots >= kDeepest)
            return Fault{.line = line_, .message = fmt::format("a key has more than {} parts", kDeepest)};
          break;
        case '\n':
          ++line_;
          [[fallthrough]];
        case '=':
        case ',':
        case '[':
        case ']':
        case '{':
        case '}':
          dots = 0;
          break;
        default:
          if (static_cast<unsigned char>(c) >= 0x80)
            return Fault{
                .line = line_,
                .message = "not TOML: a character beyond ASCII outside of a string and of a comment"};
      }
      ++at_;
    }
    return std::nullopt;
  }

 private:
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void skip_string(char quote) {
    const std::string_view three = quote == '"' ? std::string_view{"\"\"\""} : std::string_view{"'''"};
    if (text_.substr(at_).starts_with(three)) {
      at_ += 3;
      while (at_ < text_.size() && !text_.substr(at_).starts_with(three)) step_in_string(quote);
      at_ = std::min(text_.size(), at_ + 3);
      for (int more = 0; more < 2 && at_ < text_.size() && text_[at_] == quote; ++more) ++at_;
      return;
    }
    ++at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') step_in_string(quote);
    if (at_ < text_.size() && text_[at_] == quote) ++at_;
  }

  void step_in_string(char quote) {
    if (text_[at_] == '\n') ++line_;
    const bool escape =
        quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n';
    at_ += escape ? 2 : 1;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

TextPosition place_of(const toml::source_region& region) {
  return {.line = region.begin.line, .column = region.begin.column};
}

// The depth of the tree is bounded: `kDeepest` dotted parts times `kDeepest` brackets. `left` counts down the
// values that may still be made; what is beyond stays empty, and the whole is refused.
DocumentNode node_from(const toml::node& from, std::int64_t& left) {
  DocumentNode node;
  if (--left < 0) return node;
  node.at = place_of(from.source());
  if (const auto* table = from.as_table()) {
    node.kind = DocumentNode::Kind::Table;
    for (const auto& [key, value] : *table)
      node.entries.push_back({std::string(key.str()), place_of(key.source()), node_from(value, left)});
  } else if (const auto* array = from.as_array()) {
    node.kind = DocumentNode::Kind::Array;
    node.items.reserve(std::min(array->size(), static_cast<std::size_t>(left)));
    for (const auto& item : *array) {
      if (left <= 0) {
        left = -1;
        break;
      }
      node.items.push_back(node_from(item, left));
    }
  } else if (const auto* text = from.as_string()) {
    node.kind = DocumentNode::Kind::Text;
    node.text = text->get();
  } else if (const auto* integer = from.as_integer()) {
    node.kind = DocumentNode::Kind::Integer;
    node.integer = integer->get();
  } else if (const auto* real = from.as_floating_point()) {
    node.kind = DocumentNode::Kind::Real;
    node.real = real->get();
  } else if (const auto* flag = from.as_boolean()) {
    node.kind = DocumentNode::Kind::Flag;
    node.flag = flag->get();
  } else {
    node.kind = DocumentNode::Kind::Date;
  }
  return node;
}

/// The library's words, made to fit ours: one clause, printable, not longer than a line.
std::string clause(std::string_view description) {
  std::string out;
  for (const char c : description.substr(0, 160)) out += c >= ' ' && c <= '~' ? c : '?';
  if (!out.empty() && out[0] >= 'A' && out[0] <= 'Z') out[0] = static_cast<char>(out[0] - 'A' + 'a');
  return out;
}

}  // namespace

DocumentNode* DocumentNode::find(std::string_view name) {
  const auto entry =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == name; });
  return entry == entries.end() ? nullptr : &entry->value;
}

std::string shown(const DocumentNode& node) {
  switch (node.kind) {
    case DocumentNode::Kind::Table:
      return "a table";
    case DocumentNode::Kind::Array:
      return "an array";
    case DocumentNode::Kind::Text:
      return fmt::format("\"{}\"", shown(std::string_view{node.text}));
    case DocumentNode::Kind::Integer:
      return fmt::format("{}", node.integer);
    case DocumentNode::Kind::Real:
      return fmt::format("{}", node.real);
    case DocumentNode::Kind::Flag:
      return node.flag ? "true" : "false";
    case DocumentNode::Kind::Date:
      return "a date";
  }
  return "?";
}

Result<DocumentNode> parse_document(std::string_view text, const std::string& name) {
  if (auto fault = Guard(text).first_fault())
    return refuse(name, {.line = fault->line, .column = 1}, std::move(fault->message));
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return refuse(name, place_of(parsed.error().source()),
                  fmt::format("not TOML: {}", clause(parsed.error().description())));
  std::int64_t left = kMostValues;
  DocumentNode root = node_from(parsed.table(), left);
  if (left < 0)
    return refuse(name, {}, fmt::format("more than {} values, expected at most that", kMostValues));
  return root;
}

}  // namespace cox::model
