// SPDX-License-Identifier: Apache-2.0
#include "cli/help_command.hpp"

#include <ostream>

#include "cli/command_table.hpp"
#include "cli/dispatch.hpp"
#include "cli/help.hpp"

namespace cox::cli {
namespace {

Result<ExitCode> run(const Invocation& call, Console& console) {
  if (call.args.empty()) {
    console.out << overview();
    return ExitCode::Ok;
  }
  const Command* command = find_command(call.args.front());
  if (command == nullptr || command->spec.hidden) return fail(unknown_verb(call.args.front()));
  console.out << help_of(command->spec);
  return ExitCode::Ok;
}

}  // namespace

const Command& help_command() {
  static const Command command{
      .spec = {.name = "help",
               .summary = "show this page or that of a verb",
               .about = "Shows how to use cox or one of its verbs.",
               .examples = {{"cox help", "all verbs"}, {"cox help diagnose", "also: cox diagnose --help"}},
               .args = {{.name = "VERB", .help = "a verb", .required = false, .complete = Complete::Verbs}}},
      .run = run};
  return command;
}

}  // namespace cox::cli
