// SPDX-License-Identifier: Apache-2.0
#include "trace/import/nccl/pickle.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

#include "trace/raw/meta_entries.hpp"

namespace cox::trace {

PlainTree::PlainTree() : items_(1) {
  add({});
  add({.payload = 0, .length = 0, .kind = PlainKind::Bool});
  add({.payload = 1, .length = 0, .kind = PlainKind::Bool});
}

PlainTree::Index PlainTree::add(Node node) {
  nodes_.push_back(node);
  return static_cast<Index>(nodes_.size() - 1);
}
PlainTree::Index PlainTree::integer(std::int64_t value) {
  return add({.payload = std::bit_cast<std::uint64_t>(value), .length = 0, .kind = PlainKind::Integer});
}
PlainTree::Index PlainTree::real(double value) {
  return add({.payload = std::bit_cast<std::uint64_t>(value), .length = 0, .kind = PlainKind::Real});
}
PlainTree::Index PlainTree::text(std::string_view value) {
  const std::uint64_t at = text_.size();
  text_ += value;
  return add({.payload = at, .length = static_cast<std::uint32_t>(value.size()), .kind = PlainKind::Text});
}
PlainTree::Index PlainTree::list() {
  return add({.payload = 0, .length = 0, .kind = PlainKind::List});
}
PlainTree::Index PlainTree::dict() {
  return add({.payload = 0, .length = 0, .kind = PlainKind::Dict});
}

void PlainTree::append(Index container, Index value) {
  Node& node = nodes_[container];
  if (node.payload == 0) {
    node.payload = items_.size();
    items_.emplace_back();
  }
  items_[node.payload].push_back(value);
}

std::optional<std::int64_t> PlainTree::as_integer(Index i) const {
  if (kind(i) != PlainKind::Integer) return std::nullopt;
  return std::bit_cast<std::int64_t>(nodes_[i].payload);
}
std::optional<double> PlainTree::as_real(Index i) const {
  if (kind(i) == PlainKind::Integer) return static_cast<double>(*as_integer(i));
  if (kind(i) != PlainKind::Real) return std::nullopt;
  return std::bit_cast<double>(nodes_[i].payload);
}
std::optional<bool> PlainTree::as_bool(Index i) const {
  if (kind(i) != PlainKind::Bool) return std::nullopt;
  return nodes_[i].payload != 0;
}
std::optional<std::string_view> PlainTree::as_text(Index i) const {
  if (kind(i) != PlainKind::Text) return std::nullopt;
  return std::string_view(text_).substr(nodes_[i].payload, nodes_[i].length);
}

const std::vector<PlainTree::Index>& PlainTree::items(Index i) const {
  const bool container = kind(i) == PlainKind::List || kind(i) == PlainKind::Dict;
  return items_[container ? nodes_[i].payload : 0];
}

PlainTree::Index PlainTree::find(Index dict, std::string_view key) const {
  if (kind(dict) != PlainKind::Dict) return kNothing;
  const std::vector<Index>& pairs = items(dict);
  for (std::size_t i = 0; i + 1 < pairs.size() && i < 2 * kKeysSearched; i += 2)
    if (as_text(pairs[i]) == key) return pairs[i + 1];
  return kNothing;
}

namespace {

using Index = PlainTree::Index;

/// Opcodes by the names that `pickletools` gives them.
enum Opcode : unsigned char {
  Mark = '(',
  Stop = '.',
  Pop = '0',
  PopMark = '1',
  Dup = '2',
  NoneValue = 'N',
  BinInt = 'J',
  BinInt1 = 'K',
  BinInt2 = 'M',
  Long1 = 0x8a,
  Long4 = 0x8b,
  NewTrue = 0x88,
  NewFalse = 0x89,
  BinFloat = 'G',
  BinString = 'T',
  ShortBinString = 'U',
  BinUnicode = 'X',
  ShortBinUnicode = 0x8c,
  BinUnicode8 = 0x8d,
  BinBytes = 'B',
  ShortBinBytes = 'C',
  BinBytes8 = 0x8e,
  ByteArray8 = 0x96,
  EmptyList = ']',
  Append = 'a',
  Appends = 'e',
  List = 'l',
  EmptyTuple = ')',
  Tuple = 't',
  Tuple1 = 0x85,
  Tuple2 = 0x86,
  Tuple3 = 0x87,
  EmptyDict = '}',
  Dict = 'd',
  SetItem = 's',
  SetItems = 'u',
  EmptySet = 0x8f,
  AddItems = 0x90,
  FrozenSet = 0x91,
  BinPut = 'q',
  LongBinPut = 'r',
  Memoize = 0x94,
  BinGet = 'h',
  LongBinGet = 'j',
  Proto = 0x80,
  Frame = 0x95,
};

/// Name of an opcode that would import, call or build something; null for all others.
const char* executing(unsigned char op) {
  switch (op) {
    case 'c':
      return "GLOBAL";
    case 0x93:
      return "STACK_GLOBAL";
    case 'R':
      return "REDUCE";
    case 'b':
      return "BUILD";
    case 'i':
      return "INST";
    case 'o':
      return "OBJ";
    case 0x81:
      return "NEWOBJ";
    case 0x92:
      return "NEWOBJ_EX";
    case 0x82:
      return "EXT1";
    case 0x83:
      return "EXT2";
    case 0x84:
      return "EXT4";
    case 'P':
      return "PERSID";
    case 'Q':
      return "BINPERSID";
    default:
      return nullptr;
  }
}

class PickleMachine {
 public:
  explicit PickleMachine(std::string_view bytes) : bytes_(bytes) {}

  Result<PlainDocument> run() && {
    for (;;) {
      at_ = next_;
      if (next_ >= bytes_.size()) return damaged("ends before its STOP");
      const auto op = static_cast<unsigned char>(bytes_[next_++]);
      if (op == Stop) break;
      if (executing(op) != nullptr) return would_execute(op);
      if (!step(op)) return damaged(what_ != nullptr ? what_ : "an operand or a value is missing");
    }
    if (stack_.empty()) return damaged("STOP without a value");
    return PlainDocument{std::move(tree_), stack_.back()};
  }

 private:
  [[nodiscard]] tl::unexpected<Error> error(std::string message, std::string hint) const {
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "import-005",
                      .message = std::move(message),
                      .hint = std::move(hint),
                      .where = {}});
  }
  [[nodiscard]] tl::unexpected<Error> damaged(const char* what) const {
    return error(fmt::format("byte {} of the pickle: {}, expected plain data of protocol 2 to 5", at_, what),
                 "copy the file again, or dump it again with the job's own PyTorch");
  }
  [[nodiscard]] tl::unexpected<Error> would_execute(unsigned char op) const {
    std::string what;
    if (op == 'c' || op == 'i') {
      std::string_view name = bytes_.substr(next_, 200);
      if (const std::size_t second = name.find('\n', name.find('\n') + 1); second != std::string_view::npos)
        what = clean_text(name.substr(0, second));
    } else if (op == 0x93 && stack_.size() >= 2) {
      const auto module = tree_.as_text(stack_[stack_.size() - 2]);
      const auto name = tree_.as_text(stack_.back());
      if (module && name) what = clean_text(module->substr(0, 100)) + '.' + clean_text(name->substr(0, 100));
    }
    for (char& c : what) c = c == '?' ? '.' : c;  // the line end between module and name
    return error(
        fmt::format("byte {} of the pickle: opcode {}{} would execute code, expected plain data", at_,
                    executing(op), what.empty() ? "" : " (" + what + ")"),
        "a Flight Recorder dump holds plain data only: find out who wrote this file, and do not load "
        "it with Python");
  }

  // --- operands -------------------------------------------------------------------------------------------
  template <class T>
  bool little(T& value) {
    if (bytes_.size() - next_ < sizeof(T)) return false;
    std::memcpy(&value, bytes_.data() + next_, sizeof(T));
    next_ += sizeof(T);
    return true;
  }
  template <class Length>
  bool counted(std::string_view& out) {
    Length n = 0;
    if (!little(n) || n > bytes_.size() - next_) return false;
    out = bytes_.substr(next_, static_cast<std::size_t>(n));
    next_ += out.size();
    return true;
  }

  // --- stack ----------------------------------------------------------------------------------------------
  bool push(Index value) {
    stack_.push_back(value);
    return true;
  }
  /// Values above `floor` belong to the opcode at hand; below the last mark they do not.
  [[nodiscard]] std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  [[nodiscard]] bool has(std::size_t n) const { return stack_.size() - floor() >= n; }
  bool pop_mark(std::size_t& first) {
    if (marks_.empty()) return false;
    first = marks_.back();
    marks_.pop_back();
    return true;
  }
  /// Moves what is above `first` into the container.
  void take(Index container, std::size_t first) {
    for (std::size_t i = first; i < stack_.size(); ++i) tree_.append(container, stack_[i]);
    stack_.resize(first);
  }
  bool make(Index container, std::size_t first) {
    take(container, first);
    return push(container);
  }
  bool make_of(std::size_t n) { return has(n) && make(tree_.list(), stack_.size() - n); }
  bool make_from_mark(bool pairs) {
    std::size_t first = 0;
    if (!pop_mark(first) || (pairs && (stack_.size() - first) % 2 != 0)) return false;
    return make(pairs ? tree_.dict() : tree_.list(), first);
  }
  bool extend(std::size_t first, PlainKind kind) {
    if (first == floor() || tree_.kind(stack_[first - 1]) != kind) return false;
    if (kind == PlainKind::Dict && (stack_.size() - first) % 2 != 0) return false;
    take(stack_[first - 1], first);
    return true;
  }
  bool extend_from_mark(PlainKind kind) {
    std::size_t first = 0;
    return pop_mark(first) && extend(first, kind);
  }

  // --- memo -----------------------------------------------------------------------------------------------
  bool put(std::size_t slot) {
    // Writers number the memo from 0 on; a number beyond the input's length would only cost memory.
    if (!has(1) || slot > bytes_.size()) return false;
    if (slot >= memo_.size()) memo_.resize(slot + 1, PlainTree::kNothing);
    memo_[slot] = stack_.back();
    return true;
  }
  bool get(std::size_t slot) {
    return slot < memo_.size() && memo_[slot] != PlainTree::kNothing && push(memo_[slot]);
  }

  template <class Length>
  bool push_text() {
    std::string_view text;
    return counted<Length>(text) && push(tree_.text(text));
  }
  template <class Number>
  bool push_integer() {
    Number n = 0;
    return little(n) && push(tree_.integer(n));
  }
  template <class Length>
  bool push_long() {
    std::string_view digits;
    if (!counted<Length>(digits)) return false;
    if (digits.size() > 8) {
      what_ = "an integer of more than 64 bit";
      return false;
    }
    std::uint64_t value =
        !digits.empty() && (static_cast<unsigned char>(digits.back()) & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    if (!digits.empty()) std::memcpy(&value, digits.data(), digits.size());
    return push(tree_.integer(std::bit_cast<std::int64_t>(value)));
  }
  bool push_float() {
    std::uint64_t bits = 0;
    if (!little(bits)) return false;
    return push(tree_.real(std::bit_cast<double>(__builtin_bswap64(bits))));
  }

  bool step(unsigned char op) {
    switch (op) {
      case Proto:
        return protocol();
      case Frame: {
        std::uint64_t n = 0;
        return little(n);  // where the frame ends does not matter to who has all of it
      }
      case NoneValue:
        return push(tree_.none());
      case NewTrue:
        return push(tree_.boolean(true));
      case NewFalse:
        return push(tree_.boolean(false));
      case BinInt:
        return push_integer<std::int32_t>();
      case BinInt1:
        return push_integer<std::uint8_t>();
      case BinInt2:
        return push_integer<std::uint16_t>();
      case Long1:
        return push_long<std::uint8_t>();
      case Long4:
        return push_long<std::uint32_t>();
      case BinFloat:
        return push_float();
      case ShortBinString:
      case ShortBinUnicode:
      case ShortBinBytes:
        return push_text<std::uint8_t>();
      case BinString:
      case BinUnicode:
      case BinBytes:
        return push_text<std::uint32_t>();
      case BinUnicode8:
      case BinBytes8:
      case ByteArray8:
        return push_text<std::uint64_t>();
      default:
        return arrange(op);
    }
  }

  bool arrange(unsigned char op) {
    switch (op) {
      case Mark:
        marks_.push_back(stack_.size());
        return true;
      case Pop:
        // Pops a mark where it is the last thing pushed, as Python does.
        if (!marks_.empty() && marks_.back() == stack_.size()) {
          marks_.pop_back();
          return true;
        }
        if (!has(1)) return false;
        stack_.pop_back();
        return true;
      case PopMark: {
        std::size_t first = 0;
        if (!pop_mark(first)) return false;
        stack_.resize(first);
        return true;
      }
      case Dup:
        return has(1) && push(stack_.back());
      case EmptyList:
      case EmptySet:
      case EmptyTuple:
        return push(tree_.list());
      case EmptyDict:
        return push(tree_.dict());
      case Append:
        return has(2) && extend(stack_.size() - 1, PlainKind::List);
      case Appends:
      case AddItems:
        return extend_from_mark(PlainKind::List);
      case SetItem:
        return has(3) && extend(stack_.size() - 2, PlainKind::Dict);
      case SetItems:
        return extend_from_mark(PlainKind::Dict);
      case List:
      case Tuple:
      case FrozenSet:
        return make_from_mark(false);
      case Dict:
        return make_from_mark(true);
      case Tuple1:
        return make_of(1);
      case Tuple2:
        return make_of(2);
      case Tuple3:
        return make_of(3);
      default:
        return remember(op);
    }
  }

  bool remember(unsigned char op) {
    std::uint8_t small = 0;
    std::uint32_t large = 0;
    switch (op) {
      case Memoize:
        return put(memo_.size());
      case BinPut:
        return little(small) && put(small);
      case LongBinPut:
        return little(large) && put(large);
      case BinGet:
        return little(small) && get(small);
      case LongBinGet:
        return little(large) && get(large);
      default:
        what_ = "an opcode that no dump has";
        return false;
    }
  }

  bool protocol() {
    std::uint8_t version = 0;
    if (little(version) && version >= 2 && version <= 5) return true;
    what_ = "an unknown protocol";
    return false;
  }

  std::string_view bytes_;
  std::size_t next_ = 0;
  std::size_t at_ = 0;
  const char* what_ = nullptr;
  PlainTree tree_;
  std::vector<Index> stack_;
  std::vector<std::size_t> marks_;  // length of the stack when it was marked
  std::vector<Index> memo_;
};

}  // namespace

Result<PlainDocument> parse_pickle(std::string_view bytes) {
  if (bytes.size() >= PlainTree::kNothing)
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "import-005",
                      .message = "a pickle of 4 GiB or more, expected a dump of megabytes",
                      .hint = {},
                      .where = {}});
  return PickleMachine(bytes).run();
}

bool looks_like_pickle(std::string_view head) {
  if (head.size() < 3 || static_cast<unsigned char>(head[0]) != 0x80 || head[1] < 2 || head[1] > 5)
    return false;
  // A protobuf stream may begin with the same two bytes, but not with one of these third ones.
  return std::string_view("}](c)X\x8c\x95U").find(head[2]) != std::string_view::npos;
}

}  // namespace cox::trace
