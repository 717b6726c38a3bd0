// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/drawn.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <utility>

#include "cox/base/elementary.hpp"
#include "cox/base/random.hpp"
#include "cox/sync/policy.hpp"

namespace cox::learn {
namespace {

constexpr std::uint32_t kSteps = 0x6c0101;
constexpr std::size_t kBlock = 64;

/// Draws of one worker, a block at a time.
class Draws {
 public:
  Draws(const DrawnSteps& steps, int worker) : steps_(steps), stream_(steps.seed, kSteps), worker_(worker) {}
  double next() {
    if (steps_.law == StepLaw::Constant) return 1;
    if (at_ == kBlock) fill();
    return block_[at_++];
  }

 private:
  void fill() {
    const auto worker = static_cast<std::uint64_t>(worker_);
    if (steps_.law == StepLaw::Exponential) {
      stream_.uniforms(worker, first_, block_);
      logarithms(block_);
      for (double& v : block_) v = -v;
    } else {
      const double variance = logarithm(1 + steps_.cv * steps_.cv);
      stream_.normals(worker, first_, block_);
      for (double& v : block_) v = std::sqrt(variance) * v - variance / 2;
      exponentials(block_);
    }
    first_ += kBlock;
    at_ = 0;
  }

  const DrawnSteps& steps_;
  RandomStream stream_;
  int worker_;
  std::uint64_t first_ = 0;
  std::size_t at_ = kBlock;
  std::array<double, kBlock> block_{};
};

}  // namespace

void stream_drawn(const model::PolicySpec& policy, const DrawnSteps& steps,
                  const std::function<bool(const sync::StreamEvent&, Seconds)>& take) {
  using Done = std::pair<double, int>;
  sync::Policy rules(policy, steps.workers);
  std::vector<Draws> draws;
  std::priority_queue<Done, std::vector<Done>, std::greater<>> queue;
  std::vector<std::int64_t> left(static_cast<std::size_t>(steps.workers), steps.steps);
  const auto begin = [&](int w, double now) {
    const auto i = static_cast<std::size_t>(w);
    if (steps.steps > 0 && left[i]-- == 0) return;
    const double speed = steps.speeds.empty() ? 1 : steps.speeds[i];
    const double message = rules.communicates(rules.clock(w)) ? steps.message.count() : 0;
    queue.emplace(now + steps.mean.count() / speed * draws[i].next() + message, w);
  };
  for (int w = 0; w < steps.workers; ++w) draws.emplace_back(steps, w);
  for (int w = 0; w < steps.workers; ++w) begin(w, 0);
  std::vector<int> released;
  while (!queue.empty()) {
    const auto [now, w] = queue.top();
    queue.pop();
    rules.delivered(w, released);
    for (const sync::StreamEvent& e : rules.events())
      if (!take(e, Seconds{now})) return;
    for (const int r : released) begin(r, now);
  }
}

}  // namespace cox::learn
