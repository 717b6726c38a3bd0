// SPDX-License-Identifier: Apache-2.0
// Generated figures with known truth: what is named right, wrong, or not at all.
// Usage: figures_accuracy ACCURACY.MD [--write | --list]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/base/stats.hpp"

#include "diagnose/figures/figures.hpp"
#include "support/page_table.hpp"

namespace {

using namespace cox;
using diagnose::SizeDifference;

constexpr std::array<double, 5> kLevels = {0, 0.5, 1, 2, 4};
constexpr int kSeeds = 10;
constexpr double kBar = 0.05;      ///< level 1 of one rank
constexpr double kSizeBar = 0.10;  ///< level 1 of a configuration

class Draw {
 public:
  Draw(int seed, std::uint32_t kind) : stream_(0xf16ULL + static_cast<std::uint64_t>(seed) * 7919, kind) {}
  double uniform() { return stream_.uniform(0, at_++); }
  double normal() { return stream_.normal(1, at_++); }

 private:
  RandomStream stream_;
  std::uint64_t at_ = 0;
};

struct Count {
  int right = 0;
  int wrong = 0;
  int silent = 0;
  void add(bool named, bool correct) { ++(!named ? silent : correct ? right : wrong); }
  [[nodiscard]] int all() const { return right + wrong + silent; }
  [[nodiscard]] std::string text() const { return fmt::format("{} / {} / {}", right, wrong, silent); }
};

enum class Noise { White, Wandering, Tails };
const char* name_of(Noise n) {
  return n == Noise::White ? "white" : n == Noise::Wandering ? "AR(1) 0.9" : "Student, 3";
}

/// What a rank's own timer would have added up.
trace::RankFigure summary_of(Rank rank, double mean, double spread, int count, Noise noise, Draw& draw) {
  Welford moments;
  double state = draw.normal();
  for (int i = 0; i < count; ++i) {
    double e = draw.normal();
    if (noise == Noise::Wandering) e = state = 0.9 * state + std::sqrt(1 - 0.81) * e;
    if (noise == Noise::Tails) {
      double squares = 0;
      for (int k = 0; k < 3; ++k) squares += std::pow(draw.normal(), 2);
      e /= std::sqrt(squares / 3);
    }
    moments.add(mean * (1 + spread * e));
  }
  return {.rank = rank, .value = moments.mean(), .spread = moments.stddev(), .count = count};
}

struct Ranks {
  trace::Figures figures;
  std::int32_t late = 0;
};

Ranks make_ranks(Noise noise, double level, int seed) {
  Draw draw(seed * 16 + static_cast<int>(level * 2), static_cast<std::uint32_t>(noise));
  const int ranks = std::array{4, 8, 16, 64}[static_cast<std::size_t>(seed) % 4];
  const int count = std::array{50, 300, 1000}[static_cast<std::size_t>(seed) % 3];
  Ranks made;
  made.late = static_cast<std::int32_t>(draw.uniform() * ranks);
  trace::RankQuantity q{.name = "forward", .is_time = true, .figures = {}};
  trace::RankTable table;
  for (std::int32_t r = 0; r < ranks; ++r) {
    const double mean = 0.1 * (r == made.late ? 1 + level * kBar : 1);
    q.figures.push_back(summary_of(Rank(r), mean, 0.03, count, noise, draw));
    table.ranks.emplace_back(r);
  }
  table.quantities.push_back(std::move(q));
  made.figures = {.format = "rank-summary", .table = std::move(table), .notes = {}};
  return made;
}

struct Judged {
  Count ours;
  Count plain;
};

Judged judge_ranks(Noise noise, double level, bool verbose) {
  Judged j;
  for (int seed = 0; seed < (level == 0 ? 10 : 2) * kSeeds; ++seed) {
    const Ranks made = make_ranks(noise, level, seed);
    const diagnose::QuantityAnswer q = diagnose::understand_figures(made.figures).quantities.front();
    const bool named = !q.above.empty() || !q.below.empty();
    const bool right = level > 0 && q.below.empty() && q.above == std::vector<Rank>{Rank(made.late)};
    j.ours.add(named, right);
    if (verbose && named && !right)
      std::printf("ranks, %s, level %g, seed %d: %zu above, %zu below, truth %d\n", name_of(noise), level,
                  seed, q.above.size(), q.below.size(), made.late);
    const bool largest = q.highest_value > (1 + kBar) * q.median;
    j.plain.add(largest, level > 0 && q.highest == Rank(made.late));
  }
  return j;
}

constexpr std::array<SizeDifference, 6> kDifferences = {SizeDifference::Factor,    SizeDifference::Offset,
                                                        SizeDifference::SmallOnly, SizeDifference::LargeOnly,
                                                        SizeDifference::Band,      SizeDifference::Crossing};

trace::Figures make_sizes(SizeDifference kind, double level, int seed) {
  Draw draw(seed * 16 + static_cast<int>(level * 2), 100 + static_cast<std::uint32_t>(kind));
  const double latency = 1e-5 * (1 + draw.uniform());
  const double per_byte = 1e-11 * (1 + 4 * draw.uniform());
  trace::SizeTable table;
  for (const char* name : {"a", "b"}) {
    trace::SizeSeries s{.name = name, .nodes = 0, .values = {}};
    const bool changed = name[0] == 'b';
    for (int k = 3; k < 23; ++k)
      for (int repeat = 0; repeat < 3; ++repeat) {
        const double size = std::exp2(k);
        double time = latency + per_byte * size;
        if (changed && kind == SizeDifference::Factor) time *= 1 + level * kSizeBar;
        if (changed && kind == SizeDifference::Offset) time += level * kSizeBar * latency;
        if (changed && kind == SizeDifference::SmallOnly && k < 13) time *= 1 + level * kSizeBar;
        if (changed && kind == SizeDifference::LargeOnly && k >= 13) time *= 1 + level * kSizeBar;
        if (changed && kind == SizeDifference::Band && k >= 9 && k < 15) time *= 1 + level * kSizeBar;
        if (changed && kind == SizeDifference::Crossing)
          time *= k < 13 ? 1 + level * kSizeBar : 1 / (1 + level * kSizeBar);
        s.values.push_back({Bytes(std::int64_t{1} << k), Seconds(time * std::exp(0.03 * draw.normal()))});
      }
    table.series.push_back(std::move(s));
  }
  return {.format = "size-table", .table = std::move(table), .notes = {}};
}

/// Small messages alone and an offset are one part of the path, and hardly differ where bytes soon cost more.
bool is_same_part(SizeDifference a, SizeDifference b) {
  const auto part = [](SizeDifference d) {
    return d == SizeDifference::Offset ? SizeDifference::SmallOnly : d;
  };
  return part(a) == part(b);
}

/// One side of a crossing alone: half of a truth is no falsehood.
bool is_half(const diagnose::SizeComparison& c, SizeDifference kind) {
  return kind == SizeDifference::Crossing && ((c.difference == SizeDifference::SmallOnly && c.ratio > 1) ||
                                              (c.difference == SizeDifference::LargeOnly && c.ratio < 1));
}

Judged judge_sizes(SizeDifference kind, double level, bool verbose) {
  Judged j;
  for (int seed = 0; seed < (level == 0 ? 5 : 2) * kSeeds; ++seed) {
    const trace::Figures made = make_sizes(kind, level, seed);
    const diagnose::SizeComparison c = diagnose::understand_figures(made).comparisons.front();
    const bool named = c.difference != SizeDifference::None && c.difference != SizeDifference::Unclear &&
                       !(level > 0 && is_half(c, kind));
    const bool right = level > 0 && is_same_part(c.difference, kind);
    j.ours.add(named, right);
    if (verbose && named && !right)
      std::printf("sizes, %s, level %g, seed %d: %s x%.3f\n", diagnose::name_of(kind), level, seed,
                  diagnose::name_of(c.difference), c.ratio);
    std::array<double, 2> totals{};
    const auto& series = std::get<trace::SizeTable>(made.table).series;
    for (std::size_t k = 0; k < 2; ++k)
      for (const trace::SizeTime& t : series[k].values) totals[k] += t.time.count();
    j.plain.add(std::abs(totals[1] / totals[0] - 1) > kBar, level > 0 && kind == SizeDifference::Factor);
  }
  return j;
}

/// One size of the flat part takes longer than larger ones, in one measurement per size: level 1 is what noise of that
/// spread hides.
Judged judge_dips(double spread, double level, bool verbose) {
  constexpr double kDip = 1.2;
  const double hidden = kDip * std::exp(3.5 * std::numbers::sqrt2 * spread) - 1;
  Judged j;
  for (int seed = 0; seed < (level == 0 ? 5 : 2) * kSeeds; ++seed) {
    Draw draw(seed * 16 + static_cast<int>(level * 2), 200 + static_cast<std::uint32_t>(spread * 100));
    const int slow = 3 + static_cast<int>(draw.uniform() * 8);
    trace::SizeSeries s{.name = "a", .nodes = 0, .values = {}};
    for (int k = 3; k < 23; ++k) {
      const double time = (1e-5 + 1e-11 * std::exp2(k)) * (k == slow ? 1 + level * hidden : 1);
      s.values.push_back({Bytes(std::int64_t{1} << k), Seconds(time * std::exp(spread * draw.normal()))});
    }
    bool plain = false;  // a size takes 1.2 times as long as the next one
    for (std::size_t i = 1; i < s.values.size(); ++i)
      plain = plain || s.values[i - 1].time.count() > kDip * s.values[i].time.count();
    const trace::Figures made{.format = "size-table", .table = trace::SizeTable{.series = {s}}, .notes = {}};
    const auto dips = diagnose::understand_figures(made).sizes.front().dips;
    const bool right = level > 0 && dips.size() == 1 && dips.front().size == Bytes(std::int64_t{1} << slow);
    j.ours.add(!dips.empty(), right);
    j.plain.add(plain, level > 0);
    if (verbose && !dips.empty() && !right)
      std::printf("dips, %g, level %g, seed %d: %zu dips, truth 2^%d\n", spread, level, seed, dips.size(),
                  slow);
  }
  return j;
}

/// A factor on one node, on four, or on both.
Judged judge_places(diagnose::DifferencePlace place, double level) {
  using diagnose::DifferencePlace;
  Judged j;
  for (int seed = 0; seed < (level == 0 ? 5 : 2) * kSeeds; ++seed) {
    Draw draw(seed * 16 + static_cast<int>(level * 2), 300 + static_cast<std::uint32_t>(place));
    trace::SizeTable table;
    for (const int nodes : {1, 4})
      for (const char* name : {"a", "b"}) {
        const bool here =
            place == DifferencePlace::Both || (place == DifferencePlace::InsideNode) == (nodes == 1);
        const double factor = name[0] == 'b' && here ? 1 + level * kSizeBar : 1;
        trace::SizeSeries s{.name = name, .nodes = nodes, .values = {}};
        for (int k = 3; k < 23; ++k)
          for (int repeat = 0; repeat < 3; ++repeat)
            s.values.push_back(
                {Bytes(std::int64_t{1} << k),
                 Seconds((1e-5 * nodes + 1e-11 * std::exp2(k)) * factor * std::exp(0.03 * draw.normal()))});
        table.series.push_back(std::move(s));
      }
    const trace::Figures made{.format = "size-table", .table = std::move(table), .notes = {}};
    const auto places = diagnose::understand_figures(made).places;
    j.ours.add(!places.empty(), level > 0 && !places.empty() && places.front().place == place);
    j.plain.add(false, false);
  }
  return j;
}

struct Totals {
  int quiet_wrong = 0, quiet = 0, wrong = 0, all = 0, loud_right = 0, loud = 0;
  void add(double level, const Count& c) {
    (level == 0 ? quiet_wrong : wrong) += c.wrong;
    (level == 0 ? quiet : all) += c.all();
    if (level >= 2) {
      loud_right += c.right;
      loud += c.all();
    }
  }
};

template <class Judge>
void add_row(const std::string& name, const Judge& judge, Totals& totals, std::string& table) {
  table += "| " + name + " |";
  Count plain;
  for (const double level : kLevels) {
    const Judged j = judge(level);
    totals.add(level, j.ours);
    table += " " + j.ours.text() + " |";
    plain.right += j.plain.right;
    plain.wrong += j.plain.wrong;
    plain.silent += j.plain.silent;
  }
  table += " " + plain.text() + " |\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: figures_accuracy ACCURACY.MD [--write | --list]\n", stderr);
    return 2;
  }
  const std::string_view mode = argc > 2 ? argv[2] : "";
  const bool verbose = mode == "--list";
  std::string table =
      "| figures | none | 0.5 | 1 | 2 | 4 | plain rule, all levels |\n|---|---|---|---|---|---|---|\n";
  Totals totals;
  Totals of_ranks;
  for (const Noise noise : {Noise::White, Noise::Wandering, Noise::Tails})
    add_row(
        fmt::format("one rank longer, {}", name_of(noise)),
        [&](double level) { return judge_ranks(noise, level, verbose); }, of_ranks, table);
  for (const SizeDifference kind : kDifferences)
    add_row(
        fmt::format("sizes: {}", diagnose::name_of(kind)),
        [&](double level) { return judge_sizes(kind, level, verbose); }, totals, table);
  for (const double spread : {0.03, 0.1})
    add_row(
        fmt::format("a dip, noise {:.0f} %", spread * 100),
        [&](double level) { return judge_dips(spread, level, verbose); }, totals, table);
  for (const auto place : {diagnose::DifferencePlace::InsideNode, diagnose::DifferencePlace::BetweenNodes,
                           diagnose::DifferencePlace::Both})
    add_row(
        fmt::format("place: {}", diagnose::name_of(place)),
        [&](double level) { return judge_places(place, level); }, totals, table);
  table += fmt::format(
      "\nNone: {} wrong of {}. Effects: {} wrong of {}. At twice the bar and above: {} right of {} over sizes, {} of {} "
      "over ranks.\n",
      totals.quiet_wrong + of_ranks.quiet_wrong, totals.quiet + of_ranks.quiet, totals.wrong + of_ranks.wrong,
      totals.all + of_ranks.all, totals.loud_right, totals.loud, of_ranks.loud_right, of_ranks.loud);
  std::fputs(table.c_str(), stdout);
  const bool told = test::table_in_page({argv[1], "figures", "tests/series"}, table, mode == "--write");
  const bool quiet = 100 * (totals.quiet_wrong + of_ranks.quiet_wrong) <= totals.quiet + of_ranks.quiet;
  const bool true_to_it = 100 * (totals.wrong + of_ranks.wrong) <= totals.all + of_ranks.all;
  const bool loud = 100 * totals.loud_right >= 95 * totals.loud &&
                    100 * of_ranks.loud_right >= 65 * of_ranks.loud;  // the page says why no more
  return told && quiet && true_to_it && loud ? 0 : 1;
}
