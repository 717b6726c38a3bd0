// SPDX-License-Identifier: Apache-2.0
#include "cox/model/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
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
        const PlaceOrder order = s.order(lane);
        bool same = true;
        for (int i = 0; i < ranks; ++i) {
          const Transfer& t = list[static_cast<std::size_t>(i)];
          const int place = order.place_of(i);
          EXPECT_EQ(order.rank_at(place), i) << text_of(spec);
          EXPECT_EQ(t.from, i);
          EXPECT_EQ(t.to, order.rank_at(r->to(place)));
          EXPECT_EQ(r->from(order.place_of(t.to)), place) << text_of(spec);
          EXPECT_EQ(t.bytes, r->bytes_from(place));
          same = same && t.bytes == list[0].bytes;
          ++received.at(static_cast<std::size_t>(t.to));
        }
        EXPECT_EQ(*std::max_element(received.begin(), received.end()), 1) << text_of(spec);
        EXPECT_TRUE(same || !r->uniform()) << text_of(spec) << " round " << k;
      });
      EXPECT_TRUE(regular == 0 || lists == 0) << text_of(spec);
    }
}

// Symbolic execution. Each byte of each participant's buffer holds how often each
// rank's contribution is in it.
class Buffers {
 public:
  Buffers(const Schedule& s, bool gathers)
      : schedule_(s), ranks_(s.ranks()), bytes_(static_cast<int>(s.spec().bytes.count())) {
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

  // Who begins or ends with a byte where each rank has its part: the cut of the algorithm, piece in piece.
  int owner(int byte) const {
    const CollectiveSpec& s = schedule_.spec();
    Piece left{Bytes{byte}, Bytes{bytes_}};
    if (s.algorithm == A::Hierarchical2 || s.algorithm == A::Hierarchical3) {
      const int middle = s.algorithm == A::Hierarchical3 ? s.group2 : 1;
      const int inside = left.enter(s.group);
      const int group = left.enter(middle);
      return (left.enter(ranks_ / s.group / middle) * middle + group) * s.group + inside;
    }
    const int lane = left.enter(schedule_.lanes());
    return schedule_.order(lane).rank_at(left.enter(ranks_));
  }
  int& at(int participant, int byte, int of) { return held_[index(participant, byte, of)]; }

 private:
  // Where a byte is in a piece of a buffer.
  struct Piece {
    Bytes at{};
    Bytes bytes{};
    int enter(int pieces) {
      int i = 0;
      while (at >= chunks_before(bytes, pieces, i + 1)) ++i;
      at = at - chunks_before(bytes, pieces, i);
      bytes = chunk_bytes(bytes, pieces, i);
      return i;
    }
  };
  std::size_t index(int participant, int byte, int of) const {
    return static_cast<std::size_t>((std::int64_t{participant} * bytes_ + byte) * ranks_ + of);
  }
  void receive(const Transfer& t, const std::vector<int>& before) {
    const auto first = static_cast<int>(t.offset.count());
    for (int b = first; b < first + static_cast<int>(t.bytes.count()); ++b)
      for (int of = 0; of < ranks_; ++of) {
        const int came = before[index(t.from, b, of)];
        at(t.to, b, of) = t.combine == Combine::Add ? at(t.to, b, of) + came : came;
      }
  }
  const Schedule& schedule_;
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

// Blocks (source, destination) that each rank holds; a transfer takes those that its algorithm would take.
TEST(Schedule, AllToAllDeliversEachBlockWithItsBytes) {
  for (int ranks = 1; ranks <= 18; ++ranks)
    for (const int bytes : {0, 1, 23, 40})
      for (const auto& spec : every_collective(ranks, Bytes{bytes})) {
        if (spec.kind != C::AllToAll) continue;
        const int g = spec.algorithm == A::TwoLevel ? spec.group : 1;
        std::vector<std::set<std::pair<int, int>>> held(static_cast<std::size_t>(ranks));
        for (int from = 0; from < ranks; ++from)
          for (int to = 0; to < ranks; ++to) held[static_cast<std::size_t>(from)].insert({from, to});
        for_each_round(made(spec), [&](int, std::int64_t, const std::vector<Transfer>& list) {
          for (const Transfer& t : list) {
            const bool inside = t.from / g == t.to / g;
            Bytes moved{0};
            auto& from = held[static_cast<std::size_t>(t.from)];
            for (auto it = from.begin(); it != from.end();) {
              const bool goes = inside ? it->second % g == t.to % g : it->second == t.to;
              if (!goes) {
                ++it;
                continue;
              }
              moved += chunk_bytes(spec.bytes, ranks, it->second);
              held[static_cast<std::size_t>(t.to)].insert(*it);
              it = from.erase(it);
            }
            EXPECT_EQ(moved, t.bytes) << text_of(spec) << ": " << t.from << " to " << t.to;
          }
        });
        for (int r = 0; r < ranks; ++r) {
          const auto& blocks = held[static_cast<std::size_t>(r)];
          EXPECT_EQ(blocks.size(), static_cast<std::size_t>(ranks)) << text_of(spec);
          for (const auto& [from, to] : blocks) EXPECT_EQ(to, r) << text_of(spec);
        }
      }
}

TEST(Schedule, NobodyLeavesABarrierBeforeAllHaveCome) {
  for (int ranks = 1; ranks <= 40; ++ranks)
    for (const A a : {A::Dissemination, A::RecursiveDoubling}) {
      const CollectiveSpec spec{.kind = C::Barrier, .algorithm = a, .ranks = ranks};
      std::vector<std::set<int>> heard(static_cast<std::size_t>(ranks));
      for (int r = 0; r < ranks; ++r) heard[static_cast<std::size_t>(r)].insert(r);
      for_each_round(made(spec), [&](int, std::int64_t, const std::vector<Transfer>& list) {
        const auto before = heard;
        for (const Transfer& t : list)
          heard[static_cast<std::size_t>(t.to)].insert(before[static_cast<std::size_t>(t.from)].begin(),
                                                       before[static_cast<std::size_t>(t.from)].end());
      });
      for (const auto& h : heard) EXPECT_EQ(h.size(), static_cast<std::size_t>(ranks)) << text_of(spec);
    }
}

Bytes sum(const std::vector<Bytes>& all) {
  Bytes total{0};
  for (const Bytes b : all) total += b;
  return total;
}

TEST(BytesSent, AreThoseOfTheFormulas) {
  const auto sent = [](CollectiveSpec s) { return bytes_sent(*Schedule::make(s)); };
  for (const int p : {2, 3, 7, 16, 31}) {
    const Bytes n{std::int64_t{p} * 1000};
    for (const A a : {A::Ring, A::Hierarchical2})
      for (const Bytes b : sent({.algorithm = a, .ranks = p, .bytes = n}))
        EXPECT_EQ(b, Bytes{2000} * (p - 1));
    for (const C kind : {C::ReduceScatter, C::AllGather})
      for (const A a : {A::Ring, A::Direct})
        for (const Bytes b : sent({.kind = kind, .algorithm = a, .ranks = p, .bytes = n}))
          EXPECT_EQ(b, Bytes{1000} * (p - 1));
    // A tree has P - 1 edges, and each carries all once each way.
    for (const A a : {A::BinomialTree, A::BinaryTree, A::DoubleBinaryTree})
      EXPECT_EQ(sum(sent({.algorithm = a, .ranks = p, .bytes = n, .chunks = 3})), n * 2 * (p - 1));
    EXPECT_EQ(sum(sent({.kind = C::Broadcast, .algorithm = A::Chain, .ranks = p, .bytes = n, .chunks = 4})),
              n * (p - 1));
    const auto served = sent({.algorithm = A::ParameterServer, .ranks = p, .bytes = n, .servers = 4});
    EXPECT_EQ(served.front(), n);
    EXPECT_EQ(served.back(), chunk_bytes(n, 4, 3) * p);
  }
  // Chunks of whole bytes: what is sent adds up to the same whatever remains.
  for (const int n : {0, 1, 5, 1003}) EXPECT_EQ(sum(sent({.ranks = 7, .bytes = Bytes{n}})), Bytes{n} * 2 * 6);
  for (const Bytes b : sent({.algorithm = A::HalvingDoubling, .ranks = 16, .bytes = Bytes{1600}}))
    EXPECT_EQ(b, Bytes{3000});
}

TEST(Schedule, OneRankHasNothingToDo) {
  for (const auto& spec : every_collective(1, Bytes{40})) {
    if (spec.algorithm == A::ParameterServer) continue;
    const Schedule s = made(spec);
    for (int lane = 0; lane < s.lanes(); ++lane) EXPECT_EQ(s.rounds(lane), 0) << text_of(spec);
  }
}

TEST(Schedule, MillionsOfRanksAreOnlyNumbers) {
  const auto ring = made({.ranks = 1'000'000, .bytes = Bytes{1'000'003}});
  EXPECT_EQ(ring.rounds(), 1'999'998);
  const auto last = *ring.regular(ring.rounds() - 1);
  EXPECT_EQ(last.from(0), 999'999);
  EXPECT_EQ(last.bytes_from(999'999),
            Bytes{2});  // chunk 999 999 - 1 999 997 = 2 mod P, one of the longer three
  EXPECT_EQ(last.bytes_from(0), Bytes{1});
  const auto doubling = made({.algorithm = A::RecursiveDoubling, .ranks = 1 << 20, .bytes = Bytes{8192}});
  EXPECT_EQ(doubling.rounds(), 20);
  EXPECT_EQ(doubling.regular(19)->to(5), 5 + (1 << 19));
  std::vector<Transfer> list;
  made({.algorithm = A::RecursiveDoubling, .ranks = 1'000'000, .bytes = Bytes{8}}).transfers(0, list);
  EXPECT_EQ(list.size(), 1'000'000u - (1 << 19));
}

TEST(Schedule, RingCarriesChunkRankMinusRound) {
  const auto s = made({.ranks = 5, .bytes = Bytes{53}});
  for (std::int64_t k = 0; k < s.rounds(); ++k)
    for (int r = 0; r < 5; ++r) {
      const auto part = s.regular(k)->part_from(r);
      EXPECT_EQ(part.offset, chunks_before(Bytes{53}, 5, ((r - k) % 5 + 5) % 5));
      EXPECT_EQ(s.regular(k)->to(r), (r + 1) % 5);
    }
}

// Eight channels over nodes of eight: of each node, every rank is where one channel comes in and one goes out, and
// but for the way back of an odd number of nodes both ends of a hop between nodes have the same number.
TEST(Schedule, ChannelsEnterAndLeaveNodesByDifferentRanks) {
  for (const int nodes : {2, 3, 4, 7})
    for (const int channels : {2, 4, 8}) {
      const int ranks = 8 * nodes;
      const Schedule s =
          made({.ranks = ranks, .bytes = Bytes{std::int64_t{ranks} * 800}, .group = 8, .channels = channels});
      ASSERT_EQ(s.lanes(), channels);
      std::vector<int> in(static_cast<std::size_t>(ranks));
      std::vector<int> out(in);
      int turned = 0;
      std::vector<Transfer> list;
      for (int lane = 0; lane < channels; ++lane) {
        s.transfers(0, list, lane);
        for (const Transfer& t : list) {
          EXPECT_EQ(t.bytes, Bytes{800 / channels});
          if (t.from / 8 == t.to / 8) continue;
          EXPECT_EQ(t.to / 8, (t.from / 8 + 1) % nodes);
          ++out[static_cast<std::size_t>(t.from)];
          ++in[static_cast<std::size_t>(t.to)];
          turned += t.from % 8 != t.to % 8;
        }
      }
      EXPECT_EQ(turned, nodes % 2 == 0 ? 0 : channels);
      for (const auto& ends : {in, out}) {
        EXPECT_EQ(*std::max_element(ends.begin(), ends.end()), 1);
        for (int n = 0; n < nodes; ++n)
          EXPECT_EQ(std::count(ends.begin() + 8L * n, ends.begin() + 8L * n + 8, 1), channels);
      }
    }
}

std::string why_not(const CollectiveSpec& spec) {
  const auto r = Schedule::make(spec);
  EXPECT_TRUE(r || r.error().id == "model-001");
  return r ? "" : r.error().message;
}

TEST(ScheduleMake, SaysWhatIsWrong) {
  EXPECT_EQ(why_not({.algorithm = A::Direct, .ranks = 4}), "`direct` does not do AllReduce");
  EXPECT_EQ(why_not({.kind = C::Other, .ranks = 4}), "`ring` does not do Other");
  EXPECT_EQ(why_not({.ranks = 0}), "a collective has 0 ranks, expected 1 to 16777216");
  EXPECT_EQ(why_not({.ranks = -3}), "a collective has -3 ranks, expected 1 to 16777216");
  EXPECT_NE(why_not({.ranks = 2, .bytes = Bytes{-1}}), "");
  EXPECT_EQ(why_not({.algorithm = A::Hierarchical2, .ranks = 12, .group = 8}),
            "groups of 8 ranks do not divide 12 ranks");
  EXPECT_EQ(why_not({.algorithm = A::Hierarchical3, .ranks = 24, .group = 4, .group2 = 4}),
            "groups of 16 ranks do not divide 24 ranks");
  EXPECT_EQ(why_not({.ranks = 12, .group = 8, .channels = 2}), "groups of 8 ranks do not divide 12 ranks");
  EXPECT_EQ(why_not({.ranks = 12, .channels = 65}), "a collective has 65 channels, expected 1 to 64");
  EXPECT_NE(why_not({.kind = C::AllToAll, .algorithm = A::TwoLevel, .ranks = 12, .group = 0}), "");
  EXPECT_NE(why_not({.algorithm = A::ParameterServer, .ranks = 2, .servers = 0}), "");
  EXPECT_EQ(
      why_not({.algorithm = A::ParameterServer, .ranks = 1 << 24, .servers = 5}),
      "16777216 workers of 5 servers send 83886080 messages in a round, at most 67108864 are simulated");
  EXPECT_NE(why_not({.algorithm = A::BinaryTree, .ranks = 2, .chunks = 0}), "");
  EXPECT_NE(why_not({.kind = C::Broadcast, .algorithm = A::Chain, .ranks = 2, .root = 2}), "");
}

}  // namespace
}  // namespace cox::model
