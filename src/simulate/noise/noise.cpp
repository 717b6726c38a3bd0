// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/hash.hpp"
#include "cox/base/random.hpp"
#include "cox/base/units_text.hpp"

#include "simulate/kernels/seconds_array.hpp"
#include "simulate/kernels/sweep_kernels.hpp"
#include "simulate/noise/delays.hpp"
#include "simulate/noise/source.hpp"

namespace cox::simulate {

using model::NoiseTarget;

struct Noise::Compiled {
  std::vector<Source> sources;
  std::vector<int> rank_on;  ///< each device; empty = the device's number
  bool compute = false;
  bool messages = false;
  bool bandwidth = false;
  bool timed = false;
  bool names_ranks = false;

  /// The one source on messages or bandwidth, where there is only one and it is a ratio on every message.
  [[nodiscard]] const Source* lone_message_source() const {
    const Source* found = nullptr;
    for (const Source& s : sources) {
      if (s.target == NoiseTarget::Compute) continue;
      if (found != nullptr || s.target != NoiseTarget::Message || !s.relative) return nullptr;
      found = &s;
    }
    return found;
  }

  /// The one source that disturbs messages, where it is a uniform or gaussian ratio on every message: the fast path.
  [[nodiscard]] const Source* simple_message_source() const {
    const Source* found = nullptr;
    for (const Source& s : sources) {
      if (s.target == NoiseTarget::Compute) continue;
      const bool simple = s.target == NoiseTarget::Message && s.relative &&
                          (s.draws.line() || s.draws.bell()) && !s.names_ranks();
      if (found != nullptr || !simple) return nullptr;
      found = &s;
    }
    return found;
  }
};

struct NoiseMemory::Kept {
  std::shared_ptr<const void> of;  // the sources
  std::uint64_t seed = 0;
  int first = 0;
  std::size_t ranks = 0;
  std::vector<SourceMemory> sources;
};

NoiseMemory::NoiseMemory() = default;
NoiseMemory::NoiseMemory(NoiseMemory&& other) noexcept = default;
NoiseMemory& NoiseMemory::operator=(NoiseMemory&& other) noexcept = default;
NoiseMemory::~NoiseMemory() = default;

Result<Noise> Noise::make(const std::vector<model::NoiseSource>& sources, const SharedPlaces& placement,
                          std::uint64_t seed) {
  auto all = std::make_shared<Compiled>();
  for (std::size_t r = 0; r < placement.devices.size(); ++r) {
    const auto device = static_cast<std::size_t>(placement.devices[r]);
    if (all->rank_on.size() <= device) all->rank_on.resize(device + 1, -1);
    all->rank_on[device] = static_cast<int>(r);
  }
  std::size_t number = 0;
  for (const model::NoiseSource& s : sources) {
    COX_TRY(Source compiled, Source::make(s, placement, number++));
    if (s.off) continue;
    all->compute = all->compute || s.target == NoiseTarget::Compute;
    all->messages = all->messages || s.target == NoiseTarget::Message;
    all->bandwidth = all->bandwidth || s.target == NoiseTarget::Bandwidth;
    all->timed = all->timed || compiled.timed();
    all->names_ranks = all->names_ranks || (s.target != NoiseTarget::Compute && compiled.names_ranks());
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
bool Noise::names_ranks() const {
  return compiled_ && compiled_->names_ranks;
}
int Noise::rank_on(int device) const {
  if (!compiled_ || compiled_->rank_on.empty()) return device;
  COX_ASSERT(static_cast<std::size_t>(device) < compiled_->rank_on.size(), "a device of the job");
  const int rank = compiled_->rank_on[static_cast<std::size_t>(device)];
  COX_ASSERT(rank >= 0, "a device of the job");
  return rank;
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
    if (s.steps && s.steps->ranks < s.units.count())
      all.push_back(fmt::format("{} holds {} ranks, the job has {}{}: they are played again", s.file,
                                s.steps->ranks, s.units.count(), s.units.single() ? "" : " that differ"));
    if (s.detours && s.detours->window < total.count())
      all.push_back(fmt::format("{} holds {} of detours, the run lasts {}: they are played again", s.file,
                                to_string(Seconds{s.detours->window}), to_string(total)));
  }
  return all;
}

namespace {

/// Sums of what all sources add over a chunk of ranks.
struct Sums {
  std::array<double, kNoiseChunk> ratio{};
  std::array<double, kNoiseChunk> seconds{};
  std::array<double, kNoiseChunk> drawn{};
};

/// What a memory may hold: values, over all sources.
constexpr std::size_t kMostKept = std::size_t{1} << 25;

/// What the source keeps for ranks [first, first + n), filled with what holds for the whole job; `room` is left over.
SourceMemory keep(const Source& s, std::uint64_t seed, int first, std::size_t n, std::size_t& room) {
  SourceMemory memory;
  const bool lasts = s.lasting() && !s.timed() && !s.steps;
  const std::size_t wanted = lasts ? n : s.correlated ? n * s.draws.memory_rows() : 0;
  if (s.target != NoiseTarget::Compute || wanted > room) return memory;
  room -= wanted;
  if (s.correlated) memory.chunks.resize((n + kNoiseChunk - 1) / kNoiseChunk);
  if (!lasts) return memory;
  memory.amounts.resize(n);
  for (std::size_t done = 0; done < n; done += kNoiseChunk) {
    const std::size_t count = std::min(kNoiseChunk, n - done);
    s.amounts(seed, 0, {.first = first + static_cast<int>(done), .named = {}, .count = count},
              std::span(memory.amounts).subspan(done, count));
  }
  return memory;
}

/// `memory`: of the source, null = none; in it, the ranks are those from `place` on.
void add_source(const Source& s, std::uint64_t seed, std::int64_t step, int first,
                std::span<const double> base, Sums& sums, SourceMemory* memory, std::size_t place) {
  const std::size_t n = base.size();
  if (s.steps) {
    for (std::size_t i = 0; i < n; ++i) {
      const int rank = first + static_cast<int>(i);
      if (!s.concerns(rank)) continue;
      const double recorded = s.recorded_time(seed, step, rank);
      if (s.relative)
        sums.ratio[i] += recorded / s.steps->mean - 1;
      else
        sums.seconds[i] += recorded - base[i];
    }
    return;
  }
  std::span<double> drawn = std::span(sums.drawn).first(n);
  if (memory != nullptr && !memory->amounts.empty()) {
    drawn = std::span(memory->amounts).subspan(place, n);
  } else {
    CorrelatedMemory* chunk = nullptr;
    if (memory != nullptr && !memory->chunks.empty()) chunk = &memory->chunks[place / kNoiseChunk];
    s.amounts(seed, step, {.first = first, .named = {}, .count = n}, drawn, chunk);
  }
  auto& into = s.relative ? sums.ratio : sums.seconds;
  for (std::size_t i = 0; i < n; ++i) into[i] += drawn[i];
}

/// A key of its own for each collective leaves the whole counter to the round. Numbers beyond the 33 bits that
/// a stream counts (large jobs, messages that are no collective) have seeds of their own.
std::uint64_t message_key(const Source& s, std::uint64_t seed, std::int64_t step, std::int64_t collective) {
  constexpr int kCounted = 33;
  const auto number = static_cast<std::uint64_t>(collective);
  const std::uint64_t beyond = number >> kCounted;
  return RandomStream(beyond == 0 ? seed : mix_bits(seed + kGoldenStep * beyond),
                      s.stream(StreamPurpose::MessageSeed))
      .bits(static_cast<std::uint64_t>(step), number - (beyond << kCounted));
}

double delay_of(const Source& s, std::uint64_t seed, int rank, double now, double work) {
  if (!s.concerns(rank)) return 0;
  if (s.detours) return DetourReplay{s.draws, *s.detours}.delay(seed, s.units.of(rank), now, work);
  return Daemon{s.draws, s.period}.delay(seed, s.units.of(rank), now, work);
}

}  // namespace

void Noise::compute(std::int64_t step, int first, std::span<const Seconds> base, std::span<Seconds> out,
                    std::span<const Seconds> now, NoiseMemory* memory) const {
  COX_ASSERT(out.size() == base.size(), "one result per rank");
  COX_ASSERT(!needs_time() || now.size() == base.size(), "daemons need to know when work begins");
  if (out.data() != base.data()) std::ranges::copy(base, out.begin());
  if (!disturbs_compute()) return;
  const auto times = as_doubles(out);
  NoiseMemory::Kept* kept = memory == nullptr ? nullptr : memory->kept_.get();
  if (memory != nullptr && (kept == nullptr || kept->of != compiled_ || kept->seed != seed_ ||
                            kept->first != first || kept->ranks != times.size())) {
    memory->kept_ = std::make_unique<NoiseMemory::Kept>(NoiseMemory::Kept{
        .of = compiled_, .seed = seed_, .first = first, .ranks = times.size(), .sources = {}});
    kept = memory->kept_.get();
    std::size_t room = kMostKept;
    for (const Source& s : compiled_->sources)
      kept->sources.push_back(keep(s, seed_, first, times.size(), room));
  }
  Sums sums;
  for (std::size_t done = 0; done < times.size(); done += kNoiseChunk) {
    const auto part = times.subspan(done, std::min(kNoiseChunk, times.size() - done));
    const int rank = first + static_cast<int>(done);
    sums.ratio.fill(0);
    sums.seconds.fill(0);
    for (std::size_t i = 0; i < compiled_->sources.size(); ++i) {
      const Source& s = compiled_->sources[i];
      if (s.target == NoiseTarget::Compute && !s.timed())
        add_source(s, seed_, step, rank, part, sums, kept == nullptr ? nullptr : &kept->sources[i], done);
    }
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
                     std::span<Seconds> costs, std::span<const Seconds> latency,
                     std::span<const int> ranks) const {
  COX_ASSERT(latency.empty() || latency.size() == costs.size(), "one latency per message");
  COX_ASSERT(ranks.empty() || ranks.size() == costs.size(), "one rank per message");
  if (!disturbs_messages() && !disturbs_bandwidth()) return;
  const auto values = as_doubles(costs);
  const auto fixed = as_doubles(latency);
  std::array<double, kNoiseChunk> drawn;
  std::array<double, kNoiseChunk> added;
  if (const Source* only = compiled_->simple_message_source()) {
    const auto line = only->draws.line();
    const auto bell = only->draws.bell();
    const RandomStream draws(message_key(*only, seed_, step, collective), only->draws.stream(0));
    const SweepKernels& kernels = sweep_kernels();
    for (std::size_t done = 0; done < values.size(); done += kNoiseChunk) {
      const std::size_t n = std::min(kNoiseChunk, values.size() - done);
      const auto counter = static_cast<std::uint64_t>(round);
      const std::uint64_t index = static_cast<std::uint64_t>(first) + done;
      double* costs_here = values.data() + done;
      if (line) {
        draws.uniforms32(counter, index, std::span(drawn).first(n));
        kernels.stretch(costs_here, drawn.data(), n, line->low, line->width);
      } else {
        draws.normals32(counter, index, std::span(drawn).first(n));
        kernels.stretch_by_normals(costs_here, drawn.data(), n, bell->mean, bell->spread, bell->less);
      }
    }
    return;
  }
  const Source* lone = compiled_->lone_message_source();
  for (std::size_t done = 0; done < values.size(); done += kNoiseChunk) {
    const auto part = values.subspan(done, std::min(kNoiseChunk, values.size() - done));
    const std::size_t n = part.size();
    const Whom whom = Whom{.first = first, .named = ranks, .count = values.size()}.part(done, n);
    const int place = first + static_cast<int>(done);
    const auto x = std::span(drawn).first(n);
    if (lone != nullptr) {
      const std::uint64_t key = lone->per_message() ? message_key(*lone, seed_, step, collective) : 0;
      lone->message_amounts(seed_, key, step, round, place, whom, x);
      for (std::size_t i = 0; i < n; ++i) {
        const double disturbed = part[i] + part[i] * x[i];
        part[i] = disturbed > 0 ? disturbed : 0;
      }
      continue;
    }
    std::fill_n(added.begin(), n, 0.0);
    for (const Source& s : compiled_->sources) {
      if (s.target == NoiseTarget::Message) {
        const std::uint64_t key = s.per_message() ? message_key(s, seed_, step, collective) : 0;
        s.message_amounts(seed_, key, step, round, place, whom, x);
        for (std::size_t i = 0; i < n; ++i) added[i] += s.relative ? part[i] * x[i] : x[i];
      } else if (s.target == NoiseTarget::Bandwidth) {
        s.amounts(seed_, step, whom, x);
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

}  // namespace cox::simulate
