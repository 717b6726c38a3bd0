// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "cox/base/child.hpp"
#include "cox/base/file.hpp"
#include "cox/base/spelling.hpp"
#include "cox/bench/pace.hpp"

#include "bench/pace/wire.hpp"

namespace cox::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kCannot = 77;
constexpr std::size_t kMostOutput = std::size_t{256} << 20U;

/// A file that goes away with this.
class PlanFile {
 public:
  PlanFile() : folder_((fs::temp_directory_path() / "cox-bench-pace.XXXXXX").string()) {
    if (mkdtemp(folder_.data()) == nullptr) folder_.clear();
  }
  PlanFile(const PlanFile&) = delete;
  PlanFile& operator=(const PlanFile&) = delete;
  ~PlanFile() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  [[nodiscard]] fs::path path() const { return fs::path(folder_) / "plan"; }

 private:
  std::string folder_;
};

Error failed(Errc code, std::string id, std::string message, std::string hint) {
  return {
      .code = code, .id = std::move(id), .message = std::move(message), .hint = std::move(hint), .where = {}};
}

}  // namespace

Result<PaceRows> run_pace(const PacePlan& plan, const PaceRunOptions& options) {
  if (access(options.program.c_str(), X_OK) != 0)
    return fail(failed(Errc::NotFound, "bench-006",
                       fmt::format("{} is not there or cannot be executed", options.program.string()),
                       "it is installed beside cox"));
  const PlanFile file;
  COX_CHECK(write_file_atomically(file.path(), pace_plan_text(plan), IfExists::Fail));
  COX_TRY(const Ended ended, run_child({options.program.string(), file.path().string()}, "bench-006",
                                       {.time = options.limit, .out_bytes = kMostOutput}));
  if (ended.status == kCannot)
    return fail(failed(Errc::Unsupported, "bench-010", shown(ended.out.substr(0, ended.out.find('\n')), 300),
                       "run as root on Linux with iproute2, or leave the condition out"));
  if (ended.status != 0)
    return fail(failed(Errc::NotFound, "bench-006",
                       fmt::format("cox-bench-pace ended with status {}", ended.status),
                       "what it said is above"));
  return parse_pace_rows(ended.out, plan);
}

std::optional<std::string> why_no_priority() {
  errno = 0;
  const int before = getpriority(PRIO_PROCESS, 0);
  if (errno != 0) return std::strerror(errno);
  if (setpriority(PRIO_PROCESS, 0, before - 1) != 0)
    return fmt::format("priority cannot be raised: {}", std::strerror(errno));
  if (setpriority(PRIO_PROCESS, 0, before) != 0)
    return fmt::format("priority cannot be taken back: {}", std::strerror(errno));
  return std::nullopt;
}

}  // namespace cox::bench
