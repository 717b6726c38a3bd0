// SPDX-License-Identifier: Apache-2.0
#include "cox/model/closed_form.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <string>
#include <vector>

#include "model/every_collective.hpp"

namespace cox::model {
namespace {

using C = Collective;
using A = Algorithm;
using namespace literals;

// The definition of time in schedule.hpp, word by word, over `transfers`.
class Interpreter {
 public:
  Interpreter(const Schedule& schedule, const MessageCost& cost) : schedule_(schedule), cost_(cost) {}

  double time() {
    double last = 0;
    for (int lane = 0; lane < schedule_.lanes(); ++lane) {
      ready_.assign(static_cast<std::size_t>(schedule_.participants()), 0);
      ports_.assign(ready_.size(), Port{});
      for (std::int64_t k = 0; k < schedule_.rounds(lane); ++k) {
        schedule_.transfers(k, list_, lane);
        round(schedule_.regular(k, lane).has_value());
      }
      for (int r = 0; r < schedule_.ranks(); ++r) last = std::max(last, ready_[static_cast<std::size_t>(r)]);
    }
    return last;
  }

 private:
  struct Port {
    int sends = 0;
    int receives = 0;
    double out = 0;
    double in = 0;
    double received = 0;
    double complete = 0;
  };
  void round(bool regular) {
    for (const Transfer& t : list_)
      for (const int p : {t.from, t.to}) {
        Port& port = ports_[static_cast<std::size_t>(p)];
        port = {.out = regular ? 0 : port.out};
      }
    const double latency = cost_.latency.count();
    for (const Transfer& t : list_) {
      const auto from = static_cast<std::size_t>(t.from);
      const auto to = static_cast<std::size_t>(t.to);
      Port& out = ports_[from];
      Port& in = ports_[to];
      const double occupied = cost_.occupied(t.bytes).count();
      double start = std::max(ready_[from], ready_[to]);
      if (!schedule_.is_switch(t.from)) start = std::max(start, out.out);
      double complete = start + latency;
      if (!schedule_.is_switch(t.to)) complete = std::max(complete, in.in);
      complete += occupied;
      out.out = start + occupied;
      in.in = complete;
      in.received = std::max(in.received, complete);
      out.complete = std::max(out.complete, complete);
      in.complete = std::max(in.complete, complete);
      ++out.sends;
      ++in.receives;
    }
    for (const Transfer& t : list_)
      for (const int p : {t.from, t.to}) {
        const Port& port = ports_[static_cast<std::size_t>(p)];
        const bool receive_is_enough = port.receives == 1 && port.sends <= 1;
        ready_[static_cast<std::size_t>(p)] = receive_is_enough ? port.received : port.complete;
      }
  }

  const Schedule& schedule_;
  const MessageCost& cost_;
  std::vector<double> ready_;
  std::vector<Port> ports_;
  std::vector<Transfer> list_;
};

const MessageCost kAlphaBeta{.latency = 1us, .per_byte = Bandwidth::gbyte_per_s(50).time_per_byte()};
const MessageCost kLogGops{
    .form = CostForm::LogGops, .latency = 1us, .per_byte = Bandwidth::gbyte_per_s(0.7).time_per_byte()};

// The cases that closed_form.hpp names, and no others.
bool lacks_a_formula(const CollectiveSpec& s) {
  const std::int64_t n = s.bytes.count();
  switch (s.algorithm) {
    case A::Direct:
      return n % s.ranks != 0;
    case A::BinaryTree:
      return n % s.chunks != 0;
    case A::DoubleBinaryTree:
      return (n + 1) / 2 % s.chunks != 0;
    case A::ParameterServer:
      return s.servers > s.ranks && n % s.servers != 0;
    case A::RecursiveDoubling:
    case A::HalvingDoubling:
      return s.kind != C::AllReduce && !std::has_single_bit(static_cast<unsigned>(s.ranks)) && n > s.ranks;
    default:
      return false;
  }
}

TEST(ClosedForm, IsTheLongestPathThroughTheRounds) {
  std::set<std::string> missing;
  for (int ranks = 1; ranks <= 70; ++ranks)
    for (const std::int64_t bytes : {0, 1, 7, 4096, 7680, 1'000'003})
      for (const auto& spec : every_collective(ranks, Bytes{bytes}))
        for (const auto& cost : {kAlphaBeta, kLogGops}) {
          // All of it up to 20 ranks; beyond, each form takes half of the sizes in turn.
          if (ranks > 20 && (ranks + bytes + static_cast<int>(cost.form)) % 2 != 0) continue;
          const auto got = closed_form(spec, cost);
          if (!got) {
            missing.insert(std::string(name_of(spec.kind)) + " " + std::string(name_of(spec.algorithm)));
            EXPECT_TRUE(lacks_a_formula(spec)) << text_of(spec);
            continue;
          }
          const auto schedule = Schedule::make(spec);
          ASSERT_TRUE(schedule);
          const double want = Interpreter(*schedule, cost).time();
          EXPECT_NEAR(got->count(), want, 1e-9 * want) << text_of(spec) << " " << name_of(cost.form);
        }
  const std::set<std::string> known = {"AllGather direct",
                                       "AllGather recursive-doubling",
                                       "AllReduce binary-tree",
                                       "AllReduce double-binary-tree",
                                       "AllReduce parameter-server",
                                       "Broadcast binary-tree",
                                       "Broadcast parameter-server",
                                       "Reduce binary-tree",
                                       "ReduceScatter halving-doubling"};
  EXPECT_EQ(missing, known);
}

TEST(ClosedForm, HoldsForManyRanks) {
  for (const int ranks : {1000, 4096})
    for (const std::int64_t bytes : {1, 1'000'003}) {
      if (ranks == 4096 && bytes == 1) continue;
      std::vector<CollectiveSpec> specs;
      const auto add = [&](C kind, A algorithm) {
        specs.push_back({.kind = kind, .algorithm = algorithm, .ranks = ranks, .bytes = Bytes{bytes}});
        specs.back().group = 8;
        specs.back().servers = 16;
      };
      for (const A a : {A::BinomialTree, A::BinaryTree, A::DoubleBinaryTree, A::RecursiveDoubling,
                        A::HalvingDoubling, A::Hierarchical2, A::InNetwork, A::ParameterServer})
        add(C::AllReduce, a);
      add(C::ReduceScatter, A::HalvingDoubling);
      add(C::AllGather, A::RecursiveDoubling);
      add(C::AllToAll, A::TwoLevel);
      add(C::Barrier, A::Dissemination);
      add(C::Broadcast, A::Chain);
      if (ranks == 1000 && bytes > 1) add(C::AllReduce, A::Ring);
      for (const auto& spec : specs) {
        const auto got = closed_form(spec, kAlphaBeta);
        ASSERT_TRUE(got) << text_of(spec);
        const double want = Interpreter(*Schedule::make(spec), kAlphaBeta).time();
        EXPECT_NEAR(got->count(), want, 1e-9 * want) << text_of(spec);
      }
    }
}

double seconds_of(const CollectiveSpec& spec, const MessageCost& cost) {
  return closed_form(spec, cost)->count();
}

MessageCost link(Seconds latency, Bandwidth bandwidth) {
  return {.latency = latency, .per_byte = bandwidth.time_per_byte()};
}

TEST(ClosedForm, TextbookValues) {
  // Ring 256 MiB, recursive doubling 8 KiB: the closed forms that peers were measured against.
  EXPECT_NEAR(seconds_of({.ranks = 4096, .bytes = 256_MiB}, kAlphaBeta), 18924.80e-6, 5e-9);
  EXPECT_NEAR(seconds_of({.algorithm = A::RecursiveDoubling, .ranks = 65536, .bytes = 8_KiB}, kAlphaBeta),
              18.621e-6, 1e-9);
  // LogGOPS: a byte less per message, nothing for none.
  EXPECT_DOUBLE_EQ(seconds_of({.algorithm = A::RecursiveDoubling, .ranks = 8, .bytes = 0_B}, kLogGops), 3e-6);
  EXPECT_DOUBLE_EQ(seconds_of({.algorithm = A::RecursiveDoubling, .ranks = 8, .bytes = 1_B}, kLogGops), 3e-6);
  EXPECT_DOUBLE_EQ(seconds_of({.algorithm = A::RecursiveDoubling, .ranks = 8, .bytes = 701_B}, kLogGops),
                   6e-6);
}

// Chapter oracle 2: below m* = alpha ((N - 1) - log2 N) / (beta (log2 N - (N - 1) / N)) the tree wins.
TEST(ClosedForm, RingAndTreeCrossAtSeventeenMegabytes) {
  const auto cost = link(10us, Bandwidth::gbyte_per_s(50));
  const double beta = cost.per_byte.in_seconds_per_byte();
  const double crossover = 10e-6 * (255.0 - 8) / (beta * (8 - 255.0 / 256));
  EXPECT_NEAR(crossover, 17.633e6, 500);
  const auto ring_wins = [&](double bytes) {
    const CollectiveSpec ring{.ranks = 256, .bytes = Bytes{static_cast<std::int64_t>(bytes)}};
    CollectiveSpec tree = ring;
    tree.algorithm = A::BinomialTree;
    return seconds_of(ring, cost) < seconds_of(tree, cost);
  };
  EXPECT_FALSE(ring_wins(0.9999 * crossover));
  EXPECT_TRUE(ring_wins(1.0001 * crossover));
}

// Chapter C.18 with its missing chunking put right: 256 ranks, 700 MB, groups of 8.
TEST(ClosedForm, HierarchyOfTheChapter) {
  const CollectiveSpec spec{.algorithm = A::Hierarchical2, .ranks = 256, .bytes = 700_MB, .group = 8};
  const auto inside = link(1us, Bandwidth::gbyte_per_s(600));
  const auto rail = link(10us, Bandwidth::gbyte_per_s(25));
  const auto eighth = link(10us, Bandwidth::gbyte_per_s(25.0 / 8));  // of the node's one NIC
  const auto hierarchy = [&](const MessageCost& across) {
    return closed_form(spec, std::array{inside, across})->count();
  };
  EXPECT_NEAR(hierarchy(eighth), 56.9e-3, 5e-5);
  EXPECT_NEAR(hierarchy(rail), 9.46e-3, 5e-6);
  const CollectiveSpec flat{.ranks = 256, .bytes = 700_MB};
  EXPECT_NEAR(seconds_of(flat, rail), 60.88e-3, 5e-6);
  EXPECT_NEAR(seconds_of(flat, link(10us, Bandwidth::gbyte_per_s(200))), 12.1e-3, 5e-5);
  // Levels of equal cost are the one-cost form; other numbers of levels are not.
  EXPECT_DOUBLE_EQ(hierarchy(inside), seconds_of(spec, inside));
  EXPECT_FALSE(closed_form(spec, std::array{inside, inside, rail}));
  EXPECT_FALSE(closed_form(flat, std::array{inside, rail}));
}

// Chapter oracle 13: N^2 / ((N - 1) S) for N = 256 workers and S = 16 shards.
TEST(ClosedForm, ServersAgainstRing) {
  const auto cost = link(0us, Bandwidth::gbyte_per_s(25));
  const CollectiveSpec ring{.ranks = 256, .bytes = Bytes{std::int64_t{256} * 2'734'375}};
  CollectiveSpec servers = ring;
  servers.algorithm = A::ParameterServer;
  servers.servers = 16;
  const double ratio = seconds_of(servers, cost) / seconds_of(ring, cost);
  EXPECT_NEAR(ratio, 256.0 * 256 / (255 * 16), 1e-9);
  EXPECT_NEAR(ratio, 16.06, 5e-3);
  EXPECT_NEAR(seconds_of(servers, cost), 0.896, 1e-3);
}

// Incast: k to 1 is alpha + k n beta.
TEST(ClosedForm, IncastIsServedByOnePort) {
  const CollectiveSpec push{
      .kind = C::Reduce, .algorithm = A::ParameterServer, .ranks = 8, .bytes = 4_MiB, .servers = 1};
  EXPECT_NEAR(seconds_of(push, kAlphaBeta), 672.1e-6, 5e-8);
}

// Chapter oracle 15: more workers on the same links never take less time per step: rings and powers of two.
// Recursive doubling from 7 to 8 ranks is the counter-example: 7 fold first.
TEST(ClosedForm, MoreRanksTakeLongerButForFolds) {
  for (int p = 1; p < 200; ++p)
    EXPECT_LE(seconds_of({.ranks = p, .bytes = Bytes{720'720}}, kAlphaBeta),
              seconds_of({.ranks = p + 1, .bytes = Bytes{720'720}}, kAlphaBeta) + 1e-15);
  for (int p = 1; p < 65536; p *= 2)
    for (const A a : {A::RecursiveDoubling, A::HalvingDoubling, A::BinomialTree, A::BinaryTree})
      EXPECT_LE(seconds_of({.algorithm = a, .ranks = p, .bytes = 1_MiB}, kAlphaBeta),
                seconds_of({.algorithm = a, .ranks = 2 * p, .bytes = 1_MiB}, kAlphaBeta));
  EXPECT_GT(seconds_of({.algorithm = A::RecursiveDoubling, .ranks = 7, .bytes = 1_MiB}, kAlphaBeta),
            seconds_of({.algorithm = A::RecursiveDoubling, .ranks = 8, .bytes = 1_MiB}, kAlphaBeta));
}

TEST(ClosedForm, SaysNothingWhereItHasNothing) {
  EXPECT_FALSE(closed_form({.algorithm = A::Direct, .ranks = 4}, kAlphaBeta));
  EXPECT_FALSE(closed_form({.ranks = 0}, kAlphaBeta));
  MessageCost busy = kAlphaBeta;
  busy.overhead = 1us;
  EXPECT_FALSE(closed_form({.ranks = 4}, busy));
  // Every formula of the table is somebody's, and only theirs.
  EXPECT_EQ(formula_of(C::AllReduce, A::Ring), "2 (P - 1) T(ceil(n / (k P)))");
  EXPECT_EQ(formula_of(C::AllReduce, A::Direct), "");
}

}  // namespace
}  // namespace cox::model
