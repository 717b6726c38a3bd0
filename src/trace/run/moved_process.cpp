// SPDX-License-Identifier: Apache-2.0
#include "trace/run/moved_process.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cox::trace {
namespace {

Duration latest_time(const EventColumns& e) {
  Duration latest = Duration::min();
  for (std::size_t i = 0; i < e.size(); ++i)
    latest = std::max(latest, e.end[i] == kStillRunning ? e.begin[i] : e.end[i]);
  return latest;
}

template <class Move>
void move_events(EventColumns& e, const Move& move) {
  for (Duration& t : e.begin) t = Duration{static_cast<std::int64_t>(move(t))};
  for (Duration& t : e.end)
    if (t != kStillRunning) t = Duration{static_cast<std::int64_t>(move(t))};
}

/// Samples on the Run's axis, negative where taken before its first event. Those too far away for it go.
template <class Move>
void move_samples(std::vector<Sample>& samples, const Move& move) {
  const auto far = [&](const Sample& s) {
    const Int128 at = move(s.at);
    return at > kLatestPs || at < -kLatestPs;
  };
  std::erase_if(samples, far);
  for (Sample& s : samples) s.at = Duration{static_cast<std::int64_t>(move(s.at))};
}

/// Activities, launches and useful stretches, bounded to the Run's range.
template <class Move>
void move_spans(ProcessFile& p, const Move& move) {
  const auto moved = [&](Duration t) {
    return Duration{static_cast<std::int64_t>(std::clamp<Int128>(move(t), -kLatestPs, kLatestPs))};
  };
  for (auto* column : {&p.activities.begin, &p.activities.end, &p.useful.begin, &p.useful.end})
    for (Duration& t : *column) t = moved(t);
  for (CollectiveLaunch& launch : p.launches) {
    launch.begin = moved(launch.begin);
    launch.end = moved(launch.end);
  }
}

void rename_communicators(EventColumns& e, const std::unordered_map<std::uint32_t, CommId>& names,
                          std::size_t& unknown) {
  CommId last_from = kNoComm;
  CommId last_to = kNoComm;
  PackedColumn<CommId> renamed;
  renamed.reserve(e.size());
  for (const CommId c : e.comm) {
    if (c == kNoComm) {
      renamed.push_back(c);
      continue;
    }
    if (c != last_from) {
      const auto at = names.find(static_cast<std::uint32_t>(c.value()));
      last_from = c;
      last_to = at == names.end() ? kNoComm : at->second;
    }
    if (last_to == kNoComm) ++unknown;
    renamed.push_back(last_to);
  }
  e.comm = std::move(renamed);
}

template <class Move>
void move_placed(ProcessFile& process, const Move& move, MovedProcess& out) {
  EventColumns& events = process.events;
  if (events.size() > 0 && (move(events.begin.front()) < 0 || move(latest_time(events)) > kLatestPs)) {
    out.usable = false;
    events = {};
    process.samples.clear();
    process.activities = {};
    process.launches.clear();
    process.useful = {};
    return;
  }
  move_events(events, move);
  move_spans(process, move);
  move_samples(process.samples, move);
}

}  // namespace

MovedProcess move_process(ProcessFile& process, const Mover& move,
                          const std::unordered_map<std::uint32_t, CommId>& names) {
  MovedProcess out;
  if (move.known()) {
    move_placed(process, move, out);
  } else if (process.events.size() > 0) {
    // A process that cannot be placed begins at the origin: its spans are right, its begins mean nothing.
    const Int128 by = -Int128{process.events.begin.front().count()};
    move_placed(
        process, [by](Duration t) { return by + t.count(); }, out);
  } else {
    process.samples.clear();
  }
  if (out.usable) rename_communicators(process.events, names, out.unknown_comm);
  return out;
}

}  // namespace cox::trace
