// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "cox/base/elementary.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"

#include "learn/answer/cluster.hpp"
#include "learn/answer/comparison.hpp"
#include "learn/answer/expense.hpp"
#include "learn/answer/race.hpp"
#include "learn/answer/refusal.hpp"
#include "learn/stability/elastic.hpp"

namespace cox::learn {
namespace {

double log_time(const Attempt& a) {
  return logarithm(std::max(a.time.count(), 1e-300));
}

/// Mean of logarithms with Student's interval; as a factor.
struct GeometricMean {
  double value = 0;
  Interval interval{};
};
GeometricMean geometric_mean(std::span<const double> logs) {
  Welford w;
  for (const double v : logs) w.add(v);
  GeometricMean g{.value = exponential(w.mean()), .interval = {}};
  g.interval = {g.value, g.value};
  if (w.count() < 2) return g;
  const double half = student_half_width(w, 0.025);
  g.interval = {exponential(w.mean() - half), exponential(w.mean() + half)};
  return g;
}

/// The rate whose attempts reach the target soonest; where none does on all seeds, the one that comes nearest.
std::size_t best_rate(const std::vector<std::vector<Attempt>>& by_seed, std::size_t rates) {
  std::size_t best = 0;
  std::pair<double, double> least{};
  for (std::size_t r = 0; r < rates; ++r) {
    double missed = 0, sum = 0;
    for (const auto& attempts : by_seed) {
      const Attempt& a = attempts[r];
      missed += a.reached ? 0 : 1;
      sum += a.reached ? log_time(a) : a.lost ? 1e6 : a.loss / a.first_loss;
    }
    const std::pair<double, double> now{missed, sum};
    if (r == 0 || now < least) {
      best = r;
      least = now;
    }
  }
  return best;
}

double computed(const Attempt& a) {
  return static_cast<double>(a.samples + a.wasted);
}

void sum_up(WayResult& w) {
  if (!w.all_reached()) return;
  std::vector<double> times, samples, bytes;
  Welford age;
  for (const Attempt& a : w.attempts) {
    times.push_back(log_time(a));
    samples.push_back(logarithm(computed(a)));
    if (a.sent) bytes.push_back(static_cast<double>(a.sent->count()));
    const sync::AgeCounts ages = a.all_ages();
    age.add(ages.mean());
    w.ages.merge(ages);
  }
  const GeometricMean time = geometric_mean(times);
  w.time = Seconds{time.value};
  w.time_s = time.interval;
  w.samples = geometric_mean(samples).value;
  for (const double b : bytes) w.sent_bytes += b / static_cast<double>(bytes.size());
  w.mean_age = age.mean();
  const auto most = std::ranges::max_element(w.attempts, {}, &Attempt::busiest_share);
  w.busiest = most->busiest;
  w.busiest_share = most->busiest_share;
}

void hold_against(const WayResult& first, WayResult& w) {
  if (!first.all_reached() || !w.all_reached()) return;
  std::vector<double> times, samples;
  for (std::size_t i = 0; i < w.attempts.size(); ++i) {
    times.push_back(log_time(w.attempts[i]) - log_time(first.attempts[i]));
    samples.push_back(logarithm(computed(w.attempts[i]) / computed(first.attempts[i])));
  }
  const GeometricMean ratio = geometric_mean(times);
  w.time_ratio = ratio.value;
  w.time_ratio_95 = ratio.interval;
  w.samples_ratio = geometric_mean(samples).value;
  w.sample_time_ratio = w.time_ratio / w.samples_ratio;
}

Result<Terms> setting_of(const model::Scenario& scenario, const WaysQuestion& q) {
  if (scenario.job.workload() != model::Workload::Training)
    return refuse("job.workload is not \"training\": there are no updates to learn from",
                  "describe the training job, with its layers and their gradients");
  if (q.ways.empty() || q.seeds < 1 || q.tuning_seeds < 1 || q.rate_factors.empty() || q.steps < 1)
    return refuse("nothing to compare: no way, no rate, no seed or no steps", "give at least one of each");
  Terms s{.scenario = scenario, .question = q};
  COX_TRY(s.workers, simulate::update_workers(under(scenario, Way{}, {}, 1)));
  for (const model::Layer& l : scenario.job.as<model::TrainingJob>().layers) s.gradients += l.gradients;
  if (q.problem.workers > 1 && q.problem.workers != s.workers)
    return refuse(fmt::format("the problem is made for {} workers, and the scenario has {}",
                              q.problem.workers, s.workers),
                  "leave workers= out, or say that number");
  return s;
}

/// A comparison while it is made.
class Contest {
 public:
  Contest(const Terms& setting, Comparison& out)
      : setting_(setting), out_(out), ways_(setting.question.ways.size()) {}

  /// Every way at every rate, and again at rates around the best, on seeds that are not used again.
  Status choose_rates() {
    const WaysQuestion& q = setting_.question;
    out_.ways.resize(ways_);
    for (std::size_t w = 0; w < ways_; ++w) out_.ways[w].way = q.ways[w];
    std::vector<std::vector<double>> factors(ways_, q.rate_factors);
    COX_CHECK(tune(factors));
    for (std::size_t w = 0; w < ways_; ++w) {
      WayResult& result = out_.ways[w];
      const auto at = std::ranges::find(q.rate_factors, result.rate_factor) - q.rate_factors.begin();
      const auto last = static_cast<std::ptrdiff_t>(q.rate_factors.size()) - 1;
      result.at_edge = last > 0 && (at == 0 || at == last);
      factors[w] = {result.rate_factor};
      if (last > 0)
        for (const double between : kBetween) factors[w].push_back(result.rate_factor * between);
    }
    return tune(factors);
  }

  /// Each at its rate, on the seeds that count.
  void run() {
    const auto seeds = static_cast<std::size_t>(setting_.question.seeds);
    std::vector<std::string> refused(ways_ * seeds);
    for (WayResult& w : out_.ways)
      if (w.refused.empty()) w.attempts.resize(seeds);
    parallel_for(ways_ * seeds, setting_.question.threads, [&](std::size_t i) {
      WayResult& w = out_.ways[i / seeds];
      if (w.refused.empty()) {
        auto attempts = race(setting_, w.way, std::span(&w.rate_factor, 1), i % seeds);
        if (attempts)
          w.attempts[i % seeds] = attempts->front();
        else
          refused[i] = attempts.error().message;
      }
      count();
    });
    for (std::size_t i = 0; i < refused.size(); ++i)
      if (!refused[i].empty()) out_.ways[i / seeds].refused = refused[i];
  }

  /// The fastest first; then those that did not reach it on every seed, then those that could not run.
  void rank() {
    for (WayResult& w : out_.ways) {
      sum_up(w);
      w.expense = expense_of(setting_, w);
      if (w.way.rule == Rule::Gossip && w.refused.empty())
        w.mixing = graph_mixing(sync::Neighbours(w.way.graph, setting_.workers));
      w.elastic_edge = elastic_edge_of(w);
      if (w.way.rule == Rule::Pairs && w.refused.empty())
        w.mixing = pair_mixing(sync::Neighbours(w.way.graph, setting_.workers));
    }
    const WayResult first = out_.ways.front();
    for (WayResult& w : out_.ways) hold_against(first, w);
    const auto key = [](const WayResult& r) {
      return std::tuple(!r.refused.empty(), !r.all_reached(),
                        r.all_reached() ? r.time.count() : -static_cast<double>(r.reached()));
    };
    std::ranges::stable_sort(out_.ways,
                             [&](const WayResult& a, const WayResult& b) { return key(a) < key(b); });
    const auto at =
        std::ranges::find_if(out_.ways, [&](const WayResult& w) { return w.way.name == first.way.name; });
    out_.baseline = static_cast<std::size_t>(at - out_.ways.begin());
    for (std::size_t w = 1; w < ways_ && out_.ways[w].all_reached(); ++w) {
      WayResult one = out_.ways[w];
      hold_against(out_.ways[0], one);
      out_.ways[w].over_first_95 = one.time_ratio_95;
    }
    if (ways_ > 1) out_.second_over_first = out_.ways[1].over_first_95;
  }

 private:
  static constexpr std::uint64_t kTuningSeeds = 1'000'000;
  /// Between two rates that are a factor of 2 apart.
  static constexpr double kBetween[] = {0.59460355750136, 0.70710678118655, 0.84089641525371,
                                        1.18920711500272, 1.41421356237310, 1.68179283050743};

  /// Known for a round of one plain step or one of a heavy ball.
  [[nodiscard]] std::optional<double> elastic_edge_of(const WayResult& w) const {
    const OptimizerSpec& optimizer = setting_.question.optimizer;
    const bool heavy = optimizer.kind == OptimizerKind::Momentum;
    const bool meets = w.way.policy.kind == model::PolicyKind::LocalSgd && w.way.policy.local_steps == 1;
    if (!(w.way.centre > 0) || !meets || !w.refused.empty() ||
        !(heavy || optimizer.kind == OptimizerKind::Sgd))
      return std::nullopt;
    return elastic_edge({.workers = w.attempts.front().workers,
                         .centre = w.way.centre,
                         .momentum = heavy ? optimizer.momentum : 0});
  }

  /// The best of `factors` for each way that the scenario can run. Errors: the first way's, whatever it is.
  Status tune(const std::vector<std::vector<double>>& factors) {
    const WaysQuestion& q = setting_.question;
    const auto seeds = static_cast<std::size_t>(q.tuning_seeds);
    std::vector<std::vector<std::vector<Attempt>>> tried(ways_, std::vector<std::vector<Attempt>>(seeds));
    std::vector<std::optional<Error>> refused(ways_ * seeds);
    parallel_for(ways_ * seeds, q.threads, [&](std::size_t i) {
      if (out_.ways[i / seeds].refused.empty()) {
        auto attempts = race(setting_, q.ways[i / seeds], factors[i / seeds], kTuningSeeds + i % seeds);
        if (attempts)
          tried[i / seeds][i % seeds] = *std::move(attempts);
        else
          refused[i] = attempts.error();
      }
      count();
    });
    if (refused.front()) return fail(*refused.front());
    for (std::size_t w = 0; w < ways_; ++w) {
      WayResult& result = out_.ways[w];
      for (std::size_t k = 0; k < seeds && result.refused.empty(); ++k)
        if (const auto& why = refused[w * seeds + k]) result.refused = why->message;
      if (result.refused.empty()) result.rate_factor = factors[w][best_rate(tried[w], factors[w].size())];
    }
    return {};
  }

  void count() {
    const std::scoped_lock lock(guard_);
    ++done_;
    const WaysQuestion& q = setting_.question;
    if (q.progress) q.progress(done_, static_cast<std::int64_t>(ways_) * (2 * q.tuning_seeds + q.seeds));
  }

  const Terms& setting_;
  Comparison& out_;
  std::size_t ways_;
  std::mutex guard_;
  std::int64_t done_ = 0;
};

/// Where the problem begins, and what is to be reached.
Status set_target(Terms& setting, Comparison& out) {
  const ProblemSpec& spec = setting.question.problem;
  constexpr double kMostValues = 1e9;
  const double copies =
      static_cast<double>(setting.workers) + 4 * static_cast<double>(setting.question.rate_factors.size());
  const auto fits = [&](std::int64_t parameters) -> Status {
    if (static_cast<double>(parameters) * copies <= kMostValues) return {};
    return refuse(fmt::format("{} parameters in {} copies are more than 4 GB", parameters, copies),
                  "learn a smaller problem: it need not be as large as the job's");
  };
  COX_CHECK(fits(spec.dimension));  // before workers' optima are made
  COX_TRY(const std::unique_ptr<Problem> problem, make_problem(setting.question.problem));
  COX_CHECK(fits(problem->parameters()));
  std::vector<float> x(static_cast<std::size_t>(problem->parameters()));
  problem->initial(x);
  out.first_loss = problem->score(x).loss;
  out.parameters = problem->parameters();
  out.target = setting.target = setting.question.target > 0 ? setting.question.target : out.first_loss / 100;
  if (out.target < out.first_loss) return {};
  return refuse(fmt::format("the target {:.3g} is not below the loss at the beginning, {:.3g}", out.target,
                            out.first_loss),
                "ask for less");
}

}  // namespace

sync::AgeCounts Attempt::all_ages() const {
  sync::AgeCounts all;
  for (const sync::AgeCounts& one : ages) all.merge(one);
  return all;
}
std::int64_t WayResult::reached() const {
  return std::ranges::count_if(attempts, [](const Attempt& a) { return a.reached; });
}
bool WayResult::all_reached() const {
  return refused.empty() && !attempts.empty() && reached() == static_cast<std::int64_t>(attempts.size());
}

Result<Comparison> compare(const model::Scenario& scenario, const WaysQuestion& asked) {
  WaysQuestion question = asked;
  const bool differ = question.problem.spread > 0 || question.problem.hessian_spread > 0;
  if (differ && question.problem.workers <= 1) {
    COX_TRY(const int workers, simulate::update_workers(under(scenario, Way{}, {}, 1)));
    question.problem.workers = workers;
  }
  COX_TRY(Terms setting, setting_of(scenario, question));
  Comparison out{
      .workers = setting.workers, .gradients = setting.gradients, .score_every = kScoreEvery, .ways = {}};
  COX_CHECK(set_target(setting, out));
  Contest contest(setting, out);
  COX_CHECK(contest.choose_rates());
  contest.run();
  contest.rank();
  return out;
}

Result<Compared> compare_ways(const model::Scenario& scenario, const WaysQuestion& question,
                              const std::vector<std::string>& inputs) {
  COX_TRY(const Comparison made, compare(scenario, question));
  return Compared{.lines = text_lines(made, scenario, question),
                  .json = to_json(made, scenario, question, inputs),
                  .any_reached = std::any_of(made.ways.begin(), made.ways.end(),
                                             [](const WayResult& w) { return w.all_reached(); })};
}

}  // namespace cox::learn
