// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/assert.hpp"

#include "fuzz/entries.hpp"
#include "fuzz/said.hpp"
#include "trace/import/part/assemble_parts.hpp"
#include "trace/import/part/reader.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::fuzz {
namespace {

using namespace cox::trace;

const Reader* find_reader(std::string_view name) {
  static const std::array<std::pair<std::string_view, const Reader*>, 18> by_name{{
      {"kineto", &kKinetoReader},
      {"flight_recorder_pickle", &kFlightRecorderPickleReader},
      {"flight_recorder_json", &kFlightRecorderJsonReader},
      {"nccl_inspector", &kNcclInspectorReader},
      {"nccl_profiler", &kNcclProfilerReader},
      {"step_table", &kStepTableReader},
      {"chakra_protobuf", &kChakraProtobufReader},
      {"chakra_json", &kChakraJsonReader},
      {"pytorch_et", &kPytorchEtReader},
      {"goal", &kGoalReader},
      {"otf2", &kOtf2Reader},
      {"paraver", &kParaverReader},
      {"dumpi", &kDumpiReader},
      {"operation_csv", &kOperationCsvReader},
      {"operation_parquet", &kOperationParquetReader},
      {"mlperf", &kMlperfReader},
      {"span_lines", &kSpanLinesReader},
      {"step_log", &kStepLogReader},
  }};
  for (const auto& [known, reader] : by_name)
    if (known == name) return reader;
  return nullptr;
}

void check_events(const Run& run, const RankTrack& track) {
  const EventColumns& e = track.events;
  for (const std::size_t length : {e.end.size(), e.bytes.size(), e.comm.size(), e.seq.size(), e.kind.size(),
                                   e.op.size(), e.flags.size(), e.aux.size(), e.thread.size()})
    COX_ASSERT(length == e.size(), "columns of events are of one length");
  for (std::size_t i = 0; i < e.size(); ++i) {
    COX_ASSERT(i == 0 || e.begin[i - 1] <= e.begin[i], "events are ordered");
    COX_ASSERT(e.end[i] >= e.begin[i], "calls return after they began");
    COX_ASSERT(e.comm[i] == kNoComm || run.find(e.comm[i]) != nullptr, "communicators are described");
  }
  for (const CollectiveLaunch& l : track.launches)
    COX_ASSERT(l.event < e.size() && l.end >= l.begin, "a launch belongs to an event");
}

void check_activities(const Run& run, const RankTrack& track) {
  const ActivityColumns& a = track.activities;
  for (const std::size_t length :
       {a.end.size(), a.kind.size(), a.lane.size(), a.name.size(), a.launched.size()})
    COX_ASSERT(length == a.size(), "columns of activities are of one length");
  for (std::size_t i = 0; i < a.size(); ++i) {
    COX_ASSERT(i == 0 || a.begin[i - 1] <= a.begin[i], "activities are ordered");
    COX_ASSERT(a.end[i] >= a.begin[i] && a.name[i] < run.names.size(), "activities are named spans");
    COX_ASSERT(a.launched[i] == kNoActivity || a.launched[i] < a.size(), "a launch is an activity");
  }
  const UsefulColumns& u = track.useful;
  COX_ASSERT(u.end.size() == u.size(), "columns of useful stretches are of one length");
  for (std::size_t i = 0; i < u.size(); ++i)
    COX_ASSERT(u.end[i] >= u.begin[i] && (i == 0 || u.begin[i] >= u.end[i - 1]),
               "useful stretches are ordered and do not overlap");
}

void check_communicators(const Run& run) {
  for (std::size_t i = 0; i < run.communicators.size(); ++i) {
    const Communicator& c = run.communicators[i];
    COX_ASSERT(run.find(c.id) == &c, "a communicator is found under its id");
    COX_ASSERT(std::adjacent_find(c.ranks.begin(), c.ranks.end(), std::greater_equal<>()) == c.ranks.end(),
               "members are sorted and each there once");
    COX_ASSERT(c.size >= 0 && static_cast<std::size_t>(c.size) >= c.ranks.size(), "room for the members");
  }
}

void check_messages(const MessageColumns& m) {
  for (const std::size_t length :
       {m.to.size(), m.send_begin.size(), m.send_end.size(), m.receive_begin.size(), m.receive_end.size(),
        m.bytes.size(), m.tag.size()})
    COX_ASSERT(length == m.size(), "columns of messages are of one length");
  for (std::size_t i = 0; i < m.size(); ++i)
    COX_ASSERT(m.send_end[i] >= m.send_begin[i] && m.receive_end[i] >= m.receive_begin[i],
               "sends and receives return after they began");
}

void check_program(const model::Program& o) {
  for (const std::size_t length : {o.kind.size(), o.name.size(), o.begin.size(), o.duration.size(),
                                   o.bytes.size(), o.sequence.size(), o.comm.size()})
    COX_ASSERT(length == o.size(), "columns of operations are of one length");
  COX_ASSERT(o.collective.empty() || o.collective.size() == o.size(),
             "the kind of every collective, or of none");
  for (const std::size_t length : {o.step.size(), o.micro_batch.size(), o.chunk.size()})
    COX_ASSERT(length == o.size() || length == 0, "columns of tables are of one length");
  COX_ASSERT(o.is_empty() || o.is_graph() || o.is_table(), "edges of every operation, or of none");
  for (std::size_t i = 0; i < o.size(); ++i) {
    COX_ASSERT(o.rank[i] < o.ranks.size() && o.name[i] < o.names.size(), "operations of known ranks");
    COX_ASSERT(o.duration[i] == model::kNoDuration || o.duration[i] >= Duration::zero(),
               "operations take time");
    COX_ASSERT(o.comm[i] == kNoComm || o.group_of(i) != nullptr, "communicators are described");
  }
  for (const std::uint32_t b : o.needs.all_before()) COX_ASSERT(b < o.size(), "edges lead to operations");
}

/// Text from a file reaches the user's terminal.
void check_texts(const Run& run) {
  const auto is_clean = [](const std::string& text) { return clean_text(text) == text; };
  for (const Note& note : run.notes) COX_ASSERT(is_clean(note.text), "notes can be printed");
  for (const std::string& name : run.names) COX_ASSERT(is_clean(name), "names can be printed");
  for (const Node& node : run.nodes) COX_ASSERT(is_clean(node.host), "hosts can be printed");
  for (const Communicator& c : run.communicators)
    COX_ASSERT(is_clean(c.name), "communicators can be printed");
  for (const RankTrack& t : run.ranks)
    for (const std::string* text : {&t.launcher, &t.program, &t.library, &t.timing})
      COX_ASSERT(is_clean(*text), "what ran can be printed");
}

void check(const Run& run) {
  for (const RankTrack& track : run.ranks) {
    check_events(run, track);
    check_activities(run, track);
    COX_ASSERT(std::any_of(run.nodes.begin(), run.nodes.end(),
                           [&](const Node& node) { return node.id == track.node; }),
               "nodes are described");
  }
  COX_ASSERT(std::is_sorted(run.ranks.begin(), run.ranks.end(),
                            [](const RankTrack& a, const RankTrack& b) { return a.rank < b.rank; }),
             "ranks are sorted");
  check_communicators(run);
  check_messages(run.messages);
  check_texts(run);
  COX_ASSERT(run.sources.size() == 1, "one source per file");
}

void check(const ImportedJob& job) {
  check(job.run);
  check_program(job.program);
  for (const std::string& name : job.program.names)
    COX_ASSERT(clean_text(name) == name, "names can be printed");
}

/// Says what was wrong with the file, in words that can be printed.
void check(const Error& error) {
  COX_ASSERT(error.id.starts_with("import-00") || error.id.starts_with("base-00"), "errors have an entry");
  COX_ASSERT(!error.message.empty() && clean_text(error.message) == error.message, "errors can be printed");
}

/// Reads a file as a caller of `import_path` gets it: placed from zero on, and by durations where those are all there is.
void read_and_check(const Reader& reader, const std::filesystem::path& path, std::string_view bytes) {
  static_cast<void>(reader.recognises({.path = path, .bytes = bytes.substr(0, kHeadBytes)}));
  auto job = reader.read(path, {.threads = 1, .progress = {}, .limit_bytes = 64 << 20});
  if (!job) return check(job.error());
  check(*job);
  std::vector<ImportedJob> parts;
  parts.push_back(*std::move(job));
  const ImportedJob whole = assemble_parts(std::move(parts), 1);
  check(whole);
  check_said(whole.run, &whole.program);
}

/// The files of a format of several, the one that is given to the reader first; none for other formats.
std::span<const std::string_view> names_of_files(std::string_view reader) {
  static constexpr std::array<std::string_view, 3> kParaver{"t.prv", "t.pcf", "t.row"};
  static constexpr std::array<std::string_view, 4> kDumpi{"t.meta", "t-0.bin", "t-1.bin", "t-2.bin"};
  static constexpr std::array<std::string_view, 6> kOtf2{"t.otf2",  "t.def",   "t/0.def",
                                                         "t/0.evt", "t/1.def", "t/1.evt"};
  if (reader == "paraver") return kParaver;
  if (reader == "dumpi") return kDumpi;
  if (reader == "otf2") return kOtf2;
  return {};
}

/// Several files in one input: a line `=== NAME` before each, which takes the line end before it.
std::vector<std::pair<std::string_view, std::string_view>> split_files(std::string_view bytes) {
  constexpr std::string_view kMark = "=== ";
  std::vector<std::pair<std::string_view, std::string_view>> files;
  while (bytes.starts_with(kMark)) {
    const std::size_t line = std::min(bytes.find('\n'), bytes.size());
    const std::string_view name = bytes.substr(kMark.size(), line - kMark.size());
    bytes.remove_prefix(std::min(line + 1, bytes.size()));
    const std::size_t next = bytes.find("\n=== ");
    files.emplace_back(name, bytes.substr(0, next));
    bytes.remove_prefix(next == std::string_view::npos ? bytes.size() : next + 1);
  }
  return files;
}

/// A folder of this process for as long as it lives.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "cox-fuzz.XXXXXX").string();
    COX_ASSERT(::mkdtemp(name.data()) != nullptr, "a folder for the files");
    path_ = name;
    std::filesystem::create_directory(path_ / "t");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void remove(std::string_view name) const { ::unlink((path_ / name).c_str()); }
  void put(std::string_view name, std::string_view content) const {
    std::ofstream file(path_ / name, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    COX_ASSERT(file.good(), "room for a file");
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

bool is_imported(std::string_view reader) {
  return find_reader(reader) != nullptr;
}

void import(std::string_view reader, std::string_view bytes) {
  const Reader* found = find_reader(reader);
  COX_ASSERT(found != nullptr, "a corpus folder is named after its reader");
  const int fd = ::memfd_create("input", MFD_CLOEXEC);
  COX_ASSERT(fd >= 0, "a file in memory");
  COX_ASSERT(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
             "room for the input");
  read_and_check(*found, fmt::format("/proc/self/fd/{}", fd), bytes);
  ::close(fd);
}

bool is_imported_with_companions(std::string_view folder) {
  constexpr std::string_view kEnding = "_files";
  return folder.ends_with(kEnding) &&
         !names_of_files(folder.substr(0, folder.size() - kEnding.size())).empty();
}

void import_files(std::string_view reader, std::string_view bytes) {
  const Reader* found = find_reader(reader);
  const auto names = names_of_files(reader);
  COX_ASSERT(found != nullptr && !names.empty(), "a reader of formats of several files");
  static const Folder folder;
  for (const std::string_view name : names) folder.remove(name);
  std::string_view main_bytes;
  for (const auto& [name, content] : split_files(bytes)) {
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    folder.put(name, content);
    if (name == names.front()) main_bytes = content;
  }
  const std::filesystem::path path = folder.path() / names.front();
  if (!std::filesystem::exists(path)) return;
  if (found->companions != nullptr) static_cast<void>(found->companions(path));
  read_and_check(*found, path, main_bytes);
}

}  // namespace cox::fuzz
