// SPDX-License-Identifier: Apache-2.0
#include "cli/input/failures_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "cox/base/spelling.hpp"
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

constexpr std::string_view kOption = "--failures ";

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

Error by_failures_option(Error error) {
  constexpr std::string_view kSet = "--set failures.";
  if (error.message.starts_with(kSet)) error.message.replace(0, kSet.size(), kOption);
  return error;
}

Result<model::Failures> failures_of(const Invocation& call) {
  const std::vector<std::string> said = failures_said(call);
  if (said.empty()) return model::Failures{};
  // The file has the option's name. A value may have a colon of its own.
  const auto told = [&said](Error error) {
    for (const std::string& one : said)
      if (const std::string named = fmt::format("--set {}: ", shown(std::string_view{one}));
          error.message.starts_with(named)) {
        error.message.erase(0, named.size());
        return error;
      }
    return by_failures_option(std::move(error));
  };
  COX_TRY(const model::ReadScenario read,
          model::parse_scenario(kAnyTraining, "--failures", {}, {.set = said}).map_error(told));
  return read.scenario.failures;
}

}  // namespace cox::cli
