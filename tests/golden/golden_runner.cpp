// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs transcripts: command lines with what they must print and how they must end.
///
///     # words about the case
///     %replace [0-9.]+ ms => <time>
///     $ cox diagnose nowhere
///     > a line of standard output
///     ! a line of standard error
///     = 3
///
/// Each file runs in a folder of its own, its commands one after the other through /bin/sh, with a small
/// fixed environment: `cox` is in PATH, $DATA is tests/data. Before comparing, that folder becomes <dir>,
/// $DATA <data>, the folder of the program <bin> and the version <version>; then the file's own %replace
/// lines (ECMAScript regular expressions, line by line) are applied. `= 0` is left out, and so are lines of progress. `--update` rewrites
/// the files; read the difference.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/processes.h"
#include "cox/base/version.hpp"

namespace {

namespace fs = std::filesystem;

struct Setup {
  fs::path bin;
  fs::path data;
  bool update = false;
};

struct Rule {
  std::regex what;
  std::string with;
};

struct Outcome {
  std::string out;
  std::string err;
  int exit_code = 0;
};

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// A folder that goes when its transcript ends.
class Workplace {
 public:
  Workplace() {
    std::string name = (fs::temp_directory_path() / "cox-golden-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = fs::canonical(name);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace() {
    std::error_code ec;
    fs::remove_all(path_, ec);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

[[noreturn]] void exec_shell(const std::string& command, const fs::path& dir, const Setup& setup,
                             const fs::path& out, const fs::path& err) {
  const auto redirect = [](const char* path, int flags, int to) {
    const int fd = ::open(path, flags, 0600);
    if (fd < 0 || ::dup2(fd, to) < 0) ::_exit(120);
  };
  redirect("/dev/null", O_RDONLY, STDIN_FILENO);
  redirect(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
  redirect(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
  if (::chdir(dir.c_str()) != 0) ::_exit(121);
  std::vector<std::string> environment = {"PATH=" + setup.bin.string() + ":/usr/bin:/bin",
                                          "HOME=" + dir.string(), "LC_ALL=C.UTF-8", "TERM=dumb",
                                          "DATA=" + setup.data.string()};
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"})
    if (const char* value = std::getenv(name)) environment.push_back(std::string(name) + "=" + value);
  std::vector<char*> variables;
  variables.reserve(environment.size() + 1);
  for (std::string& v : environment) variables.push_back(v.data());
  variables.push_back(nullptr);
  const std::array<const char*, 4> argv = {"sh", "-c", command.c_str(), nullptr};
  ::execve("/bin/sh", const_cast<char* const*>(argv.data()), variables.data());
  ::_exit(122);
}

Outcome run(const std::string& command, const fs::path& dir, const fs::path& logs, const Setup& setup) {
  const fs::path out = logs / "out";
  const fs::path err = logs / "err";
  const pid_t child = ::fork();
  if (child == 0) exec_shell(command, dir, setup, out, err);
  int status = 0;
  if (child < 0 || cox_wait_process(child, &status, 0) != child) std::abort();
  return {.out = slurp(out),
          .err = slurp(err),
          .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
}

/// Output as it stands in a transcript: places and version by name, then the file's own rules.
std::string shown(std::string text, char mark, const Setup& setup, const fs::path& dir,
                  const std::vector<Rule>& rules) {
  if (text.empty()) return {};
  if (text.back() != '\n') text += "<no newline>\n";
  replace_all(text, dir.string(), "<dir>");
  replace_all(text, setup.data.string(), "<data>");
  replace_all(text, setup.bin.string(), "<bin>");
  replace_all(text, COX_VERSION, "<version>");
  // How far long work has come is told where it takes more than a second or two: on a busy machine anything does.
  static const std::regex progress("cox: [a-z]+ [0-9]+ %");
  std::string result;
  for (std::string line : lines_of(text)) {
    if (std::regex_match(line, progress)) continue;
    for (const Rule& rule : rules) line = std::regex_replace(line, rule.what, rule.with);
    result += mark;
    if (!line.empty()) result += " " + line;
    result += '\n';
  }
  return result;
}

Rule parse_rule(const std::string& line) {
  constexpr std::string_view kKeyword = "%replace ";
  const auto arrow = line.find(" => ");
  if (arrow == std::string::npos) throw std::runtime_error("no ' => ' in: " + line);
  return {.what = std::regex(line.substr(kKeyword.size(), arrow - kKeyword.size())),
          .with = line.substr(arrow + 4)};
}

/// The transcript as it comes out now.
std::string replay(const std::string& transcript, const Setup& setup) {
  const Workplace work;
  const Workplace logs;
  std::vector<Rule> rules;
  std::string now;
  for (const std::string& line : lines_of(transcript)) {
    if (line.starts_with("> ") || line.starts_with("! ") || line.starts_with("= ") || line == ">" ||
        line == "!")
      continue;
    now += line + "\n";
    if (line.starts_with("%replace ")) rules.push_back(parse_rule(line));
    if (!line.starts_with("$ ")) continue;
    const Outcome outcome = run(line.substr(2), work.path(), logs.path(), setup);
    now += shown(outcome.out, '>', setup, work.path(), rules);
    now += shown(outcome.err, '!', setup, work.path(), rules);
    if (outcome.exit_code != 0) now += "= " + std::to_string(outcome.exit_code) + "\n";
  }
  return now;
}

bool check(const fs::path& file, const Setup& setup) {
  const std::string before = slurp(file);
  if (before.find("$ ") == std::string::npos) {
    std::cerr << file.string() << ": no command in it\n";
    return false;
  }
  const std::string now = replay(before, setup);
  if (now == before) return true;
  if (setup.update) {
    std::ofstream(file, std::ios::binary) << now;
    std::cout << "updated " << file.string() << "\n";
    return true;
  }
  const Workplace work;
  std::ofstream(work.path() / "now", std::ios::binary) << now;
  std::cout << file.string() << ": the output differs (- wanted, + got)\n" << std::flush;
  const std::string diff = "diff -U3 '" + file.string() + "' '" + (work.path() / "now").string() + "'";
  if (std::system(diff.c_str()) == 0) std::cout << "(no difference found by diff)\n";
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  Setup setup;
  std::vector<fs::path> files;
  try {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word == "--update") {
        setup.update = true;
      } else if (word == "--bin" && i + 1 < argc) {
        setup.bin = fs::canonical(argv[++i]);
      } else if (word == "--data" && i + 1 < argc) {
        setup.data = fs::weakly_canonical(argv[++i]);
      } else {
        files.emplace_back(word);
      }
    }
    if (setup.bin.empty() || !fs::exists(setup.bin / "cox") || setup.data.empty() || files.empty()) {
      std::cerr << "usage: golden_runner [--update] --bin DIR --data DIR FILE.golden...\n";
      return 2;
    }
    bool good = true;
    for (const fs::path& file : files) good = check(file, setup) && good;
    return good ? 0 : 1;
  } catch (const std::exception& e) {
    std::cerr << "golden_runner: " << e.what() << "\n";
    return 2;
  }
}
