// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/way.hpp"

#include <gtest/gtest.h>

namespace cox::learn {
namespace {

using model::PolicyKind;

TEST(Way, WordsAndTheirNumbers) {
  const auto way = [](std::string_view text) {
    auto read = read_way(text);
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    return read.value_or(Way{});
  };
  EXPECT_EQ(way("synchronous").policy.kind, PolicyKind::Synchronous);
  EXPECT_EQ(way("backup,backups=3").policy.backups, 3);
  EXPECT_EQ(way("bounded-wait,staleness=5,servers=2").policy.staleness, 5);
  EXPECT_EQ(way("bounded-wait,staleness=5,servers=2").policy.servers, 2);
  EXPECT_EQ(way("bounded-discard").policy.kind, PolicyKind::BoundedDiscard);
  EXPECT_EQ(way("asynchronous").weight, AgeWeight::None);
  EXPECT_EQ(way("age-weighted").weight, AgeWeight::Inverse);
  EXPECT_EQ(way("age-weighted,decay=0.5").weight, AgeWeight::Exponential);
  EXPECT_EQ(way("age-weighted,decay=0.5").decay, 0.5);
  EXPECT_EQ(way("local-sgd,local-steps=6").policy.local_steps, 6);
  EXPECT_EQ(way("local-sgd").local_state, LocalState::Keep);
  EXPECT_EQ(way("local-sgd,reset=1").local_state, LocalState::Reset);
  EXPECT_EQ(way("post-local,synchronous-steps=7").synchronous_steps, 7);
  const Way diloco = way("diloco,outer-rate=0.5");
  EXPECT_EQ(diloco.outer.kind, OptimizerKind::Nesterov);
  EXPECT_EQ(diloco.outer.rate, 0.5);
  EXPECT_EQ(diloco.outer.momentum, 0.9);
  EXPECT_EQ(way("fedprox,proximal=2").proximal, 2);
  EXPECT_TRUE(way("scaffold").control_variates);
  const Way fedavg = way("fedavg,fraction=0.1,local-steps=5,k=2");
  EXPECT_EQ(fedavg.rule, Rule::Rounds);
  EXPECT_EQ(fedavg.rounds.fraction, 0.1);
  EXPECT_EQ(fedavg.rounds.dropped, 2);
  EXPECT_EQ(fedavg.policy.local_steps, 5);
  EXPECT_TRUE(fedavg.is_local());
  EXPECT_EQ(way("fedavg").rule, Rule::Policy) << "all clients, to the end: local SGD";
  EXPECT_EQ(way("scaffold,fraction=0.5").rule, Rule::Rounds);
  EXPECT_EQ(way("drop,k=2").rounds.dropped, 2);
  EXPECT_FALSE(way("drop").is_local()) << "gradients are averaged";
  EXPECT_EQ(way("time-out,seconds=0.25").time_out, Seconds{0.25});
  const Way groups = way("groups-bounded-wait,group=4,staleness=2");
  EXPECT_EQ(groups.rule, Rule::Groups);
  EXPECT_EQ(groups.group, 4);
  EXPECT_EQ(groups.policy.kind, PolicyKind::BoundedWait);
  EXPECT_EQ(groups.policy.staleness, 2);
  const Way servers = way("sharded-asynchronous,servers=3,pull=sparse,apply=2.5");
  EXPECT_EQ(servers.shards, 3);
  EXPECT_TRUE(servers.server.sparse_pulls);
  EXPECT_EQ(servers.server.apply, Bandwidth::gbyte_per_s(2.5));
  EXPECT_FALSE(way("sharded-bounded-wait,pull=dense").server.sparse_pulls);
  const Way dying =
      way("sharded-asynchronous,dies=1.5,server=2,standby=asynchronous,every=3,takes-over=0.25");
  EXPECT_EQ(dying.server.dies, Seconds{1.5});
  EXPECT_EQ(dying.server.dead, 2);
  EXPECT_EQ(dying.server.standby, Standby::Asynchronous);
  EXPECT_EQ(dying.server.copy_every, 3);
  EXPECT_EQ(dying.server.takes_over, Seconds{0.25});
  const Way copies = way("speculative,k=2");
  EXPECT_EQ(copies.rule, Rule::Rounds);
  EXPECT_EQ(copies.rounds.copies, 2);
  EXPECT_FALSE(copies.is_local());
  EXPECT_EQ(way("speculative").rounds.copies, 1);
  EXPECT_EQ(way("drop").rounds.copies, 0);
  EXPECT_TRUE(way("groups-asynchronous,group=2,by-speed=yes").by_speed);
  const Way elastic = way("elastic-bounded-wait,staleness=2,k=3,leaves=0.5,joins=1.5");
  EXPECT_EQ(elastic.rule, Rule::Groups);
  EXPECT_EQ(elastic.group, 1);
  EXPECT_EQ(elastic.elastic.count, 3);
  EXPECT_EQ(elastic.elastic.leave, Seconds{0.5});
  EXPECT_EQ(elastic.elastic.join, Seconds{1.5});
  EXPECT_EQ(way("gossip-ring").rule, Rule::Gossip);
  EXPECT_EQ(way("gossip-exponential").graph.graph, sync::GossipGraph::Exponential);
  EXPECT_EQ(way("gossip-torus").graph.graph, sync::GossipGraph::Torus);
  EXPECT_EQ(way("gossip-hypercube").graph.graph, sync::GossipGraph::Hypercube);
  EXPECT_EQ(way("gossip-complete").graph.graph, sync::GossipGraph::Complete);
  EXPECT_EQ(way("gossip-star").graph.graph, sync::GossipGraph::Star);
  const Way drawn = way("gossip-regular,degree=4,draw=7");
  EXPECT_EQ(drawn.rule, Rule::Gossip);
  EXPECT_EQ(drawn.graph.graph, sync::GossipGraph::Regular);
  EXPECT_EQ(drawn.graph.degree, 4);
  EXPECT_EQ(drawn.graph.draw, 7U);
  const Way elastic_averaging = way("easgd,centre=0.5,local-steps=4");
  EXPECT_EQ(elastic_averaging.centre, 0.5);
  EXPECT_EQ(elastic_averaging.policy.local_steps, 4);
  EXPECT_TRUE(way("easgd").is_local());
  EXPECT_EQ(way("easgd").policy.local_steps, 1);
  EXPECT_EQ(way("easgd-asynchronous,servers=2").policy.kind, PolicyKind::Asynchronous);
  const Way pairs = way("gossip-asynchronous,graph=hypercube");
  EXPECT_EQ(pairs.rule, Rule::Pairs);
  EXPECT_EQ(pairs.graph.graph, sync::GossipGraph::Hypercube);
  EXPECT_EQ(way("gossip-asynchronous").graph.graph, sync::GossipGraph::Halves);
  EXPECT_FALSE(read_way("gossip-asynchronous+int8"));
  EXPECT_FALSE(read_way("gossip-ring+int8"));
  const Way following = way("curvature-bound,staleness=8,probe=20");
  EXPECT_EQ(following.rule, Rule::Bound);
  EXPECT_EQ(following.policy.staleness, 8);
  EXPECT_EQ(following.probe, 20);
  EXPECT_EQ(way("groups-local-sgd,local-steps=4").policy.local_steps, 4);
  EXPECT_FALSE(way("local-sgd,local-steps=1").is_local()) << "gradients are averaged";
  EXPECT_TRUE(way("diloco,local-steps=1").is_local());
  const Way packed = way("local-sgd,local-steps=4+top-k,keep=0.1");
  EXPECT_EQ(packed.policy.local_steps, 4);
  EXPECT_EQ(packed.compressor.kind, CompressorKind::TopK);
  EXPECT_EQ(packed.compressor.keep, 0.1);
  EXPECT_EQ(way("synchronous").compressor.kind, CompressorKind::Dense);
  EXPECT_EQ(way("backup,backups=3").name, "backup,backups=3");
}

TEST(Way, WhatCannotBeReadIsOneLineThatSaysWhatCan) {
  for (const char* text : {"",
                           "sync",
                           "backup,backups",
                           "backup,backups=-1",
                           "synchronous,staleness=1",
                           "local-sgd,local-steps=0",
                           "diloco,outer-momentum=1",
                           "local-sgd,local-steps=x",
                           "drop,local-steps=2",
                           "fedavg,fraction=0",
                           "local-sgd,fraction=0.5",
                           "sharded-asynchronous,pull=some",
                           "asynchronous,pull=sparse",
                           "hogwild,apply=1",
                           "gossip-ring,degree=2",
                           "gossip-regular,degree=1",
                           "gossip-line",
                           "easgd,centre=2",
                           "easgd,centre=0",
                           "easgd+int8",
                           "easgd-asynchronous,local-steps=2",
                           "gossip-asynchronous,graph=complete",
                           "speculative,k=0",
                           "speculative+top-k,keep=0.1",
                           "elastic-synchronous",
                           "elastic-gossip,leaves=1",
                           "groups-asynchronous,by-speed=1",
                           "sharded-asynchronous,dies=1,server=4",
                           "sharded-asynchronous,server=1",
                           "sharded-asynchronous,standby=synchronous,takes-over=1",
                           "sharded-asynchronous,dies=1,takes-over=1",
                           "sharded-asynchronous,standby=synchronous,every=3",
                           "sharded-asynchronous,standby=asynchronous,every=0",
                           "sharded-asynchronous,dies=1,standby=synchronous,takes-over=-1",
                           "sharded-asynchronous,dies=1,standby=synchronous,takes-over=-0.5",
                           "sharded-asynchronous,server=0",
                           "sharded-asynchronous,dies=1,dies=2",
                           "elastic-synchronous,leaves=1,k=2,leaves=2"}) {
    const auto read = read_way(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().id, "learn-001");
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
  EXPECT_EQ(read_way("synchronous+zip").error().id, "learn-001");
  EXPECT_NE(read_way("sync").error().message.find("policy"), std::string::npos);
}

}  // namespace
}  // namespace cox::learn
