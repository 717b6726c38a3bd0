// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/detach_command.hpp"

#include <fmt/format.h>

#include <chrono>
#include <ostream>

#include "cox/observe/recording.hpp"

#include "cli/output/envelope.hpp"

namespace cox::cli {
namespace {

/// How long processes of this machine are waited for: they look twice a second.
constexpr std::chrono::seconds kPatience{5};

std::string processes(std::int64_t count) {
  return count == 1 ? "1 process" : fmt::format("{} processes", count);
}

std::string sentence(const observe::Recording& r) {
  if (r.has_ended) return "the job has ended; nothing was changed\n";
  std::string text = r.stopped + r.here + r.elsewhere == 0
                         ? "no process records into it; what starts from now on will not either\n"
                         : "";
  if (r.stopped > 0)
    text += fmt::format("{} of this job {} stopped recording; the job goes on\n", processes(r.stopped),
                        r.stopped == 1 ? "has" : "have");
  if (r.elsewhere > 0)
    text += fmt::format(
        "{} on other machines, or in containers that are not seen from here, stop within a second of seeing the "
        "folder change\n",
        processes(r.elsewhere));
  if (r.here > 0)
    text += fmt::format("{} on this machine did not stop in {} s\n", processes(r.here), kPatience.count());
  return text;
}

Result<ExitCode> run(const Invocation& call, Console& console) {
  COX_TRY(const observe::Recording r, observe::detach(call.args.front(), kPatience));
  if (call.common.json)
    console.out << to_json({.schema = "cox.detach/1", .inputs = {call.args.front()}},
                           JsonObject{{"stopped", r.stopped},
                                      {"still_recording", r.here},
                                      {"elsewhere", r.elsewhere},
                                      {"over", r.over},
                                      {"has_ended", r.has_ended}});
  else
    console.out << sentence(r);
  return r.here > 0 ? ExitCode::BadAnswer : ExitCode::Ok;
}

}  // namespace

const Command& detach_command() {
  static const Command command{
      .spec = {.name = "detach",
               .summary = "end recording and pacing of a job that runs, and let the job go on",
               .about = "Ends recording and pacing of a job that runs. The job goes on as without cox.",
               .examples = {{"cox detach run", "every process of the job that records into run/"},
                            {"cox detach run --json", "how many have stopped, for programs"}},
               .args = {{.name = "PATH", .help = "Run folder", .complete = Complete::Folder}},
               .shared = {.json = true},
               .notes =
                   "Effective within a second, and not to be undone: what starts later in the same job "
                   "does not record either. What was recorded until then stays a Run. Processes of other "
                   "machines see it through the shared folder; NFS may take a minute. Exit status 1 where "
                   "a process of this machine did not stop."},
      .run = run};
  return command;
}

}  // namespace cox::cli
