// SPDX-License-Identifier: Apache-2.0
#include "cox/pace/order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "cox/pace/settings.hpp"

#include "pace/arithmetic.hpp"

namespace cox::pace {
namespace {

using std::chrono::milliseconds;

constexpr Duration kMost = milliseconds{10};

TEST(Order, ANumberIsHeldUntilItsPredecessorHasEntered) {
  Order order(kMost);
  EXPECT_TRUE(order.enter(0));
  EXPECT_EQ(order.hold(1, Duration::zero()), Duration::zero());
  EXPECT_EQ(order.hold(2, Duration::zero()), kMost) << "1 has not entered";
  EXPECT_EQ(order.hold(2, milliseconds{4}), Duration{milliseconds{6}});
  EXPECT_TRUE(order.enter(1));
  EXPECT_EQ(order.hold(2, milliseconds{4}), Duration::zero());
  EXPECT_TRUE(order.enter(2));
  EXPECT_EQ(order.expired(), 0U);
}

TEST(Order, NoHoldIsLongerThanItsBound) {
  Order order(kMost);
  order.enter(0);
  for (const Duration waited : {Duration{-5}, Duration::min(), Duration::zero(), Duration{milliseconds{9}}})
    EXPECT_LE(order.hold(7, waited), kMost);
  EXPECT_EQ(order.hold(7, kMost), Duration::zero());
  EXPECT_EQ(order.hold(7, Duration::max()), Duration::zero());
  EXPECT_FALSE(order.enter(7)) << "its hold ran out";
  EXPECT_EQ(order.expired(), 1U);
  for (const Duration off : {Duration::zero(), Duration{-1}, Duration::min()}) {
    Order none(off);
    none.enter(0);
    EXPECT_EQ(none.hold(5, Duration::zero()), Duration::zero());
  }
}

TEST(Order, WhatCameBeforeTheFirstEntryIsNotWaitedFor) {
  Order order(kMost);
  EXPECT_EQ(order.hold(1000, Duration::zero()), Duration::zero());
  EXPECT_TRUE(order.enter(1000));
  EXPECT_EQ(order.hold(1001, Duration::zero()), Duration::zero());
  EXPECT_EQ(order.hold(1002, Duration::zero()), kMost);
}

TEST(Order, NumbersWithGapsEndItForGood) {
  Order order(kMost);
  order.enter(0);
  Duration lost{};
  for (std::uint64_t k = 2; k < 2000; k += 2) {
    lost += order.hold(k, Duration::zero());
    EXPECT_FALSE(order.enter(k));
  }
  EXPECT_EQ(lost, kMost * static_cast<std::int64_t>(Order::kMostExpired));
  EXPECT_FALSE(order.is_active());
}

TEST(Order, ALatePredecessorDoesNotHideWhatEnteredInItsPlace) {
  Order order(kMost);
  order.enter(0);
  order.enter(1 + Order::kInFlight);
  order.enter(1);  // same place in the ring, much later
  EXPECT_EQ(order.hold(2 + Order::kInFlight, Duration::zero()), Duration::zero());
  EXPECT_EQ(order.hold(2, Duration::zero()), Duration::zero());
}

/// One of several groups whose collectives start together and share a link.
struct SharedLink {
  Duration period{};    ///< typical time of an iteration
  Duration together{};  ///< what this group's transfer takes while all share the link
  Duration alone{-1};   ///< what it takes alone: from size and calibration; negative = not known
  Duration slack{};     ///< transfer time per iteration that computation hides
  std::uint32_t group = 0;
  std::uint32_t groups = 1;
};

/// By how much the group starts later than the first one, so that the link is used by one after the other.
///
/// Formula: group x min(together / groups, alone), at most min(max_delay, max_ratio x period).
///          Zero where `alone` is not known; where the link is not what limits them, together < 0.9 x groups
///          x alone; and where all of it is hidden, groups x alone <= slack.
/// Source: a link shared in equal parts is a processor-sharing server, which never idles while there is work.
///         Its busy period is the sum of the work whatever the starts, as long as each group starts before
///         the work ahead of it is done, which `group x alone` says: so the last completion stays at groups x
///         alone, while the first of two that start d apart completes at 2 x alone - d: the mean falls by
///         d / 2. (Kleinrock, Queueing Systems, volume 2, 1976, chapter 4.)
/// Errors: `together` and `alone` that are too large by a factor f delay the last completion by up to (f - 1)
///         x (groups - 1) x alone, which a test of benefit notices; too small ones only gain less.
Duration stagger_offset(const SharedLink& link, const Settings& bounds) {
  constexpr double kShared = 0.9;  // of the time that full sharing would give: measured times scatter
  const double alone = to_ns(link.alone);
  const double together = to_ns(link.together);
  const double groups = link.groups;
  if (link.groups < 2 || link.group >= link.groups || !(alone > 0) || !(together > 0))
    return Duration::zero();
  if (together < kShared * groups * alone || groups * alone <= to_ns(link.slack)) return Duration::zero();
  const double apart = together / groups < alone ? together / groups : alone;
  double offset = link.group * apart;
  const double ratio_bound = bounds.max_ratio * to_ns(link.period);
  if (!(offset < to_ns(bounds.max_delay))) offset = to_ns(bounds.max_delay);
  if (!(offset < ratio_bound)) offset = ratio_bound;
  return offset > 0 ? from_ns(offset) : Duration::zero();
}

/// When transfers complete that start at `starts` and each need `work` of a link shared in equal parts.
std::vector<double> completions(const std::vector<double>& starts, double work) {
  std::vector<double> left(starts.size(), work);
  std::vector<double> done(starts.size(), -1);
  double now = 0;
  for (;;) {
    std::vector<std::size_t> here;
    double next = 1e300;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      if (done[i] >= 0) continue;
      if (starts[i] <= now)
        here.push_back(i);
      else
        next = std::min(next, starts[i]);
    }
    if (here.empty() && next == 1e300) return done;
    if (here.empty()) {
      now = next;
      continue;
    }
    double least = 1e300;
    for (const std::size_t i : here) least = std::min(least, left[i]);
    const double share = static_cast<double>(here.size());
    const double step = std::min(next - now, least * share);
    now += step;
    for (const std::size_t i : here) {
      left[i] -= step / share;
      if (left[i] <= 1e-9 * work) done[i] = now;
    }
  }
}

struct Outcome {
  double mean;
  double last;
};
Outcome outcome(const std::vector<double>& starts, double work) {
  const std::vector<double> done = completions(starts, work);
  return {std::accumulate(done.begin(), done.end(), 0.0) / static_cast<double>(done.size()),
          *std::max_element(done.begin(), done.end())};
}

Settings wide() {
  Settings bounds;
  bounds.max_delay = std::chrono::seconds{10};
  bounds.max_ratio = 1;
  return bounds;
}

TEST(Stagger, TwoFlowsThatShareALinkCompleteEarlierInTheMeanAndNeverLaterInAll) {
  constexpr double kAlone = 20e6;  // ns
  const SharedLink second{.period = milliseconds{200},
                          .together = milliseconds{40},
                          .alone = milliseconds{20},
                          .slack = Duration::zero(),
                          .group = 1,
                          .groups = 2};
  const Outcome at_once = outcome({0, 0}, kAlone);
  EXPECT_NEAR(at_once.mean, 40e6, 1);
  for (const int ms : {1, 5, 10, 15, 20, 100}) {
    Settings bounds = wide();
    bounds.max_delay = milliseconds{ms};
    const double offset = to_ns(stagger_offset(second, bounds));
    EXPECT_NEAR(offset, std::min(ms, 20) * 1e6, 1);
    const Outcome staggered = outcome({0, offset}, kAlone);
    EXPECT_NEAR(staggered.mean, 2 * kAlone - offset / 2, 1) << "closed form of two flows";
    EXPECT_NEAR(staggered.last, at_once.last, 1);
  }
  // What the bound on the offset is for: a start after the work ahead is done leaves the link idle.
  EXPECT_GT(outcome({0, 1.5 * kAlone}, kAlone).last, at_once.last * 1.2);
}

TEST(Stagger, ManyGroupsUnderAnyBoundKeepTheLastCompletion) {
  for (std::uint32_t groups = 2; groups <= 16; ++groups)
    for (const int bound_ms : {0, 1, 7, 30, 1000}) {
      Settings bounds = wide();
      bounds.max_delay = milliseconds{bound_ms};
      std::vector<double> starts;
      for (std::uint32_t g = 0; g < groups; ++g) {
        const Duration offset =
            stagger_offset({.period = milliseconds{1000},
                            .together = groups * Duration{milliseconds{5}} * 95 / 100,  // measured low
                            .alone = milliseconds{5},
                            .slack = Duration::zero(),
                            .group = g,
                            .groups = groups},
                           bounds);
        EXPECT_LE(offset, bounds.max_delay);
        starts.push_back(to_ns(offset));
      }
      const Outcome staggered = outcome(starts, 5e6);
      const Outcome at_once = outcome(std::vector<double>(groups, 0), 5e6);
      EXPECT_LE(staggered.last, at_once.last * (1 + 1e-9)) << groups << " groups, " << bound_ms << " ms";
      if (bound_ms > 0) {
        EXPECT_LT(staggered.mean, at_once.mean);
      }
    }
}

TEST(Stagger, NothingIsStaggeredWhereItCannotHelp) {
  const SharedLink link{.period = milliseconds{100},
                        .together = milliseconds{20},
                        .alone = milliseconds{10},
                        .slack = Duration::zero(),
                        .group = 1,
                        .groups = 2};
  EXPECT_EQ(stagger_offset(link, wide()), Duration{milliseconds{10}});
  const auto none = [&](auto change) {
    SharedLink other = link;
    change(other);
    EXPECT_EQ(stagger_offset(other, wide()), Duration::zero());
  };
  none([](SharedLink& l) { l.group = 0; });
  none([](SharedLink& l) { l.groups = 1; });
  none([](SharedLink& l) { l.group = 2; });                 // no such group
  none([](SharedLink& l) { l.alone = Duration{-1}; });      // not known
  none([](SharedLink& l) { l.alone = milliseconds{19}; });  // not the link limits them
  none([](SharedLink& l) { l.slack = milliseconds{20}; });  // hidden behind computation
  none([](SharedLink& l) { l.together = milliseconds{-3}; });
  none([](SharedLink& l) { l.period = Duration::zero(); });
  Settings broken = wide();
  broken.max_ratio = -1;
  EXPECT_EQ(stagger_offset(link, broken), Duration::zero());
  broken.max_ratio = 0.05;
  EXPECT_EQ(stagger_offset(link, broken), Duration{milliseconds{5}});
}

}  // namespace
}  // namespace cox::pace
