// SPDX-License-Identifier: Apache-2.0
// What a noise source alone, and beside the job, cannot be.
#include <fmt/format.h>

#include <string>

#include "cox/base/units_text.hpp"

#include "model/toml/derive.hpp"
#include "model/toml/meaning.hpp"
#include "model/toml/words.hpp"

namespace cox::model {
namespace {

/// Whether a source reads what the file gives it: what would be ignored is refused.
Status check_source(const NoiseSource& noise, const std::string& at, std::int64_t ranks, const Notes& notes) {
  const auto key = [&](std::string_view name) { return fmt::format("{}.{}", at, name); };
  const auto said = [&](std::string_view name) { return notes.said(key(name)); };
  const auto refuse = [&](std::string_view name, std::string message, std::string hint) {
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
  if (noise.target == NoiseTarget::Bandwidth && !noise.relative)
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

/// Messages are disturbed where replicas or experts meet, and where links are played.
Status check_message_noise(const Draft& draft, const Notes& notes) {
  const Scenario& s = draft.scenario;
  const JobKeys& job = draft.job;
  if (job.workload != Workload::Training) return {};
  const Layout& l = job.training.layout;
  const bool steps = s.policy.in_step();
  for (std::size_t i = 0; i < s.noise.size(); ++i) {
    if (s.noise[i].target == NoiseTarget::Compute) continue;
    const std::string at = fmt::format("{}[{}]", kNoiseArray, i);
    const auto target = target_words()[static_cast<std::size_t>(s.noise[i].target)];
    if (!steps)
      return notes.clash({at + ".target", at},
                         fmt::format("{}.target \"{}\" has no meaning for policy.kind \"{}\"", at, target,
                                     policy_words()[static_cast<std::size_t>(s.policy.kind)]),
                         "disturb compute, or use the synchronous policy");
    if (l.data == 1 && l.context == 1 && l.expert == 1 && (l.pipeline == 1 || !plays_links(draft)))
      return notes.clash(
          {at + ".target", at},
          fmt::format("{}.target is \"{}\", and no collective of replicas is there to be disturbed", at,
                      target),
          "messages inside a replica are not disturbed: see docs/concepts/training-steps.md");
  }
  return {};
}

}  // namespace

Status check_noise(const Draft& draft, const Notes& notes) {
  const auto& sources = draft.scenario.noise;
  for (std::size_t i = 0; i < sources.size(); ++i)
    COX_CHECK(check_source(sources[i], fmt::format("{}[{}]", kNoiseArray, i),
                           ranks_of(draft.scenario.cluster, draft.job.places), notes));
  return check_message_noise(draft, notes);
}

}  // namespace cox::model
