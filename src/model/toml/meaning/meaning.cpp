// SPDX-License-Identifier: Apache-2.0
#include "model/toml/meaning/meaning.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "model/toml/meaning/sections.hpp"

namespace cox::model {

bool reduces_on_cluster(const Draft& d) {
  const IterationWork& work = d.job.iteration.iteration;
  return d.job.workload == Workload::Iteration && work.link == Bandwidth{} && work.reduce > Bytes{} &&
         d.scenario.cluster.ranks() > 1;
}

namespace {

/// That all-reduce as the collective that it is priced as.
Draft reduce_of(const Draft& d) {
  Draft one = d;
  one.job.workload = Workload::Collective;
  one.job.collective = {.ranks = static_cast<int>(d.scenario.cluster.ranks()),
                        .bytes = d.job.iteration.iteration.reduce};
  one.scenario.engine = EngineKind::Auto;
  return one;
}

}  // namespace

bool plays_links(const Draft& d) {
  if (reduces_on_cluster(d)) return plays_links(reduce_of(d));
  return plays_links(d.scenario, d.job.workload);
}

namespace {

enum class WireKey : std::uint8_t { None, Inside, Across };

/// What a key says of: messages inside a node or across, and the way they take.
WireKey wire_of(std::string_view key) {
  const auto begins = [&](std::initializer_list<std::string_view> sections) {
    return std::any_of(sections.begin(), sections.end(),
                       [&](std::string_view s) { return key.starts_with(s); });
  };
  if (begins({"cluster.scale_up.", "cost.inside."})) return WireKey::Inside;
  const bool across =
      key == "cluster.nics_per_node" || begins({"cluster.nic.", "cluster.pcie.", "cost.across.", "fabric."});
  return across ? WireKey::Across : WireKey::None;
}

/// Keys that say where nodes and cards are, for whom it concerns beside messages.
bool names_places(std::string_view key, const Draft& d) {
  if (key == "cluster.nics_per_node")
    return has_noise_of(d, NoiseScope::Rail) || fails_per(d, FailureUnit::Link);
  if (key == "fabric.kind" || key == "fabric.hosts_per_leaf")
    return has_noise_of(d, NoiseScope::Switch) || fails_per(d, FailureUnit::Switch);
  return false;
}

/// Whether a training job whose collectives are priced as a whole sends messages one by one that a key is about.
bool sends_messages(WireKey wire, const Draft& d) {
  if (!is_synchronous(d)) return true;
  const TrainingJob& t = d.job.training;
  const Layout& l = t.layout;
  const bool exchanges = d.scenario.price == CollectivePrice::Nccl && l.expert > 1 && t.moe_layers > 0;
  if (exchanges) return true;
  const std::int64_t unit = std::int64_t{l.tensor} * l.context;
  const std::int64_t devices = std::max(1, d.scenario.cluster.devices_per_node);
  if (l.pipeline == 1) return false;
  return wire == WireKey::Inside ? unit % devices != 0 : devices % (unit * l.pipeline) != 0;
}

/// Whose messages have a protocol: messages between stages and to servers have none.
bool has_protocol(const Draft& d) {
  const TrainingJob& t = d.job.training;
  return d.scenario.price == CollectivePrice::Nccl && t.layout.expert > 1 && t.moe_layers > 0;
}

/// Whether no message is sent that the key would be about, as collectives are priced as a whole.
bool is_of_no_message(std::string_view key, const Draft& d) {
  const bool training = d.job.workload == Workload::Training;
  if (!training && d.job.workload != Workload::Collective) return false;
  if (key == "cost.protocol") return !training || !has_protocol(d);
  if (key == "cost.reduce") return true;  // exchanges of experts add nothing up
  const WireKey wire = wire_of(key);
  if (wire == WireKey::None || names_places(key, d)) return false;
  return !training || !sends_messages(wire, d);
}

/// Line rates that NCCL's model divides among its channels, where it is not told what a channel gets.
bool is_line_of_nccl(std::string_view key) {
  return is_one_of(key, {"cluster.nic.bandwidth", "cluster.nics_per_node", "cluster.scale_up.bandwidth"});
}

}  // namespace

bool is_measured(std::string_view key, const Draft& d) {
  return d.scenario.price == CollectivePrice::Table && is_of_no_message(key, d);
}

namespace {

std::optional<Unread> unread_at_the_top(std::string_view key, const Draft& d) {
  const Workload w = d.job.workload;
  const bool file = w == Workload::Goal || w == Workload::Chakra;
  if (key == "replicas" && d.scenario.engine == EngineKind::ClosedForm)
    return Unread{.chooses = "engine", .hint = "nothing is drawn: leave replicas out"};
  if (key == "replicas")
    return unless(!file, {.chooses = "job.workload", .hint = "nothing is drawn: leave replicas out"});
  if (key == "seed")
    return unless(w != Workload::Goal,
                  {.chooses = "job.workload", .hint = "nothing is drawn: leave seed out"});
  if (key != kNoiseArray) return std::nullopt;
  if (w == Workload::Iteration)
    return Unread{.chooses = "job.workload",
                  .hint = "iteration.jitter and iteration.imbalance say what disturbs it"};
  if (file)
    return Unread{.chooses = "job.workload",
                  .hint = "what is played is as long as it was recorded: leave [[noise]] out"};
  return unless(d.scenario.engine != EngineKind::ClosedForm,
                {.chooses = "engine", .hint = "a closed form needs equal arrivals: say max-plus or flow"});
}

/// Sections about what a whole training job's time, energy and money go into.
std::optional<Unread> unread_of_job(std::string_view key, const Draft& d) {
  if (d.job.workload != Workload::Training) return Unread{.chooses = "job.workload", .whose = "training"};
  const Scenario& s = d.scenario;
  if (key.starts_with("power.") && key != "power.busy")
    return unless(s.power.known(), {.chooses = "power.busy", .hint = "no energy is told without power.busy"});
  if (key == "price.currency")
    return unless(s.node_price.node_hour > 0,
                  {.chooses = "price.node_hour", .hint = "no cost is told without price.node_hour"});
  return unread_beside(key, d);
}

std::optional<Unread> unread_in_pace(std::string_view key, const Draft& d) {
  const bool training = d.job.workload == Workload::Training;
  if (!training && d.job.workload != Workload::Iteration)
    return Unread{.chooses = "job.workload", .whose = "iteration or training"};
  if (training && !is_synchronous(d))
    return Unread{.chooses = "policy.kind",
                  .hint =
                      "ranks are held back by what they wait for at the end of a step, which all of them end "
                      "together: say synchronous or local-sgd"};
  const auto said = [&](const char* name, std::string_view otherwise) {
    const auto at = d.job.iteration.pace.find(name);
    return at == d.job.iteration.pace.end() ? otherwise : std::string_view(at->second);
  };
  const std::string_view mode = said("mode", "off");
  const std::string_view name = key.substr(key.find('.') + 1);
  const auto only = [&](std::initializer_list<std::string_view> modes, std::string whose) {
    return unless(is_one_of(mode, modes), {.chooses = "pace.mode", .whose = std::move(whose)});
  };
  if (name == "mode") return std::nullopt;
  if (mode == "off")
    return Unread{.chooses = "pace.mode", .hint = "without a controller it has no parameters"};
  if (name == "placement" && training)
    return Unread{
        .chooses = "job.workload",
        .hint = "a step has many collectives, beside its computation: ranks are held back before it"};
  if (is_one_of(name, {"activate", "release"})) return only({"paper"}, "paper");
  if (name == "paper_share") return only({"paper", "always"}, "paper or always");
  if (name == "warm_up") return only({"paper", "auto"}, "paper or auto");
  if (is_one_of(name, {"seed", "share"})) return only({"auto", "random"}, "auto or random");
  if (is_one_of(name, {"placement", "max_delay", "min_delay", "max_ratio"}))
    return only({"paper", "auto", "always", "random"}, "paper, auto, always or random");
  if (is_one_of(name, {"objective", "alpha", "min_gain", "block", "settle", "min_pairs", "max_pairs", "retry",
                       "carry", "idle_power"}) &&
      mode != "auto")
    return only({}, "auto");
  if (name == "idle_power")
    return unless(said("objective", "throughput") == "energy",
                  {.chooses = "pace.objective", .whose = "energy"});
  return std::nullopt;
}

std::optional<Unread> unread_in_policy(std::string_view key, const Draft& d) {
  using enum PolicyKind;
  const PolicyKind kind = d.scenario.policy.kind;
  if (d.job.workload != Workload::Training) return Unread{.chooses = "job.workload", .whose = "training"};
  const auto only = [](bool reads, std::string_view hint) {
    return unless(reads, {.chooses = "policy.kind", .hint = std::string(hint)});
  };
  if (key == "policy.staleness")
    return only(kind == BoundedWait || kind == BoundedDiscard,
                "only bounded-wait or bounded-discard has one");
  if (key == "policy.local_steps" && kind == LocalSgd && !sums_with_others(d.job.training))
    return single_replica("a single replica averages with nobody");
  if (key == "policy.local_steps") return only(kind == LocalSgd, "only local-sgd has one");
  if (key == "policy.backups") return only(kind == Backup, "only backup has one");
  if (key == "policy.servers")
    return only(d.scenario.policy.has_servers(),
                "only asynchronous, bounded-wait or bounded-discard has one");
  return std::nullopt;
}

}  // namespace

std::optional<Unread> why_unread(std::string_view key, const Draft& draft) {
  const std::string_view section = key.substr(0, key.find('.'));
  constexpr std::string_view kPlaces[] = {"cluster.nic_of",    "cluster.sockets", kNodeClassArray,
                                          kNeighbourArray,     "job.nodes",       "job.placement",
                                          "job.placement_file"};
  if (std::ranges::find(kPlaces, key) != std::end(kPlaces) || key.starts_with("cluster.bridge.") ||
      key.starts_with("cluster.socket."))
    return unread_in_places(key, draft);
  // What is drawn for each message would be drawn once for all steps.
  if (draft.job.workload == Workload::Iteration && key.starts_with("fabric.timeout."))
    return Unread{.chooses = "job.workload", .whose = "collective or training"};
  if (reduces_on_cluster(draft) && is_one_of(section, {"cluster", "fabric", "cost"}))
    return why_unread(key, reduce_of(draft));
  if (is_measured(key, draft))
    return Unread{.chooses = "cost.form",
                  .whose = is_line_of_nccl(key) ? std::string("rounds or nccl") : std::string("rounds")};
  if (draft.scenario.price == CollectivePrice::Nccl && !is_line_of_nccl(key) && is_of_no_message(key, draft))
    return Unread{.chooses = "cost.form", .whose = "rounds"};
  if (section == "cluster") return unread_in_cluster(key, draft);
  if (section == "fabric") return unread_in_fabric(key, draft);
  if (section == "job") return unread_in_job(key, draft);
  if (section == "iteration")
    return unless(draft.job.workload == Workload::Iteration,
                  {.chooses = "job.workload", .whose = "iteration"});
  if (section == "pace") return unread_in_pace(key, draft);
  if (section == "failures" || section == "start" || section == "power" || section == "price")
    return unread_of_job(key, draft);
  if (section == "policy") return unread_in_policy(key, draft);
  if (section == "cost") return unread_in_cost(key, draft);
  return unread_at_the_top(key, draft);
}

}  // namespace cox::model
