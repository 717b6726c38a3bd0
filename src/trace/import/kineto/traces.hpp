// SPDX-License-Identifier: Apache-2.0
/// \file
/// Small traces for the tests of the profiler trace reader.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "trace/import/kineto/kineto.hpp"
#include "trace/import/kineto/stream.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::trace::kineto {

inline Result<Reading> try_read(std::string_view text, std::size_t window = kWindowBytes) {
  ByteSource source = ByteSource::over(text, std::uint64_t{1} << 32);
  return read_trace(source, "trace.json", window);
}

inline Reading read_text(std::string_view text, std::size_t window = kWindowBytes) {
  auto reading = try_read(text, window);
  EXPECT_TRUE(reading) << (reading ? "" : reading.error().to_string());
  return reading ? *std::move(reading) : Reading{};
}

inline Result<Reading> read_file(const std::filesystem::path& path, std::size_t window = kWindowBytes) {
  COX_TRY(ByteSource source, ByteSource::open(path, std::uint64_t{1} << 32));
  return read_trace(source, path.string(), window);
}

inline std::string object(std::string_view events, std::string_view before = "",
                          std::string_view after = "") {
  return std::string("{") + std::string(before) + "\"traceEvents\":[" + std::string(events) + "]" +
         std::string(after) + "}";
}

inline bool recognised(std::string_view text) {
  return kKinetoReader.recognises({.path = "none", .bytes = text.substr(0, kHeadBytes)});
}

inline bool has_note(const trace::Run& run, std::string_view part) {
  for (const Note& n : run.notes)
    if (n.text.find(part) != std::string::npos) return true;
  return false;
}

/// Everything in a part that can differ, as text.
inline std::string print(const trace::Run& run) {
  std::string out = std::to_string(run.origin_realtime_ns) + " " + std::to_string(run.world_size) + "\n";
  for (const Communicator& c : run.communicators) {
    out += c.name + " " + std::to_string(c.size) + " " + std::to_string(c.identity) + ":";
    for (const Rank r : c.ranks) out += " " + std::to_string(r.value());
    out += "\n";
  }
  for (const RankTrack& t : run.ranks) {
    out += "rank " + std::to_string(t.rank.value()) + "\n";
    const EventColumns& e = t.events;
    for (std::size_t i = 0; i < e.size(); ++i)
      for (const std::int64_t v :
           {e.begin[i].count(), e.end[i].count(), e.bytes[i].count(), std::int64_t{e.comm[i].value()},
            std::int64_t{e.seq[i]}, static_cast<std::int64_t>(e.kind[i]), std::int64_t{e.op[i]},
            std::int64_t{e.flags[i]}, std::int64_t{e.aux[i]}, std::int64_t{e.thread[i]}})
        out += std::to_string(v) + (i + 1 < e.size() ? " " : "\n");
    for (const CollectiveLaunch& l : t.launches)
      out += "launch " + std::to_string(l.event) + " " + std::to_string(l.begin.count()) + "\n";
    const ActivityColumns& a = t.activities;
    for (std::size_t i = 0; i < a.size(); ++i)
      out += std::to_string(a.begin[i].count()) + " " + std::to_string(a.end[i].count()) + " " +
             name_of(a.kind[i]) + " " + std::to_string(a.lane[i]) + " " + run.names[a.name[i]] + " " +
             std::to_string(a.launched[i]) + "\n";
  }
  for (const Note& n : run.notes) out += n.text + "\n";
  return out;
}

inline constexpr const char* kKernel =
    R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":10,"dur":5,"args":{"correlation":1}})";

inline std::string nccl_kernel(int ts, const std::string& arguments, int stream = 20) {
  return R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL","pid":0,"tid":)" +
         std::to_string(stream) + R"(,"ts":)" + std::to_string(ts) + R"(,"dur":5,"args":{)" + arguments +
         "}}";
}

}  // namespace cox::trace::kineto
