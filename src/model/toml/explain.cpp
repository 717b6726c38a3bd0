// SPDX-License-Identifier: Apache-2.0
#include "model/toml/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>

#include "cox/base/units_text.hpp"
#include "cox/model/placed_error.hpp"

#include "model/toml/keys/derive.hpp"
#include "model/toml/keys/presets.hpp"
#include "model/toml/keys/values.hpp"
#include "model/toml/meaning/meaning.hpp"
#include "model/toml/meaning/sections.hpp"

namespace cox::model {
namespace {

template <class T>
void explain_keys(std::span<const Key<T>> keys, T& values, const std::string& prefix, const Notes& notes,
                  std::vector<Explained>& out) {
  for (const Key<T>& key : keys) {
    const std::string full = prefix + std::string(key.name);
    const Note* note = notes.find(full);
    out.push_back({.key = full,
                   .value = text_of(key, values),
                   .origin = note ? note->origin : Origin::Default,
                   .why = note ? note->why : std::string{}});
  }
}

/// A basic string of TOML.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

template <class T>
std::string value_line(const Key<T>& key, std::string_view name, T& values) {
  const std::string text = text_of(key, values);
  return fmt::format("{} = {}\n", name, is_quoted(key.field) ? in_quotes(text) : text);
}

/// Draft of an empty file with this preset: what does not have to be written.
Draft baseline(const std::string& preset) {
  Draft draft;
  const auto read = parse_scenario(
      fmt::format("cluster.preset = {}\njob.steps = 1", in_quotes(preset.empty() ? "none" : preset)), "", "");
  if (!read) return draft;
  draft.scenario = read->scenario;
  draft.job = keys_of(draft.scenario.job, draft.scenario.cluster);
  return draft;
}

/// Whether prose names this key: as a word of its own, not as the beginning or end of another key. Keys without a dot are
/// words of prose, too (`replicas`, `seed`), and named only between backticks.
bool names_key(std::string_view text, std::string_view key) {
  if (key.find('.') == std::string_view::npos)
    return text.find(fmt::format("`{}`", key)) != std::string_view::npos;
  const auto is_inside = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '[';
  };
  for (auto at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    const std::string_view behind = text.substr(at + key.size());
    const bool begins = at == 0 || (!is_inside(text[at - 1]) && text[at - 1] != '.' && text[at - 1] != ']');
    const bool dotted = behind.size() > 1 && behind[0] == '.' && is_inside(behind[1]);  // not a full stop
    const bool ends = behind.empty() || (!is_inside(behind[0]) && !dotted);
    if (begins && ends) return true;
  }
  return false;
}

/// Costs that follow from cluster and fabric are not said beside them.
bool is_path(std::string_view key) {
  return key.starts_with("cost.") && (key.ends_with(".latency") || key.ends_with(".bandwidth"));
}

/// The same with what a message costs as it follows from the ways.
Draft costs_of_paths(Draft draft) {
  draft.scenario.inside.latency = draft.scenario.across.latency = {};
  draft.scenario.inside.per_byte = draft.scenario.across.per_byte = {};
  Notes nobody("");
  nobody.set("fabric.link.latency", {.origin = Origin::File, .why = {}, .at = {}});
  nobody.set("fabric.link.bandwidth", {.origin = Origin::File, .why = {}, .at = {}});
  static_cast<void>(derive(draft, nobody));
  return draft;
}

template <class T>
void write_table(std::span<const Key<T>> keys, T values, T plain, std::string_view always, std::string& out,
                 const std::function<bool(std::string_view)>& skip) {
  for (const Key<T>& key : keys)
    if (!skip(key.name) && (key.name == always || text_of(key, values) != text_of(key, plain)))
      out += value_line(key, key.name, values);
}

}  // namespace

std::vector<Explained> explain(Draft& draft, const Notes& notes) {
  std::vector<Explained> out;
  explain_keys(root_keys(), draft, "", notes, out);
  for (std::size_t i = 0; i < draft.layers.size(); ++i)
    explain_keys(layer_keys(), draft.layers[i], fmt::format("{}[{}].", kLayerArray, i), notes, out);
  for (std::size_t i = 0; i < draft.scenario.noise.size(); ++i)
    explain_keys(noise_keys(), draft.scenario.noise[i], fmt::format("{}[{}].", kNoiseArray, i), notes, out);
  for (std::size_t i = 0; i < draft.scenario.failures.classes.size(); ++i)
    explain_keys(failure_class_keys(), draft.scenario.failures.classes[i],
                 fmt::format("{}[{}].", kClassArray, i), notes, out);
  for (std::size_t i = 0; i < draft.scenario.cluster.classes.size(); ++i)
    explain_keys(node_class_keys(), draft.scenario.cluster.classes[i],
                 fmt::format("{}[{}].", kNodeClassArray, i), notes, out);
  for (std::size_t i = 0; i < draft.scenario.neighbours.size(); ++i)
    explain_keys(neighbour_keys(), draft.scenario.neighbours[i], fmt::format("{}[{}].", kNeighbourArray, i),
                 notes, out);
  // What --set took the meaning of is the file's still.
  for (Explained& e : out)
    if (e.origin == Origin::File)
      if (const auto reason = why_unread(e.key, draft))
        e.why += fmt::format("; not read: see {}", reason->chooses);
  // Sizes of a model that is not there would only distract, and so would a controller without its job.
  if (!notes.said("job.model.parameters"))
    std::erase_if(out, [](const Explained& e) { return e.key.starts_with("job.model."); });
  if (draft.scenario.price != CollectivePrice::Nccl)
    std::erase_if(out, [](const Explained& e) { return e.key.starts_with("cost.nccl."); });
  // Nor what nobody speaks of.
  for (const std::string_view section : {"start.", "power.", "price.", "job.input."}) {
    const bool told = section == "power." && draft.scenario.power.known() && !why_unread("power.busy", draft);
    if (told || notes.first_of_file(section)) continue;
    std::erase_if(
        out, [&](const Explained& e) { return e.key.starts_with(section) && e.origin != Origin::Preset; });
  }
  const bool iterates = draft.job.workload == Workload::Iteration;
  const bool paced = iterates || notes.first_of_file("pace.").has_value();
  std::erase_if(out, [&](const Explained& e) {
    return (!iterates && e.key.starts_with("iteration.")) || (!paced && e.key.starts_with("pace."));
  });
  return out;
}

Error placed(Error error, const ReadScenario& read, const std::string& name) {
  constexpr std::string_view kLine = "line ";
  if (error.where) return error;
  const Explained* best = nullptr;
  for (const Explained& e : read.explained)
    if (e.origin == Origin::File && e.why.starts_with(kLine) && names_key(error.hint, e.key) &&
        (best == nullptr || e.key.size() > best->key.size()))
      best = &e;
  if (best == nullptr) return error;
  std::int64_t line = 0;
  const std::string_view digits = std::string_view(best->why).substr(kLine.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), line);
  error.where = Where{.file = name, .line = line, .column = 0};
  return error;
}

std::string explain_text(const std::vector<Explained>& explained) {
  std::size_t key = 0;
  std::size_t value = 0;
  constexpr std::size_t kWidest = 32;
  for (const Explained& e : explained) {
    key = std::max(key, e.key.size());
    value = std::max(value, std::min(e.value.size(), kWidest));
  }
  std::string out;
  for (const Explained& e : explained) {
    std::string line = fmt::format("{:<{}}  {:<{}}  {:<7}  {}", e.key, key, e.value.empty() ? "-" : e.value,
                                   value, name_of(e.origin), e.why);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

namespace {

/// Whether a way is said by the costs that stand for it, beside which it would be refused.
bool is_said_by_cost(std::string_view way, Draft& draft, Draft& paths) {
  if (plays_links(draft)) return false;
  const auto differs = [&](std::string_view cost) {
    const auto keys = root_keys();
    const auto at = std::find_if(keys.begin(), keys.end(), [&](const auto& k) { return k.name == cost; });
    return !why_unread(cost, draft) && text_of(*at, draft) != text_of(*at, paths);
  };
  const bool latency = differs("cost.across.latency");
  const bool bandwidth = differs("cost.across.bandwidth");
  if (way == "cluster.scale_up.latency") return differs("cost.inside.latency");
  if (way == "cluster.scale_up.bandwidth") return differs("cost.inside.bandwidth");
  if (way == "cluster.nic.latency" || way == "fabric.link.latency") return latency;
  if (way == "cluster.nic.bandwidth" || way == "fabric.link.bandwidth") return bandwidth;
  const bool whole = latency && bandwidth && draft.scenario.fabric.kind != FabricKind::Graph;
  if (way == "fabric.kind" || way == "fabric.tiers" || way == "fabric.leaves_per_pod") return whole;
  const bool inside = draft.scenario.cluster.devices_per_node > 1 && draft.job.workload != Workload::Goal;
  return whole && way.starts_with("cluster.pcie.") &&
         (!inside || (differs("cost.inside.latency") && differs("cost.inside.bandwidth")));
}

/// As many replicas as there is room for are derived to the same: written, they would bind the file to its size.
bool fill_the_cluster(const Draft& draft) {
  const Layout& l = draft.job.training.layout;
  const std::int64_t others = std::int64_t{l.tensor} * l.pipeline * l.context;
  return l.data * others == ranks_of(draft.scenario.cluster, draft.scenario.job.places);
}

void write_root(Draft& draft, std::string& out) {
  const std::string& preset = draft.scenario.cluster.preset;
  Draft plain = baseline(preset);
  Draft paths = costs_of_paths(draft);
  std::string section;
  for (const Key<Draft>& key : root_keys()) {
    if (key.name.starts_with("job.model.") || why_unread(key.name, draft)) continue;
    if (is_said_by_cost(key.name, draft, paths)) continue;
    if (key.name == "job.layout.data" && fill_the_cluster(draft)) continue;
    const std::string text = text_of(key, draft);
    // What is derived from other keys would be derived anew: so it is always said. An empty torus cannot be.
    const bool named = key.name == "cluster.preset" && !preset.empty();
    const bool derived = !key.otherwise.empty() && text != "[]" && !is_path(key.name);
    // Of what is no tree, nobody else says who shares a switch.
    const bool by_switch = key.name == "fabric.hosts_per_leaf" && !is_tree(draft);
    const bool say = named || derived || by_switch ||
                     (is_path(key.name) ? text != text_of(key, paths) : text != text_of(key, plain));
    if (!say) continue;
    const auto dot = key.name.find('.');
    const std::string_view in = dot == std::string_view::npos ? std::string_view{} : key.name.substr(0, dot);
    if (in != section) {
      section = in;
      out += fmt::format("\n[{}]\n", section);
    }
    out += value_line(key, dot == std::string_view::npos ? key.name : key.name.substr(dot + 1), draft);
  }
}

bool nothing_unread(std::string_view /*key*/) {
  return false;
}

/// Layers that are alike and follow each other are one table.
void write_layers(const std::vector<Layer>& layers, std::string& out) {
  for (std::size_t i = 0; i < layers.size();) {
    const auto same = [&](const Layer& l) {
      return l.forward == layers[i].forward && l.backward == layers[i].backward &&
             l.gradients == layers[i].gradients && l.activations == layers[i].activations;
    };
    std::size_t end = i;
    while (end < layers.size() && same(layers[end])) ++end;
    out += fmt::format("\n[[{}]]\n", kLayerArray);
    write_table(layer_keys(), LayerGroup{.count = static_cast<int>(end - i), .layer = layers[i]},
                LayerGroup{}, "count", out, nothing_unread);
    i = end;
  }
}

/// A table for each of `all`, where something reads them. `plain` is what a table says that says nothing, and `always` the
/// key that it has all the same.
template <class T>
void write_array(std::string_view name, std::span<const Key<T>> keys, const std::vector<T>& all,
                 const T& plain, std::string_view always, const Draft& draft, std::string& out) {
  if (why_unread(name, draft)) return;
  for (const T& one : all) {
    out += fmt::format("\n[[{}]]\n", name);
    write_table(keys, one, plain, always, out, nothing_unread);
  }
}

void write_noise(const Draft& draft, std::string& out) {
  if (why_unread(kNoiseArray, draft)) return;
  for (NoiseSource noise : draft.scenario.noise) {
    out += fmt::format("\n[[{}]]\n", kNoiseArray);
    if (noise.relative) noise.mean = {};  // the one that is said decides
    if (!noise.relative) noise.mean_ratio = 0;
    const auto unread = [&](std::string_view key) {
      return std::ranges::any_of(noise_meanings(),
                                 [&](const NoiseMeaning& m) { return m.key == key && !m.reads(noise); });
    };
    const std::string_view always = noise.law == NoiseLaw::Quantiles ? "law"
                                    : noise.relative                 ? "mean_ratio"
                                                                     : "mean";
    write_table(noise_keys(), noise, NoiseSource{}, always, out, unread);
  }
}

}  // namespace

std::string scenario_toml(const Scenario& scenario) {
  Draft draft;
  draft.scenario = scenario;
  draft.job = keys_of(scenario.job, scenario.cluster);
  std::string out;
  write_root(draft, out);
  write_layers(draft.job.training.layers, out);
  const FailureClass as_all{.restart = scenario.failures.restart, .repair = scenario.failures.repair};
  write_array(kClassArray, failure_class_keys(), scenario.failures.classes, as_all, "mtbf", draft, out);
  write_array(kNodeClassArray, node_class_keys(), scenario.cluster.classes, NodeClass{}, "count", draft, out);
  write_array(kNeighbourArray, neighbour_keys(), scenario.neighbours, Neighbour{}, "nodes", draft, out);
  write_noise(draft, out);
  return out;
}

}  // namespace cox::model
