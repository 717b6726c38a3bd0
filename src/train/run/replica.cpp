// SPDX-License-Identifier: Apache-2.0
#include "train/run/replica.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/hash.hpp"
#include "cox/learn/optimize.hpp"
#include "cox/learn/problem.hpp"

#include "train/checkpoint/saver.hpp"
#include "train/executor/value_hash.hpp"
#include "train/run/held.hpp"
#include "train/run/mixed_shards.hpp"
#include "train/run/served.hpp"
#include "train/run/shards.hpp"
#include "train/run/slices.hpp"
#include "train/run/stages.hpp"
#include "train/transport/exchange.hpp"
#include "train/transport/threads.hpp"

namespace cox::train {
namespace {

using Clock = std::chrono::steady_clock;

class Replica {
 public:
  Replica(const TrainJob& job, Transport& transport, Marks& marks, Held& held)
      : job_(job),
        transport_(transport),
        marks_(marks),
        held_(held),
        sent_(static_cast<std::size_t>(transport.ranks())) {
    made_.parameters = held.problem().parameters();
  }

  Result<TrainedRun> run() {
    COX_CHECK(begin());
    began_ = Clock::now();
    COX_CHECK(add_point());
    for (std::int64_t step = made_.versions; step < job_.versions() && !made_.diverged; ++step) {
      if (marks_.stops_before(step)) {
        made_.stopped = true;
        break;
      }
      const auto before = Clock::now();
      COX_CHECK(take_step(step));
      const Seconds took = Clock::now() - before;
      made_.steps_took += took;
      if (made_.diverged) break;
      watch_.took(took);
      if (transport_.rank() == 0) marks_.version(made_.versions, held_.loss());
      if (job_.times) made_.times.push_back(Clock::now() - began_);
      if (made_.versions >= 2 * made_.points.back().version) COX_CHECK(add_point());
      if (saver_) COX_CHECK(save_in_turn());
    }
    if (saver_) COX_CHECK(saver_->finish(made_.versions));
    if (saver_ && made_.stopped && made_.versions > made_.resumed.value_or(0) &&
        saver_->newest() < made_.versions) {
      COX_CHECK(save());
      COX_CHECK(saver_->finish(made_.versions));
    }
    if (saver_) made_.saved = saver_->saved();
    if (saver_) made_.saved_version = saver_->newest();
    if (!made_.diverged && made_.versions > made_.points.back().version) COX_CHECK(add_point());
    if (job_.predict) made_.forecast = watch_.forecast();
    if (const auto scale = held_.loss_scale())
      made_.scaled = ScaledRun{.factor = scale->factor,
                               .skipped = scale->skipped,
                               .skipped_now = scale->skipped - skipped_before_};
    COX_CHECK(compare());
    return std::move(made_);
  }

 private:
  /// From the newest checkpoint on, where the job asks for it.
  Status begin() {
    watch_ = StepWatch(job_.versions());
    if (job_.checkpoint.empty()) return {};
    COX_TRY(const SaveEvery every, read_save_every(job_.every));
    saver_.emplace(job_.checkpoint, every, identity_of(job_), made_.parameters, held_.moments(), transport_);
    if (held_.worker_floats() > 0) saver_->keep_workers(job_.workers, held_.worker_floats());
    if (job_.beside) saver_->write_beside(held_.memory(), floats_of(held_.saved()));
    if (!job_.resume) return saver_->begin_anew();
    COX_TRY(FoundState found, saver_->resume());
    for (const RefusedState& one : found.refused)
      made_.refused.push_back(fmt::format("version {}: {}", one.version, one.what));
    if (!found.state) return {};
    if (found.state->version > job_.versions())
      return fail({.code = Errc::InvalidInput,
                   .id = "train-008",
                   .message = fmt::format(
                       "the newest checkpoint in {} is that of version {}, and the job has {}{}",
                       job_.checkpoint, found.state->version, job_.versions(),
                       job_.local ? fmt::format(", of {} steps each", job_.local->steps) : " steps"),
                   .hint = "more --steps",
                   .where = {}});
    made_.resumed = made_.versions = found.state->version;
    held_.go_on(*found.state);
    if (const auto scale = held_.loss_scale()) skipped_before_ = scale->skipped;
    watch_ = StepWatch(job_.versions() - made_.versions);
    return {};
  }

  /// What is written beside the steps, and what is due.
  Status save_in_turn() {
    if (saver_->asks(made_.versions)) {
      marks_.begin(StepPart::Checkpoint, {});
      const Status followed = saver_->follow(made_.versions);
      marks_.end();
      COX_CHECK(followed);
    }
    return saver_->due(made_.versions, job_.versions()) ? save() : Status{};
  }

  /// Each rank its own elements, whatever else it holds. Parameters that are no numbers are not saved: the next step names
  /// who is at fault.
  Status save() {
    const auto before = Clock::now();
    COX_TRY(const bool finite, held_.all_finite());
    if (!finite) return {};
    marks_.begin(StepPart::Checkpoint, {});
    const Status collected = held_.collect_saved();
    const Status saved =
        collected ? saver_->save(made_.versions, held_.saved(), before, held_.loss_scale()) : collected;
    marks_.end();
    return saved;
  }

  Status take_step(std::int64_t step) {
    const std::vector<Bytes> before = transport_.sent();
    marks_.step(step);
    COX_TRY(made_.diverged, held_.step(step));
    if (made_.diverged) return {};
    ++made_.versions;
    for (std::size_t r = 0; r < before.size(); ++r) sent_[r] += transport_.sent()[r] - before[r];
    return {};
  }

  Status add_point() {
    TrainPoint point{.version = made_.versions,
                     .at = Clock::now() - began_,
                     .samples = job_.steps_in(made_.versions) * job_.workers * job_.samples,
                     .score = {}};
    COX_TRY(const std::span<const float> x, held_.whole(false));
    if (transport_.rank() == 0) point.score = held_.problem().score(x);
    made_.points.push_back(point);
    return {};
  }

  /// What all ranks kept, and compare_ends.
  Status compare() {
    COX_TRY(made_.memory, exchange(transport_, held_.memory().at_most()));
    COX_TRY(const std::span<const float> x, held_.whole(true));
    COX_TRY(made_.optimizer, exchange(transport_, held_.optimizer_bytes()));
    return compare_ends(transport_, hash_of(x), sent_, made_);
  }

  const TrainJob& job_;
  Transport& transport_;
  Marks& marks_;
  Held& held_;
  std::vector<Bytes> sent_;  ///< in steps that count
  std::optional<Saver> saver_;
  StepWatch watch_{0};
  std::int64_t skipped_before_ = 0;  ///< this run began
  Clock::time_point began_;
  TrainedRun made_;
};

}  // namespace

Result<std::unique_ptr<learn::Problem>> problem_of(const TrainJob& job) {
  COX_TRY(learn::ProblemSpec spec, learn::read_problem(job.problem));
  if ((spec.spread > 0 || spec.hessian_spread > 0) && spec.workers <= 1) spec.workers = job.workers;
  return learn::make_problem(spec);
}

Status check_alike(const TrainJob& job, Transport& transport) {
  constexpr std::size_t kMostWords = 24;
  const std::vector<std::string> words = words_of(job);
  COX_ASSERT(words.size() <= kMostWords, "there is room for all words");
  std::array<std::uint64_t, kMostWords> mine{};
  for (std::size_t i = 0; i < words.size(); ++i) mine[i] = fnv1a(words[i]);
  COX_TRY(const auto all, train::exchange(transport, mine));
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all.front()) continue;
    const auto at = static_cast<std::size_t>(std::ranges::mismatch(all[r], all.front()).in1 - all[r].begin());
    std::array<char, 256> word{};
    const std::string own = at < words.size() ? words[at] : "another program";
    std::copy_n(own.begin(), std::min(own.size(), word.size() - 1), word.begin());
    COX_TRY(const auto said, train::exchange(transport, word));
    return fail(
        {.code = Errc::Io,
         .id = "train-004",
         .message = fmt::format("rank {} was told {}, rank 0 {}", r, said[r].data(), said.front().data()),
         .hint = "all ranks have to run the same program with the same job",
         .where = {}});
  }
  return {};
}

Status compare_ends(Transport& transport, std::uint64_t hash, const std::vector<Bytes>& sent,
                    TrainedRun& made) {
  COX_TRY(made.hashes, exchange(transport, hash));
  made.sent.clear();
  for (const Bytes to : sent) {
    COX_TRY(const std::vector<Bytes> column, exchange(transport, to));
    made.sent.resize(column.size());
    for (std::size_t from = 0; from < column.size(); ++from) made.sent[from].push_back(column[from]);
  }
  for (std::size_t r = 1; r < made.hashes.size(); ++r)
    if (made.hashes[r] != made.hashes.front())
      return fail({.code = Errc::Io,
                   .id = "train-006",
                   .message = fmt::format("rank {} ends with other parameters than rank 0", r),
                   .hint = "all processes have to be of one build, on processors of one kind",
                   .where = {}});
  return {};
}

Result<TrainedRun> run_replica(const TrainJob& job, Transport& transport, Marks& marks) {
  COX_CHECK(check_alike(job, transport));
  if (!job.served.empty()) return run_served(job, transport, marks);
  COX_TRY(std::unique_ptr<learn::Problem> problem, problem_of(job));
  COX_TRY(const learn::OptimizerSpec optimizer, learn::read_optimizer(job.optimizer));
  COX_TRY(const SumBy by, read_sum(job.sum));
  COX_TRY(const TrainLayout layout, read_layout(job.layout));
  COX_TRY(const Injected fault, read_injected(job.inject));
  if (layout == TrainLayout::Pipeline) {
    COX_TRY(const std::unique_ptr<Held> stages,
            make_stages(job, optimizer, transport, marks, std::move(problem)));
    stages->inject(fault);
    return Replica(job, transport, marks, *stages).run();
  }
  if (layout == TrainLayout::Tensor) {
    COX_TRY(const std::unique_ptr<Held> slices,
            make_slices(job, optimizer, transport, marks, std::move(problem)));
    slices->inject(fault);
    return Replica(job, transport, marks, *slices).run();
  }
  if (!job.precision.empty()) {
    COX_TRY(const learn::CompressorSpec precision, read_precision(job.precision));
    MixedShards mixed(job, precision, layout, optimizer, transport, marks, std::move(problem));
    mixed.inject(fault);
    return Replica(job, transport, marks, mixed).run();
  }
  Shards shards(job, layout, optimizer, transport, marks, std::move(problem));
  COX_CHECK(shards.choose(by));
  shards.inject(fault);
  return Replica(job, transport, marks, shards).run();
}

namespace {

/// The first rank is told and asked by `watch`; where it is to stop, all ranks leave the step behind the one that it begins, which none
/// of them can have begun.
class ThreadMarks final : public Marks {
 public:
  ThreadMarks(const TrainWatch& watch, std::atomic<std::int64_t>& end, int rank)
      : watch_(watch), end_(end), first_(rank == 0) {}
  void version(std::int64_t version, double loss) override {
    if (first_ && watch_.told) watch_.told(version, loss);
  }
  bool stops_before(std::int64_t step) override {
    if (step >= end_) return true;
    if (first_ && end_ == kNever && watch_.stop && watch_.stop()) end_ = step + 1;
    return false;
  }
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

 private:
  const TrainWatch& watch_;
  std::atomic<std::int64_t>& end_;
  bool first_;
};

}  // namespace

Result<TrainedRun> run_on_threads(const TrainJob& job, const TrainWatch& watch) {
  ThreadHub hub(job.procs, job.patience);
  const auto ranks = static_cast<std::size_t>(job.procs);
  std::vector<Result<TrainedRun>> made(ranks, TrainedRun{});
  std::vector<std::unique_ptr<Transport>> links;
  std::atomic<std::int64_t> end{ThreadMarks::kNever};
  for (int r = 0; r < job.procs; ++r) links.push_back(hub.transport(r));
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] {
        ThreadMarks marks(watch, end, static_cast<int>(r));
        made[r] = run_replica(job, *links[r], marks);
      });
  }
  for (auto& rank : made)
    if (!rank) return fail(std::move(rank).error());
  made.front()->library = "threads";
  return std::move(made.front());
}

}  // namespace cox::train
