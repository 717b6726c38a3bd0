// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/version_command.hpp"

#include <ostream>

#include "cox/base/version.hpp"
#include "cox/trace/raw_format.hpp"

#include "cli/output/envelope.hpp"

namespace cox::cli {
namespace {

Result<ExitCode> run(const Invocation& call, Console& console) {
  if (call.common.json) {
    console.out << to_json({.schema = "cox.version/1"},
                           JsonObject{{"version", std::string(COX_VERSION)},
                                      {"raw_format", std::int64_t{trace::kRawVersion}},
                                      {"compiler", std::string(__VERSION__)}});
  } else {
    console.out << "cox " COX_VERSION "\n";
  }
  return ExitCode::Ok;
}

}  // namespace

const Command& version_command() {
  static const Command command{.spec = {.name = "version",
                                        .summary = "print the version",
                                        .about = "Prints the version.",
                                        .examples = {{"cox version", "also: cox --version"},
                                                     {"cox version --json", "with the format it writes"}},
                                        .shared = {.json = true}},
                               .run = run};
  return command;
}

}  // namespace cox::cli
