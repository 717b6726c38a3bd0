// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/switches.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"
#include "cox/simulate/attribution.hpp"

#include "simulate/attribution/unmet.hpp"
#include "simulate/collective/measured.hpp"
#include "simulate/collective/unlike.hpp"

namespace cox::simulate {
namespace {

using model::Scenario;

constexpr std::string_view kStoreAndForward = "store and forward";

/// Of a training job: its start, and what it waits for before a step.
void add_start_and_input(const Scenario& s, std::vector<Switch>& all) {
  if (s.job.workload() != model::Workload::Training) return;
  if (s.start.takes_time())
    all.push_back({"the start of the job", SwitchKind::Start, [](Scenario& to) { to.start = {}; }});
  if (s.job.as<model::TrainingJob>().input.takes_time())
    all.push_back({"input of steps", SwitchKind::Input,
                   [](Scenario& to) { std::get<model::TrainingJob>(to.job.work).input = {}; }});
}

void add_noise(const Scenario& s, std::vector<Switch>& all) {
  for (std::size_t i = 0; i < s.noise.size(); ++i) {
    const model::NoiseSource& n = s.noise[i];
    if (n.off) continue;
    std::string text = fmt::format("{} noise, target {}", name_of(n.law), name_of(n.target));
    if (!n.name.empty()) text += fmt::format(" ({})", n.name);
    const auto same =
        std::ranges::count_if(all, [&](const Switch& one) { return one.name.starts_with(text); });
    if (same > 0 && n.name.empty()) text += fmt::format(" (noise[{}])", i);
    all.push_back({std::move(text), SwitchKind::Noise, [i](Scenario& to) { to.noise[i].off = true; }});
  }
}

void add_fabric(const Scenario& s, std::vector<Switch>& all) {
  const model::Fabric& f = s.fabric;
  const WhereItSits sits(s);
  const std::size_t first = all.size();
  if (f.oversubscription > 1)
    all.push_back({fmt::format("{:g}:1 oversubscription", f.oversubscription), SwitchKind::Fabric,
                   [](Scenario& to) { to.fabric.oversubscription = 1; }, true, sits.below_one_leaf()});
  if (f.pod_oversubscription > 1)
    all.push_back({fmt::format("{:g}:1 oversubscription above the pods", f.pod_oversubscription),
                   SwitchKind::Fabric, [](Scenario& to) { to.fabric.pod_oversubscription = 1; }, true,
                   sits.below_one_pod()});
  if (f.background_load > 0)
    all.push_back({fmt::format("background load {}", percent(f.background_load)), SwitchKind::Fabric,
                   [](Scenario& to) { to.fabric.background_load = 0; }, true, sits.below_one_leaf()});
  if (f.incast_loss)
    all.push_back({"incast loss", SwitchKind::Fabric, [](Scenario& to) { to.fabric.incast_loss = false; }});
  if (f.pause)
    all.push_back({"pause frames", SwitchKind::Fabric, [](Scenario& to) { to.fabric.pause = false; }});
  if (f.timeouts.happen())
    all.push_back({fmt::format("time-outs of {}", to_string(f.timeouts.wait)), SwitchKind::Timeouts,
                   [](Scenario& to) { to.fabric.timeouts = {}; }});
  if (f.switching == model::Switching::StoreAndForward)
    all.push_back({std::string(kStoreAndForward), SwitchKind::Fabric,
                   [](Scenario& to) { to.fabric.switching = model::Switching::CutThrough; }});
  if (f.routing != model::Routing::Static)
    all.push_back({fmt::format("routing {}", name_of(f.routing)), SwitchKind::Fabric, nullptr});
  for (std::size_t i = first; i < all.size(); ++i) {
    all[i].of_links = all[i].kind != SwitchKind::Timeouts || f.timeouts.loss == 0;
    if (all[i].name == kStoreAndForward) continue;  // between the links of a node, too
    if (std::string why = sits.on_one_node(); !why.empty()) all[i].unmet = std::move(why);
  }
}

/// Noise by the card that a device uses.
bool has_rails(const Scenario& s) {
  return std::ranges::any_of(
      s.noise, [](const model::NoiseSource& n) { return !n.off && n.scope == model::NoiseScope::Rail; });
}

/// Nodes that are unlike, and who else is there before `end`. Where the job sits has no off: it is somewhere.
void add_places(const Scenario& s, Seconds end, std::vector<Switch>& all) {
  const WhereItSits sits(s);
  for (std::size_t i = 0; i < s.cluster.classes.size(); ++i) {
    if (!is_unlike(s.cluster.classes[i])) continue;
    const std::string& name = s.cluster.classes[i].name;
    all.push_back({fmt::format("class {}", name.empty() ? std::to_string(i) : name), SwitchKind::Place,
                   [i](Scenario& to) {
                     model::NodeClass& c = to.cluster.classes[i];
                     c = {.name = c.name, .first = c.first, .count = c.count};
                   },
                   false, sits.off(s.cluster.classes[i])});
  }
  if (!s.cluster.nic_of.empty())
    all.push_back({"cards that are not a device's own", SwitchKind::Place,
                   [](Scenario& to) { to.cluster.nic_of.clear(); }, true,
                   has_rails(s) ? std::string() : sits.on_one_node()});
  for (std::size_t i = 0; i < s.neighbours.size(); ++i) {
    if (s.neighbours[i].start >= end) continue;
    const std::string& name = s.neighbours[i].name;
    all.push_back(
        {fmt::format("neighbour {}", name.empty() ? std::to_string(i) : name), SwitchKind::Place,
         [i](Scenario& to) { to.neighbours.erase(to.neighbours.begin() + static_cast<std::ptrdiff_t>(i)); },
         true});
  }
  constexpr const char* kRules[] = {"packed", "scattered", "by-rail", "random", "file"};
  if (s.job.places.rule != model::PlaceRule::Packed)
    all.push_back({fmt::format("placement {}", kRules[static_cast<std::size_t>(s.job.places.rule)]),
                   SwitchKind::Place, nullptr, true});
}

/// What makes restarts grow is a switch of its own beside failures.
void add_failures(const model::Failures& f, std::vector<Switch>& all) {
  if (f.happen())
    all.push_back({"failures, their checkpoints and restarts", SwitchKind::Failures,
                   [](Scenario& to) { to.failures = {}; }});
  else if (f.lengthen())
    all.push_back({"checkpoints", SwitchKind::Failures, [](Scenario& to) { to.failures = {}; }});
  if (f.happen() &&
      (f.restart_per_node > Seconds{} || f.restart_per_pair > Seconds{} || f.restart_spread > Seconds{}))
    all.push_back({"restarts that grow with the job", SwitchKind::Failures, [](Scenario& to) {
                     to.failures.restart_per_node = {};
                     to.failures.restart_per_pair = {};
                     to.failures.restart_spread = {};
                   }});
  if (f.happen() && f.cold_steps > 0)
    all.push_back({"cold steps", SwitchKind::Failures, [](Scenario& to) { to.failures.cold_steps = 0; }});
}

/// Dips leave a table whose times are those without them. A table that cannot be read is told by who needs it.
void add_measured(const Scenario& s, std::vector<Switch>& all) {
  if (s.price != model::CollectivePrice::Table) return;
  Result<model::MeasuredTimes> table = measured_times_of(s);
  if (!table || !table->dips()) return;
  for (model::MeasuredCurve& curve : table->curves)
    for (model::MeasuredTime& row : curve.rows) row.probability = 0;
  all.push_back({"dips of measured times", SwitchKind::Dips,
                 [even = *std::move(table)](Scenario& to) { to.table = even; }});
}

void add_compression(const Scenario& s, std::vector<Switch>& all) {
  const auto* step = std::get_if<model::TrainingJob>(&s.job.work);
  const auto* alone = std::get_if<model::CollectiveJob>(&s.job.work);
  const model::Compressor kind = step != nullptr    ? step->compression.kind
                                 : alone != nullptr ? alone->compression.kind
                                                    : model::Compressor::None;
  if (kind == model::Compressor::None) return;
  all.push_back({fmt::format("{} compression", kind == model::Compressor::Sparse ? "sparse" : "quantised"),
                 SwitchKind::Compression, [](Scenario& to) {
                   if (auto* t = std::get_if<model::TrainingJob>(&to.job.work)) t->compression = {};
                   if (auto* c = std::get_if<model::CollectiveJob>(&to.job.work)) c->compression = {};
                 }});
}

/// Of a training job whose ranks sum with others beside their computation.
void add_overlap(const Scenario& s, std::vector<Switch>& all) {
  if (s.job.workload() != model::Workload::Training) return;
  const auto& training = s.job.as<model::TrainingJob>();
  if (training.layout.data * training.layout.context == 1) return;
  if (training.overlap_slowdown > 0)
    all.push_back(
        {fmt::format("compute slowed by {} beside communication", percent(training.overlap_slowdown)),
         SwitchKind::Overlap,
         [](Scenario& to) { std::get<model::TrainingJob>(to.job.work).overlap_slowdown = 0; }});
  if (training.overlap_feedback > 0)
    all.push_back({fmt::format("overlap feedback {:g}", training.overlap_feedback), SwitchKind::Overlap,
                   [](Scenario& to) { std::get<model::TrainingJob>(to.job.work).overlap_feedback = 0; }});
}

/// What makes ranks of iterations unequal, and what they share before they compute.
void add_iteration(const Scenario& s, std::vector<Switch>& all) {
  if (s.job.workload() != model::Workload::Iteration) return;
  const model::IterationWork& it = s.job.as<model::IterationJob>().iteration;
  const auto add = [&all](std::string name, SwitchKind kind, void (*off)(model::IterationWork&)) {
    all.push_back({std::move(name), kind,
                   [off](Scenario& to) { off(std::get<model::IterationJob>(to.job.work).iteration); }});
  };
  if (it.jitter != model::JitterLaw::None && it.spread > 0)
    add(fmt::format("{} jitter of computation",
                    it.jitter == model::JitterLaw::Lognormal ? "lognormal" : "exponential"),
        SwitchKind::Noise, [](model::IterationWork& to) { to.jitter = model::JitterLaw::None; });
  if (it.imbalance != model::Imbalance::None && it.slow_ranks > 0 && it.slow_factor != 1)
    add(fmt::format("{} slow rank{}{}, {:g} times", it.slow_ranks, it.slow_ranks == 1 ? "" : "s",
                    it.imbalance == model::Imbalance::Rotating ? " in turn" : "", it.slow_factor),
        SwitchKind::Noise, [](model::IterationWork& to) { to.imbalance = model::Imbalance::None; });
  if (it.prepare > Seconds{} || (it.fetch > Bytes{} && it.link > Bandwidth{}))
    add("input of steps", SwitchKind::Input, [](model::IterationWork& to) {
      to.prepare = {};
      to.fetch = {};
    });
  if (it.time_slice > Seconds{})
    add(fmt::format("cores in slices of {}", to_string(it.time_slice)), SwitchKind::Policy,
        [](model::IterationWork& to) { to.time_slice = {}; });
}

/// It has no off: the outcome has the job without it beside it. An option may have taken the common step that it needs.
void add_pacing(const Scenario& s, std::vector<Switch>& all) {
  if (!s.policy.in_step()) return;
  const auto* step = std::get_if<model::TrainingJob>(&s.job.work);
  const auto* job = std::get_if<model::IterationJob>(&s.job.work);
  if (step == nullptr && job == nullptr) return;
  const auto& said = step != nullptr ? step->pace : job->pace;
  if (const auto mode = said.find("mode"); mode != said.end() && mode->second != "off")
    all.push_back({fmt::format("pacing {}", mode->second), SwitchKind::Policy, nullptr});
}

/// What an option took the meaning of is among them.
std::vector<Switch> said_until(const Scenario& s, Seconds end) {
  std::vector<Switch> all;
  add_noise(s, all);
  if (s.cluster.nodes > 1) add_fabric(s, all);
  add_failures(s.failures, all);
  add_start_and_input(s, all);
  add_iteration(s, all);
  add_places(s, end, all);
  add_measured(s, all);
  add_compression(s, all);
  if (s.policy.kind != model::PolicyKind::Synchronous)
    all.push_back({fmt::format("policy {}", name_of(s.policy.kind)), SwitchKind::Policy, nullptr});
  add_pacing(s, all);
  add_overlap(s, all);
  return all;
}

/// The sum of an iteration is priced on links whatever its engine is: what nobody reads of them is refused.
bool has_links(const Scenario& s) {
  return s.job.workload() == model::Workload::Iteration || plays_links(s, s.job.workload());
}

std::vector<std::string> names_of(std::vector<Switch> switches) {
  std::vector<std::string> names;
  for (Switch& one : switches) names.push_back(std::move(one.name));
  return names;
}

}  // namespace

std::vector<Switch> switches_of(const Scenario& s) {
  return switches_within(s, Seconds{std::numeric_limits<double>::infinity()});
}

std::vector<Switch> switches_within(const Scenario& s, Seconds end) {
  std::vector<Switch> all = said_until(s, end);
  std::erase_if(all, [](const Switch& one) { return !one.unmet.empty(); });
  if (!has_links(s)) std::erase_if(all, &Switch::of_links);
  return all;
}

std::vector<std::string> unmet_mechanisms(const Scenario& s) {
  std::vector<std::pair<std::string, std::vector<std::string>>> names;  // by reason
  std::vector<Switch> switches;
  if (s.cluster.nodes > 1) add_fabric(s, switches);
  add_places(s, Seconds{std::numeric_limits<double>::infinity()}, switches);
  for (const Switch& one : switches) {
    if (one.unmet.empty()) continue;
    auto known = std::ranges::find(names, one.unmet, &decltype(names)::value_type::first);
    if (known == names.end()) known = names.insert(known, {one.unmet, {}});
    known->second.push_back(one.name);
  }
  std::vector<std::string> all;
  for (const auto& [why, which] : names)
    all.push_back(fmt::format("{} {} nothing, and {} not switched on: {}", fmt::join(which, ", "),
                              which.size() == 1 ? "changes" : "change", which.size() == 1 ? "is" : "are",
                              why));
  return all;
}

std::vector<std::string> unplayed_mechanisms(const Scenario& s, Seconds end) {
  if (has_links(s) || s.cluster.nodes == 1)
    return {};  // on one node there are none: a size of --scaling, say
  std::vector<Switch> all;
  add_fabric(s, all);
  add_places(s, end, all);
  std::erase_if(all, [](const Switch& one) { return !one.of_links || !one.unmet.empty(); });
  return names_of(std::move(all));
}

void switch_off(std::span<const Switch> switches, std::uint64_t on, Scenario& scenario) {
  for (std::size_t i = switches.size(); i-- > 0;)
    if ((on >> i & 1) == 0) switches[i].off(scenario);
}

std::vector<std::string> mechanisms_of(const Scenario& scenario) {
  return names_of(switches_of(scenario));
}

std::vector<std::string> mechanisms_within(const Scenario& scenario, Seconds end) {
  return names_of(switches_within(scenario, end));
}

}  // namespace cox::simulate
