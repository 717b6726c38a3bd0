// SPDX-License-Identifier: Apache-2.0
#include "evaluate/learning/race.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"
#include "cox/base/parallel.hpp"
#include "cox/study/replicas.hpp"

namespace cox::evaluate {

using sync::StreamEvent;

Racer::Racer(const Race& race) : race_(race) {
  auto problem = learn::make_problem(race.problem);
  COX_ASSERT(problem.has_value(), "a study's problem is in range");
  problem_ = std::move(*problem);
  learner_ = std::make_unique<learn::Learner>(
      *problem_, learn::OptimizerSpec{.kind = learn::OptimizerKind::Sgd, .rate = race.rate}, race.way,
      race.share, race.workers);
  first_ = problem_->score(learner_->parameters()).loss;
}

bool Racer::take(const StreamEvent& event, Seconds at) {
  constexpr double kHopeless = 1e6;
  if (finish_.reached || finish_.lost || finish_.versions >= race_.versions) return false;
  finish_.time = at;
  finish_.lost = !learner_->take(event);
  if (event.kind == StreamEvent::Kind::Delivered) {
    ++finish_.delivered;
    finish_.steps += static_cast<double>(event.update.steps) / race_.workers;
    const std::int64_t age = event.update.age();
    finish_.discarded += event.update.applied ? 0 : 1;
    finish_.ages += event.update.applied ? age : 0;
    if (event.update.applied) finish_.largest_age = std::max(finish_.largest_age, age);
  }
  if (event.kind == StreamEvent::Kind::Advanced && !finish_.lost) {
    finish_.versions = learner_->version();
    finish_.loss = problem_->score(learner_->parameters()).loss / first_;
    finish_.sent = learner_->sent();
    finish_.lost = !(finish_.loss <= kHopeless);
    const bool below = finish_.loss <= race_.target;
    if (below && !std::exchange(below_, below)) crossed_ = finish_;
    below_ = below;
    if (below && finish_.versions >= crossed_.versions + race_.calm) {
      finish_ = crossed_;
      finish_.reached = true;
    }
  }
  return !finish_.reached && !finish_.lost && finish_.versions < race_.versions;
}

void stream_aged(int most, const AgeOf& age, const std::function<bool(const StreamEvent&, Seconds)>& take) {
  const std::int64_t slots = most + 1;
  // Updates that are to read a version, by that version: those that any of the next `most` updates may belong to.
  std::vector<std::vector<std::int64_t>> readers(static_cast<std::size_t>(slots));
  std::vector<std::int64_t> reads(static_cast<std::size_t>(slots));
  const auto slot = [&](std::int64_t n) { return static_cast<std::size_t>(n % slots); };
  const auto plan = [&](std::int64_t n) {
    const std::int64_t version = std::max<std::int64_t>(0, n - std::clamp(age(n), 0, most));
    reads[slot(n)] = version;
    readers[slot(version)].push_back(n);
  };
  const auto read = [&](std::int64_t version) {
    for (const std::int64_t n : std::exchange(readers[slot(version)], {}))
      if (!take({.kind = StreamEvent::Kind::Read,
                 .update = {.worker = static_cast<int>(n % slots), .version_read = version}},
                {}))
        return false;
    return true;
  };
  // Everybody has read version 0 at the beginning: they drop it, and read when it is their time.
  for (int w = 0; w <= most; ++w)
    if (!take({.kind = StreamEvent::Kind::Delivered, .update = {.worker = w, .applied = false}}, {})) return;
  for (std::int64_t n = 0; n < most; ++n) plan(n);
  for (std::int64_t n = 0;; ++n) {
    plan(n + most);
    if (!read(n)) return;
    const sync::Update update{
        .worker = static_cast<int>(n % slots), .version_read = reads[slot(n)], .version_applied = n};
    if (!take({.kind = StreamEvent::Kind::Delivered, .update = update}, {})) return;
    if (!take({.kind = StreamEvent::Kind::Advanced, .update = {.version_applied = n + 1}}, {})) return;
  }
}

std::vector<Finish> race_rates(const Race& race, std::span<const double> rates, const Stream& stream,
                               double patience) {
  std::vector<Racer> racers;
  for (const double rate : rates) {
    Race one = race;
    one.rate = rate;
    racers.emplace_back(one);
  }
  std::int64_t events = 0;
  double end = 0;  // as events, once somebody is there
  stream([&](const StreamEvent& e, Seconds at) {
    ++events;
    bool any = false;
    for (Racer& r : racers) {
      any = r.take(e, at) || any;
      if (end == 0 && r.finish().reached) end = patience * static_cast<double>(events);
    }
    return any && (end == 0 || static_cast<double>(events) < end);
  });
  std::vector<Finish> out;
  out.reserve(racers.size());
  for (const Racer& r : racers) out.push_back(r.finish());
  return out;
}

std::optional<std::size_t> best_of(std::span<const Finish> finishes, const Cost& cost) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < finishes.size(); ++i)
    if (finishes[i].reached && (!best || cost(finishes[i]) < cost(finishes[*best]))) best = i;
  return best;
}

std::vector<double> rates_around(std::span<const double> rates, double best) {
  constexpr int kBetween = 3;
  std::vector<double> out;
  for (const bool up : {false, true}) {
    std::optional<double> next;
    for (const double r : rates)
      if (up ? r > best && (!next || r < *next) : r < best && (!next || r > *next)) next = r;
    if (!next) continue;
    for (int k = 1; k <= kBetween; ++k)
      out.push_back(best * power(*next / best, static_cast<double>(k) / (kBetween + 1)));
  }
  return out;
}

std::optional<BestRate> race_best(const Race& race, std::span<const double> rates, const Stream& stream,
                                  const Cost& cost, double patience) {
  std::optional<BestRate> best;
  const auto try_all = [&](std::span<const double> some) {
    const auto finishes = race_rates(race, some, stream, patience);
    const auto at = best_of(finishes, cost);
    if (at && (!best || cost(finishes[*at]) < cost(best->finish)))
      best = BestRate{.rate = some[*at], .finish = finishes[*at]};
  };
  try_all(rates);
  if (best) try_all(rates_around(rates, best->rate));
  return best;
}

bool Tuned::reached() const {
  return !runs.empty() && std::ranges::all_of(runs, [](const Finish& f) { return f.reached; });
}

std::vector<double> Tuned::each(const Cost& value) const {
  std::vector<double> out;
  out.reserve(runs.size());
  for (const Finish& f : runs) out.push_back(value(f));
  return out;
}

double Tuned::mean(const Cost& value) const {
  double sum = 0;
  for (const Finish& f : runs) sum += value(f);
  return runs.empty() ? 0 : sum / static_cast<double>(runs.size());
}

namespace {

/// Rates that reach the target on each of the seeds that were tried, the one with the least worst cost first.
std::vector<double> by_cost(std::span<const double> rates, std::span<const std::vector<Finish>> tried,
                            const Cost& cost) {
  std::vector<std::pair<double, double>> found;  // cost, rate
  for (std::size_t r = 0; r < rates.size(); ++r) {
    double worst = 0;
    bool all = true;
    for (const auto& finishes : tried) {
      all = all && finishes[r].reached;
      worst = std::max(worst, cost(finishes[r]));
    }
    if (all) found.emplace_back(worst, rates[r]);
  }
  std::ranges::stable_sort(found, {}, &std::pair<double, double>::first);
  std::vector<double> out;
  out.reserve(found.size());
  for (const auto& [worst, rate] : found) out.push_back(rate);
  return out;
}

}  // namespace

Tuned race_tuned(const Race& race, std::span<const double> rates, int seeds,
                 const std::function<Stream(std::uint64_t)>& stream, const Cost& cost, int threads,
                 int tuning_seeds) {
  constexpr std::uint64_t kFirst = 1000;  // of those that choose
  constexpr double kAllOfIt = 0;
  const auto run = [&](std::span<const double> with, std::uint64_t seed, double patience) {
    Race one = race;
    one.problem.seed = static_cast<std::int64_t>(seed);
    return race_rates(one, with, stream(seed), patience);
  };
  const auto order = [&](std::span<const double> with, double patience) {
    std::vector<std::vector<Finish>> tried(static_cast<std::size_t>(tuning_seeds));
    parallel_for(tried.size(), threads, [&](std::size_t i) { tried[i] = run(with, kFirst + i, patience); });
    return by_cost(with, tried, cost);
  };
  std::vector<double> good = order(rates, 2);
  // Where a rate is lucky on one seed, all others are cut off there: then they are waited for.
  if (good.empty()) good = order(rates, kAllOfIt);
  if (!good.empty()) {
    std::vector<double> near = rates_around(rates, good.front());
    near.push_back(good.front());
    std::vector<double> finer = order(near, 2);
    std::ranges::copy_if(good, std::back_inserter(finer),
                         [&](double r) { return std::ranges::find(finer, r) == finer.end(); });
    good = std::move(finer);
  }
  Tuned first;
  for (const double rate : good) {
    Tuned one{.rate = rate, .runs = std::vector<Finish>(static_cast<std::size_t>(seeds))};
    parallel_for(one.runs.size(), threads,
                 [&](std::size_t i) { one.runs[i] = run(std::span(&rate, 1), i + 1, kAllOfIt).front(); });
    if (one.reached()) return one;
    if (first.rate == 0) first = std::move(one);
  }
  return first;
}

void add_value(study::Computation& out, std::string name, study::Quantity value, std::string_view engine) {
  out.values.push_back({.name = std::move(name), .value = value, .engine = engine, .half_width_95 = {}});
}

void add_learned(study::Computation& out, std::string name, study::Dimension d,
                 const std::vector<double>& sample) {
  study::add_mean(out, std::move(name), d, sample);
  out.values.back().engine = kLearning;
}

}  // namespace cox::evaluate
