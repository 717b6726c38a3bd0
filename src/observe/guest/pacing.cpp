// SPDX-License-Identifier: Apache-2.0
#include "observe/guest/pacing.hpp"

#include <atomic>

#include "cox/pace/controller.hpp"

namespace cox::observe::guest {
namespace {

pace::Controller controller;
std::atomic<std::uint32_t> watched{0};  // the thread whose synchronisations the controller sees
std::uint64_t last_end = 0;

bool is_synchronisation(const trace::RawRecord& r) {
  using trace::EventKind;
  const auto kind = static_cast<EventKind>(r.kind);
  return (kind == EventKind::Collective && (r.flags & trace::kOffThread) == 0) || kind == EventKind::Wait;
}

Duration span(std::uint64_t ticks) {
  return Duration{
      static_cast<std::int64_t>(static_cast<double>(ticks) * trace::guest::picoseconds_per_tick())};
}

}  // namespace

void end_and_observe(trace::RawRecord* record) noexcept {
  trace::guest::end(record);
  if (!is_synchronisation(*record)) return;
  const std::uint32_t me = trace::guest::thread_id();
  std::uint32_t expected = watched.load(std::memory_order_relaxed);
  if (expected == 0) [[unlikely]] {
    watched.compare_exchange_strong(expected, me);
    expected = watched.load(std::memory_order_relaxed);
    last_end = record->begin;
  }
  if (expected != me) return;
  controller.observe({.work = span(record->begin - last_end), .sync = span(record->end - record->begin)});
  last_end = record->end;
  static_cast<void>(controller.decide());  // zero in this version: there is nothing to apply
}

}  // namespace cox::observe::guest
