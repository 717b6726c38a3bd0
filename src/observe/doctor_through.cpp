// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/child.hpp"
#include "cox/base/units_text.hpp"
#include "cox/observe/doctor.hpp"

#include "observe/guest_names.hpp"

namespace cox::observe {
namespace {

namespace fs = std::filesystem;

/// What a shell there is told: one line per fact, a tab between name and value. Words of POSIX only; what is not
/// there leaves its value empty.
constexpr std::string_view kQuestions = R"sh(
say() { printf '%s\t%s\n' "$1" "$2"; }
say cox-doctor 1
say host "$(uname -n)"
say machine "$(uname -m)"
say libc "$(getconf GNU_LIBC_VERSION 2>/dev/null)"
if [ -r "$guest" ]; then say guest yes; else say guest no; fi
missing=
for name in $others; do [ -r "${guest%/*}/$name" ] || missing="$missing${missing:+, }$name"; done
say missing "$missing"
said=$(LD_PRELOAD="$guest" COX_DISABLE=1 cat /dev/null 2>&1); say status "$?"
say load "$(printf '%s' "$said" | grep -F "$guest" | head -n 1)"
if [ -d "$folder" ] && [ -w "$folder" ]; then say folder yes; else say folder no; fi
say free "$(df -Pk "$folder" 2>/dev/null | awk 'NR == 2 { print $4 }')"
say disable "$COX_DISABLE"
if [ -e "$policy" ]; then say policy yes; else say policy no; fi
)sh";

using Facts = std::map<std::string, std::string, std::less<>>;

/// Values are text from elsewhere: what a terminal would obey does not pass.
Facts facts_in(std::string_view text) {
  Facts facts;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) continue;
    std::string value(line.substr(tab + 1));
    for (char& c : value)
      if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
    facts.emplace(line.substr(0, tab), std::move(value));
  }
  return facts;
}

std::string value_of(const Facts& facts, std::string_view name) {
  const auto at = facts.find(name);
  return at == facts.end() ? std::string{} : at->second;
}

Check check_guest_there(const Facts& facts, const fs::path& guest) {
  Check check{
      .key = "there.guest", .subject = "guest object", .health = Health::Missing, .text = {}, .hint = {}};
  const std::string said = value_of(facts, "load");
  if (value_of(facts, "guest") != "yes") {
    check.text = fmt::format("{} is not there: jobs run unobserved, and the loader says so once per process",
                             guest.string());
    check.hint = "install cox under the same path, or mount it there";
  } else if (value_of(facts, "status") != "0") {
    check.text = fmt::format("does not load, and would end every process: {}", said);
    check.hint = "do not observe jobs there with this build";
  } else if (said.find("cannot be preloaded") != std::string::npos) {
    check.text = fmt::format("is not preloaded: {}", said);
    check.hint = "use the objects that were built for that machine";
  } else if (value_of(facts, "libc").empty()) {
    check.health = Health::Limited;
    check.text = "no glibc is there: programs of another C library, or static ones, are not observed";
    check.hint = "jobs that bring their own glibc are";
  } else if (const std::string missing = value_of(facts, "missing"); !missing.empty()) {
    check.health = Health::Limited;
    check.text = fmt::format("{} loads, without {} beside it: those libraries' calls are not recorded",
                             guest.string(), missing);
    check.hint = "install all of cox's objects there, as they are here";
  } else {
    check.health = Health::Ok;
    check.text = fmt::format("{} loads", guest.string());
  }
  return check;
}

Check check_folder_there(const Facts& facts, const fs::path& folder) {
  Check check{
      .key = "there.folder", .subject = "current folder", .health = Health::Ok, .text = {}, .hint = {}};
  if (value_of(facts, "folder") != "yes") {
    check.health = Health::Missing;
    check.text =
        fmt::format("{} is not there or not writable: a Run cannot be written into it", folder.string());
    check.hint = "name a folder that all machines of the job share: cox observe -o DIR";
    return check;
  }
  std::int64_t kilobytes = 0;
  const std::string free = value_of(facts, "free");
  const auto [end, problem] = std::from_chars(free.data(), free.data() + free.size(), kilobytes);
  const bool is_known =
      problem == std::errc{} && end == free.data() + free.size() && kilobytes < INT64_MAX / 1024;
  check.text = "writable there under the same name";
  if (is_known) check.text += fmt::format(", {} free", to_string(Bytes{kilobytes * 1024}));
  return check;
}

Result<fs::path> guest_of(const Surroundings& here) {
  std::error_code ec;
  for (const fs::path& dir : here.guest_dirs)
    if (fs::exists(dir / kPreload, ec)) return fs::canonical(dir / kPreload, ec);
  return fail(Error{.code = Errc::NotFound,
                    .id = "observe-002",
                    .message = fmt::format("{} was not found here", kPreload),
                    .hint = "run cox from its build or install folder, or reinstall it",
                    .where = {}});
}

/// The objects of libraries that this build has.
std::vector<std::string> others_beside(const fs::path& guest) {
  std::vector<std::string> found;
  std::error_code ec;
  for (const char* name : kLibraryGuests)
    if (fs::exists(guest.parent_path() / name, ec)) found.emplace_back(name);
  return found;
}

}  // namespace

Result<std::vector<Check>> examine_through(const Surroundings& here,
                                           const std::vector<std::string>& command) {
  COX_TRY(const fs::path guest, guest_of(here));
  const fs::path folder = fs::absolute(here.work_dir).lexically_normal();
  std::vector<std::string> words = command;
  words.emplace_back("sh");
  const ChildLimits limits{
      .time = Seconds{60},
      .out_bytes = 1U << 20U,
      .input = fmt::format("guest={}\nothers='{}'\nfolder={}\npolicy=/etc/cox/policy.toml\n{}",
                           shell_word(guest.string()), fmt::join(others_beside(guest), " "),
                           shell_word(folder.string()), kQuestions)};
  COX_TRY(const Ended ended, run_child(words, "observe-012", limits));
  const Facts facts = facts_in(ended.out);
  if (value_of(facts, "cox-doctor") != "1")
    return fail(
        Error{.code = Errc::NotFound,
              .id = "observe-012",
              .message = fmt::format("{}: no shell answered (status {})", command.front(), ended.status),
              .hint = "the command must pass its standard input on to a shell: ssh HOST, docker run -i IMAGE",
              .where = {}});
  const std::string libc = value_of(facts, "libc");
  std::vector<Check> checks = {
      {.key = "there",
       .subject = "reached",
       .health = Health::Note,
       .text = fmt::format("{}, {}, {}", value_of(facts, "host"), value_of(facts, "machine"),
                           libc.empty() ? "no glibc" : libc),
       .hint = {}},
      check_guest_there(facts, guest),
      check_folder_there(facts, folder)};
  if (value_of(facts, "policy") == "yes")
    checks.push_back({.key = "there.policy",
                      .subject = "policy",
                      .health = Health::Note,
                      .text = "/etc/cox/policy.toml is there; it binds what runs there",
                      .hint = {}});
  if (const std::string value = value_of(facts, "disable"); !value.empty() && value != "0")
    checks.push_back({.key = "there.environment",
                      .subject = "environment",
                      .health = Health::Missing,
                      .text = fmt::format("COX_DISABLE={}: nothing is recorded", value),
                      .hint = "unset COX_DISABLE there"});
  return checks;
}

}  // namespace cox::observe
