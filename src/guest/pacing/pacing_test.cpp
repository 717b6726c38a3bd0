// SPDX-License-Identifier: Apache-2.0
#include "guest/pacing/pacing.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <vector>

#include "cox/guest/pace_text.hpp"

#include "guest/pacing/fake_process.hpp"

namespace cox::guest {
namespace {

using pace::Reason;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using trace::RawRecord;

class Pacing : public FakeProcessTest {
 protected:
  void start(const char* text) {
    pace::Settings settings;
    ASSERT_EQ(read_pace(text, settings), -1);
    pacer_ = std::make_unique<Pacer>(settings, kFakeWorld);
    pacer_->define(1, 4, 0);
  }
  void pass(Duration d) { process_.now += static_cast<std::uint64_t>(d.count() / 1000); }
  void wait(std::uint32_t comm, Duration d, std::int64_t bytes = 8,
            Boundary boundary = Boundary::Synchronisation) {
    pacer_->enter(comm);
    const std::uint64_t begin = process_.now;
    pass(d);
    pacer_->leave(comm, begin, process_.now, bytes, boundary);
  }
  /// 10 ms of work and a wait of 5 ms, as an early rank has them; a delay comes out of the wait.
  void early_iterations(int count) {
    for (int i = 0; i < count; ++i) {
      const Duration before = total_delay();
      pass(milliseconds{10});
      wait(1, milliseconds{5} - (before - at_last_));
      at_last_ = before;
    }
  }
  Duration total_delay() const { return process_.slept_in_all(); }
  std::vector<std::uint8_t> reasons() const {
    std::vector<std::uint8_t> out;
    out.reserve(process_.records.size());
    for (const RawRecord& r : process_.records) out.push_back(r.op);
    return out;
  }

  std::unique_ptr<Pacer> pacer_;
  Duration at_last_{};
};

TEST_F(Pacing, ReadsWhatItIsAskedAndSaysWhereItCannot) {
  pace::Settings settings;
  EXPECT_EQ(read_pace("auto,window=32", settings), -1);
  EXPECT_EQ(settings.window, 32U);
  EXPECT_EQ(read_pace("auto,window=x", settings), 5);
  EXPECT_EQ(read_pace("sometimes", settings), 0);
  EXPECT_EQ(read_pace("", settings), 0);
  EXPECT_EQ(read_pace("auto,window=\n32", settings), 12);
  EXPECT_EQ(read_pace(std::string(2 * kLongestPaceText, 'a').c_str(), settings),
            static_cast<std::ptrdiff_t>(kLongestPaceText));
  EXPECT_EQ(settings.window, 32U);
}

TEST_F(Pacing, ParametersAloneNameNoMode) {
  for (const char* named : {"auto", "off,seed=2", "window=32,paper", "mode=observe", "always,mode=off"})
    EXPECT_TRUE(names_mode(named)) << named;
  for (const char* nameless : {"window=32", "seed=2,objective=tail", "", "sometimes", "auto,window=x"})
    EXPECT_FALSE(names_mode(nameless)) << nameless;
}

TEST_F(Pacing, ServesTheDelayOnReturnFromTheSynchronisation) {
  start("always,warm_up=4,window=8");
  early_iterations(60);
  ASSERT_GT(process_.slept.size(), 30U);
  for (const Duration d : process_.slept) EXPECT_LE(d, milliseconds{4});
  const RawRecord& last = process_.records.back();
  EXPECT_EQ(last.kind, static_cast<std::uint8_t>(trace::EventKind::Pace));
  EXPECT_EQ(last.op, static_cast<std::uint8_t>(Reason::Fixed));
  EXPECT_EQ(last.comm, 1U);
  EXPECT_EQ(last.seq, 60U - Pacer::kFirst);  // the iteration that the delay precedes
  EXPECT_EQ(last.end - last.begin, last.bytes);
  EXPECT_EQ(trace::PaceFlags::mode(last.flags), static_cast<std::uint8_t>(pace::Mode::Always));
}

TEST_F(Pacing, ObservesWithoutEverHoldingBack) {
  start("observe");
  early_iterations(300);
  EXPECT_TRUE(process_.slept.empty());
  EXPECT_EQ(reasons(), std::vector<std::uint8_t>{static_cast<std::uint8_t>(Reason::Observing)});
}

TEST_F(Pacing, TellsWithEachDecisionWhatWasSeen) {
  static Duration transfer;
  PaceWorld world = kFakeWorld;
  world.decided = [](const pace::Controller&, const pace::Observation& seen) noexcept {
    transfer = seen.transfer;
  };
  pace::Settings settings;
  ASSERT_EQ(read_pace("observe", settings), -1);
  pacer_ = std::make_unique<Pacer>(settings, world);
  pacer_->define(1, 4, 0);
  transfer = Duration{-7};
  early_iterations(8);
  EXPECT_EQ(transfer, Duration::zero()) << "small payloads take none";
  wait(1, milliseconds{5}, 1'000'000);
  EXPECT_LT(transfer, Duration::zero()) << "not known";
}

TEST_F(Pacing, ServesAtTheEntryOfTheNextCollectiveWhereAsked) {
  start("always,window=8,warm_up=4,placement=collective");
  early_iterations(40);
  ASSERT_FALSE(process_.slept.empty());
  const std::size_t before = process_.slept.size();
  pass(milliseconds{10});
  EXPECT_EQ(process_.slept.size(), before);
  pacer_->enter(2);  // another group's
  EXPECT_EQ(process_.slept.size(), before);
  pacer_->enter(1);
  EXPECT_EQ(process_.slept.size(), before + 1);
  pacer_->enter(1);  // served once
  EXPECT_EQ(process_.slept.size(), before + 1);
}

TEST_F(Pacing, NothingHappensWhereNothingIsRecorded) {
  start("always,window=8,warm_up=4");
  early_iterations(40);
  const std::size_t before = process_.slept.size();
  process_.recording = false;  // a forked child, after the end, switched off
  early_iterations(40);
  EXPECT_EQ(process_.slept.size(), before);
}

TEST_F(Pacing, NoDelayThatCannotBeRecorded) {
  start("always,window=8,warm_up=4");
  process_.room = false;
  early_iterations(40);
  EXPECT_TRUE(process_.slept.empty());
}

TEST_F(Pacing, OtherThreadsNeitherCountNorWait) {
  start("always,window=8,warm_up=4");
  early_iterations(40);
  const std::size_t before = process_.records.size();
  process_.thread = 8;
  early_iterations(40);
  EXPECT_EQ(process_.records.size(), before);
}

TEST_F(Pacing, LargestGroupIsPacedAndABarrierAtTheStartIsNot) {
  start("observe");
  pacer_->define(2, 2, 1);
  pacer_->define(3, 1, 0);
  for (int i = 0; i < 3; ++i) wait(1, milliseconds{1});  // the world, at the start
  for (int i = 0; i < 10; ++i) {
    wait(3, milliseconds{1});  // nobody to wait for
    wait(2, milliseconds{1});
  }
  ASSERT_EQ(process_.records.size(), 1U);
  EXPECT_EQ(process_.records[0].comm, 2U);
  for (int i = 0; i < 3; ++i) wait(1, milliseconds{1});
  ASSERT_EQ(process_.records.size(), 2U);
  EXPECT_EQ(process_.records[1].comm, 1U);
  EXPECT_EQ(process_.records[1].seq, 1U);
}

TEST_F(Pacing, GroupThatIsNoLongerUsedIsGivenUp) {
  start("observe");
  pacer_->define(2, 4, 0);  // as large
  for (int i = 0; i < 10; ++i) wait(1, milliseconds{1});
  for (std::uint32_t i = 0; i < Pacer::kReplaced; ++i) wait(2, milliseconds{1});
  wait(2, milliseconds{1});
  EXPECT_EQ(process_.records.back().comm, 2U);
}

TEST_F(Pacing, MarkedStepsEndTheIterations) {
  start("always,window=8,warm_up=4");
  for (int i = 0; i < 40; ++i) {
    pacer_->mark();
    pass(milliseconds{10});
    for (int k = 0; k < 5; ++k) wait(1, milliseconds{1});  // five synchronisations in a step
  }
  ASSERT_FALSE(process_.slept.empty());
  EXPECT_EQ(process_.records.back().seq, 38U);  // the first mark found no group, the second began the count
  EXPECT_NEAR(static_cast<double>(process_.slept.back().count()), 2.5e9, 1e6);  // half of five waits
}

TEST_F(Pacing, GradientsEndTheIterationsOfTraining) {
  start("observe");
  for (int i = 0; i < 10; ++i) {
    wait(1, milliseconds{1});
    wait(1, milliseconds{1}, -1, Boundary::Gradients);
  }
  pacer_->mark();
  EXPECT_LT(process_.records.back().seq, 10U);
}

TEST_F(Pacing, AcceleratorMeansPassiveAndSaysSo) {
  process_.accelerator = true;
  for (const char* mode : {"always,window=8,warm_up=4", "paper,warm_up=4", "random,window=8", "auto"}) {
    process_.records.clear();
    start(mode);
    early_iterations(100);
    EXPECT_TRUE(process_.slept.empty()) << mode;
    EXPECT_EQ(reasons(), std::vector<std::uint8_t>{static_cast<std::uint8_t>(Reason::LaunchAhead)}) << mode;
  }
}

TEST_F(Pacing, ClockThatStepsNeitherDelaysForLongNorForEver) {
  start("paper,warm_up=4,max_delay=3ms");
  early_iterations(40);
  ASSERT_FALSE(process_.slept.empty());
  for (const std::int64_t step : {-3'600'000'000'000, 3'600'000'000'000,
                                  std::numeric_limits<std::int64_t>::min() / 4, std::int64_t{-1'000'000}}) {
    pass(milliseconds{5});
    process_.now += static_cast<std::uint64_t>(step);
    early_iterations(40);
    process_.steps_during_sleep = step;
    early_iterations(1);
    process_.steps_during_sleep = 0;
    early_iterations(40);
  }
  for (const Duration d : process_.slept) EXPECT_LE(d, milliseconds{3});
  const auto said = reasons();
  EXPECT_NE(std::find(said.begin(), said.end(), static_cast<std::uint8_t>(Reason::ClockStep)), said.end());
}

TEST_F(Pacing, CallsInsideACallAreNotCountedTwice) {
  start("always,window=8,warm_up=4");
  for (int i = 0; i < 40; ++i) {
    pass(milliseconds{10});
    const std::uint64_t outer = process_.now;
    wait(1, milliseconds{5});
    pacer_->leave(1, outer, process_.now, 8, Boundary::Gradients);
  }
  for (const RawRecord& r : process_.records) EXPECT_NE(r.op, static_cast<std::uint8_t>(Reason::ClockStep));
}

}  // namespace
}  // namespace cox::guest
