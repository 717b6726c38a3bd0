// SPDX-License-Identifier: Apache-2.0
#include "cox/train/train.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "cox/learn/replay.hpp"

#include "learn/drive/job_for_tests.hpp"

namespace cox::train {
namespace {

model::Scenario scenario(int replicas) {
  return learn::testing::job(replicas);
}

TrainQuestion question(int procs) {
  return {.problem = "quadratic,dimension=40,condition=30,noise=0.2",
          .optimizer = "momentum,rate=0.05",
          .samples = 2,
          .steps = 25,
          .procs = procs};
}

nlohmann::json result_of(const TrainAnswer& answer) {
  return nlohmann::json::parse(answer.json).at("result");
}

TEST(Train, LossesAreThoseThatLearnFindsAlongTheRecordedUpdates) {
  const auto file = std::filesystem::path(testing::TempDir()) / "train_test.csv";
  for (const int procs : {1, 2, 4}) {
    std::ostringstream updates;
    TrainQuestion q = question(procs);
    q.record = &updates;
    const auto made = train(scenario(8), q, {"job.toml"});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->workers, 8);
    std::ofstream(file) << updates.str();
    learn::ReplayQuestion along;
    along.problem = *learn::read_problem(q.problem);
    along.optimizer = *learn::read_optimizer(q.optimizer);
    along.share.samples = q.samples;
    const auto learned = learn::replay_updates(file, along, {});
    ASSERT_TRUE(learned) << learned.error().message;
    const auto ours = result_of(*made).at("points");
    const auto theirs = nlohmann::json::parse(learned->json).at("result").at("points");
    ASSERT_EQ(ours.size(), 7U);  // 0, 1, 2, 4, 8, 16, 25
    ASSERT_EQ(theirs.size(), ours.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      EXPECT_EQ(ours[i].at("version"), theirs[i].at("version"));
      EXPECT_EQ(ours[i].at("samples"), theirs[i].at("samples"));
      EXPECT_EQ(ours[i].at("loss").get<double>(), theirs[i].at("loss").get<double>()) << procs;
    }
  }
}

TEST(Train, RoundsOfLocalStepsAreLearnedAlongTheRecordedUpdates) {
  const auto file = std::filesystem::path(testing::TempDir()) / "train_rounds.csv";
  for (const char* policy : {"local-sgd,local-steps=5", "diloco,local-steps=5"}) {
    std::ostringstream updates;
    TrainQuestion q = question(2);
    q.way = *learn::read_way(policy);
    q.record = &updates;
    const auto made = train(scenario(8), q, {"job.toml"});
    ASSERT_TRUE(made) << made.error().message;
    std::ofstream(file) << updates.str();
    learn::ReplayQuestion along;
    along.problem = *learn::read_problem(q.problem);
    along.optimizer = *learn::read_optimizer(q.optimizer);
    along.way = q.way;
    along.share.samples = q.samples;
    const auto learned = learn::replay_updates(file, along, {});
    ASSERT_TRUE(learned) << learned.error().message;
    const auto ours = result_of(*made);
    const auto theirs = nlohmann::json::parse(learned->json).at("result").at("points");
    EXPECT_EQ(ours.at("local_steps"), 5);
    EXPECT_EQ(ours.at("versions"), 5);
    EXPECT_EQ(ours.at("samples"), 25 * 8 * 2);
    ASSERT_EQ(ours.at("points").size(), theirs.size());
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      EXPECT_EQ(ours.at("points")[i].at("version"), theirs[i].at("version"));
      EXPECT_EQ(ours.at("points")[i].at("samples"), theirs[i].at("samples"));
      EXPECT_EQ(ours.at("points")[i].at("loss").get<double>(), theirs[i].at("loss").get<double>()) << policy;
    }
  }
}

TEST(Train, TheDocumentHasCountedBytesBesideScheduledOnes) {
  for (const char* sum : {"fixed-order", "ring", "double-binary-tree", "hierarchical,group=2"}) {
    TrainQuestion q = question(4);
    q.all_reduce = sum;
    const auto made = train(scenario(8), q, {});
    ASSERT_TRUE(made) << made.error().message;
    const auto result = result_of(*made);
    ASSERT_EQ(result.at("ranks").size(), 4U);
    std::int64_t on_links = 0, sent = 0;
    for (const auto& rank : result.at("ranks")) {
      EXPECT_EQ(rank.at("sent_bytes"), rank.at("scheduled_bytes")) << sum;
      sent += rank.at("sent_bytes").get<std::int64_t>();
    }
    for (const auto& link : result.at("links")) on_links += link.at("bytes").get<std::int64_t>();
    EXPECT_EQ(on_links, sent) << sum;
    EXPECT_GT(sent, 25 * 40 * 4) << sum;
  }
}

TEST(Train, UnlikeWorkersAreThoseOfTheScenario) {
  TrainQuestion q = question(2);
  q.problem = "quadratic,dimension=10,spread=1";
  const auto two = train(scenario(4), q, {});
  q.procs = 4;
  const auto four = train(scenario(4), q, {});
  ASSERT_TRUE(two) << two.error().message;
  ASSERT_TRUE(four) << four.error().message;
  EXPECT_EQ(result_of(*two).at("parameters_hash"), result_of(*four).at("parameters_hash"));
}

TEST(Train, InMixedPrecisionLossesAreThoseThatLearnFinds) {
  const auto file = std::filesystem::path(testing::TempDir()) / "train_mixed.csv";
  for (const char* policy :
       {"synchronous+bf16,master=yes", "synchronous+fp16,master=yes,loss-scale=1048576,dynamic=yes"})
    for (const char* layout : {"data-parallel", "zero-2"}) {
      std::ostringstream updates;
      TrainQuestion q = question(4);
      q.way = *learn::read_way(policy);
      q.layout = layout;
      q.record = &updates;
      const auto made = train(scenario(8), q, {"job.toml"});
      ASSERT_TRUE(made) << made.error().message;
      std::ofstream(file) << updates.str();
      learn::ReplayQuestion along;
      along.problem = *learn::read_problem(q.problem);
      along.optimizer = *learn::read_optimizer(q.optimizer);
      along.way = q.way;
      along.share.samples = q.samples;
      const auto learned = learn::replay_updates(file, along, {});
      ASSERT_TRUE(learned) << learned.error().message;
      const auto ours = result_of(*made);
      const auto theirs = nlohmann::json::parse(learned->json).at("result").at("points");
      ASSERT_EQ(ours.at("points").size(), theirs.size());
      for (std::size_t i = 0; i < theirs.size(); ++i)
        EXPECT_EQ(ours.at("points")[i].at("loss").get<double>(), theirs[i].at("loss").get<double>())
            << policy;
      const bool scaled = std::string(policy).find("fp16") != std::string::npos;
      EXPECT_EQ(ours.at("precision"), scaled ? "fp16" : "bf16");
      EXPECT_EQ(ours.at("skipped_steps").is_null(), !scaled);
      if (scaled) {
        EXPECT_GT(ours.at("skipped_steps").get<int>(), 0);
      }
      for (const auto& rank : ours.at("ranks")) {
        EXPECT_EQ(rank.at("sent_bytes"), rank.at("scheduled_bytes")) << policy << layout;
        EXPECT_EQ(rank.at("memory_bytes"), rank.at("planned_memory_bytes")) << policy << layout;
        EXPECT_GT(rank.at("memory").at("master_bytes").get<int>(), 0);
      }
    }
}

/// What is said where the question is not answered.
Error refused(const TrainQuestion& q, const model::Scenario& s) {
  const auto made = train(s, q, {});
  EXPECT_FALSE(made);
  return made ? Error{} : made.error();
}

TEST(Train, WhatProcessesDoNotCarryOutIsRefused) {
  TrainQuestion q = question(2);
  for (const char* policy :
       {"scaffold,local-steps=4,fraction=0.5", "fedavg,local-steps=4,fraction=0.5", "gossip-ring", "easgd",
        "easgd-asynchronous", "drop,k=1", "hogwild", "groups-asynchronous,group=2", "synchronous+sign",
        "local-sgd,local-steps=5+sign"}) {
    q.way = *learn::read_way(policy);
    const Error e = refused(q, scenario(4));
    EXPECT_EQ(e.id, "train-001");
    EXPECT_EQ(e.code, Errc::Unsupported);
    EXPECT_EQ(e.message, std::string(policy) + " is not carried out by processes yet");
  }
  q.way = *learn::read_way("synchronous+fp16,loss-scale=8");
  EXPECT_EQ(
      refused(q, scenario(4)).hint,
      "synchronous+fp16,loss-scale=8,master=yes is: mixed precision, with parameters in two bytes, too");
  q.way = *learn::read_way("synchronous+bf16,master=yes");
  q.layout = "pipeline";
  EXPECT_EQ(refused(q, scenario(4)).message,
            "pipeline computes in FP32, and synchronous+bf16,master=yes is mixed precision");
  q.layout = "zero-1";
  q.all_reduce = "ring";
  EXPECT_EQ(refused(q, scenario(4)).message, "zero-1 sums in fixed order, and ring is another");
  q.layout = "data-parallel";
  EXPECT_EQ(
      refused(q, scenario(4)).message,
      "synchronous+bf16,master=yes sums in fixed order, rounded at each addition, and ring is another order");
  q.all_reduce = "fixed-order";
  q.way = *learn::read_way("asynchronous+bf16,master=yes");
  EXPECT_EQ(refused(q, scenario(4)).message,
            "asynchronous+bf16,master=yes is not carried out by processes yet");
  q.way = *learn::read_way("asynchronous,servers=2");
  EXPECT_EQ(refused(q, scenario(4)).message, "asynchronous,servers=2 has 2 servers, and processes have one");
  EXPECT_EQ(refused(q, scenario(4)).hint, "say --policy asynchronous");
  q.way = *learn::read_way("bounded-wait,staleness=1");
  q.procs = 1;
  EXPECT_EQ(refused(q, scenario(4)).message,
            "bounded-wait,staleness=1 has a server, and one process is no two");
  q.procs = 6;
  EXPECT_EQ(refused(q, scenario(4)).message, "5 processes for 4 workers: each holds one at least");
  q.procs = 2;
  for (const auto& [layout, sum] : {std::pair{"zero-1", "fixed-order"}, {"data-parallel", "ring"}}) {
    q.layout = layout;
    q.all_reduce = sum;
    EXPECT_EQ(
        refused(q, scenario(4)).message,
        "under bounded-wait,staleness=1 gradients go to a server: there is no layout and no all-reduce");
  }
  q.layout = "data-parallel";
  q.all_reduce = "fixed-order";
  q.predict = true;
  EXPECT_EQ(refused(q, scenario(4)).id, "train-001");
  q.predict = false;
  q.inject = "rank=0,nan=5";
  EXPECT_EQ(refused(q, scenario(4)).message,
            "rank 0 is the server under bounded-wait,staleness=1, and computes no gradient to spoil");
  q.inject.clear();
  std::ostringstream updates;
  q.record = &updates;
  q.steps = 1'000'000;
  q.carrier = Carrier::OpenMpi;
  EXPECT_EQ(refused(q, scenario(4)).message,
            "the updates of 1000000 steps of 4 workers are more than can be kept until the end");
  q = question(2);
  q.way = *learn::read_way("local-sgd,local-steps=4");
  EXPECT_EQ(refused(q, scenario(4)).message, "25 steps are no whole rounds of 4");
  q.way = *learn::read_way("post-local,synchronous-steps=10,local-steps=4");
  EXPECT_EQ(refused(q, scenario(4)).message, "15 steps are no whole rounds of 4");
  EXPECT_EQ(refused(q, scenario(4)).hint, "--steps 26");
  q.way = *learn::read_way("local-sgd,local-steps=4");
  q.steps = 24;
  q.layout = "zero-1";
  EXPECT_EQ(refused(q, scenario(4)).message,
            "zero-1 shares parameters, and workers of local-sgd,local-steps=4 have their own");
  q.layout = "data-parallel";
  EXPECT_EQ(refused(question(5), scenario(4)).message, "5 processes for 4 workers: each holds one at least");
  EXPECT_EQ(refused(question(65), scenario(80)).id, "train-001");
  q = question(2);
  q.problem = "quadratic,spread=1,workers=3";
  EXPECT_EQ(refused(q, scenario(4)).message, "the problem is made for 3 workers, and the job has 4");
  q.problem = "quadratic,dimension=1000000000";
  EXPECT_FALSE(train(scenario(4), q, {}));
  q = question(2);
  q.layout = "zero-1";
  q.all_reduce = "ring";
  EXPECT_EQ(refused(q, scenario(4)).message, "zero-1 sums in fixed order, and ring is another");
  q = question(2);
  q.all_reduce = "in-network";
  EXPECT_EQ(refused(q, scenario(4)).id, "train-002");
  q.all_reduce = "hierarchical,group=3";
  EXPECT_EQ(refused(q, scenario(4)).id, "model-001");
}

/// Two replicas in three stages, two micro-batches each.
std::pair<TrainQuestion, model::Scenario> staged() {
  model::Scenario s = scenario(6);
  auto& work = s.job.as<model::TrainingJob>();
  work.layout = {.data = 2, .pipeline = 3};
  work.micro_batches = 2;
  TrainQuestion q = question(6);
  q.problem = "mlp,dimension=8,hidden=16,layers=5,pairs=1,held-out=100";
  q.layout = "pipeline";
  return {q, s};
}

/// Two replicas whose layers four devices share.
std::pair<TrainQuestion, model::Scenario> sliced() {
  model::Scenario s = scenario(8);
  s.cluster.nodes = 2;
  s.cluster.devices_per_node = 4;
  s.job.as<model::TrainingJob>().layout = {.data = 2, .tensor = 4};
  TrainQuestion q = question(8);
  q.problem = "mlp,dimension=8,hidden=16,layers=3,pairs=1,blocks=4,held-out=100";
  q.layout = "tensor";
  return {q, s};
}

TEST(Train, SlicesLearnWhatTheUnsplitModelLearns) {
  const auto [q, s] = sliced();
  TrainQuestion whole = q;
  whole.layout = "data-parallel";
  whole.procs = 1;
  const auto expected = train(s, whole, {});
  ASSERT_TRUE(expected) << expected.error().message;
  EXPECT_TRUE(result_of(*expected).at("tensor").is_null());
  for (const int procs : {4, 8}) {
    TrainQuestion other = q;
    other.procs = procs;
    const auto made = train(s, other, {});
    ASSERT_TRUE(made) << made.error().message;
    const auto result = result_of(*made);
    EXPECT_EQ(result.at("parameters_hash"), result_of(*expected).at("parameters_hash"));
    EXPECT_EQ(result.at("layout"), "tensor");
    EXPECT_EQ(result.at("tensor").at("groups"), procs / 4);
    EXPECT_EQ(result.at("tensor").at("slices"), 4);
    EXPECT_EQ(result.at("tensor").at("unsplit_bits"), true);
    for (const auto& rank : result.at("ranks")) {
      EXPECT_EQ(rank.at("sent_bytes"), rank.at("scheduled_bytes"));
      EXPECT_EQ(rank.at("memory_bytes"), rank.at("planned_memory_bytes"));
      EXPECT_GT(rank.at("memory").at("activations_bytes"), 0);
    }
  }
}

TEST(Train, SlicesOfOtherBitsNameTheProblemThatHasThem) {
  auto [q, s] = sliced();
  q.procs = 4;
  q.steps = 1;
  for (const auto& [problem, said] : {std::pair{"mlp,hidden=16", "(--problem mlp,blocks=4"},
                                      {"text,hidden=8,heads=4,context=6,held-out=4", "text,blocks=4"}}) {
    q.problem = problem;
    const auto made = train(s, q, {});
    if (!made && made.error().id == "learn-003") GTEST_SKIP() << made.error().message;
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(std::ranges::any_of(made->lines, [&](const TextLine& line) {
      return line.text.find(said) != std::string::npos;
    })) << problem;
  }
}

TEST(Train, SlicesThatCannotBeMadeAreRefused) {
  const auto [q, s] = sliced();
  TrainQuestion other = q;
  other.procs = 6;
  EXPECT_EQ(refused(other, s).message, "6 processes are no whole groups of 4 slices");
  EXPECT_EQ(refused(other, s).hint, "--procs 4, or a multiple of it");
  other = q;
  other.problem = "mlp,hidden=18";
  EXPECT_EQ(refused(other, s).message, "18 hidden cannot be cut into 4 equal slices");
  EXPECT_EQ(refused(other, s).hint, "another job.layout.tensor, or --problem mlp,hidden=20");
  other.problem = "quadratic";
  EXPECT_EQ(refused(other, s).message, "quadratic is not cut within its layers");
  other = q;
  other.all_reduce = "ring";
  EXPECT_EQ(refused(other, s).message, "tensor sums in fixed order, and ring is another");
  other = q;
  other.way = *learn::read_way("asynchronous");
  EXPECT_EQ(refused(other, s).message,
            "under asynchronous gradients go to a server: there is no layout and no all-reduce");
  other.way = *learn::read_way("local-sgd,local-steps=5");
  EXPECT_EQ(refused(other, s).message,
            "tensor shares parameters, and workers of local-sgd,local-steps=5 have their own");
  other.way = *learn::read_way("synchronous+bf16,master=yes");
  EXPECT_EQ(refused(other, s).message,
            "tensor computes in FP32, and synchronous+bf16,master=yes is mixed precision");
  model::Scenario staged = s;
  staged.job.as<model::TrainingJob>().layout = {.data = 1, .tensor = 4, .pipeline = 2};
  EXPECT_EQ(refused(q, staged).message,
            "tensor is carried out alone or beside data, and job.layout.pipeline is 2, too");
}

// W workers with L leaves and W L workers with one do the same.
TEST(Train, APipelineLearnsWhatWorkersOfOneMicroBatchLearn) {
  auto [q, s] = staged();
  TrainQuestion whole = q;
  whole.layout = "data-parallel";
  whole.samples = 1;
  whole.procs = 1;
  const auto expected = train(scenario(4), whole, {});
  ASSERT_TRUE(expected) << expected.error().message;
  for (const char* layout : {"pipeline", "pipeline,recompute=1"})
    for (const auto schedule :
         {model::PipelineSchedule::GPipe, model::PipelineSchedule::OneForwardOneBackward,
          model::PipelineSchedule::Interleaved, model::PipelineSchedule::ZeroBubble})
      for (const int procs : {3, 6}) {
        q.layout = layout;
        q.procs = procs;
        auto& work = s.job.as<model::TrainingJob>();
        work.schedule = schedule;
        work.interleave = 2;
        const auto made = train(s, q, {});
        ASSERT_TRUE(made) << made.error().message;
        const auto result = result_of(*made);
        EXPECT_EQ(result.at("parameters_hash"), result_of(*expected).at("parameters_hash"));
        EXPECT_EQ(result.at("layout"), "pipeline");
        EXPECT_EQ(result.at("pipeline").at("pipelines"), procs / 3);
        EXPECT_EQ(result.at("pipeline").at("chunks"),
                  schedule == model::PipelineSchedule::Interleaved ? 2 : 1);
        EXPECT_EQ(result.at("pipeline").at("recompute"), std::string(layout) != "pipeline");
        for (const auto& rank : result.at("ranks")) {
          EXPECT_EQ(rank.at("sent_bytes"), rank.at("scheduled_bytes"));
          EXPECT_EQ(rank.at("memory_bytes"), rank.at("planned_memory_bytes"));
          EXPECT_GT(rank.at("memory").at("activations_bytes"), 0);
        }
      }
}

TEST(Train, StagesThatCannotBeMadeAreRefused) {
  const auto [q, s] = staged();
  TrainQuestion other = q;
  other.procs = 4;
  EXPECT_EQ(refused(other, s).message, "4 processes are no whole pipelines of 3 stages");
  EXPECT_EQ(refused(other, s).hint, "--procs 3, or a multiple of it");
  other.procs = 9;
  EXPECT_EQ(refused(other, s).message, "3 pipelines for 2 workers: each takes one at least");
  other = q;
  other.problem = "mlp,layers=1";
  EXPECT_EQ(refused(other, s).message, "2 layers cannot be cut into 3 stages of 1 chunks");
  other.problem = "quadratic";
  EXPECT_EQ(refused(other, s).message, "quadratic is not cut into stages");
  other = q;
  other.samples = 3;
  EXPECT_EQ(refused(other, s).message, "3 samples of a worker are no 2 micro-batches");
  other = q;
  other.all_reduce = "ring";
  EXPECT_EQ(refused(other, s).message, "pipeline sums in fixed order, and ring is another");
  std::ostringstream updates;
  other = q;
  other.record = &updates;
  EXPECT_EQ(refused(other, s).message,
            "each of 2 micro-batches is a leaf of the sum, which updates do not say");
  other = q;
  other.layout = "pipelines";
  EXPECT_EQ(refused(other, s).hint, "did you mean pipeline?");
}

TEST(Train, AProgramThatIsNotThereIsNamed) {
  TrainQuestion q = question(2);
  q.carrier = Carrier::OpenMpi;
  q.programs = "/nowhere";
  const Error e = refused(q, scenario(4));
  EXPECT_EQ(e.id, "train-005");
  EXPECT_EQ(e.message, "/nowhere/cox-train-openmpi is not there or cannot be executed");
}

TEST(Train, WhatALauncherLeavesIsReadOrNamed) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "train_programs";
  std::filesystem::create_directories(folder);
  const auto program = folder / "cox-train-mpich";
  TrainQuestion q = question(1);
  q.carrier = Carrier::Mpich;
  q.programs = folder;
  q.launch = {"env"};
  const auto says = [&](const std::string& script) {
    std::ofstream(program) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    return refused(q, scenario(4));
  };
  EXPECT_EQ(says("exit 7").message, "env ended with status 7");
  EXPECT_EQ(says("echo hello").id, "train-005");
  const Error late = says("printf 'failed\\ttrain-003\\trank 1 waited\\tlook\\n'; exit 1");
  EXPECT_EQ(late.code, Errc::Timeout);
  EXPECT_EQ(late.message, "rank 1 waited");
  // The words of the job reach the program.
  EXPECT_EQ(says("for w in \"$@\"; do case $w in steps=25) exit 9;; esac; done").message,
            "env ended with status 9");
}

}  // namespace
}  // namespace cox::train
