// SPDX-License-Identifier: Apache-2.0
#include "trace/import/kineto.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cox/trace/import.hpp"

#include "support/test_data.hpp"
#include "trace/import/kineto_names.hpp"
#include "trace/import/kineto_stream.hpp"
#include "trace/import/reader.hpp"

namespace cox::trace {
namespace {

using kineto::Reading;
using model::Collective;

Result<Reading> try_read(std::string_view text, std::size_t window = kineto::kWindowBytes) {
  ByteSource source = ByteSource::over(text, std::uint64_t{1} << 32);
  return kineto::read_trace(source, "trace.json", window);
}

Reading read_text(std::string_view text, std::size_t window = kineto::kWindowBytes) {
  auto reading = try_read(text, window);
  EXPECT_TRUE(reading) << (reading ? "" : reading.error().to_string());
  return reading ? *std::move(reading) : Reading{};
}

Result<Reading> read_file(const std::filesystem::path& path, std::size_t window = kineto::kWindowBytes) {
  COX_TRY(ByteSource source, ByteSource::open(path, std::uint64_t{1} << 32));
  return kineto::read_trace(source, path.string(), window);
}

std::string object(std::string_view events, std::string_view before = "", std::string_view after = "") {
  return std::string("{") + std::string(before) + "\"traceEvents\":[" + std::string(events) + "]" +
         std::string(after) + "}";
}

bool recognised(std::string_view text) {
  return kKinetoReader.recognises({.path = "none", .bytes = text.substr(0, kHeadBytes)});
}

bool has_note(const trace::Run& run, std::string_view part) {
  for (const Note& n : run.notes)
    if (n.text.find(part) != std::string::npos) return true;
  return false;
}

/// Everything in a part that can differ, as text.
std::string print(const trace::Run& run) {
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

// --- real files ------------------------------------------------------------------------------------------

struct Expected {
  const char* file;
  int rank;
  int world;
  std::int64_t events;
  std::int64_t complete;
  std::int64_t kernels;
  std::int64_t collectives;
  double kernel_us;
  double tolerance_us;
};

TEST(Kineto, CountsOfEveryFixture) {
  COX_NEED_DATA(folder, "traces/kineto-single");
  // Source: data/traces/README.md, counted there with another program.
  const std::vector<Expected> all = {
      {"hta/nccl_data.json.gz", 0, 2, 40573, 26933, 2700, 21, 162532.34, 0.01},
      {"hta/sampled_rank-0.json.gz", 0, 128, 4855, 4811, 1154, 10, 606519, 0.5},
      {"hta/sampled_rank-1.json.gz", 1, 128, 4720, 4676, 1104, 10, 651026, 0.5},
      {"hta/alexnet.json.gz", 0, 0, 1408, 868, 79, 0, 10692, 0.5},
      {"hta/event_sync.json.gz", 0, 0, 92, 33, 4, 0, 49, 0.5},
      {"hta/cpu_only_rank-34.json.gz", 34, 300, 30, 16, 0, 0, 0, 0},
      {"hta/mi250_minitoy.json.gz", -1, 0, 220, 113, 14, 0, 110.881, 0.001},
      {"hta/inference_rank_1.json.gz", 1, 0, 54, 13, 4, 0, 30, 0.5},
      {"hta/rank_not_found.json.gz", -1, 0, 2467, 2467, 0, 0, 0, 0},
      {"tracelens/b200_eager.json.gz", 0, 8, 24656, 22355, 768, 1, 10862.916, 0.001},
      {"tracelens/mi300_resnet_trimmed.json.gz", 0, 8, 22046, 14803, 2995, 17, 97255.826, 0.001},
      {"tracelens/h100_bert_small.json.gz", -1, 0, 2551, 2060, 60, 0, 307.197, 0.001},
      {"tracelens/mi210_gpu_only.json.gz", -1, 0, 2443, 1194, 562, 0, 5343.422, 0.001},
      {"tracelens/sglang_decode.json.gz", 0, 1, 2058, 1471, 555, 0, 9765.437, 0.001},
      {"tracelens/torch_compile_triton.json.gz", -1, 0, 246, 115, 12, 0, 12549.021, 0.001},
      {"kineto/gpu_metrics_input.json", -1, 0, 340, 254, 30, 0, 48, 0.5},
  };
  for (const Expected& want : all) {
    SCOPED_TRACE(want.file);
    const auto got = read_file(folder / want.file);
    ASSERT_TRUE(got) << got.error().to_string();
    EXPECT_EQ(got->counts.events, want.events);
    EXPECT_EQ(got->counts.complete, want.complete);
    EXPECT_EQ(got->counts.malformed, 0);
    EXPECT_EQ(got->counts.unknown, 0);
    EXPECT_EQ(got->tally.kernels, want.kernels);
    EXPECT_EQ(got->tally.collectives, want.collectives);
    EXPECT_NEAR(static_cast<double>(got->tally.kernel_time.count()) * 1e-3, want.kernel_us,
                want.tolerance_us);
    ASSERT_EQ(got->run.ranks.size(), 1U);
    EXPECT_EQ(got->run.ranks[0].rank, Rank(want.rank));
    EXPECT_EQ(got->run.world_size, want.world);
    EXPECT_TRUE(got->run.sources.front().used);
    for (const Note& n : got->run.notes) std::printf("%s: %s\n", want.file, n.text.c_str());
  }
}

}  // namespace
}  // namespace cox::trace
