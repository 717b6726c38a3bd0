// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <simdjson.h>

#include <utility>
#include <vector>

#include "trace/import/nccl/flight_recorder.hpp"

namespace cox::trace {
namespace {

namespace dom = simdjson::dom;
using Index = PlainTree::Index;

constexpr std::size_t kDepth = 64;

tl::unexpected<Error> no_json(const char* why) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "import-005",
                    .message = fmt::format("{}, expected one JSON object as PyTorch's dump writes it", why),
                    .hint = "copy the file again, or dump it again",
                    .where = {}});
}

/// Copies a parsed document into a tree with a stack of its own instead of recursion.
class TreeBuilder {
 public:
  bool build(dom::element root, PlainDocument& out) {
    out.root = add(root);
    while (!open_.empty()) {
      if (open_.size() > kDepth) return false;
      Level& level = open_.back();
      if (level.is_object ? level.field == level.object.end() : level.element == level.array.end()) {
        open_.pop_back();
        continue;
      }
      if (level.is_object)
        add_field(level);
      else
        add_element(level);
    }
    out.tree = std::move(tree_);
    return true;
  }

 private:
  struct Level {
    Index container = 0;
    bool is_object = false;
    dom::object object{};
    dom::object::iterator field{};
    dom::array array{};
    dom::array::iterator element{};
  };

  /// Adds values to the container of `level`, which may move when a container is opened: copy first.
  void add_field(Level& level) {
    const Index container = level.container;
    const std::string_view key = level.field.key();
    const dom::element value = level.field.value();
    ++level.field;
    if (key == "frames") return;
    const Index k = tree_.text(key);
    tree_.append(container, k);
    tree_.append(container, add(value));
  }
  void add_element(Level& level) {
    const Index container = level.container;
    const dom::element value = *level.element;
    ++level.element;
    tree_.append(container, add(value));
  }

  Index add(dom::element value) {
    switch (value.type()) {
      case dom::element_type::NULL_VALUE:
        return tree_.none();
      case dom::element_type::BOOL:
        return tree_.boolean(bool(value));
      case dom::element_type::INT64:
        return tree_.integer(std::int64_t(value));
      case dom::element_type::UINT64:
        return tree_.real(static_cast<double>(std::uint64_t(value)));
      case dom::element_type::DOUBLE:
        return tree_.real(double(value));
      case dom::element_type::STRING:
        return tree_.text(std::string_view(value));
      case dom::element_type::ARRAY: {
        Level level{.container = tree_.list(), .is_object = false, .array = value};
        level.element = level.array.begin();
        open_.push_back(level);
        return level.container;
      }
      case dom::element_type::OBJECT: {
        Level level{.container = tree_.dict(), .is_object = true, .object = value};
        level.field = level.object.begin();
        open_.push_back(level);
        return level.container;
      }
    }
    return tree_.none();
  }

  PlainTree tree_;
  std::vector<Level> open_;
};

}  // namespace

Result<PlainDocument> parse_plain_json(std::string text) {
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  dom::parser parser;
  if (parser.allocate(std::max<std::size_t>(text.size(), 64), kDepth) != simdjson::SUCCESS)
    return no_json("no memory for the text");
  dom::element root;
  if (const auto rc = parser.parse(text).get(root); rc != simdjson::SUCCESS)
    return no_json(simdjson::error_message(rc));
  PlainDocument out;
  if (!TreeBuilder().build(root, out)) return no_json("nested too deep");
  return out;
}

}  // namespace cox::trace
