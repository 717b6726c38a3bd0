// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/forecast_learning.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cox/learn/price.hpp"

#include "cli/input/number_flag.hpp"
#include "cli/output/failure.hpp"

namespace cox::cli {
namespace {

/// Each job by `cox::learn`, as a forecast asks for it.
forecast::LearnJobs learn_by(learn::WaysQuestion question) {
  return [question = std::move(question)](
             const std::vector<model::Scenario>& jobs) -> Result<std::vector<forecast::SamplesToTarget>> {
    COX_TRY(std::vector<learn::JobSamples> learned, learn::samples_to_target(jobs, question));
    std::vector<forecast::SamplesToTarget> out;
    out.reserve(learned.size());
    for (learn::JobSamples& one : learned)
      out.push_back(
          {.by_seed = std::move(one.by_seed), .why_not = std::move(one.why_not), .at_edge = one.at_edge});
    return out;
  };
}

}  // namespace

Result<std::optional<forecast::LearningQuestion>> learning_question(const Invocation& call) {
  const std::string problem = call.value("learn");
  if (problem.empty()) {
    if (call.value("learn-batch").empty()) return std::optional<forecast::LearningQuestion>{};
    return fail(usage_error("cli-003", "--learn-batch has no meaning without --learn",
                            "say what is learned, like --learn quadratic,noise=0.2"));
  }
  learn::WaysQuestion q;
  COX_TRY(q.problem, learn::read_problem(problem));
  COX_TRY(q.share.samples, number_flag<std::int64_t>(call, "learn-batch", 1, 1, 1 << 20, "a whole number"));
  q.optimizer.rate = 0.5;
  q.threads = call.common.threads;
  return std::optional(forecast::LearningQuestion{
      .learn = learn_by(q), .what = learn::learned_text(q) + ", until a hundredth of the loss at first"});
}

}  // namespace cox::cli
