// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "cox/diagnose/cause.hpp"
#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

TEST(CauseNames, EveryCauseHasOneOfItsOwn) {
  std::set<std::string> names;
  for (int c = 0; c <= static_cast<int>(Cause::Fabric); ++c) names.insert(name_of(static_cast<Cause>(c)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Cause::Fabric) + 1);
  EXPECT_STREQ(name_of(Cause::OptimizerOrData), "optimizer_or_data");
  EXPECT_STREQ(name_of(Cause::AsleepOrIo), "asleep_or_io");
  EXPECT_STREQ(name_of(static_cast<Cause>(250)), "unknown");
}

TEST(CauseNames, AClassIsKnownWhereTheCauseSaysWhy) {
  EXPECT_EQ(class_of(Cause::Data), CauseClass::Host);
  EXPECT_EQ(class_of(Cause::Forward), CauseClass::Unknown);
  EXPECT_EQ(class_of(Cause::Copies), CauseClass::Locality);
  EXPECT_EQ(class_of(Cause::Communication), CauseClass::Fabric);
}

TEST(Evidence, EachNumberStandsUnderItsKey) {
  Finding f;
  LateEvidence e;
  e.self_delay = std::chrono::milliseconds{3};
  e.late_steps = 98;
  e.steps = 100;
  e.gain_alone = 0.05;
  e.reasons.why = Why{.cause = Cause::CpuQuota, .throttled = 0.9, .clock = std::nullopt};
  f.evidence = e;
  std::string keys;
  for (const Evidence& fact : evidence_of(f)) keys += fact.key + ' ';
  EXPECT_EQ(keys,
            "self_delay_median_s self_delay_step_ratio late_steps_ratio others_spread_s others_wait_median_s "
            "chance_ratio gain_alone_ratio excess_throttled_ratio ");
  EXPECT_EQ(evidence_of(f)[2].value, 0.98);
  EXPECT_EQ(evidence_of(f)[2].text, "late in 98 of 100 steps");
  EXPECT_TRUE(evidence_of(Finding{}).empty());
}

TEST(CauseTests, AreCalledAsTheCauseTheyWouldNameAndSayWhatTheyNeed) {
  EXPECT_STREQ(rule_name({.rule = Cause::CpuQuota}), "cpu_quota");
  EXPECT_STREQ(rule_name({}), "phase");
  EXPECT_EQ(sentence_of({.rule = Cause::OffCpu}, {}), "needs samples of the process");
  EXPECT_EQ(sentence_of({.rule = Cause::Gc}, {}), "needs a profiler trace of the device");
  EXPECT_EQ(sentence_of({.rule = Cause::SharedCores}, {}), "needs where ranks may run");
  EXPECT_EQ(sentence_of(CauseTest{}, {}), "needs phases marked on all ranks");
  Reasons placed{.phase = {}, .why = {}, .device = {}, .placement = Binding{}};
  EXPECT_EQ(sentence_of({.rule = Cause::FarFromDevice}, placed),
            "needs to know at which NUMA nodes devices are");
  placed.placement->far = CauseTestState::Fired;
  placed.placement->device = "network ports";
  placed.placement->host = "n1";
  placed.placement->device_nodes = {0, 2};
  EXPECT_EQ(
      sentence_of({.rule = Cause::FarFromDevice}, placed),
      "bound to CPUs away from the network ports of n1, which are at NUMA nodes 0, 2; no other rank is");
  const Reasons sampled{.phase = {}, .why = Why{}, .device = {}, .placement = {}};
  EXPECT_EQ(sentence_of({.rule = Cause::SlowCpuClock}, sampled), "needs the CPU's frequency");
}

TEST(CauseSentence, APhaseIsToldFromWhereItExplains) {
  Finding f;
  LateEvidence e;
  e.reasons.phase = PhaseExcess{.cause = Cause::Data, .share = 0.5, .per_step = {}};
  f.tests = {{.rule = Cause::Unknown, .state = CauseTestState::NotFired, .share = 0.5}};
  f.evidence = e;
  EXPECT_EQ(cause_sentence(f), "not known: nothing in this input explains most of it");
  e.reasons.phase->share = 0.9;
  f.cause = Cause::AsleepOrIo;
  f.evidence = e;
  EXPECT_EQ(cause_sentence(f), "in its data loader; it slept or waited for input and output");
}

TEST(CauseSentence, NoDeviceIsToldWhereNoneWasRecorded) {
  Finding f;
  LateEvidence e;
  f.cause = Cause::DataLoading;
  e.reasons.device = DeviceWhy{.has_device = false, .queue = {}, .usual_queue = {}};
  f.evidence = e;
  EXPECT_EQ(cause_sentence(f), "it waited for input");
  e.reasons.device->has_device = true;
  f.evidence = e;
  EXPECT_EQ(cause_sentence(f), "its device waited for input");
}

}  // namespace
}  // namespace cox::diagnose
