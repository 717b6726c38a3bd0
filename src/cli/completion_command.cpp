// SPDX-License-Identifier: Apache-2.0
#include "cli/completion_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "cli/command_table.hpp"
#include "cli/frame/embedded.hpp"
#include "cli/frame/error_reference.hpp"

namespace cox::cli {
namespace {

/// Candidates that begin with what was typed.
class Offers {
 public:
  explicit Offers(std::string typed) : typed_(std::move(typed)) {}

  void add(std::string_view word, std::string_view says = {}) {
    if (!word.starts_with(typed_)) return;
    text_ += says.empty() ? fmt::format("{}\n", word) : fmt::format("{}\t{}\n", word, says);
  }
  void ask_shell(std::string_view directive) { text_ += fmt::format("{}\n", directive); }

  void add_values(Complete kind, const std::vector<std::string_view>& choices) {
    switch (kind) {
      case Complete::None:
        return;
      case Complete::File:
        return ask_shell(":file");
      case Complete::Folder:
        return ask_shell(":folder");
      case Complete::Choices:
        for (const std::string_view choice : choices) add(choice);
        return;
      case Complete::Verbs:
        for (const Command* command : commands())
          if (!command->spec.hidden) add(command->spec.name, command->spec.summary);
        return;
      case Complete::ErrorIds:
        for (const ErrorEntry& entry : error_reference()) add(entry.id, entry.title);
        return;
    }
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string typed_;
  std::string text_;
};

const FlagSpec* find_flag(const std::vector<FlagSpec>& flags, std::string_view word) {
  for (const FlagSpec& flag : flags) {
    if (word == fmt::format("--{}", flag.name)) return &flag;
    if (flag.letter != 0 && word == fmt::format("-{}", flag.letter)) return &flag;
  }
  return nullptr;
}

/// bash takes `--color=ne` apart at the equals sign.
std::vector<std::string> without_equals(std::vector<std::string> words) {
  if (words.size() >= 2 && words.back() == "=") {
    words.back().clear();
  } else if (words.size() >= 3 && words[words.size() - 2] == "=") {
    words.erase(words.end() - 2);
  }
  return words;
}

std::string complete_verb(const CommandSpec& spec, const std::vector<std::string>& words) {
  const std::vector<FlagSpec> flags = flags_of(spec);
  const std::string& typed = words.back();
  if (std::find(words.begin(), words.end() - 1, "--") != words.end() - 1)
    return spec.takes_command ? ":command\n" : ":file\n";
  if (words.size() >= 2)
    if (const FlagSpec* flag = find_flag(flags, words[words.size() - 2]);
        flag != nullptr && !flag->value.empty()) {
      Offers offers(typed);
      offers.add_values(flag->complete, flag->choices);
      return offers.take();
    }
  Offers offers(typed);
  if (typed.starts_with("-")) {
    for (const FlagSpec& flag : flags) offers.add(fmt::format("--{}", flag.name), flag.help);
    if (spec.takes_command) offers.add("--", "the job");
    return offers.take();
  }
  // How many arguments stand before this one: words that are neither options nor their values.
  std::size_t position = 0;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const FlagSpec* flag = find_flag(flags, words[i]);
    if (flag != nullptr && !flag->value.empty()) {
      ++i;
    } else if (!words[i].starts_with("-")) {
      ++position;
    }
  }
  if (spec.takes_command) offers.add("--", "the job");
  if (!spec.args.empty() && spec.args.back().repeats) position = std::min(position, spec.args.size() - 1);
  if (position < spec.args.size())
    offers.add_values(spec.args[position].complete, spec.args[position].choices);
  return offers.take();
}

Result<ExitCode> run_completion(const Invocation& call, Console& console) {
  const std::string& shell = call.args.front();
  console.out << (shell == "bash"  ? kBashCompletionText
                  : shell == "zsh" ? kZshCompletionText
                                   : kFishCompletionText);
  return ExitCode::Ok;
}

Result<ExitCode> run_complete(const Invocation& call, Console& console) {
  console.out << complete(call.args);
  return ExitCode::Ok;
}

}  // namespace

std::string complete(const std::vector<std::string>& raw) {
  const std::vector<std::string> words = without_equals(raw);
  if (words.empty()) return {};
  if (words.size() == 1) {
    Offers offers(words.front());
    if (words.front().starts_with("-")) {
      offers.add("--help", "all verbs");
      offers.add("--version", "print the version");
    } else {
      offers.add_values(Complete::Verbs, {});
    }
    return offers.take();
  }
  const Command* command = find_command(words.front());
  if (command == nullptr || command->spec.hidden) return {};
  return complete_verb(command->spec, {words.begin() + 1, words.end()});
}

const Command& completion_command() {
  static const Command command{
      .spec = {.name = "completion",
               .summary = "print the completion script of a shell",
               .about = "Prints the completion script of a shell.",
               .examples = {{"source <(cox completion bash)", "for this shell"},
                            {"cox completion fish > ~/.config/fish/completions/cox.fish", "for good"}},
               .args = {{.name = "SHELL",
                         .help = "bash, zsh or fish",
                         .complete = Complete::Choices,
                         .choices = {"bash", "zsh", "fish"}}}},
      .run = run_completion};
  return command;
}

const Command& complete_command() {
  static const Command command{.spec = {.name = "__complete", .hidden = true, .raw = true},
                               .run = run_complete};
  return command;
}

}  // namespace cox::cli
