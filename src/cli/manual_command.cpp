// SPDX-License-Identifier: Apache-2.0
#include "cli/manual_command.hpp"

#include <fmt/format.h>

#include <ostream>

#include "cox/base/version.hpp"
#include "cox/observe/doctor.hpp"

#include "cli/command_table.hpp"
#include "cli/help.hpp"

namespace cox::cli {
namespace {

struct ExitCodeText {
  int code;
  const char* meaning;
};
constexpr ExitCodeText kExitCodes[] = {
    {0, "done"},
    {1,
     "done, and the answer is bad: under --check anything but `nobody`, that is somebody is named, the job failed or hangs, or it cannot be told; with --against: slower than before, or not compared"},
    {2, "the command line is wrong"},
    {3,
     "the input is missing, damaged or not ours; under --check also where a file or a run of it could not be read and the others are good"},
    {4, "the environment: permission, I/O, something missing"},
    {70, "a bug in cox"},
    {130, "interrupted"},
};

/// Text as troff wants it: a dash is a minus sign, and a leading dot is no request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '-') {
      out += "\\-";
    } else if (c == '\\') {
      out += "\\e";
    } else {
      out += c;
    }
  }
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

std::string help_with_default(const FlagSpec& flag) {
  if (flag.fallback.empty()) return std::string(flag.help);
  return fmt::format("{} (default: {})", flag.help, flag.fallback);
}

std::string man_section(const CommandSpec& spec) {
  std::string text = fmt::format(".SS {}\n{}\n", roff(usage_of(spec)), roff(spec.about));
  for (const ArgSpec& arg : spec.args)
    text += fmt::format(".TP\n.I {}\n{}\n", roff(arg.name), roff(arg.help));
  for (const FlagSpec& flag : flags_of(spec))
    text +=
        fmt::format(".TP\n.B {}\n{}\n", roff(flag_form(flag, Aligned::No)), roff(help_with_default(flag)));
  if (!spec.notes.empty()) text += fmt::format(".PP\n{}\n", roff(spec.notes));
  text += ".PP\n.nf\n";
  for (const ExampleSpec& e : spec.examples)
    text += fmt::format("{}    # {}\n", roff(e.command), roff(e.says));
  return text + ".fi\n";
}

/// The default as code: it may hold words in angle brackets.
std::string help_in_markdown(const FlagSpec& flag) {
  if (flag.fallback.empty()) return std::string(flag.help);
  return fmt::format("{} (default: `{}`)", flag.help, flag.fallback);
}

std::string docs_section(const CommandSpec& spec) {
  std::string text = fmt::format("\n## cox {}\n\n{}\n\n```sh\n", spec.name, spec.about);
  for (const ExampleSpec& e : spec.examples) text += fmt::format("{}  # {}\n", e.command, e.says);
  text += fmt::format("```\n\n`{}`\n\n| | |\n|---|---|\n", usage_of(spec));
  for (const ArgSpec& arg : spec.args) text += fmt::format("| `{}` | {} |\n", arg.name, arg.help);
  for (const FlagSpec& flag : flags_of(spec))
    text += fmt::format("| `{}` | {} |\n", flag_form(flag, Aligned::No), help_in_markdown(flag));
  if (!spec.notes.empty()) text += fmt::format("\n{}\n", spec.notes);
  return text;
}

Result<ExitCode> run_man(const Invocation& /*call*/, Console& console) {
  console.out << man_page();
  return ExitCode::Ok;
}

Result<ExitCode> run_docs(const Invocation& /*call*/, Console& console) {
  console.out << cli_reference();
  return ExitCode::Ok;
}

}  // namespace

std::string man_page() {
  std::string text =
      ".TH COX 1 \"\" \"cox " COX_VERSION
      "\" \"User Commands\"\n"
      ".SH NAME\ncox \\- finds what sets the pace of synchronous distributed training\n"
      ".SH SYNOPSIS\n.B cox\n.I VERB\n[ARGUMENTS] [OPTIONS]\n"
      ".SH DESCRIPTION\nObserves a data\\-parallel job from inside its processes, "
      "says which ranks set the pace of all, and shows it.\nResults go to standard output; progress, warnings and errors go to standard error.\n"
      ".SH VERBS\n";
  for (const Command* command : commands())
    if (!command->spec.hidden) text += man_section(command->spec);
  text += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExitCodes) text += fmt::format(".TP\n.B {}\n{}\n", code, roff(meaning));
  text +=
      ".PP\n.B cox observe\npasses on the status of the job; 125 to 127 are its own failures.\n.SH ENVIRONMENT\n";
  for (const observe::EnvVariable& v : observe::environment_variables())
    text += fmt::format(".TP\n.B {}\n{}\n", v.name, roff(v.meaning));
  text += ".TP\n.B NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE\ncolour, where \\-\\-color is auto\n";
  return text;
}

std::string cli_reference() {
  std::string text =
      "# Command line\n\nMade by `cox __docs` from the tables that also parse and complete the command line; "
      "a test compares them.\n\n| verb | |\n|---|---|\n";
  for (const Command* command : commands())
    if (!command->spec.hidden)
      text += fmt::format("| [`{0}`](#cox-{0}) | {1} |\n", command->spec.name, command->spec.summary);
  text +=
      "\nResults go to standard output; progress, warnings and errors go to standard error. "
      "Colour: `--color`, then `NO_COLOR`, then `FORCE_COLOR` and `CLICOLOR_FORCE`, then whether "
      "the stream is a terminal and `TERM` is not `dumb`. Nothing that exists is replaced without "
      "`--force`.\n\n| exit code | |\n|---|---|\n";
  for (const auto& [code, meaning] : kExitCodes) text += fmt::format("| {} | {} |\n", code, meaning);
  text += "\n`cox observe` passes on the status of the job; 125 to 127 are its own failures.\n";
  for (const Command* command : commands())
    if (!command->spec.hidden) text += docs_section(command->spec);
  text += "\n## Environment\n\n| variable | default | |\n|---|---|---|\n";
  for (const observe::EnvVariable& v : observe::environment_variables())
    text += fmt::format("| `{}` | {} | {} |\n", v.name,
                        *v.fallback != 0 ? fmt::format("`{}`", v.fallback) : "", v.meaning);
  return text;
}

const Command& man_command() {
  static const Command command{.spec = {.name = "__man", .hidden = true, .raw = true}, .run = run_man};
  return command;
}

const Command& docs_command() {
  static const Command command{.spec = {.name = "__docs", .hidden = true, .raw = true}, .run = run_docs};
  return command;
}

}  // namespace cox::cli
