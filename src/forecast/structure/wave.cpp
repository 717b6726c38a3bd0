// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <span>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/random.hpp"

#include "forecast/structure/twins.hpp"

namespace cox::forecast {
namespace {

constexpr std::uint32_t kStream = 0x77617665;
constexpr double kLate = 1e-3;     ///< of the delay
constexpr double kArrived = 0.05;  ///< of it, mean over twins
constexpr double kFront = 0.3;     ///< of it: what is left of less bends to nothing

/// When each of the ranks may begin its next step, and when they ended the steps that somebody still waits for.
class Ranks {
 public:
  explicit Ranks(const WaveQuestion& q) : q_(q), at_(static_cast<std::size_t>(q.ranks), 0.0) {}

  /// One step of so much work each.
  void step(const std::vector<double>& work) {
    const std::vector<double>& earlier = ends_.front();
    for (std::size_t r = 0; r < at_.size(); ++r) {
      if (q_.waits == Waits::Stages && r > 0) at_[r] = std::max(at_[r], at_[r - 1]);
      if (q_.waits == Waits::Stages && r + 1 < at_.size() && !earlier.empty())
        at_[r] = std::max(at_[r], earlier[r + 1]);
      if (q_.waits == Waits::Bounded && !earlier.empty())
        at_[r] = std::max(at_[r], *std::ranges::max_element(earlier));
      at_[r] += work[r];
    }
    last_ = *std::ranges::max_element(at_);
    ends_.push_back(at_);
    ends_.pop_front();
    meet();
  }
  /// When the last one ended its step.
  [[nodiscard]] double last() const { return last_; }
  /// When this one may begin the next, as far as those beside it decide.
  [[nodiscard]] double at(std::size_t rank) const { return at_[rank]; }

 private:
  void meet() {
    const std::vector<double>& before = ends_.back();
    const std::size_t n = at_.size();
    const auto beside = [&](std::size_t r, std::size_t by) { return before[(r + by) % n]; };
    if (q_.waits == Waits::All) std::ranges::fill(at_, last_);
    if (q_.waits == Waits::OneSide)
      for (std::size_t r = 0; r < n; ++r) at_[r] = std::max(before[r], beside(r, n - 1));
    if (q_.waits == Waits::TwoSides)
      for (std::size_t r = 0; r < n; ++r) at_[r] = std::max({before[r], beside(r, n - 1), beside(r, 1)});
    if (q_.waits == Waits::Groups) meet_in_groups(before);
  }
  void meet_in_groups(const std::vector<double>& before) {
    const auto size = static_cast<std::size_t>(q_.per_group);
    const std::size_t groups = (at_.size() + size - 1) / size;
    std::vector<double> last(groups);
    for (std::size_t r = 0; r < at_.size(); ++r)
      last[r / size] = r % size == 0 ? before[r] : std::max(last[r / size], before[r]);
    for (std::size_t r = 0; r < at_.size(); ++r) {
      const std::size_t g = r / size;
      at_[r] = std::max({last[g], last[(g + 1) % groups], last[(g + groups - 1) % groups]});
    }
  }

  const WaveQuestion& q_;
  std::vector<double> at_;
  /// Of the last `ahead` steps, the earliest first; empty = before the first.
  std::deque<std::vector<double>> ends_ =
      std::deque<std::vector<double>>(static_cast<std::size_t>(q_.ahead) + 1);
  double last_ = 0;
};

/// Steps before the one that the delay hits: queues fill first.
std::size_t warm_up(const WaveQuestion& q) {
  const bool queues = q.waits == Waits::Stages || q.waits == Waits::Bounded;
  return queues ? 5 * static_cast<std::size_t>(q.ahead) : 0;
}

int distance_of(const WaveQuestion& q, int rank) {
  if (q.waits == Waits::OneSide || q.waits == Waits::Stages) return rank;
  const int size = q.waits == Waits::Groups ? q.per_group : 1;
  const int at = rank / size;
  const int all = (q.ranks + size - 1) / size;
  return std::min(at, all - at);
}

/// Least squares; needs two points that differ.
struct Line {
  double slope = 0;
  bool known = false;
};
Line line_through(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  double xy = 0;
  double xx = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
  }
  return xx > 0 ? Line{xy / xx, true} : Line{};
}

/// Mean lateness over twins and over the ranks of a distance: [step][distance], over d.
struct Lateness {
  std::vector<std::vector<double>> of;
  std::vector<double> job;  ///< of the last rank
  std::vector<int> late;
};

void play_twin(const Law& own, const WaveQuestion& q, int twin, const std::vector<double>& of_distance,
               Lateness& out) {
  const double d = q.delay.count();
  const std::size_t hit = warm_up(q);
  const RandomStream random(q.seed + static_cast<std::uint64_t>(twin), kStream);
  Ranks without(q);
  Ranks with(q);
  std::vector<double> work(static_cast<std::size_t>(q.ranks));
  for (std::size_t k = 0; k < hit + out.job.size(); ++k) {
    for (std::size_t r = 0; r < work.size(); ++r)
      work[r] = own.is_constant() ? own.mean().count() : own.quantile(random.uniform(k, r)).count();
    without.step(work);
    if (k == hit) work[0] += d;
    with.step(work);
    if (k < hit) continue;
    out.job[k - hit] += (with.last() - without.last()) / d / q.twins;
    int late = 0;
    for (std::size_t r = 0; r < work.size(); ++r) {
      const double by = (with.at(r) - without.at(r)) / d;
      late += by > kLate ? 1 : 0;
      const auto at = static_cast<std::size_t>(distance_of(q, static_cast<int>(r)));
      out.of[k - hit][at] += by / of_distance[at] / q.twins;
    }
    if (twin == 0) out.late.push_back(late);
  }
}

Lateness play(const Law& own, const WaveQuestion& q) {
  const auto steps = static_cast<std::size_t>(q.steps);
  int farthest = 0;
  for (int r = 0; r < q.ranks; ++r) farthest = std::max(farthest, distance_of(q, r));
  std::vector<double> of_distance(static_cast<std::size_t>(farthest) + 1, 0.0);
  for (int r = 0; r < q.ranks; ++r) ++of_distance[static_cast<std::size_t>(distance_of(q, r))];
  Lateness out{.of = std::vector(steps, std::vector<double>(of_distance.size(), 0.0)),
               .job = std::vector<double>(steps, 0.0),
               .late = {}};
  for (int twin = 0; twin < q.twins; ++twin) play_twin(own, q, twin, of_distance, out);
  return out;
}

void add_speed_and_loss(const Lateness& late, const Law& own, const WaveQuestion& q, Wave& out) {
  std::vector<double> distance;
  std::vector<double> arrival;
  std::vector<double> amplitude;
  for (std::size_t h = 1; h < out.reaches.size(); ++h) {
    std::size_t k = 0;
    while (k < late.of.size() && late.of[k][h] < kArrived) ++k;
    if (k + 1 >= late.of.size()) break;
    if (out.front[h] < kFront) break;
    distance.push_back(static_cast<double>(h));
    arrival.push_back(static_cast<double>(k));
    amplitude.push_back(out.front[h]);
  }
  const Line way = line_through(distance, arrival);
  if (way.known && way.slope > 0) out.speed = 1 / way.slope;
  const Line fall = line_through(distance, amplitude);
  if (!fall.known || fall.slope >= -1e-9) return;
  out.loss = -fall.slope * q.delay;
  const Seconds deviation = own.deviation();
  if (deviation > Seconds{} && std::isfinite(deviation.count()))
    out.loss_in_deviations = out.loss / deviation;
  out.extinction = q.delay / out.loss;
}

}  // namespace

std::string_view name_of(Waits waits) {
  constexpr std::array<std::string_view, 6> kNames{"all",    "one-side", "two-sides",
                                                   "groups", "stages",   "bounded"};
  return kNames[static_cast<std::size_t>(waits)];
}

Wave follow_wave(const Law& own, const WaveQuestion& question) {
  COX_ASSERT(question.ranks >= 2 && question.steps >= 2 && question.twins >= 1 && question.per_group >= 1,
             "a job with ranks, steps and twins");
  COX_ASSERT(question.delay > Seconds{} && question.ahead >= 0, "there is a delay");
  Lateness late = play(own, question);
  Wave out;
  out.reaches.assign(late.of[0].size(), 0.0);
  for (const std::vector<double>& step : late.of)
    for (std::size_t h = 0; h < step.size(); ++h) out.reaches[h] = std::max(out.reaches[h], step[h]);
  // The front moves one distance a step, down a pipeline all of it: what it brings is what is late there when it can be.
  out.front = out.reaches;
  const bool at_once = question.waits == Waits::Stages;
  for (std::size_t h = 1; h < out.front.size(); ++h)
    out.front[h] = at_once ? late.of[0][h] : h <= late.of.size() ? late.of[h - 1][h] : 0;
  if (question.waits != Waits::All && question.waits != Waits::Bounded)
    add_speed_and_loss(late, own, question, out);
  out.kept = std::move(late.job);
  for (std::size_t k = 1; out.kept.front() > 0 && k < out.kept.size() && out.half_life == 0; ++k)
    if (out.kept[k] <= out.kept.front() / 2) out.half_life = static_cast<double>(k);
  out.late = std::move(late.late);
  return out;
}

}  // namespace cox::forecast
