// SPDX-License-Identifier: Apache-2.0
#include "forecast/control/control.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "forecast/control/control_json.hpp"

namespace cox::forecast {
namespace {

model::Scenario training_that_fails() {
  model::Scenario s;
  s.cluster.nodes = 4;
  s.cluster.devices_per_node = 2;
  s.inside = {.latency = Seconds{1e-6}, .per_byte = Bandwidth::gbyte_per_s(300).time_per_byte()};
  s.across = {.latency = Seconds{1e-5}, .per_byte = Bandwidth::gbyte_per_s(25).time_per_byte()};
  model::TrainingJob job;
  job.layout.data = 8;
  job.layers.assign(2, {.forward = Seconds{0.1},
                        .backward = Seconds{0.2},
                        .gradients = Bytes{100'000'000},
                        .activations = {}});
  s.job.work = job;
  s.job.steps = 20;
  s.failures = {.node_mtbf = Seconds{30 * 86'400.0},
                .restart = Seconds{300},
                .checkpoint = Seconds{30},
                .checkpoint_interval = Seconds{600}};
  return s;
}

ControlQuestion everything() {
  ControlQuestion q;
  q.levers = true;
  q.target = *parse_target("throughput >= 1.01 * baseline");
  q.training = Training{.tokens = 1e9, .tokens_per_step = 1000, .within = Seconds{5 * 86'400.0}};
  q.nodes = {8, 7, 16};
  q.options = {.replicas = 2, .threads = 1};
  return q;
}

std::string joined(const std::vector<TextLine>& lines) {
  std::string out;
  for (const TextLine& l : lines) out += l.text + "\n";
  return out;
}

std::string joined(const std::vector<std::string>& notes) {
  return joined(std::vector<TextLine>(notes.begin(), notes.end()));
}

// Half of a job of four nodes finishes in twice its time, and that is told.
TEST(Control, DaysMayNeedFewerNodesThanTheScenarioHas) {
  ControlQuestion q;
  q.training = Training{.tokens = 1e9, .tokens_per_step = 1000};
  q.options = {.replicas = 2, .threads = 1};
  const auto as_it_is = make_control(training_that_fails(), q);
  ASSERT_TRUE(as_it_is) << as_it_is.error().to_string();
  q.training->within = as_it_is->days.front().total * 2.1;
  const auto c = make_control(training_that_fails(), q);
  ASSERT_TRUE(c && c->nodes_for);
  EXPECT_TRUE(c->nodes_for->reached);
  EXPECT_EQ(c->nodes_for->at.nodes, 2);
  EXPECT_LE(c->nodes_for->at.total, *q.training->within);
}

TEST(Control, AnswersWhatWasAsked) {
  const auto c = make_control(training_that_fails(), everything());
  ASSERT_TRUE(c) << c.error().to_string();
  EXPECT_EQ(c->days.size(), 4u);  // 7 nodes hold 14 replicas
  EXPECT_EQ(c->goodput.size(), 4u);
  EXPECT_LT(c->days.back().total, c->days.front().total);
  ASSERT_TRUE(c->nodes_for);
  EXPECT_TRUE(c->nodes_for->reached);
  EXPECT_LE(c->nodes_for->at.total, Seconds{5 * 86'400.0});
  EXPECT_TRUE(c->set->reached);
  const std::string text = joined(text_lines(*c));
  for (const std::string_view part :
       {"levers, alone", "over: it is crossed; none: ", "target throughput >= 1.01 * baseline: ",
        "by failures alone, were a step as long ", "4 nodes: ", "within 5.00 days: ", "a fifth less",
        "note: "})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  const Json j = control_json(*c);
  EXPECT_EQ(j["days"].size(), 4u);
  double sum = 0;
  for (const auto& part : j["days"][0]["parts"]) sum += part.get<double>();
  EXPECT_NEAR(sum / j["days"][0]["total_s"].get<double>(), 1, 1e-9);
  EXPECT_EQ(j["levers"].size(), c->levers->levers.size());
  // Margins have the draws of the parts that each changed scenario says.
  EXPECT_GE(c->levers->baseline.margin_ends.value().high, c->levers->baseline.margin.value());
  EXPECT_TRUE(j["levers_at"]["as_it_is"]["margin_interval"].contains("low"));
}

// What the table says of the scenario's own size is what is said of it below the target.
TEST(Control, TheSetHasOneGainAtTheScenariosOwnSize) {
  const auto c = make_control(training_that_fails(), everything());
  ASSERT_TRUE(c && c->set && c->set->reached);
  ASSERT_FALSE(c->controlled.empty());
  const ControlledSize& own = c->controlled.front();
  EXPECT_TRUE(own.from_own || own.simulated);
  if (own.from_own) {
    EXPECT_NEAR(own.throughput_ratio, c->set->best.throughput.value, 1e-12);
  }
}

// A range has no point: not on the screen, not in JSON. Ends of a margin and of N* stand behind what a lever does.
TEST(Control, ARangeAndEndsArePrinted) {
  FullControl c;
  c.levers.emplace();
  c.levers->by_parts = true;
  c.levers->baseline.most_nodes = 1'000;
  c.levers->baseline.most_nodes_ends = DrawnEnds{900, std::numeric_limits<double>::infinity()};
  LeverEffect e;
  e.names = {"overlap"};
  e.does = "none to all is hidden";
  e.range = true;
  e.throughput = {.value = 1.2341, .low = 1, .high = 1.3};
  e.margin_ends = DrawnEnds{1, 2.5};
  c.levers->levers = {e};
  const std::string text = joined(text_lines(c));
  EXPECT_EQ(text.find("1.234"), std::string::npos) << text;
  for (const std::string_view part : {"1.000..1.300", "a range", "none to all is hidden; margin over..x 2.5",
                                      "as it is: N* 900..beyond nodes"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  const Json j = control_json(c);
  const Json& lever = j["levers"][0];
  EXPECT_TRUE(lever["range"].get<bool>());
  EXPECT_TRUE(lever["throughput_ratio"]["value"].is_null());
  EXPECT_EQ(lever["throughput_ratio"]["high"], 1.3);
  EXPECT_EQ(lever["margin_interval"]["high"], 2.5);
  EXPECT_TRUE(j["levers_at"]["as_it_is"]["most_nodes_interval"]["high"].is_null());
  EXPECT_EQ(j["levers_at"]["as_it_is"]["most_nodes_interval"]["low"], 900);
}

// A Scenario's own interval of ten minutes is not the best one: where its time goes stands under the time.
TEST(Control, WhereDaysGoAtTheScenariosOwnIntervalIsTold) {
  ControlQuestion q;
  q.training = Training{.tokens = 1e9, .tokens_per_step = 1000};
  q.options = {.replicas = 2, .threads = 1};
  const auto c = make_control(training_that_fails(), q);
  ASSERT_TRUE(c) << c.error().to_string();
  const Days& d = c->days.front();
  ASSERT_TRUE(d.at_stated);
  const std::string text = joined(text_lines(*c));
  const auto own = text.find("at the scenario's own, 10.0 min: ");
  ASSERT_NE(own, std::string::npos) << text;
  EXPECT_NE(text.find("\n    compute ", own), std::string::npos) << text;
  const Json parts = control_json(*c)["days"][0]["parts_at_given_interval"];
  double sum = 0;
  for (const auto& part : parts) sum += part.get<double>();
  EXPECT_NEAR(sum / d.at_stated->total.count(), 1, 1e-9);
  EXPECT_GT(parts["checkpoints_s"].get<double>(),
            control_json(*c)["days"][0]["parts"]["checkpoints_s"].get<double>());
}

TEST(Control, NothingAskedIsGoodputAlone) {
  const auto c = make_control(training_that_fails(), {});
  ASSERT_TRUE(c);
  EXPECT_FALSE(c->levers);
  EXPECT_EQ(c->goodput.size(), 1u);
  model::Scenario safe = training_that_fails();
  safe.failures = {};
  const auto nothing = make_control(safe, {});
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(text_lines(*nothing).empty());
}

TEST(Control, DaysSayWhichSizesAreTried) {
  const std::string note = "multiples of 2 nodes, which hold whole replicas";
  model::Scenario wide = training_that_fails();
  wide.job.as<model::TrainingJob>().layout.tensor = 4;
  wide.job.as<model::TrainingJob>().layout.data = 2;
  ControlQuestion q = everything();
  q.levers = false;
  q.target.reset();
  const auto asked = make_control(wide, q);
  ASSERT_TRUE(asked) << asked.error().to_string();
  EXPECT_EQ(asked->nodes_for->at.nodes % 2, 0);
  EXPECT_NE(joined(asked->notes).find(note), std::string::npos) << joined(asked->notes);
  q.training->within.reset();
  const auto not_asked = make_control(wide, q);
  ASSERT_TRUE(not_asked);
  EXPECT_EQ(joined(not_asked->notes).find(note), std::string::npos);
}

TEST(Control, SizesThatDoNotFitAreTold) {
  ControlQuestion q = everything();
  q.levers = false;
  q.target.reset();
  q.training->rule = BatchRule::Stays;
  q.training->within.reset();
  const auto c = make_control(training_that_fails(), q);
  ASSERT_TRUE(c) << c.error().to_string();
  EXPECT_EQ(c->days.size(), 1u);
  EXPECT_NE(joined(c->notes).find("8 nodes: 8 micro-batches cannot be shared out"), std::string::npos)
      << joined(c->notes);
}

}  // namespace
}  // namespace cox::forecast
