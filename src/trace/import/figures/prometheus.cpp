// SPDX-License-Identifier: Apache-2.0
// Prometheus text: gauges with a label that names a rank.
#include <map>
#include <string>
#include <utility>

#include "cox/base/number_text.hpp"

#include "trace/import/figures/lines.hpp"
#include "trace/import/figures/rank_collector.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

constexpr std::size_t kMostQuantities = 1024;
constexpr std::size_t kMostTypes = 4096;

/// One line: `name{label="text",...} value [time]`.
struct Sample {
  std::string name;  ///< with the labels that are not about where it comes from
  std::string metric;
  std::optional<Rank> rank;
  std::optional<double> value;
  double moment = 0;  ///< as the line says; 0 = it does not
};

bool is_place(std::string_view label) {
  for (const std::string_view known :
       {"instance", "job", "host", "hostname", "node", "pod", "gpu", "device", "uuid", "pid", "local_rank",
        "namespace", "container", "endpoint", "service", "modelname"})
    if (plain_name(label) == known) return true;
  return false;
}

/// Takes `label="text"` off the front; false where it is damaged.
bool take_label(std::string_view& rest, std::string_view& label, std::string& text) {
  const std::size_t equals = rest.find('=');
  if (equals == std::string_view::npos || equals + 1 >= rest.size() || rest[equals + 1] != '"') return false;
  label = rest.substr(0, equals);
  while (label.starts_with(' ') || label.starts_with(',')) label.remove_prefix(1);
  text.clear();
  std::size_t i = equals + 2;
  for (; i < rest.size() && rest[i] != '"'; ++i) {
    if (rest[i] == '\\' && i + 1 < rest.size()) ++i;
    if (text.size() < 128) text += rest[i];
  }
  if (i >= rest.size()) return false;
  rest.remove_prefix(i + 1);
  return true;
}

std::optional<Sample> sample_of(std::string_view line) {
  Sample s;
  const std::size_t end = line.find_first_of("{ \t");
  if (end == 0 || end == std::string_view::npos) return std::nullopt;
  s.metric = clean_text(line.substr(0, std::min<std::size_t>(end, 128)));
  s.name = s.metric;
  std::string_view rest = line.substr(end);
  if (rest.starts_with('{')) {
    rest.remove_prefix(1);
    std::string others;
    std::string text;
    std::string_view label;
    while (!rest.empty() && rest.front() != '}') {
      if (rest.front() == ',' || rest.front() == ' ') {
        rest.remove_prefix(1);
        continue;
      }
      if (!take_label(rest, label, text)) return std::nullopt;
      if (names_ranks(plain_name(label)))
        s.rank = rank_of(text);
      else if (!is_place(label))
        others += (others.empty() ? "" : ", ") + clean_text(text);
    }
    if (rest.empty()) return std::nullopt;
    rest.remove_prefix(1);
    if (!others.empty()) s.name += " (" + others + ")";
  }
  std::vector<std::string_view> words;
  split_words(rest, words);
  if (words.empty() || words.size() > 2) return std::nullopt;
  s.value = number_of(words[0]);
  if (words.size() == 2) s.moment = number_of(words[1]).value_or(0);
  return s;
}

}  // namespace

bool is_prometheus(std::string_view head) {
  bool typed = false;
  for (int i = 0; i < 2000 && !head.empty(); ++i) {
    const std::string_view line = next_line(head);
    if (line.starts_with("# TYPE ") || line.starts_with("# HELP ")) typed = true;
    if (!typed || line.starts_with('#') || line.empty()) continue;
    if (const auto s = sample_of(line); s && s->rank) return true;
  }
  return false;
}

Result<Figures> read_prometheus(std::string_view text) {
  std::map<std::string, std::string, std::less<>> types;
  RankCollector collector(kMostQuantities, RankCollector::Repeated::Newest);
  std::vector<std::string_view> words;
  std::int64_t bad = 0;
  std::int64_t others = 0;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (line.starts_with("# TYPE ") && types.size() < kMostTypes) {
      split_words(line, words);
      if (words.size() == 4) types[clean_text(words[2].substr(0, 128))] = std::string(words[3].substr(0, 16));
    }
    if (line.empty() || line.starts_with('#')) continue;
    const auto s = sample_of(line);
    if (!s) {
      ++bad;
      continue;
    }
    if (!s->rank || !collector.takes(*s->rank)) continue;
    const auto type = types.find(s->metric);
    if (type == types.end() || (type->second != "gauge" && type->second != "untyped")) {
      ++others;
      continue;
    }
    collector.saw(*s->rank);
    if (!s->value) continue;
    std::string unit = s->metric;
    const auto seconds = take_time_unit(unit);
    collector.add(s->name, seconds.has_value(),
                  {.rank = *s->rank, .value = *s->value * seconds.value_or(1), .spread = {}, .count = 0},
                  s->moment);
  }
  if (collector.is_empty()) return fail(no_figures("no gauge with a rank in it"));
  Figures f = std::move(collector).finish("prometheus");
  if (others > 0)
    f.notes.push_back(counted(others, "value of a counter, histogram or summary is left out",
                              "values of counters, histograms and summaries are left out"));
  if (bad > 0)
    f.notes.push_back(
        counted(bad, "line cannot be read and is left out", "lines cannot be read and are left out"));
  return f;
}

}  // namespace cox::trace
