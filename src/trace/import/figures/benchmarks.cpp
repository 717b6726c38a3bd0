// SPDX-License-Identifier: Apache-2.0
// What nccl-tests and the OSU micro-benchmarks print.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "cox/base/number_text.hpp"

#include "trace/import/figures/lines.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

constexpr double kMicro = 1e-6;

/// `#  size  count  type  redop  root  time  algbw ...`: where the times stand in rows below.
std::vector<std::size_t> time_columns(const std::vector<std::string_view>& words) {
  std::vector<std::size_t> columns;
  if (words.size() < 6 || words[0] != "#" || words[1] != "size" || words[2] != "count") return columns;
  for (std::size_t i = 3; i < words.size(); ++i)
    if (words[i] == "time") columns.push_back(i - 1);
  return columns;
}

class NcclTests {
 public:
  void take(std::string_view line, bool /*open_end*/) {
    split_words(line, words_);
    if (words_.empty()) return;
    if (words_[0].starts_with('#')) return take_comment(line);
    take_row();
  }

  Result<Figures> finish() && {
    if (sizes_.is_empty())
      return fail(no_figures("no row of nccl-tests: sizes, types and times are expected"));
    Figures f{.format = "nccl-tests", .table = std::move(sizes_).finish(true), .notes = {}};
    if (wrong_ > 0) f.notes.push_back(counted(wrong_, "row says", "rows say") + " that the result was wrong");
    if (cut_ > 0)
      f.notes.push_back(counted(cut_, "row is cut or cannot be read and is left out",
                                "rows are cut or cannot be read and are left out"));
    return f;
  }

 private:
  void take_comment(std::string_view line) {
    constexpr std::string_view kTest = "Collective test starting:";
    if (const std::size_t at = line.find(kTest); at != std::string_view::npos)
      test_ =
          clean_text(line.substr(at + kTest.size() + 1 < line.size() ? at + kTest.size() + 1 : line.size()));
    if (words_.size() > 2 && words_[1] == "nThread") {
      hosts_.clear();
      ++run_;
    }
    if (words_.size() > 2 && words_[1] == "Rank")
      if (const auto on = std::find(words_.begin(), words_.end(), "on");
          on != words_.end() && on + 1 != words_.end())
        hosts_.insert(std::string(on[1].substr(0, 128)));
    if (auto columns = time_columns(words_); !columns.empty()) columns_ = std::move(columns);
  }

  void take_row() {
    const auto size = size_of(words_[0]);
    if (!size || columns_.empty() || words_.size() < 4 || !number_of(words_[1])) return;
    if (words_.size() <= columns_.front()) {
      ++cut_;
      return;
    }
    static constexpr const char* kPlaces[] = {"out of place", "in place"};
    for (std::size_t k = 0; k < std::min<std::size_t>(columns_.size(), 2); ++k) {
      const std::size_t c = columns_[k];
      // A rate follows each time: the last word of a line may be half a number.
      const auto us = c + 1 < words_.size() ? number_of(words_[c]) : std::nullopt;
      if (!us || *us < 0) {
        ++cut_;
        return;
      }
      if (c + 3 < words_.size() && words_[c + 3] != "0" && words_[c + 3] != "N/A") ++wrong_;
      const auto rate = [&](std::size_t i) {
        return i < words_.size() ? number_of(words_[i]).value_or(0) : 0;
      };
      std::string name = run_ > 1 ? fmt::format("run {}", run_) : std::string();
      for (const std::string& part : {test_, std::string(kPlaces[k])})
        if (!part.empty()) name += (name.empty() ? "" : ", ") + part;
      sizes_.add({.name = name,
                  .nodes = static_cast<std::int64_t>(hosts_.size()),
                  .size = *size,
                  .time = Seconds(*us * kMicro),
                  .measures = test_,
                  .in_place = k == 1,
                  .algorithm_rate = rate(c + 1),
                  .bus_rate = rate(c + 2)});
    }
  }

  std::vector<std::string_view> words_;
  std::vector<std::size_t> columns_;
  std::set<std::string> hosts_;
  std::string test_;
  int run_ = 0;
  SizeCollector sizes_;
  std::int64_t wrong_ = 0;
  std::int64_t cut_ = 0;
};

/// What a column of an OSU table is.
enum class OsuValue { None, Latency, Bandwidth };

/// Units of rates, in bytes per second.
constexpr std::array<std::pair<std::string_view, double>, 4> kOsuRates{
    {{"MB/s", 1e6}, {"B/s", 1}, {"KB/s", 1e3}, {"GB/s", 1e9}}};

class Osu {
 public:
  void take(std::string_view line, bool open_end) {
    if (line.starts_with("# OSU")) {
      test_ = name_of_test(clean_text(line.substr(2, 128)));
      value_ = OsuValue::None;
      return;
    }
    if (line.starts_with('#')) return take_header(line);
    split_words(line, words_);
    if (words_.empty() || value_ == OsuValue::None) return;
    const auto size = size_of(words_[0]);
    const auto value = words_.size() > 1 ? number_of(words_[1]) : std::nullopt;
    if (!size || !value || *value < 0 || (value_ == OsuValue::Bandwidth && *value == 0)) {
      ++bad_;
      return;
    }
    const double seconds = value_ == OsuValue::Latency
                               ? *value * factor_
                               : static_cast<double>(size->count()) / (*value * factor_);
    SizeRow row{.name = test_, .size = *size, .time = Seconds(seconds), .measures = measures_};
    const SizeCell last = words_.size() > 2             ? SizeCell::Other
                          : value_ == OsuValue::Latency ? SizeCell::Time
                                                        : SizeCell::Bandwidth;
    if (open_end && sizes_.is_cut(row, last))
      is_cut_ = true;
    else
      sizes_.add(row);
  }

  Result<Figures> finish() && {
    if (!unknown_unit_.empty())
      return fail(no_figures(
          fmt::format("unit {} of an OSU benchmark is not known, expected e.g. us or MB/s", unknown_unit_)));
    if (sizes_.is_empty())
      return fail(no_figures("no row of an OSU benchmark: a size and a latency or bandwidth"));
    Figures f{.format = "osu", .table = std::move(sizes_).finish(true), .notes = {}};
    for (const auto& [name, version] : version_of_) f.notes.push_back(fmt::format("{} {}", name, version));
    if (bad_ > 0)
      f.notes.push_back(
          counted(bad_, "row cannot be read and is left out", "rows cannot be read and are left out"));
    if (is_cut_) f.notes.emplace_back(kCutNote);
    return f;
  }

 private:
  /// `# Size          Avg Latency(us)   Min Latency(us)`: what stands first is the column beside the size.
  void take_header(std::string_view line) {
    if (line.find("Size") == std::string_view::npos) return;
    value_ = OsuValue::None;
    std::size_t first = std::string_view::npos;
    for (const auto& [word, value, unit] : {std::tuple("Latency", OsuValue::Latency, "us"),
                                            std::tuple("Bandwidth", OsuValue::Bandwidth, "MB/s")}) {
      const std::size_t at = line.find(word);
      if (at >= first) continue;
      first = at;
      value_ = value;
      const std::size_t open = line.find_first_not_of(' ', at + std::string_view(word).size());
      const bool told = open != std::string_view::npos && line[open] == '(';
      take_unit(told ? line.substr(open + 1, line.find(')', open) - open - 1) : unit);
    }
  }

  void take_unit(std::string_view name) {
    std::optional<double> factor;
    if (value_ == OsuValue::Latency) {
      std::string with_unit = fmt::format("latency({})", name);
      factor = take_time_unit(with_unit);
    } else if (const auto at = std::find_if(kOsuRates.begin(), kOsuRates.end(),
                                            [&](const auto& rate) { return rate.first == name; });
               at != kOsuRates.end()) {
      factor = at->second;
    }
    if (!factor) unknown_unit_ = clean_text(name.substr(0, 32));
    factor_ = factor.value_or(1);
  }

  /// Without the version of the benchmark, which is no configuration; where the file holds two, they are told apart.
  std::string name_of_test(const std::string& title) {
    const std::size_t at = title.rfind(" v");
    if (at == std::string::npos || at + 2 >= title.size() ||
        title.find_first_not_of("0123456789.rc-", at + 2) != std::string::npos)
      return measures_ = title;
    const std::string name = measures_ = title.substr(0, at);
    const auto [first, fresh] = version_of_.try_emplace(name, title.substr(at + 1));
    return first->second == title.substr(at + 1) ? name : title;
  }

  std::vector<std::string_view> words_;
  std::map<std::string, std::string> version_of_;  // by test
  std::string test_;
  std::string measures_;  // the test without its version
  OsuValue value_ = OsuValue::None;
  double factor_ = 1;         // of the unit: seconds, or bytes per second
  std::string unknown_unit_;  // the last such
  SizeCollector sizes_;
  std::int64_t bad_ = 0;
  bool is_cut_ = false;
};

template <class Reader>
Result<Figures> read_lines(std::string_view text) {
  Reader reader;
  const bool open_end = has_open_end(text);
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    reader.take(line, open_end && text.empty());
  }
  return std::move(reader).finish();
}

}  // namespace

bool is_nccl_tests(std::string_view head) {
  std::vector<std::string_view> words;
  for (int i = 0; i < 400 && !head.empty(); ++i) {
    const std::string_view line = next_line(head);
    if (!line.starts_with('#')) continue;
    split_words(line, words);
    if (!time_columns(words).empty()) return true;
  }
  return false;
}

Result<Figures> read_nccl_tests(std::string_view text) {
  return read_lines<NcclTests>(text);
}

bool is_osu(std::string_view head) {
  for (int i = 0; i < 40 && !head.empty(); ++i)
    if (next_line(head).starts_with("# OSU ")) return true;
  return false;
}

Result<Figures> read_osu(std::string_view text) {
  return read_lines<Osu>(text);
}

}  // namespace cox::trace
