// SPDX-License-Identifier: Apache-2.0
#include "model/toml/meaning/meaning.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>
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

bool is_measured(std::string_view key, const Draft& d) {
  if (d.scenario.price != CollectivePrice::Table) return false;
  const auto begins = [&](std::initializer_list<std::string_view> sections) {
    return std::any_of(sections.begin(), sections.end(),
                       [&](std::string_view s) { return key.starts_with(s); });
  };
  const bool inside = begins({"cluster.scale_up.", "cost.inside."});
  const bool across = key == "cluster.nics_per_node" ||
                      begins({"cluster.nic.", "cluster.pcie.", "cost.across."}) ||
                      (begins({"fabric."}) && key != "fabric.hosts_per_leaf");
  if (!inside && !across && key != "cost.protocol") return false;
  if (d.job.workload == Workload::Collective) return true;
  if (d.job.workload != Workload::Training || !is_synchronous(d)) return false;
  const Layout& l = d.job.training.layout;
  const std::int64_t unit = std::int64_t{l.tensor} * l.context;
  const std::int64_t devices = std::max(1, d.scenario.cluster.devices_per_node);
  if (l.pipeline == 1 || key == "cost.protocol") return true;
  return inside ? unit % devices == 0 : devices % (unit * l.pipeline) == 0;
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
  if (is_measured(key, draft)) return Unread{.chooses = "cost.form", .whose = "rounds or nccl"};
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
