// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/way.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "learn/problem/settings.hpp"

namespace cox::learn {
namespace {

using model::PolicyKind;

/// A word, the policy behind it, and what it fills in.
struct Word {
  std::string_view name;
  PolicyKind kind;
};
constexpr std::array kWords = {Word{"synchronous", PolicyKind::Synchronous},
                               Word{"backup", PolicyKind::Backup},
                               Word{"bounded-wait", PolicyKind::BoundedWait},
                               Word{"bounded-discard", PolicyKind::BoundedDiscard},
                               Word{"asynchronous", PolicyKind::Asynchronous},
                               Word{"age-weighted", PolicyKind::Asynchronous},
                               Word{"local-sgd", PolicyKind::LocalSgd},
                               Word{"post-local", PolicyKind::LocalSgd},
                               Word{"diloco", PolicyKind::LocalSgd},
                               Word{"fedprox", PolicyKind::LocalSgd},
                               Word{"scaffold", PolicyKind::LocalSgd},
                               Word{"fedavg", PolicyKind::LocalSgd},
                               Word{"easgd", PolicyKind::LocalSgd},
                               Word{"easgd-asynchronous", PolicyKind::Asynchronous},
                               Word{"drop", PolicyKind::LocalSgd},
                               Word{"time-out", PolicyKind::LocalSgd},
                               Word{"speculative", PolicyKind::LocalSgd},
                               Word{"elastic-synchronous", PolicyKind::Synchronous},
                               Word{"elastic-backup", PolicyKind::Backup},
                               Word{"elastic-bounded-wait", PolicyKind::BoundedWait},
                               Word{"elastic-bounded-discard", PolicyKind::BoundedDiscard},
                               Word{"elastic-asynchronous", PolicyKind::Asynchronous},
                               Word{"elastic-local-sgd", PolicyKind::LocalSgd},
                               Word{"groups-asynchronous", PolicyKind::Asynchronous},
                               Word{"groups-bounded-wait", PolicyKind::BoundedWait},
                               Word{"groups-local-sgd", PolicyKind::LocalSgd},
                               Word{"curvature-bound", PolicyKind::BoundedWait},
                               Word{"sharded-asynchronous", PolicyKind::Asynchronous},
                               Word{"sharded-bounded-wait", PolicyKind::BoundedWait},
                               Word{"pipedream", PolicyKind::Asynchronous},
                               Word{"hogwild", PolicyKind::Asynchronous},
                               Word{"gossip-ring", PolicyKind::Synchronous},
                               Word{"gossip-torus", PolicyKind::Synchronous},
                               Word{"gossip-hypercube", PolicyKind::Synchronous},
                               Word{"gossip-exponential", PolicyKind::Synchronous},
                               Word{"gossip-complete", PolicyKind::Synchronous},
                               Word{"gossip-star", PolicyKind::Synchronous},
                               Word{"gossip-regular", PolicyKind::Synchronous},
                               Word{"gossip-asynchronous", PolicyKind::Synchronous}};

/// Graphs of gossip, as words.
struct GraphWord {
  std::string_view name;
  sync::GossipGraph graph;
};
constexpr std::array kGraphs = {GraphWord{"ring", sync::GossipGraph::Ring},
                                GraphWord{"torus", sync::GossipGraph::Torus},
                                GraphWord{"hypercube", sync::GossipGraph::Hypercube},
                                GraphWord{"exponential", sync::GossipGraph::Exponential},
                                GraphWord{"complete", sync::GossipGraph::Complete},
                                GraphWord{"star", sync::GossipGraph::Star},
                                GraphWord{"regular", sync::GossipGraph::Regular}};

/// Graphs of pairs: how a setting says them, and what they are.
constexpr std::array<std::string_view, 5> kPairGraphs{"halves", "ring", "torus", "hypercube", "star"};
constexpr std::array kGraphsOfPairs{sync::GossipGraph::Halves, sync::GossipGraph::Ring,
                                    sync::GossipGraph::Torus, sync::GossipGraph::Hypercube,
                                    sync::GossipGraph::Star};

/// Numbers of a way as they are read, before they go to where they belong.
struct Numbers {
  std::int64_t staleness = 3;
  std::int64_t backups = 1;
  std::int64_t local_steps = 8;
  std::int64_t servers = 1;
  std::int64_t reset = 0;
  std::int64_t dropped = 0;
  double time_out = 0;  ///< seconds
  std::int64_t group = 2;
  std::int64_t blocks = 16;
  std::int64_t sparse = 0;
  double apply = 0;  ///< gigabytes a second
  std::int64_t standby = 0;
  std::int64_t every = ServerSpec{}.copy_every;
  double dies = 0;  ///< seconds
  std::int64_t server = 0;
  double takes_over = ServerSpec{}.takes_over.count();
  bool every_said = false, server_said = false, takes_over_said = false;
  std::int64_t copies = 0;
  std::int64_t by_speed = 0;
  std::int64_t elastic = 1;      ///< workers
  double leaves = 0, joins = 0;  ///< seconds
  std::int64_t degree = sync::GossipSpec{}.degree;
  std::int64_t draw = 1;
  std::int64_t pairs = 0;  ///< which graph
};

/// Rules whose parameters have versions in parts.
bool is_sharded(std::string_view name) {
  return name.starts_with("sharded-") || name == "pipedream" || name == "hogwild";
}

/// Nothing compresses what these bring.
Status check_uncompressed(const Way& way, std::string_view name, const char* brings) {
  if (way.compressor.kind == CompressorKind::Dense) return {};
  return fail({.code = Errc::Usage,
               .id = "learn-001",
               .message = std::string(name) + " sends " + brings + ", which nothing here compresses",
               .hint = "leave the compressor out",
               .where = std::nullopt});
}

/// Who holds the shards, and how many there are.
void set_shards(std::string_view name, const Numbers& n, Way& way) {
  way.rule = Rule::Shards;
  way.sharding = name == "pipedream" ? Sharding::Pipeline
                 : name == "hogwild" ? Sharding::Memory
                                     : Sharding::Servers;
  way.shards = way.sharding == Sharding::Pipeline ? 0
               : way.sharding == Sharding::Memory ? static_cast<int>(n.blocks)
                                                  : static_cast<int>(n.servers);
  way.server.sparse_pulls = n.sparse != 0;
  way.server.apply = Bandwidth::gbyte_per_s(n.apply);
}

tl::unexpected<Error> unfit(std::string message, std::string hint) {
  return fail({.code = Errc::Usage,
               .id = "learn-001",
               .message = std::move(message),
               .hint = std::move(hint),
               .where = std::nullopt});
}

/// A server that dies, and who stands by.
Status set_death(std::string_view name, const Numbers& n, Way& way) {
  ServerSpec& s = way.server;
  s.standby = static_cast<Standby>(n.standby);
  s.dies = Seconds{n.dies};
  s.dead = static_cast<int>(n.server);
  s.copy_every = n.every;
  s.takes_over = Seconds{n.takes_over};
  if (n.server >= n.servers)
    return unfit(fmt::format("server of {} is {}, expected a whole number from 0 to {}", name, n.server,
                             n.servers - 1),
                 "servers are counted from 0");
  if (n.dies == 0 && (n.server_said || n.takes_over_said))
    return unfit(fmt::format("{} of {} has no meaning where no server dies",
                             n.server_said ? "server" : "takes-over", name),
                 "say when, as dies=SECONDS");
  if (n.takes_over_said && s.standby == Standby::None)
    return unfit(fmt::format("takes-over of {} has no meaning without a standby", name),
                 "say standby=synchronous, or asynchronous");
  if (n.every_said && s.standby != Standby::Asynchronous)
    return unfit(fmt::format("every of {} has no meaning: copies are those of standby=asynchronous", name),
                 "leave it out");
  return {};
}

constexpr double kMostSteps = 1e9;
constexpr std::array<std::string_view, 2> kPulls{"dense", "sparse"};
constexpr std::array<std::string_view, 2> kYesOrNo{"no", "yes"};
constexpr std::array<std::string_view, 3> kStandbys{"none", "synchronous", "asynchronous"};

std::vector<Setting> settings_of(std::string_view name, Way& way, Numbers& n) {
  std::vector<Setting> all;
  switch (way.policy.kind) {
    case PolicyKind::Synchronous:
      break;
    case PolicyKind::Backup:
      all.push_back({"backups", &n.backups, 0, 1 << 20});
      break;
    case PolicyKind::BoundedWait:
    case PolicyKind::BoundedDiscard:
      all.push_back({"staleness", &n.staleness, 0, kMostSteps});
      [[fallthrough]];
    case PolicyKind::Asynchronous:
      if (name == "pipedream" || name == "hogwild") break;
      all.push_back({"servers", &n.servers, 1, 1 << 20});
      break;
    case PolicyKind::LocalSgd:
      if (name == "drop" || name == "time-out" || name == "speculative") break;
      all.push_back({"local-steps", &n.local_steps, 1, kMostSteps});
      if (name != "easgd") all.push_back({"reset", &n.reset, 0, 1});
      break;
  }
  if (name == "fedavg" || name == "fedprox" || name == "scaffold")
    all.push_back({"fraction", &way.rounds.fraction, 1e-6, 1});
  if (name == "drop" || name == "fedavg") all.push_back({"k", &n.dropped, 0, 1 << 20});
  if (name == "time-out" || name == "fedavg") all.push_back({"seconds", &n.time_out, 0, 1e9});
  if (name.starts_with("groups-")) {
    all.push_back({"group", &n.group, 1, 1 << 20});
    all.push_back({.key = "by-speed", .value = &n.by_speed, .least = 0, .most = 1, .words = kYesOrNo});
  }
  if (name == "speculative") all.push_back({"k", &n.copies, 1, 1 << 20});
  if (name.starts_with("elastic-")) {
    all.push_back({"k", &n.elastic, 1, 1 << 20});
    all.push_back({"leaves", &n.leaves, 0, 1e9});
    all.push_back({"joins", &n.joins, 0, 1e9});
  }
  if (name.starts_with("sharded-")) {
    all.push_back({.key = "pull", .value = &n.sparse, .least = 0, .most = 1, .words = kPulls});
    all.push_back({"apply", &n.apply, 0, 1e6});
    all.push_back({.key = "standby", .value = &n.standby, .least = 0, .most = 2, .words = kStandbys});
    all.push_back({"every", &n.every, 1, kMostSteps, false, {}, &n.every_said});
    all.push_back({"dies", &n.dies, 0, 1e9});
    all.push_back({"server", &n.server, 0, 1 << 20, false, {}, &n.server_said});
    all.push_back({"takes-over", &n.takes_over, 0, 1e9, false, {}, &n.takes_over_said});
  }
  if (name == "hogwild") all.push_back({"blocks", &n.blocks, 1, 1 << 20});
  if (name == "gossip-regular") {
    all.push_back({"degree", &n.degree, 2, 1 << 20});
    all.push_back({"draw", &n.draw, 1, 1e9});
  }
  if (name == "gossip-asynchronous")
    all.push_back({.key = "graph", .value = &n.pairs, .least = 0, .most = 4, .words = kPairGraphs});
  if (name == "curvature-bound") all.push_back({"probe", &way.probe, 1, kMostSteps});
  if (name == "age-weighted") all.push_back({"decay", &way.decay, 0, 100});
  if (name == "post-local") all.push_back({"synchronous-steps", &way.synchronous_steps, 0, kMostSteps});
  if (name == "diloco") {
    all.push_back({"outer-rate", &way.outer.rate, 0, 100});
    all.push_back({"outer-momentum", &way.outer.momentum, 0, 1, true});
  }
  if (name.starts_with("easgd")) all.push_back({"centre", &way.centre, 1e-6, 2, true});
  if (name == "fedprox") all.push_back({"proximal", &way.proximal, 0, 1e9});
  return all;
}

}  // namespace

Result<Way> read_way(std::string_view text) {
  Way way;
  way.name = text;
  if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
    COX_TRY(way.compressor, read_compressor(text.substr(plus + 1)));
    text = text.substr(0, plus);
  }
  const std::string_view name = take_kind(text);
  std::array<std::string_view, kWords.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kWords[i].name;
  COX_TRY(const std::size_t found, find_kind("policy", name, names));
  way.policy.kind = kWords[found].kind;
  if (name == "age-weighted") way.weight = AgeWeight::Inverse;
  if (name == "post-local") way.synchronous_steps = 100;
  if (name == "diloco") way.outer = {.kind = OptimizerKind::Nesterov, .rate = 0.7, .momentum = 0.9};
  if (name == "fedprox") way.proximal = 0.1;
  if (name.starts_with("easgd")) way.centre = 0.9;
  way.control_variates = name == "scaffold";
  Numbers n;
  if (name == "easgd") n.local_steps = 1;
  if (name == "drop" || name == "time-out" || name == "speculative") n.local_steps = 1;
  if (name == "speculative") n.copies = 1;
  if (name == "drop") n.dropped = 1;
  if (name == "time-out") n.time_out = 0.01;
  if (is_sharded(name)) n.servers = 4;
  COX_CHECK(read_settings(name, text, settings_of(name, way, n)));
  if (way.decay > 0) way.weight = AgeWeight::Exponential;
  switch (way.policy.kind) {
    case PolicyKind::Synchronous:
      break;
    case PolicyKind::Backup:
      way.policy.backups = static_cast<int>(n.backups);
      break;
    case PolicyKind::BoundedWait:
    case PolicyKind::BoundedDiscard:
      way.policy.staleness = static_cast<int>(n.staleness);
      [[fallthrough]];
    case PolicyKind::Asynchronous:
      way.policy.servers = static_cast<int>(n.servers);
      break;
    case PolicyKind::LocalSgd:
      way.policy.local_steps = static_cast<int>(n.local_steps);
      way.local_state = n.reset != 0 ? LocalState::Reset : LocalState::Keep;
      way.rounds.dropped = static_cast<int>(n.dropped);
      way.rounds.copies = static_cast<int>(n.copies);
      way.time_out = Seconds{n.time_out};
      if (way.rounds.fraction < 1 || n.dropped > 0 || n.time_out > 0 || n.copies > 0) way.rule = Rule::Rounds;
      break;
  }
  if (name == "gossip-asynchronous") {
    way.rule = Rule::Pairs;
    way.graph.graph = kGraphsOfPairs[static_cast<std::size_t>(n.pairs)];
    COX_CHECK(check_uncompressed(way, name, "parameters"));
  } else if (name.starts_with("gossip-")) {
    way.rule = Rule::Gossip;
    const auto graph = std::ranges::find(kGraphs, name.substr(name.find('-') + 1), &GraphWord::name);
    way.graph = {.graph = graph->graph,
                 .degree = static_cast<int>(n.degree),
                 .draw = static_cast<std::uint64_t>(n.draw)};
    COX_CHECK(check_uncompressed(way, name, "parameters"));
  }
  if (is_sharded(name)) {
    set_shards(name, n, way);
    COX_CHECK(check_uncompressed(way, name, "pieces"));
    COX_CHECK(set_death(name, n, way));
  }
  if (way.centre > 0) COX_CHECK(check_uncompressed(way, name, "parameters"));
  if (name == "curvature-bound") way.rule = Rule::Bound;
  if (name.starts_with("groups-")) {
    way.rule = Rule::Groups;
    way.group = static_cast<int>(n.group);
    way.by_speed = n.by_speed != 0;
  }
  if (name == "speculative" && way.compressor.feedback != FeedbackKind::None)
    return unfit("speculative begins the work of others again, and what they have not sent yet is theirs",
                 "say feedback=none, or leave the compressor out");
  if (name.starts_with("elastic-")) {
    if (n.leaves == 0 && n.joins == 0)
      return unfit(fmt::format("{} says neither when workers leave nor when they join", name),
                   "say leaves=SECONDS, joins=SECONDS or both; or leave elastic- out");
    way.rule = Rule::Groups;
    way.elastic = {
        .count = static_cast<int>(n.elastic), .leave = Seconds{n.leaves}, .join = Seconds{n.joins}};
  }
  if ((way.compressor.loss_scale || way.compressor.master) && way.is_local())
    return unfit(fmt::format("{} has no meaning for {}: its workers bring differences of parameters",
                             way.compressor.loss_scale ? "loss-scale" : "master=yes", name),
                 "leave it out, or take a policy that brings gradients");
  return way;
}

}  // namespace cox::learn
