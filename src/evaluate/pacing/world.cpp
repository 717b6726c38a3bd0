// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "cox/base/spelling.hpp"

#include "evaluate/pacing/measure.hpp"

namespace cox::evaluate {

PacingMachine describe_machine() {
  PacingMachine machine{.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))};
  if (utsname name{}; uname(&name) == 0) machine.kernel = shown(name.release, 64);
  const std::time_t now = std::time(nullptr);
  std::tm day{};
  gmtime_r(&now, &day);
  machine.date = fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
  getloadavg(&machine.load_before, 1);
  return machine;
}

PacingWorld pacing_world() {
  std::error_code ignored;
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "cox-bench-pace";
  return {
      .run = [program](const PacingCondition&, const bench::PacePlan& plan,
                       Seconds limit) { return bench::run_pace(plan, {.program = program, .limit = limit}); },
      .now = [] { return Seconds{std::chrono::steady_clock::now().time_since_epoch()}; },
      .tell = [](const std::string&) {},
      .keep = [](const PacingResults&) { return Status{}; },
      .has_program = access(program.c_str(), X_OK) == 0,
      .no_priority = bench::why_no_priority()};
}

}  // namespace cox::evaluate
