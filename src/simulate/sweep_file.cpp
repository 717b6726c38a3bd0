// SPDX-License-Identifier: Apache-2.0
#include "simulate/sweep_file.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "cox/base/file.hpp"
#include "cox/model/toml.hpp"

namespace cox::simulate {
namespace {

constexpr std::size_t kFileLimit = 1 << 20;
constexpr std::int64_t kMaxPoints = 1'000'000;

tl::unexpected<Error> bad(const std::string& file, const toml::source_region& at, std::string message,
                          std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "sweep-001",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = Where{.file = file,
                                   .line = static_cast<std::int64_t>(at.begin.line),
                                   .column = static_cast<std::int64_t>(at.begin.column)}});
}

std::string as_written(const toml::node& value) {
  std::ostringstream out;
  value.visit([&](const auto& v) { out << toml::toml_formatter{toml::table{{"v", v}}}; });
  const std::string line = out.str();  // `v = 'text'`
  return line.substr(line.find('=') + 2);
}

Result<toml::table> parsed(std::string_view text, const std::string& name) {
  toml::parse_result made = toml::parse(text, name);
  if (!made)
    return bad(name, made.error().source(), std::string(made.error().description()),
               "see docs/reference/sweep.md");
  return std::move(made).table();
}

/// FNV-1a: tells texts apart, guards against nobody.
std::uint64_t digest_of(std::string_view a, std::string_view b) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const std::string_view part : {a, std::string_view("\0", 1), b})
    for (const char c : part) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return h;
}

Status add_axis(const std::string& file, const toml::key& key, const toml::node& values, Sweep& sweep) {
  const toml::array* list = values.as_array();
  if (list == nullptr || list->empty())
    return bad(file, values.source(), fmt::format("grid.{} is no list of values", key.str()),
               "write it as [8, 16, 32] or [\"1MiB\", \"2MiB\"]");
  SweepAxis axis{.key = std::string(key.str()), .values = {}};
  for (const toml::node& value : *list) {
    if (value.is_table() || value.is_array())
      return bad(file, value.source(),
                 fmt::format("grid.{} holds a list or table, expected plain values", key.str()),
                 "one axis varies one key");
    axis.values.push_back(as_written(value));
  }
  if (static_cast<std::int64_t>(axis.values.size()) > kMaxPoints / sweep.points())
    return bad(file, values.source(), fmt::format("more than {} points", kMaxPoints), "split the sweep");
  sweep.axes.push_back(std::move(axis));
  return {};
}

}  // namespace

Result<Sweep> parse_sweep(std::string_view text, const std::string& name, std::string& scenario_name) {
  COX_TRY(const toml::table root, parsed(text, name));
  Sweep sweep;
  for (const auto& [key, value] : root) {
    const std::string_view word = key.str();
    if (word != "name" && word != "scenario" && word != "grid")
      return bad(name, value.source(),
                 fmt::format("unknown key '{}', expected name, scenario or [grid]", word),
                 "see docs/reference/sweep.md");
  }
  sweep.name = root["name"].value_or(std::string("sweep"));
  const auto scenario = root["scenario"].value<std::string>();
  if (!scenario)
    return bad(name, root.source(), "scenario is missing, expected the file of the scenario to vary",
               "scenario = \"ring.toml\"");
  scenario_name = *scenario;
  const toml::table* grid = root["grid"].as_table();
  if (grid == nullptr || grid->empty())
    return bad(name, root.source(), "[grid] is missing or empty, expected keys with lists of values",
               "\"cluster.nodes\" = [8, 16, 32]");
  // Keys in the order of the file: the last varies fastest.
  std::vector<std::pair<toml::source_position, const toml::key*>> keys;
  for (const auto& [key, value] : *grid) keys.emplace_back(key.source().begin, &key);
  std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [where, key] : keys) COX_CHECK(add_axis(name, *key, *grid->get(key->str()), sweep));
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

Result<std::string> text_at(const Sweep& sweep, std::int64_t point) {
  COX_TRY(toml::table root, parsed(sweep.base, sweep.scenario.string()));
  const std::vector<std::size_t> place = sweep.at(point);
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    const SweepAxis& axis = sweep.axes[a];
    COX_TRY(const toml::table value, parsed("v = " + axis.values[place[a]], "value"));
    toml::table* table = &root;
    std::string_view rest = axis.key;
    for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
      toml::node* next = table->get(rest.substr(0, dot));
      if (next == nullptr) next = &table->insert(rest.substr(0, dot), toml::table{}).first->second;
      table = next->as_table();
      if (table == nullptr)
        return bad(sweep.scenario.string(), next->source(),
                   fmt::format("grid key '{}' goes through something that is no table", axis.key),
                   "name a key of the scenario, like cluster.nodes");
      rest.remove_prefix(dot + 1);
    }
    value.get("v")->visit([&](const auto& v) { table->insert_or_assign(rest, v); });
  }
  std::ostringstream out;
  out << toml::toml_formatter{root};
  return out.str();
}

Result<model::Scenario> scenario_at(const Sweep& sweep, std::int64_t point) {
  COX_TRY(const std::string text, text_at(sweep, point));
  Result<model::ReadScenario> made =
      model::parse_scenario(text, sweep.scenario.string(), sweep.scenario.parent_path());
  if (made) return std::move(made->scenario);
  Error error = std::move(made).error();
  std::string values;
  const std::vector<std::size_t> place = sweep.at(point);
  for (std::size_t a = 0; a < sweep.axes.size(); ++a)
    values += fmt::format("{}{} = {}", a == 0 ? "" : ", ", sweep.axes[a].key, sweep.axes[a].values[place[a]]);
  error.message = fmt::format("at {}: {}", values, error.message);
  error.where = Where{.file = sweep.scenario.string()};  // lines of the text with values put in are nobody's
  return fail(std::move(error));
}

}  // namespace cox::simulate
