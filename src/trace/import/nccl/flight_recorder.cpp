// SPDX-License-Identifier: Apache-2.0
#include "trace/import/nccl/flight_recorder.hpp"

#include <algorithm>
#include <utility>

#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

bool has(std::string_view text, std::string_view key) {
  return text.find(key) != std::string_view::npos;
}

bool recognise_pickle(const Head& head) {
  return looks_like_pickle(head.bytes);
}

/// JSON writers sort the keys or keep torch's order, so the head shows the entries
/// or what stands around them.
bool recognise_json(const Head& head) {
  const std::string_view text = head.bytes;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  if (has(text, "\"traceEvents\"") || has(text, "\"distributedInfo\"") || has(text, "\"schemaVersion\""))
    return false;
  if (has(text, "\"profiling_name\"") && has(text, "\"time_created_ns\"")) return true;
  return has(text, "\"pg_config\"") &&
         (has(text, "\"entries\"") || has(text, "\"pg_status\"") || has(text, "\"version\""));
}

Result<std::string> read_dump(const std::filesystem::path& path, const ImportOptions& options, bool& cut) {
  COX_TRY(ByteSource source,
          ByteSource::open(path, std::min<std::uint64_t>(options.limit_bytes, kFlightRecorderBytes)));
  COX_TRY(std::string bytes, source.read_all());
  cut = source.cut();
  return bytes;
}

Result<Run> finish(Result<PlainDocument> dump, const std::filesystem::path& path, const char* format,
                   std::size_t input_bytes, bool cut) {
  auto run = dump ? map_flight_recorder(*dump, path, format, input_bytes)
                  : Result<Run>(fail(std::move(dump).error()));
  if (run) return run;
  Error error = std::move(run).error();
  if (cut) error.hint = "the compressed file stops early: copy it again";
  if (!error.where) error.where = Where{.file = path.string()};
  return fail(std::move(error));
}

Result<Run> read_pickle(const std::filesystem::path& path, const ImportOptions& options) {
  bool cut = false;
  COX_TRY(const std::string bytes, read_dump(path, options, cut));
  return finish(parse_pickle(bytes), path, kFlightRecorderPickleReader.format, bytes.size(), cut);
}

Result<Run> read_json(const std::filesystem::path& path, const ImportOptions& options) {
  bool cut = false;
  COX_TRY(std::string text, read_dump(path, options, cut));
  const std::size_t size = text.size();
  return finish(parse_plain_json(std::move(text)), path, kFlightRecorderJsonReader.format, size, cut);
}

}  // namespace

const Reader kFlightRecorderPickleReader{.format = "flight-recorder",
                                         .title = "PyTorch Flight Recorder pickle",
                                         .recognises = recognise_pickle,
                                         .read = read_without_program<read_pickle>};
const Reader kFlightRecorderJsonReader{.format = "flight-recorder-json",
                                       .title = "PyTorch Flight Recorder JSON",
                                       .recognises = recognise_json,
                                       .read = read_without_program<read_json>};

}  // namespace cox::trace
