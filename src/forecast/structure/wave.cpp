// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/random.hpp"
#include "cox/forecast/twins.hpp"

namespace cox::forecast {
namespace {

constexpr std::uint32_t kStream = 0x77617665;
constexpr double kLate = 1e-3;     ///< of the delay
constexpr double kArrived = 0.05;  ///< of it, mean over twins
constexpr double kFront = 0.3;     ///< of it: what is left of less bends to nothing

/// When each may begin its next step.
void wait_for_each_other(const WaveQuestion& q, std::vector<double>& x, std::vector<double>& before) {
  before = x;
  const std::size_t n = x.size();
  const auto beside = [&](std::size_t r, std::size_t by) { return before[(r + by) % n]; };
  if (q.waits == Waits::All) std::ranges::fill(x, *std::ranges::max_element(before));
  if (q.waits == Waits::OneSide)
    for (std::size_t r = 0; r < n; ++r) x[r] = std::max(before[r], beside(r, n - 1));
  if (q.waits == Waits::TwoSides)
    for (std::size_t r = 0; r < n; ++r) x[r] = std::max({before[r], beside(r, n - 1), beside(r, 1)});
  if (q.waits != Waits::Groups) return;
  const auto size = static_cast<std::size_t>(q.per_group);
  const std::size_t groups = (n + size - 1) / size;
  std::vector<double> last(groups);
  for (std::size_t r = 0; r < n; ++r)
    last[r / size] = std::max(r % size == 0 ? before[r] : last[r / size], before[r]);
  for (std::size_t r = 0; r < n; ++r) {
    const std::size_t g = r / size;
    x[r] = std::max({last[g], last[(g + 1) % groups], last[(g + groups - 1) % groups]});
  }
}

int distance_of(const WaveQuestion& q, int rank) {
  if (q.waits == Waits::OneSide) return rank;
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

Lateness play(const Law& own, const WaveQuestion& q) {
  const auto n = static_cast<std::size_t>(q.ranks);
  const auto steps = static_cast<std::size_t>(q.steps);
  int farthest = 0;
  for (int r = 0; r < q.ranks; ++r) farthest = std::max(farthest, distance_of(q, r));
  std::vector<double> of_distance(static_cast<std::size_t>(farthest) + 1, 0.0);
  for (int r = 0; r < q.ranks; ++r) ++of_distance[static_cast<std::size_t>(distance_of(q, r))];
  Lateness out{.of = std::vector(steps, std::vector<double>(of_distance.size(), 0.0)),
               .job = std::vector<double>(steps, 0.0),
               .late = {}};
  const double d = q.delay.count();
  std::vector<double> room;
  for (int twin = 0; twin < q.twins; ++twin) {
    const RandomStream random(q.seed + static_cast<std::uint64_t>(twin), kStream);
    std::vector<double> without(n, 0.0);
    std::vector<double> with(n, 0.0);
    for (std::size_t k = 0; k < steps; ++k) {
      for (std::size_t r = 0; r < n; ++r) {
        const double work =
            own.is_constant() ? own.mean().count() : own.quantile(random.uniform(k, r)).count();
        without[r] += work;
        with[r] += work + (k == 0 && r == 0 ? d : 0);
      }
      out.job[k] += (*std::ranges::max_element(with) - *std::ranges::max_element(without)) / d / q.twins;
      wait_for_each_other(q, without, room);
      wait_for_each_other(q, with, room);
      int late = 0;
      for (std::size_t r = 0; r < n; ++r) {
        const double by = (with[r] - without[r]) / d;
        late += by > kLate ? 1 : 0;
        const auto at = static_cast<std::size_t>(distance_of(q, static_cast<int>(r)));
        out.of[k][at] += by / of_distance[at] / q.twins;
      }
      if (twin == 0) out.late.push_back(late);
    }
  }
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

Wave follow_wave(const Law& own, const WaveQuestion& question) {
  COX_ASSERT(question.ranks >= 2 && question.steps >= 2 && question.twins >= 1 && question.per_group >= 1,
             "a job with ranks, steps and twins");
  COX_ASSERT(question.delay > Seconds{}, "there is a delay");
  Lateness late = play(own, question);
  Wave out;
  out.reaches.assign(late.of[0].size(), 0.0);
  for (const std::vector<double>& step : late.of)
    for (std::size_t h = 0; h < step.size(); ++h) out.reaches[h] = std::max(out.reaches[h], step[h]);
  // The front moves one distance a step: what it brings is what is late there when it can be, for the first time.
  out.front = out.reaches;
  for (std::size_t h = 1; h < out.front.size(); ++h)
    out.front[h] = h <= late.of.size() ? late.of[h - 1][h] : 0;
  if (question.waits != Waits::All) add_speed_and_loss(late, own, question, out);
  out.kept = std::move(late.job);
  out.late = std::move(late.late);
  return out;
}

}  // namespace cox::forecast
