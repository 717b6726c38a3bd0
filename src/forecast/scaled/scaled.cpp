// SPDX-License-Identifier: Apache-2.0
#include "forecast/scaled/scaled.hpp"

#include <variant>

namespace cox::forecast {

void scale_work(model::Scenario& s, double factor) {
  if (auto* job = std::get_if<model::CollectiveJob>(&s.job.work)) job->compute *= factor;
  auto* job = std::get_if<model::TrainingJob>(&s.job.work);
  if (job == nullptr) return;
  for (model::Layer& layer : job->layers) {
    layer.forward *= factor;
    layer.backward *= factor;
  }
  job->optimizer *= factor;
}

void scale_links(model::Scenario& s, double factor) {
  s.cluster.nic.bandwidth = s.cluster.nic.bandwidth * factor;
  s.fabric.link.bandwidth = s.fabric.link.bandwidth * factor;
  s.across.per_byte = TimePerByte::seconds_per_byte(s.across.per_byte.in_seconds_per_byte() / factor);
}

}  // namespace cox::forecast
