// SPDX-License-Identifier: Apache-2.0
#include "learn/drive/prices.hpp"

#include "cox/model/closed_form.hpp"

namespace cox::learn {

Prices::Prices(const model::Scenario& scenario, const model::Compression& wire)
    : scenario_(scenario), wire_(wire) {
  for (const model::Layer& l : scenario.job.as<model::TrainingJob>().layers) gradients_ += l.gradients;
  packed_ = model::packed_message(gradients_, wire_);
}

Seconds Prices::sum(int members, int group) const {
  if (members <= 1) return {};
  const model::Compressed packed = model::compressed(model::Collective::AllReduce, gradients_, members, wire_)
                                       .value_or(model::Compressed{});
  const bool across = members * group > per_node();
  model::CollectiveSpec spec = scenario_.job.as<model::TrainingJob>().collective;
  spec.kind = packed.kind;
  spec.bytes = packed.bytes;
  spec.ranks = members;
  auto time =
      packed.kind == model::Collective::AllReduce ? model::closed_form(spec, link(across)) : std::nullopt;
  if (!time) {
    spec.algorithm = model::Algorithm::Ring;
    spec.channels = 1;
    time = model::closed_form(spec, link(across));
  }
  return packed.encode + time.value_or(Seconds{}) + packed.decode;
}

Seconds Prices::occupied() const {
  return packed_.encode + link(scenario_.cluster.ranks() > per_node()).occupied(packed_.bytes) +
         packed_.decode;
}

Seconds Prices::parameters() const {
  return link(scenario_.cluster.ranks() > per_node())(gradients_);
}

}  // namespace cox::learn
