// SPDX-License-Identifier: Apache-2.0
// Steady states. Where the same rounds repeat (a ring), the state relative to rank 0's round repeats after a
// while; from there on the course up to then repeats too, moved in time, and need not be computed again.
#include <algorithm>
#include <cmath>
#include <limits>

#include "simulate/flow/engine.hpp"

namespace cox::simulate {
namespace {

// Two states are one if every event is as far ahead, to this part of the time between them: far above
// rounding (1e-16 of the whole), far below the 1e-9 that the result is held to.
constexpr double kEqual = 1e-11;

}  // namespace

double FlowEngine::remaining(Slot slot) const {
  return heap_.holds(slot) ? heap_.time_of(slot) - now_ : 0;
}

void FlowEngine::forget_snapshot() {
  saved_.taken = false;
  looked_ = next_save_ = 0;
}

// While one collective is alone, all of whose places have come. Who comes later, and how far the driver lets the
// clock go, bounds what is skipped.
void FlowEngine::look_for_period() {
  if (live_.size() != 1) return;
  only_ = *live_.begin();
  if (courses_[only_]->to_come > 0 || courses_[only_]->loses || !within_runs()) {
    saved_.taken = false;
    return;
  }
  if (saved_.taken && repeats()) {
    skip_ahead();
    saved_.taken = false;
    return;
  }
  // A state is kept until an eighth more have been looked at: the one that repeats is found soon after the
  // transient, and periods up to an eighth of it are seen.
  if (++looked_ >= next_save_) {
    take_snapshot();
    next_save_ = looked_ + std::max<std::int64_t>(looked_ / 8, 1);
  }
}

// Every rank is in the run of alike rounds that rank 0 is in, in every lane; and the run is worth it.
bool FlowEngine::within_runs() {
  FlowCourse& course = *courses_[only_];
  for (int lane = 0; lane < course.lanes; ++lane) {
    const LaneRounds& rounds = course.rounds[static_cast<std::size_t>(lane)];
    const std::int64_t reference = course.cell(lane, 0).round;
    if (reference >= rounds.rounds()) return false;
    const std::int64_t begin = rounds.run_begin(reference);
    const std::int64_t end = rounds.run_end(reference);
    if (end - reference < 3) return false;
    for (std::size_t p = 0; p < course.places; ++p) {
      const std::int64_t round = course.cell(lane, static_cast<int>(p)).round;
      if (round < begin || round >= end) return false;
    }
  }
  return true;
}

bool FlowEngine::repeats() {
  if (saved_.phases.size() != slots_.size()) return false;
  const FlowCourse& course = *courses_[only_];
  const std::size_t places = course.places;
  const std::vector<LaneCell>& cells = course.cells;
  for (int lane = 0; lane < course.lanes; ++lane) {
    const std::size_t first = static_cast<std::size_t>(lane) * places;
    const std::int64_t moved = cells[first].round - saved_.cells[first].round;
    if (moved <= 0) return false;
    for (std::size_t i = first; i < first + places; ++i)
      if (cells[i].round - saved_.cells[i].round != moved || cells[i].pending != saved_.cells[i].pending)
        return false;
  }
  const double tolerance = kEqual * (now_ - saved_.at);
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const MessageState& m = slots_[s];
    if (m.phase != saved_.phases[s]) return false;
    if (m.phase == FlowPhase::Free) continue;
    const std::size_t first = static_cast<std::size_t>(m.lane) * places;
    const std::int64_t moved = cells[first].round - saved_.cells[first].round;
    if (m.round - saved_.rounds[s] != moved || m.from != saved_.peers[3 * s] ||
        m.to != saved_.peers[3 * s + 1] || m.choice != saved_.peers[3 * s + 2] || m.stage != saved_.stages[s])
      return false;
    if (std::abs(remaining(static_cast<Slot>(s)) - saved_.remaining[s]) > tolerance) return false;
  }
  return true;
}

void FlowEngine::take_snapshot() {
  const std::size_t n = slots_.size();
  saved_.taken = true;
  saved_.at = now_;
  saved_.cells = courses_[only_]->cells;
  saved_.phases.resize(n);
  saved_.rounds.resize(n);
  saved_.stages.resize(n);
  saved_.peers.resize(3 * n);
  saved_.remaining.resize(n);
  for (std::size_t s = 0; s < n; ++s) {
    const MessageState& m = slots_[s];
    saved_.phases[s] = m.phase;
    saved_.rounds[s] = m.round;
    saved_.stages[s] = m.stage;
    saved_.peers[3 * s] = m.from;
    saved_.peers[3 * s + 1] = m.to;
    saved_.peers[3 * s + 2] = m.choice;
    saved_.remaining[s] = remaining(static_cast<Slot>(s));
  }
  saved_.link_bytes = outcome_.link_bytes;
  saved_.messages = outcome_.messages;
}

// As many periods as leave every rank in its run, and end before the clock may be stopped.
void FlowEngine::skip_ahead() {
  FlowCourse& course = *courses_[only_];
  std::vector<LaneCell>& cells = course.cells;
  const std::size_t places = course.places;
  std::int64_t periods = std::numeric_limits<std::int64_t>::max();
  for (int lane = 0; lane < course.lanes; ++lane) {
    const std::size_t first = static_cast<std::size_t>(lane) * places;
    const std::int64_t moved = cells[first].round - saved_.cells[first].round;
    std::int64_t furthest = 0;
    for (std::size_t i = first; i < first + places; ++i) furthest = std::max(furthest, cells[i].round);
    const std::int64_t end = course.rounds[static_cast<std::size_t>(lane)].run_end(furthest);
    periods = std::min(periods, (end - 1 - furthest) / moved);
  }
  const double period = now_ - saved_.at;
  const double border = coming_.empty() ? until_ : std::min(until_, coming_.top().at);
  if (border < std::numeric_limits<double>::infinity() && period > 0) {
    const double room = (border - now_) / period - 1;
    if (room < static_cast<double>(periods)) periods = static_cast<std::int64_t>(room);
  }
  if (periods <= 0) return;
  outcome_.memo = true;
  const double shift = static_cast<double>(periods) * period;
  for (MessageState& m : slots_) {
    if (m.phase == FlowPhase::Free) continue;
    const std::size_t first = static_cast<std::size_t>(m.lane) * places;
    m.round += periods * (cells[first].round - saved_.cells[first].round);
    m.updated += shift;
    m.begin += shift;
  }
  for (int lane = 0; lane < course.lanes; ++lane) {
    const std::size_t first = static_cast<std::size_t>(lane) * places;
    const std::int64_t moved = periods * (cells[first].round - saved_.cells[first].round);
    for (std::size_t i = first; i < first + places; ++i) cells[i].round += moved;
  }
  heap_.shift(shift);
  now_ += shift;
  for (std::size_t l = 0; l < outcome_.link_bytes.size(); ++l)
    outcome_.link_bytes[l] += static_cast<double>(periods) * (outcome_.link_bytes[l] - saved_.link_bytes[l]);
  outcome_.messages += periods * (outcome_.messages - saved_.messages);
}

}  // namespace cox::simulate
