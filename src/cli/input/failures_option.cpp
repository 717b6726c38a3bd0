// SPDX-License-Identifier: Apache-2.0
#include "cli/input/failures_option.hpp"

#include <algorithm>

#include "cox/model/toml.hpp"

namespace cox::cli {
namespace {

/// The least that `[failures]` can stand in.
constexpr const char* kAnyTraining = R"([cluster]
nodes = 1
[job]
workload = "training"
[job.layers]
count = 1
forward = "1s"
backward = "1s"
)";

}  // namespace

std::vector<std::string> failures_said(const Invocation& call) {
  std::vector<std::string> out;
  const std::string text = call.value("failures");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    out.push_back("failures." + text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

Result<model::Failures> failures_of(const Invocation& call) {
  const std::vector<std::string> said = failures_said(call);
  if (said.empty()) return model::Failures{};
  COX_TRY(const model::ReadScenario read,
          model::parse_scenario(kAnyTraining, "--failures", {}, {.set = said}));
  return read.scenario.failures;
}

}  // namespace cox::cli
