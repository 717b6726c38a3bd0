// SPDX-License-Identifier: Apache-2.0
// The only translation unit of the room that sees the TOML library.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <system_error>

#include "cox/base/file.hpp"
#include "cox/base/spelling.hpp"
#include "cox/base/toml_library.hpp"
#include "cox/study/study.hpp"

namespace cox::study {
namespace {

constexpr std::size_t kMostText = 1'000'000;
constexpr std::size_t kMostEntries = 1000;
constexpr std::string_view kCoverageFile = "coverage.toml";  ///< of a folder of studies; it is none

/// A table of the file, with what is needed to complain about it.
struct Table {
  const toml::table& keys;
  const std::string& file;
  std::string_view what;  ///< `[[input]]`
};

std::int64_t line_of(const toml::node& node) {
  return static_cast<std::int64_t>(node.source().begin.line);
}

/// Text of the file as it may stand in a message: it can come from anywhere.
std::string shown(std::string_view text) {
  return cox::shown(text, 120);
}

/// Nothing that would move a terminal's cursor; line ends and tabs may stand in long texts.
bool is_plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return (c >= 0 && c < ' ' && c != '\n' && c != '\t') || c == 0x7f; });
}

tl::unexpected<Error> refuse(const std::string& file, std::int64_t line, std::string message,
                             std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-002",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = Where{.file = file, .line = line}});
}

Status check_keys(const Table& t, std::initializer_list<std::string_view> known) {
  for (const auto& [key, node] : t.keys) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    return refuse(t.file, static_cast<std::int64_t>(key.source().begin.line),
                  fmt::format("unknown key '{}' in {}", shown(key.str()), t.what),
                  fmt::format("known here: {}", fmt::join(known, ", ")));
  }
  return {};
}

/// A text; empty where the key is absent and not required.
Result<std::string> text_at(const Table& t, std::string_view key, bool required) {
  const toml::node* node = t.keys.get(key);
  if (node == nullptr) {
    if (!required) return std::string();
    return refuse(t.file, line_of(t.keys), fmt::format("{} has no '{}'", t.what, key),
                  fmt::format("write {} = \"...\"", key));
  }
  const auto* text = node->as_string();
  if (text == nullptr || (required && text->get().empty()))
    return refuse(t.file, line_of(*node), fmt::format("'{}' of {} is no text", key, t.what),
                  fmt::format("write {} = \"...\"", key));
  constexpr std::size_t kMostLetters = 4000;
  if (text->get().size() > kMostLetters || !is_plain(text->get()) ||
      (key != "answer" && text->get().find('\n') != std::string::npos))
    return refuse(t.file, line_of(*node),
                  fmt::format("'{}' of {} has control characters, several lines or more than 4000 letters",
                              key, t.what),
                  "write plain text");
  return text->get();
}

/// A quantity, a name, or `NUMBER * NAME`; nothing where it is none.
std::optional<ConditionSide> side_of(std::string_view text) {
  constexpr std::string_view kTimes = " * ";
  ConditionSide side{.text = std::string(text)};
  if (const auto written = parse_quantity(text)) {
    side.written = written->value;
    return side;
  }
  const auto times = text.find(kTimes);
  side.name = text.substr(times == std::string_view::npos ? 0 : times + kTimes.size());
  if (times != std::string_view::npos) {
    const auto factor = parse_quantity(text.substr(0, times));
    if (!factor || factor->value.dimension() != Dimension::Count) return {};
    side.factor = factor->value.in_base_unit();
  }
  if (side.name.empty()) return {};
  return side;
}

Result<Condition> condition_of(const toml::node& node, const Table& t) {
  const auto text = node.value_exact<std::string>();
  constexpr std::size_t kMostLetters = 400;
  const auto refuse_it = [&] {
    return refuse(t.file, line_of(node),
                  fmt::format("'holds' of {} has an entry that compares nothing", t.what),
                  "write \"NAME > NAME\", \"NAME < 1.5 * NAME\" or \"NAME > 20ms\"");
  };
  if (!text || text->size() > kMostLetters || !is_plain(*text) || text->find('\n') != std::string::npos)
    return refuse_it();
  const bool is_greater = text->find(" > ") != std::string::npos;
  const std::string_view sign = is_greater ? " > " : " < ";
  const std::string_view all = *text;
  const auto at = all.find(sign);
  if (at == std::string_view::npos || all.find_first_of("<>", at + sign.size()) != std::string_view::npos)
    return refuse_it();
  auto left = side_of(all.substr(0, at));
  auto right = side_of(all.substr(at + sign.size()));
  if (!left || !right) return refuse_it();
  return Condition{
      .left = *std::move(left), .right = *std::move(right), .is_greater = is_greater, .line = line_of(node)};
}

/// What `holds` lists; nothing where it is absent. `guarded` is the text that it belongs to.
Result<std::vector<Condition>> conditions_at(const Table& t, std::string_view key,
                                             const std::string& guarded) {
  std::vector<Condition> out;
  const toml::node* node = t.keys.get("holds");
  if (node == nullptr) return out;
  const toml::array* list = node->as_array();
  constexpr std::size_t kMostConditions = 20;
  if (list == nullptr || list->empty() || list->size() > kMostConditions || guarded.empty())
    return refuse(
        t.file, line_of(*node),
        fmt::format("'holds' of {} is no list of 1 to {} conditions of '{}'", t.what, kMostConditions, key),
        fmt::format("write {} = \"...\" and holds = [\"NAME > NAME\", ...]", key));
  for (const toml::node& each : *list) {
    COX_TRY(Condition one, condition_of(each, t));
    out.push_back(std::move(one));
  }
  return out;
}

Result<int> line_at(const Table& t, std::string_view key) {
  const toml::node* node = t.keys.get(key);
  if (node == nullptr) return 0;
  const auto number = node->value_exact<std::int64_t>();
  constexpr std::int64_t kMost = 10'000'000;
  if (!number || *number < 1 || *number > kMost)
    return refuse(t.file, line_of(*node), fmt::format("'{}' of {} is no line number", key, t.what),
                  "write the line of the source as a whole number");
  return static_cast<int>(*number);
}

/// A whole number is a count; everything else is a text with a unit.
Result<WrittenQuantity> quantity_of(const toml::node& node, const Table& t, std::string_view key) {
  if (const auto whole = node.value_exact<std::int64_t>(); whole && *whole >= 0) {
    constexpr double kExact = 0;  // a count is exact
    return WrittenQuantity{.value = Quantity::count(static_cast<double>(*whole)),
                           .text = fmt::format("{}", *whole),
                           .unit = {},
                           .decimals = 0,
                           .last_digit = Quantity::count(kExact)};
  }
  const auto* text = node.as_string();
  if (text == nullptr)
    return refuse(t.file, line_of(node), fmt::format("'{}' of {} is no quantity", key, t.what),
                  "write a whole number for a count, else a text with a unit such as \"153.42ms\"");
  auto read = parse_quantity(text->get());
  if (!read) {
    read.error().where = Where{.file = t.file, .line = line_of(node)};
    return fail(std::move(read).error());
  }
  return *std::move(read);
}

Result<std::vector<WrittenQuantity>> values_of(const toml::node& node, const Table& t) {
  std::vector<WrittenQuantity> values;
  const toml::array* list = node.as_array();
  if (list == nullptr) {
    COX_TRY(WrittenQuantity one, quantity_of(node, t, "value"));
    values.push_back(std::move(one));
    return values;
  }
  if (list->empty() || list->size() > kMostEntries)
    return refuse(t.file, line_of(node), fmt::format("a list of {} values", list->size()),
                  "give 1 to 1000 of them");
  for (const toml::node& each : *list) {
    COX_TRY(WrittenQuantity one, quantity_of(each, t, "value"));
    if (!values.empty() && one.value.dimension() != values.front().value.dimension())
      return refuse(t.file, line_of(each),
                    fmt::format("{} among {}", one.text, noun_of(values.front().value.dimension())),
                    "give values of one kind");
    values.push_back(std::move(one));
  }
  return values;
}

Result<StudyInput> input_of(const Table& t) {
  COX_CHECK(check_keys(t, {"name", "value", "from", "line", "note"}));
  StudyInput in;
  in.line = line_of(t.keys);
  COX_TRY(in.name, text_at(t, "name", true));
  const toml::node* value = t.keys.get("value");
  if (value == nullptr)
    return refuse(t.file, in.line, fmt::format("input '{}' has no value", shown(in.name)),
                  "write value = ...");
  in.is_list = value->is_array();
  COX_TRY(in.values, values_of(*value, t));
  COX_TRY(const std::string from, text_at(t, "from", true));
  if (from != "source" && from != "missing")
    return refuse(t.file, line_of(*t.keys.get("from")), fmt::format("from = '{}'", shown(from)),
                  "write \"source\" where the source states the value, \"missing\" where it is ours");
  in.origin = from == "source" ? InputOrigin::Source : InputOrigin::Missing;
  COX_TRY(in.source_line, line_at(t, "line"));
  COX_TRY(in.note, text_at(t, "note", in.origin == InputOrigin::Missing));
  return in;
}

constexpr std::array kDeclarations = {Declared::TypedIn, Declared::Fitted, Declared::Draw,
                                      Declared::InputMissing, Declared::Contradicts};

Status read_declaration(const Table& t, Printed& p) {
  COX_TRY(const std::string word, text_at(t, "judgement", false));
  if (word.empty()) return {};
  const auto* found = std::find_if(kDeclarations.begin(), kDeclarations.end(),
                                   [&](Declared d) { return name_of(d) == word; });
  if (found == kDeclarations.end())
    return refuse(
        t.file, line_of(*t.keys.get("judgement")), fmt::format("judgement '{}'", shown(word)),
        "declare typed-in, fitted, draw, input-missing or contradicts; whether it follows is computed");
  p.declared = *found;
  if (p.reason.empty())
    return refuse(t.file, p.line, fmt::format("'{}' is declared {} without a reason", shown(p.name), word),
                  "write reason = \"...\"");
  COX_TRY(p.against, text_at(t, "against", p.declared == Declared::Contradicts));
  COX_TRY(p.typed, text_at(t, "typed", p.declared == Declared::TypedIn));
  COX_TRY(p.at_least, text_at(t, "at_least", false));
  if (p.declared != Declared::InputMissing && !p.at_least.empty())
    return refuse(t.file, p.line,
                  fmt::format("'{}' has a bound beside a number that is compared", shown(p.name)),
                  "leave at_least out, or declare input-missing");
  if (p.declared != Declared::InputMissing && p.declared != Declared::Draw) return {};
  const toml::array* names = t.keys.get("missing") == nullptr ? nullptr : t.keys.get("missing")->as_array();
  for (std::size_t i = 0; names != nullptr && i < std::min(names->size(), kMostEntries); ++i)
    if (const auto name = names->get(i)->value_exact<std::string>(); name && is_plain(*name))
      p.missing.push_back(*name);
  if (p.missing.empty() && p.declared == Declared::InputMissing)
    return refuse(t.file, p.line, fmt::format("'{}' does not say which inputs are missing", shown(p.name)),
                  "write missing = [\"name of an input\", ...]");
  return {};
}

Result<Printed> printed_of(const Table& t) {
  COX_CHECK(check_keys(t, {"name", "quantity", "value", "up_to", "line", "says", "within", "reason", "holds",
                           "judgement", "missing", "at_least", "against", "typed"}));
  Printed p;
  p.line = line_of(t.keys);
  COX_TRY(p.name, text_at(t, "name", true));
  COX_TRY(p.quantity, text_at(t, "quantity", false));
  const toml::node* value = t.keys.get("value");
  if (value == nullptr)
    return refuse(t.file, p.line, fmt::format("printed '{}' has no value", shown(p.name)),
                  "write value = ...");
  COX_TRY(p.value, quantity_of(*value, t, "value"));
  if (const toml::node* end = t.keys.get("up_to")) {
    COX_TRY(p.up_to, quantity_of(*end, t, "up_to"));
    if (p.up_to->value.dimension() != p.value.value.dimension() ||
        p.up_to->value.in_base_unit() <= p.value.value.in_base_unit())
      return refuse(t.file, line_of(*end), fmt::format("up_to {} behind {}", p.up_to->text, p.value.text),
                    "give the larger end of the printed range");
  }
  COX_TRY(p.source_line, line_at(t, "line"));
  if (p.source_line == 0)
    return refuse(t.file, p.line, fmt::format("printed '{}' has no line", shown(p.name)),
                  "write line = the source's line number");
  COX_TRY(p.says, text_at(t, "says", false));
  p.within = Quantity(p.value.value.dimension(), p.value.last_digit.in_base_unit() / 2);
  if (const toml::node* within = t.keys.get("within")) {
    COX_TRY(const WrittenQuantity w, quantity_of(*within, t, "within"));
    if (w.value.dimension() != p.value.value.dimension())
      return refuse(t.file, line_of(*within), fmt::format("within {} for {}", w.text, p.value.text),
                    fmt::format("give {}", noun_of(p.value.value.dimension())));
    p.within = w.value;
  }
  COX_TRY(p.reason, text_at(t, "reason", false));
  COX_TRY(p.holds, conditions_at(t, "reason", p.reason));
  if (p.within.in_base_unit() > p.value.last_digit.in_base_unit() / 2 && p.reason.empty())
    return refuse(t.file, p.line,
                  fmt::format("'{}' is judged more widely than its digits without a reason", shown(p.name)),
                  "write reason = \"...\", or leave `within` out");
  COX_CHECK(read_declaration(t, p));
  const bool needs_one =
      p.declared == Declared::Nothing || p.declared == Declared::Fitted || p.declared == Declared::Draw;
  if (p.quantity.empty() && needs_one)
    return refuse(t.file, p.line, fmt::format("printed '{}' is compared with nothing", shown(p.name)),
                  "write quantity = the name of a computed value, or declare why there is none");
  return p;
}

/// Entries of `[[name]]`, each read by `read`.
template <class T, class F>
Status read_entries(const toml::table& root, std::string_view name, const std::string& file,
                    std::vector<T>& out, const F& read) {
  const toml::node* node = root.get(name);
  if (node == nullptr) return {};
  const toml::array* list = node->as_array();
  const std::string what = fmt::format("[[{}]]", name);
  if (list == nullptr || list->size() > kMostEntries)
    return refuse(file, line_of(*node), fmt::format("'{}' is no list of at most 1000 tables", name),
                  fmt::format("begin each with {}", what));
  for (const toml::node& each : *list) {
    const toml::table* keys = each.as_table();
    if (keys == nullptr)
      return refuse(file, line_of(each), fmt::format("an entry of '{}' is no table", name),
                    fmt::format("begin each with {}", what));
    COX_TRY(T one, read(Table{.keys = *keys, .file = file, .what = what}));
    const auto same = std::find_if(out.begin(), out.end(), [&](const T& o) { return o.name == one.name; });
    if (same != out.end())
      return refuse(file, line_of(each), fmt::format("{} '{}' is there twice", what, shown(one.name)),
                    fmt::format("the first is in line {}", same->line));
    out.push_back(std::move(one));
  }
  return {};
}

}  // namespace

std::string_view name_of(Verdict v) {
  switch (v) {
    case Verdict::Follows:
      return "follows";
    case Verdict::FollowsWithOurs:
      return "follows-with-ours";
    case Verdict::Fitted:
      return "fitted";
    case Verdict::AmongDraws:
      return "among-draws";
    case Verdict::TypedIn:
      return "typed-in";
    case Verdict::NotComputed:
      return "not-computed";
    case Verdict::InputMissing:
      return "input-missing";
    case Verdict::Contradicts:
      return "contradicts";
    case Verdict::NotWithOurs:
      return "not-with-ours";
    case Verdict::FitMisses:
      return "fit-misses";
    case Verdict::DoesNotFollow:
      return "does-not-follow";
  }
  return "";
}

std::string_view name_of(Declared d) {
  switch (d) {
    case Declared::Nothing:
      return "";
    case Declared::TypedIn:
      return "typed-in";
    case Declared::Fitted:
      return "fitted";
    case Declared::Draw:
      return "draw";
    case Declared::InputMissing:
      return "input-missing";
    case Declared::Contradicts:
      return "contradicts";
  }
  return "";
}

Result<Study> parse_study(std::string_view text, const std::string& file) {
  if (text.size() > kMostText) return refuse(file, 0, "more than 1 MB of text", "a study is a page");
  const toml::parse_result parsed = toml::parse(text, file);
  if (!parsed)
    return fail(Error{
        .code = Errc::InvalidInput,
        .id = "study-001",
        .message = shown(parsed.error().description()),
        .hint = "a study is written in TOML: docs/reference/study-files.md",
        .where = Where{.file = file, .line = static_cast<std::int64_t>(parsed.error().source().begin.line)}});
  const Table root{.keys = parsed.table(), .file = file, .what = "the study"};
  COX_CHECK(check_keys(
      root, {"name", "title", "question", "source", "answer", "holds", "compute", "input", "printed"}));
  Study s;
  s.file = file;
  COX_TRY(s.name, text_at(root, "name", true));
  COX_TRY(s.title, text_at(root, "title", true));
  COX_TRY(s.question, text_at(root, "question", true));
  COX_TRY(s.source, text_at(root, "source", true));
  COX_TRY(s.answer, text_at(root, "answer", false));
  COX_TRY(s.holds, conditions_at(root, "answer", s.answer));
  COX_TRY(s.compute, text_at(root, "compute", true));
  if (s.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos ||
      s.name == "all")
    return refuse(file, line_of(*root.keys.get("name")), fmt::format("name '{}'", shown(s.name)),
                  "use lower case letters, digits and dashes; `all` is taken");
  COX_CHECK(read_entries(root.keys, "input", file, s.inputs, input_of));
  COX_CHECK(read_entries(root.keys, "printed", file, s.printed, printed_of));
  return s;
}

Result<std::vector<Study>> read_studies(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code problem;
  for (std::filesystem::directory_iterator at(folder, problem), end; !problem && at != end;
       at.increment(problem))
    if (at->path().extension() == ".toml" && at->path().filename() != kPacingFile &&
        at->path().filename() != kCoverageFile)
      files.push_back(at->path());
  if (problem || files.empty())
    return fail(
        Error{.code = problem ? Errc::NotFound : Errc::InvalidInput,
              .id = "study-005",
              .message = problem ? problem.message() : "no study in this folder, expected files *.toml",
              .hint = "leave --studies out to use those that are part of cox",
              .where = Where{.file = folder.string()}});
  std::sort(files.begin(), files.end());
  std::vector<Study> studies;
  for (const std::filesystem::path& path : files) {
    COX_TRY(const std::string text, read_file(path, kMostText));
    COX_TRY(Study s, parse_study(text, path.string()));
    const auto same =
        std::find_if(studies.begin(), studies.end(), [&](const Study& o) { return o.name == s.name; });
    if (same != studies.end())
      return refuse(s.file, 0, fmt::format("the name '{}' is taken by {}", s.name, same->file),
                    "give each study a name of its own");
    studies.push_back(std::move(s));
  }
  return studies;
}

}  // namespace cox::study
