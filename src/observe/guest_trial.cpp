// SPDX-License-Identifier: Apache-2.0
#include "observe/guest_trial.hpp"

#include "cox/base/child.hpp"

namespace cox::observe {

std::optional<std::string> why_not_loadable(const std::filesystem::path& preload) {
  const ChildLimits limits{.time = Seconds{10}, .out_bytes = 4096, .errors = ChildLimits::Errors::Nowhere};
  // The loader complains to standard error, whether it goes on without the object or gives up.
  const auto ended =
      run_child({"sh", "-c", "LD_PRELOAD=\"$0\" COX_DISABLE=1 exec true 2>&1", preload.string()},
                "observe-004", limits);
  if (!ended || (ended->status == 0 && ended->out.empty())) return std::nullopt;
  std::string said = ended->out.substr(0, ended->out.find('\n'));
  return said.empty() ? "a process that it was loaded into ended with status " + std::to_string(ended->status)
                      : said;
}

}  // namespace cox::observe
