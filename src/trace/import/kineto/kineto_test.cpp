// SPDX-License-Identifier: Apache-2.0
#include "trace/import/kineto/kineto.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cox/trace/import.hpp"

#include "support/test_data.hpp"
#include "trace/import/kineto/names.hpp"
#include "trace/import/kineto/traces.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

using kineto::has_note;
using kineto::kKernel;
using kineto::nccl_kernel;
using kineto::object;
using kineto::read_file;
using kineto::read_text;
using kineto::Reading;
using kineto::recognised;
using model::Collective;

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
  }
}

std::vector<std::size_t> collectives_of(const RankTrack& t) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < t.events.size(); ++i)
    if (t.events.kind[i] == EventKind::Collective) out.push_back(i);
  return out;
}

double in_us(Duration d) {
  return static_cast<double>(d.count()) * 1e-6;
}

TEST(Kineto, DlrmHasTheDurationsAndLaunchesOfItsTable) {
  COX_NEED_DATA(folder, "traces/dlrm-kineto-4of8");
  // Source: data/traces/README.md. All-to-all runs as SendRecv kernels;
  // the annotation around the launch says so.
  const std::array<const char*, 4> files = {
      "worker0_step_12.1694128201545.pt.trace.json", "worker1_step_12.1694128201556.pt.trace.json",
      "worker2_step_12.1694128201554.pt.trace.json", "worker3_step_12.1694128201557.pt.trace.json"};
  const std::array<std::array<int, 8>, 4> durations = {{{2146, 1032, 176, 131, 246, 514, 601, 952},
                                                        {7635, 1025, 169, 132, 307, 545, 601, 922},
                                                        {518, 517, 173, 131, 198, 468, 572, 915},
                                                        {6132, 1021, 174, 133, 291, 542, 602, 879}}};
  const std::array<int, 8> skew = {7116, 515, 6, 1, 107, 76, 30, 68};
  const std::array<int, 8> spread = {1, 2, 1, 1, 5, 2, 1, 7};
  const std::array<Collective, 8> kinds = {Collective::AllToAll,  Collective::AllToAll,  Collective::AllToAll,
                                           Collective::AllToAll,  Collective::AllReduce, Collective::AllToAll,
                                           Collective::AllReduce, Collective::AllReduce};
  const std::array<std::int64_t, 4> events = {3290, 3424, 3268, 3474};
  const std::array<std::int64_t, 4> kernels = {245, 310, 246, 315};
  std::array<std::vector<std::int64_t>, 8> begins;
  std::array<std::vector<std::int64_t>, 8> ends;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    SCOPED_TRACE(rank);
    const auto got = read_file(folder / files[rank]);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->counts.events, events[rank]);
    EXPECT_EQ(got->tally.kernels, kernels[rank]);
    const RankTrack& t = got->run.ranks.at(0);
    EXPECT_EQ(t.rank, Rank(static_cast<int>(rank)));
    EXPECT_EQ(got->run.world_size, 8);
    const auto at = collectives_of(t);
    ASSERT_EQ(at.size(), 8U);
    ASSERT_EQ(t.launches.size(), 8U);
    for (std::size_t k = 0; k < 8; ++k) {
      EXPECT_EQ(in_us(t.events.end[at[k]] - t.events.begin[at[k]]), durations[rank][k]);
      EXPECT_EQ(t.events.collective(at[k]), kinds[k]);
      EXPECT_EQ(t.events.thread[at[k]], 84U);
      EXPECT_EQ(t.events.seq[at[k]], k);
      const Communicator* c = got->run.find(t.events.comm[at[k]]);
      ASSERT_NE(c, nullptr);
      EXPECT_EQ(c->size, 8);
      EXPECT_EQ(c->name, "world (assumed), stream 84");
      const double late = in_us(t.events.begin[t.launches[k].event] - t.launches[k].begin);
      EXPECT_GE(late, 8);
      EXPECT_LE(late, k == 3 ? 61 : k == 6 ? 63 : 14);
      const std::int64_t origin = got->run.origin_realtime_ns;
      begins[k].push_back(origin + t.events.begin[at[k]].count() / 1000);
      ends[k].push_back(origin + t.events.end[at[k]].count() / 1000);
    }
  }
  for (std::size_t k = 0; k < 8; ++k) {
    const auto range = [](const std::vector<std::int64_t>& v) {
      const auto [low, high] = std::minmax_element(v.begin(), v.end());
      return (*high - *low) / 1000;
    };
    EXPECT_EQ(range(begins[k]), skew[k]) << k;
    EXPECT_EQ(range(ends[k]), spread[k]) << k;
  }
}

TEST(Kineto, GenericKernelsGetTheirTypeFromTheHost) {
  COX_NEED_DATA(file, "traces/kineto-single/tracelens/mi300_resnet_trimmed.json.gz");
  const auto got = read_file(file);
  ASSERT_TRUE(got);
  const RankTrack& t = got->run.ranks.at(0);
  std::map<Collective, int> kinds;
  for (const std::size_t i : collectives_of(t)) ++kinds[t.events.collective(i)];
  // Five were launched before the profiler began, so nothing says what they are;
  // of the rest there are six each.
  EXPECT_EQ(kinds, (std::map<Collective, int>{
                       {Collective::Other, 5}, {Collective::AllReduce, 6}, {Collective::Broadcast, 6}}));
  ASSERT_EQ(got->run.communicators.size(), 1U);
  EXPECT_EQ(got->run.communicators[0].size, 8);
  EXPECT_EQ(got->run.communicators[0].ranks.size(), 8U);
}

TEST(Kineto, ArgumentsOfKernelsGiveGroupAndBytes) {
  COX_NEED_DATA(folder, "traces/kineto-single");
  const auto two = read_file(folder / "hta/nccl_data.json.gz");
  ASSERT_TRUE(two);
  const RankTrack& t = two->run.ranks.at(0);
  std::map<Collective, int> kinds;
  for (const std::size_t i : collectives_of(t)) ++kinds[t.events.collective(i)];
  EXPECT_EQ(kinds, (std::map<Collective, int>{{Collective::AllReduce, 15}, {Collective::Broadcast, 6}}));
  const std::size_t last = collectives_of(t).back();
  EXPECT_EQ(t.events.bytes[last], Bytes{std::int64_t{2431040} * 4});
  EXPECT_EQ(two->run.communicators.at(0).ranks, (std::vector<Rank>{Rank(0), Rank(1)}));
  // 4458676416.788 s after a base of 1711964646 s.
  EXPECT_EQ(two->run.origin_realtime_ns, 1716423322416788066);
  const auto eight = read_file(folder / "tracelens/b200_eager.json.gz");
  ASSERT_TRUE(eight);
  const RankTrack& g = eight->run.ranks.at(0);
  const std::size_t gather = collectives_of(g).at(0);
  EXPECT_EQ(g.events.collective(gather), Collective::AllGather);
  EXPECT_EQ(g.events.bytes[gather], Bytes{std::int64_t{201088} * 2});  // the whole array, in BFloat16
  EXPECT_EQ(eight->run.find(g.events.comm[gather])->name, "3");
}

TEST(Kineto, CpuOnlyRankHasItsGlooCollectives) {
  COX_NEED_DATA(file, "traces/kineto-single/hta/cpu_only_rank-34.json.gz");
  const auto got = read_file(file);
  ASSERT_TRUE(got);
  const RankTrack& t = got->run.ranks.at(0);
  const auto at = collectives_of(t);
  ASSERT_EQ(at.size(), 10U);
  EXPECT_EQ(t.events.bytes[at[0]], Bytes{std::int64_t{321271} * 4});
  EXPECT_TRUE((t.events.flags[at[0]] & kOffThread) != 0);
  EXPECT_EQ(t.events.seq[at[9]], 9U);
}

TEST(Kineto, SynchronisationsAreHostTimeOnce) {
  COX_NEED_DATA(file, "traces/kineto-single/hta/alexnet.json.gz");
  const auto got = read_file(file);
  ASSERT_TRUE(got);
  std::map<std::string, int> syncs;
  const RankTrack& t = got->run.ranks.at(0);
  for (std::size_t i = 0; i < t.activities.size(); ++i)
    if (t.activities.kind[i] == ActivityKind::HostSync) ++syncs[got->run.names[t.activities.name[i]]];
  for (const auto& [name, n] : syncs)
    EXPECT_NE(name.find("Synchronize"), std::string::npos) << name << " " << n;
}

// --- traps, each in a few lines ---------------------------------------------------------------------------

TEST(Kineto, ListOfEventsMayStandAnywhereOrAlone) {
  const std::string bare = std::string("[") + kKernel + "]";
  const std::string first = object(kKernel, "", R"(,"distributedInfo":{"rank":3,"world_size":4})");
  const std::string last = object(kKernel, R"("metadata":{"x":[{"traceEvents":[]},{}]},"schemaVersion":1,)");
  for (const std::string& text : {bare, first, last, "\xef\xbb\xbf \n" + last}) {
    EXPECT_TRUE(recognised(text)) << text;
    EXPECT_EQ(read_text(text).tally.kernels, 1) << text;
  }
  EXPECT_EQ(read_text(first).run.ranks.at(0).rank, Rank(3));
  EXPECT_EQ(read_text(first).run.world_size, 4);
  EXPECT_TRUE(has_note(read_text(last).run, "which rank"));
  EXPECT_EQ(read_text(last).run.ranks.at(0).rank, Rank(-1));
  for (const char* other : {"", "[]", "{}", "[1,2]", R"([{"rank":0}])", R"({"schema":"1.0.1","nodes":[]})",
                            "traceEvents", R"({"a":{"traceEvents":[]}})", R"("traceEvents")"})
    EXPECT_FALSE(recognised(other)) << other;
}

TEST(Kineto, HeaderLongerThanTheHeadIsSearchedInTheFile) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("cox_kineto_long_header." + std::to_string(getpid()) + ".json");
  std::ofstream(path) << R"({"metadata":")" << std::string(200'000, 'x') << R"(","traceEvents":[)" << kKernel
                      << "]}";
  std::string head(kHeadBytes, '\0');
  std::ifstream(path).read(head.data(), static_cast<std::streamsize>(head.size()));
  EXPECT_TRUE(kKinetoReader.recognises({.path = path, .bytes = head}));
  const auto run = read_run(kKinetoReader, path, {});
  std::filesystem::remove(path);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->ranks.at(0).activities.size(), 1U);
}

TEST(Kineto, MicrosecondsAreExactToTheNanosecond) {
  using kineto::parse_microseconds;
  const auto ns = [](std::string_view text) {
    const auto v = parse_microseconds(text);
    return v ? v->count() : -1;
  };
  EXPECT_EQ(ns("4458676522690.655"), 4458676522690655);
  EXPECT_EQ(ns("1694128201435377"), 1694128201435377000);
  EXPECT_EQ(ns("1694128201435377.123 "), 1694128201435377123);
  EXPECT_EQ(ns("0.0004999"), 0);
  EXPECT_EQ(ns("0.0005"), 1);
  EXPECT_EQ(ns("0.9995"), 1000);
  EXPECT_EQ(ns("1e3"), 1000000);
  EXPECT_EQ(ns("\"12.5\""), 12500);
  EXPECT_EQ(ns("-2.5"), -2500);
  for (const char* bad : {"", "x", "1.2.3", "1e300", "99999999999999999999", "NaN", "null", "\"\"", "-"})
    EXPECT_FALSE(parse_microseconds(bad)) << bad;
}

TEST(Kineto, BaseTimeCountsWhereverItStands) {
  const std::string event =
      R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":4458676522690.655,"dur":1})";
  const std::string base = R"("displayTimeUnit":"ms","baseTimeNanoseconds":1711964646000000000)";
  EXPECT_EQ(read_text(object(event, base + ",")).run.origin_realtime_ns, 1716423322522690655);
  EXPECT_EQ(read_text(object(event, "", "," + base)).run.origin_realtime_ns, 1716423322522690655);
  EXPECT_EQ(read_text(object(event)).run.origin_realtime_ns,
            0);  // time since the machine started: not comparable
}

TEST(Kineto, SpellingsOfTwentyTwentyOne) {
  const Reading r = read_text(object(
      R"({"ph":"X","cat":"Kernel","name":"k","pid":0,"tid":"stream 7","ts":10,"dur":5,)"
      R"("args":{"external id":3,"correlation":9}},)"
      R"({"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":5,"tid":"5","ts":8,"dur":1,"args":{"correlation":9}},)"
      R"({"ph":"X","cat":"Operator","name":"aten::empty","pid":5,"tid":"6","ts":7,"dur":3},)"
      R"({"ph":"X","cat":"Memcpy","name":"Memcpy HtoD","pid":0,"tid":"stream 8","ts":1,"dur":1})"));
  const ActivityColumns& a = r.run.ranks.at(0).activities;
  ASSERT_EQ(a.size(), 4U);
  EXPECT_EQ(a.kind, (std::vector<ActivityKind>{ActivityKind::Copy, ActivityKind::HostOp, ActivityKind::Launch,
                                               ActivityKind::Kernel}));
  EXPECT_EQ(a.lane, (std::vector<std::uint32_t>{8, 1, 0, 7}));
  EXPECT_EQ(a.launched[3], 2U);
  EXPECT_EQ(a.launched[0], kNoActivity);
}

TEST(Kineto, KeysMayComeInAnyOrder) {
  const Reading r = read_text(object(
      R"({"args":{"correlation":9,"Collective name":"allreduce","In msg nelems":10,"Out msg nelems":10,"dtype":"Half",)"
      R"("Process Group Name":"4","Process Group Ranks":"[0, 2]","Group size":2},"dur":5,"name":"ncclDevKernel_Generic_1",)"
      R"("cat":"kernel","tid":20,"pid":0,"ts":10,"ph":"X"})"));
  const RankTrack& t = r.run.ranks.at(0);
  ASSERT_EQ(t.events.size(), 1U);
  EXPECT_EQ(t.events.collective(0), Collective::AllReduce);
  EXPECT_EQ(t.events.bytes[0], Bytes{20});
  EXPECT_EQ(r.run.communicators.at(0).ranks, (std::vector<Rank>{Rank(0), Rank(2)}));
}

TEST(Kineto, DurationsMayBeMissingOrPairs) {
  const Reading r = read_text(object(
      R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":10},)"
      R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"dur":10},)"
      R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":10,"dur":-1},)"
      R"({"ph":"B","cat":"cpu_op","name":"outer","pid":1,"tid":1,"ts":1},)"
      R"({"ph":"B","cat":"cpu_op","name":"inner","pid":1,"tid":1,"ts":2},)"
      R"({"ph":"E","pid":1,"tid":1,"ts":3},{"ph":"E","pid":1,"tid":1,"ts":5},{"ph":"E","pid":1,"tid":1,"ts":6},)"
      R"({"ph":"B","cat":"cpu_op","name":"lost","pid":1,"tid":2,"ts":2})"));
  const ActivityColumns& a = r.run.ranks.at(0).activities;
  ASSERT_EQ(a.size(), 2U);
  EXPECT_EQ(r.run.names[a.name[0]], "outer");
  EXPECT_EQ(in_us(a.end[0] - a.begin[0]), 4);
  EXPECT_EQ(in_us(a.end[1] - a.begin[1]), 1);
  EXPECT_TRUE(has_note(r.run, "2 events without a duration"));
  EXPECT_TRUE(has_note(r.run, "1 event without a time stamp"));
  EXPECT_TRUE(has_note(r.run, "1 event begins and never ends"));
  EXPECT_TRUE(has_note(r.run, "1 event ends and never began"));
}

TEST(Kineto, KernelNamesOfAllGenerations) {
  const auto kind = [](std::string_view name) {
    const auto m = kineto::meaning_of(kineto::Category::Kernel, name);
    return m.kind == kineto::NameKind::Collective ? std::string(name_of(m.collective))
                                                  : std::string("kernel");
  };
  EXPECT_EQ(kind("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"),
            "AllReduce");
  EXPECT_EQ(kind("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)"), "SendRecv");
  EXPECT_EQ(kind("ncclAllReduceRingLLKernel_sum_f32(ncclColl)"), "AllReduce");
  EXPECT_EQ(kind("ncclKernelReduceScatter_RING_LL_Sum_half(x)"), "ReduceScatter");
  EXPECT_EQ(kind("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"), "AllGather");
  EXPECT_EQ(kind("ncclDevKernel_Reduce_Sum_f32_RING_LL(x)"), "Reduce");
  EXPECT_EQ(kind("ncclDevKernel_Broadcast_RING_LL(x)"), "Broadcast");
  EXPECT_EQ(kind("ncclSymkDevKernel_AllReduce_AGxLL_R_sum_bf16(x)"), "AllReduce");
  EXPECT_EQ(kind("ncclDevKernel_Generic_4(x)"), "Other");
  EXPECT_EQ(kind("mscclKernel_Sum_half_Simple(x)"), "Other");
  EXPECT_EQ(kind("void at::native::reduce_kernel<512>(ncclKernel)"), "kernel");
  EXPECT_EQ(kind("all_reduce_like_gemm"), "kernel");
  EXPECT_EQ(kind("collective_subgraph_execution"), "Other");
  EXPECT_EQ(kind("hccl_all_reduce"), "AllReduce");
  EXPECT_EQ(kineto::meaning_of(kineto::Category::Kernel, "dma_copy").kind, kineto::NameKind::Copy);
}

TEST(Kineto, OwnSequenceNumbersAreUsedWhereAllHaveThem) {
  const std::string group = R"("Process Group Name":"1","Process Group Ranks":"[0, 1]","Group size":2)";
  const Reading all = read_text(
      object(nccl_kernel(10, group + R"(,"Seq":41)") + "," + nccl_kernel(20, group + R"(,"Seq":42)")));
  EXPECT_EQ(all.run.ranks.at(0).events.seq, (std::vector<std::uint32_t>{41, 42}));
  EXPECT_NE(all.run.ranks.at(0).events.flags[0] & kTagged, 0);
  for (const char* second : {"", R"(,"Seq":41)", R"(,"Seq":99999999999)"}) {
    const Reading some = read_text(
        object(nccl_kernel(10, group + R"(,"Seq":41)") + "," + nccl_kernel(20, group + std::string(second))));
    EXPECT_EQ(some.run.ranks.at(0).events.seq, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(some.run.ranks.at(0).events.flags[0] & kTagged, 0);
    EXPECT_TRUE(has_note(some.run, "1 process group with sequence numbers missing or repeated"));
  }
}

TEST(Kineto, RanksThatWereCutComeFromTheHeaderOrFromTheStride) {
  const std::string cut = R"("Process Group Name":"1","Process Group Ranks":"[0, 2, ...","Group size":4)";
  const std::string header =
      R"("distributedInfo":{"rank":2,"world_size":8,"pg_count":2,"pg_config":[)"
      R"({"pg_name":"0","pg_desc":"default_pg","pg_size":8,"ranks":[0,1,2,3,4,5,6,7]},)"
      R"({"pg_name":"1","pg_desc":"undefined","pg_size":4,"ranks":[0,2,4,6]},)"
      R"({"pg_name":"2","pg_desc":"undefined","pg_size":4,"ranks":[1,3,5,7]}]},)";
  const auto members = [](const Reading& r) {
    std::string out;
    const Communicator* c = r.run.find(r.run.ranks.at(0).events.comm[0]);
    for (const Rank rank : c->ranks) out += std::to_string(rank.value()) + " ";
    return out + "of " + std::to_string(c->size);
  };
  EXPECT_EQ(members(read_text(object(nccl_kernel(1, cut), header))), "0 2 4 6 of 4");
  EXPECT_EQ(
      members(read_text(object(nccl_kernel(1, cut + R"(,"Global rank start":0,"Global rank stride":2)")))),
      "0 2 4 6 of 4");
  const Reading unknown = read_text(object(nccl_kernel(1, cut)));
  EXPECT_EQ(members(unknown), "of 4");
  EXPECT_TRUE(has_note(unknown.run, "1 process group without a whole list of members"));
  // Of the header's groups, those that this rank belongs to;
  // one that it does not know is none of its business.
  EXPECT_EQ(read_text(object(nccl_kernel(1, cut), header)).run.communicators.size(), 2U);
  EXPECT_TRUE(
      has_note(read_text(object(nccl_kernel(1, cut), header)).run, "counts 2 process groups and lists 3"));
}

TEST(Kineto, SizesThatNobodyBelievesMakeNoMembers) {
  const std::string huge =
      R"("Process Group Name":"1","Group size":2147483647,"Global rank start":0,"Global rank stride":1)";
  const Reading r = read_text(object(nccl_kernel(1, huge) + "," + nccl_kernel(9, "", 3),
                                     R"("distributedInfo":{"rank":0,"world_size":2000000000},)"));
  for (const Communicator& c : r.run.communicators) EXPECT_TRUE(c.ranks.empty());
}

TEST(Kineto, StreamsWithoutGroupsAreSequencesOfTheirOwn) {
  const Reading r =
      read_text(object(nccl_kernel(1, "", 84) + "," + nccl_kernel(2, "", 20) + "," + nccl_kernel(9, "", 84),
                       R"("distributedInfo":{"rank":0,"world_size":3},)"));
  const EventColumns& e = r.run.ranks.at(0).events;
  EXPECT_EQ(e.seq, (std::vector<std::uint32_t>{0, 0, 1}));
  EXPECT_EQ(r.run.find(e.comm[0])->name, "world (assumed), stream 84");
  EXPECT_EQ(r.run.find(e.comm[1])->name, "world (assumed), stream 20");
  EXPECT_EQ(r.run.find(e.comm[0])->ranks.size(), 3U);
  EXPECT_TRUE(has_note(r.run, "3 collectives name no process group"));
}

TEST(Kineto, SendRecvIsAllToAllWhereTheRecordSaysSo) {
  const auto trace = [](const std::string& collective) {
    return object(
        R"({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":5,"tid":5,"ts":1,"dur":20,"args":{"External id":7,)"
        R"("Collective name":")" +
        collective +
        R"(","In msg nelems":8,"Out msg nelems":16,"dtype":"Float","Process Group Name":"2","Process Group Ranks":"[0,1]",)"
        R"("In split size":"[4, 4]"}},)"
        R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernelExC","pid":5,"tid":5,"ts":5,"dur":2,"args":{"correlation":90}},)"
        R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv","pid":0,"tid":20,"ts":30,"dur":5,"args":{
    "correlation" : 90}})");
  };
  const Reading all = read_text(trace("all_to_allv"));
  const EventColumns& e = all.run.ranks.at(0).events;
  ASSERT_EQ(e.size(), 1U);
  EXPECT_EQ(e.collective(0), Collective::AllToAll);
  EXPECT_EQ(e.bytes[0], Bytes{64});
  EXPECT_EQ(e.aux[0], 4U);
  EXPECT_EQ(e.flags[0], kElement | kVariable);
  EXPECT_EQ(all.run.find(e.comm[0])->name, "2");
  EXPECT_EQ(in_us(all.run.ranks[0].launches.at(0).end - all.run.ranks[0].launches[0].begin), 2);
  EXPECT_EQ(read_text(trace("send")).run.ranks.at(0).events.collective(0), Collective::SendRecv);
}

TEST(Kineto, StepsPhasesLoadersAndCollectors) {
  const auto host = [](const char* name, int ts, int dur, int tid = 1) {
    return std::string(R"({"ph":"X","cat":"user_annotation","name":")") + name + R"(","pid":1,"tid":)" +
           std::to_string(tid) + R"(,"ts":)" + std::to_string(ts) + R"(,"dur":)" + std::to_string(dur) + "}";
  };
  const Reading r = read_text(object(
      host("ProfilerStep#7", 10, 50) + "," + host("ProfilerStep#7", 11, 49, 2) + "," +
      host("ProfilerStep#8", 60, 50) + "," + host("Optimizer.step#AdamW.step", 40, 5) + "," +
      host("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 12, 4) + "," +
      host("## forward ##", 20, 9) + "," +
      R"({"ph":"X","cat":"python_function","name":"torch/x.py(1): f","pid":1,"tid":1,"ts":1,"dur":9},)"
      R"({"ph":"X","cat":"python_function","name":"Python GC","pid":1,"tid":1,"ts":30,"dur":2},)"
      R"({"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#7","pid":0,"tid":7,"ts":1,"dur":9},)"
      R"({"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":1,"tid":1,"ts":31,"dur":2},)"
      R"({"ph":"X","cat":"cuda_driver","name":"cuMemcpyAsync","pid":1,"tid":1,"ts":32,"dur":2},)"
      R"({"ph":"X","cat":"cuda_runtime","name":"cudaMalloc","pid":1,"tid":1,"ts":33,"dur":2})"));
  const RankTrack& t = r.run.ranks.at(0);
  EXPECT_EQ(t.events.kind,
            (std::vector<EventKind>{EventKind::Step, EventKind::Phase, EventKind::Phase, EventKind::Step}));
  EXPECT_EQ(t.events.step_number(0), 7);
  EXPECT_EQ(t.events.step_number(3), 8);
  EXPECT_EQ(t.events.op[1], static_cast<std::uint8_t>(PhaseKind::Data));
  EXPECT_EQ(t.events.op[2], static_cast<std::uint8_t>(PhaseKind::Optimizer));
  EXPECT_EQ(t.activities.kind,
            (std::vector<ActivityKind>{ActivityKind::DataLoad, ActivityKind::HostOp, ActivityKind::Gc,
                                       ActivityKind::HostSync, ActivityKind::Launch, ActivityKind::Allocation,
                                       ActivityKind::HostOp}));
}

TEST(Kineto, LateRepetitionsOfACorrelationBelongToTheirOwnWindow) {
  std::string events;
  for (const int at : {0, 1000}) {
    events +=
        R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"dur":2,"args":{"correlation":5},"ts":)" +
        std::to_string(at) + "},";
    events +=
        R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"dur":2,"args":{"correlation":5},"ts":)" +
        std::to_string(at + 10) + "},";
  }
  events.pop_back();
  const Reading r = read_text(object(events));
  EXPECT_EQ(r.run.ranks.at(0).activities.launched,
            (std::vector<std::uint32_t>{kNoActivity, 0, kNoActivity, 2}));
}

TEST(Kineto, WildTimeStampsAreLeftOut) {
  std::string events;
  for (int i = 0; i < 20; ++i)
    events += R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"dur":1,"ts":)" +
              std::to_string(1694128201435377 + i) + "},";
  events +=
      R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"dur":1,"ts":0},)"
      R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"dur":9100000000000000,"ts":1694128201435377})";
  const Reading r = read_text(object(events));
  EXPECT_EQ(r.run.ranks.at(0).activities.size(), 20U);
  EXPECT_TRUE(has_note(r.run, "2 events lie more than 50 days from the others"));
}

TEST(Kineto, NamesAreMadeSafeToPrint) {
  const Reading r = read_text(object(
      R"({"ph":"X","cat":"cpu_op","name":"a\u001b[31m\"b\\\u00e9\ud83d\ude00","pid":1,"tid":1,"ts":1,"dur":1})"));
  EXPECT_EQ(r.run.names.at(0), "a?[31m\"b\\\xc3\xa9\xf0\x9f\x98\x80");
}

}  // namespace
}  // namespace cox::trace
