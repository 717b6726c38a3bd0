// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/run_info.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "cox/base/file.hpp"
#include "cox/base/json.hpp"

#include "trace/store/run_info_json.hpp"

namespace cox::trace {
namespace {

constexpr const char* kFormat = "cox.run/1";
constexpr std::size_t kLimitBytes = 1'000'000;
constexpr int kMaxDepth = 32;
constexpr std::int64_t kMostRedacted = 1'000'000;
constexpr std::size_t kLongestEnd = 64;
constexpr std::int64_t kMostSignal = 127;
constexpr std::int64_t kMostSeconds = 9'000'000;  // a hundred days: a Duration holds 9.2e6 s
constexpr std::size_t kMostUnwritten = 256;
constexpr const char* kEndsFile = "run.ends";

tl::unexpected<Error> damaged(std::string message) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "trace-004",
                    .message = std::move(message),
                    .hint = "remove the file: the Run is readable without it",
                    .where = std::nullopt});
}

/// A text field of any length; a field that is missing or of another type keeps its default.
void take(const Json& from, const char* key, std::string& into) {
  if (const auto at = from.find(key); at != from.end() && at->is_string()) into = at->get<std::string>();
}

/// A whole number from 0 to `most`; anything else keeps its default.
void take_number(const Json& from, const char* key, std::int64_t most, int& into) {
  const auto at = from.find(key);
  if (at == from.end() || !at->is_number_integer()) return;
  const auto value = at->get<std::int64_t>();
  if (value >= 0 && value <= most) into = static_cast<int>(value);
}

void take_unwritten(const Json& from, std::vector<UnwrittenRank>& into) {
  constexpr std::int64_t kMostRank = 1 << 24;
  constexpr std::int64_t kMostError = 4095;
  const auto list = from.find("unwritten");
  if (list == from.end() || !list->is_array()) return;
  for (const Json& one : *list) {
    if (!one.is_array() || one.size() != 2 || !one[0].is_number_integer() || !one[1].is_number_integer())
      continue;
    const auto rank = one[0].get<std::int64_t>();
    const auto error = one[1].get<std::int64_t>();
    if (rank < -1 || rank > kMostRank || error < 0 || error > kMostError) continue;
    if (into.size() == kMostUnwritten) return;
    into.push_back({.rank = static_cast<int>(rank), .error = static_cast<int>(error)});
  }
}

/// Deeply nested arrays would overflow the stack of a recursive destructor: refuse them before parsing.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

Provenance provenance_from(std::string_view name) {
  if (name == name_of(Provenance::Imported)) return Provenance::Imported;
  if (name == name_of(Provenance::Simulated)) return Provenance::Simulated;
  return Provenance::Observed;
}

}  // namespace

Result<RunInfo> parse_run_info(std::string_view text) {
  if (text.size() > kLimitBytes)
    return damaged(fmt::format("{} bytes long, expected at most {}", text.size(), kLimitBytes));
  if (too_deep(text))
    return damaged(fmt::format("nested deeper than {} levels, expected an object", kMaxDepth));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return damaged("not valid JSON, expected an object of format cox.run/1");
  if (!json.is_object()) return damaged(fmt::format("a JSON {}, expected an object", json.type_name()));
  std::string format;
  take(json, "format", format);
  if (format != kFormat)
    return damaged(fmt::format("format is \"{}\", expected \"{}\"", format.substr(0, 40), kFormat));
  RunInfo info;
  take(json, "name", info.name);
  take(json, "command", info.command);
  take(json, "tool", info.tool);
  take(json, "started", info.started);
  take(json, "job", info.job);
  take(json, "launch", info.launch);
  take(json, "logged_end", info.logged_end);
  if (info.logged_end.size() > kLongestEnd) info.logged_end.clear();
  take_number(json, "redacted", kMostRedacted, info.redacted);
  take_number(json, "signal", kMostSignal, info.signal);
  take_number(json, "told", kMostSignal, info.told);
  if (info.told > 0) take_number(json, "told_before_s", kMostSeconds, info.told_before_s);
  take_unwritten(json, info.unwritten);
  std::string provenance;
  take(json, "provenance", provenance);
  info.provenance = provenance_from(provenance);
  if (const auto at = json.find("exit_status"); at != json.end() && at->is_number_integer()) {
    const auto status = at->get<std::int64_t>();
    if (status >= -1 && status <= 255) info.exit_status = static_cast<int>(status);
  }
  return info;
}

std::string format_run_info(const RunInfo& info) {
  Json json;
  json["format"] = kFormat;
  json["name"] = info.name;
  json["command"] = info.command;
  if (info.redacted > 0) json["redacted"] = info.redacted;
  json["tool"] = info.tool;
  json["started"] = info.started;
  json["job"] = info.job;
  if (!info.launch.empty()) json["launch"] = info.launch;
  json["provenance"] = name_of(info.provenance);
  json["exit_status"] = info.exit_status < 0 ? Json(nullptr) : Json(info.exit_status);
  if (info.signal > 0) json["signal"] = info.signal;
  if (info.told > 0) json["told"] = info.told;
  if (info.told > 0 && info.told_before_s >= 0) json["told_before_s"] = info.told_before_s;
  for (const UnwrittenRank& u :
       std::span(info.unwritten).first(std::min(info.unwritten.size(), kMostUnwritten)))
    json["unwritten"].push_back(Json::array({u.rank, u.error}));
  if (!info.logged_end.empty()) json["logged_end"] = info.logged_end;
  return json_text(json);  // a command line may hold bytes that are not UTF-8
}

std::vector<RankEnd> parse_rank_ends(std::string_view text) {
  std::vector<RankEnd> ends;
  while (!text.empty()) {
    const std::size_t line_end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, line_end));
    text.remove_prefix(std::min(line_end + 1, text.size()));
    RankEnd e;
    int used = 0;
    if (std::sscanf(line.c_str(), "%9d %3d %3d %19" SCNd64 "%n", &e.rank, &e.exit_status, &e.signal,
                    &e.realtime_ns, &used) != 4 ||
        static_cast<std::size_t>(used) != line.size())
      continue;  // cut by a full disk: the others are whole
    if (e.rank >= 0 &&
        (e.exit_status > 0 || e.exit_status == RankEnd::kCutOff || e.exit_status == RankEnd::kInOrder) &&
        e.signal >= 0 && e.realtime_ns > 0)
      ends.push_back(e);
  }
  std::stable_sort(ends.begin(), ends.end(),
                   [](const RankEnd& a, const RankEnd& b) { return a.realtime_ns < b.realtime_ns; });
  return ends;
}

Status write_run_info(const std::filesystem::path& dir, const RunInfo& info, Rights rights) {
  return write_file_atomically(dir / "run.json", format_run_info(info), IfExists::Replace, rights);
}

Status create_run_info(const std::filesystem::path& dir, const RunInfo& info, Rights rights) {
  return write_file_atomically(dir / "run.json", format_run_info(info), IfExists::Fail, rights);
}

Status append_rank_end(const std::filesystem::path& dir, const RankEnd& end, Rights rights) {
  const std::filesystem::path path = dir / kEndsFile;
  const std::string line =
      fmt::format("{} {} {} {}\n", end.rank, end.exit_status, end.signal, end.realtime_ns);
  // One write to the end of the file: lines of ranks that end together do not mix.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                        static_cast<mode_t>(rights));
  const bool good = fd >= 0 && ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int cause = errno;
  if (fd >= 0 && rights == Rights::Group) static_cast<void>(::fchmod(fd, static_cast<mode_t>(rights)));
  if (fd >= 0) ::close(fd);
  if (good) return {};
  return fail(Error{.code = Errc::Io,
                    .id = "base-006",
                    .message = fmt::format("cannot be written: {}", std::strerror(cause)),
                    .hint = "check the folder, its rights and free space",
                    .where = Where{.file = path.string()}});
}

Result<std::optional<RunInfo>> read_run_info(const std::filesystem::path& dir) {
  const std::filesystem::path path = dir / "run.json";
  std::error_code ec;
  const auto type = std::filesystem::symlink_status(path, ec).type();
  if (type == std::filesystem::file_type::not_found) return std::optional<RunInfo>{};
  if (type == std::filesystem::file_type::none)
    return fail(Error{.code = Errc::Io,
                      .id = "base-002",
                      .message = fmt::format("cannot be read: {}", ec.message()),
                      .hint = "check the path and its rights",
                      .where = Where{.file = path.string()}});
  auto text = read_file(path, kLimitBytes);
  Result<RunInfo> info = text ? parse_run_info(*text) : damaged(text.error().message);
  if (!info) {
    Error error = std::move(info).error();
    error.where = Where{.file = path.string()};
    return fail(std::move(error));
  }
  if (const auto ends = read_file(dir / kEndsFile, kLimitBytes)) info->ends = parse_rank_ends(*ends);
  if (info->exit_status <= 0 && !info->ends.empty()) {  // a failure of any rank is the job's
    info->exit_status = info->ends.front().exit_status;
    info->signal = info->ends.front().signal;
  }
  return std::optional<RunInfo>(*std::move(info));
}

}  // namespace cox::trace
