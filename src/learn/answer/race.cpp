// SPDX-License-Identifier: Apache-2.0
#include "learn/answer/race.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/learn/optimize.hpp"
#include "cox/learn/schedule.hpp"
#include "cox/sync/shards.hpp"

#include "learn/answer/cluster.hpp"
#include "learn/answer/refusal.hpp"
#include "learn/answer/sparse_needs.hpp"
#include "learn/stability/elastic.hpp"
#include "learn/stability/measured.hpp"

namespace cox::learn {
namespace {

constexpr std::int64_t kSeeds = 9'000'000'000'000'000;  ///< as many as a problem may have
constexpr double kHopeless = 1e6;  ///< times the first loss: nothing comes back from there

/// Who delivers under a way, and what each takes: where replicas share experts or a set of shards, their group is one.
struct Crew {
  int workers = 0;
  StepShare share{};
};

Result<Crew> crew_of(const Terms& s, const Way& way) {
  Crew crew{.workers = s.workers, .share = s.question.share};
  COX_TRY(crew.workers, workers_under(s.scenario, way));
  crew.share.members = s.workers / crew.workers;
  crew.share.leaves *= crew.share.members;
  return crew;
}

/// Who delivered most of what was applied.
class Busiest {
 public:
  explicit Busiest(int workers) : applied_(static_cast<std::size_t>(workers)) {}
  void add_worker() { applied_.push_back(0); }
  /// A step of a worker is there, with all that it brings.
  void take(const sync::Update& u) {
    if (u.applied) applied_[static_cast<std::size_t>(u.worker)] += u.steps;
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
  Racer(const Terms& setting, const Way& way, const Crew& crew, double factor, std::uint64_t seed,
        std::unique_ptr<Problem> problem)
      : setting_(setting),
        probe_every_(way.probe * crew.workers),
        scales_(way.compressor.loss_scale.has_value()),
        problem_(std::move(problem)),
        learner_(*problem_, scaled(setting, factor), way, crew.share, crew.workers) {
    if (way.rule == Rule::Bound) result_.bound.emplace(way.policy.staleness);
    result_.seed = seed;
    result_.workers = crew.workers;
    result_.rate = setting.question.optimizer.rate * factor;
    result_.first_loss = problem_->score(learner_.parameters()).loss;
    next_ = setting.question.share.batch() * setting.workers;
  }
  /// False: it is there, or will never be.
  bool take(const sync::StreamEvent& e, Seconds at, const sync::StreamAges& ages, const Busiest& busiest) {
    if (!racing_) return false;
    if (e.kind == sync::StreamEvent::Kind::Averaged) ++result_.exchanges;
    racing_ = learner_.take(e);
    if (result_.bound && racing_) follow_curvature(e);
    const bool due = e.kind == sync::StreamEvent::Kind::Advanced && learner_.samples() >= next_;
    if (racing_ && !due) return true;
    result_.time = at;
    if (due) score();
    if (!racing_) settle(ages, busiest);
    return racing_;
  }
  [[nodiscard]] Problem& problem() { return *problem_; }
  [[nodiscard]] int bound() const { return result_.bound->bound(); }
  [[nodiscard]] Attempt end(Seconds last, const sync::StreamAges& ages, const Busiest& busiest) {
    if (racing_) {
      result_.time = last;
      score();
      settle(ages, busiest);
    }
    result_.versions = learner_.version();
    result_.samples = learner_.samples();
    result_.wasted = learner_.wasted_samples();
    result_.diverged = learner_.diverged();
    if (scales_) result_.scaled = learner_.scaled_steps();
    result_.lost = result_.lost || result_.diverged.has_value();
    return result_;
  }

 private:
  /// Every so many versions the curvature of one fixed batch, at the newest parameters, and what the alarm says of it.
  void follow_curvature(const sync::StreamEvent& e) {
    constexpr std::int64_t kBatch = 32;
    constexpr int kIterations = 30;
    if (e.kind == sync::StreamEvent::Kind::Delivered && e.update.applied) result_.bound->add(e.update.age());
    if (e.kind != sync::StreamEvent::Kind::Advanced || learner_.version() % probe_every_ != 0) return;
    const Curvature found =
        measured_curvature(*problem_, learner_.parameters(), {.first = 0, .count = kBatch}, kIterations);
    const OptimizerSpec& optimizer = setting_.question.optimizer;
    const double rate =
        result_.rate * rate_factor(optimizer, learner_.version(), setting_.question.share.batch());
    result_.bound->probe(rate, found.value,
                         optimizer.kind == OptimizerKind::Momentum ? optimizer.momentum : 0);
  }
  /// What the stream was until here.
  void settle(const sync::StreamAges& ages, const Busiest& busiest) {
    result_.ages.assign(ages.workers().begin(), ages.workers().end());
    result_.busiest = busiest.worker();
    result_.busiest_share = busiest.share();
  }
  static OptimizerSpec scaled(const Terms& setting, double factor) {
    OptimizerSpec spec = setting.question.optimizer;
    spec.rate *= factor;
    return spec;
  }
  void score() {
    const Score now = problem_->score(learner_.parameters());
    result_.loss = now.loss;
    result_.accuracy = now.accuracy;
    result_.experts = now.experts;
    result_.reached = now.loss <= setting_.target;
    const std::int64_t round = setting_.question.share.batch() * setting_.workers;
    const auto further = static_cast<std::int64_t>(kScoreEvery * static_cast<double>(learner_.samples()));
    next_ = learner_.samples() + std::max(round, further);
    // A loss that is no number ends it, too.
    result_.lost = !(now.loss <= kHopeless * result_.first_loss);
    racing_ = !result_.reached && !result_.lost;
  }

  const Terms& setting_;
  std::int64_t probe_every_;  ///< versions
  bool scales_;
  std::unique_ptr<Problem> problem_;
  Learner learner_;
  Attempt result_;
  std::int64_t next_ = 0;
  bool racing_ = true;
};

/// Workers that a meeting is of, in the mean.
double meeting_size(const Terms& s, const Way& way, const Attempt& a) {
  if (way.rule == Rule::Rounds)
    return static_cast<double>(a.samples) / static_cast<double>(s.question.share.batch()) /
           way.policy.local_steps / static_cast<double>(std::max<std::int64_t>(a.versions, 1));
  const int late = way.policy.kind == model::PolicyKind::Backup ? way.policy.backups : 0;
  return std::max(1, s.workers - late);
}

/// Through a worker's port in both directions: a ring's sum for each meeting, or an all-gather of what differs in its
/// places; in the mean over all, where others stand aside. Not known with servers: one that sits beside a worker serves it
/// without a port.
std::optional<Bytes> sent_by(const Terms& s, const Way& way, const model::Compression& wire,
                             const Attempt& a) {
  if (way.policy.has_servers() || way.elastic.count > 0) return std::nullopt;
  const double d = static_cast<double>(s.gradients.count());
  const double n = std::max(1.0, meeting_size(s, way, a));
  const double packed = wire.kind == model::Compressor::Quantised ? d * wire.bits / 32
                        : wire.kind == model::Compressor::Sparse  ? d * wire.density * 2
                                                                  : d;
  const double each =
      wire.kind == model::Compressor::Sparse ? 2 * (n - 1) * packed : 4 * (n - 1) / n * packed;
  const double share = way.rule == Rule::Rounds ? n / s.workers : 1;
  if (way.rule == Rule::Gossip) {  // to all that hear it, and from all that it hears; in the mean
    const sync::Neighbours neighbours(way.graph, s.workers);
    double heard = 0;
    for (int w = 0; w < s.workers; ++w) heard += neighbours.degree(w);
    return Bytes{static_cast<std::int64_t>(2 * heard / s.workers * d * static_cast<double>(a.versions))};
  }
  if (way.rule == Rule::Pairs)  // of each exchange, two ports and both directions
    return Bytes{static_cast<std::int64_t>(4 * d * static_cast<double>(a.exchanges) / s.workers)};
  if (way.rule == Rule::Groups) {
    // In every step inside the group; at a meeting one member of each group, which the mean is over all of.
    const double size = way.group;
    const double groups = s.workers / size;
    const double step = (size - 1) / size * way.policy.local_steps + (groups - 1) / groups / size;
    return Bytes{static_cast<std::int64_t>(4 * packed * step * static_cast<double>(a.versions))};
  }
  return Bytes{static_cast<std::int64_t>(each * share * static_cast<double>(a.versions))};
}

/// A compressor that leaves the problem's gradients as long as they are would be told to have no effect.
Status check_wire(const Way& way, const model::Compression& wire) {
  const double ratio = wire.kind == model::Compressor::Quantised ? wire.bits / 32
                       : wire.kind == model::Compressor::Sparse  ? 2 * wire.density
                                                                 : 0;
  if (ratio < 1) return {};
  return refuse(fmt::format("{} makes this problem's gradients no shorter", name_of(way.compressor.kind)),
                "keep less, or learn a problem with matrices, like mlp");
}

/// The alarm knows the limits of plain steps and of a heavy ball.
Status check_bound(const Terms& s) {
  const OptimizerKind kind = s.question.optimizer.kind;
  if (kind == OptimizerKind::Sgd || kind == OptimizerKind::Momentum) return {};
  return refuse(fmt::format("curvature-bound knows no limit of age for {}", name_of(kind)),
                "take sgd or momentum, or bounded-wait");
}

/// A centre that goes too far comes back from every step further away.
Status check_centre(const Way& way, int workers) {
  const bool meets = way.policy.kind == model::PolicyKind::LocalSgd;
  if (!meets || !(way.centre > 0) || elastic_edge({.workers = workers, .centre = way.centre}) > 0) return {};
  return refuse(fmt::format("centre is {:g} with {} workers: no rate is stable from {:.4g} on", way.centre,
                            workers, 2.0 * workers / (workers + 1)),
                "say a smaller centre; 0.9 is usual");
}

/// Shards step alone: norms over all parameters are known to none of them.
Status check_shards(const Terms& s, const Way& way, int workers, std::int64_t parameters) {
  const OptimizerSpec& optimizer = s.question.optimizer;
  if (optimizer.kind == OptimizerKind::Lars || optimizer.kind == OptimizerKind::Lamb || optimizer.clip > 0)
    return refuse(fmt::format("{} needs norms that no shard knows", name_of(optimizer.kind)),
                  "take an optimizer without, and no clip");
  if (parameters >= way.shards_of(workers)) return {};
  return refuse(fmt::format("{} parameters are fewer than {} shards", parameters, way.shards_of(workers)),
                "learn a larger problem, or say fewer shards");
}

/// What an event of a server says of its death; `ledger` has taken it.
void follow_server(const sync::StreamEvent& e, Seconds at, const sync::Ledger& ledger,
                   std::optional<ServerDeath>& death) {
  if (e.kind == sync::StreamEvent::Kind::Left)
    death.emplace(ServerDeath{.server = e.update.shard, .at = at, .version = ledger.version()});
  if (e.kind != sync::StreamEvent::Kind::Joined || !death) return;
  death->served_again = at;
  death->lost = ledger.lost();
}

}  // namespace

Result<std::vector<Attempt>> race(const Terms& s, const Way& way, std::span<const double> factors,
                                  std::uint64_t seed) {
  if (way.rule == Rule::Bound) COX_CHECK(check_bound(s));
  if (way.elastic.join > Seconds{} &&
      (s.question.problem.spread > 0 || s.question.problem.hessian_spread > 0))
    return refuse("workers join, and the problem has unlike workers: nobody knows what new ones learn from",
                  "leave spread= and hessian-spread= out, or joins=");
  if (way.rule == Rule::Bound && factors.size() > 1) {
    // What happens when depends on what is learned: a stream for each rate.
    std::vector<Attempt> all;
    for (const double factor : factors) {
      COX_TRY(std::vector<Attempt> one, race(s, way, std::span(&factor, 1), seed));
      all.push_back(std::move(one.front()));
    }
    return all;
  }
  COX_TRY(const Crew crew, crew_of(s, way));
  COX_CHECK(check_centre(way, crew.workers));
  constexpr double kMostValues = 1e9;
  const double kept =  // two copies and the optimizer's state, per parameter
      static_cast<double>((2 + moments_of(s.question.optimizer.kind)) * factors.size()) * crew.workers;
  std::vector<std::unique_ptr<Racer>> racers;
  for (const double factor : factors) {
    ProblemSpec spec = s.question.problem;
    spec.seed = (spec.seed + static_cast<std::int64_t>(seed)) % kSeeds;
    COX_TRY(std::unique_ptr<Problem> problem, make_problem(spec));
    if (way.rule == Rule::Shards) COX_CHECK(check_shards(s, way, crew.workers, problem->parameters()));
    if ((way.rule == Rule::Gossip || way.rule == Rule::Pairs || way.rule == Rule::Shards || way.centre > 0) &&
        kept * static_cast<double>(problem->parameters()) > kMostValues)
      return refuse("each worker's own parameters, at every rate, are more than 4 GB",
                    "learn a smaller problem");
    racers.push_back(std::make_unique<Racer>(s, way, crew, factor, seed, std::move(problem)));
  }
  const model::Compression wire = wire_of(way, racers.front()->problem());
  COX_CHECK(check_wire(way, wire));
  const int shards = way.shards_of(crew.workers);
  const bool sparse = way.server.sparse_pulls;
  std::vector<ServerLoad> loads;
  std::int64_t copies = 0, lost_steps = 0;
  int left = 0, joined = 0;
  Beside beside{.loads = &loads, .copies = &copies, .lost_steps = &lost_steps};
  if (way.rule == Rule::Bound) beside.bound = [&] { return racers.front()->bound(); };
  if (sparse) {
    COX_TRY(beside.needs, needs_of(racers.front()->problem(), crew.share, crew.workers, shards));
  }
  sync::ShardLedgers ledger(crew.workers, shards, sparse ? sync::StepReads::Some : sync::StepReads::All);
  std::optional<ServerDeath> death;
  std::vector<sync::AgeCounts> shard_ages(way.rule == Rule::Shards ? static_cast<std::size_t>(shards) : 0);
  Busiest busiest(crew.workers);
  sync::StreamAges ages(crew.workers);
  Seconds last{};
  std::vector<std::int64_t> steps(static_cast<std::size_t>(crew.workers));
  bool over = false;
  std::vector<bool> racing(racers.size(), true);
  COX_CHECK(stream_way(
      s.scenario, way, wire, s.question.steps, s.scenario.seed + seed,
      [&](const sync::StreamEvent& e, Seconds at) {
        const bool possible = ledger.take(e);
        COX_ASSERT(possible, "a policy's stream keeps its ledger");
        last = at;
        ages.take(e);
        if (!shard_ages.empty() && e.kind == sync::StreamEvent::Kind::Delivered)
          shard_ages[static_cast<std::size_t>(e.update.shard)].add(e.update.age());
        if (e.update.worker >= 0) {
          left += e.kind == sync::StreamEvent::Kind::Left ? 1 : 0;
          if (e.kind == sync::StreamEvent::Kind::Joined) {
            ++joined;
            busiest.add_worker();
            steps.push_back(0);
          }
        }
        if (ledger.ended_step(e)) busiest.take(e.update);
        if (e.update.worker == sync::kServer) follow_server(e, at, ledger.of(e.update.shard), death);
        // Nobody goes on alone when others are out of steps.
        if (ledger.ended_step(e))
          over = over ||
                 (steps[static_cast<std::size_t>(e.update.worker)] += e.update.steps) >= s.question.steps;
        bool any = false;
        for (std::size_t r = 0; r < racers.size(); ++r) {
          if (!racing[r]) continue;
          racing[r] = racers[r]->take(e, at, ages, busiest);
          any = any || racing[r];
        }
        return any && !(over && e.kind == sync::StreamEvent::Kind::Advanced);
      },
      beside));
  std::vector<Attempt> attempts;
  for (std::size_t r = 0; r < racers.size(); ++r) {
    attempts.push_back(racers[r]->end(last, ages, busiest));
    attempts.back().sent = sent_by(s, way, wire, attempts.back());
    attempts.back().death = death;
    attempts.back().left = left;
    attempts.back().joined = joined;
    attempts.back().copies = copies;
    attempts.back().wasted += (copies + lost_steps) * crew.share.batch();
    for (std::size_t k = 0; k < loads.size(); ++k)
      attempts.back().servers.push_back({.load = loads[k], .ages = shard_ages[k]});
  }
  return attempts;
}

}  // namespace cox::learn
