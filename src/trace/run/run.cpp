// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/run.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

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

void EventColumns::push_back(const Event& event) {
  const bool step = event.kind == EventKind::Step;
  const auto number = static_cast<std::uint64_t>(event.bytes.count());
  begin.push_back(event.begin);
  end.push_back(event.end);
  bytes.push_back(step ? Bytes{} : event.bytes);
  comm.push_back(event.comm);
  seq.push_back(step ? static_cast<std::uint32_t>(number) : event.seq);
  kind.push_back(event.kind);
  op.push_back(event.op);
  flags.push_back(event.flags);
  aux.push_back(step ? static_cast<std::uint32_t>(number >> 32) : event.aux);
  thread.push_back(event.thread);
}

Event EventColumns::operator[](std::size_t i) const {
  const bool step = kind[i] == EventKind::Step;
  return {.kind = kind[i],
          .op = op[i],
          .flags = flags[i],
          .begin = begin[i],
          .end = end[i],
          .bytes = step ? Bytes{step_number(i)} : bytes[i],
          .comm = comm[i],
          .seq = step ? 0 : seq[i],
          .aux = step ? 0 : aux[i],
          .thread = thread[i]};
}

void EventColumns::reorder(std::span<const std::uint32_t> order) {
  const auto reordered = [&](auto& column) {
    std::remove_reference_t<decltype(column)> out;
    out.reserve(order.size());
    for (const std::uint32_t i : order) out.push_back(column[i]);
    column = std::move(out);
  };
  reordered(begin);
  reordered(end);
  reordered(seq);
  reordered(kind);
  reordered(op);
  reordered(flags);
  bytes.reorder(order);
  comm.reorder(order);
  aux.reorder(order);
  thread.reorder(order);
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
