// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/max_plus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "cox/base/random.hpp"

#include "model/every_collective.hpp"
#include "simulate/kernels/seconds_array.hpp"
#include "simulate/kernels/sweep_kernels.hpp"
#include "tests/support/python_random.hpp"

namespace cox::simulate {
namespace {

using namespace literals;
using model::Algorithm;
using model::Collective;
using model::MessageCost;
using model::Protocol;

std::vector<double> uniforms(std::size_t n, std::uint32_t stream) {
  std::vector<double> v(n);
  RandomStream(5, stream).uniforms(0, 0, v);
  return v;
}

MessageCost alpha_beta(double latency, double per_byte) {
  return {.latency = Seconds{latency}, .per_byte = TimePerByte::seconds_per_byte(per_byte)};
}

model::Schedule schedule_of(const model::CollectiveSpec& spec) {
  auto s = model::Schedule::make(spec);
  EXPECT_TRUE(s.has_value()) << s.error().to_string();
  return *s;
}

TEST(SweepKernels, EveryInstructionSetDoesWhatTheFormSays) {
  const auto u = uniforms(400, 1);
  const auto w = uniforms(400, 2);
  const auto l = uniforms(400, 3);
  for (const auto set : kernels::instruction_sets()) {
    const SweepKernels& k = sweep_kernels(set);
    for (const std::size_t n : {0U, 1U, 5U, 31U, 32U, 33U, 64U, 130U, 200U})
      for (const std::size_t back : {1U, 3U, 8U, 40U})
        for (const bool each : {false, true})
          for (const bool down : {false, true}) {
            const CostSource cost = each ? CostSource{w.data(), 0} : CostSource{nullptr, 0.25};
            const CostSource late = each ? CostSource{l.data(), 0} : CostSource{nullptr, 0.125};
            // down: peers below; up: peers above
            const std::size_t at = down ? back : 0;
            const std::size_t peer = down ? 0 : back;
            const auto direction = down ? Direction::Down : Direction::Up;
            auto meet = u;
            auto leave = u;
            auto port = u;
            k.meet(meet.data() + at, meet.data() + peer, n, cost, direction);
            k.leave(leave.data() + at, leave.data() + peer, n, cost, direction);
            k.port(port.data() + at, port.data() + peer, n, late, cost, direction);
            for (std::size_t i = 0; i < n; ++i) {
              const double t = u[at + i];
              const double p = u[peer + i];
              ASSERT_EQ(meet[at + i], std::max(t, p) + cost.at(i));
              ASSERT_EQ(leave[at + i], std::max(t, p + cost.at(i)));
              ASSERT_EQ(port[at + i], std::max(t, p + late.at(i)) + cost.at(i));
            }
            ASSERT_EQ(meet[at + n], u[at + n]);
          }
    for (const std::size_t m : {1U, 2U, 3U, 4U, 6U, 8U, 16U, 64U}) {
      auto meet = u;
      auto leave = u;
      auto port = u;
      const std::size_t n = 384 / (2 * m) * (2 * m);
      k.meet_pairs(meet.data(), n, m, {w.data(), 0});
      k.leave_pairs(leave.data(), n, m, {nullptr, 0.25});
      k.port_pairs(port.data(), n, m, {l.data(), 0}, {w.data(), 0});
      for (std::size_t i = 0; i < n; ++i) {
        const double p = u[i / m % 2 == 0 ? i + m : i - m];
        ASSERT_EQ(meet[i], std::max(u[i], p) + w[i]);
        ASSERT_EQ(leave[i], std::max(u[i], p + 0.25));
        ASSERT_EQ(port[i], std::max(u[i], p + l[i]) + w[i]);
      }
    }
    auto costs = w;
    k.stretch(costs.data(), u.data(), costs.size(), -1.5, 2);
    for (std::size_t i = 0; i < costs.size(); ++i)
      ASSERT_EQ(costs[i], std::max(0.0, w[i] + w[i] * (u[i] * 2 - 1.5)));
    costs = w;
    k.stretch_by_normals(costs.data(), u.data(), costs.size(), 0.75, -1.5, 1);
    for (std::size_t i = 0; i < costs.size(); ++i) {
      const double x = std::max((u[i] * -1.5 + 1) * 0.75, 0.0) - 1;
      ASSERT_EQ(costs[i], std::max(0.0, w[i] + w[i] * x));
    }
  }
}

/// The protocols word by word (message_cost.hpp), message by message, for schedules whose rounds are regular.
std::vector<double> by_definition(const model::Schedule& schedule, const LinkCosts& costs, Protocol protocol,
                                  const std::vector<double>& arrivals, const Noise* noise = nullptr) {
  std::vector<double> last = arrivals;
  for (int lane = 0; lane < schedule.lanes(); ++lane) {
    std::vector<double> t = arrivals;
    std::vector<double> free(t.size(), 0);
    std::vector<model::Transfer> list;
    for (std::int64_t k = 0; k < schedule.rounds(lane); ++k) {
      schedule.transfers(k, list, lane);
      std::vector<double> begins = t;
      if (protocol == Protocol::EagerGap)
        for (std::size_t r = 0; r < t.size(); ++r) begins[r] = std::max(t[r], free[r]);
      for (const auto& m : list) {
        if (m.from == m.to) continue;  // groups of one place
        const MessageCost& c = costs.of(m.from, m.to);
        Seconds whole = c(m.bytes);
        double latency = c.latency.count();
        if (noise != nullptr)
          noise->messages(0, 0, k + (std::int64_t{lane} << 56), schedule.order(lane).place_of(m.to),
                          {&whole, 1}, {&c.latency, 1});
        latency = std::min(latency, whole.count());
        const double gap = whole.count() - latency;
        const auto from = static_cast<std::size_t>(m.from);
        const auto to = static_cast<std::size_t>(m.to);
        if (protocol == Protocol::Rendezvous) t[to] = std::max(begins[to], begins[from]) + whole.count();
        if (protocol == Protocol::Eager) t[to] = std::max(begins[to], begins[from] + whole.count());
        if (protocol == Protocol::EagerGap) {
          free[from] = begins[from] + gap;
          t[to] = std::max(begins[to], std::max(begins[from] + latency, begins[to]) + gap);
        }
      }
    }
    for (std::size_t r = 0; r < t.size(); ++r) last[r] = std::max(last[r], t[r]);
  }
  return last;
}

std::vector<LinkCosts> some_costs(int ranks) {
  LinkCosts same{.inside = alpha_beta(1e-6, 1e-9), .across = alpha_beta(1e-6, 1e-9)};
  LinkCosts nodes{.inside = alpha_beta(1e-7, 1e-10), .across = alpha_beta(2e-6, 3e-9), .ranks_per_node = 4};
  LinkCosts into = same;
  for (int r = 0; r < ranks; ++r) into.into.push_back(alpha_beta(1e-6 + 1e-8 * (r % 5), 1e-9 * (1 + r % 3)));
  return {same, nodes, into};
}

TEST(MaxPlus, RegularSchedulesFollowTheProtocolsWordByWord) {
  for (const int ranks : {1, 2, 3, 4, 6, 8, 12, 30})
    for (const Bytes bytes : {1_B, 1000_B, 4801_B})
      for (const auto& spec : model::every_collective(ranks, bytes)) {
        const auto schedule = schedule_of(spec);
        if (schedule.rounds(0) > 0 && !schedule.regular(0)) continue;
        auto arrivals = uniforms(static_cast<std::size_t>(ranks), 4);
        for (double& t : arrivals) t *= 1e-5;
        for (const LinkCosts& costs : some_costs(ranks))
          for (const Protocol protocol : {Protocol::Rendezvous, Protocol::Eager, Protocol::EagerGap}) {
            const auto want = by_definition(schedule, costs, protocol, arrivals);
            auto got = arrivals;
            (void)run_collective(schedule, costs, {.protocol = protocol, .closure = false},
                                 as_seconds(std::span(got)));
            for (std::size_t r = 0; r < got.size(); ++r)
              ASSERT_NEAR(got[r], want[r], 1e-12 * want[r])
                  << model::text_of(spec) << ' ' << name_of(protocol) << " rank " << r;
          }
      }
}

TEST(MaxPlus, TilesChangeNothing) {
  // long enough for tiles; two lanes; chunks of two sizes whose border moves through the tiles
  for (const int ranks : {2048, 3001, 4096})
    for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::BidirectionalRing}) {
      const auto schedule = schedule_of(
          {.algorithm = algorithm, .ranks = ranks, .bytes = Bytes{std::int64_t{ranks} * 100 + 777}});
      auto arrivals = uniforms(static_cast<std::size_t>(ranks), 6);
      for (double& t : arrivals) t *= 1e-4;
      const LinkCosts costs = some_costs(ranks)[2];
      for (const Protocol protocol : {Protocol::Rendezvous, Protocol::Eager}) {
        std::vector<Seconds> tiled(arrivals.size());
        std::ranges::copy(as_seconds(std::span(arrivals)), tiled.begin());
        auto single = tiled;
        constexpr std::int64_t kRounds = 600;
        (void)run_collective(schedule, costs,
                             {.protocol = protocol, .closure = false, .first_rounds = kRounds}, tiled);
        // the same with a noise that adds nothing: rounds are swept one by one
        const auto nothing = Noise::make({{.name = "none",
                                           .target = model::NoiseTarget::Message,
                                           .law = model::NoiseLaw::Constant,
                                           .mean_ratio = 1,
                                           .probability = 0}},
                                         {.ranks = ranks}, 1);
        (void)run_collective(
            schedule, costs,
            {.protocol = protocol, .closure = false, .first_rounds = kRounds, .noise = &*nothing}, single);
        EXPECT_EQ(tiled, single) << ranks;
      }
    }
}

// Section 2 (c) of the reference measurements of peers: 1,024 ranks, 100 steps,
// compute N(10 ms, 0.5 ms) in whole units of 10 ps as Python draws them, then recursive doubling of 8
// KiB with L = 1 us, G = 20 ps per byte.
TEST(MaxPlus, BulkSynchronousValuesOfThreeProtocols) {
  constexpr int kRanks = 1024;
  constexpr int kSteps = 100;
  constexpr double kUnit = 1e-11;
  std::vector<std::vector<double>> draws(kSteps, std::vector<double>(kRanks));
  for (int r = 0; r < kRanks; ++r) {
    test::PythonRandom random(1000003ULL + static_cast<std::uint64_t>(r));
    for (int k = 0; k < kSteps; ++k) {
      const auto c = static_cast<std::int64_t>(std::max(0.0, random.gauss(1e9, 5e7)));
      draws[static_cast<std::size_t>(k)][static_cast<std::size_t>(r)] = static_cast<double>(c);
    }
  }
  // the first and the last as Python prints them; a libm may round a draw to the next unit
  EXPECT_NEAR(draws[0][0], 956294657, 1);
  EXPECT_NEAR(draws[1][0], 995624943, 1);
  EXPECT_NEAR(draws[2][0], 1044226974, 1);
  EXPECT_NEAR(draws[99][1023], 1002072168, 1);
  double sum_of_latest = 0;
  for (const auto& step : draws) sum_of_latest += *std::ranges::max_element(step);
  EXPECT_NEAR(sum_of_latest, 116027821139.0, 2.0);

  const auto schedule =
      schedule_of({.algorithm = Algorithm::RecursiveDoubling, .ranks = kRanks, .bytes = 8_KiB});
  MessageCost link = alpha_beta(1e-6, 20e-12);
  link.form = model::CostForm::LogGops;
  const LinkCosts costs{.inside = link, .across = link};
  const auto total = [&](Protocol protocol, bool closure) {
    MaxPlus engine(schedule, costs, {.protocol = protocol, .closure = closure});
    std::vector<Seconds> times(kRanks);
    for (const auto& step : draws) {
      for (std::size_t r = 0; r < times.size(); ++r) times[r] += Seconds{step[r] * kUnit};
      (void)engine.run(times, nullptr, 0, 0);
    }
    return std::ranges::max_element(times)->count() * 1e6;
  };
  // what the reference's program prints, in microseconds
  EXPECT_NEAR(total(Protocol::Rendezvous, false), 1161442.03139, 1.2e-3);
  EXPECT_NEAR(total(Protocol::Rendezvous, true), 1161442.03139, 1.2e-3);
  EXPECT_NEAR(total(Protocol::Eager, false), 1160841.50027, 1.2e-3);
  EXPECT_NEAR(total(Protocol::EagerGap, false), 1160926.03139, 1.2e-3);
}

TEST(MaxPlus, MessageNoiseIsThatOfEachReceiverAndRound) {
  const std::vector<model::CollectiveSpec> specs = {
      {.algorithm = Algorithm::Ring, .ranks = 130, .bytes = 100001_B},
      {.kind = Collective::Barrier, .algorithm = Algorithm::Dissemination, .ranks = 1500, .bytes = 8_B},
      {.algorithm = Algorithm::HalvingDoubling, .ranks = 2048, .bytes = 100001_B}};
  for (const auto law : {model::NoiseLaw::Uniform, model::NoiseLaw::Lognormal})
    for (const auto& spec : specs) {
      const auto noise = Noise::make(
          {{.name = "delay", .target = model::NoiseTarget::Message, .law = law, .mean_ratio = 0.1, .cv = 0.3},
           {.name = "slow",
            .target = model::NoiseTarget::Bandwidth,
            .law = model::NoiseLaw::Lognormal,
            .cv = 0.2}},
          {.ranks = spec.ranks}, 11);
      ASSERT_TRUE(noise);
      const auto schedule = schedule_of(spec);
      const LinkCosts costs = some_costs(spec.ranks)[2];
      for (const Protocol protocol : {Protocol::Rendezvous, Protocol::Eager, Protocol::EagerGap}) {
        std::vector<double> got(static_cast<std::size_t>(spec.ranks), 0.0);
        const auto want = by_definition(schedule, costs, protocol, got, &*noise);
        (void)run_collective(schedule, costs, {.protocol = protocol, .noise = &*noise},
                             as_seconds(std::span(got)));
        for (std::size_t r = 0; r < got.size(); ++r)
          ASSERT_NEAR(got[r], want[r], 1e-12 * want[r]) << model::text_of(spec) << ' ' << name_of(protocol);
      }
    }
}

TEST(MaxPlus, ListsServePortsOneAfterTheOther) {
  // two workers push 1000 bytes each to one server and pull them back: latency 1, occupation 2 for a message
  const auto schedule =
      schedule_of({.algorithm = Algorithm::ParameterServer, .ranks = 2, .bytes = 1000_B, .servers = 1});
  const LinkCosts costs{.inside = alpha_beta(1, 0.002), .across = alpha_beta(1, 0.002)};
  for (const Protocol protocol : {Protocol::Rendezvous, Protocol::Eager, Protocol::EagerGap}) {
    std::vector<Seconds> times = {Seconds{0}, Seconds{10}};
    const auto out = run_collective(schedule, costs, {.protocol = protocol}, times);
    EXPECT_EQ(out.messages, 4);
    EXPECT_FALSE(out.closure);
    // pushes arrive at 3 and 13; the server sends at 13 and 15
    EXPECT_DOUBLE_EQ(times[0].count(), 16) << name_of(protocol);
    EXPECT_DOUBLE_EQ(times[1].count(), 18) << name_of(protocol);
  }
  std::vector<Seconds> together = {Seconds{0}, Seconds{0}};
  (void)run_collective(schedule, costs, {}, together);
  EXPECT_DOUBLE_EQ(together[1].count(), 1 + 4 + 1 + 4);  // incast: 2 n beta + alpha, there and back
}

TEST(MaxPlus, EagerChainsOverlapLatencies) {
  const auto schedule = schedule_of({.kind = Collective::Broadcast,
                                     .algorithm = Algorithm::Chain,
                                     .ranks = 3,
                                     .bytes = 3000_B,
                                     .chunks = 3});
  const LinkCosts costs{.inside = alpha_beta(1, 0.001), .across = alpha_beta(1, 0.001)};
  const auto last = [&](Protocol p) {
    std::vector<Seconds> times(3);
    (void)run_collective(schedule, costs, {.protocol = p}, times);
    return times[2].count();
  };
  EXPECT_DOUBLE_EQ(last(Protocol::Rendezvous), (3 + 3 - 2) * 2.0);  // each round a latency and a chunk
  EXPECT_DOUBLE_EQ(last(Protocol::Eager), 2 * 2.0 + 2 * 1.0);       // chunks follow each other
}

TEST(MaxPlus, OneRankAndNoBytes) {
  for (const int ranks : {1, 2, 5})
    for (const auto& spec : model::every_collective(ranks, 0_B)) {
      std::vector<Seconds> times(static_cast<std::size_t>(ranks), Seconds{3});
      (void)run_collective(schedule_of(spec), some_costs(ranks)[0], {}, times);
      for (const Seconds t : times) {
        EXPECT_GE(t.count(), 3.0) << model::text_of(spec);
        if (ranks == 1 && spec.algorithm != Algorithm::ParameterServer) {
          EXPECT_EQ(t.count(), 3.0);
        }
      }
    }
}

// Adding a worker may shorten a collective: 7 ranks of recursive doubling fold, 8 do not.
TEST(MaxPlus, EightRanksOfRecursiveDoublingBeatSeven) {
  const auto time = [](int ranks) {
    std::vector<Seconds> times(static_cast<std::size_t>(ranks));
    (void)run_collective(
        schedule_of({.algorithm = Algorithm::RecursiveDoubling, .ranks = ranks, .bytes = 8_KiB}),
        some_costs(ranks)[0], {}, times);
    return std::ranges::max_element(times)->count();
  };
  const double message = some_costs(1)[0].across(8_KiB).count();
  EXPECT_NEAR(time(7), 4 * message, 1e-12);
  EXPECT_NEAR(time(8), 3 * message, 1e-12);
}

// Rank 0 of three sends for 10 s what rank 1 gets, the others send for 1 s. All begin the second run at 1 s, when the port of rank 0 is
// busy until 10.
TEST(MaxPlus, PortsStayBusyFromRunToRun) {
  const auto schedule = model::Schedule::make(
      {.kind = Collective::AllGather, .algorithm = Algorithm::Ring, .ranks = 3, .bytes = Bytes{3}});
  ASSERT_TRUE(schedule);
  const auto cost = [](double seconds) {
    return model::MessageCost{.per_byte = TimePerByte::seconds_per_byte(seconds)};
  };
  const LinkCosts costs{.inside = cost(1), .across = cost(1), .into = {cost(1), cost(10), cost(1)}};
  const auto ends = [&](bool stay) {
    MaxPlus engine(*schedule, costs,
                   {.protocol = model::Protocol::EagerGap, .first_rounds = 1, .ports_stay = stay});
    std::vector<Seconds> times(3);
    (void)engine.run(times, nullptr, 0, 0);
    EXPECT_EQ(times, (std::vector{Seconds{1}, Seconds{10}, Seconds{1}}));
    times = {Seconds{1}, Seconds{1}, Seconds{1}};
    (void)engine.run(times, nullptr, 1, 0);
    return times;
  };
  EXPECT_EQ(ends(false), (std::vector{Seconds{2}, Seconds{11}, Seconds{2}}));
  // rank 0 sends from 10 on, before which it is not ready: 1 has its message at 20
  EXPECT_EQ(ends(true), (std::vector{Seconds{11}, Seconds{20}, Seconds{2}}));
}

}  // namespace
}  // namespace cox::simulate
