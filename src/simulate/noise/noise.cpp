// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/file.hpp"
#include "cox/base/hash.hpp"
#include "cox/base/random.hpp"
#include "cox/base/units_text.hpp"

#include "simulate/kernels/seconds_array.hpp"
#include "simulate/kernels/sweep_kernels.hpp"
#include "simulate/noise/delays.hpp"
#include "simulate/noise/laws.hpp"
#include "simulate/noise/trace.hpp"

namespace cox::simulate {
namespace {

using model::NoiseLaw;
using model::NoisePattern;
using model::NoiseScope;
using model::NoiseSource;
using model::NoiseTarget;

constexpr std::size_t kChunk = 512;
constexpr std::size_t kTraceLimit = std::size_t{1} << 28;
constexpr std::uint64_t kForEver = std::uint64_t{1} << 63;  // counter of a draw that holds for the whole job
constexpr std::uint32_t kStartRow = 2;                      // purposes of streams
constexpr std::uint32_t kMessageSeed = 3;

Error bad_source(const NoiseSource& source, std::string message, std::string hint) {
  return {.code = Errc::InvalidInput,
          .id = "simulate-001",
          .message = fmt::format("noise source '{}': {}", source.name, message),
          .hint = std::move(hint),
          .where = std::nullopt};
}

/// A source as it is used.
struct Source {
  NoiseDraws draws;
  std::string file;  // of a recording
  NoiseTarget target = NoiseTarget::Compute;
  NoisePattern pattern = NoisePattern::EveryStep;
  bool relative = true;
  std::uint64_t period_steps = 1;
  double period = 0;  // seconds
  int ranks_per_unit = 1;
  std::vector<int> only;  // ascending; empty = all ranks
  std::optional<StepTimes> steps;
  std::optional<Detours> detours;

  [[nodiscard]] bool timed() const { return pattern == NoisePattern::Periodic || detours.has_value(); }
  [[nodiscard]] std::uint64_t unit_of(int rank) const {
    return static_cast<std::uint64_t>(rank / ranks_per_unit);
  }
  [[nodiscard]] bool concerns(int rank) const {
    return only.empty() || std::ranges::binary_search(only, rank);
  }
};

Status check_pattern(const NoiseSource& s) {
  if (s.period_steps < 1)
    return fail(bad_source(s, fmt::format("period_steps is {}, expected 1 or more", s.period_steps),
                           "Correct the value."));
  if (s.correlation > 0 && (s.pattern != NoisePattern::EveryStep || s.target == NoiseTarget::Message))
    return fail(
        bad_source(s, "correlation is between the steps of compute or bandwidth that are drawn every step",
                   "Leave correlation out, or use pattern every-step."));
  if (s.correlation > 0 && (s.law == NoiseLaw::Constant || s.law == NoiseLaw::Trace))
    return fail(bad_source(s, "this law draws nothing that could be correlated", "Leave correlation out."));
  if (s.target == NoiseTarget::Bandwidth && !s.relative)
    return fail(bad_source(s, "bandwidth changes by a ratio, not by a time", "Give mean_ratio, or cv."));
  if (s.target != NoiseTarget::Compute && (s.pattern == NoisePattern::Periodic || s.law == NoiseLaw::Trace))
    return fail(bad_source(s, "daemons and recorded traces disturb compute only", "Use target compute."));
  if (s.pattern != NoisePattern::Periodic) return {};
  if (s.relative || !(s.period.count() > 0 && s.period.count() < 1e12))
    return fail(
        bad_source(s, "a daemon has a period and a mean that are times", "Give both, with their units."));
  if (s.mean.count() > 0.999 * s.period.count())
    return fail(bad_source(s, "the daemon never ends before it begins again",
                           "Give a mean shorter than the period."));
  return {};
}

int ranks_in_unit(NoiseScope scope, const Placement& p) {
  const std::int64_t node = std::max(1, p.ranks_per_node);
  const std::int64_t all = std::max(1, p.ranks);
  std::int64_t unit = 1;
  if (scope == NoiseScope::Node) unit = node;
  if (scope == NoiseScope::Switch) unit = node * std::max(1, p.nodes_per_switch);
  if (scope == NoiseScope::Global) unit = all;
  return static_cast<int>(std::min(unit, all));
}

Result<Source> compile(const NoiseSource& s, const Placement& placement, std::size_t number) {
  COX_CHECK(check_pattern(s));
  COX_TRY(const NoiseDraws draws, NoiseDraws::make(s, number));
  Source out{.draws = draws,
             .file = s.file,
             .target = s.target,
             .pattern = s.pattern,
             .relative = s.relative,
             .period_steps = static_cast<std::uint64_t>(s.period_steps),
             .period = s.period.count(),
             .ranks_per_unit = ranks_in_unit(s.scope, placement),
             .only = s.ranks,
             .steps = std::nullopt,
             .detours = std::nullopt};
  std::ranges::sort(out.only);
  if (!out.only.empty() && (out.only.front() < 0 || out.only.back() >= placement.ranks))
    return fail(bad_source(s,
                           fmt::format("its ranks reach from {} to {}, the job's from 0 to {}",
                                       out.only.front(), out.only.back(), placement.ranks - 1),
                           "Name ranks of the job."));
  if (s.law != NoiseLaw::Trace) return out;
  COX_TRY(const std::string text, read_file(s.file, kTraceLimit));
  COX_TRY(auto trace, parse_noise_trace(text, s.file));
  if (auto* steps = std::get_if<StepTimes>(&trace)) out.steps = std::move(*steps);
  if (auto* detours = std::get_if<Detours>(&trace)) out.detours = std::move(*detours);
  return out;
}

/// Counter of the draw that holds in `step`.
std::uint64_t counter_at(const Source& s, std::int64_t step) {
  switch (s.pattern) {
    case NoisePattern::Persistent:
    case NoisePattern::Drift:
      return kForEver;
    case NoisePattern::Rotating:
      return static_cast<std::uint64_t>(step) / s.period_steps;
    default:
      return static_cast<std::uint64_t>(step);
  }
}

/// Zero for all that the source does not concern in `step`.
void mask(const Source& s, const Placement& placement, std::int64_t step, int first,
          std::span<double> amounts) {
  const auto n = static_cast<int>(amounts.size());
  if (s.pattern == NoisePattern::Rotating) {
    const std::uint64_t turn = static_cast<std::uint64_t>(step) / s.period_steps;
    const std::uint64_t units = s.unit_of(placement.ranks - 1) + 1;
    const std::uint64_t unit = s.only.empty() ? turn % units : s.unit_of(s.only[turn % s.only.size()]);
    for (int i = 0; i < n; ++i)
      if (s.unit_of(first + i) != unit) amounts[static_cast<std::size_t>(i)] = 0;
  } else if (!s.only.empty()) {
    auto next = std::ranges::lower_bound(s.only, first);
    for (int i = 0; i < n; ++i) {
      while (next != s.only.end() && *next < first + i) ++next;
      if (next == s.only.end() || *next != first + i) amounts[static_cast<std::size_t>(i)] = 0;
    }
  }
}

/// Draws of ranks [first, ...), one per unit. At most kChunk of them.
template <class Draw>
void by_unit(const Source& s, int first, std::span<double> out, Draw draw) {
  if (s.ranks_per_unit == 1) {
    draw(static_cast<std::uint64_t>(first), out);
    return;
  }
  std::array<double, kChunk> units{};
  const std::uint64_t low = s.unit_of(first);
  const std::uint64_t high = s.unit_of(first + static_cast<int>(out.size()) - 1);
  draw(low, std::span(units).first(high - low + 1));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = units[s.unit_of(first + static_cast<int>(i)) - low];
}

/// What the source adds in `step`, as a ratio or as seconds. Not for sources in time.
void amounts_of(const Source& s, const Placement& placement, std::uint64_t seed, std::int64_t step, int first,
                std::span<double> out) {
  by_unit(s, first, out, [&](std::uint64_t unit, std::span<double> values) {
    s.draws.amounts(seed, counter_at(s, step), unit, values);
  });
  if (s.pattern == NoisePattern::Drift) {
    const double grown = std::min(1.0, static_cast<double>(step) / static_cast<double>(s.period_steps));
    for (double& x : out) x *= grown;
  }
  mask(s, placement, step, first, out);
}

/// Rank r (or its node, by the scope) takes column r modulo the recorded ranks; each further lap of the
/// columns begins at a row of its own.
double recorded_time(const Source& s, std::uint64_t seed, std::int64_t step, int rank) {
  const StepTimes& t = *s.steps;
  const std::size_t place = s.unit_of(rank);
  const std::size_t lap = place / t.ranks;
  std::size_t row = static_cast<std::size_t>(step) % t.steps;
  if (lap > 0) {
    const double u = RandomStream(seed, s.draws.stream(kStartRow)).uniform(lap, 0);
    row = (row + static_cast<std::size_t>(u * static_cast<double>(t.steps))) % t.steps;
  }
  return t.seconds[row * t.ranks + place % t.ranks];
}

}  // namespace

struct Noise::Compiled {
  std::vector<Source> sources;
  Placement placement;
  bool compute = false;
  bool messages = false;
  bool bandwidth = false;
  bool timed = false;

  /// The one source that disturbs messages, where it is a uniform ratio on every message: the fast path.
  [[nodiscard]] const Source* simple_message_source() const {
    const Source* found = nullptr;
    for (const Source& s : sources) {
      if (s.target == NoiseTarget::Compute) continue;
      const bool simple = s.target == NoiseTarget::Message && s.relative && s.draws.line().has_value() &&
                          s.pattern == NoisePattern::EveryStep && s.ranks_per_unit == 1 && s.only.empty();
      if (found != nullptr || !simple) return nullptr;
      found = &s;
    }
    return found;
  }
};

Result<Noise> Noise::make(const std::vector<NoiseSource>& sources, const Placement& placement,
                          std::uint64_t seed) {
  auto all = std::make_shared<Compiled>();
  all->placement = placement;
  std::size_t number = 0;
  for (const NoiseSource& s : sources) {
    COX_TRY(Source compiled, compile(s, placement, number++));
    if (s.off) continue;
    all->compute = all->compute || s.target == NoiseTarget::Compute;
    all->messages = all->messages || s.target == NoiseTarget::Message;
    all->bandwidth = all->bandwidth || s.target == NoiseTarget::Bandwidth;
    all->timed = all->timed || compiled.timed();
    all->sources.push_back(std::move(compiled));
  }
  Noise noise;
  noise.compiled_ = std::move(all);
  noise.seed_ = seed;
  return noise;
}

Noise Noise::with_seed(std::uint64_t seed) const {
  Noise other = *this;
  other.seed_ = seed;
  return other;
}

bool Noise::disturbs_compute() const {
  return compiled_ && compiled_->compute;
}
bool Noise::disturbs_messages() const {
  return compiled_ && compiled_->messages;
}
bool Noise::disturbs_bandwidth() const {
  return compiled_ && compiled_->bandwidth;
}
bool Noise::needs_time() const {
  return compiled_ && compiled_->timed;
}

std::vector<std::string> Noise::repeats(std::int64_t steps, Seconds total) const {
  std::vector<std::string> all;
  if (!compiled_) return all;
  for (const Source& s : compiled_->sources) {
    if (s.steps && static_cast<std::int64_t>(s.steps->steps) < steps)
      all.push_back(fmt::format("{} holds {} steps, the run has {}: they are played again", s.file,
                                s.steps->steps, steps));
    if (s.steps && static_cast<int>(s.steps->ranks) < compiled_->placement.ranks)
      all.push_back(fmt::format("{} holds {} ranks, the job has {}: they are played again", s.file,
                                s.steps->ranks, compiled_->placement.ranks));
    if (s.detours && s.detours->window < total.count())
      all.push_back(fmt::format("{} holds {} of detours, the run lasts {}: they are played again", s.file,
                                to_string(Seconds{s.detours->window}), to_string(total)));
  }
  return all;
}

namespace {

/// Sums of what all sources add over a chunk of ranks.
struct Sums {
  std::array<double, kChunk> ratio{};
  std::array<double, kChunk> seconds{};
  std::array<double, kChunk> drawn{};
};

void add_source(const Source& s, const Placement& placement, std::uint64_t seed, std::int64_t step, int first,
                std::span<const double> base, Sums& sums) {
  const std::size_t n = base.size();
  if (s.steps) {
    for (std::size_t i = 0; i < n; ++i) {
      const int rank = first + static_cast<int>(i);
      if (!s.concerns(rank)) continue;
      const double recorded = recorded_time(s, seed, step, rank);
      if (s.relative)
        sums.ratio[i] += recorded / s.steps->mean - 1;
      else
        sums.seconds[i] += recorded - base[i];
    }
    return;
  }
  amounts_of(s, placement, seed, step, first, std::span(sums.drawn).first(n));
  auto& into = s.relative ? sums.ratio : sums.seconds;
  for (std::size_t i = 0; i < n; ++i) into[i] += sums.drawn[i];
}

/// A key of its own for each collective leaves the whole counter to the round. Numbers beyond the 33 bits that
/// a stream counts (large jobs, messages that are no collective) have seeds of their own.
std::uint64_t message_key(const Source& s, std::uint64_t seed, std::int64_t step, std::int64_t collective) {
  constexpr int kCounted = 33;
  const auto number = static_cast<std::uint64_t>(collective);
  const std::uint64_t beyond = number >> kCounted;
  return RandomStream(beyond == 0 ? seed : mix_bits(seed + kGoldenStep * beyond),
                      s.draws.stream(kMessageSeed))
      .bits(static_cast<std::uint64_t>(step), number - (beyond << kCounted));
}

double delay_of(const Source& s, std::uint64_t seed, int rank, double now, double work) {
  if (!s.concerns(rank)) return 0;
  if (s.detours) return DetourReplay{s.draws, *s.detours}.delay(seed, s.unit_of(rank), now, work);
  return Daemon{s.draws, s.period}.delay(seed, s.unit_of(rank), now, work);
}

}  // namespace

void Noise::compute(std::int64_t step, int first, std::span<const Seconds> base, std::span<Seconds> out,
                    std::span<const Seconds> now) const {
  COX_ASSERT(out.size() == base.size(), "one result per rank");
  COX_ASSERT(!needs_time() || now.size() == base.size(), "daemons need to know when work begins");
  if (out.data() != base.data()) std::ranges::copy(base, out.begin());
  if (!disturbs_compute()) return;
  const auto times = as_doubles(out);
  Sums sums;
  for (std::size_t done = 0; done < times.size(); done += kChunk) {
    const auto part = times.subspan(done, std::min(kChunk, times.size() - done));
    const int rank = first + static_cast<int>(done);
    sums.ratio.fill(0);
    sums.seconds.fill(0);
    for (const Source& s : compiled_->sources)
      if (s.target == NoiseTarget::Compute && !s.timed())
        add_source(s, compiled_->placement, seed_, step, rank, part, sums);
    for (std::size_t i = 0; i < part.size(); ++i) {
      const double disturbed = part[i] * (1 + sums.ratio[i]) + sums.seconds[i];
      part[i] = disturbed > 0 ? disturbed : 0;
    }
    if (!compiled_->timed) continue;
    for (const Source& s : compiled_->sources)
      if (s.timed())
        for (std::size_t i = 0; i < part.size(); ++i)
          part[i] += delay_of(s, seed_, rank + static_cast<int>(i), now[done + i].count(), part[i]);
  }
}

void Noise::messages(std::int64_t step, std::int64_t collective, std::int64_t round, int first,
                     std::span<Seconds> costs, std::span<const Seconds> latency) const {
  COX_ASSERT(latency.empty() || latency.size() == costs.size(), "one latency per message");
  if (!disturbs_messages() && !disturbs_bandwidth()) return;
  const auto values = as_doubles(costs);
  const auto fixed = as_doubles(latency);
  std::array<double, kChunk> drawn;
  std::array<double, kChunk> added;
  if (const Source* only = compiled_->simple_message_source()) {
    const auto line = *only->draws.line();
    const RandomStream draws(message_key(*only, seed_, step, collective), only->draws.stream(0));
    for (std::size_t done = 0; done < values.size(); done += kChunk) {
      const std::size_t n = std::min(kChunk, values.size() - done);
      draws.uniforms32(static_cast<std::uint64_t>(round), static_cast<std::uint64_t>(first) + done,
                       std::span(drawn).first(n));
      sweep_kernels().stretch(values.data() + done, drawn.data(), n, line.low, line.width);
    }
    return;
  }
  for (std::size_t done = 0; done < values.size(); done += kChunk) {
    const auto part = values.subspan(done, std::min(kChunk, values.size() - done));
    const std::size_t n = part.size();
    const int rank = first + static_cast<int>(done);
    const auto x = std::span(drawn).first(n);
    std::fill_n(added.begin(), n, 0.0);
    for (const Source& s : compiled_->sources) {
      if (s.target == NoiseTarget::Message) {
        const std::uint64_t counter =
            s.pattern == NoisePattern::EveryStep ? static_cast<std::uint64_t>(round) : counter_at(s, step);
        const std::uint64_t seed =
            s.pattern == NoisePattern::EveryStep ? message_key(s, seed_, step, collective) : seed_;
        by_unit(s, rank, x, [&](std::uint64_t unit, std::span<double> out) {
          s.draws.message_amounts(seed, counter, unit, out);
        });
        if (s.pattern == NoisePattern::Drift)
          for (double& v : x)
            v *= std::min(1.0, static_cast<double>(step) / static_cast<double>(s.period_steps));
        mask(s, compiled_->placement, step, rank, x);
        if (s.relative)
          for (std::size_t i = 0; i < n; ++i) added[i] += part[i] * x[i];
        else
          for (std::size_t i = 0; i < n; ++i) added[i] += x[i];
      } else if (s.target == NoiseTarget::Bandwidth) {
        amounts_of(s, compiled_->placement, seed_, step, rank, x);
        for (std::size_t i = 0; i < n; ++i)
          added[i] += (part[i] - (fixed.empty() ? 0 : fixed[done + i])) * x[i];
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double disturbed = part[i] + added[i];
      part[i] = disturbed > 0 ? disturbed : 0;
    }
  }
}

void Noise::slowdowns(std::int64_t step, int first, std::span<double> factors) const {
  std::ranges::fill(factors, 1.0);
  if (!disturbs_bandwidth()) return;
  std::array<double, kChunk> drawn{};
  for (std::size_t done = 0; done < factors.size(); done += kChunk) {
    const auto part = factors.subspan(done, std::min(kChunk, factors.size() - done));
    const auto x = std::span(drawn).first(part.size());
    for (const Source& s : compiled_->sources) {
      if (s.target != NoiseTarget::Bandwidth) continue;
      amounts_of(s, compiled_->placement, seed_, step, first + static_cast<int>(done), x);
      for (std::size_t i = 0; i < part.size(); ++i) part[i] += x[i];
    }
    for (double& f : part) f = std::max(f, 0.0);
  }
}

}  // namespace cox::simulate
