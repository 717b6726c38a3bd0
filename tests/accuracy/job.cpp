// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "cox/base/hash.hpp"

namespace cox::accuracy {
namespace {

constexpr double kStep = 0.1;         // seconds of own work per step
constexpr double kLeastWork = 0.05;   // of the usual, whatever the noise
constexpr double kTransfer = 0.0005;  // seconds
constexpr int kRanksPerHost = 4;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : bits_(seed) {}
  double uniform() { return (static_cast<double>(bits_.next() >> 11) + 0.5) / 9007199254740992.0; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

 private:
  SplitMix bits_;
};

/// One column of noise per position: [step][rank], any scale.
std::vector<double> draw_noise(const JobShape& s, Draw& draw) {
  const auto ranks = static_cast<std::size_t>(s.ranks);
  std::vector<double> z(static_cast<std::size_t>(s.steps) * ranks);
  for (std::size_t i = 0; i < z.size(); ++i) {
    switch (s.noise) {
      case Noise::Normal:
        z[i] = draw.normal();
        break;
      case Noise::Skewed:
        z[i] = -std::log(draw.uniform());
        break;
      case Noise::HeavyTail:
        z[i] = std::min(50.0, std::pow(draw.uniform(), -1 / 1.7));
        break;
      case Noise::Wandering:
        z[i] = (i < ranks ? 0 : s.correlation * z[i - ranks]) +
               std::sqrt(1 - s.correlation * s.correlation) * draw.normal();
        break;
      case Noise::Crowded:
        z[i] = 0.3 * draw.normal() + (draw.uniform() < 0.05 ? 2 + 2 * draw.uniform() : 0);
        // Who shares the core is held up a little by the same.
        if (i % ranks % 2 == 1 && z[i - 1] > 1.5) z[i] += 1;
        break;
    }
  }
  return z;
}

/// Some ranks are more restless than others.
void make_uneven(std::vector<double>& z, std::size_t ranks, double sigma, Draw& draw) {
  std::vector<double> much(ranks);
  for (double& m : much) m = std::exp(sigma * draw.normal());
  for (std::size_t i = 0; i < z.size(); ++i) z[i] *= much[i % ranks];
}

double mean_cost(const std::vector<double>& column, std::size_t ranks) {
  double sum = 0;
  std::vector<double> row;
  for (std::size_t from = 0; from < column.size(); from += ranks) {
    row.assign(column.begin() + static_cast<std::ptrdiff_t>(from),
               column.begin() + static_cast<std::ptrdiff_t>(from + ranks));
    const auto middle = row.begin() + static_cast<std::ptrdiff_t>((ranks - 1) / 2);
    std::nth_element(row.begin(), middle, row.end());
    sum += *std::max_element(middle, row.end()) - *middle;
  }
  return sum / (static_cast<double>(column.size()) / static_cast<double>(ranks));
}

}  // namespace

NoisyJob::NoisyJob(const JobShape& shape)
    : shape_(shape),
      work_(static_cast<std::size_t>(shape.ranks) * static_cast<std::size_t>(shape.steps) *
            static_cast<std::size_t>(shape.positions)) {
  Draw draw(shape.seed);
  const auto ranks = static_cast<std::size_t>(shape.ranks);
  double parts = 0;
  std::vector<double> base;
  for (int p = 0; p < shape.positions; ++p) parts += base.emplace_back(0.5 + draw.uniform());
  for (int p = 0; p < shape.positions; ++p) {
    const double usual = kStep * base[static_cast<std::size_t>(p)] / parts;
    std::vector<double> z = draw_noise(shape, draw);
    if (shape.uneven > 0) make_uneven(z, ranks, shape.uneven, draw);
    const double scale = shape.unit * kStep / mean_cost(z, ranks);
    std::vector<double> column(z.size());
    std::vector<double> own(ranks, 0);
    if (shape.unlike > 0)
      for (double& more : own) more = shape.unlike * kStep * draw.uniform();
    for (int s = 0; s < shape.steps; ++s)
      for (int r = 0; r < shape.ranks; ++r) {
        const std::size_t i = static_cast<std::size_t>(s) * ranks + static_cast<std::size_t>(r);
        column[i] = std::max(kLeastWork * usual, usual + own[static_cast<std::size_t>(r)] + scale * z[i]);
        column[i] = told(column[i]);
        work_[at(r, s, p)] = column[i];
      }
    units_.push_back(mean_cost(column, ranks));
  }
}

double NoisyJob::resolution() const {
  return shape_.resolution * kStep;
}

double NoisyJob::told(double seconds) const {
  const double unit = resolution();
  return unit > 0 ? unit * std::round(seconds / unit) : seconds;
}

trace::Run NoisyJob::run() const {
  using std::to_string;
  const auto ranks = static_cast<std::size_t>(shape_.ranks);
  trace::Run run;
  run.info.provenance = trace::Provenance::Simulated;
  run.world_size = shape_.ranks;
  const int hosts = shape_.apart ? (shape_.ranks + kRanksPerHost - 1) / kRanksPerHost : 1;
  for (int n = 0; n < std::max(2, hosts) && (n == 0 || shape_.apart); ++n)
    run.nodes.push_back({NodeId{n}, "node" + to_string(n), ""});
  trace::Communicator world{};
  world.id = CommId{0};
  world.name = "world";
  world.size = shape_.ranks;
  for (int r = 0; r < shape_.ranks; ++r) {
    world.ranks.emplace_back(r);
    trace::RankTrack track;
    track.rank = Rank{r};
    track.node = NodeId{r * static_cast<int>(run.nodes.size()) / shape_.ranks};
    run.ranks.push_back(std::move(track));
  }
  run.communicators.push_back(std::move(world));

  Draw draw(shape_.seed ^ 0x5bd1e995);
  std::vector<double> free_at(ranks, 0.005);
  std::vector<double> entry(ranks);
  std::vector<double> offset(ranks, 0);
  if (shape_.apart)
    for (std::size_t r = 0; r < ranks; ++r)
      offset[r] = 3.0 * static_cast<double>(run.ranks[r].node.value()) + 1;
  std::uint32_t seq = 0;
  for (int s = 0; s < shape_.steps; ++s) {
    for (std::size_t r = 0; r < ranks; ++r)
      run.ranks[r].events.push_back({.kind = trace::EventKind::Step,
                                     .begin = duration_from_seconds(free_at[r] + offset[r]),
                                     .end = duration_from_seconds(free_at[r] + offset[r]),
                                     .bytes = Bytes{s}});
    for (int p = 0; p < shape_.positions; ++p, ++seq) {
      for (std::size_t r = 0; r < ranks; ++r) entry[r] = free_at[r] + work_[at(static_cast<int>(r), s, p)];
      const double latest = *std::max_element(entry.begin(), entry.end());
      for (std::size_t r = 0; r < ranks; ++r) {
        // Apart: nobody waits for everybody, as where a result is handed on piece by piece; the next
        // synchronisation begins as far apart as the last one ended.
        const double arrived = shape_.apart ? 0.3 * latest + 0.7 * entry[r] : latest;
        free_at[r] = arrived + kTransfer * (shape_.apart ? 1 + 4 * draw.uniform() : 1);
        run.ranks[r].events.push_back({.kind = trace::EventKind::Collective,
                                       .op = static_cast<std::uint8_t>(model::Collective::AllReduce),
                                       .begin = duration_from_seconds(entry[r] + offset[r]),
                                       .end = duration_from_seconds(free_at[r] + offset[r]),
                                       .bytes = Bytes{1'000'000},
                                       .comm = CommId{0},
                                       .seq = seq});
      }
    }
  }
  return run;
}

}  // namespace cox::accuracy
