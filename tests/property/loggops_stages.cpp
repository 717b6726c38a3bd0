// SPDX-License-Identifier: Apache-2.0
// Laws of messages between stages under LogGOPS: those of two stages that compute nothing take what the event engine takes for
// the same messages as a GOAL schedule. (There a computation cannot be beside what a processor does for messages.)
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cox/simulate/goal.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::simulate {
namespace {

using model::MessageCost;

/// Of two stages: so many messages forward, then as many back.
struct Pipeline {
  int micro_batches = 1;
  std::int64_t bytes = 1;
};

std::string goal_text(const Pipeline& p) {
  std::string there[2], back[2];
  for (int m = 0; m < p.micro_batches; ++m) {
    there[0] += fmt::format("f{0}: send {1}b to 1 tag {0}\n", m, p.bytes);
    there[1] += fmt::format("f{0}: recv {1}b from 0 tag {0}\n", m, p.bytes);
    back[0] += fmt::format("b{0}: recv {1}b from 1 tag {0}\n", m, p.bytes);
    back[1] +=
        fmt::format("b{0}: send {1}b to 0 tag {0}\nb{0} requires f{2}\n", m, p.bytes, p.micro_batches - 1);
    if (m == 0) continue;
    for (std::string* one : {&there[0], &there[1]}) *one += fmt::format("f{} requires f{}\n", m, m - 1);
    for (std::string* one : {&back[0], &back[1]}) *one += fmt::format("b{} requires b{}\n", m, m - 1);
  }
  return fmt::format("num_ranks 2\nrank 0 {{\n{}{}}}\nrank 1 {{\n{}{}}}\n", there[0], back[0], there[1],
                     back[1]);
}

double by_events(const Pipeline& p, const MessageCost& cost) {
  const std::string goal = goal_text(p);
  const auto made = simulate_goal(std::as_bytes(std::span(goal)), "generated",
                                  {.latency = cost.latency,
                                   .overhead = cost.overhead,
                                   .gap = cost.gap,
                                   .gap_per_byte = cost.per_byte,
                                   .overhead_per_byte = cost.overhead_per_byte,
                                   .eager_limit = cost.eager_limit});
  RC_ASSERT(made.has_value());
  return made->finish[0].count();  // which takes the last message
}

Outcome by_steps(const Pipeline& p, const MessageCost& cost) {
  model::Scenario s;
  s.cluster.nodes = 2;
  s.protocol = model::Protocol::LogGops;
  s.across = s.inside = cost;
  model::TrainingJob job;
  job.layout = {.pipeline = 2};
  job.micro_batches = p.micro_batches;
  job.schedule = model::PipelineSchedule::GPipe;
  job.layers.assign(2, {.activations = Bytes{p.bytes}});
  s.job.work = job;
  s.job.steps = 1;
  const auto made = simulate(s, {.threads = 1});
  RC_ASSERT(made.has_value());
  return *made;
}

Seconds any_time(std::int64_t most_ns) {
  return Seconds{static_cast<double>(*rc::gen::inRange<std::int64_t>(0, most_ns)) * 1e-9};
}

RC_GTEST_PROP(LogGopsStages, AreThoseOfTheEventEngine, ()) {
  const Pipeline p{.micro_batches = *rc::gen::inRange(1, 9),
                   .bytes = *rc::gen::element<std::int64_t>(1, 100, 4000)};
  const MessageCost cost{.form = model::CostForm::LogGops,
                         .latency = any_time(3000),
                         .per_byte = TimePerByte::seconds_per_byte(*rc::gen::element(0.0, 1e-9, 2e-9)),
                         .overhead = any_time(2000),
                         .gap = any_time(6000),
                         .overhead_per_byte = TimePerByte::seconds_per_byte(*rc::gen::element(0.0, 1e-9)),
                         .eager_limit = Bytes{*rc::gen::element<std::int64_t>(0, 99, 10'000)}};
  RC_CLASSIFY(cost.eager_limit.count() < p.bytes, "for the receiver");
  const double events = by_events(p, cost);
  const double steps = by_steps(p, cost).total.count();
  if (std::abs(steps - events) > 1e-12 * p.micro_batches + 1e-9 * events)
    RC_FAIL(fmt::format("{} micro-batches of {} bytes: {} by steps, {} by events", p.micro_batches, p.bytes,
                        steps, events));
}

/// Two stages without computation, two micro-batches of 1001 bytes forward; L = 1000, o = 100, g = 50 ns, G = 1, O = 0.5 ns a
/// byte, as the ring of docs/concepts/max-plus.md: T = 1000, C = 500. Backward nothing waits for anything but the messages.
MessageCost of_the_page() {
  return {.form = model::CostForm::LogGops,
          .latency = Seconds{1000e-9},
          .per_byte = TimePerByte::seconds_per_byte(1e-9),
          .overhead = Seconds{100e-9},
          .gap = Seconds{50e-9},
          .overhead_per_byte = TimePerByte::seconds_per_byte(0.5e-9),
          .eager_limit = Bytes{1'000'000}};
}

// Forward: the messages leave at 0 and 1050 and are there at 1100 and 2150; taken at 1100, until 2200, and at 2200, until 3300.
// Back, of the second one at 3300, the first at 4350: until 5500 and 6600.
TEST(LogGopsStages, AreThoseOfThePage) {
  const Pipeline p{.micro_batches = 2, .bytes = 1001};
  EXPECT_NEAR(by_steps(p, of_the_page()).total.count(), 6600e-9, 1e-15);
  // A gap of 5000: the second leaves at 6000, is there at 7100, when the port is free: until 8200. Back 8200, 14200: until 16400.
  MessageCost cost = of_the_page();
  cost.gap = Seconds{5000e-9};
  EXPECT_NEAR(by_steps(p, cost).total.count(), 16400e-9, 1e-15);
  // Longer than the limit: the second leaves when the first is taken, at 1100; there at 2200, until 3300. Back 3300 and 4400: 6600.
  cost = of_the_page();
  cost.eager_limit = Bytes{1000};
  EXPECT_NEAR(by_steps(p, cost).total.count(), 6600e-9, 1e-15);
  // Over a long way the sender waits for it: 0 and 20100, taken then at 40200, until 41300; back 41300 and 61400, until 82600.
  cost.latency = Seconds{20000e-9};
  EXPECT_NEAR(by_steps(p, cost).total.count(), 82600e-9, 1e-15);
  // Which it does not where it is short enough: 0 and 1050, taken at 20100 and 21200, until 22300; back 22300 and 23350, taken at 42400 and 43500, until 44600.
  cost.eager_limit = Bytes{1001};
  EXPECT_NEAR(by_steps(p, cost).total.count(), 44600e-9, 1e-15);
}

}  // namespace
}  // namespace cox::simulate
