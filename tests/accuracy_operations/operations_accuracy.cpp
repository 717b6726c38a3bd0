// SPDX-License-Identifier: Apache-2.0
// How often the ranks that are late by construction are named, where operations are the repetitions: few steps of
// many operations, and operations that lack members. Beside it two plain rules. Usage: operations_accuracy
// ACCURACY.MD [--write]: compares the tables in that page with what comes out, or writes them.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "cox/base/parallel.hpp"
#include "cox/diagnose/diagnosis.hpp"

#include "generated.hpp"
#include "support/page_table.hpp"

namespace cox::accuracy {
namespace {

constexpr std::array kLevels{0.0, 0.5, 1.0, 2.0, 4.0};
constexpr std::int64_t kSeeds = 12;       ///< per noise and level
constexpr std::int64_t kQuietSeeds = 60;  ///< per noise where nobody is late
/// Bars: named wrong where nobody is late, and named right at twice the noise and more.
constexpr double kMostWrong = 0.01;
constexpr double kLeastRight = 0.95;
/// Gain of fixing all late ranks from which on they are worth a name.
constexpr double kCostly = 0.02;

struct Tally {
  std::int64_t cases = 0;
  std::int64_t costly = 0;        ///< of them, those in which the late ranks cost enough to be named
  std::int64_t costly_right = 0;  ///< of those, named right
  std::int64_t right = 0;         ///< the late ranks and nobody else
  std::int64_t part = 0;          ///< some of the late ranks and nobody else
  std::int64_t wrong = 0;         ///< somebody who is not late
  std::int64_t silent = 0;        ///< nobody, where somebody is late
  std::int64_t by_mean = 0;       ///< cases in which the rank with the largest mean is a late one
  std::int64_t by_last = 0;       ///< the same of the rank that came last most often
};

std::int32_t largest(const Generated& g, const auto& values) {
  const auto at = std::max_element(values.begin(), values.end()) - values.begin();
  return g.run.ranks[static_cast<std::size_t>(at)].rank.value();
}

void judge(const Case& c, Tally& t) {
  const Generated g = generate(c);
  const bool is_late = !g.late.empty();
  if (c.level > 0 && !is_late) return;  // nobody of them was recorded
  const auto d = diagnose::diagnose(g.run, {.threads = 1});
  std::set<std::int32_t> named;
  if (d)
    for (const diagnose::Finding& f : d->findings)
      for (const Rank r : f.ranks) named.insert(r.value());
  const std::set<std::int32_t> late(g.late.begin(), g.late.end());
  ++t.cases;
  if (is_late && g.gain >= kCostly) {
    ++t.costly;
    t.costly_right += named == late ? 1 : 0;
  }
  if (named == late)
    ++t.right;
  else if (named.empty())
    ++t.silent;
  else if (std::includes(late.begin(), late.end(), named.begin(), named.end()))
    ++t.part;
  else
    ++t.wrong;
  t.by_mean += late.contains(largest(g, g.mean_work)) ? 1 : 0;
  t.by_last += late.contains(largest(g, g.last_of)) ? 1 : 0;
}

std::string percent_of(std::int64_t part, std::int64_t all) {
  return all == 0 ? "-" : fmt::format("{:.1f}", 100.0 * static_cast<double>(part) / static_cast<double>(all));
}

struct Outcome {
  std::string text;
  std::int64_t missed_bars = 0;
};

/// Whether one operation's noise says nothing of the next one's.
bool is_independent(Noise n) {
  return n != Noise::Wandering && n != Noise::PerStep;
}

/// One family: a table over levels and noises.
Outcome family(const std::vector<Missing>& missing, std::uint64_t first_seed) {
  std::vector<Case> cases;
  for (std::size_t n = 0; n < kNoises.size(); ++n)
    for (const double level : kLevels)
      for (std::int64_t s = 0; s < (level > 0 ? kSeeds : kQuietSeeds); ++s)
        cases.push_back({first_seed + cases.size(), kNoises[n],
                         missing[static_cast<std::size_t>(s) % missing.size()], level});
  std::vector<Tally> each(cases.size());
  parallel_for(cases.size(), 0, [&](std::size_t i) { judge(cases[i], each[i]); });
  std::map<std::pair<double, Noise>, Tally> sums;
  std::map<double, Tally> levels;
  const auto add = [](Tally& to, const Tally& t) {
    to.cases += t.cases;
    to.costly += t.costly;
    to.costly_right += t.costly_right;
    to.right += t.right;
    to.part += t.part;
    to.wrong += t.wrong;
    to.silent += t.silent;
    to.by_mean += t.by_mean;
    to.by_last += t.by_last;
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    add(sums[{cases[i].level, cases[i].noise}], each[i]);
    add(levels[cases[i].level], each[i]);
  }
  Outcome out;
  out.text =
      "| late by, in spreads of the noise | noise | cases | of those that cost 2 %: right | right (%) | part of the set (%) | wrong (%) | silent (%) | "
      "largest mean is late (%) | last most often is late (%) |\n|---|---|---|---|---|---|---|---|---|---|\n";
  const auto row = [&](double level, std::string_view noise, const Tally& t) {
    out.text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                            level > 0 ? fmt::format("{}", level) : "nobody", noise, t.cases,
                            t.costly > 0 ? fmt::format("{} of {}", t.costly_right, t.costly) : "-",
                            percent_of(t.right, t.cases), percent_of(t.part, t.cases),
                            percent_of(t.wrong, t.cases), percent_of(t.silent, t.cases),
                            percent_of(t.by_mean, t.cases), percent_of(t.by_last, t.cases));
  };
  for (const auto& [level, t] : levels) {
    for (const Noise n : kNoises) row(level, name_of(n), sums[{level, n}]);
    row(level, "**all**", t);
    if (level == 0 && static_cast<double>(t.wrong) > kMostWrong * static_cast<double>(t.cases))
      ++out.missed_bars;
  }
  Tally independent;
  for (const auto& [key, t] : sums)
    if (key.first >= 2 && is_independent(key.second)) add(independent, t);
  if (static_cast<double>(independent.costly_right) < kLeastRight * static_cast<double>(independent.costly))
    ++out.missed_bars;
  return out;
}

int run(const char* path, bool write) {
  const Outcome few = family({Missing::Nothing}, 1);
  const Outcome incomplete = family({kMissing.begin(), kMissing.end()}, 1'000'001);
  std::fputs((few.text + "\n" + incomplete.text).c_str(), stdout);
  const char* folder = "tests/accuracy_operations";
  const bool few_told = test::table_in_page({path, "few-steps", folder}, few.text, write);
  const bool incomplete_told = test::table_in_page({path, "incomplete", folder}, incomplete.text, write);
  const std::int64_t missed = few.missed_bars + incomplete.missed_bars;
  if (missed > 0) std::fprintf(stderr, "%lld bars are missed\n", static_cast<long long>(missed));
  return few_told && incomplete_told && missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cox::accuracy

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: operations_accuracy ACCURACY.MD [--write]\n", stderr);
    return 2;
  }
  return cox::accuracy::run(argv[1], argc > 2 && std::string_view(argv[2]) == "--write");
}
