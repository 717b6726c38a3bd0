// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/export.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include <nlohmann/json.hpp>

#include "support/make_run.hpp"

namespace cox::trace {
namespace {

nlohmann::json exported(const trace::Run& run) {
  std::ostringstream out;
  EXPECT_TRUE(export_perfetto(run, out));
  return nlohmann::json::parse(out.str());
}

TEST(ExportPerfetto, OneProcessPerRankAndEveryEvent) {
  const trace::Run run = test::make_run({.ranks = 3, .steps = 4, .nodes = 2});
  const auto json = exported(run);
  int marks = 0;
  int spans = 0;
  std::vector<std::string> names;
  for (const auto& e : json["traceEvents"]) {
    if (e["ph"] == "i") ++marks;
    if (e["ph"] == "X") ++spans;
    if (e["name"] == "process_name") names.push_back(e["args"]["name"]);
  }
  EXPECT_EQ(marks, 12);
  EXPECT_EQ(spans, 12);
  EXPECT_EQ(names, (std::vector<std::string>{"rank 0 on node0", "rank 1 on node0", "rank 2 on node1"}));
}

TEST(ExportPerfetto, TimesAreMicrosecondsWithoutLoss) {
  trace::Run run = test::make_run({.ranks = 1, .steps = 1, .step_marks = false});
  run.ranks[0].events.begin[0] = Duration{1'234'567'890'123};
  run.ranks[0].events.end[0] = Duration{1'234'567'890'123 + 5};
  std::ostringstream out;
  ASSERT_TRUE(export_perfetto(run, out));
  EXPECT_NE(out.str().find("\"ts\":1234567.890123"), std::string::npos);
  EXPECT_NE(out.str().find("\"dur\":0.000005"), std::string::npos);
}

TEST(ExportPerfetto, CollectivesCarryWhatIsKnown) {
  const auto json = exported(test::make_run({.ranks = 1, .steps = 2, .step_marks = false}));
  const auto& last = json["traceEvents"].back();
  EXPECT_EQ(last["name"], "AllReduce");
  EXPECT_EQ(last["cat"], "collective");
  EXPECT_EQ(last["args"]["bytes"], 25'000'000);
  EXPECT_EQ(last["args"]["communicator"], "world");
  EXPECT_EQ(last["args"]["sequence"], 1);
}

TEST(ExportPerfetto, UnfinishedCallsHaveNoEnd) {
  trace::Run run = test::make_run({.ranks = 1, .steps = 1, .step_marks = false});
  run.ranks[0].events.end[0] = kStillRunning;
  const auto json = exported(run);
  const auto& last = json["traceEvents"].back();
  EXPECT_EQ(last["ph"], "B");
  EXPECT_EQ(last["args"]["still_running"], true);
  EXPECT_FALSE(last.contains("dur"));
}

TEST(ExportPerfetto, DecisionsOfPacingSayWhatAndHowLong) {
  trace::Run run = test::make_run({.ranks = 1, .steps = 1, .step_marks = false});
  EventColumns& e = run.ranks[0].events;
  e.kind[0] = EventKind::Pace;
  e.op[0] = 10;
  e.flags[0] = PaceFlags::of(4, 3);
  e.bytes.set(0, Bytes{2'500'000});
  e.seq[0] = 77;
  const auto json = exported(run);
  const auto& last = json["traceEvents"].back();
  EXPECT_EQ(last["cat"], "pace");
  EXPECT_EQ(last["args"]["reason"], 10);
  EXPECT_EQ(last["args"]["state"], 4);
  EXPECT_EQ(last["args"]["mode"], 3);
  EXPECT_EQ(last["args"]["delay_ns"], 2'500'000);
  EXPECT_EQ(last["args"]["iteration"], 77);
}

TEST(ExportPerfetto, TextsAreEscaped) {
  trace::Run run = test::make_run({.ranks = 1, .steps = 1});
  run.nodes[0].host = "h\"\\\n\x01";
  run.communicators[0].name = "bad \xff utf-8";
  run.info.name = "</script>\"";
  const auto json = exported(run);
  EXPECT_EQ(json["otherData"]["run"], "</script>\"");
  EXPECT_EQ(json["traceEvents"][0]["args"]["name"], "rank 0 on h\"\\\n\x01");
}

TEST(ExportPerfetto, WaitsAndPhasesHaveNames) {
  trace::Run run = test::make_run({.ranks = 1, .steps = 2, .step_marks = false});
  run.ranks[0].events.kind[0] = EventKind::Phase;
  run.ranks[0].events.op[0] = static_cast<std::uint8_t>(PhaseKind::Backward);
  run.ranks[0].events.kind[1] = EventKind::Wait;
  run.ranks[0].events.op[1] = 200;  // a later version's
  const auto json = exported(run);
  const auto& events = json["traceEvents"];
  EXPECT_EQ(events[events.size() - 2]["name"], "backward");
  EXPECT_EQ(events[events.size() - 1]["name"], "wait");
}

TEST(ExportPerfetto, SaysThatItCannotWrite) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(export_perfetto(test::make_run({.ranks = 1, .steps = 1}), out).error().id, "base-006");
}

}  // namespace
}  // namespace cox::trace
