// SPDX-License-Identifier: Apache-2.0
// Laws of the max-plus engine: identities equal the steps, the closed forms are its values on an idle
// network, and time only ever moves results the way that it should.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/model/closed_form.hpp"
#include "cox/simulate/max_plus.hpp"

#include "model/every_collective.hpp"

namespace cox::simulate {
namespace {

using model::Algorithm;
using model::Collective;
using model::CollectiveSpec;
using model::MessageCost;
using model::Protocol;

using Times = std::vector<Seconds>;

MessageCost any_cost() {
  return {.form = *rc::gen::element(model::CostForm::AlphaBeta, model::CostForm::LogGops),
          .latency = Seconds{1e-9 * *rc::gen::inRange(0, 10000)},
          .per_byte = TimePerByte::seconds_per_byte(1e-12 * *rc::gen::inRange(0, 5000))};
}

LinkCosts same_everywhere(const MessageCost& c) {
  return {.inside = c, .across = c};
}

/// The same costs, but not known to be uniform: no identity, no short way.
LinkCosts spelt_out(const MessageCost& c, int ranks) {
  LinkCosts costs = same_everywhere(c);
  costs.into.assign(static_cast<std::size_t>(ranks), c);
  return costs;
}

/// Arrivals at random over some span, now and then all at once.
Times any_arrivals(int ranks) {
  const double span = 1e-9 * *rc::gen::element(0, 10, 10000, 10000000);
  std::vector<double> u(static_cast<std::size_t>(ranks));
  RandomStream(*rc::gen::arbitrary<std::uint64_t>(), 0).uniforms(0, 0, u);
  Times t(u.size());
  std::ranges::transform(u, t.begin(), [span](double x) { return Seconds{span * x}; });
  return t;
}

CollectiveOutcome run(const CollectiveSpec& spec, const LinkCosts& costs, const CollectiveOptions& options,
                      Times& times) {
  const auto schedule = model::Schedule::make(spec);
  RC_ASSERT(schedule.has_value());
  return run_collective(*schedule, costs, options, times);
}

void assert_close(const Times& a, const Times& b, double relative) {
  RC_ASSERT(a.size() == b.size());
  for (std::size_t r = 0; r < a.size(); ++r)
    if (!(std::abs(a[r].count() - b[r].count()) <= relative * std::abs(b[r].count())))
      RC_FAIL("rank " + std::to_string(r) + ": " + std::to_string(a[r].count()) + " is not " +
              std::to_string(b[r].count()));
}

void closure_equals_steps(int ranks, const CollectiveSpec& shape) {
  CollectiveSpec spec = shape;
  spec.ranks = ranks;
  spec.bytes = Bytes{*rc::gen::element(0, 1, ranks - 1, ranks, 7 * ranks + ranks / 2, 100000)};
  const MessageCost cost = any_cost();
  const auto protocol = *rc::gen::element(Protocol::Rendezvous, Protocol::Eager);
  const auto rounds = *rc::gen::element<std::int64_t>(-1, 1, 2, 5, ranks - 1, ranks + 1);
  const CollectiveOptions closed{.protocol = protocol, .closure = true, .first_rounds = rounds};
  CollectiveOptions stepped = closed;
  stepped.closure = false;
  Times a = any_arrivals(ranks);
  Times b = a;
  LinkCosts costs = same_everywhere(cost);
  if (*rc::gen::arbitrary<bool>()) {  // all in one node
    costs.across = any_cost();
    costs.ranks_per_node = std::max(2, ranks);
  }
  const auto outcome = run(spec, costs, closed, a);
  const auto other = run(spec, same_everywhere(cost), stepped, b);
  RC_ASSERT(!other.closure);
  RC_ASSERT(outcome.messages == other.messages);
  RC_CLASSIFY(outcome.closure, "closure");
  assert_close(a, b, 1e-12);
}

const std::vector<CollectiveSpec> kWithClosure = {
    {.kind = Collective::AllReduce, .algorithm = Algorithm::Ring},
    {.kind = Collective::AllReduce, .algorithm = Algorithm::BidirectionalRing},
    {.kind = Collective::ReduceScatter, .algorithm = Algorithm::Ring},
    {.kind = Collective::AllGather, .algorithm = Algorithm::Ring},
    {.kind = Collective::AllReduce, .algorithm = Algorithm::RecursiveDoubling},
    {.kind = Collective::AllReduce, .algorithm = Algorithm::HalvingDoubling},
    {.kind = Collective::AllToAll, .algorithm = Algorithm::Direct},
    {.kind = Collective::Barrier, .algorithm = Algorithm::Dissemination}};

RC_GTEST_PROP(MaxPlusLaws, ClosureEqualsSteps, ()) {
  closure_equals_steps(*rc::gen::inRange(1, 200), *rc::gen::elementOf(kWithClosure));
}

// Rings of links that cost differently: few costs, at random places or every so many, and latencies that make
// one slow for short messages and fast for long ones.
RC_GTEST_PROP(MaxPlusLaws, MixedRingsEqualTheirSteps, ()) {
  const int ranks = *rc::gen::inRange(3, 150);
  CollectiveSpec spec{
      .kind = *rc::gen::element(Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter),
      .ranks = ranks};
  if (spec.kind == Collective::AllReduce)
    spec.algorithm = *rc::gen::element(Algorithm::Ring, Algorithm::BidirectionalRing);
  spec.bytes = Bytes{*rc::gen::element(0, 1, ranks - 1, ranks, 7 * ranks + ranks / 2, 100000, 10'000'000)};
  LinkCosts costs;
  const int kinds = *rc::gen::inRange(2, 10);
  std::vector<MessageCost> some;
  some.reserve(static_cast<std::size_t>(kinds));
  for (int k = 0; k < kinds; ++k) some.push_back(any_cost());
  const bool regular = *rc::gen::arbitrary<bool>();
  const int every = *rc::gen::inRange(2, 20);
  if (*rc::gen::arbitrary<bool>()) {
    costs = {.inside = some[0], .across = some[1], .ranks_per_node = every, .into = {}};
  } else {
    for (int r = 0; r < ranks; ++r) {
      const int kind = regular ? (r % every == 0) + (r % (3 * every) == 0) : *rc::gen::inRange(0, kinds);
      costs.into.push_back(some[static_cast<std::size_t>(std::min(kind, kinds - 1))]);
    }
  }
  const auto rounds = *rc::gen::element<std::int64_t>(-1, 1, 2, 5, ranks - 1, ranks + 1);
  const CollectiveOptions closed{.closure = true, .first_rounds = rounds};
  CollectiveOptions stepped = closed;
  stepped.closure = false;
  Times a = any_arrivals(ranks);
  Times b = a;
  const auto outcome = run(spec, costs, closed, a);
  const auto other = run(spec, costs, stepped, b);
  RC_ASSERT(!other.closure);
  RC_ASSERT(outcome.messages == other.messages);
  RC_CLASSIFY(outcome.closure, "closure");
  // Differences of sums over a lap: to the last digits of what all links of the ring cost.
  double lap = std::ranges::max_element(b)->count();
  for (int r = 0; r < ranks; ++r) lap += costs.of((r + 1) % ranks, r)(spec.bytes / ranks).count();
  for (std::size_t r = 0; r < a.size(); ++r) RC_ASSERT(std::abs((a[r] - b[r]).count()) <= 1e-13 * lap);
}

// A ring of 4,096 with a slow link at every eighth place, as nodes of eight devices have it.
TEST(MaxPlusLaws, RingOfNodesIsClosedAtScale) {
  for (const std::int64_t more : {0, 99, 4000}) {
    constexpr int kRanks = 4096;
    const auto schedule =
        model::Schedule::make({.ranks = kRanks, .bytes = Bytes{std::int64_t{kRanks} * 6000 + more}});
    ASSERT_TRUE(schedule);
    LinkCosts costs{
        .inside = {.latency = Seconds{0.6e-6}, .per_byte = TimePerByte::seconds_per_byte(2.2e-12)},
        .across = {.latency = Seconds{2.7e-6}, .per_byte = TimePerByte::seconds_per_byte(20e-12)},
        .ranks_per_node = 8,
        .into = {}};
    for (const double spread : {0.0, 1e-3}) {
      std::vector<double> u(kRanks);
      RandomStream(3, 1).uniforms(0, 0, u);
      Times a(u.size());
      std::ranges::transform(u, a.begin(), [&](double x) { return Seconds{spread * x}; });
      Times b = a;
      EXPECT_TRUE(run_collective(*schedule, costs, {}, a).closure);
      (void)run_collective(*schedule, costs, {.closure = false}, b);
      for (std::size_t r = 0; r < a.size(); ++r)
        ASSERT_NEAR(a[r].count(), b[r].count(), 1e-12 * b[r].count()) << r;
    }
  }
}

// The same at 4,096 ranks and around it.
TEST(MaxPlusLaws, ClosureEqualsStepsAtScale) {
  for (const int ranks : {2047, 4095, 4096})
    for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::RecursiveDoubling})
      for (const Protocol protocol : {Protocol::Rendezvous, Protocol::Eager}) {
        const auto schedule = model::Schedule::make(
            {.algorithm = algorithm, .ranks = ranks, .bytes = Bytes{std::int64_t{ranks} * 64 + 99}});
        ASSERT_TRUE(schedule);
        const MessageCost cost{.latency = Seconds{1e-6}, .per_byte = TimePerByte::seconds_per_byte(1e-9)};
        std::vector<double> u(static_cast<std::size_t>(ranks));
        RandomStream(3, 1).uniforms(0, 0, u);
        Times a(u.size());
        std::ranges::transform(u, a.begin(), [](double x) { return Seconds{1e-3 * x}; });
        Times b = a;
        const auto closed = run_collective(*schedule, same_everywhere(cost), {.protocol = protocol}, a);
        (void)run_collective(*schedule, same_everywhere(cost), {.protocol = protocol, .closure = false}, b);
        EXPECT_TRUE(closed.closure || algorithm == Algorithm::RecursiveDoubling);
        for (std::size_t r = 0; r < a.size(); ++r)
          ASSERT_NEAR(a[r].count(), b[r].count(), 1e-12 * b[r].count());
      }
}

RC_GTEST_PROP(MaxPlusLaws, FoldedDoublingEqualsItsLists, ()) {
  const int ranks = *rc::gen::inRange(1, 300);
  const CollectiveSpec spec{.kind = *rc::gen::element(Collective::AllReduce, Collective::Barrier),
                            .algorithm = Algorithm::RecursiveDoubling,
                            .ranks = ranks,
                            .bytes = Bytes{*rc::gen::inRange(0, 10000)}};
  const MessageCost cost = any_cost();
  const CollectiveOptions options{
      .protocol = *rc::gen::element(Protocol::Rendezvous, Protocol::Eager, Protocol::EagerGap),
      .closure = false};
  Times a = any_arrivals(ranks);
  Times b = a;
  LinkCosts costs = same_everywhere(cost);
  costs.ranks_per_node = *rc::gen::element(1, std::max(2, ranks));
  const auto fast = run(spec, costs, options, a);
  const auto lists = run(spec, spelt_out(cost, ranks), options, b);
  RC_ASSERT(fast.messages == lists.messages);
  assert_close(a, b, 1e-12);
}

/// Largest relative difference between the engine, at equal arrivals, and the closed form.
std::optional<double> difference(const CollectiveSpec& spec, const MessageCost& cost, bool closure) {
  const auto want = model::closed_form(spec, cost);
  if (!want) return std::nullopt;
  const auto schedule = model::Schedule::make(spec);
  if (!schedule) return std::nullopt;
  Times times(static_cast<std::size_t>(spec.ranks));
  (void)run_collective(*schedule, same_everywhere(cost), {.closure = closure}, times);
  const double got = std::ranges::max_element(times)->count();
  if (want->count() == 0) return got;
  return std::abs(got - want->count()) / want->count();
}

TEST(MaxPlusLaws, EveryAlgorithmIsItsClosedForm) {
  const MessageCost cost{.latency = Seconds{1.3e-6}, .per_byte = TimePerByte::seconds_per_byte(0.7e-9)};
  MessageCost gops = cost;
  gops.form = model::CostForm::LogGops;
  std::int64_t compared = 0;
  for (int ranks = 1; ranks <= 130; ++ranks)
    for (const std::int64_t bytes : {0, 1, 10007}) {
      if (bytes < 2 && ranks % 8 != bytes) continue;
      for (const auto& spec : model::every_collective(ranks, Bytes{bytes})) {
        const auto d = difference(spec, ranks % 2 == 0 ? cost : gops, ranks % 3 == 0);
        if (!d) continue;
        ASSERT_LT(*d, 1e-9) << model::text_of(spec);
        ++compared;
      }
    }
  EXPECT_GT(compared, 10000);
}

TEST(MaxPlusLaws, ManyRanksAreTheirClosedForm) {
  const MessageCost cost{.latency = Seconds{1.3e-6}, .per_byte = TimePerByte::seconds_per_byte(0.7e-9)};
  std::vector<int> counts = {255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 65535, 65536};
  std::vector<double> u(2);
  RandomStream(8, 1).uniforms(0, 0, u);
  for (const double x : u) counts.push_back(131 + static_cast<int>(x * 65000));
  for (const int ranks : counts) {
    const Bytes bytes{1234567};
    std::vector<CollectiveSpec> specs;
    for (const Algorithm a :
         {Algorithm::Ring, Algorithm::BidirectionalRing, Algorithm::BinomialTree, Algorithm::BinaryTree,
          Algorithm::DoubleBinaryTree, Algorithm::RecursiveDoubling, Algorithm::HalvingDoubling,
          Algorithm::InNetwork, Algorithm::ParameterServer})
      specs.push_back({.algorithm = a, .ranks = ranks, .bytes = bytes, .servers = 4});
    specs.push_back({.kind = Collective::Barrier, .algorithm = Algorithm::Dissemination, .ranks = ranks});
    if (ranks % 16 == 0)
      specs.push_back({.algorithm = Algorithm::Hierarchical2, .ranks = ranks, .bytes = bytes, .group = 16});
    for (const auto& spec : specs) {
      // step by step where there are not billions of messages
      const bool rings = spec.algorithm == Algorithm::Ring ||
                         spec.algorithm == Algorithm::BidirectionalRing ||
                         spec.algorithm == Algorithm::Hierarchical2;
      if (spec.algorithm == Algorithm::Hierarchical2 && ranks > 1024) continue;
      const bool doubling = spec.algorithm == Algorithm::RecursiveDoubling ||
                            spec.algorithm == Algorithm::HalvingDoubling || spec.kind == Collective::Barrier;
      if (!rings && !doubling && ranks > 5000 && ranks != 65535) continue;  // lists
      const auto d = difference(spec, cost, rings && ranks > 1025);
      if (d) {
        EXPECT_LT(*d, 1e-9) << model::text_of(spec);
      }
    }
  }
}

// Rounds of a ring of 65,536 ranks, one by one, with equal arrivals: each is as long as its largest chunk.
TEST(MaxPlusLaws, FirstRoundsOfALongRing) {
  const MessageCost cost{.latency = Seconds{1e-6}, .per_byte = TimePerByte::seconds_per_byte(1e-9)};
  const auto schedule =
      model::Schedule::make({.algorithm = Algorithm::Ring, .ranks = 65536, .bytes = Bytes{6'553'600}});
  ASSERT_TRUE(schedule);
  Times times(65536);
  (void)run_collective(*schedule, spelt_out(cost, 65536), {.first_rounds = 500}, times);
  for (const Seconds t : times) ASSERT_NEAR(t.count(), 500 * cost(Bytes{100}).count(), 1e-9 * 500e-6);
}

CollectiveSpec any_collective(int ranks) {
  return *rc::gen::elementOf(model::every_collective(ranks, Bytes{*rc::gen::element(0, 1, 999, 50000)}));
}

LinkCosts any_links(int ranks) {
  LinkCosts costs = same_everywhere(any_cost());
  if (*rc::gen::arbitrary<bool>()) {
    costs.inside = any_cost();
    costs.ranks_per_node = *rc::gen::inRange(1, 9);
  }
  if (*rc::gen::inRange(0, 3) == 0)
    for (int r = 0; r < ranks; ++r) costs.into.push_back(any_cost());
  return costs;
}

RC_GTEST_PROP(MaxPlusLaws, LaterArrivalsNeverMeanEarlierDepartures, ()) {
  const int ranks = *rc::gen::inRange(1, 40);
  const auto spec = any_collective(ranks);
  const LinkCosts costs = any_links(ranks);
  const CollectiveOptions options{
      .protocol = *rc::gen::element(Protocol::Rendezvous, Protocol::Eager, Protocol::EagerGap),
      .closure = *rc::gen::arbitrary<bool>()};
  Times early = any_arrivals(ranks);
  Times late = early;
  late[static_cast<std::size_t>(*rc::gen::inRange(0, ranks))] += Seconds{1e-6 * *rc::gen::inRange(1, 1000)};
  const Times arrivals = early;
  (void)run(spec, costs, options, early);
  (void)run(spec, costs, options, late);
  for (std::size_t r = 0; r < early.size(); ++r) {
    RC_ASSERT(late[r].count() >= early[r].count() * (1 - 1e-14));
    RC_ASSERT(early[r] >= arrivals[r]);
  }
}

RC_GTEST_PROP(MaxPlusLaws, ThreadsAndRepetitionChangeNothing, ()) {
  const int ranks = *rc::gen::inRange(1, 60);
  const CollectiveSpec spec{
      .algorithm = *rc::gen::element(Algorithm::BidirectionalRing, Algorithm::DoubleBinaryTree),
      .ranks = ranks,
      .bytes = Bytes{12345},
      .chunks = 3};
  const auto noise = Noise::make({{.name = "delay",
                                   .target = model::NoiseTarget::Message,
                                   .law = model::NoiseLaw::Uniform,
                                   .mean_ratio = 0.1}},
                                 {.ranks = ranks}, 9);
  RC_ASSERT(noise.has_value());
  const LinkCosts costs = any_links(ranks);
  CollectiveOptions options{.noise = &*noise, .step = 3};
  Times a = any_arrivals(ranks);
  Times b = a;
  (void)run(spec, costs, options, a);
  options.threads = 4;
  (void)run(spec, costs, options, b);
  RC_ASSERT(a == b);
}

// Weak scaling on an unchanged link (for rings the latency term grows, for powers of two a round is added).
TEST(MaxPlusLaws, AddingWorkersNeverShortensRingsAndPowersOfTwo) {
  const MessageCost cost{.latency = Seconds{1e-6}, .per_byte = TimePerByte::seconds_per_byte(1e-9)};
  const auto time = [&](Algorithm algorithm, int ranks) {
    Times times(static_cast<std::size_t>(ranks), Seconds{0.01});
    const auto schedule =
        model::Schedule::make({.algorithm = algorithm, .ranks = ranks, .bytes = Bytes{1 << 20}});
    (void)run_collective(*schedule, same_everywhere(cost), {.closure = ranks > 300}, times);
    return std::ranges::max_element(times)->count();
  };
  double before = 0;
  for (int ranks = 1; ranks <= 1024; ranks = ranks < 64 ? ranks + 1 : ranks * 2) {
    const double now = time(Algorithm::Ring, ranks);
    EXPECT_GE(now, before) << ranks;
    before = now;
  }
  for (const Algorithm a : {Algorithm::RecursiveDoubling, Algorithm::HalvingDoubling}) {
    before = 0;
    for (int ranks = 1; ranks <= 65536; ranks *= 2) {
      const double now = time(a, ranks);
      EXPECT_GE(now, before) << ranks;
      before = now;
    }
  }
}

}  // namespace
}  // namespace cox::simulate
