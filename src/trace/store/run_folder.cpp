// SPDX-License-Identifier: Apache-2.0
#include "trace/store/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <fstream>
#include <map>

#include "cox/base/spelling.hpp"
#include "cox/trace/raw_format.hpp"
#include "cox/trace/run_files.hpp"
#include "cox/trace/run_info.hpp"

#include "trace/raw/meta_entries.hpp"
#include "trace/store/compact_file.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostNamed = 3;

tl::unexpected<Error> missing(const fs::path& path) {
  return fail(Error{.code = Errc::NotFound,
                    .id = "trace-001",
                    .message = "no such file or folder, expected a Run folder",
                    .hint = "make one with `cox observe -o DIR -- COMMAND`",
                    .where = Where{.file = path.string()}});
}

tl::unexpected<Error> foreign(const fs::path& path, std::string found) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "trace-002",
                    .message = "no Run in it: " + std::move(found) + "; expected .cox or .coxraw files",
                    .hint = "name the folder that `cox observe` wrote",
                    .where = Where{.file = path.string()}});
}

/// The first bytes of a regular file; nothing of pipes and devices, which could block.
std::string head_of(const fs::path& path) {
  std::error_code ec;
  if (!fs::is_regular_file(path, ec)) return {};
  std::ifstream in(path, std::ios::binary);
  std::string head(4096, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in.gcount()));
  return head;
}

bool begins_with(std::string_view head, std::string_view magic) {
  return head.substr(0, magic.size()) == magic;
}

/// Names the first few foreign entries of a folder by what they look like.
std::string describe(std::vector<fs::path> entries) {
  if (entries.empty()) return "the folder is empty";
  std::sort(entries.begin(), entries.end());
  std::string out = "found ";
  for (std::size_t i = 0; i < std::min(entries.size(), kMostNamed); ++i) {
    std::error_code ec;
    const std::string what = fs::is_directory(entries[i], ec) ? "a folder" : looks_like(head_of(entries[i]));
    out += fmt::format("{}{} ({})", i > 0 ? ", " : "", clean_text(entries[i].filename().string()), what);
  }
  if (entries.size() > kMostNamed) out += fmt::format(" and {} more", entries.size() - kMostNamed);
  return out;
}

/// Files of a Run that no process wrote its record into.
bool is_run_note(std::string_view name) {
  return name == "run.json" || name == "run.ends" || name == kDetachFile || name == kClaimsFile;
}

Result<std::vector<ProcessPaths>> single(const fs::path& path) {
  const std::string head = head_of(path);
  if (begins_with(head, {kCompactMagic, 6}) || path.extension() == kCompactSuffix)
    return std::vector{ProcessPaths{.compact = path, .raw = {}}};
  if (begins_with(head, {kRawMagic, 6}) || path.extension() == kRawSuffix)
    return std::vector{ProcessPaths{.compact = {}, .raw = path}};
  return foreign(path, "it looks like " + looks_like(head));
}

}  // namespace

std::optional<Error> nothing_recorded(const fs::path& dir) {
  const auto info = read_run_info(dir);
  if (!info || !*info || (*info)->provenance != Provenance::Observed) return std::nullopt;
  const RunInfo& run = **info;
  const std::string command = run.command.empty() ? "its command" : "`" + clean_text(run.command) + "`";
  std::string end = "and how it ended is not known";
  if (run.signal > 0)
    end = fmt::format("which signal {} ended", run.signal);
  else if (run.exit_status >= 0)
    end = fmt::format("which ended with status {}", run.exit_status);
  std::error_code ec;
  const bool was_detached = fs::exists(dir / kDetachFile, ec);
  if (was_detached) end += "; `cox detach` ended recording before any process began";
  return Error{.code = Errc::InvalidInput,
               .id = "trace-005",
               .message = fmt::format("a Run in which nothing was recorded: {}, {}", command, end),
               .hint = was_detached ? "record it again" : "`cox doctor` says what can be observed here",
               .where = Where{.file = dir.string()}};
}

namespace {

/// Whether a row of `columns` stands there, of which one at least is a number: one word that begins with a digit.
bool is_row(std::string_view line, char separator, std::ptrdiff_t columns) {
  if (std::count(line.begin(), line.end(), separator) + 1 != columns) return false;
  for (std::size_t from = 0; from <= line.size();) {
    const std::size_t end = std::min(line.find(separator, from), line.size());
    const std::size_t first = line.find_first_not_of(" \"+-.", from);
    if (first < end && std::isdigit(static_cast<unsigned char>(line[first])) != 0 &&
        line.find(' ', first) >= end)
      return true;
    from = end + 1;
  }
  return false;
}

/// Whether a line of names is followed by a row of as many columns: commas alone stand in prose and programs, too.
bool is_table(std::string_view text) {
  const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
  const std::string_view names = text.substr(0, end);
  const char separator = names.find('\t') == std::string_view::npos ? ',' : '\t';
  const std::ptrdiff_t columns = std::count(names.begin(), names.end(), separator) + 1;
  if (columns < 2 || std::isalpha(static_cast<unsigned char>(names[0])) == 0) return false;
  for (std::size_t from = end; from < text.size();) {
    const std::size_t to = std::min(text.find_first_of("\r\n", from), text.size());
    if (is_row(text.substr(from, to - from), separator, columns)) return true;
    from = to + 1;
  }
  return false;
}

}  // namespace

std::string looks_like(std::string_view head) {
  using namespace std::string_view_literals;
  struct Known {
    std::string_view magic;
    const char* name;
  };
  static constexpr std::array kKnown{Known{"\x1f\x8b"sv, "gzip data"},
                                     Known{"\x28\xb5\x2f\xfd"sv, "zstd data"},
                                     Known{"BZh"sv, "bzip2 data"},
                                     Known{"\xfd"
                                           "7zXZ"sv,
                                           "xz data"},
                                     Known{"PK\x03\x04"sv, "a zip archive"},
                                     Known{"\x7f"
                                           "ELF"sv,
                                           "a program or library"},
                                     Known{"SQLite format 3"sv, "an SQLite database"},
                                     Known{"\x89HDF"sv, "HDF5 data"},
                                     Known{"PAR1"sv, "Parquet data"},
                                     Known{"#Paraver"sv, "a Paraver trace"},
                                     Known{"OTF2"sv, "an OTF2 trace"},
                                     Known{"\x80\x02"sv, "a Python pickle"},
                                     Known{"\x80\x03"sv, "a Python pickle"},
                                     Known{"\x80\x04"sv, "a Python pickle"},
                                     Known{"\x80\x05"sv, "a Python pickle"},
                                     Known{"COXRAW"sv, "a raw file of a Run"},
                                     Known{"COXRUN"sv, "a compact file of a Run"}};
  if (head.empty()) return "empty or not a regular file";
  for (const Known& k : kKnown)
    if (begins_with(head, k.magic)) return k.name;
  const std::size_t start = head.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && (head[start] == '{' || head[start] == '[')) return "JSON text";
  const bool text = std::all_of(head.begin(), head.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u >= 0x20 || u == '\n' || u == '\t' || u == '\r';
  });
  if (!text) return "unknown binary data";
  if (start == std::string_view::npos) return "text";
  // A near miss: the names of its columns say which one is spelt otherwise.
  const std::string_view line = head.substr(start, head.find_first_of("\r\n", start) - start);
  constexpr std::size_t kShown = 60;
  return is_table(head.substr(start))
             ? fmt::format("a table whose columns are not known: {}", shown(line, kShown))
             : "text";
}

Result<std::vector<ProcessPaths>> list_run(const fs::path& path) {
  std::error_code ec;
  const fs::file_status status = fs::status(path, ec);
  if (!fs::exists(status)) return missing(path);
  if (!fs::is_directory(status)) return single(path);
  std::map<std::string, ProcessPaths> by_name;
  std::vector<fs::path> others;
  const std::vector<fs::path> entries = run_entries(path, ec);
  if (ec) return foreign(path, "the folder cannot be read (" + ec.message() + ")");
  for (const fs::path& file : entries) {
    const std::string name = fs::path(file).replace_extension().lexically_relative(path).string();
    if (file.extension() == kCompactSuffix)
      by_name[name].compact = file;
    else if (file.extension() == kRawSuffix)
      by_name[name].raw = file;
    else if (!is_run_note(file.filename().string()))
      others.push_back(file);
  }
  if (by_name.empty() && others.empty())
    if (auto empty = nothing_recorded(path)) return fail(*std::move(empty));
  if (by_name.empty()) return foreign(path, describe(std::move(others)));
  std::vector<ProcessPaths> out;
  out.reserve(by_name.size());
  for (auto& [name, paths] : by_name) out.push_back(std::move(paths));
  return out;
}

}  // namespace cox::trace
