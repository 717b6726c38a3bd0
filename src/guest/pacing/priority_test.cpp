// SPDX-License-Identifier: Apache-2.0
#include "guest/pacing/priority.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>

#include "cox/base/processes.h"

namespace cox::guest {
namespace {

using Change = PriorityPolicy::Change;
using std::chrono::milliseconds;

pace::DecisionBasis evidence(int wait_ms) {
  return {.period = milliseconds{100}, .slack = milliseconds{wait_ms}};
}
constexpr pace::Decision kNoSlack{.reason = pace::Reason::NoSlack};

TEST(Priority, LateIsWhoHardlyWaitsAtAll) {
  EXPECT_EQ(standing_of(kNoSlack, evidence(0)), Standing::Late);
  EXPECT_EQ(standing_of(kNoSlack, evidence(5)), Standing::Late);
  EXPECT_EQ(standing_of(kNoSlack, evidence(6)), Standing::Between) << "its slack moves: it waits at times";
  EXPECT_EQ(standing_of(kNoSlack, evidence(15)), Standing::Between);
  EXPECT_EQ(standing_of(kNoSlack, evidence(16)), Standing::Early);
  EXPECT_EQ(standing_of({.reason = pace::Reason::WarmingUp}, evidence(0)), Standing::Between);
  EXPECT_EQ(standing_of({.reason = pace::Reason::Observing}, evidence(0)), Standing::Late) << "mode observe";
  EXPECT_EQ(standing_of({.delay = milliseconds{1}, .reason = pace::Reason::Holding}, evidence(0)),
            Standing::Between);
  EXPECT_EQ(standing_of(kNoSlack, {}), Standing::Between) << "nothing was measured";
}

TEST(Priority, LateCannotBeToldWhereTransferMayBeAllOfTheWait) {
  const pace::Observation unknown{.transfer = Duration{-1}};
  EXPECT_TRUE(is_late_hidden(unknown, evidence(6)));
  EXPECT_FALSE(is_late_hidden(unknown, evidence(5))) << "late whatever part of it is transfer";
  EXPECT_FALSE(is_late_hidden({.transfer = milliseconds{3}}, evidence(50))) << "it waits";
  EXPECT_FALSE(is_late_hidden(unknown, {})) << "nothing was measured";
}

/// Steps until a change comes, or `most`.
int steps_to(PriorityPolicy& policy, Standing standing, Change change, int most = 100000) {
  for (int i = 1; i <= most; ++i) {
    const Change got = policy.observe(standing, 16);
    if (got == change) return i;
    EXPECT_EQ(got, Change::None);
  }
  return most;
}

TEST(Priority, AChangeNeedsAWindowThatAgrees) {
  PriorityPolicy policy;
  for (const Standing other : {Standing::Between, Standing::Early}) {
    for (int i = 0; i < 15; ++i) EXPECT_EQ(policy.observe(Standing::Late, 16), Change::None);
    EXPECT_EQ(policy.observe(other, 16), Change::None) << "one step that disagrees begins anew";
  }
  EXPECT_EQ(steps_to(policy, Standing::Late, Change::Raise), 16);
  EXPECT_TRUE(policy.is_raised());
  EXPECT_EQ(steps_to(policy, Standing::Between, Change::Restore, 1000), 1000) << "helped a little: kept";
  EXPECT_EQ(steps_to(policy, Standing::Early, Change::Restore), 16);
}

TEST(Priority, ARankThatPriorityMakesEarlyGoesUpMoreAndMoreSeldom) {
  PriorityPolicy policy;
  int windows = 1;
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(steps_to(policy, Standing::Late, Change::Raise), 16 * windows) << round;
    EXPECT_EQ(steps_to(policy, Standing::Early, Change::Restore), 16);
    windows = std::min(64, windows * 2);
  }
}

TEST(Priority, AtMostOneChangePerWindowWhateverItIsTold) {
  std::uint64_t state = 7;
  PriorityPolicy policy;
  int last = -1000;
  int changes = 0;
  Standing standing = Standing::Late;
  for (int step = 0; step < 200000; ++step) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    if (state >> 55 == 0) standing = standing == Standing::Late ? Standing::Early : Standing::Late;
    if (policy.observe(standing, 8) == Change::None) continue;
    EXPECT_GE(step - last, 8);
    last = step;
    ++changes;
  }
  EXPECT_GT(changes, 20);
}

/// One thread's niceness under a limit, as the kernel keeps it.
struct FakeThread {
  int niceness = 0;
  int limit = -20;       // lowest that may be set
  bool restores = true;  // whether a higher one may be set again
  bool ignores = false;  // says yes and does nothing
} fake;
constexpr PriorityCalls kFake{
    .get = [](int) noexcept { return fake.niceness; },
    .set =
        [](int, int niceness) noexcept {
          if (niceness < fake.limit || (niceness > fake.niceness && !fake.restores)) return false;
          if (!fake.ignores) fake.niceness = niceness;
          return true;
        },
};

/// Why the probe does not offer it; empty where it does.
std::string refusal() {
  const PriorityOffer offer = probe_priority(kFake, 0);
  return offer.steps > 0 || offer.refused == nullptr ? "" : offer.refused;
}

TEST(Priority, OfferedOnlyWhereRaisingAndRestoringBothWork) {
  fake = {};
  EXPECT_EQ(probe_priority(kFake, 0).steps, kMostSteps);
  EXPECT_EQ(probe_priority(kFake, 0).refused, nullptr);
  EXPECT_EQ(fake.niceness, 0) << "as it was found";
  fake = {.limit = 0};
  EXPECT_NE(refusal().find("RLIMIT_NICE"), std::string::npos) << refusal();
  fake = {.limit = -2};
  EXPECT_EQ(probe_priority(kFake, 0).steps, 2) << "as far as RLIMIT_NICE lets it";
  EXPECT_EQ(fake.niceness, 0);
  fake = {.restores = false};
  EXPECT_NE(refusal().find("undone"), std::string::npos);
  fake = {.ignores = true};
  EXPECT_NE(refusal(), "") << "nothing really changed";
  fake = {.niceness = -18};
  EXPECT_EQ(probe_priority(kFake, 0).steps, 2) << "never below -20";
  fake = {.niceness = kNoNiceness};
  EXPECT_NE(refusal().find("cannot be read"), std::string::npos);
}

/// The real thing needs a process of its own: what it changes, it changes for all of the process.
int in_child(int (*body)()) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  cox_wait_process(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// A thread that does nothing until it is destroyed.
class SleepingThread {
 public:
  SleepingThread() : thread_([this] { sleep(); }) { id_.wait(0); }
  SleepingThread(const SleepingThread&) = delete;
  SleepingThread& operator=(const SleepingThread&) = delete;
  ~SleepingThread() {
    done_ = true;
    done_.notify_one();
    thread_.join();
  }
  [[nodiscard]] int id() const { return id_; }
  [[nodiscard]] int niceness() const { return getpriority(PRIO_PROCESS, static_cast<id_t>(id_.load())); }

 private:
  void sleep() {
    id_ = gettid();
    id_.notify_one();
    done_.wait(false);
  }
  std::atomic<int> id_{0};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

TEST(Priority, NothingHappensUnlessAsked) {
  EXPECT_EQ(in_child([] {
              unsetenv("COX_PACE_PRIORITY");
              const PriorityOffer offer = start_priority();
              if (offer.steps > 0 || offer.refused != nullptr) return 1;
              for (int i = 0; i < 100; ++i) steer_priority(kNoSlack, evidence(0), 4);
              return is_priority_raised() ? 2 : 0;
            }),
            0);
}

TEST(Priority, RaisesALateProcessAndRestoresItHereIfOffered) {
  const int result = in_child([] {
    setenv("COX_PACE_PRIORITY", "1", 1);
    const int before = getpriority(PRIO_PROCESS, 0);
    const PriorityOffer offer = start_priority();
    if (offer.steps == 0) return getpriority(PRIO_PROCESS, 0) == before && offer.refused != nullptr ? 77 : 1;
    if (getpriority(PRIO_PROCESS, 0) != before) return 2;  // the probe touched the program's thread
    errno = 42;
    for (int i = 0; i < 3; ++i)
      if (steer_priority(kNoSlack, evidence(0), 4) != Change::None) return 10;
    if (steer_priority(kNoSlack, evidence(0), 4) != Change::Raise) return 11;
    if (errno != 42) return 3;
    if (!is_priority_raised() || getpriority(PRIO_PROCESS, 0) >= before) return 4;
    const pid_t child = fork();
    if (child == 0) _exit(getpriority(PRIO_PROCESS, 0) == before && !is_priority_raised() ? 0 : 1);
    int status = 0;
    cox_wait_process(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 5;
    for (int i = 0; i < 4; ++i) steer_priority(kNoSlack, evidence(50), 4);
    if (is_priority_raised() || getpriority(PRIO_PROCESS, 0) != before) return 6;
    for (int i = 0; i < 8; ++i) steer_priority(kNoSlack, evidence(0), 4);
    if (!is_priority_raised()) return 7;
    restore_priority();
    if (getpriority(PRIO_PROCESS, 0) != before) return 8;
    for (int i = 0; i < 100; ++i) steer_priority(kNoSlack, evidence(0), 4);
    return is_priority_raised() ? 9 : 0;  // off for good
  });
  if (result == 77) GTEST_SKIP() << "the probe did not offer it on this machine";
  EXPECT_EQ(result, 0);
}

TEST(Priority, ReachesEveryThreadAndThoseBornMeanwhile) {
  const int result = in_child([] {
    setenv("COX_PACE_PRIORITY", "1", 1);
    if (start_priority().steps == 0) return 77;
    const int before = getpriority(PRIO_PROCESS, 0);
    SleepingThread first;
    for (int i = 0; i < 4; ++i) steer_priority(kNoSlack, evidence(0), 4);
    SleepingThread second;  // inherits
    if (first.niceness() >= before || second.niceness() >= before) return 1;
    setpriority(PRIO_PROCESS, static_cast<id_t>(first.id()), before + 3);  // the program's own decision
    restore_priority();
    if (first.niceness() != before + 3) return 2;
    return second.niceness() == before ? 0 : 3;
  });
  if (result == 77) GTEST_SKIP() << "the probe did not offer it on this machine";
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace cox::guest
