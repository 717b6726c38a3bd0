// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <protozero/pbf_writer.hpp>

#include "support/test_data.hpp"
#include "trace/import/graphs/chakra_json_stream.hpp"
#include "trace/import/graphs/chakra_memory_file.hpp"
#include "trace/import/graphs/chakra_messages.hpp"
#include "trace/import/graphs/chakra_nodes.hpp"

namespace cox::trace {
namespace {

void append_length(std::string& out, std::uint64_t n) {
  for (; n >= 0x80; n >>= 7) out += static_cast<char>(n | 0x80);
  out += static_cast<char>(n);
}

void append_message(std::string& out, const std::string& message) {
  append_length(out, message.size());
  out += message;
}

struct Attribute {
  const char* name;
  std::uint32_t tag;
  std::int64_t number = 0;
  std::string text{};
};

void add_attribute(protozero::pbf_writer& to, std::uint32_t field, const Attribute& a) {
  protozero::pbf_writer w(to, field);
  w.add_string(1, a.name);
  if (a.tag == 29 || a.tag == 28) {
    w.add_string(a.tag, a.text);
  } else {
    w.add_int64(a.tag, a.number);
  }
}

std::string metadata(const std::vector<Attribute>& attributes, std::uint32_t field = 2) {
  std::string out;
  protozero::pbf_writer w(out);
  for (const Attribute& a : attributes) add_attribute(w, field, a);
  return out;
}

struct Node {
  std::uint64_t id;
  int type;
  std::vector<std::uint64_t> data{};
  std::uint64_t start_us = 0;
  std::uint64_t duration_us = 0;
  std::vector<Attribute> attributes{};
};

std::string message_of(const Node& n) {
  std::string out;
  protozero::pbf_writer w(out);
  w.add_uint64(1, n.id);
  w.add_string(2, "op" + std::to_string(n.id));
  w.add_enum(3, n.type);
  w.add_packed_uint64(5, n.data.begin(), n.data.end());
  if (n.start_us > 0) w.add_uint64(6, n.start_us);
  if (n.duration_us > 0) w.add_uint64(7, n.duration_us);
  for (const Attribute& a : n.attributes) add_attribute(w, 10, a);
  return out;
}

std::string file_of(const std::vector<Node>& nodes,
                    const std::vector<Attribute>& about = {{"schema", 29, 0, "1.0.1"}, {"rank", 9, 3}}) {
  std::string out;
  append_message(out, metadata(about));
  for (const Node& n : nodes) append_message(out, message_of(n));
  return out;
}

const std::vector<Node>& small_graph() {
  static const std::vector<Node> nodes{
      {.id = 5, .type = 4, .start_us = 1000, .duration_us = 10},
      {.id = 6,
       .type = 7,
       .data = {5},
       .start_us = 1010,
       .duration_us = 30,
       .attributes = {{"comm_type", 9, 0}, {"comm_size", 9, 4096}, {"pg_name", 29, 0, "dp"}}},
      {.id = 7,
       .type = 5,
       .data = {6},
       .start_us = 1040,
       .duration_us = 1,
       .attributes = {{"comm_dst", 7, 4}, {"comm_tag", 7, 9}, {"comm_size", 9, 64}}},
      {.id = 8,
       .type = 2,
       .data = {7},
       .start_us = 1041,
       .duration_us = 2,
       .attributes = {{"tensor_size", 13, 8}}},
  };
  return nodes;
}

TEST(ChakraProtobuf, ReadsNodesDependenciesAttributesAndTimes) {
  const std::string bytes = file_of(small_graph());
  EXPECT_TRUE(recognises(kChakraProtobufReader, bytes));
  const auto job = read_bytes(kChakraProtobufReader, bytes);
  ASSERT_TRUE(job) << job.error().to_string();
  const model::Program& o = job->program;
  ASSERT_EQ(o.size(), 4U);
  EXPECT_EQ(job->run.ranks.front().rank, Rank(3));
  EXPECT_EQ(job->run.times, TimesKind::Clocked);
  EXPECT_EQ(o.kind, (std::vector<OperationKind>{OperationKind::Compute, OperationKind::Collective,
                                                OperationKind::Send, OperationKind::Memory}));
  EXPECT_EQ(o.begin[0], Duration::zero());
  EXPECT_EQ(o.begin[1], duration_from_micros(10));
  EXPECT_EQ(o.duration[1], duration_from_micros(30));
  EXPECT_EQ(o.bytes[1], Bytes(4096));
  EXPECT_EQ(o.bytes[3], Bytes(8));
  EXPECT_EQ(edges_of(job->program), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(job->run.find(o.comm[1])->name, "dp");
  EXPECT_EQ(job->run.find(o.comm[2])->name, "3 to 4, tag 9");
  const EventColumns& e = job->run.ranks.front().events;
  ASSERT_EQ(e.size(), 1U);
  EXPECT_EQ(e.collective(0), model::Collective::AllReduce);
  EXPECT_EQ(e.end[0], duration_from_micros(40));
  EXPECT_EQ(job->run.sources.front().records, 4);
  EXPECT_TRUE(job->run.notes.empty()) << notes_of(job->run);
}

TEST(ChakraProtobuf, ReadsMetadataOfBothSchemasAndUnpackedDependencies) {
  std::string old;
  append_message(old, metadata({{"rank", 9, 2}}, 1));
  std::string node;
  protozero::pbf_writer w(node);
  w.add_string(2, "zero");  // id 0 is left out by the encoding
  w.add_enum(3, 4);
  append_message(old, node);
  node.clear();
  protozero::pbf_writer v(node);
  v.add_uint64(1, 1);
  v.add_string(2, "one");
  v.add_enum(3, 4);
  v.add_uint64(4, 0);
  append_message(old, node);
  const auto job = read_bytes(kChakraProtobufReader, old);
  ASSERT_TRUE(job) << job.error().to_string();
  EXPECT_EQ(job->run.ranks.front().rank, Rank(2));
  EXPECT_EQ(edges_of(job->program), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(job->run.times, TimesKind::None);

  std::string version;
  protozero::pbf_writer m(version);
  m.add_string(1, "0.0.4");
  std::string bytes;
  append_message(bytes, version);
  append_message(bytes, message_of({.id = 1, .type = 4}));
  EXPECT_TRUE(recognises(kChakraProtobufReader, bytes));
  const auto versioned = read_bytes(kChakraProtobufReader, bytes);
  ASSERT_TRUE(versioned);
  EXPECT_EQ(versioned->run.info.tool, "Chakra schema 0.0.4");
  EXPECT_EQ(versioned->run.ranks.front().rank, Rank(-1));
}

TEST(ChakraProtobuf, ACollectiveAlongSomeDimensionsHasNoCommunicator) {
  const auto with = [](const std::string& flags) {
    return read_bytes(
        kChakraProtobufReader,
        file_of({{.id = 1, .type = 7, .attributes = {{"comm_type", 9, 6}, {"involved_dim", 28, 0, flags}}}}));
  };
  const auto all = with(std::string("\x0a\x02\x01\x01", 4));
  ASSERT_TRUE(all);
  ASSERT_EQ(all->run.communicators.size(), 1U);
  EXPECT_EQ(all->run.communicators.front().name, "world");
  const auto some = with(std::string("\x0a\x02\x01\x00", 4));
  ASSERT_TRUE(some);
  EXPECT_EQ(some->program.comm[0], kNoComm);
  EXPECT_NE(notes_of(some->run).find("1 collective along some dimensions"), std::string::npos);
}

TEST(ChakraProtobuf, GivesWhatStandsBeforeACut) {
  const std::string bytes = file_of(small_graph());
  std::size_t seen = 0;
  for (std::size_t n = 0; n <= bytes.size(); ++n) {
    const auto job = read_bytes(kChakraProtobufReader, std::string_view(bytes).substr(0, n));
    if (!job) {
      EXPECT_EQ(job.error().id, "import-005");
      EXPECT_EQ(seen, 0U);
      continue;
    }
    EXPECT_GE(job->program.size(), seen);
    seen = job->program.size();
  }
  EXPECT_EQ(seen, 4U);
}

TEST(ChakraProtobuf, SurvivesEveryFlippedByte) {
  const std::string bytes = file_of(small_graph());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xff, 0x07}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      static_cast<void>(recognises(kChakraProtobufReader, damaged));
      const auto job = read_bytes(kChakraProtobufReader, damaged);
      if (job) {
        EXPECT_EQ(job->program.needs.size(), job->program.size());
      }
    }
  }
}

TEST(ChakraProtobuf, RefusesLengthsThatNoNodeHas) {
  std::string bytes = file_of({{.id = 1, .type = 4}});
  append_length(bytes, UINT64_MAX);
  const auto job = read_bytes(kChakraProtobufReader, bytes);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->program.size(), 1U);
  EXPECT_NE(notes_of(job->run).find("a message of 18446744073709551615 bytes"), std::string::npos);
  EXPECT_FALSE(read_bytes(kChakraProtobufReader, std::string(40, '\xff')));
  EXPECT_FALSE(recognises(kChakraProtobufReader, "{\"schema\": 1}"));
  EXPECT_FALSE(recognises(kChakraProtobufReader, std::string(100, '\0')));
}

TEST(ChakraJson, ReadsBothSpellings) {
  const std::string text = R"({"rank": 2, "ngpus": 8, "workload_graph": [
    {"Id": 2, "Name": "b\u0007", "NodeType": 7, "ctrlDeps": [1], "data_deps": [1], "runtime": 5, "is_cpu_op": false,
     "comm_type": 2, "comm_size": 16, "pg_name": "tp"},
    {"id": 1, "name": "a", "type": 4, "dataDeps": [], "durationMicros": 7}, 17, {"Name": "no id"}], "soc": "x"})";
  EXPECT_TRUE(recognises(kChakraJsonReader, text));
  const auto job = read_bytes(kChakraJsonReader, text);
  ASSERT_TRUE(job) << job.error().to_string();
  EXPECT_EQ(job->run.world_size, 8);
  EXPECT_EQ(job->run.ranks.front().rank, Rank(2));
  EXPECT_EQ(job->program.size(), 2U);
  EXPECT_EQ(job->program.duration[0], duration_from_micros(7));
  EXPECT_EQ(edges_of(job->program), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(job->program.names[job->program.name[1]], "b?");
  EXPECT_EQ(job->run.sources.front().records, 4);
  EXPECT_EQ(job->run.sources.front().used_records, 2);
}

TEST(ChakraJson, GivesWhatStandsBeforeACutAndRefusesNests) {
  const std::string text =
      R"({"workload_graph": [{"Id": 1, "Name": "a\"]}", "NodeType": 4}, {"Id": 2, "NodeType": 4}]})";
  for (std::size_t n = 0; n <= text.size(); ++n) {
    const auto job = read_bytes(kChakraJsonReader, text.substr(0, n));
    EXPECT_EQ(job.has_value(), n >= 61) << n;
  }
  const std::string nest(1 << 20, '[');
  EXPECT_FALSE(read_bytes(kChakraJsonReader, "{\"workload_graph\": [" + nest));
  std::string empty = "{";
  for (int i = 0; i < 200'000; ++i) empty += "\"workload_graph\":[],";
  EXPECT_FALSE(read_bytes(kChakraJsonReader, empty));
  std::string deep = "{\"workload_graph\": [";
  for (int i = 0; i < 5000; ++i) deep += "{\"a\":";
  deep += "1" + std::string(5000, '}') + R"(, {"Id": 1, "NodeType": 4}]})";
  const auto job = read_bytes(kChakraJsonReader, deep);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->run.sources.front().records, 2);
}

TEST(ChakraNames, RankIsThePartBeforeTheEnding) {
  EXPECT_EQ(rank_in_file_name("a/model.12.et"), Rank(12));
  EXPECT_EQ(rank_in_file_name("model.0.json.gz"), Rank(0));
  EXPECT_EQ(rank_in_file_name("model.et"), std::nullopt);
  EXPECT_EQ(rank_in_file_name("model.1x.et"), std::nullopt);
  EXPECT_EQ(rank_in_file_name("model.99999999999.et"), std::nullopt);
  EXPECT_EQ(rank_in_file_name("model.7.txt"), std::nullopt);
}

/// Counts nodes by type without the reader: walks lengths and top-level fields by hand.
std::vector<std::int64_t> count_types(const std::string& b) {
  const auto varint = [&](std::size_t& p) {
    std::uint64_t v = 0;
    for (int s = 0; p < b.size(); s += 7) {
      const auto c = static_cast<unsigned char>(b[p++]);
      v |= static_cast<std::uint64_t>(c & 127) << s;
      if (c < 128) break;
    }
    return v;
  };
  std::vector<std::int64_t> types(16);
  std::size_t p = 0;
  for (bool first = true; p < b.size(); first = false) {
    const std::uint64_t length = varint(p);
    const std::size_t end = p + length;
    if (first) p = end;
    while (p < end) {
      const std::uint64_t key = varint(p);
      const std::uint64_t value = varint(p);
      if ((key & 7) == 2) p += value;
      if (key == (3 << 3)) ++types.at(value);
    }
  }
  return types;
}

std::int64_t count_kind(const ImportedJob& job, OperationKind kind) {
  return std::count(job.program.kind.begin(), job.program.kind.end(), kind);
}

TEST(ChakraData, ProtobufAgreesWithACountByHand) {
  COX_NEED_DATA(dir, "traces/chakra-et");
  std::ifstream in(dir / "chakra.0.et", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto types = count_types(bytes);
  EXPECT_EQ(types[4], 3643);
  EXPECT_EQ(types[7], 21);
  EXPECT_TRUE(recognises(kChakraProtobufReader, bytes));
  const auto job = kChakraProtobufReader.read(dir / "chakra.0.et", {});
  ASSERT_TRUE(job) << job.error().to_string();
  EXPECT_EQ(job->program.size(), 3664U);
  EXPECT_EQ(job->run.sources.front().records, 3664);
  EXPECT_EQ(count_kind(*job, OperationKind::Compute), types[4]);
  EXPECT_EQ(count_kind(*job, OperationKind::Collective), types[7]);
  EXPECT_EQ(job->run.info.tool, "Chakra schema 1.0.1");
  EXPECT_EQ(job->run.ranks.front().rank, Rank(0));
  EXPECT_EQ(std::count_if(job->program.comm.begin(), job->program.comm.end(),
                          [](CommId c) { return c != kNoComm; }),
            7);
}

TEST(ChakraData, BothEncodingsGiveTheSameGraph) {
  COX_NEED_DATA(dir, "traces/chakra-et");
  const auto proto = kChakraProtobufReader.read(dir / "chakra.0.et", {});
  const auto json = kChakraJsonReader.read(dir / "chakra.0.json.gz", {});
  ASSERT_TRUE(proto && json);
  EXPECT_EQ(json->program.size(), 3664U);
  EXPECT_EQ(json->program.needs, proto->program.needs);
  EXPECT_EQ(json->program.duration, proto->program.duration);
  const auto small = kChakraJsonReader.read(dir / "small_chakra.0.json", {});
  ASSERT_TRUE(small);
  EXPECT_EQ(small->program.size(), 7U);
  EXPECT_EQ(small->run.world_size, 8);
}

}  // namespace
}  // namespace cox::trace
