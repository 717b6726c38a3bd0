// SPDX-License-Identifier: Apache-2.0
// Cut, damaged and hostile profiler traces, and the law that the window does not matter.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/test_data.hpp"
#include "trace/import/kineto/traces.hpp"

namespace cox::trace {
namespace {

using kineto::has_note;
using kineto::kKernel;
using kineto::nccl_kernel;
using kineto::object;
using kineto::print;
using kineto::read_file;
using kineto::read_text;
using kineto::Reading;
using kineto::try_read;

std::string small_trace() {
  return object(
      R"({"ph":"M","name":"process_name","pid":5,"tid":0,"args":{"name":"python {},{ ]"}},)"
      "\n"
      R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":5,"tid":5,"ts":0.5,"dur":100},)"
      "\n  "
      R"({"ph":"X","cat":"cpu_op","name":"x},{\"ph\":\"X\"","pid":5,"tid":5,"ts":1,"dur":2,"args":{"list":[{"a":1},{"b":[{}, {}]}],"s":"],[}"}},)"
      R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":5,"tid":5,"ts":5,"dur":2,"args":{"correlation":90}} , )"
      R"({"ph":"s","id":90,"pid":5,"tid":5,"ts":5,"cat":"ac2g","name":"ac2g"},{"ph":"f","id":90,"pid":0,"tid":20,"ts":9,"cat":"ac2g","name":"ac2g"},)" +
          nccl_kernel(
              9,
              R"("correlation":90,"Process Group Name":"1","Process Group Ranks":"[0, 1]","Group size":2)") +
          "," + kKernel,
      R"("schemaVersion":1,"deviceProperties":[{"id":0},{"id":1}],"distributedInfo":{"backend":"nccl","rank":1,"world_size":2},)",
      R"(,"traceName":"a},{b","baseTimeNanoseconds":1711964646000000000)");
}

TEST(Kineto, AnyWindowGivesTheSamePart) {
  std::string many;
  for (int i = 0; i < 40; ++i)
    many += (i > 0 ? "," : "") + nccl_kernel(i * 10, R"("correlation":)" + std::to_string(i));
  for (const std::string& text : {small_trace(), object(many)}) {
    const std::string whole = print(read_text(text).run);
    EXPECT_NE(whole.find("rank"), std::string::npos);
    for (std::size_t window = 1; window < 700; window += 1 + window / 40)
      ASSERT_EQ(print(read_text(text, window).run), whole) << window;
  }
}

TEST(Kineto, AnyWindowGivesTheSamePartOfRealFiles) {
  COX_NEED_DATA(folder, "traces/kineto-single");
  for (const char* file : {"hta/cpu_only_rank-34.json.gz", "kineto/gpu_metrics_input.json",
                           "hta/inference_rank_1.json.gz", "tracelens/torch_compile_triton.json.gz"}) {
    const std::string whole = print(read_file(folder / file)->run);
    for (const std::size_t window : {100U, 777U, 4096U, 50'000U})
      EXPECT_EQ(print(read_file(folder / file, window)->run), whole) << file << " " << window;
  }
}

TEST(Kineto, CutAtEveryByteGivesWhatStandsBefore) {
  const std::string text = small_trace();
  const Reading whole = read_text(text);
  std::size_t errors = 0;
  std::int64_t before = 0;
  for (std::size_t n = 0; n < text.size(); ++n) {
    const auto got = try_read(std::string_view(text).substr(0, n));
    if (!got) {
      EXPECT_EQ(got.error().id, "import-005");
      ++errors;
      continue;
    }
    EXPECT_GE(got->counts.events, before) << n;  // more bytes, never fewer events
    before = got->counts.events;
    EXPECT_TRUE(has_note(got->run, "cut") || has_note(got->run, "not valid JSON")) << n;
    EXPECT_LE(got->run.ranks.at(0).activities.size(), whole.run.ranks.at(0).activities.size());
    EXPECT_EQ(print(try_read(std::string_view(text).substr(0, n), 50)->run), print(got->run)) << n;
  }
  EXPECT_EQ(before, 8);
  EXPECT_LT(errors, text.find("ProfilerStep"));
}

TEST(Kineto, ADamagedEventCostsOnlyItself) {
  const std::string good(kKernel);
  for (const std::string& bad :
       {std::string(R"({"ph":"X" "cat":"kernel"})"), std::string("{\"ph\":\"X\",\"name\":\"a\x01\xff\"}"),
        std::string("17"), std::string("nan"), std::string(R"(["ph"])"), std::string("null"),
        std::string(R"("text")")}) {
    const std::string text = object(good + "," + bad + "," + good);
    const Reading r = read_text(text);
    EXPECT_EQ(r.tally.kernels, 2) << bad;
    EXPECT_EQ(print(read_text(text, 33).run), print(r.run)) << bad;
  }
}

TEST(Kineto, OfAKeyThatComesTwiceTheFirstCounts) {
  const Reading r = read_text(object(
      R"({"ph":"X","cat":"Runtime","name":"a","cat":"kernel","name":"b","pid":1,"tid":1,"ts":1,"dur":1},)"
      R"({"ph":"X","name":"c","cat":"python_function","cat":"cpu_op","pid":1,"tid":1,"ts":1,"dur":1})"));
  ASSERT_EQ(r.run.ranks.at(0).activities.size(), 1U);
  EXPECT_EQ(r.run.ranks[0].activities.kind[0], ActivityKind::Launch);
  EXPECT_EQ(r.run.names.at(0), "a");
}

TEST(Kineto, MutatedBytesNeverBreakThePromises) {
  const std::string text = small_trace();
  std::uint32_t x = 7;
  for (int round = 0; round < 3000; ++round) {
    std::string bad = text;
    for (int k = 0; k < 3; ++k) {
      x = x * 1664525 + 1013904223;
      bad[(x >> 8) % bad.size()] = "{}[],:\"\\0 9\xffnx"[(x >> 4) % 15];
    }
    const auto got = try_read(bad);
    const auto again = try_read(bad, 64);
    ASSERT_EQ(got.has_value(), again.has_value()) << bad;
    if (!got) continue;
    ASSERT_EQ(print(got->run), print(again->run)) << bad;
    const RankTrack& t = got->run.ranks.at(0);
    for (std::size_t i = 0; i < t.events.size(); ++i) ASSERT_GE(t.events.end[i], t.events.begin[i]);
  }
}

TEST(Kineto, MoreBytesThanAllowedIsAnErrorThatNamesTheFile) {
  const auto path =
      std::filesystem::temp_directory_path() / ("cox_kineto_too_long." + std::to_string(getpid()) + ".json");
  std::ofstream(path) << small_trace();
  const auto run = read_run(kKinetoReader, path, {.threads = 1, .progress = {}, .limit_bytes = 100});
  std::filesystem::remove(path);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().id, "import-004");
  EXPECT_EQ(run.error().where->file, path.string());
}

TEST(Kineto, DeepNestsAndLongValuesAreOnlyBytes) {
  const std::string nest = std::string(200'000, '[') + std::string(200'000, ']');
  const Reading deep = read_text(
      object(std::string(kKernel) + R"(,{"ph":"X","cat":"cpu_op","name":"a","args":)" + nest + "}," + kKernel,
             R"("x":)" + nest + ","));
  EXPECT_EQ(deep.tally.kernels, 2);
  const Reading wide = read_text(object(R"({"ph":"X","cat":"cpu_op","name":")" + std::string(3'000'000, 'n') +
                                        R"(","pid":1,"tid":1,"ts":1,"dur":1},)" + kKernel));
  EXPECT_EQ(wide.tally.kernels, 1);
  EXPECT_LE(wide.run.names.at(0).size(), 4096U);
}

}  // namespace
}  // namespace cox::trace
