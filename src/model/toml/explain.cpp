// SPDX-License-Identifier: Apache-2.0
#include "model/toml/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cox/base/units_text.hpp"

#include "model/toml/presets.hpp"
#include "model/toml/values.hpp"

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
  const auto read =
      parse_scenario(fmt::format("cluster.preset = {}", in_quotes(preset.empty() ? "none" : preset)), "", "");
  if (!read) return draft;
  draft.scenario = read->scenario;
  draft.job = keys_of(draft.scenario.job, draft.scenario.cluster);
  return draft;
}

template <class T>
void write_table(std::span<const Key<T>> keys, T values, T plain, std::string_view always, std::string& out) {
  for (const Key<T>& key : keys)
    if (key.name == always || text_of(key, values) != text_of(key, plain))
      out += value_line(key, key.name, values);
}

}  // namespace

std::string_view name_of(Origin o) {
  switch (o) {
    case Origin::File:
      return "file";
    case Origin::Preset:
      return "preset";
    case Origin::Default:
      return "default";
    case Origin::Derived:
      return "derived";
  }
  return "?";
}

std::vector<Explained> explain(Draft& draft, const Notes& notes) {
  std::vector<Explained> out;
  explain_keys(root_keys(), draft, "", notes, out);
  for (std::size_t i = 0; i < draft.layers.size(); ++i)
    explain_keys(layer_keys(), draft.layers[i], fmt::format("{}[{}].", kLayerArray, i), notes, out);
  for (std::size_t i = 0; i < draft.scenario.noise.size(); ++i)
    explain_keys(noise_keys(), draft.scenario.noise[i], fmt::format("{}[{}].", kNoiseArray, i), notes, out);
  // Sizes of a model that is not there would only distract, and so would a controller without its job.
  if (!notes.said("job.model.parameters"))
    std::erase_if(out, [](const Explained& e) { return e.key.starts_with("job.model."); });
  if (draft.scenario.price != CollectivePrice::Nccl)
    std::erase_if(out, [](const Explained& e) { return e.key.starts_with("cost.nccl."); });
  if (draft.job.workload != Workload::Iteration)
    std::erase_if(out, [](const Explained& e) {
      return e.key.starts_with("iteration.") || e.key.starts_with("pace.");
    });
  return out;
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

std::string scenario_toml(const Scenario& scenario) {
  Draft draft;
  draft.scenario = scenario;
  draft.job = keys_of(scenario.job, scenario.cluster);
  Draft plain = baseline(scenario.cluster.preset);
  std::string out;
  std::string section;
  for (const Key<Draft>& key : root_keys()) {
    if (key.name.starts_with("job.model.")) continue;
    if (key.name.starts_with("cost.nccl.") && scenario.price != CollectivePrice::Nccl) continue;
    const std::string text = text_of(key, draft);
    // What is derived from other keys would be derived anew: so it is always said. An empty torus cannot be.
    const bool named = key.name == "cluster.preset" && !scenario.cluster.preset.empty();
    const bool derived = !key.otherwise.empty() && text != "[]";
    const bool say = named || derived || text != text_of(key, plain);
    if (!say) continue;
    const auto dot = key.name.find('.');
    const std::string_view in = dot == std::string_view::npos ? std::string_view{} : key.name.substr(0, dot);
    if (in != section) {
      section = in;
      out += fmt::format("\n[{}]\n", section);
    }
    out += value_line(key, dot == std::string_view::npos ? key.name : key.name.substr(dot + 1), draft);
  }
  const std::vector<Layer>& layers = draft.job.training.layers;
  for (std::size_t i = 0; i < layers.size();) {
    const auto same = [&](const Layer& l) {
      return l.forward == layers[i].forward && l.backward == layers[i].backward &&
             l.gradients == layers[i].gradients && l.activations == layers[i].activations;
    };
    std::size_t end = i;
    while (end < layers.size() && same(layers[end])) ++end;
    out += fmt::format("\n[[{}]]\n", kLayerArray);
    write_table(layer_keys(), LayerGroup{.count = static_cast<int>(end - i), .layer = layers[i]},
                LayerGroup{}, "count", out);
    i = end;
  }
  for (NoiseSource noise : scenario.noise) {
    out += fmt::format("\n[[{}]]\n", kNoiseArray);
    if (noise.relative) noise.mean = {};  // the one that is said decides
    if (!noise.relative) noise.mean_ratio = 0;
    write_table(noise_keys(), noise, NoiseSource{}, noise.relative ? "mean_ratio" : "mean", out);
  }
  return out;
}

}  // namespace cox::model
