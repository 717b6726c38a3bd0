// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "cox/base/elementary.hpp"
#include "cox/base/random.hpp"
#include "cox/simulate/training.hpp"

namespace cox::simulate {
namespace {

/// Its own stream of draws, so that failures do not move with noise.
constexpr std::uint32_t kFailureStream = 0x6661696c;
constexpr std::int64_t kMostWithoutProgress = 100'000;

/// When which node fails next. A node that failed is replaced by a new one.
class Nodes {
 public:
  Nodes(const model::Failures& f, int nodes, std::uint64_t seed)
      : random_(seed, kFailureStream), shape_(f.weibull_shape), counts_(static_cast<std::size_t>(nodes)) {
    // The mean of a Weibull law is scale x Gamma(1 + 1 / shape).
    scale_ = f.node_mtbf / (shape_ == 1 ? 1.0 : gamma_function(1 + 1 / shape_));
    for (int n = 0; n < nodes; ++n) next_.emplace(draw(n), n);
  }
  [[nodiscard]] Seconds next() const { return next_.top().first; }
  void replace() {
    const auto [at, node] = next_.top();
    next_.pop();
    next_.emplace(at + draw(node), node);
  }

 private:
  Seconds draw(int node) {
    const std::uint64_t life = counts_[static_cast<std::size_t>(node)]++;
    const double exponential = -logarithm(random_.uniform(life, static_cast<std::uint64_t>(node)));
    return scale_ * (shape_ == 1 ? exponential : power(exponential, 1 / shape_));
  }

  RandomStream random_;
  double shape_;
  Seconds scale_{};
  std::vector<std::uint64_t> counts_;
  using Next = std::pair<Seconds, int>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next_;
};

class Player {
 public:
  Player(std::span<const Seconds> steps, const model::Failures& f, int nodes, std::uint64_t seed)
      : steps_(steps), f_(f), nodes_(f, nodes, seed) {
    out_.step_ends.resize(steps.size());
  }

  Result<FailureOutcome> play() {
    while (done_ < steps_.size() || since_ > Seconds{}) {
      const bool due = f_.checkpoint_interval > Seconds{} && since_ >= f_.checkpoint_interval;
      if (!due && done_ == steps_.size()) break;
      const Seconds length = due ? f_.checkpoint : steps_[done_];
      if (now_ + length > nodes_.next()) {
        COX_CHECK(fail_at(due));
        continue;
      }
      now_ += length;
      due ? keep(length) : count(length);
    }
    out_.work += since_;
    out_.total = now_;
    return std::move(out_);
  }

 private:
  void count(Seconds length) {
    since_ += length;
    out_.step_ends[done_++] = now_;
  }
  void keep(Seconds length) {
    out_.write += length;
    out_.work += since_;
    since_ = Seconds{};
    kept_ = done_;
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
    const Seconds at = nodes_.next();
    const Seconds part = at - now_;
    (writing ? out_.write : out_.rework) += part;
    out_.rework += since_;
    since_ = Seconds{};
    done_ = kept_;
    // Another failure while restarting begins the restart anew.
    Seconds up = at;
    do {
      up = nodes_.next() + f_.restart;
      nodes_.replace();
      ++out_.failures;
      if (nodes_.next() < up && ++stalled_ > kMostWithoutProgress) break;
    } while (nodes_.next() < up);
    out_.restart += up - at;
    now_ = up;
    return {};
  }

  std::span<const Seconds> steps_;
  const model::Failures& f_;
  Nodes nodes_;
  FailureOutcome out_;
  Seconds now_{};
  Seconds since_{};       ///< work since the last checkpoint
  std::size_t done_ = 0;  ///< steps that hold
  std::size_t kept_ = 0;  ///< steps in the last checkpoint
  std::int64_t stalled_ = 0;
};

}  // namespace

Result<FailureOutcome> run_with_failures(std::span<const Seconds> steps, const model::Failures& failures,
                                         int nodes, std::uint64_t seed) {
  if (failures.node_mtbf > Seconds{} && nodes > 0) return Player(steps, failures, nodes, seed).play();
  // Nothing fails: the same with a node that lasts for ever.
  model::Failures none = failures;
  none.node_mtbf = Seconds{1e300};
  none.weibull_shape = 1;
  return Player(steps, none, 1, seed).play();
}

}  // namespace cox::simulate
