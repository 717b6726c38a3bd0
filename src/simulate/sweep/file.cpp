// SPDX-License-Identifier: Apache-2.0
#include "simulate/sweep/file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cox/base/file.hpp"
#include "cox/base/hash.hpp"
#include "cox/model/document.hpp"
#include "cox/model/toml.hpp"

namespace cox::simulate {
namespace {

using model::DocumentNode;
using model::TextPosition;

constexpr std::size_t kFileLimit = 1 << 20;
constexpr std::int64_t kMaxPoints = 1'000'000;

tl::unexpected<Error> bad(const std::string& file, TextPosition at, std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "sweep-001",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = Where{.file = file, .line = at.line, .column = at.column}});
}

std::uint64_t digest_of(std::string_view a, std::string_view b) {
  Fnv1a hash;
  for (const std::string_view part : {a, std::string_view("\0", 1), b}) hash.add(part);
  return hash.value();
}

/// As `--set` takes it; nothing for lists, tables and dates.
std::optional<std::string> as_set(const DocumentNode& value) {
  switch (value.kind) {
    case DocumentNode::Kind::Text:
      return value.text;
    case DocumentNode::Kind::Integer:
      return fmt::format("{}", value.integer);
    case DocumentNode::Kind::Real:
      return fmt::format("{}", value.real);
    case DocumentNode::Kind::Flag:
      return value.flag ? "true" : "false";
    case DocumentNode::Kind::Table:
    case DocumentNode::Kind::Array:
    case DocumentNode::Kind::Date:
      break;
  }
  return std::nullopt;
}

Status add_axis(const std::string& file, const DocumentNode::Entry& entry, Sweep& sweep) {
  const DocumentNode& list = entry.value;
  if (list.kind != DocumentNode::Kind::Array || list.items.empty())
    return bad(
        file, entry.at,
        fmt::format("grid.{}: got {}, expected a list of values", model::shown(entry.name), shown(list)),
        "write the key in quotes and its values as [8, 16, 32] or [\"1MiB\", \"2MiB\"]");
  if (static_cast<std::int64_t>(list.items.size()) > kMaxPoints / sweep.points())
    return bad(file, entry.at, fmt::format("more than {} points", kMaxPoints), "split the sweep");
  SweepAxis axis{.key = entry.name, .values = {}};
  for (const DocumentNode& value : list.items) {
    const std::optional<std::string> text = as_set(value);
    if (!text)
      return bad(
          file, value.at,
          fmt::format("grid.{}: got {}, expected plain values", model::shown(entry.name), shown(value)),
          "one axis varies one key");
    axis.values.push_back(*text);
  }
  sweep.axes.push_back(std::move(axis));
  return {};
}

Status check_keys(const std::string& file, const DocumentNode& root) {
  for (const DocumentNode::Entry& entry : root.entries)
    if (entry.name != "name" && entry.name != "scenario" && entry.name != "grid")
      return bad(file, entry.at,
                 fmt::format("unknown key '{}', expected name, scenario or [grid]", model::shown(entry.name)),
                 "see docs/reference/sweep.md");
  return {};
}

}  // namespace

Result<Sweep> parse_sweep(std::string_view text, const std::string& name, std::string& scenario_name) {
  COX_TRY(DocumentNode root, model::parse_document(text, name));
  COX_CHECK(check_keys(name, root));
  Sweep sweep;
  sweep.name = "sweep";
  if (const DocumentNode* own = root.find("name"); own != nullptr) {
    if (own->kind != DocumentNode::Kind::Text)
      return bad(name, own->at, fmt::format("name: got {}, expected text", shown(*own)),
                 "name = \"scaling\"");
    sweep.name = own->text;
  }
  const DocumentNode* scenario = root.find("scenario");
  if (scenario == nullptr || scenario->kind != DocumentNode::Kind::Text)
    return bad(name, scenario == nullptr ? TextPosition{} : scenario->at,
               "scenario is missing, expected the file of the scenario to vary", "scenario = \"ring.toml\"");
  scenario_name = scenario->text;
  const DocumentNode* grid = root.find("grid");
  if (grid == nullptr || grid->kind != DocumentNode::Kind::Table || grid->entries.empty())
    return bad(name, grid == nullptr ? TextPosition{} : grid->at,
               "[grid] is missing or empty, expected keys with lists of values",
               "\"cluster.nodes\" = [8, 16, 32]");
  // Keys in the order of the file: the last varies fastest.
  std::vector<const DocumentNode::Entry*> keys;
  keys.reserve(grid->entries.size());
  for (const DocumentNode::Entry& entry : grid->entries) keys.push_back(&entry);
  std::sort(keys.begin(), keys.end(), [](const DocumentNode::Entry* a, const DocumentNode::Entry* b) {
    return std::pair(a->at.line, a->at.column) < std::pair(b->at.line, b->at.column);
  });
  for (const DocumentNode::Entry* key : keys) COX_CHECK(add_axis(name, *key, sweep));
  sweep.digest = digest_of(text, {});
  return sweep;
}

Result<Sweep> read_sweep(const std::filesystem::path& path) {
  COX_TRY(const std::string text, read_file(path, kFileLimit));
  std::string scenario_name;
  COX_TRY(Sweep sweep, parse_sweep(text, path.string(), scenario_name));
  sweep.scenario = path.parent_path() / scenario_name;
  COX_TRY(sweep.base, read_file(sweep.scenario, kFileLimit));
  sweep.digest = digest_of(text, sweep.base);
  COX_TRY(const model::Scenario first,
          scenario_at(sweep, 0));  // a bad key is told before anything is computed
  return sweep;
}

Result<model::Scenario> scenario_at(const Sweep& sweep, std::int64_t point) {
  model::ScenarioOptions options;
  const std::vector<std::size_t> place = sweep.at(point);
  for (std::size_t a = 0; a < place.size(); ++a)
    options.set.push_back(fmt::format("{}={}", sweep.axes[a].key, sweep.axes[a].values[place[a]]));
  Result<model::ReadScenario> made =
      model::parse_scenario(sweep.base, sweep.scenario.string(), sweep.scenario.parent_path(), options);
  if (made) return std::move(made->scenario);
  Error error = std::move(made).error();
  error.message = fmt::format("at {}: {}", fmt::join(options.set, ", "), error.message);
  return fail(std::move(error));
}

}  // namespace cox::simulate
