// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "cox/base/assert.hpp"

#include "fuzz/entries.hpp"
#include "trace/import/reader.hpp"

namespace cox::fuzz {
namespace {

using namespace cox::trace;

const Reader* find_reader(std::string_view name) {
  static const std::array<std::pair<std::string_view, const Reader*>, 15> kByName{{
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
  }};
  for (const auto& [known, reader] : kByName)
    if (known == name) return reader;
  return nullptr;
}

void check_events(const Run& run, const RankTrack& track) {
  const EventColumns& e = track.events;
  for (std::size_t i = 0; i < e.size(); ++i) {
    COX_ASSERT(i == 0 || e.begin[i - 1] <= e.begin[i], "events are ordered");
    COX_ASSERT(e.end[i] >= e.begin[i], "calls return after they began");
    COX_ASSERT(e.comm[i] == kNoComm || run.find(e.comm[i]) != nullptr, "communicators are described");
  }
  for (const CollectiveLaunch& l : track.launches)
    COX_ASSERT(l.event < e.size() && l.end >= l.begin, "a launch belongs to an event");
  const ActivityColumns& a = track.activities;
  for (std::size_t i = 0; i < a.size(); ++i) {
    COX_ASSERT(i == 0 || a.begin[i - 1] <= a.begin[i], "activities are ordered");
    COX_ASSERT(a.end[i] >= a.begin[i] && a.name[i] < run.names.size(), "activities are named spans");
    COX_ASSERT(a.launched[i] == kNoActivity || a.launched[i] < a.size(), "a launch is an activity");
  }
  for (std::size_t i = 0; i < track.useful.size(); ++i)
    COX_ASSERT(track.useful.end[i] >= track.useful.begin[i] &&
                   (i == 0 || track.useful.begin[i] >= track.useful.end[i - 1]),
               "useful stretches are ordered and do not overlap");
}

void check(const Run& run) {
  for (const RankTrack& track : run.ranks) check_events(run, track);
  const OperationColumns& o = run.operations;
  COX_ASSERT(o.first_before.empty() || o.first_before.size() == o.size() + 1, "edges of every operation");
  for (std::size_t i = 0; i < o.size(); ++i)
    COX_ASSERT(o.rank[i] < run.ranks.size() && o.name[i] < run.names.size(), "operations of known ranks");
  for (const std::uint32_t b : o.before) COX_ASSERT(b < o.size(), "edges lead to operations");
  COX_ASSERT(run.sources.size() == 1, "one source per file");
}

}  // namespace

void import(std::string_view reader, std::string_view bytes) {
  const Reader* found = find_reader(reader);
  COX_ASSERT(found != nullptr, "a corpus folder is named after its reader");
  const int fd = ::memfd_create("input", MFD_CLOEXEC);
  COX_ASSERT(fd >= 0, "a file in memory");
  COX_ASSERT(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
             "room for the input");
  const std::filesystem::path path = fmt::format("/proc/self/fd/{}", fd);
  static_cast<void>(found->recognises({.path = path, .bytes = bytes.substr(0, kHeadBytes)}));
  if (const auto run = found->read(path, {.threads = 1, .progress = {}, .limit_bytes = 64 << 20}))
    check(*run);
  ::close(fd);
}

}  // namespace cox::fuzz
