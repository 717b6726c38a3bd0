// SPDX-License-Identifier: Apache-2.0
#include "cli/dispatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "cli/command_table.hpp"
#include "cli/frame/spelling.hpp"
#include "cli/help.hpp"
#include "cli/input/parse.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/terminal.hpp"
#include "cli/verbs/observe_command.hpp"
#include "cli/verbs/version_command.hpp"

namespace cox::cli {
namespace {

/// The colour that was asked for, also on a command line that could not be understood.
ColorWhen color_asked(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::string next = i + 1 < words.size() ? words[i + 1] : std::string{};
    if (words[i] == "--color=always" || (words[i] == "--color" && next == "always")) return ColorWhen::Always;
    if (words[i] == "--color=never" || (words[i] == "--color" && next == "never")) return ColorWhen::Never;
  }
  return ColorWhen::Auto;
}

Result<ExitCode> flush(Console& console, ExitCode code) {
  console.out.flush();
  if (console.out) return code;
  return fail(Error{.code = Errc::Io,
                    .id = "cli-006",
                    .message = "standard output cannot be written",
                    .hint = "is the disk full, or the reader gone?",
                    .where = {}});
}

Result<ExitCode> run_command(const Command& command, std::vector<std::string> words, Console& console) {
  Invocation call;
  if (command.spec.raw) {
    call.command = &command;
    call.args = std::move(words);
  } else {
    COX_TRY(call, parse(command, words));
  }
  if (call.wants_help) {
    console.out << help_of(command.spec);
    return flush(console, ExitCode::Ok);
  }
  COX_TRY(const ExitCode code, command.run(call, console));
  return flush(console, code);
}

Result<ExitCode> run_words(const std::vector<std::string>& words, const Command* command, Console& console) {
  if (command != nullptr) return run_command(*command, {words.begin() + 1, words.end()}, console);
  const std::string& first = words.front();
  if (first == "-h" || first == "--help") {
    console.out << overview();
    return flush(console, ExitCode::Ok);
  }
  if (first == "-V" || first == "--version") return run_command(version_command(), {}, console);
  if (first.starts_with("-")) {
    const auto near = nearest(first, {"--help", "--version"});
    return fail(usage_error("cli-002", fmt::format("unknown option {} before the verb", first),
                            near ? fmt::format("did you mean {}?", *near)
                                 : "options stand behind the verb: cox VERB [ARGUMENTS] [OPTIONS]"));
  }
  return fail(unknown_verb(first));
}

}  // namespace

Error unknown_verb(const std::string& word) {
  const auto near = nearest(word, verb_names());
  return usage_error("cli-001", fmt::format("no verb is called '{}'", word),
                     near ? fmt::format("did you mean {}?", *near) : "`cox --help` lists all verbs");
}

ExitCode dispatch(const std::vector<std::string>& words, Console& console) {
  if (words.empty()) {
    console.err << overview();
    return ExitCode::Usage;
  }
  const Command* command = find_command(words.front());
  const Result<ExitCode> outcome = run_words(words, command, console);
  if (outcome) return *outcome;
  console.err << describe(outcome.error(), use_color(color_asked(words), console.err_is_terminal, console));
  return command == &observe_command() ? observe_exit_code_of(outcome.error())
                                       : exit_code_of(outcome.error().code);
}

}  // namespace cox::cli
