// SPDX-License-Identifier: Apache-2.0
#include "trace/import/kineto/kineto.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cox/base/number_text.hpp"

#include "trace/import/kineto/stream.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace kineto {
namespace {

/// How far a file is searched for its list of events, where what stands in front of it is long.
constexpr std::uint64_t kSearchBytes = std::uint64_t{16} << 20;

bool holds(const std::vector<std::string_view>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Keys that PyTorch writes beside the events. `schemaVersion` alone would be anybody's.
bool is_ours(const std::vector<std::string_view>& keys) {
  static constexpr std::array<std::string_view, 6> kOurs = {"traceEvents",       "deviceProperties",
                                                            "computeProperties", "baseTimeNanoseconds",
                                                            "displayTimeUnit",   "distributedInfo"};
  return std::any_of(kOurs.begin(), kOurs.end(), [&](std::string_view key) { return holds(keys, key); });
}

bool recognises(const Head& head) {
  Outline outline = outline_of(head.bytes);
  if (outline.list)
    return holds(outline.keys, "ph") && (holds(outline.keys, "ts") || holds(outline.keys, "name"));
  if (!outline.object || outline.finished || is_ours(outline.keys)) return is_ours(outline.keys);
  if (head.bytes.size() < kHeadBytes) return false;
  // One member in front, say `metadata`, fills all of the head.
  auto source = ByteSource::open(head.path, kSearchBytes * 2);
  if (!source) return false;
  std::string more(kSearchBytes, '\0');
  const auto n = source->read(more);
  return n && is_ours(outline_of(std::string_view(more).substr(0, *n)).keys);
}

Error not_a_trace(const std::string& file, const Walk& walk) {
  return Error{
      .code = Errc::InvalidInput,
      .id = "import-005",
      .message = fmt::format("no trace events up to byte {}, expected a list `traceEvents`", walk.stopped_at),
      .hint = "export the trace again with the profiler",
      .where = Where{.file = file}};
}

Header header_of(const Walk& walk) {
  Header header;
  for (const Member& m : walk.members) {
    if (m.key == "distributedInfo") header.distributed = parse_distributed(m.value);
    if (m.key == "baseTimeNanoseconds") header.base_ns = parse_integer(m.value).value_or(0);
  }
  return header;
}

}  // namespace

Result<Reading> read_trace(ByteSource& source, const std::string& file, std::size_t window_bytes) {
  NameBook names;
  Collector collector(names);
  EventParser parser(collector, names);
  COX_TRY(const Walk walk,
          walk_trace(source, window_bytes, {"distributedInfo", "baseTimeNanoseconds"}, parser));
  const EventCounts& counts = parser.counts();
  if (!walk.has_events || (counts.events == counts.malformed && !walk.whole))
    return fail(not_a_trace(file, walk));
  PartBuilder builder(file, "kineto");
  Reading out;
  out.tally = collector.finish(builder, header_of(walk), counts);
  out.counts = counts;
  const auto unpacked = static_cast<std::int64_t>(source.position());
  if (source.cut())
    builder.note("compressed data is damaged or cut; " +
                 counted(unpacked, "unpacked byte was used", "unpacked bytes were used"));
  if (walk.damaged)
    builder.note(fmt::format("not valid JSON at byte {}; what stands before it was used", walk.stopped_at));
  else if (!walk.whole)
    builder.note(
        fmt::format("the file is cut: it stops at byte {}, inside the event or value that begins there",
                    walk.stopped_at));
  out.run = std::move(builder).finish();
  SourceFile& about = out.run.sources.front();
  if (out.tally.used == 0) {
    about.used = false;
    about.why = "no event of a profiler's category";
  } else if (walk.damaged || !walk.whole || source.cut()) {
    about.why = "cut or damaged: used up to there";
  }
  return out;
}

}  // namespace kineto

namespace {

Result<Run> read(const std::filesystem::path& path, const ImportOptions& options) {
  COX_TRY(ByteSource source, ByteSource::open(path, options.limit_bytes));
  auto reading = kineto::read_trace(source, path.string(), kineto::kWindowBytes);
  if (reading) return std::move(reading->run);
  Error error = std::move(reading).error();
  if (!error.where) error.where = Where{.file = path.string()};  // a source does not know its name
  return fail(std::move(error));
}

}  // namespace

const Reader kKinetoReader{.format = "kineto",
                           .title = "PyTorch profiler (Kineto) JSON",
                           .recognises = kineto::recognises,
                           .read = read_without_program<read>};

}  // namespace cox::trace
