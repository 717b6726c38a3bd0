// SPDX-License-Identifier: Apache-2.0
// Laws of collectives for any ranks, bytes, groups and chunks.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "cox/model/closed_form.hpp"
#include "cox/model/schedule.hpp"

#include "model/every_collective.hpp"

namespace cox::model {
namespace {

using A = Algorithm;

// Every pair that can be carried out.
std::vector<std::pair<Collective, Algorithm>> pairs() {
  std::vector<std::pair<Collective, Algorithm>> all;
  for (int c = 0; c < kCollectiveCount; ++c)
    for (int a = 0; a <= static_cast<int>(A::Chain); ++a) {
      const std::pair pair{static_cast<Collective>(c), static_cast<Algorithm>(a)};
      if (!formula_of(pair.first, pair.second).empty()) all.push_back(pair);
    }
  return all;
}

CollectiveSpec any_collective() {
  CollectiveSpec s;
  std::tie(s.kind, s.algorithm) = *rc::gen::elementOf(pairs());
  s.group = *rc::gen::inRange(1, 9);
  s.group2 = *rc::gen::inRange(1, 5);
  s.ranks = *rc::gen::inRange(1, 200);
  if (s.algorithm == A::Hierarchical2 || s.algorithm == A::Hierarchical3 || s.algorithm == A::TwoLevel)
    s.ranks = s.group * s.group2 * *rc::gen::inRange(1, 7);
  s.bytes = Bytes{*rc::gen::inRange(0, 100'000)};
  s.servers = *rc::gen::inRange(1, 20);
  s.chunks = *rc::gen::inRange(1, 12);
  s.root = *rc::gen::inRange(0, s.ranks);
  return s;
}

RC_GTEST_PROP(ScheduleLaws, RegularRoundsExpandToTheirTransfers, ()) {
  const auto s = *Schedule::make(any_collective());
  for_each_round(s, [&](int lane, std::int64_t k, const std::vector<Transfer>& list) {
    const auto r = s.regular(k, lane);
    if (!r) return;
    std::vector<int> received(static_cast<std::size_t>(s.ranks()));
    RC_ASSERT(list.size() == received.size());
    for (int i = 0; i < s.ranks(); ++i) {
      const auto part = r->part_from(i);
      const Transfer want{i, r->to(i), part.bytes, part.offset, r->combine};
      RC_ASSERT(list[static_cast<std::size_t>(i)] == want);
      RC_ASSERT(r->from(want.to) == i);
      ++received[static_cast<std::size_t>(want.to)];
      RC_ASSERT(!r->uniform() || part.bytes == list[0].bytes);
    }
    RC_ASSERT(std::all_of(received.begin(), received.end(), [](int n) { return n == 1; }));
  });
}

RC_GTEST_PROP(ScheduleLaws, WhatIsSentIsReceivedBySomebodyElse, ()) {
  const auto s = *Schedule::make(any_collective());
  std::vector<Bytes> sent(static_cast<std::size_t>(s.participants()));
  for_each_round(s, [&](int, std::int64_t, const std::vector<Transfer>& list) {
    RC_ASSERT(!list.empty());
    for (const Transfer& t : list) {
      RC_ASSERT(t.from != t.to);
      RC_ASSERT(std::min(t.from, t.to) >= 0 && std::max(t.from, t.to) < s.participants());
      RC_ASSERT(t.bytes >= Bytes{0});
      sent[static_cast<std::size_t>(t.from)] += t.bytes;
    }
  });
  RC_ASSERT(sent == bytes_sent(s));
}

// No answer beats a link: what a rank sends takes its port at least so long, and every round with a message
// its latency once.
RC_GTEST_PROP(ScheduleLaws, NoClosedFormBeatsTheBusiestPort, ()) {
  const auto spec = any_collective();
  const MessageCost cost{.latency = Seconds{1e-6}, .per_byte = TimePerByte::seconds_per_byte(2e-9)};
  const auto time = closed_form(spec, cost);
  RC_PRE(time.has_value());
  const auto s = *Schedule::make(spec);
  for (int lane = 0; lane < s.lanes(); ++lane) {
    std::vector<Bytes> out(static_cast<std::size_t>(s.participants()));
    std::vector<Transfer> list;
    for (std::int64_t k = 0; k < s.rounds(lane); ++k) {
      s.transfers(k, list, lane);
      for (const Transfer& t : list)
        if (!s.is_switch(t.from)) out[static_cast<std::size_t>(t.from)] += t.bytes;
    }
    for (const Bytes b : out) RC_ASSERT(time->count() >= cost.per_byte.over(b).count() * (1 - 1e-12));
  }
}

}  // namespace
}  // namespace cox::model
