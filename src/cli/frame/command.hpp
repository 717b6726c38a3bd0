// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a subcommand is: its options as data, and the function that does it.
///
/// Parsing, help, the man page, docs/reference/cli.md and completion all read the same tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"

namespace cox::cli {

/// Exit codes of every verb but `observe`, which passes on its child's.
enum class ExitCode : int {
  Ok = 0,
  BadAnswer = 1,    ///< done, and the answer is bad (--check)
  Usage = 2,        ///< the command line
  BadInput = 3,     ///< the files
  Environment = 4,  ///< the machine: permission, I/O, something missing
  Bug = 70,         ///< ours
  ObserveFailed = 125,
  NotExecutable = 126,
  NotFound = 127,
  Interrupted = 130,
};

/// What completion offers for a value.
enum class Complete : std::uint8_t { None, File, Folder, Choices, Verbs, ErrorIds };

/// An option: `-o, --output FILE`.
struct FlagSpec {
  std::string_view name{};  ///< long name without dashes
  char letter = 0;          ///< short form, 0 = none
  /// Placeholder of its value; empty = a switch. One that ends in `,...` is a list: given more than once, its parts are joined.
  std::string_view value{};
  std::string_view help{};      ///< one clause, with the unit
  std::string_view fallback{};  ///< default as text; empty = none
  Complete complete = Complete::None;
  std::vector<std::string_view> choices{};
};

/// A positional argument.
struct ArgSpec {
  std::string_view name{};
  std::string_view help{};
  bool required = true;
  Complete complete = Complete::None;
  std::vector<std::string_view> choices{};
  bool repeats = false;  ///< stands for one or more words; only the last argument of a verb
};

struct ExampleSpec {
  std::string_view command{};
  std::string_view says{};
};

/// Which of the options that verbs share apply to a verb.
struct SharedFlags {
  bool json = false;
  bool threads = false;
};

struct CommandSpec {
  std::string_view name{};
  std::string_view summary{};  ///< for the list of verbs: no capital, no full stop
  std::string_view about{};    ///< first line of its help: a sentence
  std::vector<ExampleSpec> examples{};
  std::vector<ArgSpec> args{};
  std::vector<FlagSpec> flags{};
  SharedFlags shared{};
  bool takes_command = false;  ///< everything behind `--` belongs to another program
  bool hidden = false;
  bool raw = false;          ///< takes its words as they are, options included
  std::string_view notes{};  ///< further paragraphs, for the man page and docs/reference/cli.md only
};

enum class ColorWhen : std::uint8_t { Auto, Always, Never };

/// Options that every verb takes.
struct CommonOptions {
  ColorWhen color = ColorWhen::Auto;
  int threads = 0;  ///< 0 = one per core
  bool json = false;
  bool quiet = false;
  bool verbose = false;
};

/// Where results and talk go, and what the process was started with.
struct Console {
  std::ostream& out;  ///< results
  std::ostream& err;  ///< talk
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  std::map<std::string, std::string> environment{};
  std::size_t out_columns = 0;  ///< of the terminal that `out` is; 0 = not known

  [[nodiscard]] std::optional<std::string> env(const std::string& name) const;
};

struct Command;

/// A command line that was understood.
struct Invocation {
  const Command* command = nullptr;
  CommonOptions common{};
  std::map<std::string, std::string, std::less<>> values{};
  std::set<std::string, std::less<>> switches{};
  std::vector<std::string> args{};
  std::vector<std::string> job{};  ///< behind `--`
  bool wants_help = false;

  [[nodiscard]] bool has(std::string_view flag) const { return switches.find(flag) != switches.end(); }
  /// The option's value, else `fallback`.
  [[nodiscard]] std::string value(std::string_view flag, std::string_view fallback = {}) const;
};

struct Command {
  CommandSpec spec{};
  Result<ExitCode> (*run)(const Invocation&, Console&) = nullptr;
};

/// All options of a verb: its own, then those it shares with the others.
[[nodiscard]] std::vector<FlagSpec> flags_of(const CommandSpec& spec);

}  // namespace cox::cli
