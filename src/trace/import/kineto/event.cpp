// SPDX-License-Identifier: Apache-2.0
#include "trace/import/kineto/event.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "cox/base/hash.hpp"

namespace cox::trace::kineto {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Without the white space behind it that belongs to a raw token.
std::string_view trimmed(std::string_view token) {
  while (!token.empty() && is_space(token.back())) token.remove_suffix(1);
  return token;
}

/// Inside of a string token; empty where it is none.
std::string_view unquoted(std::string_view token) {
  if (token.empty() || token.front() != '"') return {};
  token = trimmed(token);
  if (token.size() < 2 || token.back() != '"') return {};
  return token.substr(1, token.size() - 2);
}

/// Compares the key at `at` (behind its opening quote) with a literal.
template <std::size_t N>
bool is(const char* at, const char (&key)[N]) {
  return std::memcmp(at, key, N - 1) == 0 && at[N - 1] == '"';
}

/// Threads and processes are numbers, or texts such as "stream 7", "24572", "PyTorch Profiler".
std::uint64_t parse_identity(std::string_view token) {
  if (const auto n = parse_integer(token)) return static_cast<std::uint64_t>(*n);
  const std::string_view text = unquoted(token);
  if (text.starts_with("stream "))
    if (const auto n = parse_integer(text.substr(7))) return static_cast<std::uint64_t>(*n);
  return fnv1a(text) | (std::uint64_t{1} << 63);
}

/// Which arguments are worth reading.
enum class Wanted : std::uint8_t { Nothing, Correlation, Everything };

Wanted wanted(const TraceEvent& e, bool named) {
  if (!named || e.category == Category::Unknown) return Wanted::Everything;
  switch (e.category) {
    case Category::Kernel:
      return e.meaning.kind == NameKind::Collective ? Wanted::Everything : Wanted::Correlation;
    case Category::Copy:
    case Category::Runtime:
      return Wanted::Correlation;
    case Category::HostOp:
    case Category::Annotation:
      return e.meaning.kind == NameKind::CommsRecord || e.meaning.kind == NameKind::Collective ||
                     e.meaning.kind == NameKind::CollectiveCall
                 ? Wanted::Everything
                 : Wanted::Nothing;
    case Category::DeviceSync:
      return Wanted::Everything;
    default:
      return Wanted::Nothing;
  }
}

/// These are true: the key that they are given for was known.
template <class To, class From>
bool take(To& to, From&& from) {
  to = std::forward<From>(from);
  return true;
}
bool take_number(std::int64_t& to, std::string_view token) {
  return take(to, parse_integer(token).value_or(-1));
}

/// Arguments that every kind of event may have; true where `key` was one.
bool read_link(TraceEvent& e, const char* key, std::string_view token) {
  if (is(key, "correlation")) return take(e.correlation, parse_integer(token).value_or(0));
  if (is(key, "External id") || is(key, "external id"))
    return take(e.external, parse_integer(token).value_or(0));
  if (is(key, "stream")) return take_number(e.stream, token);
  if (is(key, "cuda_sync_kind")) return take(e.sync_kind, unquoted(token));
  return false;
}

/// Source: PyTorch's ParamCommsUtils and Kineto's collective metadata, 2022 to 2025.
bool read_comms(CommsArguments& c, const char* key, std::string_view token) {
  if (is(key, "Collective name")) return take(c.collective, unquoted(token));
  if (is(key, "Process Group Name")) return take(c.group_name, unquoted(token));
  if (is(key, "Process Group Description")) return take(c.group_description, unquoted(token));
  if (is(key, "Process Group Ranks")) return take(c.group_ranks, unquoted(token));
  if (is(key, "dtype")) return take(c.element_type, unquoted(token));
  if (is(key, "In split size")) return take(c.in_split, unquoted(token));
  if (is(key, "In msg nelems")) return take_number(c.in_elements, token);
  if (is(key, "Out msg nelems")) return take_number(c.out_elements, token);
  if (is(key, "Group size")) return take_number(c.group_size, token);
  if (is(key, "Seq") || is(key, "seq")) return take_number(c.sequence, token);
  if (is(key, "Global rank start")) return take_number(c.first_rank, token);
  if (is(key, "Global rank stride")) return take_number(c.rank_stride, token);
  return false;
}

/// Signs, quotes, and 12.0 as written by programs that went through floating point.
std::optional<std::int64_t> parse_odd_integer(std::string_view token) {
  token = trimmed(token);
  if (token.size() >= 2 && token.front() == '"') token = unquoted(token);
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), n);
  if (error != std::errc() || token.empty()) return std::nullopt;
  std::string_view rest(end, static_cast<std::size_t>(token.data() + token.size() - end));
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    while (rest.starts_with('0')) rest.remove_prefix(1);
  }
  if (!rest.empty()) return std::nullopt;
  return n;
}

/// Signs, quotes, exponents.
std::optional<Nanoseconds> parse_odd_microseconds(std::string_view token) {
  token = trimmed(token);
  if (token.size() >= 2 && token.front() == '"') token = unquoted(token);
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc() || end != token.data() + token.size() || token.empty() ||
      !(std::abs(value) < 9.2e15))
    return std::nullopt;
  return Nanoseconds(std::llround(value * 1e3));
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view token) {
  // Nearly all are short and plain.
  std::size_t at = 0;
  std::int64_t n = 0;
  while (at < token.size() && at < 18 && is_digit(token[at])) n = n * 10 + (token[at++] - '0');
  if (at > 0 && (at == token.size() || is_space(token[at]))) return n;
  return parse_odd_integer(token);
}

std::optional<Nanoseconds> parse_microseconds(std::string_view token) {
  // 16 digits of microseconds are 317 years; a double would be exact to a quarter of a microsecond only.
  std::size_t at = 0;
  std::int64_t micros = 0;
  while (at < token.size() && at < 16 && is_digit(token[at])) micros = micros * 10 + (token[at++] - '0');
  if (at == 0 || micros > 9'200'000'000'000'000) return parse_odd_microseconds(token);
  std::int64_t nanos = 0;
  if (at < token.size() && token[at] == '.') {
    std::int64_t unit = 100;
    for (++at; unit > 0 && at < token.size() && is_digit(token[at]); ++at, unit /= 10)
      nanos += unit * (token[at] - '0');
    // What stands behind the first digit that is cut off does not count.
    if (at < token.size() && is_digit(token[at])) nanos += token[at] >= '5' ? 1 : 0;
    while (at < token.size() && is_digit(token[at])) ++at;
  }
  if (at < token.size() && !is_space(token[at])) return parse_odd_microseconds(token);
  return Nanoseconds(micros * 1000 + nanos);
}

std::uint32_t NameBook::index(Category category, std::string_view raw) {
  Page& page = pages_[static_cast<std::size_t>(category)];
  const std::uint32_t i = page.texts.index(raw);
  if (i == page.meanings.size()) page.meanings.push_back(meaning_of(category, raw));
  return i;
}

struct EventParser::Impl {
  EventSink& sink;
  NameBook& names;
  std::unique_ptr<simdjson::internal::dom_parser_implementation> stage1;
  TraceEvent event;
  std::string_view name;      // raw, of the event at hand
  std::string_view category;  // raw, of the event at hand
  bool named = false;

  Impl(EventSink& s, NameBook& n) : sink(s), names(n) {}

  /// Once category and name are known, whatever their order.
  void resolve_name() {
    if (named || name.data() == nullptr || category.data() == nullptr) return;
    named = true;
    const Category c = event.category;
    // Nothing is ever stored of frames but collections of garbage, and there are millions of them.
    if (c == Category::PythonFrame && !name.starts_with("Python GC")) {
      event.meaning = {};
      return;
    }
    if (c == Category::Uninteresting || c == Category::Unknown) return;
    event.name = names.index(c, name);
    event.meaning = names.meaning(c, event.name);
  }

  [[nodiscard]] bool boring() const {
    if (event.phase != 0 && event.phase != 'X' && event.phase != 'B') return event.phase != 'E';
    if (event.phase != 'X') return false;  // B and E are pairs, whatever they are
    if (category.data() == nullptr) return false;
    if (event.category == Category::Uninteresting || event.category == Category::Unknown) return true;
    return named && event.category == Category::PythonFrame && event.meaning.kind != NameKind::Gc;
  }

  /// One scalar member of the event.
  void read_field(const char* key, std::string_view value) {
    switch (*key) {
      case 'p':
        if (is(key, "ph")) {
          const std::string_view phase = unquoted(value);
          event.phase = phase.size() == 1 ? phase.front() : '?';
        } else if (is(key, "pid")) {
          event.pid = static_cast<std::int64_t>(parse_identity(value));
        }
        return;
      case 'c':
        // Where a key comes twice, the first counts: the name was looked up under its category.
        if (category.data() == nullptr && is(key, "cat")) {
          category = unquoted(value);
          if (category.data() == nullptr) category = "";
          event.category = category_of(category);
          resolve_name();
        }
        return;
      case 'n':
        if (name.data() == nullptr && is(key, "name")) {
          name = unquoted(value);
          if (name.data() == nullptr) name = "";
          resolve_name();
        }
        return;
      case 't':
        if (is(key, "tid")) event.tid = parse_identity(value);
        if (is(key, "ts")) event.begin = parse_microseconds(value);
        return;
      case 'd':
        if (is(key, "dur")) event.duration = parse_microseconds(value);
        return;
      default:
        return;
    }
  }

  // Tokens: `at[i]` is where the i-th bracket, comma, colon, string or number begins.
  // Functions take the first token to look at and return the one behind what they read; kBroken
  // where it does not end in the batch.
  static constexpr std::size_t kBroken = static_cast<std::size_t>(-1);
  const char* text = nullptr;
  const std::uint32_t* at = nullptr;
  std::size_t count = 0;

  [[nodiscard]] char first(std::size_t i) const { return i < count ? text[at[i]] : '\0'; }
  [[nodiscard]] std::string_view token(std::size_t i) const { return {text + at[i], at[i + 1] - at[i]}; }
  static bool opens(char c) { return c == '{' || c == '['; }
  static bool closes(char c) { return c == '}' || c == ']'; }

  /// Behind the bracket that closes `depth` open ones.
  [[nodiscard]] std::size_t skip(std::size_t i, std::int64_t depth) const {
    for (; i < count; ++i) {
      const char c = text[at[i]];
      if (opens(c)) ++depth;
      if (closes(c) && --depth == 0) return i + 1;
    }
    return kBroken;
  }

  /// `"key":` and the first token of a value.
  [[nodiscard]] bool is_member(std::size_t i) const {
    const char value = first(i + 2);
    return first(i) == '"' && first(i + 1) == ':' && value != '\0' && value != ':' && value != ',' &&
           !closes(value);
  }

  /// Arguments from behind their opening brace.
  std::size_t read_arguments(std::size_t i) {
    const Wanted want = wanted(event, named);
    if (want == Wanted::Nothing) return skip(i, 1);
    if (first(i) == '}') return i + 1;
    for (;; ++i) {
      if (!is_member(i)) return kBroken;
      const char* key = text + at[i] + 1;
      i += 2;
      if (opens(first(i))) {
        const std::size_t end = skip(i + 1, 1);
        if (end == kBroken) return kBroken;
        const bool dims = is(key, "Input Dims");
        if (want == Wanted::Everything && (dims || is(key, "Input type"))) {
          (dims ? event.comms.input_dims : event.comms.input_type) = {text + at[i], at[end - 1] + 1 - at[i]};
          event.has_comms = true;
        }
        i = end;
      } else {
        if (want == Wanted::Correlation) {
          if (*key == 'c' && is(key, "correlation")) {
            event.correlation = parse_integer(token(i)).value_or(0);
            return skip(i + 1, 1);
          }
        } else if (!read_link(event, key, token(i)) && read_comms(event.comms, key, token(i))) {
          event.has_comms = true;
        }
        ++i;
      }
      if (first(i) == '}') return i + 1;
      if (first(i) != ',') return kBroken;
    }
  }

  void reset() {
    event.phase = 0;
    event.category = Category::Unknown;
    event.meaning = {};
    event.name = 0;
    event.pid = 0;
    event.tid = 0;
    event.begin.reset();
    event.duration.reset();
    event.correlation = event.external = 0;
    event.stream = -1;
    event.sync_kind = {};
    if (event.has_comms) event.comms = {};
    event.has_comms = named = false;
    name = category = {};
  }

  /// An event from behind its opening brace; `taken` where it says something.
  std::size_t read(std::size_t i, bool& taken) {
    reset();
    taken = true;
    if (first(i) != '}') {
      for (;; ++i) {
        if (!is_member(i)) return kBroken;
        const char* key = text + at[i] + 1;
        i += 2;
        if (!opens(first(i))) {
          read_field(key, token(i));
          ++i;
          if (boring()) {
            taken = false;
            return skip(i, 1);
          }
        } else {
          const bool arguments = first(i) == '{' && is(key, "args");
          i = arguments ? read_arguments(i + 1) : skip(i + 1, 1);
          if (i == kBroken) return kBroken;
        }
        if (first(i) == '}') break;
        if (first(i) != ',') return kBroken;
      }
    }
    if (category.data() == nullptr) category = "";
    if (name.data() == nullptr) name = "";
    resolve_name();
    return i + 1;
  }

  /// Finds the tokens of a batch; false where it is no UTF-8, or a string is not closed
  /// or holds control characters.
  bool find_tokens(const char* batch, std::size_t size) {
    if (size > (std::size_t{1} << 31)) return false;
    const bool fits = stage1 && size <= stage1->capacity();
    if (!fits) {
      const std::size_t capacity = std::max(size, std::size_t{1} << 16);
      if (simdjson::get_active_implementation()->create_dom_parser_implementation(
              capacity, simdjson::DEFAULT_MAX_DEPTH, stage1) != simdjson::SUCCESS)
        return false;
    }
    if (stage1->stage1(reinterpret_cast<const std::uint8_t*>(batch), size, simdjson::stage1_mode::regular) !=
        simdjson::SUCCESS)
      return false;
    text = batch;
    at = stage1->structural_indexes.get();
    count = stage1->n_structural_indexes;
    return true;
  }
};

EventParser::EventParser(EventSink& sink, NameBook& names) : impl_(std::make_unique<Impl>(sink, names)) {}
EventParser::~EventParser() = default;

EventParser::Outcome EventParser::parse(const char* text, std::size_t size) {
  Impl& impl = *impl_;
  Outcome out;
  if (!impl.find_tokens(text, size)) return {.failed = true};
  for (std::size_t i = 0; i < impl.count;) {
    const char c = impl.first(i);
    out.used = impl.at[i];
    if (c == ']') return {.used = out.used + 1, .array_ended = true};
    out.failed = c != '{';
    if (out.failed) return out;
    bool taken = false;
    const std::size_t end = impl.read(i + 1, taken);
    out.failed = end == Impl::kBroken;
    if (out.failed) return out;
    ++counts_.events;
    if (impl.event.phase == 'X') ++counts_.complete;
    if (impl.event.phase == 'X' && impl.event.category == Category::Unknown) ++counts_.unknown;
    if (taken) impl.sink.take(impl.event);
    i = end;
    out.used = impl.at[i - 1] + 1;
    out.failed = i < impl.count && impl.first(i) != ',' && impl.first(i) != ']';
    if (out.failed) return out;
    if (impl.first(i) == ',') ++i;
  }
  out.used = size;
  return out;
}

}  // namespace cox::trace::kineto
