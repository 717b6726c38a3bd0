// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cox/study/answer.hpp"

#include "study/computations.hpp"

namespace cox::study {
namespace {

struct Named {
  std::string_view name;
  Compute compute;
};
constexpr std::array kComputations = {
    Named{"data-parallel-step", compute_data_parallel_step},
    Named{"stragglers", compute_stragglers},
    Named{"allreduce-crossover", compute_all_reduce_crossover},
    Named{"pipeline", compute_pipeline},
    Named{"pipeline-bubble", compute_pipeline_bubble},
    Named{"load-balancing", compute_load_balancing},
    Named{"bucketing-overlap", compute_bucketing},
    Named{"server-against-allreduce", compute_server_against_all_reduce},
    Named{"expert-routing", compute_expert_routing},
    Named{"tensor-parallel", compute_tensor_parallel},
    Named{"hierarchical-allreduce", compute_hierarchical_all_reduce},
    Named{"step-efficiency", compute_step_efficiency},
    Named{"gradient-aggregation", compute_gradient_aggregation},
    Named{"layer-split", compute_layer_split},
    Named{"pipeline-timeline", compute_pipeline_timeline},
    Named{"ring-pattern", compute_ring_pattern},
    Named{"single-server", compute_single_server},
    Named{"shared-uplink", compute_shared_uplink},
    Named{"scaling-case", compute_scaling_case},
    Named{"pacing-table", compute_pacing_table},
};

}  // namespace

std::vector<std::string_view> computation_names() {
  std::vector<std::string_view> names;
  for (const Named& n : kComputations) names.push_back(n.name);
  return names;
}

Result<Answer> run_study(const Study& study, const ComputeOptions& options) {
  const auto* found = std::find_if(kComputations.begin(), kComputations.end(),
                                   [&](const Named& n) { return n.name == study.compute; });
  if (found == kComputations.end())
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "study-003",
                      .message = fmt::format("no computation has the name '{}'", study.compute),
                      .hint = fmt::format("there are: {}", fmt::join(computation_names(), ", ")),
                      .where = Where{.file = study.file}});
  Answer answer{.study = study, .computation = {}, .judged = {}};
  COX_TRY(answer.computation, found->compute(Inputs(study), options));
  COX_TRY(answer.judged, judge(study, answer.computation));
  for (const Judged& j : answer.judged) answer.verdict = std::max(answer.verdict, j.verdict);
  return answer;
}

}  // namespace cox::study
