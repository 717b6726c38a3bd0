// SPDX-License-Identifier: Apache-2.0
#include "trace/import/figures/rank_collector.hpp"

#include <algorithm>
#include <utility>

#include "cox/base/number_text.hpp"

namespace cox::trace {

bool RankCollector::takes(Rank rank) const {
  constexpr std::size_t kMostRanks = 65536;
  return ranks_.size() < kMostRanks || ranks_.contains(rank.value());
}

void RankCollector::add(const std::string& quantity, bool is_time, const RankFigure& figure, double moment) {
  auto at = number_of_.find(quantity);
  if (at == number_of_.end()) {
    if (table_.quantities.size() >= most_quantities_) {
      ++left_out_;
      return;
    }
    at = number_of_.emplace(quantity, table_.quantities.size()).first;
    table_.quantities.push_back({.name = quantity, .is_time = is_time, .figures = {}});
  }
  std::vector<RankFigure>& figures = table_.quantities[at->second].figures;
  const auto [before, is_first] =
      seen_.try_emplace({at->second, figure.rank.value()}, Place{.figure = figures.size(), .moment = moment});
  if (is_first) {
    saw(figure.rank);
    figures.push_back(figure);
    return;
  }
  ++repeated_;
  if (which_ == Repeated::First || moment < before->second.moment) return;
  before->second.moment = moment;
  figures[before->second.figure] = figure;
}

Figures RankCollector::finish(const char* format) && {
  for (RankQuantity& q : table_.quantities)
    std::sort(q.figures.begin(), q.figures.end(),
              [](const RankFigure& a, const RankFigure& b) { return a.rank < b.rank; });
  for (const std::int32_t r : ranks_) table_.ranks.emplace_back(r);
  Figures f{.format = format, .table = std::move(table_), .notes = {}};
  if (repeated_ > 0)
    f.notes.push_back(which_ == Repeated::First
                          ? counted(repeated_, "value repeats a rank: the first is used",
                                    "values repeat a rank: the first of each is used")
                          : counted(repeated_, "value of a rank is older than another and left out",
                                    "values of ranks are older than others and left out"));
  if (left_out_ > 0)
    f.notes.push_back(counted(left_out_, "value of a further quantity is left out",
                              "values of further quantities are left out"));
  return f;
}

}  // namespace cox::trace
