// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/run_info.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "cox/base/file.hpp"

#include "trace/store/run_info_json.hpp"

namespace cox::trace {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kFormat = "cox.run/1";
constexpr std::size_t kLimitBytes = 1'000'000;
constexpr int kMaxDepth = 32;

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
  json["tool"] = info.tool;
  json["started"] = info.started;
  json["job"] = info.job;
  if (!info.launch.empty()) json["launch"] = info.launch;
  json["provenance"] = name_of(info.provenance);
  json["exit_status"] = info.exit_status < 0 ? Json(nullptr) : Json(info.exit_status);
  // A command line may hold bytes that are not UTF-8; they must not make the file unwritable.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status write_run_info(const std::filesystem::path& dir, const RunInfo& info) {
  return write_file_atomically(dir / "run.json", format_run_info(info), IfExists::Replace);
}

Status create_run_info(const std::filesystem::path& dir, const RunInfo& info) {
  return write_file_atomically(dir / "run.json", format_run_info(info), IfExists::Fail);
}

Result<std::optional<RunInfo>> read_run_info(const std::filesystem::path& dir) {
  const std::filesystem::path path = dir / "run.json";
  std::error_code ec;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, ec))) return std::optional<RunInfo>{};
  auto text = read_file(path, kLimitBytes);
  Result<RunInfo> info = text ? parse_run_info(*text) : damaged(text.error().message);
  if (!info) {
    Error error = std::move(info).error();
    error.where = Where{.file = path.string()};
    return fail(std::move(error));
  }
  return std::optional<RunInfo>(*std::move(info));
}

}  // namespace cox::trace
