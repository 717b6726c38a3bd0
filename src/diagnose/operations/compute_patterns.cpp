// SPDX-License-Identifier: Apache-2.0
#include "diagnose/operations/compute_patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/stats.hpp"

#include "diagnose/operations/operation_what_if_model.hpp"

namespace cox::diagnose {
namespace {

constexpr double kCorrelated = 0.8;
constexpr double kUneven = 0.05;
constexpr std::size_t kLeastPairs = 20;
constexpr double kSlower = 0.03;
constexpr double kAgree = 0.75;
constexpr std::int64_t kLeastSteps = 10;
constexpr double kByChance = 1e-3;
constexpr double kStandsOut = 0.05;
constexpr double kMostOfOne = 0.6;

double lower_median(std::vector<double>& sample) {
  const auto middle = sample.begin() + static_cast<std::ptrdiff_t>((sample.size() - 1) / 2);
  std::nth_element(sample.begin(), middle, sample.end());
  return *middle;
}

/// Seconds of both passes of one micro-batch on one worker in one step.
struct Passes {
  double forward = 0;
  double backward = 0;
};

/// Compute by worker (index into the program's ranks), step and micro-batch.
using Computes = std::map<std::tuple<std::uint32_t, std::int32_t, std::int32_t>, Passes>;

Computes computes_of(const model::Program& p) {
  Computes out;
  if (p.step.empty() || p.duration.empty() || p.rank.empty() || p.name.empty()) return out;
  std::vector<OperationRole> roles;
  roles.reserve(p.names.size());
  for (const std::string& name : p.names) roles.push_back(rule_of(name).role);
  for (std::size_t i = 0; i < p.rank.size(); ++i) {
    if (p.step[i] < 0 || p.duration[i] == model::kNoDuration || p.name[i] >= roles.size()) continue;
    const OperationRole role = roles[p.name[i]];
    if (role != OperationRole::ForwardCompute && role != OperationRole::BackwardCompute) continue;
    Passes& passes = out[{p.rank[i], p.step[i], p.micro_batch.empty() ? -1 : p.micro_batch[i]}];
    (role == OperationRole::ForwardCompute ? passes.forward : passes.backward) += in_seconds(p.duration[i]);
  }
  return out;
}

double correlation_of(const std::vector<double>& a, const std::vector<double>& b) {
  Welford x;
  Welford y;
  for (const double v : a) x.add(v);
  for (const double v : b) y.add(v);
  double products = 0;
  for (std::size_t i = 0; i < a.size(); ++i) products += (a[i] - x.mean()) * (b[i] - y.mean());
  const double scale = x.stddev() * y.stddev() * static_cast<double>(a.size() - 1);
  return scale > 0 ? products / scale : 0;
}

/// Each pass over the median of those around it, less 1: blocks of `kAround`, the last one longer.
void add_against_usual(const std::vector<double>& passes, std::vector<double>& out) {
  constexpr std::size_t kAround = 20;
  for (std::size_t from = 0; from < passes.size();) {
    const std::size_t to = from + 2 * kAround > passes.size() ? passes.size() : from + kAround;
    const auto at = [&](std::size_t i) { return passes.begin() + static_cast<std::ptrdiff_t>(i); };
    const double usual = median({at(from), at(to)});
    for (; from < to; ++from) out.push_back(passes[from] / usual - 1);
  }
}

std::optional<UnevenMicroBatches> uneven_micro_batches(const Computes& computes) {
  std::map<std::uint32_t, std::vector<Passes>> by_worker;
  for (const auto& [key, passes] : computes)
    if (std::get<2>(key) >= 0 && passes.forward > 0 && passes.backward > 0)
      by_worker[std::get<0>(key)].push_back(passes);
  std::vector<double> forward;
  std::vector<double> backward;
  for (const auto& [worker, all] : by_worker) {
    std::vector<double> f;
    std::vector<double> b;
    for (const Passes& p : all) {
      f.push_back(p.forward);
      b.push_back(p.backward);
    }
    add_against_usual(f, forward);
    add_against_usual(b, backward);
  }
  if (forward.size() < kLeastPairs) return std::nullopt;
  // One wild operation is no correlation: what lies far out counts as far out, no further.
  const auto tame = [](std::vector<double> values) {
    const double limit = 5 * std::max(scaled_mad(values), 1e-12);
    const double middle = median(values);
    for (double& v : values) v = std::clamp(v, middle - limit, middle + limit);
    return values;
  };
  UnevenMicroBatches out{.spread = scaled_mad(forward), .pairs = static_cast<std::int64_t>(forward.size())};
  out.correlation = correlation_of(tame(forward), tame(backward));
  if (out.correlation < kCorrelated || out.spread < kUneven) return std::nullopt;
  return out;
}

/// Compute of each worker in each step, in seconds.
std::map<std::uint32_t, std::map<std::int32_t, double>> by_step(const Computes& computes) {
  std::map<std::uint32_t, std::map<std::int32_t, double>> out;
  for (const auto& [key, p] : computes) out[std::get<0>(key)][std::get<1>(key)] += p.forward + p.backward;
  return out;
}

using Sums = std::map<std::uint32_t, std::map<std::int32_t, double>>;

std::vector<SlowerThanPeers> slower_workers(const model::Program& p, const Sums& sums) {
  std::map<int, std::vector<std::uint32_t>> stages;
  for (const auto& [worker, steps] : sums) stages[p.ranks[worker].role.pipeline].push_back(worker);
  std::vector<SlowerThanPeers> out;
  for (const auto& [stage, workers] : stages) {
    if (workers.size() < 2) continue;
    std::map<std::int32_t, std::vector<double>> of_step;
    for (const auto w : workers)
      for (const auto& [step, seconds] : sums.at(w)) of_step[step].push_back(seconds);
    for (const auto w : workers) {
      std::vector<double> excess;
      SlowerThanPeers slow{.rank = p.ranks[w].rank, .stage = stage};
      for (const auto& [step, seconds] : sums.at(w)) {
        std::vector<double> peers = of_step[step];
        if (peers.size() < 2) continue;
        excess.push_back(seconds / lower_median(peers) - 1);
        slow.late_steps += excess.back() >= kSlower / 2;
      }
      slow.steps = static_cast<std::int64_t>(excess.size());
      if (slow.steps < kLeastSteps) continue;
      slow.excess = median_in_place(excess);
      slow.chance = std::min(
          1.0, binomial_upper_tail(slow.late_steps, slow.steps, 0.5) * static_cast<double>(sums.size()));
      if (slow.excess >= kSlower && slow.chance < kByChance &&
          static_cast<double>(slow.late_steps) >= kAgree * static_cast<double>(slow.steps))
        out.push_back(slow);
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const SlowerThanPeers& a, const SlowerThanPeers& b) { return a.excess > b.excess; });
  return out;
}

/// Each pass of a worker over the lower median of its like's over the same micro-batch, less 1.
std::map<std::uint32_t, std::vector<double>> excess_by_pass(const model::Program& p,
                                                            const Computes& computes) {
  using Place = std::tuple<int, std::int32_t, std::int32_t, bool>;  // stage, step, micro-batch, which pass
  std::map<Place, std::vector<std::pair<std::uint32_t, double>>> alike;
  for (const auto& [key, passes] : computes) {
    const auto& [worker, step, batch] = key;
    const int stage = p.ranks[worker].role.pipeline;
    if (passes.forward > 0) alike[{stage, step, batch, true}].emplace_back(worker, passes.forward);
    if (passes.backward > 0) alike[{stage, step, batch, false}].emplace_back(worker, passes.backward);
  }
  std::map<std::uint32_t, std::vector<double>> excess;
  for (const auto& [place, all] : alike) {
    std::vector<double> peers;
    for (const auto& [worker, seconds] : all) peers.push_back(seconds);
    const double usual = peers.size() < 2 ? 0 : lower_median(peers);
    for (const auto& [worker, seconds] : all) {
      auto& of_worker = excess[worker];
      if (usual > 0) of_worker.push_back(seconds / usual - 1);
    }
  }
  return excess;
}

/// Whether the others are as good as equal: their means over the passes are below a fiftieth of this worker's.
bool is_alone(const std::map<std::uint32_t, double>& means, std::uint32_t worker) {
  constexpr std::size_t kLeastWorkers = 3;
  constexpr double kNothing = 0.02;
  return means.size() >= kLeastWorkers && std::all_of(means.begin(), means.end(), [&](const auto& other) {
           return other.first == worker || std::abs(other.second) <= kNothing * means.at(worker);
         });
}

/// Who is slower than its like, with passes as the repetitions.
void ask_passes(const model::Program& p, const Computes& computes, ComputePatterns& out) {
  const auto excess = excess_by_pass(p, computes);
  std::map<std::uint32_t, double> means;
  for (const auto& [worker, all] : excess) {
    Welford mean;
    for (const double e : all) mean.add(e);
    means[worker] = mean.mean();
  }
  bool first = true;
  for (const auto& [worker, all] : excess) {
    const auto passes = static_cast<std::int64_t>(all.size());
    out.passes = first ? passes : std::min(out.passes, passes);
    first = false;
    if (passes == 0) continue;
    const auto late = std::count_if(all.begin(), all.end(), [](double e) { return e >= kSlower / 2; });
    const double chance = binomial_upper_tail(late, passes, 0.5) * static_cast<double>(excess.size());
    std::vector<double> sample = all;
    const bool many = passes >= kLeastSteps && median_in_place(sample) >= kSlower && chance < kByChance &&
                      static_cast<double>(late) >= kAgree * static_cast<double>(passes);
    if (many || (passes < kLeastSteps && means[worker] >= kSlower && is_alone(means, worker)))
      out.slower_in_passes.push_back(p.ranks[worker].rank);
  }
}

std::optional<ReplicaTurns> turns_of(const model::Program& p, const Sums& sums) {
  // A replica is as slow as its slowest stage against that stage's usual.
  std::map<std::int32_t, std::map<int, double>> replicas;  // step, data rank
  std::map<std::pair<std::int32_t, int>, std::vector<double>> of_stage;
  for (const auto& [w, steps] : sums)
    for (const auto& [step, seconds] : steps) of_stage[{step, p.ranks[w].role.pipeline}].push_back(seconds);
  for (const auto& [w, steps] : sums)
    for (const auto& [step, seconds] : steps) {
      std::vector<double> peers = of_stage[{step, p.ranks[w].role.pipeline}];
      if (peers.size() < 3) continue;
      double& worst = replicas[step].try_emplace(p.ranks[w].role.data, 0.0).first->second;
      worst = std::max(worst, seconds / lower_median(peers) - 1);
    }
  ReplicaTurns out;
  std::map<int, std::int64_t> times;
  std::vector<double> excess;
  for (const auto& [step, of] : replicas) {
    ++out.steps;
    const auto worst = std::max_element(of.begin(), of.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
    if (worst->second < kStandsOut) continue;
    ++times[worst->first];
    excess.push_back(worst->second);
  }
  out.standing_out = static_cast<std::int64_t>(excess.size());
  if (out.steps < kLeastSteps || 3 * out.standing_out < out.steps) return std::nullopt;
  const auto most = std::max_element(times.begin(), times.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  out.most_often = most->first;
  out.share = static_cast<double>(most->second) / static_cast<double>(out.standing_out);
  out.excess = median_in_place(excess);
  out.changes = out.share <= kMostOfOne && times.size() >= 3;
  return out;
}

/// All that ranks do by themselves: both passes, and what a stage has beside them (a loss, an optimizer).
/// What the usual rank of each stage computes in each step.
std::map<std::int32_t, std::map<int, double>> stages_by_step(const model::Program& p, const Sums& sums) {
  std::map<std::int32_t, std::map<int, std::vector<double>>> samples;
  for (const auto& [worker, steps] : sums)
    for (const auto& [step, seconds] : steps) samples[step][p.ranks[worker].role.pipeline].push_back(seconds);
  std::map<std::int32_t, std::map<int, double>> out;
  for (auto& [step, stages] : samples)
    for (auto& [stage, sample] : stages) out[step][stage] = lower_median(sample);
  return out;
}

bool lasts(const StageLength& s, const std::map<std::int32_t, std::map<int, double>>& steps) {
  std::int64_t asked = 0;
  std::int64_t longer = 0;
  for (const auto& [step, stages] : steps) {
    const auto mine = stages.find(s.stage);
    std::vector<double> others;
    for (const auto& [stage, seconds] : stages)
      if (stage != s.stage) others.push_back(seconds);
    if (mine == stages.end() || others.empty()) continue;
    ++asked;
    longer += mine->second >= (1 + s.excess / 2) * median_in_place(others);
  }
  return asked < kLeastSteps || static_cast<double>(longer) >= kAgree * static_cast<double>(asked);
}

std::vector<StageLength> lengths_of(const model::Program& p) {
  std::vector<bool> own;
  own.reserve(p.names.size());
  for (const std::string& name : p.names) own.push_back(!rule_of(name).is_communication);
  Sums sums;
  for (std::size_t i = 0; i < p.rank.size(); ++i)
    if (own[p.name[i]] && p.step[i] >= 0 && p.duration[i] != model::kNoDuration)
      sums[p.rank[i]][p.step[i]] += in_seconds(p.duration[i]);
  std::map<int, std::vector<double>> of_stage;
  for (const auto& [worker, steps] : sums) {
    std::vector<double> sample;
    sample.reserve(steps.size());
    for (const auto& [step, seconds] : steps) sample.push_back(seconds);
    of_stage[p.ranks[worker].role.pipeline].push_back(median_in_place(sample));
  }
  std::map<int, double> usual;
  for (auto& [stage, sample] : of_stage) usual[stage] = lower_median(sample);
  std::vector<StageLength> out;
  if (usual.size() < 2) return out;
  for (const auto& [stage, seconds] : usual) {
    std::vector<double> others;
    for (const auto& [other, length] : usual)
      if (other != stage) others.push_back(length);
    const double middle = median_in_place(others);
    if (middle > 0) out.push_back({stage, seconds / middle - 1});
  }
  const std::map<std::int32_t, std::map<int, double>> steps = stages_by_step(p, sums);
  for (StageLength& s : out) s.lasts = lasts(s, steps);
  return out;
}

}  // namespace

bool ComputePatterns::is_longer(int stage) const {
  const auto at =
      std::find_if(stages.begin(), stages.end(), [&](const StageLength& s) { return s.stage == stage; });
  return at == stages.end() || (at->excess >= kSlower && at->lasts);
}

ComputePatterns find_compute_patterns(const model::Program& program) {
  const Computes computes = computes_of(program);
  if (computes.empty()) return {};
  const Sums sums = by_step(computes);
  ComputePatterns out{.micro_batches = uneven_micro_batches(computes),
                      .workers = slower_workers(program, sums),
                      .replicas = turns_of(program, sums),
                      .stages = lengths_of(program),
                      .slower_in_passes = {}};
  ask_passes(program, computes, out);
  return out;
}

std::vector<std::string> notes_of(const ComputePatterns& p) {
  std::vector<std::string> notes;
  if (p.micro_batches)
    notes.push_back(fmt::format(
        "micro-batches are uneven: forward and backward of the same one are long together (correlation {:.2f}, spread "
        "{}): their work differs (sequence lengths), not their workers",
        p.micro_batches->correlation, percent(p.micro_batches->spread)));
  constexpr std::size_t kTold = 4;
  for (std::size_t i = 0; i < p.workers.size() && i < kTold; ++i)
    notes.push_back(
        fmt::format("rank {} computes {} longer than its like{}, in {} of {} steps",
                    p.workers[i].rank.value(), percent(p.workers[i].excess),
                    p.workers[i].stage < 0 ? std::string() : fmt::format(" in stage {}", p.workers[i].stage),
                    p.workers[i].late_steps, p.workers[i].steps));
  if (p.replicas && p.replicas->changes)
    notes.push_back(fmt::format(
        "another replica is slow from step to step: in {} of {} steps one takes {} longer than the median one, none in "
        "more than {} of them: work that is dealt out anew, no slow worker",
        p.replicas->standing_out, p.replicas->steps, percent(p.replicas->excess),
        percent(p.replicas->share)));
  else if (p.replicas && p.replicas->most_often >= 0 && p.replicas->share >= kAgree)
    notes.push_back(fmt::format("replica {} is the slow one in {} of the {} steps in which one stands out",
                                p.replicas->most_often, percent(p.replicas->share),
                                p.replicas->standing_out));
  return notes;
}

}  // namespace cox::diagnose
