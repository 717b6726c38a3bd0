// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <utility>

#include "cox/base/elementary.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"

#include "learn/answer/cluster.hpp"

namespace cox::learn {
namespace {

constexpr double kScoreEvery = 0.02;
constexpr double kHopeless = 1e6;  ///< times the first loss: nothing comes back from there

tl::unexpected<Error> refuse(std::string message, std::string hint) {
  return fail({.code = Errc::InvalidInput,
               .id = "learn-002",
               .message = std::move(message),
               .hint = std::move(hint),
               .where = std::nullopt});
}

/// What all runs of a comparison share.
struct Setting {
  const model::Scenario& scenario;
  const Question& question;
  int workers = 0;
  Bytes gradients{};
  double target = 0;
};

/// Who delivers under a way, and what each takes: where replicas share experts, servers see their group as one.
struct Crew {
  int workers = 0;
  StepShare share{};
};

Result<Crew> crew_of(const Setting& s, const Way& way) {
  Crew crew{.workers = s.workers, .share = s.question.share};
  COX_TRY(crew.workers, simulate::update_workers(under(s.scenario, way, {}, 1)));
  crew.share.leaves *= s.workers / crew.workers;
  return crew;
}

/// Who delivered most of what was applied.
class Busiest {
 public:
  explicit Busiest(int workers) : applied_(static_cast<std::size_t>(workers)) {}
  void take(const sync::Event& e) {
    if (e.kind == sync::Event::Kind::Delivered && e.update.applied)
      applied_[static_cast<std::size_t>(e.update.worker)] += e.update.steps;
  }
  [[nodiscard]] int worker() const {
    return static_cast<int>(std::ranges::max_element(applied_) - applied_.begin());
  }
  [[nodiscard]] double share() const {
    const auto all = std::accumulate(applied_.begin(), applied_.end(), std::int64_t{0});
    return all > 0 ? static_cast<double>(std::ranges::max(applied_)) / static_cast<double>(all) : 0;
  }

 private:
  std::vector<std::int64_t> applied_;
};

/// One learner on its way to the target.
class Racer {
 public:
  Racer(const Setting& setting, const Way& way, const Crew& crew, double factor, std::uint64_t seed,
        std::unique_ptr<Problem> problem)
      : setting_(setting),
        problem_(std::move(problem)),
        learner_(*problem_, scaled(setting, factor), way, crew.share, crew.workers) {
    result_.seed = seed;
    result_.workers = crew.workers;
    result_.rate = setting.question.optimizer.rate * factor;
    result_.first_loss = problem_->score(learner_.parameters()).loss;
    next_ = setting.question.share.batch() * setting.workers;
  }
  /// False: it is there, or will never be.
  bool take(const sync::Event& e, Seconds at, const sync::Ledger& ledger, const Busiest& busiest) {
    if (!racing_) return false;
    racing_ = learner_.take(e);
    const bool due = e.kind == sync::Event::Kind::Advanced && learner_.samples() >= next_;
    if (racing_ && !due) return true;
    result_.time = at;
    result_.mean_age = ledger.mean_age();
    result_.largest_age = ledger.largest_age();
    result_.busiest = busiest.worker();
    result_.busiest_share = busiest.share();
    if (due) score();
    return racing_;
  }
  [[nodiscard]] Problem& problem() { return *problem_; }
  [[nodiscard]] Attempt end(Seconds last) {
    if (racing_) {
      result_.time = last;
      score();
    }
    result_.versions = learner_.version();
    result_.samples = learner_.samples();
    result_.wasted = learner_.wasted_samples();
    result_.diverged = learner_.diverged();
    return result_;
  }

 private:
  static OptimizerSpec scaled(const Setting& setting, double factor) {
    OptimizerSpec spec = setting.question.optimizer;
    spec.rate *= factor;
    return spec;
  }
  void score() {
    const Score now = problem_->score(learner_.parameters());
    result_.loss = now.loss;
    result_.accuracy = now.accuracy;
    result_.reached = now.loss <= setting_.target;
    const std::int64_t round = setting_.question.share.batch() * setting_.workers;
    const auto further = static_cast<std::int64_t>(kScoreEvery * static_cast<double>(learner_.samples()));
    next_ = learner_.samples() + std::max(round, further);
    // A loss that is no number ends it, too.
    racing_ = !result_.reached && now.loss <= kHopeless * result_.first_loss;
  }

  const Setting& setting_;
  std::unique_ptr<Problem> problem_;
  Learner learner_;
  Attempt result_;
  std::int64_t next_ = 0;
  bool racing_ = true;
};

/// Through a worker's port in both directions: what is pushed and pulled for servers; for a meeting a ring's sum, or an
/// all-gather of what differs in its places.
Bytes sent_by(const Setting& s, const Way& way, const model::Compression& wire, std::int64_t meetings,
              std::int64_t deliveries) {
  const double d = static_cast<double>(s.gradients.count());
  const double n = s.workers;
  const double packed = wire.kind == model::Compressor::Quantised ? d * wire.bits / 32
                        : wire.kind == model::Compressor::Sparse  ? d * wire.density * 2
                                                                  : d;
  double bytes = 4 * (n - 1) / n * packed * static_cast<double>(meetings);
  if (way.policy.has_servers())
    bytes = (packed + d) * static_cast<double>(deliveries) / n;
  else if (wire.kind == model::Compressor::Sparse)
    bytes = 2 * (n - 1) * packed * static_cast<double>(meetings);
  return Bytes{static_cast<std::int64_t>(bytes)};
}

/// All rates on one stream: what happens when does not depend on them.
Result<std::vector<Attempt>> race(const Setting& s, const Way& way, std::span<const double> factors,
                                  std::uint64_t seed) {
  COX_TRY(const Crew crew, crew_of(s, way));
  std::vector<std::unique_ptr<Racer>> racers;
  for (const double factor : factors) {
    ProblemSpec spec = s.question.problem;
    spec.seed += static_cast<std::int64_t>(seed);
    COX_TRY(std::unique_ptr<Problem> problem, make_problem(spec));
    racers.push_back(std::make_unique<Racer>(s, way, crew, factor, seed, std::move(problem)));
  }
  const model::Compression wire = wire_of(way, racers.front()->problem());
  sync::Ledger ledger(crew.workers);
  Busiest busiest(crew.workers);
  Seconds last{};
  std::int64_t delivered = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> traffic(
      racers.size());  // meetings, deliveries until the end
  COX_CHECK(stream_way(s.scenario, way, wire, s.question.steps, s.scenario.seed + seed,
                       [&](const sync::Event& e, Seconds at) {
                         const bool possible = ledger.take(e);
                         COX_ASSERT(possible, "a policy's stream keeps its ledger");
                         last = at;
                         busiest.take(e);
                         delivered += e.kind == sync::Event::Kind::Delivered ? 1 : 0;
                         bool any = false;
                         for (std::size_t r = 0; r < racers.size(); ++r) {
                           const bool racing = racers[r]->take(e, at, ledger, busiest);
                           if (racing || traffic[r].second == 0) traffic[r] = {ledger.version(), delivered};
                           any = any || racing;
                         }
                         return any;
                       }));
  std::vector<Attempt> attempts;
  for (std::size_t r = 0; r < racers.size(); ++r) {
    attempts.push_back(racers[r]->end(last));
    attempts.back().meetings = attempts.back().versions;
    attempts.back().sent = sent_by(s, way, wire, attempts.back().versions, traffic[r].second);
  }
  return attempts;
}

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
  const double half =
      student_quantile(0.025, w.count() - 1) * w.stddev() / std::sqrt(static_cast<double>(w.count()));
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
      const bool lost = a.diverged.has_value() || !(a.loss <= a.first_loss);
      missed += a.reached ? 0 : 1;
      sum += a.reached ? log_time(a) : lost ? 1e6 : a.loss / a.first_loss;
    }
    const std::pair<double, double> now{missed, sum};
    if (r == 0 || now < least) best = r, least = now;
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
    bytes.push_back(logarithm(std::max(1.0, static_cast<double>(a.sent.count()))));
    age.add(a.mean_age);
  }
  const GeometricMean time = geometric_mean(times);
  w.time = Seconds{time.value};
  w.time_s = time.interval;
  w.samples = geometric_mean(samples).value;
  w.sent_bytes = geometric_mean(bytes).value;
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

Result<Setting> setting_of(const model::Scenario& scenario, const Question& q) {
  if (scenario.job.workload() != model::Workload::Training)
    return refuse("job.workload is not \"training\": there are no updates to learn from",
                  "describe the training job, with its layers and their gradients");
  if (q.ways.empty() || q.seeds < 1 || q.tuning_seeds < 1 || q.rate_factors.empty() || q.steps < 1)
    return refuse("nothing to compare: no way, no rate, no seed or no steps", "give at least one of each");
  Setting s{.scenario = scenario, .question = q};
  COX_TRY(s.workers, simulate::update_workers(under(scenario, Way{}, {}, 1)));
  for (const model::Layer& l : scenario.job.as<model::TrainingJob>().layers) s.gradients += l.gradients;
  if (q.problem.workers > 1 && q.problem.workers != s.workers)
    return refuse(fmt::format("the problem is made for {} workers, and the scenario has {}",
                              q.problem.workers, s.workers),
                  "leave workers= out, or say that number");
  return s;
}

}  // namespace

std::int64_t WayResult::reached() const {
  return std::ranges::count_if(attempts, [](const Attempt& a) { return a.reached; });
}
bool WayResult::all_reached() const {
  return !attempts.empty() && reached() == static_cast<std::int64_t>(attempts.size());
}

Result<Comparison> compare(const model::Scenario& scenario, const Question& asked) {
  Question question = asked;
  if ((question.problem.spread > 0 || question.problem.hessian_spread > 0) && question.problem.workers <= 1) {
    COX_TRY(const int workers, simulate::update_workers(under(scenario, Way{}, {}, 1)));
    question.problem.workers = workers;
  }
  COX_TRY(Setting setting, setting_of(scenario, question));
  Comparison out{
      .workers = setting.workers, .gradients = setting.gradients, .score_every = kScoreEvery, .ways = {}};
  {
    COX_TRY(const std::unique_ptr<Problem> problem, make_problem(question.problem));
    std::vector<float> x(static_cast<std::size_t>(problem->parameters()));
    problem->initial(x);
    out.first_loss = problem->score(x).loss;
    out.parameters = problem->parameters();
  }
  out.target = setting.target = question.target > 0 ? question.target : out.first_loss / 100;
  if (!(out.target < out.first_loss))
    return refuse(fmt::format("the target {:.3g} is not below the loss at the beginning, {:.3g}", out.target,
                              out.first_loss),
                  "ask for less");
  const std::size_t ways = question.ways.size();
  const auto tuning = static_cast<std::size_t>(question.tuning_seeds),
             seeds = static_cast<std::size_t>(question.seeds);
  std::vector<std::vector<std::vector<Attempt>>> tuned(ways, std::vector<std::vector<Attempt>>(tuning));
  std::vector<std::string> refused(ways);
  std::mutex guard;
  std::int64_t done = 0;
  const auto count = [&] {
    const std::scoped_lock lock(guard);
    ++done;
    if (question.progress) question.progress(done, static_cast<std::int64_t>(ways * (tuning + seeds)));
  };
  parallel_for(ways * tuning, question.threads, [&](std::size_t i) {
    const std::size_t w = i / tuning, k = i % tuning;
    auto attempts = race(setting, question.ways[w], question.rate_factors, 1'000'000 + k);
    if (attempts)
      tuned[w][k] = *std::move(attempts);
    else if (k == 0)
      refused[w] = attempts.error().message;
    count();
  });
  out.ways.resize(ways);
  for (std::size_t w = 0; w < ways; ++w) {
    out.ways[w].way = question.ways[w];
    out.ways[w].refused = refused[w];
    if (!refused[w].empty()) continue;
    const std::size_t best = best_rate(tuned[w], question.rate_factors.size());
    out.ways[w].rate_factor = question.rate_factors[best];
    out.ways[w].at_edge =
        question.rate_factors.size() > 1 && (best == 0 || best + 1 == question.rate_factors.size());
    out.ways[w].attempts.resize(seeds);
  }
  if (!refused[0].empty())
    return refuse(fmt::format("{}: {}", question.ways[0].name, refused[0]), "compare other ways");
  parallel_for(ways * seeds, question.threads, [&](std::size_t i) {
    WayResult& w = out.ways[i / seeds];
    if (w.refused.empty()) {
      auto attempts = race(setting, w.way, std::span(&w.rate_factor, 1), i % seeds);
      COX_ASSERT(attempts.has_value(), "what ran with one seed runs with another");
      w.attempts[i % seeds] = attempts->front();
    }
    count();
  });
  for (WayResult& w : out.ways) sum_up(w);
  const WayResult first = out.ways.front();
  for (WayResult& w : out.ways) hold_against(first, w);
  std::vector<std::size_t> order(ways);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t w) {
    const WayResult& r = out.ways[w];
    return std::tuple(!r.refused.empty(), !r.all_reached(),
                      r.all_reached() ? r.time.count() : -static_cast<double>(r.reached()));
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<WayResult> ranked;
  for (const std::size_t w : order) {
    if (w == 0) out.baseline = ranked.size();
    ranked.push_back(std::move(out.ways[w]));
  }
  out.ways = std::move(ranked);
  return out;
}

}  // namespace cox::learn
