// SPDX-License-Identifier: Apache-2.0
// The mechanisms with one controller per node. The engine of the shared link is the event engine's resource;
// the rest of an iteration is a sum, so no general engine is needed.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cox/base/elementary.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/random.hpp"
#include "cox/base/stats.hpp"
#include "cox/pace/controller.hpp"
#include "cox/simulate/event.hpp"

#include "study/pacing_table/check.hpp"
#include "study/pacing_table/pacing_table.hpp"
#include "study/pacing_table/timeouts.hpp"

namespace cox::study {
namespace {

constexpr std::uint32_t kLoadStream = 0x70;

/// Of one run, whole.
struct RunOutcome {
  double rate = 0;
  double cv = 0;
  double delay_ratio = 0;
};

/// One job: what its nodes do in a step, given their delays.
class Job {
 public:
  Job(Mechanism m, const TableParameters& p, int nodes, const TableAssumptions& assumed, std::uint64_t seed)
      : mechanism_(m),
        p_(p),
        nodes_(nodes),
        slow_(static_cast<int>(std::lround(nodes * assumed.slow_share))),
        fast_compute_(slow_ > 0 ? p.compute / assumed.slow_factor : p.compute),
        variance_(logarithm(1 + p.spread * p.spread)),
        load_(seed, kLoadStream) {
    if (m != Mechanism::Timeouts) return;
    draws_.emplace(seed, assumed.steps);
    timeouts_.emplace(nodes, p.chance, *draws_);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  [[nodiscard]] bool is_slow(int node) const { return node >= nodes_ - slow_; }
  [[nodiscard]] Seconds compute(int node) const { return is_slow(node) ? p_.compute : fast_compute_; }

  /// When each node reaches the synchronisation; `delay` and `arrival` are parallel.
  void arrivals(std::int64_t step, const std::vector<Seconds>& delay, std::vector<Seconds>& arrival) const {
    for (std::size_t i = 0; i < delay.size(); ++i) arrival[i] = delay[i] + compute(static_cast<int>(i));
    if (mechanism_ == Mechanism::Input) add_fetch(step, delay, arrival);
  }
  /// From the last arrival on.
  [[nodiscard]] Seconds reduction(std::int64_t step) const {
    switch (mechanism_) {
      case Mechanism::Input:
        return {};
      case Mechanism::Uplink:
        return p_.per_node * std::max(nodes_ * load(step), p_.alone);
      case Mechanism::Timeouts:
        return transfer() + p_.timeout * timeouts_->longest_chain(step);
    }
    return {};
  }
  /// What a calibration of the collective on the fabric under mean load would give.
  [[nodiscard]] Seconds transfer() const {
    if (mechanism_ == Mechanism::Input) return {};
    if (mechanism_ == Mechanism::Timeouts) return p_.per_node * (nodes_ - 1);
    return p_.per_node * std::max<double>(nodes_, p_.alone);
  }

 private:
  [[nodiscard]] double load(std::int64_t step) const {
    const double z = load_.normal(static_cast<std::uint64_t>(step), 0);
    return exponential(std::sqrt(variance_) * z - variance_ / 2);
  }

  /// Every node fetches one unit over the shared link; those that start together are one job of their weight.
  void add_fetch(std::int64_t step, const std::vector<Seconds>& delay, std::vector<Seconds>& arrival) const {
    std::vector<Seconds> starts = delay;
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    std::vector<Seconds> ends(starts.size());
    std::vector<std::size_t> group(starts.size());  // by number of the resource's job
    simulate::SharedResource link(1 / (p_.per_node.count() * load(step)));
    const auto finish_until = [&](Seconds until) {
      for (auto next = link.next(); next.at <= until && link.jobs() > 0; next = link.next()) {
        ends[group[next.job]] = next.at;
        link.remove(next.at, next.job);
      }
    };
    for (std::size_t g = 0; g < starts.size(); ++g) {
      finish_until(starts[g]);
      const auto count = static_cast<double>(std::count(delay.begin(), delay.end(), starts[g]));
      group[link.add(starts[g], count, count, count / (p_.per_node.count() * p_.alone))] = g;
    }
    finish_until(Seconds{std::numeric_limits<double>::infinity()});
    for (std::size_t i = 0; i < delay.size(); ++i) {
      const auto g = std::lower_bound(starts.begin(), starts.end(), delay[i]) - starts.begin();
      arrival[i] += ends[static_cast<std::size_t>(g)] - delay[i];
    }
  }

  Mechanism mechanism_;
  TableParameters p_;
  int nodes_;
  int slow_;
  Seconds fast_compute_;
  double variance_;
  RandomStream load_;
  std::optional<TimeoutDraws> draws_;
  std::optional<RingTimeouts> timeouts_;
};

RunOutcome run(const Job& job, int nodes, pace::Settings settings, const TableAssumptions& assumed,
               std::uint64_t seed) {
  settings.seed = seed;
  const auto count = static_cast<std::size_t>(nodes);
  std::vector<pace::Controller> controllers;
  controllers.reserve(static_cast<std::size_t>(nodes));
  for (int i = 0; i < nodes; ++i)
    controllers.emplace_back(settings, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(nodes));
  const bool is_paced = settings.mode > pace::Mode::Observe;
  const Duration transfer = duration_from_seconds(job.transfer().count());
  std::vector<Seconds> delay(count);
  std::vector<Seconds> arrival(count);
  Welford iterations;
  double delayed = 0;
  for (int step = 0; step < assumed.steps; ++step) {
    if (is_paced)
      for (std::size_t i = 0; i < count; ++i) delay[i] = Seconds{controllers[i].decide().delay};
    job.arrivals(step, delay, arrival);
    const Seconds end = *std::max_element(arrival.begin(), arrival.end()) + job.reduction(step);
    iterations.add(end.count());
    delayed += delay[0].count();  // node 0 is fast
    if (!is_paced) continue;
    for (std::size_t i = 0; i < count; ++i)
      controllers[i].observe({.step = static_cast<std::uint64_t>(step),
                              .work = duration_from_seconds((arrival[i] - delay[i]).count()),
                              .sync = duration_from_seconds((end - arrival[i]).count()),
                              .transfer = transfer,
                              .delayed = duration_from_seconds(delay[i].count())});
  }
  return {.rate = static_cast<double>(nodes) * assumed.samples_per_node / iterations.mean(),
          .cv = iterations.cv(),
          .delay_ratio = delayed / assumed.steps / iterations.mean()};
}

struct Mean {
  double value = 0;
  double half_width_95 = 0;
};
Mean mean_of(const std::vector<double>& sample) {
  Welford all;
  for (const double v : sample) all.add(v);
  return {.value = all.mean(), .half_width_95 = sample.size() > 1 ? student_half_width(all, 0.025) : 0};
}

/// `paced` and `off` are parallel over seeds, with common draws.
PredictedRow summarise(int nodes, const std::vector<RunOutcome>& paced, const std::vector<RunOutcome>& off) {
  std::vector<double> rate;
  std::vector<double> gain;
  std::vector<double> cv;
  std::vector<double> delay;
  for (std::size_t i = 0; i < paced.size(); ++i) {
    rate.push_back(paced[i].rate);
    gain.push_back(paced[i].rate / off[i].rate - 1);
    cv.push_back(paced[i].cv);
    delay.push_back(paced[i].delay_ratio);
  }
  return {.nodes = nodes,
          .rate = mean_of(rate).value,
          .rate_half_width_95 = mean_of(rate).half_width_95,
          .gain = mean_of(gain).value,
          .gain_half_width_95 = mean_of(gain).half_width_95,
          .cv = mean_of(cv).value,
          .cv_half_width_95 = mean_of(cv).half_width_95,
          .delay_ratio = mean_of(delay).value};
}

}  // namespace

Result<std::vector<PredictedRow>> predict_table(Mechanism m, const TableParameters& p,
                                                std::span<const int> sizes, const pace::Settings& settings,
                                                const TableAssumptions& assumed,
                                                const ComputeOptions& options) {
  COX_CHECK(check_assumptions(assumed));
  COX_CHECK(check_sizes(sizes, assumed));
  COX_CHECK(check_parameters(m, p));
  const auto seeds = static_cast<std::size_t>(assumed.seeds);
  std::vector<RunOutcome> paced(sizes.size() * seeds);
  std::vector<RunOutcome> off(paced.size());
  pace::Settings none = settings;
  none.mode = pace::Mode::Off;
  parallel_for(paced.size(), options.threads, [&](std::size_t i) {
    const int nodes = sizes[i / seeds];
    const std::uint64_t seed = i % seeds + 1;
    const Job job(m, p, nodes, assumed, seed);
    off[i] = run(job, nodes, none, assumed, seed);
    paced[i] = settings.mode == pace::Mode::Off ? off[i] : run(job, nodes, settings, assumed, seed);
  });
  std::vector<PredictedRow> out;
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    const auto from = static_cast<std::ptrdiff_t>(s * seeds);
    const auto to = static_cast<std::ptrdiff_t>((s + 1) * seeds);
    out.push_back(summarise(sizes[s], {paced.begin() + from, paced.begin() + to},
                            {off.begin() + from, off.begin() + to}));
  }
  return out;
}

}  // namespace cox::study
