// SPDX-License-Identifier: Apache-2.0
#include "cox/forecast/stated_job.hpp"

#include <cmath>

#include "cox/base/assert.hpp"

namespace cox::forecast {

Seconds StatedTerm::at_nodes(double nodes) const {
  const auto below = static_cast<std::int64_t>(std::floor(nodes));
  const double part = nodes - static_cast<double>(below);
  const Seconds low = term.at(below).value;
  return part > 0 ? low + part * (term.at(below + 1).value - low) : low;
}

ScalingJob StatedJob::job() const {
  return job_of(work, step_terms(), failures);
}

ScalingJob StatedJob::job_with_control() const {
  COX_ASSERT(control.has_value(), "something is done");
  return job_of(work, step_terms(), control->failures);
}

std::vector<StepTerm> StatedJob::step_terms() const {
  std::vector<StepTerm> out;
  out.reserve(terms.size());
  for (const StatedTerm& t : terms) out.push_back(t.term);
  return out;
}

}  // namespace cox::forecast
