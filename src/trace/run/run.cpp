// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/run.hpp"

#include <algorithm>

namespace cox::trace {

const char* name_of(Provenance p) {
  switch (p) {
    case Provenance::Observed:
      return "observed";
    case Provenance::Imported:
      return "imported";
    case Provenance::Simulated:
      return "simulated";
  }
  return "observed";
}

const char* name_of(ClockSource s) {
  switch (s) {
    case ClockSource::Shared:
      return "shared";
    case ClockSource::Collectives:
      return "collectives";
    case ClockSource::Realtime:
      return "realtime";
    case ClockSource::Unknown:
      return "unknown";
  }
  return "unknown";
}

const char* name_of(ActivityKind k) {
  switch (k) {
    case ActivityKind::Kernel:
      return "kernel";
    case ActivityKind::Copy:
      return "copy";
    case ActivityKind::Launch:
      return "launch";
    case ActivityKind::HostOp:
      return "host_op";
    case ActivityKind::HostSync:
      return "host_sync";
    case ActivityKind::Gc:
      return "gc";
    case ActivityKind::DataLoad:
      return "data_load";
    case ActivityKind::Allocation:
      return "allocation";
  }
  return "kernel";
}

const char* name_of(TimesKind k) {
  switch (k) {
    case TimesKind::Clocked:
      return "clocked";
    case TimesKind::Durations:
      return "durations";
    case TimesKind::Steps:
      return "steps";
    case TimesKind::None:
      return "none";
  }
  return "none";
}

void EventColumns::reserve(std::size_t n) {
  begin.reserve(n);
  end.reserve(n);
  bytes.reserve(n);
  comm.reserve(n);
  seq.reserve(n);
  kind.reserve(n);
  op.reserve(n);
  flags.reserve(n);
  aux.reserve(n);
  thread.reserve(n);
}

std::size_t Run::event_count() const {
  std::size_t n = 0;
  for (const RankTrack& track : ranks) n += track.events.size();
  return n;
}

const Communicator* Run::find(CommId id) const {
  // Ids are indices in every Run that a reader made; a hand-made Run may number them otherwise.
  const auto index = static_cast<std::size_t>(id.value());
  if (id.value() >= 0 && index < communicators.size() && communicators[index].id == id)
    return &communicators[index];
  const auto at = std::find_if(communicators.begin(), communicators.end(),
                               [id](const Communicator& c) { return c.id == id; });
  return at == communicators.end() ? nullptr : &*at;
}

}  // namespace cox::trace
