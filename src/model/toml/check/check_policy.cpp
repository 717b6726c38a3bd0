// SPDX-License-Identifier: Apache-2.0
// Whether there is a job, and whether its policy is whole.
#include <fmt/format.h>

#include <string>

#include "model/toml/check/check.hpp"

namespace cox::model {

Status check_policy(const Draft& draft, const Notes& notes) {
  const Scenario& s = draft.scenario;
  const JobKeys& job = draft.job;
  if (s.policy.kind == PolicyKind::LocalSgd && !notes.said("policy.local_steps"))
    return notes.clash({"policy.kind"}, "policy.kind is \"local-sgd\" and policy.local_steps is missing",
                       "say how many steps lie between two averages; 1 is the synchronous policy");
  if (job.workload == Workload::Training && s.policy.kind == PolicyKind::Backup &&
      !notes.said("policy.backups"))
    return notes.clash({"policy.kind"}, "policy.kind is \"backup\" and policy.backups is missing",
                       "say how many of the slowest workers are not waited for; 0 waits for all");
  const int each = job.training.replicas_per_worker();
  const int workers = job.training.layout.data / each;
  if (job.workload == Workload::Training && s.policy.backups >= workers)
    return notes.clash(
        {"policy.backups"},
        fmt::format("policy.backups = {} of {} workers: nobody is left", s.policy.backups, workers),
        each > 1 ? "replicas that share experts or shards are one worker" : "");
  return {};
}

Status check_says_a_job(const Notes& notes) {
  if (notes.first_of_file("job.")) return {};
  const auto* empty = notes.empty_table("job");
  return notes.refuse("scenario-005", empty != nullptr ? empty->second : TextPosition{},
                      empty != nullptr ? fmt::format("nothing says what runs: [{}] is empty", empty->first)
                                       : "nothing says what runs: there is no [job]",
                      "write [job.collective], or [job] with another workload");
}

}  // namespace cox::model
