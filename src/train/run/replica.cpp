// SPDX-License-Identifier: Apache-2.0
#include "train/run/replica.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "cox/learn/optimize.hpp"
#include "cox/learn/problem.hpp"
#include "cox/learn/schedule.hpp"

#include "train/checkpoint/saver.hpp"
#include "train/executor/executor.hpp"
#include "train/executor/ordered_sum.hpp"
#include "train/executor/value_hash.hpp"
#include "train/transport/exchange.hpp"
#include "train/transport/threads.hpp"

namespace cox::train {
namespace {

using Clock = std::chrono::steady_clock;

/// A leaf whose gradient is no number.
struct Bad {
  std::int64_t worker = std::numeric_limits<std::int64_t>::max();  ///< nobody's
  std::int64_t at = 0;                                             ///< parameter
};

std::vector<learn::Tensor> all_of(const learn::Problem& problem) {
  return {problem.tensors().begin(), problem.tensors().end()};
}

/// For an optimizer that takes one element like another.
std::vector<learn::Tensor> part_of(const OrderedSum& sum) {
  return {{.name = "part", .first = 0, .rows = 1, .columns = sum.part().count}};
}

class Replica {
 public:
  Replica(const TrainJob& job, Transport& transport, Marks& marks, std::unique_ptr<learn::Problem> problem,
          const learn::OptimizerSpec& optimizer, TrainLayout layout)
      : job_(job),
        transport_(transport),
        marks_(marks),
        problem_(std::move(problem)),
        layout_(layout),
        sum_(job.workers, problem_->parameters(), transport.rank(), transport.ranks()),
        optimizer_(optimizer, layout == TrainLayout::Zero1 ? part_of(sum_) : all_of(*problem_)),
        own_(static_cast<std::size_t>(problem_->parameters())),
        x_(static_cast<std::size_t>(problem_->parameters())),
        mean_(x_.size()),
        leaf_(x_.size()),
        sent_(static_cast<std::size_t>(transport.ranks())) {
    problem_->initial(x_);
    made_.parameters = problem_->parameters();
  }

  /// Of an all-reduce by name.
  Status choose(const SumBy& by) {
    if (!by.algorithm) return {};
    COX_TRY(executor_, Executor::make({.kind = model::Collective::AllReduce,
                                       .algorithm = *by.algorithm,
                                       .ranks = transport_.ranks(),
                                       .bytes = all_bytes(),
                                       .group = by.group},
                                      transport_.rank()));
    return {};
  }

  /// From the newest checkpoint on, where the job asks for it.
  Status begin() {
    if (job_.checkpoint.empty()) return {};
    COX_TRY(const SaveEvery every, read_save_every(job_.every));
    const auto all = static_cast<std::int64_t>(x_.size());
    moments_ = static_cast<int>(learn::moments_of(optimizer_.spec().kind));
    saver_.emplace(job_.checkpoint, every, identity_of(job_), all, moments_, transport_);
    if (!job_.resume) return saver_->begin_anew();
    COX_TRY(FoundState found, saver_->resume());
    for (const RefusedState& one : found.refused)
      made_.refused.push_back(fmt::format("version {}: {}", one.version, one.what));
    if (!found.state) return {};
    if (found.state->version > job_.steps)
      return fail({.code = Errc::InvalidInput,
                   .id = "train-008",
                   .message = fmt::format(
                       "the newest checkpoint in {} is that of version {}, and the job has {} steps",
                       job_.checkpoint, found.state->version, job_.steps),
                   .hint = "more --steps",
                   .where = {}});
    go_on(*found.state);
    return {};
  }

  Result<TrainedRun> run() {
    COX_CHECK(begin());
    began_ = Clock::now();
    add_point();
    for (std::int64_t step = made_.versions; step < job_.steps && !made_.diverged; ++step) {
      const auto before = Clock::now();
      COX_CHECK(take_step(step));
      made_.steps_took += Clock::now() - before;
      if (made_.diverged) break;
      if (job_.times) made_.times.push_back(Clock::now() - began_);
      if (made_.versions >= 2 * made_.points.back().version) add_point();
      // Parameters that are no numbers are not saved: the next step names who is at fault.
      if (saver_ && saver_->due(made_.versions, job_.steps) && learn::first_not_finite(x_) == x_.size())
        COX_CHECK(save());
    }
    if (saver_) made_.saved = saver_->saved();
    if (!made_.diverged && made_.versions > made_.points.back().version) add_point();
    COX_CHECK(compare());
    return std::move(made_);
  }

 private:
  [[nodiscard]] Bytes all_bytes() const {
    return Bytes{static_cast<std::int64_t>(x_.size() * sizeof(float))};
  }

  void go_on(const SavedState& state) {
    made_.resumed = made_.versions = state.version;
    x_ = state.parameters;
    std::vector<float> own;
    const Stretch held = layout_ == TrainLayout::Zero1
                             ? sum_.part()
                             : Stretch{.first = 0, .count = static_cast<std::int64_t>(x_.size())};
    for (int m = 0; m < moments_; ++m) {
      const auto from = state.moments.begin() + m * static_cast<std::ptrdiff_t>(x_.size()) + held.first;
      own.insert(own.end(), from, from + held.count);
    }
    optimizer_.go_on(state.version, own);
  }

  /// Each rank its own elements, whatever else it holds.
  Status save() {
    marks_.begin(StepPart::Checkpoint, {});
    const Stretch& part = sum_.part();
    const auto first = static_cast<std::size_t>(part.first);
    const auto count = static_cast<std::size_t>(part.count);
    std::vector<std::span<const float>> values{std::span(x_).subspan(first, count)};
    const std::size_t held = layout_ == TrainLayout::Zero1 ? count : x_.size();
    for (int m = 0; m < moments_; ++m)
      values.push_back(optimizer_.state().subspan(
          static_cast<std::size_t>(m) * held + (layout_ == TrainLayout::Zero1 ? 0 : first), count));
    const Status saved = saver_->save(made_.versions, part, values);
    marks_.end();
    return saved;
  }

  Status take_step(std::int64_t step) {
    const std::vector<Bytes> before = transport_.sent();
    marks_.step(step);
    marks_.begin(StepPart::Gradient, {});
    const Bad bad = add_leaves(step);
    marks_.end();
    COX_CHECK(layout_ == TrainLayout::Zero1 ? update_part(bad, step) : update_all(bad, step));
    if (made_.diverged) return {};
    ++made_.versions;
    for (std::size_t r = 0; r < before.size(); ++r) sent_[r] += transport_.sent()[r] - before[r];
    return {};
  }

  /// Every rank steps with the mean of everything.
  Status update_all(const Bad& bad, std::int64_t step) {
    marks_.begin(StepPart::AllReduce, all_bytes());
    const Status summed = executor_ ? sum_by_schedule() : sum_in_order();
    marks_.end();
    COX_CHECK(summed);
    if (learn::first_not_finite(mean_) < mean_.size()) COX_CHECK(agree(bad, step));
    if (made_.diverged) return {};
    marks_.begin(StepPart::Optimizer, {});
    optimizer_.step(x_, mean_, factor());
    marks_.end();
    return {};
  }

  /// Every rank steps with the mean of its own part, and parameters go round. A mean that is no number makes parameters
  /// that are none.
  Status update_part(const Bad& bad, std::int64_t step) {
    marks_.begin(StepPart::ReduceScatter, all_bytes());
    const auto part = sum_.reduce(transport_);
    marks_.end();
    COX_CHECK(part);
    marks_.begin(StepPart::Optimizer, {});
    scale(*part);
    const std::span<float> next =
        std::span(mean_).subspan(static_cast<std::size_t>(sum_.part().first), part->size());
    std::ranges::copy(std::span(x_).subspan(static_cast<std::size_t>(sum_.part().first), part->size()),
                      next.begin());
    optimizer_.step(next, *part, factor());
    marks_.end();
    marks_.begin(StepPart::AllGather, all_bytes());
    const Status gathered = sum_.gather(transport_, mean_);
    marks_.end();
    COX_CHECK(gathered);
    if (learn::first_not_finite(mean_) < mean_.size()) COX_CHECK(agree(bad, step));
    if (!made_.diverged) x_.swap(mean_);
    return {};
  }

  /// Gradients of this rank's workers into its sum. Returns the first that is no number.
  Bad add_leaves(std::int64_t step) {
    const learn::StepShare share{.leaves = 1, .samples = job_.samples};
    Bad bad;
    for (std::int64_t worker = sum_.leaves().first; worker < sum_.leaves().end(); ++worker) {
      problem_->gradient(x_, share.shard(job_.workers, static_cast<int>(worker), step, 0), leaf_);
      const std::size_t at = learn::first_not_finite(leaf_);
      if (at < leaf_.size() && worker < bad.worker)
        bad = {.worker = worker, .at = static_cast<std::int64_t>(at)};
      if (executor_)
        own_.add(leaf_);
      else
        sum_.add(leaf_);
    }
    return bad;
  }

  /// Of the rate, in the next step.
  [[nodiscard]] double factor() const {
    return learn::rate_factor(optimizer_.spec(), optimizer_.steps() + 1, job_.workers * job_.samples);
  }

  void scale(std::span<float> sum) const {
    const float over = 1.0F / static_cast<float>(job_.workers);
    if (job_.workers > 1)
      for (float& v : sum) v *= over;
  }

  Status sum_in_order() {
    COX_TRY(const std::span<float> part, sum_.reduce(transport_));
    scale(part);
    std::ranges::copy(part, mean_.begin() + sum_.part().first);
    return sum_.gather(transport_, mean_);
  }

  Status sum_by_schedule() {
    const std::span<float> own = own_.take();
    std::ranges::copy(own, mean_.begin());
    COX_CHECK(executor_->run(transport_, mean_));
    scale(mean_);
    return {};
  }

  /// Whose gradient was no number; nobody's where only their sum is none.
  Status agree(const Bad& mine, std::int64_t step) {
    COX_TRY(const std::vector<Bad> all, exchange(transport_, mine));
    const Bad& first = *std::ranges::min_element(all, {}, &Bad::worker);
    if (first.worker < job_.workers)
      made_.diverged = learn::Divergence{
          .worker = static_cast<int>(first.worker),
          .step = step,
          .tensor = learn::tensor_at(problem_->tensors(), static_cast<std::size_t>(first.at))};
    return {};
  }

  void add_point() {
    TrainPoint point{.version = made_.versions, .at = Clock::now() - began_, .score = {}};
    if (transport_.rank() == 0) point.score = problem_->score(x_);
    made_.points.push_back(point);
  }

  /// Hashes of all ranks, and what they sent.
  Status compare() {
    COX_TRY(made_.hashes, exchange(transport_, hash_of(x_)));
    const Bytes state{static_cast<std::int64_t>(optimizer_.state().size_bytes())};
    COX_TRY(made_.optimizer, exchange(transport_, state));
    for (int to = 0; to < transport_.ranks(); ++to) {
      const Bytes sent = sent_[static_cast<std::size_t>(to)];
      COX_TRY(const std::vector<Bytes> column, exchange(transport_, sent));
      made_.sent.resize(column.size());
      for (std::size_t from = 0; from < column.size(); ++from) made_.sent[from].push_back(column[from]);
    }
    for (std::size_t r = 1; r < made_.hashes.size(); ++r)
      if (made_.hashes[r] != made_.hashes.front())
        return fail({.code = Errc::Io,
                     .id = "train-006",
                     .message = fmt::format("rank {} ends with other parameters than rank 0", r),
                     .hint = "all processes have to be of one build, on processors of one kind",
                     .where = {}});
    return {};
  }

  const TrainJob& job_;
  Transport& transport_;
  Marks& marks_;
  std::unique_ptr<learn::Problem> problem_;
  TrainLayout layout_;
  OrderedSum sum_;
  learn::Optimizer optimizer_;  ///< of all parameters, or of the own part
  std::optional<Executor> executor_;
  learn::TreeSum own_;
  std::vector<float> x_;
  std::vector<float> mean_;  ///< or the next parameters, where ranks step with parts
  std::vector<float> leaf_;
  std::vector<Bytes> sent_;  ///< in steps that count
  std::optional<Saver> saver_;
  int moments_ = 0;
  Clock::time_point began_;
  TrainedRun made_;
};

}  // namespace

Result<std::unique_ptr<learn::Problem>> problem_of(const TrainJob& job) {
  COX_TRY(learn::ProblemSpec spec, learn::read_problem(job.problem));
  if ((spec.spread > 0 || spec.hessian_spread > 0) && spec.workers <= 1) spec.workers = job.workers;
  return learn::make_problem(spec);
}

Result<TrainedRun> run_replica(const TrainJob& job, Transport& transport, Marks& marks) {
  COX_TRY(std::unique_ptr<learn::Problem> problem, problem_of(job));
  COX_TRY(const learn::OptimizerSpec optimizer, learn::read_optimizer(job.optimizer));
  COX_TRY(const SumBy by, read_sum(job.sum));
  COX_TRY(const TrainLayout layout, read_layout(job.layout));
  Replica replica(job, transport, marks, std::move(problem), optimizer, layout);
  COX_CHECK(replica.choose(by));
  return replica.run();
}

Result<TrainedRun> run_on_threads(const TrainJob& job) {
  ThreadHub hub(job.procs, job.patience);
  const auto ranks = static_cast<std::size_t>(job.procs);
  std::vector<Result<TrainedRun>> made(ranks, TrainedRun{});
  std::vector<std::unique_ptr<Transport>> links;
  for (int r = 0; r < job.procs; ++r) links.push_back(hub.transport(r));
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] {
        Marks nobody;
        made[r] = run_replica(job, *links[r], nobody);
      });
  }
  for (auto& rank : made)
    if (!rank) return fail(std::move(rank).error());
  made.front()->library = "threads";
  return std::move(made.front());
}

}  // namespace cox::train
