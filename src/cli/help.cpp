// SPDX-License-Identifier: Apache-2.0
#include "cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/command_table.hpp"

namespace cox::cli {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

/// Two columns, the left one as wide as it must be.
std::string table(const Rows& rows) {
  std::size_t width = 0;
  for (const auto& [left, right] : rows) width = std::max(width, left.size());
  std::string text;
  for (const auto& [left, right] : rows) text += fmt::format("  {:<{}}  {}\n", left, width, right);
  return text;
}

std::string examples(const std::vector<ExampleSpec>& list) {
  Rows rows;
  for (const ExampleSpec& e : list) rows.emplace_back(e.command, fmt::format("# {}", e.says));
  return table(rows);
}

std::string with_default(const FlagSpec& flag) {
  if (flag.fallback.empty()) return std::string(flag.help);
  return fmt::format("{} [default: {}]", flag.help, flag.fallback);
}

}  // namespace

std::string flag_form(const FlagSpec& flag, Aligned aligned) {
  std::string form = flag.letter != 0          ? fmt::format("-{}, ", flag.letter)
                     : aligned == Aligned::Yes ? "    "
                                               : "";
  form += fmt::format("--{}", flag.name);
  if (!flag.value.empty()) form += fmt::format(" {}", flag.value);
  return form;
}

std::string usage_of(const CommandSpec& spec) {
  std::string text = fmt::format("cox {}", spec.name);
  if (spec.takes_command) return text + " [OPTIONS] -- COMMAND [ARGUMENTS]";
  for (const ArgSpec& arg : spec.args)
    text += fmt::format(" {}{}{}{}", arg.required ? "" : "[", arg.name, arg.repeats ? "..." : "",
                        arg.required ? "" : "]");
  return text + " [OPTIONS]";
}

std::string overview() {
  std::string text = "Finds what sets the pace of synchronous distributed training.\n\n";
  text += examples({{"cox observe -o run -- mpirun -np 8 ./train", "run a job, record what each rank does"},
                    {"cox diagnose run", "who sets the pace, and what it costs"}});
  text += "Usage: cox VERB [ARGUMENTS] [OPTIONS]\n";
  Rows rows;
  for (const Command* command : commands())
    if (!command->spec.hidden) rows.emplace_back(command->spec.name, command->spec.summary);
  text += table(rows);
  text +=
      "\nEach verb has its own page: cox help VERB. Results go to standard output, talk to standard error.\n"
      "Exit codes: 0 done, 1 bad (--check), 2 usage, 3 input, 4 environment, 70 bug; observe: the job's.\n";
  return text;
}

std::string help_of(const CommandSpec& spec) {
  std::string text =
      fmt::format("{}\n\n{}\nUsage: {}\n\n", spec.about, examples(spec.examples), usage_of(spec));
  Rows rows;
  for (const ArgSpec& arg : spec.args) rows.emplace_back(arg.name, arg.help);
  for (const FlagSpec& flag : flags_of(spec))
    rows.emplace_back(flag_form(flag, Aligned::Yes), with_default(flag));
  return text + table(rows);
}

}  // namespace cox::cli
