// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/stream_file.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cox/sync/policy.hpp"

namespace cox::sync {
namespace {

struct Taken {
  int workers = 0;
  std::vector<StreamEvent> events;
  std::vector<double> at;
  std::string error;
};

Taken taken(const std::string& text, std::size_t most = 1'000'000) {
  Taken t;
  std::istringstream in(text);
  const Status read = read_stream(
      in, "u.csv",
      [&](int workers) {
        t.workers = workers;
        return Status{};
      },
      [&](const StreamEvent& e, Seconds at) -> Result<bool> {
        t.events.push_back(e);
        t.at.push_back(at.count());
        return t.events.size() < most;
      });
  if (!read) t.error = read.error().to_string();
  return t;
}

bool same(const StreamEvent& a, const StreamEvent& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case StreamEvent::Kind::Read:
      return a.update.worker == b.update.worker && a.update.version_read == b.update.version_read;
    case StreamEvent::Kind::Advanced:
      return a.update.version_applied == b.update.version_applied;
    case StreamEvent::Kind::Delivered:
      return a.update.worker == b.update.worker && a.update.version_read == b.update.version_read &&
             a.update.version_applied == b.update.version_applied && a.update.applied == b.update.applied &&
             a.update.steps == b.update.steps;
    case StreamEvent::Kind::Abandoned:
      return a.update.worker == b.update.worker && a.update.version_read == b.update.version_read &&
             a.update.steps == b.update.steps;
    case StreamEvent::Kind::Averaged:
      return false;  // has no line
    case StreamEvent::Kind::Left:
    case StreamEvent::Kind::Joined:
      return a.update.worker == b.update.worker;
  }
  return false;
}

// Every policy, with a worker that leaves and one that joins.
TEST(StreamFile, IsReadAsItWasWritten) {
  using model::PolicyKind;
  for (const PolicyKind kind : {PolicyKind::Synchronous, PolicyKind::Backup, PolicyKind::BoundedWait,
                                PolicyKind::BoundedDiscard, PolicyKind::Asynchronous, PolicyKind::LocalSgd}) {
    Policy policy({.kind = kind, .staleness = 2, .local_steps = 3, .backups = 1}, 4);
    std::ostringstream out;
    StreamWriter writer(out, 4);
    std::vector<StreamEvent> events;
    std::vector<double> at;
    std::vector<int> released;
    double now = 0.1;
    const auto note = [&] {
      for (const StreamEvent& e : policy.events()) {
        events.push_back(e);
        at.push_back(now);
        writer.add(e, Seconds{now});
      }
      now += 0.1 / 3;
    };
    std::vector<int> ready{0, 1, 2, 3};
    for (int turn = 0; turn < 60 && !ready.empty(); ++turn) {
      const int worker = ready.front();
      ready.erase(ready.begin());
      if (turn == 20)
        policy.left(worker, released);
      else
        policy.delivered(worker, released);
      ready.insert(ready.end(), released.begin(), released.end());
      note();
      if (turn != 30) continue;
      policy.joined(released);
      ready.insert(ready.end(), released.begin(), released.end());
      note();
    }
    const Taken t = taken(out.str());
    EXPECT_EQ(t.error, "");
    EXPECT_EQ(t.workers, 4);
    EXPECT_EQ(t.at, at);  // the same bits
    ASSERT_EQ(t.events.size(), events.size());
    for (std::size_t i = 0; i < events.size(); ++i) EXPECT_TRUE(same(t.events[i], events[i])) << i;
  }
}

const std::string kTwo =
    "# cox.updates/1 workers=2\n"
    "seconds,event,worker,version_read,version_applied,steps,applied\n";

TEST(StreamFile, WorkThatWasGivenUpIsReadAsItWasWritten) {
  const std::vector<StreamEvent> events = {
      {.kind = StreamEvent::Kind::Abandoned, .update = {.worker = 1, .steps = 0}},
      {.kind = StreamEvent::Kind::Delivered, .update = {.worker = 0, .steps = 3}},
      {.kind = StreamEvent::Kind::Advanced, .update = {.version_applied = 1}},
      {.kind = StreamEvent::Kind::Read, .update = {.worker = 1, .version_read = 1}},
      {.kind = StreamEvent::Kind::Abandoned, .update = {.worker = 1, .version_read = 1, .steps = 2}}};
  std::ostringstream out;
  StreamWriter writer(out, 2);
  for (const StreamEvent& e : events) writer.add(e, Seconds{1});
  const Taken t = taken(out.str());
  EXPECT_EQ(t.error, "");
  ASSERT_EQ(t.events.size(), events.size());
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_TRUE(same(t.events[i], events[i])) << i;
}

TEST(StreamFile, EndsWhereItIsToldTo) {
  const Taken t = taken(kTwo + "1,delivered,0,0,0,1,1\n1,advanced,,,1,,\n1,read,0,1,,,\n", 2);
  EXPECT_EQ(t.error, "");
  EXPECT_EQ(t.events.size(), 2U);
}

TEST(StreamFile, RefusesWhatCannotBe) {
  const auto error = [](const std::string& text) { return taken(text).error; };
  EXPECT_EQ(error(""), "u.csv:1: got '', expected `# cox.updates/1 workers=N` with 1 to 1048576 workers");
  EXPECT_EQ(error("# cox.updates/1 workers=0\n").find("u.csv:1: got '# cox.updates/1 workers=0'"), 0U);
  EXPECT_EQ(error("# cox.updates/2 workers=2\n").find("u.csv:1: got"), 0U);
  EXPECT_EQ(error("# cox.updates/1 workers=2\na,b\n").find("u.csv:2: got 'a,b', expected the columns"), 0U);
  const std::pair<std::string, std::string> lines[] = {
      {"1,delivered,0,0,0,1", "got '1,delivered,0,0,0,1', expected seconds"},
      {"1,delivered,0,0,0,1,1,", "got"},
      {"nan,delivered,0,0,0,1,1", "got"},
      {"-1,delivered,0,0,0,1,1", "got"},
      {"1,delivered,0,0,0,0,1", "got"},
      {"1,delivered,0,0,0,1,2", "got"},
      {"1,sent,0,0,0,1,1", "got"},
      {"1,delivered,0,0,0,1,1x", "got"},
      {"1,\x1b[31m,0,0,0,1,1", "got '1,?[31m,0,0,0,1,1'"},
      {"1,delivered,7,0,0,1,1", "there is no worker 7"},
      {"1,delivered,0,1,0,1,1", "worker 0 delivers of version 1, and has read 0"},
      {"1,read,0,0,,,", "worker 0 reads, and is gone or has not delivered"},
      {"1,advanced,,,1,,", "version 1 is made of 0 updates after version 0"},
      {"1,joined,0,,,,", "worker 0 joins, and its number was given before"},
      {std::string(300, '1'), "got a line of more than 256 bytes"},
  };
  for (const auto& [line, says] : lines)
    EXPECT_EQ(error(kTwo + line + "\n").find("u.csv:3: " + says), 0U) << error(kTwo + line + "\n");
  EXPECT_EQ(
      error(kTwo + "2,left,0,,,,\n1,left,1,,,,\n").find("u.csv:4: got an event at 1 s after one at 2 s"), 0U);
  EXPECT_EQ(error(kTwo + "2,left,0,,,,\n2,joined,0,,,,\n").find("u.csv:4: worker 0 joins"), 0U);
}

}  // namespace
}  // namespace cox::sync
