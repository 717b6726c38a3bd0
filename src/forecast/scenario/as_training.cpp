// SPDX-License-Identifier: Apache-2.0
#include "forecast/scenario/as_training.hpp"

#include <algorithm>
#include <utility>

#include "cox/model/closed_form.hpp"

#include "forecast/scenario/quiet_step.hpp"

namespace cox::forecast {
namespace {

using model::Collective;
using model::CollectiveSpec;

Seconds time_of(const CollectiveSpec& spec, const model::MessageCost& cost) {
  return model::closed_form(spec, cost).value_or(Seconds{});
}

/// A sum that takes as long as the collective did, nearly all of it latency.
Result<CollectiveSpec> as_sum(const CollectiveSpec& other, model::Scenario& s) {
  COX_TRY(const StepWork step, quiet_step(s));
  const CollectiveSpec sum{.kind = Collective::AllReduce,
                           .algorithm = model::Algorithm::RecursiveDoubling,
                           .ranks = other.ranks,
                           .bytes = Bytes{8}};
  model::MessageCost one, bytes = s.across;
  one.latency = Seconds{1};
  bytes.latency = {};
  const double rounds = time_of(sum, one).count();
  if (rounds > 0) s.across.latency = std::max((step.rest.value - time_of(sum, bytes)) / rounds, Seconds{});
  s.inside = s.across;
  return sum;
}

}  // namespace

Result<model::Scenario> as_training(const model::Scenario& calibrated) {
  if (calibrated.job.workload() == model::Workload::Training) return calibrated;
  const auto* job = std::get_if<model::CollectiveJob>(&calibrated.job.work);
  if (job == nullptr)
    return fail(Error{.code = Errc::Unsupported,
                      .id = "forecast-005",
                      .message = calibrated.name + ": its steps are not those of a collective",
                      .hint = {},
                      .where = {}});
  model::Scenario out = calibrated;
  model::TrainingJob training;
  training.layout.data = static_cast<int>(calibrated.cluster.ranks());
  training.overlap = false;
  training.collective = job->collective;
  if (job->collective.kind != Collective::AllReduce) {
    COX_TRY(training.collective, as_sum(job->collective, out));
  }
  training.bucket = training.collective.bytes;
  training.layers = {{.forward = job->compute / 3,
                      .backward = job->compute * 2 / 3,
                      .gradients = training.collective.bytes,
                      .activations = {}}};
  out.job.work = std::move(training);
  return out;
}

bool overlaps_work(const model::Scenario& scenario) {
  const auto* job = std::get_if<model::TrainingJob>(&scenario.job.work);
  return job != nullptr && job->overlap;
}

}  // namespace cox::forecast
