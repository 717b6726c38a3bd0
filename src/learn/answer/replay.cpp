// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "cox/base/json.hpp"
#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"
#include "cox/simulate/training.hpp"
#include "cox/sync/ages.hpp"
#include "cox/sync/stream_file.hpp"

#include "learn/answer/ages.hpp"
#include "learn/answer/cluster.hpp"
#include "learn/answer/refusal.hpp"
#include "learn/answer/scaled.hpp"

namespace cox::learn {
namespace {

/// How good the parameters were, and when.
struct Point {
  Seconds at{};
  std::int64_t version = 0;
  std::int64_t samples = 0;
  Score score{};
};

constexpr double kMostValues = 1e9;                       ///< 4 GB
constexpr int kMostJoined = 4096;                         ///< each looks at all that were there
constexpr double kMostSamples = 9'007'199'254'740'992.0;  ///< 2^53, that are numbered

/// The columns of a file know one version of all parameters.
tl::unexpected<Error> refuse_shards() {
  return refuse("shards have versions of their own, and a file of updates has one",
                "say a policy without shards, or compare this one on a scenario");
}

/// A learner that follows a file. What the problem or the way does not fit is refused before the learner sees it.
class Follower {
 public:
  explicit Follower(const ReplayQuestion& question) : question_(question) {}

  Status begin(int workers) {
    if (question_.way.rule == Rule::Gossip || question_.way.rule == Rule::Pairs)
      return refuse("gossip has no common versions that a file of updates would be about",
                    "say another policy, or compare gossip on a scenario");
    if (question_.way.rule == Rule::Shards) return refuse_shards();
    ProblemSpec spec = question_.problem;
    const bool differ = spec.spread > 0 || spec.hessian_spread > 0;
    if (differ && spec.workers <= 1) spec.workers = workers;
    if (spec.workers > 1 && spec.workers != workers)
      return refuse(fmt::format("the problem is made for {} workers, and the file begins with {}",
                                spec.workers, workers),
                    "leave workers= out, or say that number");
    COX_CHECK(fits(static_cast<double>(spec.dimension), workers));
    COX_TRY(problem_, make_problem(spec));
    COX_CHECK(fits(static_cast<double>(problem_->parameters()), workers));
    learner_.emplace(*problem_, question_.optimizer, question_.way, question_.share, workers);
    ledger_.emplace(workers);
    ages_.emplace(workers);
    workers_ = workers;
    steps_.assign(static_cast<std::size_t>(workers), 0);
    points_.push_back({.score = problem_->score(learner_->parameters())});
    return {};
  }

  Result<bool> take(const sync::StreamEvent& e, Seconds at) {
    ledger_->take(e);
    ages_->take(e);
    if (e.kind == sync::StreamEvent::Kind::Joined) COX_CHECK(join());
    if (e.kind == sync::StreamEvent::Kind::Delivered) COX_CHECK(deliver(e.update));
    if (e.kind == sync::StreamEvent::Kind::Abandoned) COX_CHECK(count_steps(e.update));
    if (e.kind == sync::StreamEvent::Kind::Advanced) in_rounds_.reset();
    last_ = at;
    const bool goes_on = learner_->take(e);
    if (e.kind == sync::StreamEvent::Kind::Advanced && learner_->version() >= 2 * points_.back().version)
      add_point();
    return goes_on;
  }

  void end() {
    if (!learner_->diverged() && learner_->version() > points_.back().version) add_point();
  }

  [[nodiscard]] const std::vector<Point>& points() const { return points_; }
  [[nodiscard]] const Learner& learner() const { return *learner_; }
  [[nodiscard]] const Problem& problem() const { return *problem_; }
  [[nodiscard]] const sync::Ledger& ledger() const { return *ledger_; }
  [[nodiscard]] const sync::StreamAges& ages() const { return *ages_; }
  [[nodiscard]] int workers() const { return workers_; }
  [[nodiscard]] Seconds last() const { return last_; }

 private:
  /// Versions, and what each worker keeps beside the one that it read: momentum, variates, what it has not sent.
  [[nodiscard]] Status fits(double parameters, std::int64_t workers) const {
    const bool compresses = question_.way.compressor.kind != CompressorKind::Dense;
    const double each = 1 + (compresses ? 1 : 0) + (question_.way.is_local() ? 3 : 0);
    const double copies = each * static_cast<double>(workers) + 4;
    if (parameters * copies <= kMostValues) return {};
    return refuse(fmt::format("{:.0f} parameters in {:.0f} copies are more than 4 GB", parameters, copies),
                  "learn a smaller problem");
  }

  Status join() {
    const auto workers = static_cast<std::int64_t>(steps_.size()) + 1;
    if (workers - workers_ > kMostJoined)
      return refuse(fmt::format("more than {} workers join", kMostJoined), "begin with more of them");
    if (question_.problem.spread > 0 || question_.problem.hessian_spread > 0)
      return refuse(
          "a worker joins, and the problem has unlike workers: nobody knows what the new one learns from",
          "leave spread= and hessian-spread= out");
    steps_.push_back(*std::ranges::min_element(steps_));
    return fits(static_cast<double>(problem_->parameters()), workers);
  }

  Status deliver(const sync::Update& u) {
    const Way& way = question_.way;
    const std::int64_t steps = steps_[static_cast<std::size_t>(u.worker)];
    const bool rounds = way.is_local() && steps >= way.synchronous_steps;
    if (u.steps > 1 && !rounds)
      return refuse(
          fmt::format("an update holds {} local steps, and {} has none{}", u.steps, way.name,
                      way.is_local() ? " there" : ""),
          fmt::format("say --policies local-sgd,local-steps={}, diloco, fedprox or scaffold", u.steps));
    if (u.applied && in_rounds_.value_or(rounds) != rounds)
      return refuse(
          fmt::format("a version holds gradients and differences of local steps, and {} has one of both",
                      way.name),
          "say another policy");
    if (u.applied) in_rounds_ = rounds;
    return count_steps(u);
  }

  Status count_steps(const sync::Update& u) {
    std::int64_t& steps = steps_[static_cast<std::size_t>(u.worker)];
    steps += u.steps;
    // As `Learner` numbers them: those that join as if there were a million.
    const bool joined = steps_.size() > static_cast<std::size_t>(workers_);
    const double numbers = joined ? 1 << 20 : workers_;
    const double numbered =
        static_cast<double>(steps + 1) * numbers * static_cast<double>(question_.share.batch());
    if (numbered <= kMostSamples) return {};
    return refuse(
        fmt::format("{} steps of {} samples are more than are numbered", steps, question_.share.batch()),
        "a smaller --batch, or fewer updates");
  }

  void add_point() {
    points_.push_back({.at = last_,
                       .version = learner_->version(),
                       .samples = learner_->samples(),
                       .score = problem_->score(learner_->parameters())});
  }

  const ReplayQuestion& question_;
  std::unique_ptr<Problem> problem_;
  std::optional<Learner> learner_;
  std::optional<sync::Ledger> ledger_;
  std::optional<sync::StreamAges> ages_;
  std::vector<Point> points_;
  Seconds last_{};
  int workers_ = 0;
  std::vector<std::int64_t> steps_;  ///< of each worker
  std::optional<bool> in_rounds_;  ///< what the next version holds: differences of local steps, or gradients
};

std::vector<TextLine> lines_of(const Follower& f, const ReplayQuestion& q) {
  const sync::Ledger& ages = f.ledger();
  std::vector<TextLine> lines;
  lines.emplace_back(fmt::format(
      "{} in {} of a job that begins with {}, {} discarded; mean age {:.1f}, largest {}",
      counted(ages.applied(), "update", "updates"), to_string(f.last()),
      counted(f.workers(), "worker", "workers"), ages.discarded(), ages.mean_age(), ages.largest_age()));
  if (ages.largest_age() > 0) {
    const sync::AgeCounts all = f.ages().all();
    const MedianAges of = median_ages(f.ages().workers());
    lines.emplace_back(
        fmt::format("ages: p50 {}, p99 {}; medians of workers from {} (worker {}) to {} (worker {})",
                    all.quantile(0.5), all.quantile(0.99), of.least, of.freshest, of.most, of.stalest));
  }
  lines.emplace_back(
      fmt::format("learned: {} of {}, {} at rate {}{}, {} a worker and step, as {}", name_of(q.problem.kind),
                  counted(f.problem().parameters(), "parameter", "parameters"), name_of(q.optimizer.kind),
                  plain_number(q.optimizer.rate), schedule_text(q.optimizer),
                  counted(q.share.batch(), "sample", "samples"), q.way.name));
  lines.emplace_back("");
  const bool classes = std::ranges::any_of(f.points(), [](const Point& p) { return p.score.accuracy > 0; });
  lines.push_back(TextLine::row(fmt::format("{:>10}  {:>9}  {:>10}  {:>10}{}", "at", "version", "samples",
                                            "loss", classes ? "  accuracy" : "")));
  for (const Point& p : f.points())
    lines.push_back(TextLine::row(
        fmt::format("{:>10}  {:>9}  {:>10}  {:>10.4g}{}", to_string(p.at), p.version, p.samples, p.score.loss,
                    classes ? fmt::format("  {:>8}", percent(p.score.accuracy)) : "")));
  if (q.way.compressor.loss_scale) {
    const ScaledSteps scaled = f.learner().scaled_steps();
    lines.emplace_back(scaled_text({&scaled, 1}, scaled.last_overflow ? scaled.last_overflow->place() : ""));
  }
  if (const auto& diverged = f.learner().diverged())
    lines.emplace_back(fmt::format("diverged at {}: {}", to_string(f.last()), diverged->text()));
  return lines;
}

std::string text_of(const Follower& f, const ReplayQuestion& q, const std::vector<std::string>& inputs) {
  const sync::Ledger& ages = f.ledger();
  const auto& diverged = f.learner().diverged();
  Json result{
      {"workers", f.workers()},
      {"time_s", f.last().count()},
      {"versions", f.learner().version()},
      {"updates", ages.applied()},
      {"discarded", ages.discarded()},
      {"samples", f.learner().samples()},
      {"wasted_samples", f.learner().wasted_samples()},
      {"mean_age", ages.mean_age()},
      {"p50_age", f.ages().all().quantile(0.5)},
      {"p99_age", f.ages().all().quantile(0.99)},
      {"largest_age", ages.largest_age()},
      {"ages", age_ranges(f.ages().all())},
      {"worker_ages", worker_ages(f.ages().workers())},
      {"policy", q.way.name},
      {"problem", name_of(q.problem.kind)},
      {"parameters", f.problem().parameters()},
      {"optimizer", name_of(q.optimizer.kind)},
      {"rate", q.optimizer.rate},
      {"warm_up_steps", q.optimizer.warm_up},
      {"rate_scaling", name_of(q.optimizer.scaling)},
      {"base_batch", q.optimizer.base_batch},
      {"batch_per_worker", q.share.batch()},
      {"diverged", diverged ? Json(diverged->text()) : Json(nullptr)},
      {"loss_scale", q.way.compressor.loss_scale ? json_of(f.learner().scaled_steps()) : Json(nullptr)},
      {"points", Json::array()}};
  for (const Point& p : f.points())
    result["points"].push_back({{"time_s", p.at.count()},
                                {"version", p.version},
                                {"samples", p.samples},
                                {"loss", p.score.loss},
                                {"accuracy", p.score.accuracy}});
  return framed({.schema = "cox.learn-replay/1", .inputs = inputs, .warnings = {}}, std::move(result));
}

}  // namespace

Result<TextLine> record_updates(const model::Scenario& scenario, const Way& way, const ProblemSpec& spec,
                                std::int64_t steps, std::ostream& to) {
  if (scenario.job.workload() != model::Workload::Training)
    return refuse("job.workload is not \"training\": there are no updates to write",
                  "describe the training job, with its layers and their gradients");
  if (way.rule == Rule::Bound)
    return refuse("the bound of curvature-bound follows what is learned, and nothing is learned here",
                  "record bounded-wait, or compare it");
  if (way.rule == Rule::Shards) return refuse_shards();
  if (way.rule == Rule::Pairs)
    return refuse("exchanges of two workers have no line in a file of updates",
                  "say another policy, or compare this one on a scenario");
  COX_TRY(const std::unique_ptr<Problem> problem, make_problem(spec));
  const model::Compression wire = wire_of(way, *problem);
  COX_TRY(const int workers, workers_under(scenario, way));
  sync::StreamWriter writer(to, workers);
  sync::Ledger ledger(workers);
  Seconds last{};
  COX_CHECK(
      stream_way(scenario, way, wire, steps, scenario.seed, [&](const sync::StreamEvent& e, Seconds at) {
        ledger.take(e);
        writer.add(e, at);
        last = at;
        return true;
      }));
  return TextLine(fmt::format("{} of {} in {}, {} discarded; mean age {:.1f}, largest {}",
                              counted(ledger.applied(), "update", "updates"),
                              counted(workers, "worker", "workers"), to_string(last), ledger.discarded(),
                              ledger.mean_age(), ledger.largest_age()));
}

bool holds_updates(const std::filesystem::path& file) {
  return sync::holds_stream(file);
}

Result<Replayed> replay_updates(const std::filesystem::path& file, const ReplayQuestion& question,
                                const std::vector<std::string>& inputs) {
  Follower follower(question);
  COX_CHECK(sync::read_stream(
      file, [&](int workers) { return follower.begin(workers); },
      [&](const sync::StreamEvent& e, Seconds at) { return follower.take(e, at); }));
  follower.end();
  return Replayed{.lines = lines_of(follower, question),
                  .json = text_of(follower, question, inputs),
                  .diverged = follower.learner().diverged().has_value()};
}

}  // namespace cox::learn
