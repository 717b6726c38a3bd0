// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <utility>

#include "cox/base/elementary.hpp"
#include "cox/base/random.hpp"
#include "cox/simulate/training.hpp"

namespace cox::simulate {
namespace {

/// Their own streams of draws, so that failures do not move with noise.
constexpr std::uint32_t kFailureStream = 0x6661696c;
constexpr std::uint32_t kRestartStream = 0x72657374;
constexpr std::int64_t kMostWithoutProgress = 100'000;

/// When which node fails next, or the job. A node that failed is replaced by a new one.
class Causes {
 public:
  Causes(const model::Failures& f, int nodes, std::uint64_t seed)
      : random_(seed, kFailureStream),
        shape_(f.weibull_shape),
        job_(nodes),
        job_mtbf_(f.job_mtbf),
        counts_(static_cast<std::size_t>(nodes) + 1) {
    // The mean of a Weibull law is scale x Gamma(1 + 1 / shape).
    scale_ = f.node_mtbf / (shape_ == 1 ? 1.0 : gamma_function(1 + 1 / shape_));
    if (f.node_mtbf > Seconds{})
      for (int n = 0; n < nodes; ++n) next_.emplace(draw(n), n);
    if (f.job_mtbf > Seconds{}) next_.emplace(draw(job_), job_);
  }
  [[nodiscard]] Seconds next() const {
    return next_.empty() ? Seconds{std::numeric_limits<double>::infinity()} : next_.top().first;
  }
  void replace() {
    const auto [at, who] = next_.top();
    next_.pop();
    next_.emplace(at + draw(who), who);
  }

 private:
  Seconds draw(int who) {
    const std::uint64_t life = counts_[static_cast<std::size_t>(who)]++;
    const double exponential = -logarithm(random_.uniform(life, static_cast<std::uint64_t>(who)));
    if (who == job_) return job_mtbf_ * exponential;
    return scale_ * (shape_ == 1 ? exponential : power(exponential, 1 / shape_));
  }

  RandomStream random_;
  double shape_;
  Seconds scale_{};
  int job_;  ///< the number behind the nodes'
  Seconds job_mtbf_;
  std::vector<std::uint64_t> counts_;
  using Next = std::pair<Seconds, int>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next_;
};

/// How long restarts take, each drawn anew.
class Restarts {
 public:
  Restarts(const model::Failures& f, int nodes, std::uint64_t seed)
      : f_(f), nodes_(nodes), random_(seed, kRestartStream) {
    const double n = nodes;
    fixed_ = f.restart + f.restart_per_node * n + f.restart_per_pair * (n * n) + through_storage(f);
  }
  [[nodiscard]] static Seconds through_storage(const model::Failures& f) {
    return f.storage.in_bytes_per_s() > 0 ? f.checkpoint_size / f.storage : Seconds{};
  }
  Seconds next() {
    return f_.restart_spread > Seconds{} ? fixed_ + slowest(random_.uniform(count_++, 0)) : fixed_;
  }

 private:
  /// The largest of as many draws as there are nodes, by one: F(x)^N = u. Formula: x = scale ((1 - q)^-shape - 1) /
  /// shape, q = u^(1 / N); -scale ln(1 - q) for shape 0.
  [[nodiscard]] Seconds slowest(double u) const {
    constexpr double kExponential = 1e-9;  // below that the powers cancel
    const double beyond = 1 - power(u, 1.0 / nodes_);
    if (f_.restart_tail < kExponential) return f_.restart_spread * -logarithm(beyond);
    return f_.restart_spread * ((power(beyond, -f_.restart_tail) - 1) / f_.restart_tail);
  }

  const model::Failures& f_;
  int nodes_;
  RandomStream random_;
  Seconds fixed_{};
  std::uint64_t count_ = 0;
};

class Player {
 public:
  Player(std::span<const Seconds> steps, const model::Failures& f, int nodes, std::uint64_t seed)
      : steps_(steps),
        f_(f),
        causes_(f, nodes, seed),
        restarts_(f, nodes, seed),
        beside_(f.checkpoint_write),
        blocks_(f.checkpoint) {
    // What the storage takes lengthens the write: beside the steps where there is such a part.
    (beside_ > Seconds{} ? beside_ : blocks_) += Restarts::through_storage(f);
    out_.step_ends.resize(steps.size());
  }

  Result<FailureOutcome> play() {
    while (done_ < steps_.size() || since_ > Seconds{}) {
      if (pending_ && pending_->complete <= now_) keep();
      const bool due = f_.checkpoint_interval > Seconds{} && since_ >= f_.checkpoint_interval && !pending_;
      if (!due && done_ == steps_.size()) break;
      const bool is_cold = !due && cold_ > 0;
      const Seconds usual = due ? blocks_ : steps_[done_];
      const Seconds length = is_cold ? usual * f_.cold_factor : usual;
      if (now_ + length > causes_.next()) {
        COX_CHECK(fail_at(due));
        continue;
      }
      now_ += length;
      if (due) {
        take(length);
        continue;
      }
      if (is_cold) {
        --cold_;
        out_.cold += length - usual;
      }
      since_ += usual;
      out_.step_ends[done_++] = now_;
    }
    out_.work += since_ + (pending_ ? pending_->work : Seconds{});
    out_.total = now_;
    return std::move(out_);
  }

 private:
  /// A checkpoint that is being written.
  struct Pending {
    Seconds complete{};
    Seconds work{};  ///< since the one before it
    std::size_t done = 0;
  };

  void take(Seconds length) {
    out_.write += length;
    pending_ = Pending{.complete = now_ + beside_, .work = since_, .done = done_};
    since_ = Seconds{};
    if (beside_ == Seconds{}) keep();
  }
  void keep() {
    out_.work += pending_->work;
    kept_ = pending_->done;
    pending_.reset();
    stalled_ = 0;
  }

  Status fail_at(bool writing) {
    if (++stalled_ > kMostWithoutProgress)
      return fail(
          {.code = Errc::Infeasible,
           .id = "simulate-003",
           .message = fmt::format(
               "{} failures in a row without a checkpoint between them: the job never gets beyond step {}",
               kMostWithoutProgress, kept_),
           .hint = "write checkpoints more often, or say a longer node_mtbf",
           .where = std::nullopt});
    const Seconds at = causes_.next();
    if (pending_ && pending_->complete <= at) keep();
    const Seconds part = at - now_;
    (writing ? out_.write : out_.rework) += part;
    out_.rework += since_ + (pending_ ? pending_->work : Seconds{});
    pending_.reset();
    since_ = Seconds{};
    done_ = kept_;
    cold_ = f_.cold_steps;
    // Another failure while restarting begins the restart anew.
    Seconds up = at;
    do {
      up = causes_.next() + restarts_.next();
      causes_.replace();
      ++out_.failures;
      if (causes_.next() < up && ++stalled_ > kMostWithoutProgress) break;
    } while (causes_.next() < up);
    out_.restart += up - at;
    now_ = up;
    return {};
  }

  std::span<const Seconds> steps_;
  const model::Failures& f_;
  Causes causes_;
  Restarts restarts_;
  Seconds beside_;  ///< how long a checkpoint is written beside the steps
  Seconds blocks_;  ///< and before that while they stand still
  FailureOutcome out_;
  Seconds now_{};
  Seconds since_{};  ///< work since the last checkpoint was taken
  std::optional<Pending> pending_;
  std::size_t done_ = 0;  ///< steps that hold
  std::size_t kept_ = 0;  ///< steps in the last complete checkpoint
  int cold_ = 0;          ///< steps that are still cold
  std::int64_t stalled_ = 0;
};

}  // namespace

Result<FailureOutcome> run_with_failures(std::span<const Seconds> steps, const model::Failures& failures,
                                         int nodes, std::uint64_t seed) {
  return Player(steps, failures, std::max(nodes, 0), seed).play();
}

}  // namespace cox::simulate
