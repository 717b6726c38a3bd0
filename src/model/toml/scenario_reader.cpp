// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <span>

#include "cox/base/assert.hpp"
#include "cox/base/file.hpp"
#include "cox/base/spelling.hpp"
#include "cox/model/document.hpp"
#include "cox/model/toml.hpp"

#include "model/toml/check/check.hpp"
#include "model/toml/explain.hpp"
#include "model/toml/keys/derive.hpp"
#include "model/toml/keys/draft_notes.hpp"
#include "model/toml/keys/keys.hpp"
#include "model/toml/keys/presets.hpp"
#include "model/toml/keys/values.hpp"

namespace cox::model {
namespace {

constexpr std::size_t kMostText = 16'000'000;

/// A value of the file with its whole key; tables that no key begins with are listed too, to be refused.
struct Leaf {
  std::string key;
  TextPosition at;
  const DocumentNode* node;
};

constexpr std::string_view kArrays[] = {kNoiseArray, kLayerArray, kClassArray, kNodeClassArray,
                                        kNeighbourArray};

bool begins_a_key(const std::string& path) {
  const auto keys = root_keys();
  const std::string prefix = path + ".";
  return kLayerArray.substr(0, prefix.size()) == prefix ||
         std::any_of(keys.begin(), keys.end(), [&](const auto& k) { return k.name.starts_with(prefix); });
}

/// All values below `table`, not entering arrays. Recursion is bounded by the depth of known keys.
void collect(const DocumentNode& table, const std::string& prefix, std::vector<Leaf>& out) {
  for (const DocumentNode::Entry& entry : table.entries) {
    const std::string key = prefix + entry.name;
    const bool array = std::ranges::find(kArrays, key) != std::end(kArrays);
    if (entry.value.kind == DocumentNode::Kind::Table && !array && begins_a_key(key))
      collect(entry.value, key + ".", out);
    else
      out.push_back({key, entry.at.line != 0 ? entry.at : entry.value.at, &entry.value});
  }
}

std::string_view last_part(std::string_view key) {
  return key.substr(key.rfind('.') + 1);  // npos + 1 is 0
}

std::string_view section_of(std::string_view key) {
  const auto dot = key.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : key.substr(0, dot);
}

/// What the user may have meant: a neighbour that is spelled nearly so, a key of the same name elsewhere, or
/// what there is in the section.
std::string suggestion(const std::string& key, const std::vector<std::string>& known) {
  std::vector<std::string> siblings;
  for (const std::string& k : known) {
    if (section_of(k) == section_of(key)) siblings.emplace_back(last_part(k));
    // A section is a sibling of keys, too: `clutser.nodes`.
    const std::string prefix = section_of(key).empty() ? "" : std::string(section_of(key)) + ".";
    if (k.starts_with(prefix)) {
      const std::string first = k.substr(prefix.size(), k.find('.', prefix.size()) - prefix.size());
      if (siblings.empty() || siblings.back() != first) siblings.push_back(first);
    }
  }
  const std::string prefix = section_of(key).empty() ? "" : std::string(section_of(key)) + ".";
  if (const auto near = nearest(last_part(key), siblings))
    return fmt::format("did you mean {}{}", prefix, *near);
  for (const std::string& k : known)
    if (last_part(k) == last_part(key)) return fmt::format("did you mean {}", k);
  if (siblings.empty()) return "docs/reference/scenario.md lists the keys";
  std::sort(siblings.begin(), siblings.end());
  siblings.erase(std::unique(siblings.begin(), siblings.end()), siblings.end());
  std::string all;
  for (const std::string& s : siblings) all += (all.empty() ? "" : ", ") + s;
  return fmt::format("there are: {}", all);
}

template <class T>
std::vector<std::string> names_of(std::span<const Key<T>> keys) {
  std::vector<std::string> out;
  for (const auto& key : keys) out.emplace_back(key.name);
  return out;
}

tl::unexpected<Error> unknown_key(const Notes& notes, const Leaf& leaf, const std::string& shown_key,
                                  const std::vector<std::string>& known) {
  return notes.refuse("scenario-002", leaf.at,
                      fmt::format("unknown key {}", shown(std::string_view{shown_key})),
                      suggestion(leaf.key, known));
}

/// Whether the files that a scenario names have to be there.
enum class NamedFiles : bool { Unasked, MustOpen };

class Reader {
 public:
  Reader(std::string name, std::filesystem::path folder, NamedFiles files)
      : notes_(std::move(name)), folder_(std::move(folder)), files_(files) {}

  Result<ReadScenario> read(const DocumentNode& document) {
    std::vector<Leaf> leaves;
    collect(document, "", leaves);
    std::stable_sort(leaves.begin(), leaves.end(), [](const Leaf& a, const Leaf& b) {
      return a.at.line != b.at.line ? a.at.line < b.at.line : a.at.column < b.at.column;
    });
    COX_CHECK(read_preset(leaves));
    note_empty_tables(document, "");
    for (const Leaf& leaf : leaves) COX_CHECK(read_leaf(leaf));
    expand_layers();
    draft_.scenario.job.places = draft_.job.places;  // who plays links is asked of the scenario
    COX_CHECK(derive(draft_, notes_));
    COX_CHECK(check(draft_, notes_));
    if (files_ == NamedFiles::MustOpen) COX_CHECK(open_files());
    std::vector<Explained> explained = explain(draft_, notes_);
    draft_.scenario.job = job_of(draft_.job);
    return ReadScenario{.scenario = std::move(draft_.scenario), .explained = std::move(explained)};
  }

 private:
  static const Key<Draft>* root_key(std::string_view name) {
    const auto keys = root_keys();
    const auto at = std::find_if(keys.begin(), keys.end(), [&](const auto& k) { return k.name == name; });
    return at == keys.end() ? nullptr : &*at;
  }

  Status read_preset(const std::vector<Leaf>& leaves) {
    const auto at =
        std::find_if(leaves.begin(), leaves.end(), [](const Leaf& l) { return l.key == "cluster.preset"; });
    if (at == leaves.end()) return {};
    COX_CHECK(read_leaf(*at));
    for (const Preset& preset : presets()) {
      if (preset.name != draft_.scenario.cluster.preset) continue;
      for (const Figure& figure : preset.figures) {
        const Key<Draft>* key = root_key(figure.key);
        COX_ASSERT(key, "a preset says known keys only");
        const std::string full(figure.key);
        COX_CHECK(store(*key, draft_, figure_node(figure), full, notes_, folder_));
        notes_.set(full, {.origin = Origin::Preset, .why = std::string(figure.source), .at = {}});
      }
    }
    return {};
  }

  Status read_leaf(const Leaf& leaf) {
    if (leaf.key == kNoiseArray) return read_array(leaf, noise_keys(), draft_.scenario.noise, kMostNoise);
    if (leaf.key == kLayerArray) return read_array(leaf, layer_keys(), draft_.layers, kMostLayers);
    if (leaf.key == kClassArray)
      return read_array(leaf, failure_class_keys(), draft_.scenario.failures.classes, kMostClasses);
    if (leaf.key == kNodeClassArray)
      return read_array(leaf, node_class_keys(), draft_.scenario.cluster.classes, kMostNodeClasses);
    if (leaf.key == kNeighbourArray)
      return read_array(leaf, neighbour_keys(), draft_.scenario.neighbours, kMostNeighbours);
    const Key<Draft>* key = root_key(leaf.key);
    if (!key) {
      if (begins_a_key(leaf.key))
        return notes_.refuse("scenario-003", leaf.at,
                             fmt::format("{} is {}, expected a table", leaf.key, shown(*leaf.node)),
                             fmt::format("begin it with [{}]", leaf.key));
      std::vector<std::string> known = names_of(root_keys());
      known.insert(known.end(), std::begin(kArrays), std::end(kArrays));
      return unknown_key(notes_, leaf, leaf.key, known);
    }
    COX_CHECK(store(*key, draft_, *leaf.node, leaf.key, notes_, folder_));
    note_file(leaf.key, leaf.at);
    return {};
  }

  /// `[[noise]]`, `[[job.layers]]` and so on; a single table stands for an array of one.
  template <class T>
  Status read_array(const Leaf& leaf, std::span<const Key<T>> keys, std::vector<T>& out, std::size_t most) {
    const DocumentNode& node = *leaf.node;
    const std::size_t count = node.kind == DocumentNode::Kind::Array ? node.items.size() : 1;
    if (count > most)
      return notes_.refuse("scenario-003", leaf.at,
                           fmt::format("{} has {} tables, expected at most {}", leaf.key, count, most), "");
    out.clear();
    note_file(leaf.key, leaf.at);
    for (std::size_t i = 0; i < count; ++i) {
      const DocumentNode& item = node.kind == DocumentNode::Kind::Array ? node.items[i] : node;
      const std::string prefix = fmt::format("{}[{}]", leaf.key, i);
      if (item.kind != DocumentNode::Kind::Table)
        return notes_.refuse("scenario-003", item.at,
                             fmt::format("{} is {}, expected a table", prefix, shown(item)),
                             fmt::format("begin each with [[{}]]", leaf.key));
      out.emplace_back();
      note_file(prefix, item.at);
      COX_CHECK(read_item(item, prefix, keys, out.back()));
    }
    return {};
  }

  template <class T>
  Status read_item(const DocumentNode& item, const std::string& prefix, std::span<const Key<T>> keys,
                   T& out) {
    std::vector<Leaf> leaves;
    leaves.reserve(item.entries.size());
    for (const DocumentNode::Entry& entry : item.entries)
      leaves.push_back({entry.name, entry.at.line != 0 ? entry.at : entry.value.at, &entry.value});
    std::stable_sort(leaves.begin(), leaves.end(), [](const Leaf& a, const Leaf& b) {
      return a.at.line != b.at.line ? a.at.line < b.at.line : a.at.column < b.at.column;
    });
    for (const Leaf& leaf : leaves) {
      const std::string full = fmt::format("{}.{}", prefix, leaf.key);
      const auto key =
          std::find_if(keys.begin(), keys.end(), [&](const auto& k) { return k.name == leaf.key; });
      if (key == keys.end()) return unknown_key(notes_, leaf, full, names_of(keys));
      COX_CHECK(store(*key, out, *leaf.node, full, notes_, folder_));
      note_file(full, leaf.at);
    }
    return {};
  }

  static DocumentNode figure_node(const Figure& figure) {
    DocumentNode node;
    node.kind = DocumentNode::Kind::Text;
    node.text = figure.value;
    if (figure.value == "true") {
      node.kind = DocumentNode::Kind::Flag;
      node.flag = true;
    }
    std::int64_t number = 0;
    const char* end = figure.value.data() + figure.value.size();
    if (const auto read = std::from_chars(figure.value.data(), end, number);
        read.ec == std::errc{} && read.ptr == end) {
      node.kind = DocumentNode::Kind::Integer;
      node.integer = number;
    }
    return node;
  }

  /// Recursion is bounded by the depth of known keys.
  void note_empty_tables(const DocumentNode& table, const std::string& prefix) {
    for (const DocumentNode::Entry& entry : table.entries) {
      const std::string key = prefix + entry.name;
      if (entry.value.kind != DocumentNode::Kind::Table || !begins_a_key(key)) continue;
      note_empty_tables(entry.value, key + ".");
      if (entry.value.entries.empty())
        notes_.set_empty_table(key, entry.at.line != 0 ? entry.at : entry.value.at);
    }
  }

  void note_file(const std::string& key, TextPosition at) {
    notes_.set(key, {.origin = Origin::File,
                     .why = at.line != 0 ? fmt::format("line {}", at.line) : std::string("--set"),
                     .at = at});
  }

  /// A file that cannot be opened is told with the line that names it.
  Status open_file(const std::string& key, const std::string& path) const {
    const Note* note = notes_.find(key);
    if (note == nullptr || path.empty()) return {};
    // A folder may be meant, or a file of another kind: who reads it says what it has to be.
    if (auto opened = MappedFile::open(path); !opened && opened.error().id == "base-002") {
      Error error = opened.error();
      error.message = fmt::format("{} is \"{}\": {}", key, shown(std::string_view{path}), error.message);
      error.where = Where{.file = notes_.file(), .line = note->at.line, .column = note->at.column};
      return fail(std::move(error));
    }
    return {};
  }
  Status open_files() {
    for (const Key<Draft>& key : root_keys())
      if (const auto* path = std::get_if<PathField<Draft>>(&key.field))
        COX_CHECK(open_file(std::string(key.name), path->at(draft_)));
    for (std::size_t i = 0; i < draft_.scenario.noise.size(); ++i)
      COX_CHECK(open_file(fmt::format("{}[{}].file", kNoiseArray, i), draft_.scenario.noise[i].file));
    return {};
  }

  void expand_layers() {
    for (NoiseSource& noise : draft_.scenario.noise) {
      const std::string prefix = fmt::format("{}[{}]", kNoiseArray, &noise - draft_.scenario.noise.data());
      noise.relative = !notes_.said(prefix + (noise.law == NoiseLaw::Quantiles ? ".unit" : ".mean"));
    }
    for (const LayerGroup& group : draft_.layers) {
      const std::size_t room = static_cast<std::size_t>(kMostLayers) + 1 - draft_.job.training.layers.size();
      // one too many is refused later
      const auto count = std::min(static_cast<std::size_t>(group.count), room);
      draft_.job.training.layers.insert(draft_.job.training.layers.end(), count, group.layer);
    }
  }

  Draft draft_;
  Notes notes_;
  std::filesystem::path folder_;
  NamedFiles files_;
};

Error of_option(Error error) {
  error.where = std::nullopt;
  return error;
}

/// `noise[1].cv` as `noise.1.cv`: an item as errors and --explain name it.
std::string with_dots(std::string_view key) {
  std::string out;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const std::size_t end = key.find(']', i);
    const bool number = key[i] == '[' && end != std::string_view::npos && end > i + 1 &&
                        key.find_first_not_of("0123456789", i + 1) == end;
    if (number) out += '.';
    out += number ? key.substr(i + 1, end - i - 1) : key.substr(i, 1);
    if (number) i = end;
  }
  return out;
}

/// `--seed=3`: an option of its own, not one of `--set`; what is behind the dashes, or nothing.
std::optional<std::string_view> own_option(std::string_view said) {
  if (!said.starts_with("--")) return std::nullopt;
  said.remove_prefix(2);
  const std::string_view key = said.substr(0, said.find('='));
  const bool known = key == "engine" || key == "seed" || key == "replicas";
  return known ? std::optional(said) : std::nullopt;
}

/// `a.b=c` as a tree of one value. A right side that is not TOML is taken as text: `5ms`, `fat-tree`.
Result<DocumentNode> parse_set(const std::string& text) {
  const std::string said(own_option(text).value_or(text));
  const auto at = said.find('=');
  if (at == std::string::npos)
    return fail(
        Error{.code = Errc::InvalidInput,
              .id = "scenario-003",
              .message = fmt::format("--set is \"{}\", expected key=value", shown(std::string_view{said})),
              .hint = "for instance --set fabric.oversubscription=2",
              .where = std::nullopt});
  const std::string key = with_dots(std::string_view(said).substr(0, at));
  const std::size_t equals = key.size();
  const std::string option = key + said.substr(at);
  if (auto as_is = parse_document(option, "--set")) return as_is;
  const std::size_t begin = option.find_first_not_of(' ', equals + 1);
  std::string quoted = option.substr(0, equals) + "=\"";
  for (const char c : option.substr(std::min(begin, option.size()))) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return parse_document(quoted + "\"", "--set").map_error(of_option);
}

void without_places(DocumentNode& node) {
  node.at = {};
  for (DocumentNode::Entry& entry : node.entries) {
    entry.at = {};
    without_places(entry.value);
  }
  for (DocumentNode& item : node.items) without_places(item);
}

/// Lays `over` on `base`. A number as a key of an array is one of its items.
Status merge(DocumentNode& base, DocumentNode over) {
  for (DocumentNode::Entry& entry : over.entries) {
    DocumentNode* there = base.kind == DocumentNode::Kind::Table ? base.find(entry.name) : nullptr;
    if (base.kind == DocumentNode::Kind::Array) {
      std::size_t index = base.items.size();
      std::from_chars(entry.name.data(), entry.name.data() + entry.name.size(), index);
      if (index >= base.items.size())
        return fail(Error{.code = Errc::InvalidInput,
                          .id = "scenario-002",
                          .message = fmt::format("--set names item {}, expected one from 0 to {}",
                                                 shown(std::string_view{entry.name}),
                                                 static_cast<std::int64_t>(base.items.size()) - 1),
                          .hint = "items of an array are counted from 0: noise.0.cv=0.1",
                          .where = std::nullopt});
      there = &base.items[index];
    }
    if (there && entry.value.kind == DocumentNode::Kind::Table &&
        (there->kind == DocumentNode::Kind::Table || there->kind == DocumentNode::Kind::Array)) {
      COX_CHECK(merge(*there, std::move(entry.value)));
    } else if (there) {
      *there = std::move(entry.value);
      if (base.kind == DocumentNode::Kind::Table)
        for (DocumentNode::Entry& e : base.entries)
          if (&e.value == there) e.at = {};
    } else {
      base.entries.push_back(std::move(entry));
    }
  }
  return {};
}

/// An option as it was given.
std::string option_text(const std::string& set) {
  const auto own = own_option(set);
  if (!own) return fmt::format("--set {}", shown(std::string_view(set)));
  const auto equals = own->find('=');
  return fmt::format("--{} {}", own->substr(0, equals), shown(own->substr(equals + 1)));
}

/// A document with what options say instead.
Result<DocumentNode> changed(DocumentNode document, std::span<const std::string> options) {
  for (const std::string& option : options) {
    COX_TRY(DocumentNode over, parse_set(option));
    without_places(over);
    COX_CHECK(merge(document, std::move(over)));
  }
  return document;
}

/// Which of several options is to blame for `error`, if any: `read` takes some of them. One before which all is read, if it
/// brings this very error; else the last without which the others do not bring it. Where nothing is read before any of them, the
/// file is to blame.
std::optional<std::size_t> blamed(
    const Error& error, std::span<const std::string> all,
    const std::function<Result<ReadScenario>(std::span<const std::string>)>& read) {
  const auto is_same = [&](const Result<ReadScenario>& made) {
    return !made && made.error().message == error.message;
  };
  std::size_t n = all.size();
  while (n-- > 0 && !read(all.first(n))) {
  }
  if (n >= all.size()) return std::nullopt;
  if (is_same(read(all.first(n + 1)))) return n;
  for (std::size_t k = all.size(); k-- > 0;) {
    std::vector<std::string> others(all.begin(), all.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
    if (!is_same(read(others))) return k;
  }
  return std::nullopt;
}

Result<ReadScenario> read_text(std::string_view text, const std::string& name,
                               const std::filesystem::path& folder, const ScenarioOptions& options,
                               NamedFiles files) {
  if (text.size() > kMostText)
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "scenario-001",
                      .message = fmt::format("{} bytes of text, expected at most {}", text.size(), kMostText),
                      .hint = "a scenario is a page of text; traces belong in files of their own",
                      .where = Where{.file = name, .line = 0, .column = 0}});
  COX_TRY(const DocumentNode document, parse_document(text, name));
  const auto read = [&](std::span<const std::string> some) -> Result<ReadScenario> {
    COX_TRY(const DocumentNode with, changed(document, some));
    return Reader(name, folder, files).read(with);
  };
  Result<ReadScenario> made = read(options.set);
  if (made) return made;
  Error error = std::move(made).error();
  if (error.message.starts_with("--set")) return fail(std::move(error));
  if (const auto option = blamed(error, options.set, read))
    error.message = fmt::format("{}: {}", option_text(options.set[*option]), error.message);
  return fail(std::move(error));
}

}  // namespace

Result<ReadScenario> parse_scenario(std::string_view text, const std::string& name,
                                    const std::filesystem::path& folder, const ScenarioOptions& options) {
  return read_text(text, name, folder, options, NamedFiles::Unasked);
}

Result<ReadScenario> read_scenario(const std::filesystem::path& path, const ScenarioOptions& options) {
  COX_TRY(const std::string text, read_file(path, kMostText));
  return read_text(text, path.string(), path.parent_path(), options, NamedFiles::MustOpen);
}

}  // namespace cox::model
