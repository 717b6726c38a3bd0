// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only.
#include "guest/pacing/ordering.hpp"

namespace cox::guest {
namespace {

constexpr Duration kNap = std::chrono::microseconds{50};

}  // namespace

pace::Order* Ordering::order_of(std::uint32_t comm) noexcept {
  for (std::uint32_t i = 0; i < kGroups; ++i) {
    std::uint32_t there = comms_[i].load(std::memory_order_relaxed);
    if (there == 0 && comms_[i].compare_exchange_strong(there, comm, std::memory_order_relaxed))
      return &orders_[i];
    if (there == comm) return &orders_[i];
  }
  return nullptr;
}

void Ordering::enter(std::uint32_t comm, std::uint64_t number) noexcept {
  if (longest_ <= Duration::zero() || comm == 0 || !world_.is_recording()) return;
  pace::Order* order = order_of(comm);
  if (order == nullptr) return;
  if (order->hold(number, Duration::zero()) > Duration::zero() && !world_.drives_accelerator())
    hold(*order, comm, number);
  order->enter(number);
}

// Time is counted by the naps that were asked for and by the clock, whichever is more: a clock that is set
// back does not lengthen a hold, and naps that last longer do not either.
void Ordering::hold(const pace::Order& order, std::uint32_t comm, std::uint64_t number) noexcept {
  const auto flags =
      trace::PaceFlags::of(static_cast<std::uint8_t>(pace::State::WarmUp), static_cast<std::uint8_t>(mode_));
  trace::RawRecord* const record = world_.begin(
      trace::EventKind::Pace, static_cast<std::uint8_t>(pace::Reason::InOrder), flags, comm,
      static_cast<std::uint32_t>(number), static_cast<std::uint64_t>(longest_.count() / 1000), 0);
  // What cannot be told in the Run (a full disk) is not done either.
  if (!world_.is_stored(record)) {
    record->end = record->begin;
    return;
  }
  const std::uint64_t begin = record->begin;
  const double ps_per_tick = world_.picoseconds_per_tick();
  const auto most = static_cast<double>(longest_.count());
  Duration waited{};
  for (Duration left = order.hold(number, waited); left > Duration::zero();
       left = order.hold(number, waited)) {
    if (!world_.is_recording()) break;
    const Duration nap = left < kNap ? left : kNap;
    world_.sleep(nap);
    waited += nap;
    const double passed =
        static_cast<double>(static_cast<std::int64_t>(world_.ticks() - begin)) * ps_per_tick;
    const Duration by_clock{static_cast<std::int64_t>(passed < most ? passed : most)};
    if (by_clock > waited) waited = by_clock;
  }
  world_.end(record);
}

}  // namespace cox::guest
