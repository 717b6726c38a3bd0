// SPDX-License-Identifier: Apache-2.0
#include "diagnose/efficiency/useful.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace cox::diagnose {
namespace {

using trace::ActivityColumns;
using trace::ActivityKind;
using trace::EventColumns;
using trace::RankTrack;

/// First and last time of anything that is known of a rank.
struct Extent {
  Duration first = Duration::max();
  Duration last = Duration::min();
  void add(Duration begin, Duration end) {
    first = std::min(first, begin);
    last = std::max(last, end == trace::kStillRunning ? begin : end);
  }
  [[nodiscard]] bool empty() const { return first > last; }
};

template <class Columns>
void add_all(Extent& x, const Columns& c) {
  for (std::size_t i = 0; i < c.size(); ++i) x.add(c.begin[i], c.end[i]);
}

bool is_of_mpi(const Matched& matched) {
  // Readers that take all time outside MPI calls as useful.
  constexpr std::array<std::string_view, 2> kFormats = {"otf2", "dumpi"};
  const auto known = [&](const trace::SourceFile& f) {
    return std::find(kFormats.begin(), kFormats.end(), f.format) != kFormats.end();
  };
  return std::any_of(matched.sources().begin(), matched.sources().end(), known);
}

void choose_source(const Matched& matched, UsefulTime& u, bool& stretches) {
  const auto any = [&](auto&& holds) {
    return std::any_of(matched.tracks().begin(), matched.tracks().end(), holds);
  };
  stretches = any([](const RankTrack& t) { return t.useful.size() > 0; });
  const bool mpi = is_of_mpi(matched);
  if (stretches) {
    u.source = mpi ? UsefulSource::OutsideMpi : UsefulSource::States;
    u.outside_is_useful = mpi;
  } else if (any([](const RankTrack& t) {
               const auto& kinds = t.activities.kind;
               return std::find(kinds.begin(), kinds.end(), ActivityKind::Kernel) != kinds.end();
             })) {
    u.source = UsefulSource::ComputeKernels;
  } else if (mpi || any([](const RankTrack& t) { return t.library.find("MPI") != std::string::npos; })) {
    u.source = UsefulSource::OutsideMpi;
  }
}

Duration time_in_states(const RankTrack& track) {
  Duration sum{};
  for (std::size_t i = 0; i < track.useful.size(); ++i)
    add_to(sum, minus_clamped(track.useful.end[i], track.useful.begin[i]));
  return sum;
}

/// Union: kernels run beside each other on several streams.
Duration time_in_kernels(const ActivityColumns& a) {
  Duration sum{};
  Duration until = Duration::min();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a.kind[i] != ActivityKind::Kernel || a.end[i] <= until) continue;
    add_to(sum, minus_clamped(a.end[i], std::max(until, a.begin[i])));
    until = a.end[i];
  }
  return sum;
}

Duration time_outside_calls(const EventColumns& e, const RankScan& scan, Duration from, Duration until) {
  CallCursor cursor(e, scan, from);
  ProgramCall call;
  Duration sum{};
  for (; cursor.next(call); from = call.exit) add_to(sum, minus_clamped(call.entry, from));
  if (!call.open) add_to(sum, positive_part(minus_clamped(until, from)));
  return sum;
}

std::optional<UsefulCounters> count(const Matched& matched, const UsefulTime& u) {
  UsefulCounters c;
  const auto add = [](std::int64_t& sum, std::int64_t v) {
    if (__builtin_add_overflow(sum, v, &sum)) sum = std::numeric_limits<std::int64_t>::max();
  };
  double useful_s = 0;
  for (std::size_t r = 0; r < matched.ranks(); ++r) {
    for (const auto v : matched.track(r).useful.instructions) add(c.instructions, v);
    for (const auto v : matched.track(r).useful.cycles) add(c.cycles, v);
    useful_s += in_seconds(u.useful[r]);
  }
  if (c.instructions <= 0 || c.cycles <= 0 || useful_s <= 0) return std::nullopt;
  c.ipc = static_cast<double>(c.instructions) / static_cast<double>(c.cycles);
  const double hz = static_cast<double>(c.cycles) / useful_s;
  c.frequency_hz = hz < 9e18 ? std::llround(hz) : std::numeric_limits<std::int64_t>::max();
  return c;
}

}  // namespace

std::optional<UsefulTime> find_useful_time(const Matched& matched) {
  if (matched.ranks() == 0 || matched.times() == trace::TimesKind::None) return std::nullopt;
  UsefulTime u;
  bool stretches = false;
  choose_source(matched, u, stretches);
  const bool any_call = std::any_of(matched.scans().begin(), matched.scans().end(),
                                    [](const RankScan& s) { return s.has_calls; });
  // Where only calls are known, a rank's time before its first one is not: the account begins with the last
  // rank's first call. Elsewhere a late start is part of what is measured.
  const bool only_calls = !stretches && u.source != UsefulSource::ComputeKernels;
  if (only_calls && !any_call) return std::nullopt;
  std::vector<Extent> extents(matched.ranks());
  Extent all;
  for (std::size_t r = 0; r < matched.ranks(); ++r) {
    Extent& x = extents[r];
    x = {matched.scan(r).first, matched.scan(r).latest};
    add_all(x, matched.track(r).useful);
    if (u.source == UsefulSource::ComputeKernels) add_all(x, matched.track(r).activities);
    if (x.empty()) continue;
    u.from = all.empty() ? x.first : only_calls ? std::max(u.from, x.first) : std::min(u.from, x.first);
    all.add(x.first, x.last);
  }
  if (all.empty() || all.last <= u.from) return std::nullopt;
  u.until = all.last;
  for (std::size_t r = 0; r < matched.ranks(); ++r) {
    const RankTrack& track = matched.track(r);
    const Extent& x = extents[r];
    u.first.push_back(x.empty() || only_calls ? u.from : x.first);
    u.last.push_back(x.empty() ? u.from : std::max(x.last, u.from));
    if (stretches)
      u.useful.push_back(time_in_states(track));
    else if (u.source == UsefulSource::ComputeKernels)
      u.useful.push_back(time_in_kernels(track.activities));
    else
      u.useful.push_back(time_outside_calls(track.events, matched.scan(r), u.first[r], u.last[r]));
  }
  if (stretches) u.counters = count(matched, u);
  return u;
}

}  // namespace cox::diagnose
