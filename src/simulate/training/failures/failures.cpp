// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/failures/failures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "simulate/training/failures/causes.hpp"

namespace cox::simulate {
namespace {

using training::Causes;
using training::Failure;

constexpr std::uint32_t kRestartStream = 0x72657374;
constexpr std::uint32_t kReadStream = 0x72656164;
constexpr std::uint32_t kNearStream = 0x6e656172;
constexpr std::int64_t kMostWithoutProgress = 100'000;

/// The keys that say how often something fails, as the job has them.
std::string_view rate_of(const model::Failures& f) {
  if (f.job_mtbf > Seconds{})
    return f.node_mtbf > Seconds{} ? "failures.node_mtbf and job_mtbf" : "failures.job_mtbf";
  return f.node_mtbf > Seconds{} ? "failures.node_mtbf" : "mtbf of failures.class";
}

/// How long restarts take, each drawn anew.
class Restarts {
 public:
  Restarts(const model::Scenario& s, std::uint64_t seed)
      : f_(s.failures), nodes_(nodes_of(s)), random_(seed, kRestartStream), starts_(s, seed) {}
  /// After `failure`, with so much to read.
  Seconds next(const Failure& failure, Seconds read) {
    const double n = nodes_;
    const Seconds fixed = failure.restart + f_.restart_per_node * n + f_.restart_per_pair * (n * n) + read;
    const Seconds spread =
        f_.restart_spread > Seconds{}
            ? training::slowest_of(nodes_, random_.uniform(count_++, 0), f_.restart_spread, f_.restart_tail)
            : Seconds{};
    return fixed + spread + starts_.next();
  }
  /// Of the first start.
  Seconds first() { return starts_.next(); }

 private:
  const model::Failures& f_;
  int nodes_;
  RandomStream random_;
  training::Starts starts_;
  std::uint64_t count_ = 0;
};

/// Checkpoints that can be gone back to: what each takes, which can be read.
class Store {
 public:
  Store(const model::Failures& f, std::uint64_t seed) : f_(f), random_(seed, kReadStream) {}

  /// A complete one: steps in it, the work since the one before it, and how many deltas lie before the full one.
  struct Generation {
    std::size_t done = 0;
    Seconds work{};
    int deltas = 0;
  };
  [[nodiscard]] int next_deltas() const {
    return kept_.empty() ? 0 : (kept_.back().deltas + 1) % f_.full_every;
  }
  /// How long writing one takes on the storage.
  [[nodiscard]] Seconds write(int deltas) const {
    return through(deltas > 0 ? f_.checkpoint_delta : f_.checkpoint_size);
  }
  void keep(Generation g) {
    if (f_.unreadable <= 0 && !kept_.empty()) kept_.clear();
    kept_.push_back(g);
  }
  [[nodiscard]] std::size_t done() const { return kept_.empty() ? 0 : kept_.back().done; }
  /// Goes back to the last one that can be read. Adds what is undone to `undone`; returns how long reading takes, of
  /// those too that could not be read.
  Seconds restore(Seconds& undone) {
    Seconds took = read();
    while (f_.unreadable > 0 && !kept_.empty() && random_.uniform(reads_++, 0) < f_.unreadable) {
      undone += kept_.back().work;
      kept_.pop_back();
      took += read();
    }
    return took;
  }

 private:
  [[nodiscard]] Seconds through(Bytes bytes) const {
    return f_.storage.in_bytes_per_s() > 0 ? bytes / f_.storage : Seconds{};
  }
  [[nodiscard]] Seconds read() const {
    const int deltas = kept_.empty() ? 0 : kept_.back().deltas;
    return through(f_.checkpoint_size) + through(f_.checkpoint_delta) * deltas;
  }

  const model::Failures& f_;
  RandomStream random_;
  std::vector<Generation> kept_;  ///< the last only, where all can be read
  std::uint64_t reads_ = 0;
};

class Player {
 public:
  Player(std::span<const Seconds> steps, const model::Scenario& s, std::uint64_t seed)
      : steps_(steps),
        f_(s.failures),
        causes_(s, seed),
        restarts_(s, seed),
        spares_(s.failures.spares),
        store_(s.failures, seed),
        survives_(seed, kNearStream) {
    out_.of_class.resize(f_.classes.size());
    out_.step_ends.resize(steps.size());
  }

  Result<FailureOutcome> play() {
    begin();
    while (done_ < steps_.size() || since_ > Seconds{}) {
      if (pending_ && pending_->complete <= now_) keep();
      const Next next = what_next();
      if (next == Next::End) break;
      COX_CHECK(next == Next::Step ? step() : write(next == Next::Near));
    }
    out_.work += since_ + (pending_ ? pending_->work : Seconds{});
    out_.total = now_;
    return std::move(out_);
  }

 private:
  enum class Next : std::uint8_t { Step, Checkpoint, Near, End };
  /// A checkpoint that is being written.
  struct Pending {
    Seconds complete{};
    Seconds work{};  ///< since the one before it
    std::size_t done = 0;
    int deltas = 0;
  };
  /// The last checkpoint in the nodes' own memory.
  struct Near {
    std::size_t done = 0;
    Seconds work{};  ///< since the last complete checkpoint
  };

  [[nodiscard]] Next what_next() const {
    if (f_.checkpoint_interval > Seconds{} && since_ >= f_.checkpoint_interval && !pending_)
      return Next::Checkpoint;
    if (done_ == steps_.size()) return Next::End;
    if (f_.near_interval > Seconds{} && since_near_ >= f_.near_interval) return Next::Near;
    return Next::Step;
  }

  /// The first start. A failure in it begins it anew.
  void begin() {
    const Seconds up = restarts_.first();
    now_ = out_.start = std::min(up, causes_.next());
    if (now_ < up) recover(Seconds{});
  }

  Status step() {
    const Seconds usual = steps_[done_];
    const Seconds length = cold_ > 0 ? usual * f_.cold_factor : usual;
    if (now_ + length > causes_.next()) return fail_during(out_.rework);
    now_ += length;
    if (cold_ > 0) {
      --cold_;
      out_.cold += length - usual;
    }
    since_ += usual;
    since_near_ += usual;
    out_.step_ends[done_++] = now_;
    return {};
  }

  /// What the storage takes lengthens the write: beside the steps where there is such a part.
  Status write(bool near) {
    const int deltas = near ? 0 : store_.next_deltas();
    const Seconds through = near ? Seconds{} : store_.write(deltas);
    const bool beside = f_.checkpoint_write > Seconds{};
    const Seconds blocks = near ? f_.near_checkpoint : beside ? f_.checkpoint : f_.checkpoint + through;
    if (now_ + blocks > causes_.next()) return fail_during(out_.write);
    now_ += blocks;
    out_.write += blocks;
    since_near_ = Seconds{};
    if (near) {
      near_ = Near{.done = done_, .work = since_ + (pending_ ? pending_->work : Seconds{})};
      progress(done_);
      return {};
    }
    pending_ = Pending{.complete = beside ? now_ + (f_.checkpoint_write + through) : now_,
                       .work = since_,
                       .done = done_,
                       .deltas = deltas};
    since_ = Seconds{};
    if (!beside) keep();
    return {};
  }

  void progress(std::size_t done) {
    if (done > furthest_) stalled_ = 0;
    furthest_ = std::max(furthest_, done);
  }

  void keep() {
    out_.work += pending_->work;
    if (near_ && near_->done <= pending_->done) near_.reset();
    if (near_) near_->work -= pending_->work;
    store_.keep({.done = pending_->done, .work = pending_->work, .deltas = pending_->deltas});
    progress(pending_->done);
    pending_.reset();
  }

  /// The next failure cuts off something, whose time so far goes to `account`.
  Status fail_during(Seconds& account) {
    if (++stalled_ > kMostWithoutProgress)
      return fail(
          {.code = Errc::Infeasible,
           .id = "simulate-003",
           .message = fmt::format(
               "{} failures in a row without a checkpoint between them: the job never gets beyond step {}",
               kMostWithoutProgress, furthest_),
           .hint = fmt::format("write checkpoints more often, or say a longer {}", rate_of(f_)),
           .where = std::nullopt});
    const Seconds at = causes_.next();
    if (pending_ && pending_->complete <= at) keep();
    account += at - now_;
    now_ = at;
    recover(go_back());
    cold_ = f_.cold_steps;
    return {};
  }

  /// To the last state that can be read; how long reading it takes.
  Seconds go_back() {
    const Seconds lost = since_ + (pending_ ? pending_->work : Seconds{});
    pending_.reset();
    since_near_ = Seconds{};
    if (near_ && survives_.uniform(survived_++, 0) < f_.near_survives) {
      out_.rework += lost - near_->work;
      since_ = near_->work;
      done_ = near_->done;
      return {};
    }
    near_.reset();
    since_ = Seconds{};
    out_.rework += lost;
    Seconds undone{};
    const Seconds read = store_.restore(undone);
    out_.work -= undone;
    out_.rework += undone;
    done_ = store_.done();
    return read;
  }

  /// From the next failure to a job that runs. Another failure in it begins the restart anew.
  void recover(Seconds read) {
    const Seconds down = now_;
    Seconds waited{};
    for (;;) {
      const Failure failure = causes_.take();
      ++out_.failures;
      if (failure.of_class >= 0) ++out_.of_class[static_cast<std::size_t>(failure.of_class)];
      if (failure.repair > Seconds{}) spares_.lose(failure.nodes, failure.at + failure.repair);
      const Seconds enough = spares_.enough_from(failure.at);
      now_ = enough + restarts_.next(failure, read);
      const Seconds next = causes_.next();
      waited += std::min(enough, std::max(next, failure.at)) - failure.at;
      if (next >= now_ || ++stalled_ > kMostWithoutProgress) break;
    }
    out_.repair += waited;
    out_.restart += (now_ - down) - waited;
  }

  std::span<const Seconds> steps_;
  const model::Failures& f_;
  Causes causes_;
  Restarts restarts_;
  training::Spares spares_;
  Store store_;
  RandomStream survives_;
  FailureOutcome out_;
  Seconds now_{};
  Seconds since_{};       ///< work since the last checkpoint was taken
  Seconds since_near_{};  ///< work since any, or since the last restart
  std::optional<Pending> pending_;
  std::optional<Near> near_;
  std::size_t done_ = 0;      ///< steps that hold
  std::size_t furthest_ = 0;  ///< steps in the furthest checkpoint
  int cold_ = 0;              ///< steps that are still cold
  std::int64_t stalled_ = 0;
  std::uint64_t survived_ = 0;
};

}  // namespace

Result<FailureOutcome> run_with_failures(std::span<const Seconds> steps, const model::Scenario& scenario,
                                         std::uint64_t seed) {
  return Player(steps, scenario, seed).play();
}

Result<FailureOutcome> run_with_failures(std::span<const Seconds> steps, const model::Failures& failures,
                                         int nodes, std::uint64_t seed) {
  model::Scenario scenario;
  scenario.failures = failures;
  scenario.cluster.nodes = std::max(nodes, 0);
  return run_with_failures(steps, scenario, seed);
}

}  // namespace cox::simulate
