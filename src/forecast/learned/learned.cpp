// SPDX-License-Identifier: Apache-2.0
#include "forecast/learned/learned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <variant>

#include "cox/base/assert.hpp"
#include "cox/base/number_text.hpp"
#include "cox/base/stats.hpp"

#include "forecast/law/monotone_cubic.hpp"
#include "forecast/levers/levers.hpp"
#include "forecast/scenario/resize.hpp"

namespace cox::forecast {
namespace {

constexpr double kBeyondInterval = 0.05;  ///< on either side of an interval
constexpr const char* kWorth = "larger batches need more samples";

/// Half of the interval of a ratio, in the logarithm.
double half_of_log(const LeverRatio& r) {
  return (std::log(r.high) - std::log(r.low)) / 2;
}

LeverRatio ratio_around(double log_value, double half) {
  return {
      .value = std::exp(log_value), .low = std::exp(log_value - half), .high = std::exp(log_value + half)};
}

/// What is asked, and to whom each answer goes.
struct JobsToLearn {
  std::vector<model::Scenario> jobs{};  ///< the job as it is first
  std::vector<std::int64_t> ranks{};    ///< of the sizes, ascending
  std::size_t first_size = 0;           ///< their first job
};

/// A row of levers, and where its answers will be.
struct LeverRow {
  const LeverEffect& effect;
  std::int64_t ranks = 0;
  std::size_t as_it_is = 0;  ///< the job without it, at its size
  std::size_t with = 0;      ///< 0 = it changes no sample
  std::string why_not{};     ///< it is not learned, and why; empty = it is
};

/// Of the size asked: why it is not learned; empty = it is.
std::string why_not_at(const model::Scenario& scenario, std::int64_t from, std::int64_t ranks,
                       std::int64_t most_workers) {
  const std::int64_t replicas = scenario.job.as<model::TrainingJob>().layout.data;
  if (ranks < from) return "it is smaller than the scenario";
  if (ranks % unit_of(scenario) != 0) return fmt::format("{} ranks hold no whole replicas", grouped(ranks));
  if (replicas * (ranks / from) > most_workers)
    return fmt::format("more than {} replicas are not learned", grouped(most_workers));
  return {};
}

/// The same of levers, whose size need not be the scenario's.
std::string why_no_levers_at(const LearnedJob& job, std::int64_t ranks, std::int64_t most_workers) {
  if (ranks == job.ranks) return {};
  if (!job.grows) return "a batch that is shared out among more workers is not learned";
  return why_not_at(job.scenario, job.ranks, ranks, most_workers);
}

void add_lever_row(LeverRow row, const LeversToLearn& of, JobsToLearn& jobs, std::vector<LeverRow>& out) {
  const LeverEffect& effect = row.effect;
  const auto lever = std::ranges::find(of.levers, effect.names.front(), &Lever::name);
  if (effect.range) {
    row.why_not = fmt::format("its rate is only known to be between {:.3f} and {:.3f}", effect.throughput.low,
                              effect.throughput.high);
  } else if (!effect.learning.empty() && row.why_not.empty()) {
    if (lever == of.levers.end() || !lever->apply) {
      row.why_not = "what it does to learning is not known";
    } else if (!lever->why_not.empty()) {
      row.why_not = lever->why_not;
    } else {
      row.with = jobs.jobs.size();
      jobs.jobs.push_back(jobs.jobs[row.as_it_is]);
      lever->apply(jobs.jobs.back());
    }
  } else if (effect.learning.empty()) {
    row.why_not.clear();  // its size need not be learned
  }
  out.push_back(std::move(row));
}

std::vector<LeverRow> add_lever_jobs(const LearnedJob& job, std::int64_t most_workers, JobsToLearn& jobs) {
  std::vector<LeverRow> out;
  for (const LeversToLearn& of : job.levers) {
    const std::string why_not = why_no_levers_at(job, of.ranks, most_workers);
    std::size_t as_it_is = 0;
    const bool learned = std::ranges::any_of(
        of.table.levers, [](const LeverEffect& e) { return e.why_not.empty() && !e.learning.empty(); });
    if (of.ranks != job.ranks && why_not.empty() && learned) {
      as_it_is = jobs.jobs.size();
      jobs.jobs.push_back(resized(job.scenario, of.ranks));
    }
    for (const LeverEffect& effect : of.table.levers)
      if (effect.why_not.empty())
        add_lever_row({.effect = effect, .ranks = of.ranks, .as_it_is = as_it_is, .why_not = why_not}, of,
                      jobs, out);
  }
  return out;
}

void add_size_jobs(const model::Scenario& scenario, std::int64_t from, const std::vector<std::int64_t>& asked,
                   std::int64_t most_workers, JobsToLearn& out) {
  for (std::int64_t n = 2 * from; why_not_at(scenario, from, n, most_workers).empty(); n *= 2)
    out.ranks.push_back(n);
  for (const std::int64_t n : asked)
    if (n != from && why_not_at(scenario, from, n, most_workers).empty()) out.ranks.push_back(n);
  std::ranges::sort(out.ranks);
  out.ranks.erase(std::unique(out.ranks.begin(), out.ranks.end()), out.ranks.end());
  out.first_size = out.jobs.size();
  for (const std::int64_t n : out.ranks) out.jobs.push_back(resized(scenario, n));
}

using Answers = std::vector<SamplesToTarget>;

LeverRatio product(const LeverRatio& a, const LeverRatio& b) {
  return ratio_around(std::log(a.value * b.value), std::hypot(half_of_log(a), half_of_log(b)));
}

/// Over the job as it is, also where the lever leaves buckets and overlap out.
LeverRatio rate_of(const LeverEffect& effect) {
  return effect.one_sum ? product(effect.throughput, *effect.one_sum) : effect.throughput;
}

void fill_levers(const std::vector<LeverRow>& rows, const Answers& answers, LearnedControl& out) {
  for (const LeverRow& row : rows) {
    LearnedLever one{.name = row.effect.names.front(),
                     .ranks = row.ranks,
                     .throughput = rate_of(row.effect),
                     .why_not = row.why_not};
    const std::vector<double>& as_it_is = answers[row.as_it_is].by_seed;
    if (row.with > 0 && as_it_is.empty())
      one.why_not =
          fmt::format("the job as it is, on {} ranks: {}", grouped(row.ranks), answers[row.as_it_is].why_not);
    else if (row.with > 0 && answers[row.with].by_seed.empty())
      one.why_not = answers[row.with].why_not;
    else if (row.with > 0)
      one.samples = ratio_of(answers[row.with].by_seed, as_it_is);
    const double half = std::hypot(half_of_log(one.samples), half_of_log(one.throughput));
    one.time = ratio_around(std::log(one.samples.value / one.throughput.value), half);
    if (row.with > 0 && answers[row.with].at_edge)
      out.notes.push_back(one.name + ": its best step size is at the end of those that were tried");
    out.levers.push_back(std::move(one));
  }
  if (std::ranges::any_of(rows, [](const LeverRow& r) { return r.effect.one_sum.has_value(); }))
    out.notes.emplace_back(
        "backup-workers and bounded-staleness are simulated with gradients as one sum behind the work, and are "
        "compared here with the job as it is");
}

/// Samples by size, of one seed or (seed = -1) their geometric means; sizes up to the first that has none.
struct WorthCurve {
  std::vector<double> ranks{};
  std::vector<double> samples{};
};
WorthCurve worth_curve(const JobsToLearn& asked, const Answers& answers, std::int64_t from, int seed) {
  WorthCurve out{.ranks = {static_cast<double>(from)}, .samples = {1.0}};
  const std::vector<double>& first = answers.front().by_seed;
  for (std::size_t i = 0; i < asked.ranks.size(); ++i) {
    const std::vector<double>& samples = answers[asked.first_size + i].by_seed;
    if (samples.empty()) break;
    const auto k = static_cast<std::size_t>(std::max(seed, 0));
    out.ranks.push_back(static_cast<double>(asked.ranks[i]));
    out.samples.push_back(seed < 0 ? ratio_of(samples, first).value : samples[k] / first[k]);
  }
  return out;
}

void fill_regimes(const LearnedJob& job, const JobsToLearn& asked, const Answers& answers,
                  LearnedControl& out) {
  const WorthCurve mean = worth_curve(asked, answers, job.ranks, -1);
  if (mean.ranks.size() < 2) {
    out.no_regimes = "no larger size was learned";
    return;
  }
  std::vector<ScalingJob> by_seed;
  for (std::size_t k = 0; k < answers.front().by_seed.size(); ++k) {
    const WorthCurve one = worth_curve(asked, answers, job.ranks, static_cast<int>(k));
    by_seed.push_back(in_samples_that_count(job.throughput, one.ranks, one.samples));
  }
  const RegimeRange range{.from = job.ranks, .to = std::llround(mean.ranks.back()), .per_doubling = 4};
  out.regimes = regimes_of(in_samples_that_count(job.throughput, mean.ranks, mean.samples), range, true,
                           by_seed, job.threads);
}

void fill_sizes(const LearnedJob& job, std::int64_t most_workers, const JobsToLearn& asked,
                const Answers& answers, LearnedControl& out) {
  const double seen = job.throughput.at(job.ranks, kEveryMechanism).throughput;
  for (const std::int64_t ranks : job.sizes) {
    LearnedSize one{.ranks = ranks, .why_not = why_not_at(job.scenario, job.ranks, ranks, most_workers)};
    if (const auto at = std::ranges::find(asked.ranks, ranks); at != asked.ranks.end()) {
      const auto i = static_cast<std::size_t>(at - asked.ranks.begin());
      const SamplesToTarget& answer = answers[asked.first_size + i];
      one.why_not = answer.why_not;
      if (!answer.by_seed.empty()) one.samples = ratio_of(answer.by_seed, answers.front().by_seed);
    }
    if (one.why_not.empty()) one.throughput = job.throughput.at(ranks, kEveryMechanism).throughput / seen;
    one.time_ratio = one.samples.value / one.throughput;
    out.sizes.push_back(std::move(one));
  }
}

}  // namespace

LeverRatio ratio_of(const std::vector<double>& samples, const std::vector<double>& as_it_is) {
  COX_ASSERT(!samples.empty() && samples.size() == as_it_is.size(), "the same seeds of both");
  Welford logs;
  for (std::size_t k = 0; k < samples.size(); ++k) logs.add(std::log(samples[k] / as_it_is[k]));
  return ratio_around(logs.mean(), logs.count() < 2 ? 0 : student_half_width(logs, kBeyondInterval));
}

ScalingJob in_samples_that_count(const ScalingJob& job, const std::vector<double>& ranks,
                                 const std::vector<double>& samples) {
  std::vector<double> x, y;
  for (const double n : ranks) x.push_back(std::log(n));
  for (const double s : samples) y.push_back(std::log(s));
  const auto worth = std::make_shared<const MonotoneCubic>(std::move(x), std::move(y));
  const MechanismSet bit = MechanismSet{1} << job.mechanisms.size();
  ScalingJob out{.mechanisms = job.mechanisms, .at = {}};
  out.mechanisms.push_back({kWorth, Reach::Lowers});
  out.at = [inner = job.at, worth, bit](std::int64_t n, MechanismSet on) {
    ThroughputPoint p = inner(n, on);
    if ((on & bit) == 0) return p;
    const MonotoneCubic::Value at = worth->at(std::log(static_cast<double>(n)));
    p.throughput *= std::exp(-at.y);
    p.elasticity -= at.slope;
    return p;
  };
  return out;
}

Result<LearnedControl> learned_control(const LearnedJob& job, const LearningQuestion& question) {
  LearnedControl out{.what = question.what};
  JobsToLearn jobs{.jobs = {job.scenario}};
  const std::vector<LeverRow> rows = add_lever_jobs(job, question.most_workers, jobs);
  if (job.grows)
    add_size_jobs(job.scenario, job.ranks, job.sizes, question.most_workers, jobs);
  else
    out.no_regimes = job.scenario.policy.kind == model::PolicyKind::Synchronous
                         ? "those above: strong scaling leaves the batch, and so what a sample is worth"
                         : "a batch that is shared out among more workers is not learned";
  COX_TRY(const Answers answers, question.learn(jobs.jobs));
  COX_ASSERT(answers.size() == jobs.jobs.size(), "an answer for each job");
  if (answers.front().by_seed.empty())
    return fail(
        Error{.code = Errc::Infeasible,
              .id = "forecast-038",
              .message = "the job as it is learns nothing to compare with: " + answers.front().why_not,
              .hint = "learn an easier problem, with less noise or a smaller condition",
              .where = {}});
  fill_levers(rows, answers, out);
  if (job.grows) {
    fill_sizes(job, question.most_workers, jobs, answers, out);
    fill_regimes(job, jobs, answers, out);
  }
  return out;
}

}  // namespace cox::forecast
