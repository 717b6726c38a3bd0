// SPDX-License-Identifier: Apache-2.0
#include "forecast/scenario/stated_scenario.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cox/model/closed_form.hpp"

namespace cox::forecast {
namespace {

constexpr int kSteps = 200;
/// Ten petabytes a second: what a sum takes is latency.
constexpr TimePerByte kHardlyAny = TimePerByte::seconds_per_byte(1e-16);

/// A sum of eight bytes that takes so long.
void add_sum(model::Scenario& s, model::TrainingJob& job, Seconds time) {
  const model::CollectiveSpec sum{.kind = model::Collective::AllReduce,
                                  .algorithm = model::Algorithm::RecursiveDoubling,
                                  .ranks = static_cast<int>(s.cluster.ranks()),
                                  .bytes = Bytes{8}};
  model::MessageCost one;
  one.latency = Seconds{1};
  const double rounds = sum.ranks > 1 ? model::closed_form(sum, one).value_or(Seconds{}).count() : 0;
  s.across.per_byte = kHardlyAny;
  if (rounds > 0) s.across.latency = time / rounds;
  s.inside = s.across;
  job.collective = sum;
  job.bucket = sum.bytes;
  job.overlap = false;
}

}  // namespace

model::Scenario scenario_of(const StatedJob& stated) {
  model::Scenario s;
  s.name = stated.name;
  s.cluster.nodes = static_cast<int>(stated.from);
  s.cluster.devices_per_node = stated.ranks_per_node;
  s.job.steps = kSteps;
  model::TrainingJob job;
  job.layout.data = static_cast<int>(s.cluster.ranks());
  job.layers = {{.forward = stated.work / 3,
                 .backward = stated.work * 2 / 3,
                 .gradients = Bytes{8},
                 .activations = {}}};
  add_sum(s, job, rest_of(stated)(s.cluster.ranks()).value);
  s.job.work = std::move(job);
  model::NoiseSource jitter;
  jitter.name = "jitter of a device";
  jitter.law = model::NoiseLaw::Exponential;
  jitter.relative = false;
  jitter.mean = stated.jitter;
  s.noise.push_back(std::move(jitter));
  if (const auto& f = stated.failures)
    s.failures = {.node_mtbf = f->node_mean_time,
                  .restart = f->restart,
                  .restart_per_node = f->restart_per_node,
                  .checkpoint = f->checkpoint};
  return s;
}

RestAt rest_of(const StatedJob& stated) {
  return [terms = stated.terms, each = static_cast<double>(stated.ranks_per_node)](std::int64_t ranks) {
    Seconds sum{};
    for (const StatedTerm& t : terms)
      if (t.of == TermOf::Communication) sum += t.at_nodes(std::max(static_cast<double>(ranks) / each, 1.0));
    return TimeEstimate{.value = sum, .low = sum, .high = sum, .origin = Origin::Stated};
  };
}

}  // namespace cox::forecast
