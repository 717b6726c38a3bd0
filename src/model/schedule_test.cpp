// SPDX-License-Identifier: Apache-2.0
#include "cox/model/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "model/every_collective.hpp"

namespace cox::model {
namespace {

using C = Collective;
using A = Algorithm;

Schedule made(const CollectiveSpec& s) {
  auto r = Schedule::make(s);
  EXPECT_TRUE(r) << text_of(s) << ": " << (r ? "" : r.error().to_string());
  return *r;
}

template <class F>
void for_each_round(const Schedule& s, const F& f) {
  std::vector<Transfer> list;
  for (int lane = 0; lane < s.lanes(); ++lane)
    for (std::int64_t k = 0; k < s.rounds(lane); ++k) {
      s.transfers(k, list, lane);
      f(lane, k, list);
    }
}

TEST(Schedule, TransfersStayInTheBufferAndReachSomebodyElse) {
  for (int ranks = 1; ranks <= 20; ++ranks)
    for (const int bytes : {0, 1, 53})
      for (const auto& spec : every_collective(ranks, Bytes{bytes})) {
        const Schedule s = made(spec);
        const bool gathered = spec.algorithm == A::TwoLevel;
        for_each_round(s, [&](int, std::int64_t, const std::vector<Transfer>& list) {
          EXPECT_FALSE(list.empty()) << text_of(spec);
          for (const Transfer& t : list) {
            EXPECT_NE(t.from, t.to) << text_of(spec);
            EXPECT_TRUE(t.from >= 0 && t.from < s.participants()) << text_of(spec);
            EXPECT_TRUE(t.to >= 0 && t.to < s.participants()) << text_of(spec);
            EXPECT_TRUE(t.offset >= Bytes{0} && t.bytes >= Bytes{0}) << text_of(spec);
            EXPECT_TRUE(gathered || t.offset + t.bytes <= spec.bytes) << text_of(spec);
          }
        });
      }
}

TEST(Schedule, RegularRoundsAreTheirTransfers) {
  for (int ranks = 1; ranks <= 20; ++ranks)
    for (const auto& spec : every_collective(ranks, Bytes{53})) {
      const Schedule s = made(spec);
      int regular = 0;
      int lists = 0;
      for_each_round(s, [&](int lane, std::int64_t k, const std::vector<Transfer>& list) {
        const auto r = s.regular(k, lane);
        ++(r ? regular : lists);
        if (!r) return;
        ASSERT_EQ(list.size(), static_cast<std::size_t>(ranks)) << text_of(spec);
        std::vector<int> received(static_cast<std::size_t>(ranks));
        bool same = true;
        for (int i = 0; i < ranks; ++i) {
          const Transfer& t = list[static_cast<std::size_t>(i)];
          EXPECT_EQ(t.from, i);
          EXPECT_EQ(t.to, r->to(i));
          EXPECT_EQ(r->from(t.to), i) << text_of(spec);
          EXPECT_EQ(t.bytes, r->bytes_from(i));
          same = same && t.bytes == list[0].bytes;
          ++received.at(static_cast<std::size_t>(t.to));
        }
        EXPECT_EQ(*std::max_element(received.begin(), received.end()), 1) << text_of(spec);
        EXPECT_TRUE(same || !r->uniform()) << text_of(spec) << " round " << k;
      });
      EXPECT_TRUE(regular == 0 || lists == 0) << text_of(spec);
    }
}

// Symbolic execution. Each byte of each participant's buffer holds how often each rank's contribution is in
// it.
class Buffers {
 public:
  Buffers(const Schedule& s, bool gathers)
      : ranks_(s.ranks()), bytes_(static_cast<int>(s.spec().bytes.count())) {
    held_.assign(index(s.participants(), 0, 0), 0);
    const bool single = s.spec().kind == C::Broadcast || s.spec().kind == C::SendRecv;
    const bool served = s.spec().algorithm == A::ParameterServer;
    for (int r = 0; r < ranks_; ++r)
      for (int b = 0; b < bytes_; ++b) {
        if (single) {
          // One rank's (or the servers', as rank 0's) data is to be everywhere.
          if (!served && r == s.spec().root) at(r, b, r) = 1;
        } else if (!gathers || owner(b) == r) {
          at(r, b, r) = 1;
        }
      }
    for (int p = ranks_; single && served && p < s.participants(); ++p)
      for (int b = 0; b < bytes_; ++b) at(p, b, 0) = 1;
  }

  void run(const Schedule& s) {
    std::vector<std::vector<Transfer>> lists(2);
    for (int lane = 0; lane < s.lanes(); ++lane)
      for (std::int64_t k = 0; k < s.rounds(lane); ++k) {
        std::vector<Transfer> list;
        s.transfers(k, list, lane);
        // What a round sends was there before it.
        const std::vector<int> before = held_;
        for (const Transfer& t : list) receive(t, before);
      }
  }

  int owner(int byte) const {
    int r = 0;
    while (byte >= chunks_before(Bytes{bytes_}, ranks_, r + 1).count()) ++r;
    return r;
  }
  int& at(int participant, int byte, int of) { return held_[index(participant, byte, of)]; }

 private:
  std::size_t index(int participant, int byte, int of) const {
    return static_cast<std::size_t>((participant * bytes_ + byte) * ranks_ + of);
  }
  void receive(const Transfer& t, const std::vector<int>& before) {
    const auto first = static_cast<int>(t.offset.count());
    for (int b = first; b < first + static_cast<int>(t.bytes.count()); ++b)
      for (int of = 0; of < ranks_; ++of) {
        const int came = before[index(t.from, b, of)];
        at(t.to, b, of) = t.combine == Combine::Add ? at(t.to, b, of) + came : came;
      }
  }
  int ranks_;
  int bytes_;
  std::vector<int> held_;
};

void expect_right_result(const CollectiveSpec& spec) {
  const Schedule s = made(spec);
  const bool served = spec.algorithm == A::ParameterServer;
  Buffers data(s, spec.kind == C::AllGather);
  data.run(s);
  const auto n = static_cast<int>(spec.bytes.count());
  for (int p = 0; p < s.participants(); ++p)
    for (int b = 0; b < n; ++b)
      for (int of = 0; of < spec.ranks; ++of) {
        int want = 1;
        if (p >= spec.ranks) {
          // A server has its own shard of the sum after a push.
          if (!served || spec.kind != C::Reduce) continue;
          const auto first = chunks_before(spec.bytes, spec.servers, p - spec.ranks).count();
          if (b < first || b >= first + chunk_bytes(spec.bytes, spec.servers, p - spec.ranks).count())
            continue;
        } else if (spec.kind == C::ReduceScatter) {
          if (data.owner(b) != p) continue;
        } else if (spec.kind == C::AllGather) {
          want = data.owner(b) == of ? 1 : 0;
        } else if (spec.kind == C::Broadcast || spec.kind == C::SendRecv) {
          want = of == (served ? 0 : spec.root) ? 1 : 0;
        } else if (spec.kind == C::Reduce && (served || p != spec.root)) {
          continue;
        }
        ASSERT_EQ(data.at(p, b, of), want)
            << text_of(spec) << ": byte " << b << " of rank " << p << ", contribution of " << of;
      }
}

TEST(Schedule, EveryContributionArrivesExactlyOnce) {
  for (int ranks = 1; ranks <= 18; ++ranks)
    for (const int bytes : {1, 23, 40})
      for (const auto& spec : every_collective(ranks, Bytes{bytes}))
        if (spec.kind != C::AllToAll && spec.kind != C::Barrier) expect_right_result(spec);
}

}  // namespace
}  // namespace cox::model
