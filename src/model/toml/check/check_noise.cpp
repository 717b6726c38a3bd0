// SPDX-License-Identifier: Apache-2.0
// What a noise source alone, and beside the job, cannot be.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "cox/base/units_text.hpp"

#include "model/toml/check/check.hpp"
#include "model/toml/keys/words.hpp"
#include "model/toml/meaning/meaning.hpp"

namespace cox::model {
namespace {

using Refuse = std::function<Status(std::string_view key, std::string message, std::string hint)>;

Status check_quantiles(const NoiseSource& n, const std::string& at, const Refuse& refuse) {
  if (n.quantiles.empty() == n.file.empty())
    return refuse(
        n.file.empty() ? "law" : "file",
        fmt::format("{} has {}", at, n.file.empty() ? "no quantiles" : "quantiles and a file of them"),
        "give one of `quantiles` and `file`");
  if (n.quantiles.size() == 1)
    return refuse("quantiles", fmt::format("{}.quantiles has one entry, expected 2 or more", at),
                  "the first is the least that is added; law \"constant\" always adds the same");
  const auto fall = std::adjacent_find(n.quantiles.begin(), n.quantiles.end(), std::greater<>());
  if (fall != n.quantiles.end())
    return refuse("quantiles",
                  fmt::format("{}.quantiles has {} before {}, expected them ascending", at, *fall, fall[1]),
                  "");
  if (!n.relative && n.unit <= Seconds{})
    return refuse("unit", fmt::format("{}.unit = {}, expected above 0s", at, spelled(n.unit)),
                  "leave unit out where quantiles are parts of the undisturbed time");
  if (n.target == NoiseTarget::Bandwidth && !n.relative)
    return refuse("unit", fmt::format("{}.unit is a time, and bandwidth changes by a ratio", at),
                  "leave unit out");
  if (n.tail_probability >= 1)
    return refuse("tail_probability",
                  fmt::format("{}.tail_probability = {}, expected below 1", at, n.tail_probability), "");
  if ((n.tail_probability > 0) != (n.tail_scale > 0))
    return refuse(
        n.tail_scale > 0 ? "tail_scale" : "tail_probability",
        fmt::format("{}.tail_probability = {} with tail_scale = {}", at, n.tail_probability, n.tail_scale),
        "a tail has both; without it, give neither");
  if (n.tail_shape != 0 && n.tail_probability == 0)
    return refuse("tail_shape", fmt::format("{}.tail_shape has no meaning without tail_probability", at),
                  "give tail_probability and tail_scale, too");
  return {};
}

/// Formula: on and off change with probabilities 1 / burst_steps and 1 / calm_steps; correlated from step to step by
/// 1 less both, which is not negative here.
Status check_bursts(const NoiseSource& n, const std::string& at, const Refuse& refuse) {
  if (n.burst_steps == 0 && n.calm_steps == 0) return {};
  const std::string_view key = n.burst_steps > 0 ? "burst_steps" : "calm_steps";
  if (n.burst_steps < 1 || n.calm_steps < 1 || 1 / n.burst_steps + 1 / n.calm_steps > 1)
    return refuse(
        key,
        fmt::format("{}.burst_steps = {} with calm_steps = {}, expected both, and 1 / burst_steps + 1 / "
                    "calm_steps at most 1",
                    at, n.burst_steps, n.calm_steps),
        "for single steps give a probability");
  return {};
}

/// What a source says of the job about it. Of other fabrics than trees it is not known which nodes hang at a switch: the file
/// has to say how many do.
Status check_place(const NoiseSource& n, const std::string& at, const Draft& draft, const Notes& notes,
                   const Refuse& refuse) {
  const Cluster& c = draft.scenario.cluster;
  const FabricKind kind = draft.scenario.fabric.kind;
  const bool tree = kind == FabricKind::FatTree || kind == FabricKind::RailOptimised;
  if (n.scope == NoiseScope::Switch && !tree && !notes.said("fabric.hosts_per_leaf"))
    return refuse(
        "scope",
        fmt::format("{}.scope is \"switch\", and which nodes share a switch is known of trees only", at),
        "say how many nodes share one with fabric.hosts_per_leaf, or fabric.kind \"fat-tree\" or "
        "\"rail-optimised\", or another scope");
  if (n.scope == NoiseScope::Rail && std::min(c.nics_per_node, c.devices_per_node) < 2)
    return refuse("scope", fmt::format("{}.scope is \"rail\", and a node has one card or one device", at),
                  "give cluster.nics_per_node, or scope \"global\"");
  if (n.scope == NoiseScope::Stage &&
      (draft.job.workload != Workload::Training || draft.job.training.layout.pipeline < 2))
    return refuse("scope", fmt::format("{}.scope is \"stage\", and the job is no pipeline", at),
                  "job.layout.pipeline gives it stages");
  if (n.pattern == NoisePattern::Once && n.step >= draft.job.steps)
    return refuse(
        "step", fmt::format("{}.step = {}, and the job's steps are 0 to {}", at, n.step, draft.job.steps - 1),
        "it would never happen");
  if (n.pattern == NoisePattern::Recurring && n.period_steps < 2)
    return refuse("period_steps", fmt::format("{} recurs every step, expected period_steps of 2 or more", at),
                  "pattern \"every-step\" has no phase");
  return {};
}

/// Whether a source reads what the file gives it: what would be ignored is refused.
Status check_source(const NoiseSource& noise, const std::string& at, const Draft& draft, const Notes& notes) {
  // A collective may have fewer ranks than its nodes have devices.
  const bool some = draft.job.workload == Workload::Collective && draft.job.collective.ranks > 0;
  const std::int64_t ranks =
      some ? draft.job.collective.ranks : ranks_of(draft.scenario.cluster, draft.job.places);
  const auto key = [&](std::string_view name) { return fmt::format("{}.{}", at, name); };
  const auto said = [&](std::string_view name) { return notes.said(key(name)); };
  const auto refuse = [&](std::string_view name, std::string message, std::string hint) -> Status {
    return notes.clash({key(name), key("law"), key("pattern"), at}, std::move(message), std::move(hint));
  };
  const auto word = [&](std::string_view chooses) {
    return chooses == "law"       ? law_words()[static_cast<std::size_t>(noise.law)]
           : chooses == "pattern" ? pattern_words()[static_cast<std::size_t>(noise.pattern)]
                                  : target_words()[static_cast<std::size_t>(noise.target)];
  };
  if (said("mean") && said("mean_ratio"))
    return refuse("mean_ratio", fmt::format("{} has both mean and mean_ratio", at),
                  "one is a time, the other a part");
  for (const NoiseMeaning& m : noise_meanings())
    if (said(m.key) && !m.reads(noise))
      return refuse(m.key,
                    fmt::format("{}.{} has no meaning for {} \"{}\"", at, m.key, m.chooses, word(m.chooses)),
                    std::string(m.hint));
  if (noise.law == NoiseLaw::Pareto && said("cv") && said("shape"))
    return refuse("cv",
                  noise.shape <= 2
                      ? fmt::format("{}.cv with shape {}: a Pareto law of shape 2 or less has no variance",
                                    at, noise.shape)
                      : fmt::format("{}.cv: a Pareto law is given by its mean and shape", at),
                  "leave cv out; the shape alone says how heavy the tail is");
  if (noise.law == NoiseLaw::Pareto && noise.shape <= 1 && noise.cv == 0)
    return refuse("shape",
                  fmt::format("{}.shape = {}: a Pareto law of shape 1 or less has no mean", at, noise.shape),
                  "give a shape above 1, or a cv");
  if (noise.law == NoiseLaw::Weibull && noise.shape <= 0)
    return refuse("shape",
                  fmt::format("{}.shape = {}, expected above 0 for law \"weibull\"", at, noise.shape), "");
  if (noise.law == NoiseLaw::Uniform && 3 * noise.cv * noise.cv > 1)
    return refuse("cv", fmt::format("{}.cv = {}: a uniform law would reach below 0", at, noise.cv),
                  "at most 1 / sqrt(3), 0.577");
  if (noise.law == NoiseLaw::Quantiles) COX_CHECK(check_quantiles(noise, at, refuse));
  COX_CHECK(check_bursts(noise, at, refuse));
  COX_CHECK(check_place(noise, at, draft, notes, refuse));
  if (noise.law == NoiseLaw::Trace && noise.file.empty())
    return refuse("file", fmt::format("{}.law is \"trace\" and {}.file is missing", at, at), "");
  if (noise.law == NoiseLaw::Trace && noise.mean > Seconds{})
    return refuse("mean", fmt::format("{}.mean = {} beside a trace, expected 0s", at, spelled(noise.mean)),
                  "0s replaces the compute time by the recorded one; without it that is scaled");
  const bool timed = noise.pattern == NoisePattern::Periodic || noise.law == NoiseLaw::Trace;
  if (noise.target != NoiseTarget::Compute && timed)
    return refuse(
        "target",
        fmt::format("{}.target is \"{}\": daemons and traces disturb compute only", at, word("target")),
        "leave target out");
  if (noise.target == NoiseTarget::Bandwidth && !noise.relative && noise.law != NoiseLaw::Quantiles)
    return refuse("mean", fmt::format("{}.mean is a time, and bandwidth changes by a ratio", at),
                  "give mean_ratio, or cv");
  if (noise.pattern == NoisePattern::Periodic && noise.relative)
    return refuse("mean_ratio", fmt::format("{} is periodic and {}.mean is missing", at, at),
                  "a daemon has a period and a mean that are times");
  if (noise.pattern == NoisePattern::Periodic && noise.period <= noise.mean)
    return refuse("period",
                  fmt::format("{}.period = {} with mean = {}: it would never stop", at, spelled(noise.period),
                              spelled(noise.mean)),
                  "a period is longer than what happens in it");
  for (const int rank : noise.ranks)
    if (rank >= ranks)
      return refuse("ranks", fmt::format("{}.ranks has {}, expected 0 to {}", at, rank, ranks - 1), "");
  return {};
}

/// Messages are disturbed where replicas or experts meet, on the way to servers, and where links are played.
Status check_message_noise(const Draft& draft, const Notes& notes) {
  const Scenario& s = draft.scenario;
  const JobKeys& job = draft.job;
  if (job.workload != Workload::Training) return {};
  const Layout& l = job.training.layout;
  for (std::size_t i = 0; i < s.noise.size(); ++i) {
    if (s.noise[i].target == NoiseTarget::Compute) continue;
    const std::string at = fmt::format("{}[{}]", kNoiseArray, i);
    const auto target = target_words()[static_cast<std::size_t>(s.noise[i].target)];
    if (!s.policy.has_servers() && l.data == 1 && l.context == 1 && l.expert == 1 && l.pipeline == 1)
      return notes.clash(
          {at + ".target", at},
          fmt::format(
              "{}.target is \"{}\", and neither a collective of replicas nor a message between stages "
              "is there to be disturbed",
              at, target),
          "messages of tensor groups are not disturbed: see docs/concepts/training-steps.md");
  }
  return {};
}

}  // namespace

Status check_noise(const Draft& draft, const Notes& notes) {
  const auto& sources = draft.scenario.noise;
  for (std::size_t i = 0; i < sources.size(); ++i)
    COX_CHECK(check_source(sources[i], fmt::format("{}[{}]", kNoiseArray, i), draft, notes));
  return check_message_noise(draft, notes);
}

}  // namespace cox::model
