// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "cox/base/file.hpp"
#include "cox/base/spelling.hpp"
#include "cox/base/units_text.hpp"

#include "simulate/collective/measured.hpp"

namespace cox::simulate {
namespace {

using model::Collective;
using model::MeasuredCurve;
using model::MeasuredTime;

constexpr std::size_t kMostText = 16'000'000;
constexpr int kMostRanks = 1 << 24;

constexpr std::array<std::pair<std::string_view, Collective>, 6> kKinds = {
    {{"all-reduce", Collective::AllReduce},
     {"reduce-scatter", Collective::ReduceScatter},
     {"all-gather", Collective::AllGather},
     {"broadcast", Collective::Broadcast},
     {"reduce", Collective::Reduce},
     {"all-to-all", Collective::AllToAll}}};

std::optional<Collective> kind_of(std::string_view word) {
  for (const auto& [name, kind] : kKinds)
    if (word == name) return kind;
  return std::nullopt;
}

/// `*` is 0.
std::optional<int> ranks_of(std::string_view word) {
  if (word == "*") return 0;
  int ranks = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), ranks);
  if (read.ec != std::errc{} || read.ptr != word.data() + word.size() || ranks < 2 || ranks > kMostRanks)
    return std::nullopt;
  return ranks;
}

std::optional<double> ratio_of(std::string_view word) {
  double ratio = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), ratio);
  if (read.ec != std::errc{} || read.ptr != word.data() + word.size() || !(ratio >= 0 && ratio <= 1))
    return std::nullopt;
  return ratio;
}

std::optional<Seconds> time_of(std::string_view word) {
  const auto time = parse_seconds(word);
  constexpr Seconds kMost{1e6};
  if (!time || !(*time > Seconds{}) || *time > kMost) return std::nullopt;
  return *time;
}

class Table {
 public:
  explicit Table(const std::string& name) : name_(name) {}

  Status line(std::string_view text, std::int64_t number) {
    number_ = number;
    text = text.substr(0, text.find('#'));
    std::vector<std::string_view> words;
    constexpr std::string_view kBetween = " \t\r,";
    for (std::size_t at = text.find_first_not_of(kBetween); at != std::string_view::npos;) {
      const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
      words.push_back(text.substr(at, end - at));
      at = text.find_first_not_of(kBetween, end);
    }
    return words.empty() ? Status{} : row(words);
  }

  Result<model::MeasuredTimes> take() {
    if (rows_ == 0) return wrong("there is no row", "write lines such as `all-reduce 8 1MiB 61us`");
    return std::move(out_);
  }

  [[nodiscard]] tl::unexpected<Error> wrong(std::string message, std::string hint) const {
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "simulate-008",
                      .message = std::move(message),
                      .hint = std::move(hint),
                      .where = Where{.file = name_, .line = number_, .column = 0}});
  }

 private:
  Status row(const std::vector<std::string_view>& words) {
    constexpr std::string_view kForm = "a row is: collective ranks size time [slow probability]";
    const auto bad = [&](std::string_view what, std::string_view got, std::string_view wanted) {
      return wrong(fmt::format("{} is '{}', expected {}", what, shown(got), wanted), std::string(kForm));
    };
    if (words.size() != 4 && words.size() != 6)
      return wrong(fmt::format("{} words, expected 4 or 6", words.size()), std::string(kForm));
    if (++rows_ > kMostMeasured)
      return wrong(fmt::format("more than {} rows", kMostMeasured),
                   "leave sizes out that lie close together");
    const auto kind = kind_of(words[0]);
    if (!kind)
      return bad("the collective", words[0],
                 "all-reduce, reduce-scatter, all-gather, broadcast, reduce or all-to-all");
    const auto ranks = ranks_of(words[1]);
    if (!ranks) return bad("ranks", words[1], fmt::format("2 to {}, or *", kMostRanks));
    const auto bytes = parse_bytes(words[2]);
    constexpr Bytes kMost{std::int64_t{1} << 60};
    if (!bytes || *bytes < Bytes{1} || *bytes > kMost)
      return bad("the size", words[2], "1B to 1EiB, such as 256MiB");
    const auto time = time_of(words[3]);
    if (!time) return bad("the time", words[3], "more than 0s, such as 61us");
    MeasuredTime made{.bytes = *bytes, .time = *time};
    if (words.size() == 6) {
      const auto slow = time_of(words[4]);
      if (!slow || *slow < *time)
        return bad("the slow time", words[4], fmt::format("at least {}", shown(words[3])));
      const auto part = ratio_of(words[5]);
      if (!part) return bad("the probability", words[5], "0 to 1");
      made.slow = *slow;
      made.probability = *part;
    }
    return put(*kind, *ranks, made);
  }

  Status put(Collective kind, int ranks, const MeasuredTime& row) {
    auto& curves = out_.curves;
    if (curves.empty() || curves.back().kind != kind || curves.back().ranks != ranks) {
      const bool known = std::ranges::any_of(
          curves, [&](const MeasuredCurve& c) { return c.kind == kind && c.ranks == ranks; });
      if (known)
        return wrong("rows of a collective and its ranks lie apart", "write them one after the other");
      constexpr std::size_t kMostCurves = 1000;
      if (curves.size() == kMostCurves)
        return wrong(fmt::format("more than {} collectives and numbers of ranks", kMostCurves),
                     "leave out those that the scenario does not have");
      curves.push_back({.kind = kind, .ranks = ranks, .rows = {}});
    }
    auto& rows = curves.back().rows;
    if (!rows.empty() && row.bytes <= rows.back().bytes)
      return wrong("the size is not larger than that of the row before", "order rows by size");
    rows.push_back(row);
    return {};
  }

  const std::string& name_;
  std::int64_t number_ = 0;
  std::size_t rows_ = 0;
  model::MeasuredTimes out_;
};

}  // namespace

Result<model::MeasuredTimes> parse_measured_times(std::string_view text, const std::string& name) {
  Table table(name);
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    COX_CHECK(table.line(text.substr(0, end), ++number));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return table.take();
}

Result<model::MeasuredTimes> measured_times_of(const model::Scenario& s) {
  if (!s.table.curves.empty()) return s.table;
  COX_TRY(const std::string text, read_file(s.table_file, kMostText));
  return parse_measured_times(text, s.table_file);
}

}  // namespace cox::simulate
