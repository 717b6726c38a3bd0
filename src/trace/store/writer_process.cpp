// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/writer_process.hpp"

#include <cstring>
#include <string_view>

namespace cox::trace {

WriterProcess look_for_writer(const RawHeader& header, const ProcessTable& machine) {
  const std::string boot_id = machine.boot_id();
  if (boot_id.empty() ||
      std::string_view(header.boot_id, strnlen(header.boot_id, sizeof header.boot_id)) != boot_id)
    return WriterProcess::Elsewhere;
  const auto found = machine.find({.pid = header.pid, .pid_namespace = header.pid_namespace});
  if (!found) return machine.sees_all_of(header.pid_namespace) ? WriterProcess::Gone : WriterProcess::Hidden;
  const bool is_another = header.start_time != 0 && header.start_time != found->start_ticks;
  const bool has_ended = found->state == 'Z' || found->state == 'X' || found->state == 'x';
  return is_another || has_ended ? WriterProcess::Gone : WriterProcess::Runs;
}

}  // namespace cox::trace
