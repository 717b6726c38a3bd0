// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/test_data.hpp"
#include "trace/import/graphs/chakra_graph.hpp"
#include "trace/import/graphs/chakra_memory_file.hpp"

namespace cox::trace {
namespace {

/// A trace of schema 1.1.0: one group, and a call of rank 1 of it.
std::string trace_of(const std::string& ranks, const std::string& more_attributes = "") {
  return R"({"schema": "1.1.0-chakra.0.0.4", "pid": 42, "nodes": [
    {"id": 3, "name": "record_param_comms", "ctrl_deps": 2,
     "inputs": {"values": [[[5, 6, 0, 100, 4, "cuda:1"]], 33, ["g1", "desc"], 1, "allreduce", [], []]},
     "outputs": {"values": [[5, 6, 0, 100, 4, "cuda:1"]]},
     "attrs": [{"name": "collective_name", "type": "string", "value": "allreduce"},
               {"name": "pg_name", "type": "string", "value": "g1"})" +
         more_attributes + R"(]},
    {"id": 2, "name": "aten::op", "ctrl_deps": 1, "attrs": [{"name": "op_schema", "value": "aten::op"}]},
    {"id": 4, "name": "## process_group:init ##", "ctrl_deps": 1,
     "inputs": {"values": ["[{\"pg_name\": \"g1\", \"ranks\": )" +
         ranks + R"(, \"group_size\": 2}]"]}},
    {"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1}],
  "finish_ts": 9})";
}

TEST(PytorchEt, ReadsCallersGroupsAndTheOwnRank) {
  const std::string text = trace_of("[6, 4]");
  EXPECT_TRUE(recognises(kPytorchEtReader, text));
  EXPECT_FALSE(recognises(kChakraJsonReader, text));
  const auto job = read_bytes(kPytorchEtReader, text);
  ASSERT_TRUE(job) << job.error().to_string();
  const model::Program& o = job->program;
  ASSERT_EQ(o.size(), 4U);
  EXPECT_EQ(edges_of(job->program), (std::vector<std::uint32_t>{0, 1, 0}));
  EXPECT_EQ(o.kind, (std::vector<OperationKind>{OperationKind::Other, OperationKind::Compute,
                                                OperationKind::Collective, OperationKind::Other}));
  EXPECT_EQ(o.bytes[2], Bytes(400));
  EXPECT_EQ(job->run.times, TimesKind::None);
  EXPECT_EQ(job->run.ranks.front().pid, 42);
  EXPECT_EQ(job->run.ranks.front().rank, Rank(6));
  ASSERT_EQ(job->run.communicators.size(), 1U);
  EXPECT_EQ(job->run.communicators.front().ranks, (std::vector<Rank>{Rank(4), Rank(6)}));
  EXPECT_TRUE(job->run.notes.empty()) << notes_of(job->run);
}

TEST(PytorchEt, TakesMembersFromStartAndStride) {
  const auto job = read_bytes(kPytorchEtReader, trace_of("[]", R"(, {"name": "global_rank_start", "value": 8},
                                  {"name": "global_rank_stride", "value": 4}, {"name": "pg_size", "value": 2})"));
  ASSERT_TRUE(job);
  EXPECT_EQ(job->run.communicators.front().ranks, (std::vector<Rank>{Rank(8), Rank(12)}));
  EXPECT_EQ(job->run.ranks.front().rank, Rank(12));
}

TEST(PytorchEt, BelievesNoGroupSizeThatTheFileCannotHold) {
  const auto job = read_bytes(kPytorchEtReader, trace_of("[]", R"(, {"name": "global_rank_start", "value": 0},
                         {"name": "global_rank_stride", "value": 1}, {"name": "pg_size", "value": 2000000000})"));
  ASSERT_TRUE(job);
  EXPECT_TRUE(job->run.communicators.front().ranks.empty());
}

TEST(PytorchEt, TakesTimesOfALinkedTrace) {
  const auto job = read_bytes(kPytorchEtReader, R"({"schema": "1.0.2", "nodes": [
    {"id": 2, "name": "k", "ctrl_deps": 1, "ts": 1000.5, "dur": 2},
    {"id": 1, "name": "p", "ctrl_deps": 1, "ts": 1000, "inclusive_dur": 5, "op_schema": "x"},
    {"id": 3, "name": "n", "ctrl_deps": 1, "ts": -1, "dur": 1e300}]})");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->run.times, TimesKind::Clocked);
  EXPECT_EQ(job->program.begin[1], duration_from_nanos(500));
  EXPECT_EQ(job->program.duration[1], duration_from_micros(2));
  EXPECT_EQ(job->program.begin[2], kNoDuration);
}

TEST(PytorchEt, GivesWhatStandsBeforeACut) {
  const std::string text = trace_of("[4, 6]");
  std::size_t seen = 0;
  for (std::size_t n = 0; n <= text.size(); ++n) {
    const auto job = read_bytes(kPytorchEtReader, text.substr(0, n));
    if (!job) {
      EXPECT_EQ(seen, 0U);
    } else {
      seen = job->program.size();
    }
  }
  EXPECT_EQ(seen, 4U);
}

TEST(PytorchEt, SurvivesEveryReplacedByte) {
  const std::string text = trace_of("[4, 6]");
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'"', '[', '}', '9', '\\', '\xff'}) {
      std::string damaged = text;
      damaged[i] = c;
      static_cast<void>(read_bytes(kPytorchEtReader, damaged));
    }
  }
}

struct Counts {
  std::int64_t nodes = 0;
  std::int64_t calls = 0;
  std::int64_t all_to_all = 0;
  std::int64_t all_reduce = 0;
  bool operator==(const Counts&) const = default;
};

Counts count(const ImportedJob& job) {
  Counts c{.nodes = static_cast<std::int64_t>(job.program.size())};
  for (const std::uint32_t n : job.program.name) {
    c.calls += job.program.names[n] == "record_param_comms" ? 1 : 0;
    c.all_to_all += job.program.names[n] == "nccl:all_to_all" ? 1 : 0;
    c.all_reduce += job.program.names[n] == "nccl:all_reduce" ? 1 : 0;
  }
  return c;
}

/// The same by a parser of another make.
Counts count(const std::string& text) {
  Counts c;
  const auto json = nlohmann::json::parse(text);
  for (const auto& node : json.at("nodes")) {
    const std::string name = node.at("name");
    ++c.nodes;
    c.calls += name == "record_param_comms" ? 1 : 0;
    c.all_to_all += name == "nccl:all_to_all" ? 1 : 0;
    c.all_reduce += name == "nccl:all_reduce" ? 1 : 0;
  }
  return c;
}

struct Fixture {
  const char* file;
  std::int64_t nodes;
  Rank rank;
  int world_size;
};

TEST(PytorchEtData, CountsAgreeWithAnotherParser) {
  COX_NEED_DATA(dir, "traces/pytorch-et");
  for (const Fixture& f : {Fixture{"../chakra-et/pytorch-et-1.0.2-chakra.0.0.4.json", 263, Rank(0), 2},
                           Fixture{"dlrm_eg_0.json.gz", 1675, Rank(0), 0},
                           Fixture{"resnet_2gpu_et-1.1.0.json.gz", 14392, Rank(1), 2}}) {
    auto source = ByteSource::open(dir / f.file, std::uint64_t{1} << 30);
    ASSERT_TRUE(source);
    const auto text = source->read_all();
    ASSERT_TRUE(text);
    EXPECT_TRUE(recognises(kPytorchEtReader, *text)) << f.file;
    const auto job = kPytorchEtReader.read(dir / f.file, {});
    ASSERT_TRUE(job) << job.error().to_string();
    EXPECT_EQ(count(*job), count(*text)) << f.file;
    EXPECT_EQ(count(*job).nodes, f.nodes);
    EXPECT_EQ(job->program.needs.edges(), job->program.size() - 1) << "all but the root have a caller";
    EXPECT_EQ(job->run.ranks.front().rank, f.rank) << f.file;
    EXPECT_EQ(job->run.world_size, f.world_size);
    EXPECT_TRUE(job->run.notes.empty()) << notes_of(job->run);
  }
}

TEST(PytorchEtData, DlrmHasTheCollectivesOfItsProfile) {
  COX_NEED_DATA(dir, "traces/pytorch-et");
  const auto job = kPytorchEtReader.read(dir / "dlrm_eg_0.json.gz", {});
  ASSERT_TRUE(job);
  EXPECT_EQ(count(*job), (Counts{.nodes = 1675, .calls = 13, .all_to_all = 5, .all_reduce = 3}));
  const model::Program& o = job->program;
  std::vector<std::int64_t> bytes;
  for (std::size_t i = 0; i < o.size(); ++i)
    if (o.kind[i] == OperationKind::Collective) bytes.push_back(o.bytes[i].count());
  EXPECT_EQ(bytes, (std::vector<std::int64_t>{24576, 192, 1536, 13568, 1576964, 24576, 448, 907840}));
  EXPECT_EQ(job->run.communicators.front().size, 8) << "as many as its all-to-all has parts";
}

}  // namespace
}  // namespace cox::trace
