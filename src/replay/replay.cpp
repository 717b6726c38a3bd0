// SPDX-License-Identifier: Apache-2.0
#include "cox/replay/replay.hpp"

#include <algorithm>
#include <array>

#include "cox/base/assert.hpp"

#include "replay/clamped.hpp"

namespace cox::replay {
namespace {

using detail::Ticks;
using model::Dependencies;
using model::kNoOperation;
using model::OperationIndex;

/// Latest finish among several predecessors. Four running maxima, so that a join of many does not wait for
/// one comparison after the other.
Ticks latest_of(const OperationIndex* before, std::size_t count, const Duration* finish, Ticks begin) {
  std::array<Ticks, 4> latest{begin, begin, begin, begin};
  std::size_t k = 0;
  for (; k + 4 <= count; k += 4)
    for (std::size_t lane = 0; lane < 4; ++lane)
      latest[lane] = std::max(latest[lane], finish[before[k + lane]].count());
  for (; k < count; ++k) latest[0] = std::max(latest[0], finish[before[k]].count());
  return std::max(std::max(latest[0], latest[1]), std::max(latest[2], latest[3]));
}

struct Latest {
  Ticks at = 0;
  OperationIndex node = kNoOperation;
};

/// The evaluation itself. What a program does not have costs nothing.
template <bool kLags, bool kReleases>
Latest evaluate(const Dependencies& needs, std::span<const Duration> durations,
                std::span<const Duration> release, Duration* finish) {
  const std::uint64_t* first = needs.first_before().data();
  const OperationIndex* before = needs.all_before().data();
  const Duration* lags = needs.all_lags().data();
  const std::size_t size = needs.size();
  Latest out;
  std::uint64_t from = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t to = first[i + 1];
    Ticks begin = 0;
    if constexpr (kReleases) begin = std::max(begin, release[i].count());
    if constexpr (kLags) {
      for (std::uint64_t e = from; e < to; ++e)
        begin = std::max(begin, detail::plus(finish[before[e]].count(), lags[e].count()));
    } else if (to - from == 1) {
      begin = std::max(begin, finish[before[from]].count());
    } else {
      begin = latest_of(before + from, to - from, finish, begin);
    }
    from = to;
    const Ticks end = detail::plus_positive(begin, std::max(Ticks{0}, durations[i].count()));
    finish[i] = Duration{end};
    if (end > out.at || i == 0) out = {end, static_cast<OperationIndex>(i)};
  }
  return out;
}

Latest evaluate_any(const Dependencies& needs, std::span<const Duration> durations,
                    std::span<const Duration> release, Duration* finish) {
  COX_ASSERT(durations.size() == needs.size(), "one duration per operation");
  COX_ASSERT(needs.is_ordered(), "operations stand behind those that they wait for");
  COX_ASSERT(release.empty() || release.size() == needs.size(), "one release time per operation, or none");
  if (needs.has_lags())
    return release.empty() ? evaluate<true, false>(needs, durations, release, finish)
                           : evaluate<true, true>(needs, durations, release, finish);
  return release.empty() ? evaluate<false, false>(needs, durations, release, finish)
                         : evaluate<false, true>(needs, durations, release, finish);
}

Ticks length_of(std::span<const Duration> durations, OperationIndex i) {
  return std::max(Ticks{0}, durations[i].count());
}

}  // namespace

OperationTimes replay(const Dependencies& needs, std::span<const Duration> durations) {
  return replay(needs, durations, {});
}

OperationTimes replay(const model::Program& program) {
  return replay(program.needs, program.duration, {});
}

OperationTimes replay(const Dependencies& needs, std::span<const Duration> durations,
                      std::span<const Duration> release) {
  OperationTimes out;
  out.finish.resize(needs.size());
  const Latest latest = evaluate_any(needs, durations, release, out.finish.data());
  out.makespan = Duration{latest.at};
  out.last = latest.node;
  return out;
}

Duration makespan(const Dependencies& needs, std::span<const Duration> durations,
                  std::vector<Duration>& finish) {
  finish.resize(needs.size());
  return Duration{evaluate_any(needs, durations, {}, finish.data()).at};
}

std::vector<OperationIndex> critical_path(const Dependencies& needs, std::span<const Duration> durations,
                                          const OperationTimes& timeline) {
  COX_ASSERT(durations.size() == needs.size() && timeline.finish.size() == needs.size(),
             "durations and a timeline of this program");
  std::vector<OperationIndex> path;
  for (OperationIndex at = timeline.last; at != kNoOperation;) {
    path.push_back(at);
    const auto before = needs.before(at);
    OperationIndex latest = kNoOperation;
    Ticks latest_at = 0;
    for (std::size_t k = 0; k < before.size(); ++k) {
      const Ticks t = detail::plus(timeline.finish[before[k]].count(), needs.lag(at, k).count());
      if (latest == kNoOperation || t > latest_at || (t == latest_at && before[k] < latest)) {
        latest = before[k];
        latest_at = t;
      }
    }
    // A finish at the end of the range tells no begin; then whoever came last goes on.
    const Ticks finish = timeline.finish[at].count();
    const Ticks begin = finish == detail::kLongest ? latest_at : finish - length_of(durations, at);
    at = latest != kNoOperation && latest_at >= begin ? latest : kNoOperation;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<Duration> slack(const Dependencies& needs, std::span<const Duration> durations,
                            const OperationTimes& timeline) {
  COX_ASSERT(durations.size() == needs.size() && timeline.finish.size() == needs.size(),
             "durations and a timeline of this program");
  std::vector<Duration> latest(needs.size(), timeline.makespan);
  for (std::size_t i = needs.size(); i-- > 0;) {
    const auto node = static_cast<OperationIndex>(i);
    const Ticks begin = detail::minus(latest[i].count(), length_of(durations, node));
    const auto before = needs.before(node);
    for (std::size_t k = 0; k < before.size(); ++k) {
      const Ticks bound = detail::minus(begin, needs.lag(node, k).count());
      if (bound < latest[before[k]].count()) latest[before[k]] = Duration{bound};
    }
    latest[i] = Duration{std::max(Ticks{0}, detail::minus(latest[i].count(), timeline.finish[i].count()))};
  }
  return latest;
}

std::vector<double> sensitivities(std::span<const OperationIndex> path,
                                  std::span<const std::uint32_t> classes, std::size_t count,
                                  std::span<const double> weights) {
  COX_ASSERT(weights.empty() || weights.size() == classes.size(), "one weight per operation, or none");
  std::vector<double> sums(count, 0);
  for (const OperationIndex node : path) {
    COX_ASSERT(node < classes.size() && classes[node] < count, "a class below `count` per operation");
    sums[classes[node]] += weights.empty() ? 1 : weights[node];
  }
  return sums;
}

}  // namespace cox::replay
