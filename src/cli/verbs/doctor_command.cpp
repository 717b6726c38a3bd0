// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/doctor_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <ostream>
#include <sstream>
#include <utility>

#include "cox/observe/doctor.hpp"

#include "cli/output/envelope.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/terminal.hpp"

namespace cox::cli {
namespace {

const char* color_of(observe::Health h) {
  switch (h) {
    case observe::Health::Ok:
      return "\x1b[32m";
    case observe::Health::Limited:
      return "\x1b[33m";
    case observe::Health::Missing:
      return "\x1b[31m";
    case observe::Health::Note:
      return "\x1b[2m";
  }
  return "";
}

std::string checks_as_text(const std::vector<observe::Check>& checks, bool color) {
  std::size_t width = 0;
  for (const observe::Check& c : checks) width = std::max(width, c.subject.size());
  std::string text;
  for (const observe::Check& c : checks) {
    text += fmt::format("{}{:<8}{} {:<{}}  {}\n", color ? color_of(c.health) : "", name_of(c.health),
                        color ? "\x1b[0m" : "", c.subject, width, c.text);
    if (!c.hint.empty()) text += fmt::format("{:<9}{:<{}}  hint: {}\n", "", "", width, c.hint);
  }
  return text;
}

std::string checks_as_json(const std::vector<observe::Check>& checks) {
  std::vector<JsonObject> list;
  list.reserve(checks.size());
  for (const observe::Check& c : checks)
    list.push_back({{"key", c.key},
                    {"subject", c.subject},
                    {"health", std::string(name_of(c.health))},
                    {"text", c.text},
                    {"hint", c.hint}});
  return to_json({.schema = "cox.doctor/1"}, "checks", list);
}

std::string variables_as_text(const Console& console) {
  std::string text;
  for (const observe::EnvVariable& v : observe::environment_variables()) {
    const auto value = console.env(v.name);
    const std::string holds = value              ? fmt::format("{} (environment)", *value)
                              : *v.fallback != 0 ? fmt::format("{} (default)", v.fallback)
                                                 : "not set";
    text += fmt::format("{:<14} {}\n{:<14} {}\n", v.name, holds, "", v.meaning);
  }
  return text;
}

std::string variables_as_json(const Console& console) {
  std::vector<JsonObject> list;
  for (const observe::EnvVariable& v : observe::environment_variables()) {
    const auto value = console.env(v.name);
    list.push_back({{"name", std::string(v.name)},
                    {"is_set", value.has_value()},
                    {"value", value.value_or(v.fallback)},
                    {"meaning", std::string(v.meaning)}});
  }
  return to_json({.schema = "cox.environment/1"}, "variables", list);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

Result<ExitCode> run(const Invocation& call, Console& console) {
  if (call.has("env")) {
    console.out << (call.common.json ? variables_as_json(console) : variables_as_text(console));
    return ExitCode::Ok;
  }
  observe::Surroundings where = observe::real_surroundings();
  if (const std::string root = call.value("root"); call.values.contains("root")) {
    std::error_code ec;
    if (!std::filesystem::is_directory(root, ec))
      return fail(usage_error("cli-003",
                              fmt::format("--root is '{}', expected a folder", root.substr(0, 200)),
                              "name the folder where the file system is mounted"));
    where.root = root;
    where.guest_dirs = {where.root / "usr/lib/cox", where.root / "usr/local/lib/cox"};
    where.clock_cost = {};  // this machine's clock, not that one's
  }
  where.program = call.value("program");
  if (call.values.contains("program") && where.program.empty())
    return fail(
        usage_error("cli-003", "--program is empty, expected a file", "name the program with its path"));
  for (const auto& [one, other] :
       {std::pair{"program", "root"}, std::pair{"program", "through"}, std::pair{"through", "root"}})
    if (call.values.contains(one) && call.values.contains(other))
      return fail(usage_error("cli-003", fmt::format("--{} and --{} exclude each other", one, other),
                              "ask one after the other: each looks at another place"));
  if (call.has("restore-energy")) {
    COX_TRY(const std::size_t back, observe::restore_energy(where));
    console.out << (back == 0
                        ? "nothing to put back\n"
                        : fmt::format("{} {} put back\n", back, back == 1 ? "limit was" : "limits were"));
    return ExitCode::Ok;
  }
  std::vector<observe::Check> checks;
  if (call.values.contains("through")) {
    const std::vector<std::string> words = words_of(call.value("through"));
    if (words.empty())
      return fail(usage_error("cli-003", "--through is empty, expected a command",
                              "for example --through 'ssh n7' or --through 'docker run -i IMAGE'"));
    COX_TRY(checks, observe::examine_through(where, words));
  } else {
    checks = observe::examine(where);
  }
  const bool color = use_color(call.common.color, console.out_is_terminal, console);
  console.out << (call.common.json ? checks_as_json(checks) : checks_as_text(checks, color));
  return ExitCode::Ok;
}

}  // namespace

const Command& doctor_command() {
  static const Command command{
      .spec =
          {.name = "doctor",
           .summary = "say what can be observed on this machine, what not, and why",
           .about = "Says what can be observed on this machine, what not, and why.",
           .examples = {{"cox doctor", "libraries, launchers, clock, limits"},
                        {"cox doctor --env", "every COX_* variable, its value and meaning"},
                        {"cox doctor --through 'ssh n7'", "whether that machine can be observed from here"}},
           .flags = {{.name = "env", .help = "list the environment variables instead"},
                     {.name = "restore-energy",
                      .help = "put back the limits that a killed cox observe --energy-cap left lowered"},
                     {.name = "program",
                      .value = "FILE",
                      .help = "also say whether this program can be observed",
                      .complete = Complete::File},
                     {.name = "root",
                      .value = "DIR",
                      .help = "examine a file system that is mounted there",
                      .fallback = "/",
                      .complete = Complete::Folder},
                     {.name = "through",
                      .value = "COMMAND",
                      .help = "examine what a command reaches: 'ssh n7' or 'docker run -i IMAGE'"}},
           .shared = {.json = true},
           .notes =
               "Each line begins with ok, limited, missing or note. Nothing is loaded or started: PyTorch is "
               "looked for, not imported. Nothing is changed but by --restore-energy. "
               "With --through a shell there is told what to look for: whether the guest object lies under the same "
               "path and loads, and whether the current folder is there and writable."},
      .run = run};
  return command;
}

}  // namespace cox::cli
