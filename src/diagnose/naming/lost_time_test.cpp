// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/lost_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

using Sets = std::vector<std::vector<std::int32_t>>;

/// One operation of one group: when each member came, and its self-delay. As many others come with the first
/// and with no delay, so that these are what the members are held against.
class OneOp {
 public:
  OneOp(const std::vector<Duration>& arrival, const std::vector<Duration>& delay) {
    run_ = testing::empty_run(static_cast<int>(2 * arrival.size()));
    for (std::size_t r = 0; r < run_.ranks.size(); ++r) {
      const bool told = r < arrival.size();
      const Duration at = told ? arrival[r] : *std::min_element(arrival.begin(), arrival.end());
      const Duration left = at - (told ? delay[r] : Duration::zero());
      trace::EventColumns& e = run_.ranks[r].events;
      testing::add_call(e, model::Collective::AllReduce, Duration::zero(), left, 8, 0);
      testing::add_event(e, trace::EventKind::Step, 0, left, left, 0, trace::kNoComm, 0);
      testing::add_call(e, model::Collective::AllReduce, at + kWork, at + 2 * kWork, 8, 1);
    }
  }
  [[nodiscard]] Savings without(const std::vector<Suspect>& suspects) const {
    return savings_without(Matched(run_), suspects);
  }
  [[nodiscard]] Savings without(const Sets& sets) const {
    std::vector<Suspect> suspects;
    suspects.reserve(sets.size());
    for (const auto& set : sets) suspects.push_back({set, 0, 0, {}});
    return without(suspects);
  }

 private:
  static constexpr Duration kWork = 1ms;  ///< of everybody, before the operation
  trace::Run run_;
};

TEST(LostTime, OneLateRankSavesUpToTheNextLatest) {
  const OneOp op({10us, 11us, 17us, 13us}, {0us, 1us, 7us, 3us});
  EXPECT_EQ(op.without(Sets{{2}}).joint, 4us);
  EXPECT_EQ(op.without(Sets{{2}}).each[0].alone, 4us);
  EXPECT_EQ(op.without(Sets{{3}}).joint, 0us);
}

TEST(LostTime, SharesOfSeveralAddUpToWhatAllSave) {
  const OneOp op({10us, 11us, 19us, 15us}, {0us, 1us, 9us, 5us});
  const Savings s = op.without(Sets{{3}, {2}});
  EXPECT_EQ(s.joint, 8us);
  EXPECT_EQ(s.each[0].share, 2us);  // 15 to 11, shared by two
  EXPECT_EQ(s.each[1].share, 6us);  // and 19 to 15 alone
  EXPECT_EQ(s.each[0].alone, 0us);
  EXPECT_EQ(s.each[1].alone, 4us);
}

TEST(LostTime, ASetSavesOnlyTogether) {
  const OneOp op({10us, 20us, 20us, 11us}, {0us, 10us, 10us, 1us});
  EXPECT_EQ(op.without(Sets{{1}}).joint, 0us);
  EXPECT_EQ(op.without(Sets{{1, 2}}).joint, 9us);
  EXPECT_EQ(op.without(Sets{{1}, {2}}).each[0].share, Duration{9us} / 2);
}

TEST(LostTime, InheritedLatenessIsNotSaved) {
  const OneOp op({10us, 20us}, {0us, 3us});  // 7 of the 10 us came from before
  EXPECT_EQ(op.without(Sets{{1}}).joint, 3us);
}

TEST(LostTime, StepsOutsideOfTheWindowDoNotCount) {
  const OneOp op({10us, 20us}, {0us, 10us});
  EXPECT_EQ(op.without(std::vector<Suspect>{{{1}, 1, 5, {}}}).joint, 0us);
  EXPECT_EQ(op.without(std::vector<Suspect>{{{0, 1}, 0, 0, {0}}}).joint, 0us);
  EXPECT_EQ(op.without(std::vector<Suspect>{{{0, 1}, 0, 0, {1}}}).joint, 10us);
}

}  // namespace
}  // namespace cox::diagnose
