// SPDX-License-Identifier: Apache-2.0
#include "cli/input/parse.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

// The only file that includes CLI11: it costs seconds to compile.
#include <CLI/CLI.hpp>

#include "cli/frame/spelling.hpp"
#include "cli/output/failure.hpp"

namespace cox::cli {
namespace {

constexpr int kMostThreads = 1024;

std::string help_hint(const CommandSpec& spec) {
  return fmt::format("`cox {} --help` lists what it takes", spec.name);
}

std::string cli11_name(const FlagSpec& flag) {
  if (flag.letter == 0) return fmt::format("--{}", flag.name);
  return fmt::format("-{},--{}", flag.letter, flag.name);
}

Error unknown_option(const CommandSpec& spec, const std::vector<FlagSpec>& flags, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> candidates;
  candidates.reserve(flags.size());
  for (const FlagSpec& flag : flags) candidates.push_back(fmt::format("--{}", flag.name));
  std::string hint = help_hint(spec);
  if (name.starts_with("--"))
    if (const auto near = nearest(name, candidates)) hint = fmt::format("did you mean {}?", *near);
  return usage_error("cli-002", fmt::format("unknown option {} for `cox {}`", name, spec.name),
                     std::move(hint));
}

/// In our words: which option it is about, and what it wants.
Error value_error(const CommandSpec& spec, const std::vector<FlagSpec>& flags, const CLI::ParseError& e) {
  const std::string text = e.what();
  for (const FlagSpec& flag : flags) {
    const std::string name = fmt::format("--{}", flag.name);
    if (text.find(name + ":") == std::string::npos && text.find(name + " ") == std::string::npos) continue;
    if (flag.value.empty())
      return usage_error("cli-003", fmt::format("{} takes no value", name), help_hint(spec));
    if (text.find("missing") != std::string::npos)
      return usage_error("cli-003", fmt::format("{} needs a value: {} {}", name, name, flag.value),
                         help_hint(spec));
    return usage_error("cli-003", fmt::format("{} is given more than once", name), help_hint(spec));
  }
  return usage_error("cli-003", text, help_hint(spec));
}

/// `cox observe mpirun -np 4 ./train`: the job's options would be taken for ours.
std::optional<Error> missing_dashes(const CommandSpec& spec, const std::vector<std::string>& own,
                                    const std::vector<std::string>& unknown) {
  if (unknown.empty() || unknown.front().starts_with("-")) return std::nullopt;
  const auto job = std::find(own.begin(), own.end(), unknown.front());
  std::string before = fmt::format("{}", fmt::join(own.begin(), job, " "));
  if (!before.empty()) before += ' ';
  return usage_error("cli-004", fmt::format("no `--` before the job '{}'", unknown.front()),
                     fmt::format("cox {} {}-- {}", spec.name, before, fmt::join(job, own.end(), " ")));
}

std::optional<Error> check_arguments(const CommandSpec& spec, const std::vector<std::string>& args,
                                     const std::vector<std::string>& job) {
  if (spec.takes_command && !args.empty())
    return usage_error("cli-004", fmt::format("'{}' stands before `--`", args.front()),
                       fmt::format("put the job behind two dashes: cox {} -- {}{}", spec.name,
                                   fmt::join(args, " "), job.empty() ? "" : " ..."));
  if (spec.takes_command && job.empty())
    return usage_error("cli-004", "no command given",
                       fmt::format("for example: {}", spec.examples.front().command));
  const bool repeats = !spec.args.empty() && spec.args.back().repeats;
  if (args.size() > spec.args.size() && !repeats)
    return usage_error("cli-004", fmt::format("unexpected argument '{}'", args[spec.args.size()]),
                       help_hint(spec));
  for (std::size_t i = args.size(); i < spec.args.size(); ++i)
    if (spec.args[i].required)
      return usage_error("cli-004", fmt::format("{} is missing", spec.args[i].name),
                         fmt::format("for example: {}", spec.examples.front().command));
  return std::nullopt;
}

/// An argument or option that allows only certain words.
std::optional<Error> check_choice(const std::string& what, const std::string& word,
                                  const std::vector<std::string_view>& choices) {
  if (choices.empty() || std::find(choices.begin(), choices.end(), word) != choices.end())
    return std::nullopt;
  std::string hint;
  const std::vector<std::string> candidates(choices.begin(), choices.end());
  if (const auto near = nearest(word, candidates)) hint = fmt::format("did you mean {}?", *near);
  return usage_error("cli-003", fmt::format("{} is '{}', expected {}", what, word, fmt::join(choices, ", ")),
                     hint);
}

Status read_common(Invocation& invocation) {
  CommonOptions& common = invocation.common;
  const std::string color = invocation.value("color", "auto");
  common.color = color == "always"  ? ColorWhen::Always
                 : color == "never" ? ColorWhen::Never
                                    : ColorWhen::Auto;
  common.json = invocation.has("json");
  common.quiet = invocation.has("quiet");
  common.verbose = invocation.has("verbose");
  const std::string threads = invocation.value("threads", "0");
  const char* end = threads.data() + threads.size();
  const auto [at, problem] = std::from_chars(threads.data(), end, common.threads);
  if (problem != std::errc{} || at != end || common.threads < 0 || common.threads > kMostThreads)
    return fail(usage_error(
        "cli-003",
        fmt::format("--threads is '{}', expected a whole number from 0 to {}", threads, kMostThreads),
        "0 means one per core"));
  return {};
}

}  // namespace

Result<Invocation> parse(const Command& command, const std::vector<std::string>& words) {
  const CommandSpec& spec = command.spec;
  const std::vector<FlagSpec> flags = flags_of(spec);
  Invocation invocation;
  invocation.command = &command;

  // What stands behind `--` is another program's, or the words that follow cannot be options.
  const auto dashes = std::find(words.begin(), words.end(), "--");
  std::vector<std::string> own(words.begin(), dashes);
  std::vector<std::string> behind(dashes == words.end() ? dashes : dashes + 1, words.end());
  if (spec.takes_command) invocation.job = std::exchange(behind, {});
  if (std::find_if(own.begin(), own.end(), [](const auto& w) { return w == "-h" || w == "--help"; }) !=
      own.end()) {
    invocation.wants_help = true;
    return invocation;
  }

  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::map<std::string, std::string, std::less<>> values;
  std::map<std::string, std::vector<std::string>, std::less<>> lists;
  std::map<std::string, std::int64_t, std::less<>> counts;
  for (const FlagSpec& flag : flags) {
    if (flag.value.empty()) {
      app.add_flag(cli11_name(flag), counts[std::string(flag.name)]);
    } else if (flag.value.ends_with(",...")) {  // given twice it goes on; nobody but its verb parts it
      app.add_option(cli11_name(flag), lists[std::string(flag.name)])
          ->type_name(std::string(flag.value))
          ->allow_extra_args(false);
    } else {
      app.add_option(cli11_name(flag), values[std::string(flag.name)])->type_name(std::string(flag.value));
    }
  }
  try {
    app.parse(std::vector<std::string>(own.rbegin(), own.rend()));  // CLI11 wants them back to front
  } catch (const CLI::ParseError& e) {
    return fail(value_error(spec, flags, e));
  }
  if (spec.takes_command && dashes == words.end())
    if (auto error = missing_dashes(spec, own, app.remaining())) return fail(*error);
  for (const std::string& word : app.remaining()) {
    if (word.size() > 1 && word.front() == '-') return fail(unknown_option(spec, flags, word));
    invocation.args.push_back(word);
  }
  invocation.args.insert(invocation.args.end(), behind.begin(), behind.end());
  for (const FlagSpec& flag : flags) {
    const std::string name(flag.name);
    if (flag.value.empty()) {
      if (counts[name] > 0) invocation.switches.insert(name);
    } else if (app.count(fmt::format("--{}", name)) > 0) {
      if (const auto list = lists.find(name); list != lists.end())
        values[name] = fmt::format("{}", fmt::join(list->second, ","));
      if (values[name].empty())
        return fail(usage_error("cli-003", fmt::format("--{} needs a value: --{} {}", name, name, flag.value),
                                help_hint(spec)));
      if (auto error = check_choice(fmt::format("--{}", name), values[name], flag.choices))
        return fail(*error);
      invocation.values[name] = values[name];
    }
  }
  if (auto error = check_arguments(spec, invocation.args, invocation.job)) return fail(*error);
  for (std::size_t i = 0; i < invocation.args.size(); ++i) {
    const ArgSpec& arg = spec.args[std::min(i, spec.args.size() - 1)];
    if (auto error = check_choice(std::string(arg.name), invocation.args[i], arg.choices))
      return fail(*error);
  }
  COX_CHECK(read_common(invocation));
  return invocation;
}

}  // namespace cox::cli
