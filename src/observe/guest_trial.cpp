// SPDX-License-Identifier: Apache-2.0
#include "observe/guest_trial.hpp"

#include <map>
#include <mutex>
#include <string_view>

#include "cox/base/child.hpp"

namespace cox::observe {

namespace {

std::optional<std::string> try_on_a_process(const std::filesystem::path& preload) {
  const ChildLimits limits{
      .time = Seconds{10}, .out_bytes = 1U << 20U, .errors = ChildLimits::Errors::Nowhere};
  const auto try_with = [&](const std::string& object) {
    return run_child({"sh", "-c", "LD_PRELOAD=\"$0\" COX_DISABLE=1 exec true 2>&1", object}, "observe-004",
                     limits);
  };
  const auto ended = try_with(preload.string());
  if (!ended) return std::nullopt;
  // The loader complains to standard error, whether it goes on without the object or gives up. What else stands
  // there (LD_DEBUG, LD_SHOW_AUXV) says nothing.
  constexpr std::string_view kIgnored = "cannot be preloaded";
  if (ended->status == 0 && ended->out.find(kIgnored) == std::string::npos) return std::nullopt;
  const auto without = try_with("");
  if (ended->status != 0 && (!without || without->status != 0))
    return std::nullopt;  // nothing is loaded here
  std::size_t at = ended->out.find(preload.string());
  if (at == std::string::npos)
    return "a process that it was loaded into ended with status " + std::to_string(ended->status);
  at = ended->out.rfind('\n', at) + 1;
  return ended->out.substr(at, ended->out.find('\n', at) - at);
}

}  // namespace

std::optional<std::string> why_not_loadable(const std::filesystem::path& preload) {
  static std::mutex asking;
  static std::map<std::string, std::optional<std::string>> answers;  // a start asks more than once
  const std::lock_guard lock(asking);
  const auto known = answers.find(preload.string());
  if (known != answers.end()) return known->second;
  return answers.emplace(preload.string(), try_on_a_process(preload)).first->second;
}

}  // namespace cox::observe
