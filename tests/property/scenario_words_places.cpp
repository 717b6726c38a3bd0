// SPDX-License-Identifier: Apache-2.0
// No word without effect: places, classes of nodes, cards and neighbours.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "property/scenario_words.hpp"

namespace cox::simulate::words {
namespace {

class PlaceWords : public Words {
 protected:
  PlaceWords() {
    put("in-turn.txt", "0\n2\n4\n6\n1\n3\n5\n7\n");
    put("reversed.txt", "7\n1\n5\n4\n3\n2\n6\n0\n");
  }
  /// Everything about places, and what they are about.
  void walk_places(const Base& base) {
    for (const char* part : {"job.nodes", "job.placement", "cluster.", "fabric.", "neighbour", "job.order",
                             "job.collective.", "engine"})
      walk(base, part);
  }
  const Table cards_ = {{"cluster.nics_per_node", "2"}};
  const Table bound_ = {{"cluster.nics_per_node", "2"},
                        {"cluster.nic_of", "[1, 0]"},
                        {"cluster.bridge.latency", "\"1us\""},
                        {"cluster.bridge.bandwidth", "\"8GB/s\""}};
  const Table training_ = {{"job.workload", "\"training\""},
                           {"job.steps", "3"},
                           {"job.optimizer", "\"1ms\""},
                           {"job.bucket", "\"15MB\""}};
  const Table training_without_buckets_ = {
      {"job.workload", "\"training\""}, {"job.steps", "3"}, {"job.optimizer", "\"1ms\""}};
  const Table layers_ = {{"count", "4"},
                         {"forward", "\"1ms\""},
                         {"backward", "\"2ms\""},
                         {"gradients", "\"20MB\""},
                         {"activations", "\"4MB\""}};
};

TEST_F(PlaceWords, OfPlacements) {
  for (const std::string rule : {"scattered", "by-rail", "random", "file"}) {
    Table places = {{"job.placement", "\"" + rule + "\""}};
    if (rule == "file") say(places, "job.placement_file", "\"in-turn.txt\"");
    std::set<std::string> has = {"places", "fabrics", "shares", "cards"};
    if (rule == "random") has.insert("draws");
    if (rule != "random") has.insert("outside");  // each neighbour in a ring is on another node
    for (const std::string e : {"auto", "flow"}) {
      walk_places({e + " ring, " + rule, kPairs + cards_ + kTree + kRing + places + engine(e), {}, {}, has});
      walk_places(
          {e + " step, " + rule, kPairs + cards_ + kTree + training_ + places + engine(e), layers_, {}, has});
    }
  }
}

// Of four devices three use another one's card: all three at another socket, or one where each socket has two.
TEST_F(PlaceWords, OfSockets) {
  walk({"cards of other sockets",
        kPairs + kExchange + engine("flow") +
            Table{{"cluster.devices_per_node", "4"},
                  {"cluster.nics_per_node", "4"},
                  {"cluster.nic_of", "[1, 0, 2, 0]"},
                  {"cluster.sockets", "4"},
                  {"cluster.socket.latency", "\"5us\""},
                  {"cluster.socket.bandwidth", "\"5GB/s\""}},
        {},
        {},
        {"cards"}},
       "cluster.socket");
}

TEST_F(PlaceWords, OfNoise) {
  const Table work = {{"job.compute", "\"1ms\""}, {"job.steps", "6"}};
  const Table scattered = {{"job.placement", "\"scattered\""}};
  for (const std::string target : {"compute", "message", "bandwidth"})
    for (const std::string scope : {"node", "switch", "rail"}) {
      const Table noise = {{"law", "\"lognormal\""},
                           {"cv", "0.3"},
                           {"scope", "\"" + scope + "\""},
                           {"target", "\"" + target + "\""}};
      for (const char* key : {"noise[].scope", "job.placement", "seed"}) {
        walk({"scattered ring, noise of " + target + " by " + scope,
              kPairs + cards_ + kTree + kRing + work + scattered,
              {},
              noise,
              {"places", "noise", "draws"}},
             key);
        walk({"scattered step, noise of " + target + " by " + scope,
              kPairs + cards_ + kTree + training_ + scattered,
              layers_,
              noise,
              {"places", "noise", "draws"}},
             key);
      }
    }
}

TEST_F(PlaceWords, OfNodes) {
  const Table nodes = {{"job.nodes", "[0, 2]"}};
  for (const std::string e : {"auto", "flow"}) {
    walk_places(
        {e + " ring on some nodes", kPairs + kTree + kRing + nodes + engine(e), {}, {}, {"places", "idle"}});
    walk_places({e + " step on some nodes",
                 kPairs + kTree + training_ + nodes + engine(e),
                 layers_,
                 {},
                 {"places", "idle"}});
  }
}

TEST_F(PlaceWords, OfCards) {
  for (const std::string e : {"auto", "flow"}) {
    walk_places({e + " exchange over bridges", kPairs + bound_ + kExchange + engine(e), {}, {}, {"cards"}});
    Table sockets = bound_;
    std::erase_if(sockets, [](const auto& entry) { return entry.first.starts_with("cluster.bridge."); });
    walk_places({e + " exchange over sockets",
                 kPairs + sockets + kExchange + engine(e) +
                     Table{{"cluster.sockets", "2"}, {"cluster.socket.bandwidth", "\"8GB/s\""}},
                 {},
                 {},
                 {"cards"}});
    walk_places({e + " step over bridges",
                 kPairs + bound_ + training_ + Table{{"job.layout.tensor", "2"}} + engine(e),
                 layers_,
                 {},
                 {"cards"}});
  }
}

TEST_F(PlaceWords, OfClasses) {
  const Table old = {{"first", "1"}, {"count", "2"}, {"speed", "0.5"}, {"nic_bandwidth", "\"6GB/s\""}};
  const Table slow = {{"count", "1"}, {"speed", "0.5"}};
  const Table work = {{"job.compute", "\"1ms\""}};
  for (const std::string e : {"auto", "flow"}) {
    walk_places(
        {e + " ring, old nodes", kPairs + cards_ + kExchange + work + engine(e), {}, {}, {"cards"}, {}, old});
    walk_places({e + " step, old nodes",
                 kPairs + cards_ + training_ + Table{{"job.layout.tensor", "2"}} + engine(e),
                 layers_,
                 {},
                 {"cards"},
                 {},
                 old});
  }
  const Table draws = {{"count", "1"},
                       {"speed", "2"},
                       {"power_busy", "\"3kW\""},
                       {"power_transfer", "\"1kW\""},
                       {"power_wait", "\"500W\""},
                       {"power_idle", "\"100W\""},
                       {"node_hour", "2"}};
  const Table known = {{"power.busy", "\"1kW\""}, {"price.node_hour", "3"}, {"start.fixed", "\"1ms\""}};
  for (const std::string policy : {"synchronous", "asynchronous", "backup"})
    for (const char* only : {"cluster.classes[].power_", "cluster.classes[].node_hour"})
      walk({"step, " + policy + ", nodes that draw otherwise",
            kEight + training_without_buckets_ + known + Table{{"policy.kind", "\"" + policy + "\""}} +
                (policy == "backup" ? Table{{"policy.backups", "1"}} : Table{}),
            layers_,
            {},
            {},
            {},
            draws},
           only);
  walk_places({"max-plus ring, slow node", kEight + kRing + work + engine("max-plus"), {}, {}, {}, {}, slow});
  walk_places(
      {"max-plus step, slow node", kEight + training_ + engine("max-plus"), layers_, {}, {}, {}, slow});
}

TEST_F(PlaceWords, OfNeighbours) {
  const Table flows = {{"nodes", "[1, 2]"}, {"bytes", "\"3GB\""}};
  const Table bursts = {{"nodes", "[1, 2]"}, {"bytes", "\"3MB\""}, {"period", "\"2ms\""}};
  const Table job = {
      {"kind", "\"collective\""}, {"nodes", "[1, 2]"}, {"bytes", "\"8MB\""}, {"compute", "\"20us\""}};
  const Table replicas = {{"kind", "\"training\""},  {"nodes", "[1, 2]"},       {"bytes", "\"8MB\""},
                          {"compute", "\"100us\""},  {"backward", "\"200us\""}, {"bucket", "\"3MB\""},
                          {"optimizer", "\"100us\""}};
  const Table steps = {{"job.steps", "4"}};
  for (const std::string e : {"auto", "flow"})
    for (const auto& [name, neighbour] :
         {std::pair{"flows", flows}, {"bursts", bursts}, {"job", job}, {"training", replicas}}) {
      std::set<std::string> has;
      if (neighbour != flows) has.insert("bursts");
      walk_places({e + " ring beside " + name,
                   kEight + kTree + kRing + steps + engine(e),
                   {},
                   {},
                   has,
                   {},
                   {},
                   neighbour});
      walk_places({e + " step beside " + name,
                   kEight + kTree + training_ + steps + engine(e),
                   layers_,
                   {},
                   has,
                   {},
                   {},
                   neighbour});
    }
}

TEST_F(PlaceWords, OfNeighboursOfServers) {
  const Table flows = {{"nodes", "[1, 2]"}, {"bytes", "\"3GB\""}};
  const Table bursts = {{"nodes", "[1, 2]"}, {"bytes", "\"3MB\""}, {"period", "\"2ms\""}};
  const Table policy = {{"job.steps", "4"}, {"policy.kind", "\"bounded-wait\""}, {"policy.servers", "4"}};
  for (const auto& [name, neighbour] : {std::pair{"flows", flows}, {"bursts", bursts}})
    walk({std::string("servers beside ") + name,
          kEight + kTree + training_without_buckets_ + policy,
          layers_,
          {},
          neighbour != flows ? std::set<std::string>{"bursts"} : std::set<std::string>{},
          {},
          {},
          neighbour},
         "neighbour");
}

// On several nodes of two devices, where algorithms of groups and of distances differ.
TEST_F(PlaceWords, OfAlgorithmsOfNeighbours) {
  const Table job = {
      {"kind", "\"collective\""}, {"nodes", "[0, 1, 2, 3]"}, {"bytes", "\"8MB\""}, {"compute", "\"20us\""}};
  walk({"ring beside a job of pairs",
        kPairs + kTree + kRing + Table{{"job.steps", "4"}, {"cluster.nics_per_node", "2"}},
        {},
        {},
        {"bursts"},
        {},
        {},
        job},
       "neighbour[].algorithm");
}

}  // namespace
}  // namespace cox::simulate::words
