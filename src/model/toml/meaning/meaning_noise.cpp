// SPDX-License-Identifier: Apache-2.0
// Which keys of a noise source have a meaning.
#include "model/toml/meaning/meaning.hpp"

namespace cox::model {
namespace {

bool has_bursts(const NoiseSource& n) {
  return n.burst_steps > 0 || n.calm_steps > 0;
}

bool is_drawn(const NoiseSource& n) {
  if (n.probability < 1) return true;
  if (n.law == NoiseLaw::Gaussian || n.law == NoiseLaw::Lognormal) return n.cv > 0;
  return n.law != NoiseLaw::Constant && n.law != NoiseLaw::Bimodal;
}

/// Who has a turn, or when a daemon, a collection or a burst begins, is drawn for any law.
bool has_phases(const NoiseSource& n) {
  return n.pattern == NoisePattern::Rotating || n.pattern == NoisePattern::Periodic ||
         n.pattern == NoisePattern::Recurring || has_bursts(n);
}

bool may_burst(const NoiseSource& n) {
  return n.pattern == NoisePattern::EveryStep || n.pattern == NoisePattern::Persistent;
}

constexpr NoiseMeaning kNoiseMeanings[] = {
    {"cv", "law", [](const NoiseSource& n) { return law_takes(n.law, "cv"); },
     "gaussian, lognormal, pareto and uniform have one"},
    {"shape", "law", [](const NoiseSource& n) { return law_takes(n.law, "shape"); },
     "pareto and weibull have one"},
    {"probability", "law", [](const NoiseSource& n) { return law_takes(n.law, "probability"); },
     "a trace happens as it was recorded"},
    {"probability", "pattern", [](const NoiseSource& n) { return n.pattern != NoisePattern::Once; },
     "what is injected once happens"},
    {"file", "law", [](const NoiseSource& n) { return law_takes(n.law, "file"); },
     "trace and quantiles have one"},
    {"quantiles", "law", [](const NoiseSource& n) { return law_takes(n.law, "quantiles"); },
     "quantiles has them"},
    {"unit", "law", [](const NoiseSource& n) { return law_takes(n.law, "unit"); }, "quantiles has one"},
    {"tail_probability", "law", [](const NoiseSource& n) { return law_takes(n.law, "tail_probability"); },
     "quantiles has a tail"},
    {"tail_scale", "law", [](const NoiseSource& n) { return law_takes(n.law, "tail_scale"); },
     "quantiles has a tail"},
    {"tail_shape", "law", [](const NoiseSource& n) { return law_takes(n.law, "tail_shape"); },
     "quantiles has a tail"},
    {"mean", "law", [](const NoiseSource& n) { return n.law != NoiseLaw::Quantiles; },
     "quantiles say how much; `unit` makes times of them"},
    {"mean_ratio", "law", [](const NoiseSource& n) { return n.law != NoiseLaw::Quantiles; },
     "quantiles say how much"},
    {"mean_ratio", "law", [](const NoiseSource& n) { return n.law != NoiseLaw::Trace; },
     "a trace says how much; `mean = \"0s\"` replaces the compute time by it"},
    {"pattern", "law",
     [](const NoiseSource& n) { return n.law != NoiseLaw::Trace || n.pattern == NoisePattern::EveryStep; },
     "a trace says when"},
    {"pattern", "law",
     [](const NoiseSource& n) { return n.law != NoiseLaw::Quantiles || n.pattern != NoisePattern::Periodic; },
     "a daemon lasts a `mean`, or what spreads about one"},
    {"pattern", "law",
     [](const NoiseSource& n) { return n.law == NoiseLaw::Constant || n.pattern != NoisePattern::Once; },
     "what happens once is known: law = \"constant\", with mean or mean_ratio"},
    {"pattern", "law",
     [](const NoiseSource& n) {
       return n.pattern != NoisePattern::Persistent || !has_bursts(n) || is_drawn(n);
     },
     "nothing is drawn that could be the same in each burst"},
    {"scope", "law", [](const NoiseSource& n) { return is_drawn(n) || has_phases(n); },
     "nothing is drawn that ranks could share: leave it out, or limit the source by `ranks`"},
    {"correlation", "law",
     [](const NoiseSource& n) {
       return is_drawn(n) && n.law != NoiseLaw::Trace && n.law != NoiseLaw::Constant;
     },
     "nothing is drawn that could be correlated"},
    {"correlation", "pattern", [](const NoiseSource& n) { return n.pattern == NoisePattern::EveryStep; },
     "every-step has one"},
    {"burst_steps", "law", [](const NoiseSource& n) { return n.law != NoiseLaw::Trace; },
     "a trace says when"},
    {"burst_steps", "pattern", may_burst, "every-step and persistent come in bursts"},
    {"calm_steps", "law", [](const NoiseSource& n) { return n.law != NoiseLaw::Trace; }, "a trace says when"},
    {"calm_steps", "pattern", may_burst, "every-step and persistent come in bursts"},
    {"step", "pattern", [](const NoiseSource& n) { return n.pattern == NoisePattern::Once; }, "once has one"},
    {"period", "pattern", [](const NoiseSource& n) { return n.pattern == NoisePattern::Periodic; },
     "periodic has one"},
    {"period_steps", "pattern",
     [](const NoiseSource& n) {
       return n.pattern == NoisePattern::Rotating || n.pattern == NoisePattern::Drift ||
              n.pattern == NoisePattern::Recurring;
     },
     "rotating, drift and recurring have one"},
};

}  // namespace

bool law_takes(NoiseLaw law, std::string_view key) {
  using enum NoiseLaw;
  if (key == "cv") return law == Gaussian || law == Lognormal || law == Uniform || law == Pareto;
  if (key == "shape") return law == Pareto || law == Weibull;
  if (key == "probability") return law != Trace;
  if (key == "file") return law == Trace || law == Quantiles;
  return law == Quantiles && (key == "quantiles" || key == "unit" || key.starts_with("tail_"));
}

std::span<const NoiseMeaning> noise_meanings() {
  return kNoiseMeanings;
}

}  // namespace cox::model
