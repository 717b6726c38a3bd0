// SPDX-License-Identifier: Apache-2.0
// The tables are made up, in the formats of OSU 5.6 and 7 and of nccl-tests 2.
#include <gtest/gtest.h>

#include "bench/net_tables.hpp"

namespace cox::bench {
namespace {

TEST(NetTable, ReadsOsuLatency) {
  const auto table = parse_net_table(
      "# OSU MPI Latency Test v7.2\n# Datatype: MPI_CHAR.\n# Size          Avg Latency(us)\n"
      "0                       1.50\n1024                    2.00\n",
      "t");
  ASSERT_TRUE(table) << table.error().to_string();
  EXPECT_EQ(table->kind, TableKind::Latency);
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_NEAR(table->rows[1].time.count(), 2e-6, 1e-15);
  const auto points = cost_points(*table, CollectiveForm::Ring, 0);
  ASSERT_TRUE(points);
  EXPECT_EQ(points->front().latencies, 1);
}

TEST(NetTable, ReadsOldOsuHeaders) {
  const auto table =
      parse_net_table("# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n1  1.25\n", "t");
  ASSERT_TRUE(table) << table.error().to_string();
  EXPECT_NEAR(table->rows.front().time.count(), 1.25e-6, 1e-15);
}

TEST(NetTable, ReadsOsuBandwidth) {
  const auto table = parse_net_table(
      "# OSU MPI Bandwidth Test v5.6.2\n# Size      Bandwidth (MB/s)\n1000   500.0\n1000000  10000.00\n",
      "t");
  ASSERT_TRUE(table) << table.error().to_string();
  EXPECT_EQ(table->kind, TableKind::Bandwidth);
  EXPECT_NEAR(table->rows[0].time.count(), 2e-6, 1e-15);
  EXPECT_NEAR(table->rows[1].time.count(), 1e-4, 1e-12);
  EXPECT_EQ((*cost_points(*table, CollectiveForm::Pair, 0))[0].latencies, 0);
}

TEST(NetTable, ReadsOsuAllreduceWithSpread) {
  const auto table = parse_net_table(
      "\n# OSU MPI Allreduce Latency Test v5.6.2\n"
      "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
      "4                       6.00              5.00              9.00        1000\n"
      "4096                   10.00              8.00             11.00        1000\n",
      "t");
  ASSERT_TRUE(table) << table.error().to_string();
  EXPECT_EQ(table->kind, TableKind::Collective);
  EXPECT_NEAR(table->rows[0].low.count(), 5e-6, 1e-15);
  EXPECT_NEAR(table->rows[0].time.count(), 6e-6, 1e-15);
  EXPECT_NEAR(table->rows[0].high.count(), 9e-6, 1e-15);
  const auto none = cost_points(*table, CollectiveForm::Ring, 0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().id, "bench-004");
  const auto ring = cost_points(*table, CollectiveForm::Ring, 4);
  ASSERT_TRUE(ring);
  EXPECT_EQ((*ring)[1].latencies, 6);
  EXPECT_EQ((*ring)[1].bytes, Bytes{6144});
  const auto tree = cost_points(*table, CollectiveForm::Tree, 5);
  ASSERT_TRUE(tree);
  EXPECT_EQ((*tree)[1].latencies, 6);
  EXPECT_EQ((*tree)[1].bytes, Bytes{std::int64_t{6} * 4096});
}

constexpr const char* kNccl =
    "mpirun says hello\n"
    "# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20\n"
    "#\n# Using devices\n"
    "#  Rank  0 Group  0 Pid  1234 on  host-a device  0 [0x07] NVIDIA H100\n"
    "#  Rank  1 Group  0 Pid  1234 on  host-a device  1 [0x0f] NVIDIA H100\n"
    "#\n"
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
    "           8             2     float     sum      -1    10.01    0.00    0.00      0    10.10    0.00    0.00      0\n"
    "   100000000      25000000     float     sum      -1  2010.00   49.75   49.75      0  2011.00   49.73   49.73    N/A\n"
    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 24.9\n#\n";

TEST(NetTable, ReadsNcclTests) {
  const auto table = parse_net_table(kNccl, "t");
  ASSERT_TRUE(table) << table.error().to_string();
  EXPECT_EQ(table->format, "nccl-tests");
  EXPECT_EQ(table->ranks, 2);
  EXPECT_NEAR(table->busbw_ratio, 1, 1e-9);
  ASSERT_EQ(table->rows.size(), 2U);
  // Two ranks: 2 messages of half: 2 alpha + n beta.
  const auto points = cost_points(*table, CollectiveForm::Ring, 0);
  ASSERT_TRUE(points) << points.error().to_string();
  const auto fit = fit_link(*points);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->latency->count(), 5.005e-6, 1e-9);
  EXPECT_NEAR(1 / fit->per_byte.in_seconds_per_byte(), 50e9, 0.01e9);
}

TEST(NetTable, SeesThatRanksContradict) {
  const auto table = parse_net_table(kNccl, "t");
  ASSERT_TRUE(table);
  EXPECT_FALSE(cost_points(*table, CollectiveForm::Ring, 8));
  ImportedTable anonymous = *table;
  anonymous.ranks = 0;
  const auto eight = cost_points(anonymous, CollectiveForm::Ring, 8);  // would have busbw 1.75 of algbw
  ASSERT_FALSE(eight);
  EXPECT_EQ(eight.error().message, "busbw is 1.00 of algbw; an all-reduce of 8 ranks has 1.75");
}

TEST(NetTable, NamesTheLineThatItCannotRead) {
  const auto bad =
      parse_net_table("# OSU MPI Latency Test v7.2\n# Size  Latency (us)\n1 2.0\n2 many\n", "lat.txt");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().id, "bench-002");
  EXPECT_EQ(bad.error().to_string(),
            "lat.txt:4: got '2 many', expected a size in bytes and a positive number");
  for (const char* text :
       {"# OSU MPI Latency Test v7.2\n1 2.0\n", "# OSU MPI Latency Test\n# Size Latency\n-1 2.0\n",
        "# OSU MPI Latency Test\n# Size Latency\n1 nan\n", "# OSU MPI Latency Test\n# Size Latency\n1\n",
        "# OSU MPI Bi-Directional Bandwidth Test\n", "# OSU MPI All-to-All Latency Test\n"}) {
    const auto table = parse_net_table(text, "t");
    ASSERT_FALSE(table) << text;
    EXPECT_EQ(table.error().id, "bench-002") << text;
  }
}

TEST(NetTable, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"", "hello\n", "# OSU MPI Latency Test v7.2\n", "# nThread 1\n"}) {
    const auto table = parse_net_table(text, "t");
    ASSERT_FALSE(table) << text;
    EXPECT_EQ(table.error().id, "bench-003") << text;
  }
  std::string many = "# OSU MPI Latency Test v7.2\n# Size Latency\n";
  for (int i = 0; i < 1000; ++i) many += "1 1.0\n";
  EXPECT_FALSE(parse_net_table(many, "t"));
}

TEST(Probe, ReadsItsOwnOutput) {
  const auto table = parse_probe(
      "noise of a launcher\n# cox-bench-net 1\n# library Open MPI v4.1.4\n# ranks 3\n"
      "message inside 8 0.000001000\nmessage inside 8 0.000003000\nstream inside 8 0.000000500\n"
      "start inside 8 0.000000100\nmessage across 8 0.000020000\nmessage inside 1024 0.000002000\n",
      "t");
  ASSERT_TRUE(table) << table.error().to_string();
  EXPECT_EQ(table->library, "Open MPI v4.1.4");
  EXPECT_EQ(table->ranks, 3);
  ASSERT_EQ(table->inside.size(), 2U);
  EXPECT_EQ(table->inside[0].message_s.size(), 2U);
  EXPECT_EQ(table->inside[0].start_s.size(), 1U);
  EXPECT_EQ(table->across.size(), 1U);
}

TEST(Probe, RefusesNonsense) {
  EXPECT_EQ(parse_probe("# cox-bench-net 1\n", "t").error().id, "bench-003");
  for (const char* line : {"message there 8 0.1", "message inside 8", "message inside x 0.1",
                           "message inside 8 -1", "message inside 8 inf", "message inside 8 0.1 7"}) {
    const auto table = parse_probe(std::string("# cox-bench-net 1\n") + line + "\n", "t");
    ASSERT_FALSE(table) << line;
    EXPECT_EQ(table.error().id, "bench-002") << line;
  }
}

}  // namespace
}  // namespace cox::bench
