// SPDX-License-Identifier: Apache-2.0
// Bands from one to four sizes of jobs whose truth is known: own work that grows or not, and what hides it. Each size is a run of
// its own, so what lasts is drawn anew; truth is one run more.
// Usage: forecast_sizes            the table: 40 jobs a family, some minutes
//        forecast_sizes --check    20 other jobs a family; fails where bands hold less than chance allows (ctest)
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"

#include "forecast/ways/sample_answer.hpp"
#include "forecast_jobs.hpp"

namespace {

using namespace cox;
using namespace cox::forecast;
using namespace cox::forecast_jobs;

constexpr int kSteps = 400;
const std::vector<std::int64_t> kAsked = {512, 4096};
const std::vector<std::vector<int>> kSeen = {{64}, {32, 64}, {8, 64}, {16, 32, 64}, {8, 16, 32, 64}};
const std::vector<std::pair<Hidden, const char*>> kFamilies = {{Hidden::Exponential, "exponential"},
                                                               {Hidden::Student, "Student's t"},
                                                               {Hidden::Correlated, "correlated steps"},
                                                               {Hidden::Lasting, "ranks 4 % apart"}};

/// One answer against one truth.
struct Scored {
  bool answered = false;
  bool inside = false;
  bool below = false;  ///< the truth is below the band
  double width = 0;    ///< of the band, over the truth
  double error = 0;
};

/// Of one job: by set of sizes seen, then by size asked.
using OfJob = std::vector<std::vector<Scored>>;

OfJob score(const Job& job) {
  std::vector<std::pair<int, Sample>> runs;
  for (const int ranks : {8, 16, 32, 64})
    runs.emplace_back(ranks, play(job, ranks, kSteps, static_cast<std::uint64_t>(ranks)).sample);
  std::vector<double> truth;
  for (const std::int64_t n : kAsked) truth.push_back(truth_of(job, static_cast<int>(n), kSteps, 2).mean);
  OfJob out;
  for (const std::vector<int>& seen : kSeen) {
    std::vector<Sample> samples;
    for (const auto& [ranks, sample] : runs)
      if (std::find(seen.begin(), seen.end(), ranks) != seen.end()) samples.push_back(sample);
    const auto answer = answer_samples(samples, kAsked, {});
    std::vector<Scored>& scored = out.emplace_back(kAsked.size());
    for (std::size_t i = 0; answer && i < kAsked.size(); ++i) {
      const SizePoint& at = answer->projection.points[i];
      const double low = at.mean.low.count();
      const double high = at.mean.high.count();
      scored[i] = {.answered = at.refused.empty(),
                   .inside = low <= truth[i] && truth[i] <= high,
                   .below = truth[i] < low,
                   .width = (high - low) / truth[i],
                   .error = at.mean.value.count() / truth[i] - 1};
    }
  }
  return out;
}

/// Of one set of sizes and one asked.
struct Held {
  std::int64_t answered = 0;
  std::int64_t inside = 0;
  std::int64_t below = 0;
  std::vector<double> widths;
  std::vector<double> errors;
  void add(const Scored& s) {
    if (!s.answered) return;
    ++answered;
    inside += s.inside ? 1 : 0;
    below += s.below ? 1 : 0;
    widths.push_back(s.width);
    errors.push_back(s.error);
  }
};

std::string names_of(const std::vector<int>& sizes) {
  std::string out;
  for (const int n : sizes) out += fmt::format("{}{}", out.empty() ? "" : " ", n);
  return out;
}

/// Every row; false where one holds less than nine in ten by more than chance (one in a thousand of each).
bool table(std::size_t jobs, std::uint64_t first) {
  bool good = true;
  fmt::print(
      "| job | a doubling | seen | inside at 512 | below, width, median error | inside at 4,096 | below, width, median error |\n"
      "|---|---:|---|---:|---:|---:|---:|\n");
  std::uint64_t number = first;
  for (const auto& [family, name] : kFamilies)
    for (const double fold : {0.0, 0.01}) {
      std::vector<OfJob> all(jobs);
      parallel_for(jobs, 0,
                   [&, at = number](std::size_t j) { all[j] = score(hiding_job(family, fold, at + j)); });
      number += jobs;
      for (std::size_t seen = 0; seen < kSeen.size(); ++seen) {
        fmt::print("| {} | {:.0f} % | {} |", name, 100 * fold, names_of(kSeen[seen]));
        for (std::size_t i = 0; i < kAsked.size(); ++i) {
          Held held;
          for (const OfJob& job : all) held.add(job[seen][i]);
          fmt::print(" {} of {} | {}, {:.1f} %, {:+.1f} % |", held.inside, held.answered, held.below,
                     100 * quantile(held.widths, 0.5), 100 * quantile(held.errors, 0.5));
          good = good && binomial_upper_tail(held.answered - held.inside, held.answered, 0.1) > 1e-3;
        }
        fmt::print("\n");
        std::fflush(stdout);
      }
    }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--check") return table(20, 8'000'000) ? 0 : 1;
  static_cast<void>(table(40, 7'000'000));
  return 0;
}
