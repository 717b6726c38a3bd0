// SPDX-License-Identifier: Apache-2.0
// Steady states. Where the same rounds repeat (a ring), the state relative to rank 0's round repeats after a
// while; from there on the course up to then repeats too, moved in time, and need not be computed again.
//
// Collectives that go as those before them. Where one has all of its places and the network for itself, its state is
// compared with that of an earlier one: the same places in the same rounds, and every message as far from its next
// event. From there on the same follows as long as the driver tells the same; so what came and left since then is
// handed out again, moved in time, and nothing is played. Until the driver tells something else: then the
// engine, which stands at that state, plays what it was told, and leaves out what it has handed out.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "cox/base/assert.hpp"

#include "simulate/flow/engine.hpp"

namespace cox::simulate {
namespace {

// Two states are one if every event is as far ahead, to this part of the time between them: far above
// rounding (1e-16 of the whole), far below the 1e-9 that the result is held to.
constexpr double kEqual = 1e-11;
/// States of other collectives that are passed over before the one that is kept is given up: of as many in turn, the
/// same state is found.
constexpr std::int64_t kMostOthers = 8;
/// A state is kept where more messages were played than keeping it copies numbers, by this factor.
constexpr std::int64_t kCheap = 4;

bool same_work(const FlowCollective& a, const FlowCollective& b) {
  return a.schedule == b.schedule && a.groups == b.groups && a.neighbours == b.neighbours &&
         a.limit == b.limit && a.rank_of == b.rank_of;
}

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
    take_snapshot(*courses_[only_], saved_, 0, slots_.size());
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

bool FlowEngine::repeats() const {
  if (saved_.phases.size() != slots_.size()) return false;
  const FlowCourse& course = *courses_[only_];
  for (std::size_t first = 0; first < course.cells.size(); first += course.places)
    if (course.cells[first].round <= saved_.cells[first].round) return false;
  return is_alike(course, saved_, 0);
}

/// Whether the course is where it was, but for rounds gone in each lane, with the messages of `before` in the slots
/// from `first` on.
bool FlowEngine::is_alike(const FlowCourse& course, const FlowSnapshot& before, Slot first) const {
  const std::size_t places = course.places;
  const std::vector<LaneCell>& cells = course.cells;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t reference = i - i % places;
    if (cells[i].round - cells[reference].round != before.cells[i].round - before.cells[reference].round ||
        cells[i].pending != before.cells[i].pending)
      return false;
  }
  const double tolerance = kEqual * (now_ - before.at);
  for (std::size_t s = 0; s < before.phases.size(); ++s) {
    const MessageState& m = slots_[first + s];
    if (m.phase != before.phases[s]) return false;
    if (m.phase == FlowPhase::Free) continue;
    const std::size_t reference = static_cast<std::size_t>(m.lane) * places;
    const std::int64_t moved = cells[reference].round - before.cells[reference].round;
    if (m.round - before.rounds[s] != moved || m.from != before.peers[3 * s] ||
        m.to != before.peers[3 * s + 1] || m.choice != before.peers[3 * s + 2] || m.stage != before.stages[s])
      return false;
    if (std::abs(remaining(static_cast<Slot>(first + s)) - before.remaining[s]) > tolerance) return false;
  }
  return true;
}

void FlowEngine::take_snapshot(const FlowCourse& course, FlowSnapshot& into, Slot first,
                               std::size_t slots) const {
  into.taken = true;
  into.at = now_;
  into.cells = course.cells;
  into.phases.resize(slots);
  into.rounds.resize(slots);
  into.stages.resize(slots);
  into.peers.resize(3 * slots);
  into.remaining.resize(slots);
  for (std::size_t s = 0; s < slots; ++s) {
    const MessageState& m = slots_[first + s];
    into.phases[s] = m.phase;
    into.rounds[s] = m.round;
    into.stages[s] = m.stage;
    into.peers[3 * s] = m.from;
    into.peers[3 * s + 1] = m.to;
    into.peers[3 * s + 2] = m.choice;
    into.remaining[s] = remaining(static_cast<Slot>(first + s));
  }
  into.link_bytes = outcome_.link_bytes;
  into.messages = outcome_.messages;
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

void FlowEngine::forget_state() {
  if (again_.on) catch_up();
  again_.taken = false;
  again_.begun.clear();
  again_.events.clear();
}

/// A collective has all of its places, and nobody who has left is to be handed out.
void FlowEngine::look_for_recurrence() {
  if (live_.size() != 1 || open_ != 1 || !coming_.empty()) return;
  const FlowCourseId id = *live_.begin();
  if (id + std::size_t{1} != courses_.size()) return;  // others began later, and are over
  const FlowCourse& course = *courses_[id];
  const auto here = slots_.begin() + course.first_slot;
  const auto under_way = std::count_if(here, here + static_cast<std::ptrdiff_t>(course.cells.size()),
                                       [](const MessageState& m) { return m.phase != FlowPhase::Free; });
  if (course.to_leave != course.places || course.loses || under_way != under_way_ ||
      !course.ports->sent.empty() || !course.ports->queued.empty())
    return;
  if (again_.taken && same_work(again_.begun.front(), course.what)) {
    if (recurs(course)) return begin_again(id);
  } else if (again_.taken && ++again_.looked < kMostOthers) {
    return;
  }
  const auto copied = static_cast<std::int64_t>(course.cells.size() + outcome_.link_bytes.size());
  if (outcome_.played - again_.played < copied / kCheap) return;
  keep_state(id);
}

bool FlowEngine::recurs(const FlowCourse& course) const {
  for (std::size_t first = 0; first < course.cells.size(); first += course.places)
    if (course.cells[first].round != again_.state.cells[first].round) return false;
  return now_ > again_.state.at && is_alike(course, again_.state, course.first_slot);
}

void FlowEngine::keep_state(FlowCourseId id) {
  forget_state();
  const FlowCourse& course = *courses_[id];
  take_snapshot(course, again_.state, course.first_slot, course.cells.size());
  again_.taken = true;
  again_.course = id;
  again_.begun.push_back(course.what);
  again_.looked = 0;
  again_.played = outcome_.played;
}

/// Somebody came or left.
void FlowEngine::note(FlowCourseId course, int place, bool leaves) {
  if (!again_.taken || again_.on) return;
  // A state that does not come again would keep all that happens.
  constexpr std::size_t kMostEvents = 64;
  if (again_.events.size() > kMostEvents * (again_.state.cells.size() + 16)) return forget_state();
  again_.events.push_back(
      {.course = course - again_.course, .place = place, .leaves = leaves, .after = now_ - again_.state.at});
}

void FlowEngine::note_begin(const FlowCourse& course) {
  if (!again_.taken) return;
  const bool has_servers = course.what.schedule->participants() > course.what.schedule->ranks();
  if (has_servers || course.loses) return forget_state();  // servers are there at once, losses are drawn
  if (!again_.on) return again_.begun.push_back(course.what);
  const std::size_t number = courses_.size() - again_.course;
  again_.broken =
      again_.broken || number >= again_.begun.size() || !same_work(course.what, again_.begun[number]);
}

/// What has been seen since the state that was kept is what will be seen.
void FlowEngine::begin_again(FlowCourseId id) {
  again_.on = true;
  again_.broken = false;
  again_.next = 0;
  again_.period = now_ - again_.state.at;
  again_.courses = id - again_.course;
  again_.course = id;
  again_.begun.resize(again_.courses + std::size_t{1});
  again_.comes.assign(again_.begun.size(), {});
  for (std::uint32_t e = 0; e < again_.events.size(); ++e) {
    const FlowRecurrence::Event& event = again_.events[e];
    if (event.leaves) continue;
    std::vector<std::uint32_t>& comes = again_.comes[event.course];
    comes.resize(static_cast<std::size_t>(again_.begun[event.course].schedule->ranks()));
    comes[static_cast<std::size_t>(event.place)] = e;
  }
  again_.link_bytes = outcome_.link_bytes;
  for (std::size_t l = 0; l < again_.link_bytes.size(); ++l)
    again_.link_bytes[l] -= again_.state.link_bytes[l];
  again_.messages = outcome_.messages - again_.state.messages;
}

void FlowEngine::note_arrival(FlowCourseId course, int place, double at) {
  if (!again_.on || again_.broken) return;
  const std::size_t number = course - again_.course;
  const auto p = static_cast<std::size_t>(place);
  if (number >= again_.comes.size() || p >= again_.comes[number].size()) {
    again_.broken = true;
    return;
  }
  FlowRecurrence::Event& event = again_.events[again_.comes[number][p]];
  event.told = true;
  again_.broken = std::abs(at - now_ - event.after) > kEqual * again_.period;
}

/// Nothing while `again_` is on: nobody leaves up to `until_`. Nothing, and it is off: the engine has to play.
std::optional<FlowDeparture> FlowEngine::next_again() {
  while (!again_.broken) {
    if (again_.next == again_.events.size()) jump();
    const FlowRecurrence::Event& event = again_.events[again_.next];
    const double at = now_ + event.after;
    if (at > until_ || (!event.leaves && !event.told && may_yet_come(at))) {
      said_ = std::max(said_, origin_ + until_);
      return std::nullopt;
    }
    again_.broken = !event.leaves && !event.told;
    if (again_.broken) break;
    ++again_.next;
    if (!event.leaves) continue;
    said_ = origin_ + at;
    return FlowDeparture{.course = again_.course + event.course, .place = event.place, .at = Seconds{said_}};
  }
  catch_up();
  return std::nullopt;
}

/// Who is awaited at `at` may be told yet, the clock being held there, where nobody leaves before.
bool FlowEngine::may_yet_come(double at) const {
  if (at < until_ - kEqual * again_.period) return false;
  for (std::size_t e = again_.next; e < again_.events.size() && now_ + again_.events[e].after <= until_; ++e)
    if (again_.events[e].leaves) return false;
  return true;
}

/// A period is over: the state is that of its begin, of the collective that came last.
void FlowEngine::jump() {
  const FlowCourseId to = again_.course + again_.courses;
  courses_[again_.course]->what = std::move(courses_[to]->what);
  courses_[to] = std::move(courses_[again_.course]);
  while (again_.course < to) courses_[again_.course++].reset();
  open_ = 1;
  live_ = {to};
  coming_ = {};
  forget_snapshot();
  for (MessageState& m : slots_) {
    if (m.phase == FlowPhase::Free) continue;
    m.course = to;
    m.updated += again_.period;
    m.begin += again_.period;
  }
  heap_.shift(again_.period);
  now_ += again_.period;
  for (std::size_t l = 0; l < again_.link_bytes.size(); ++l) outcome_.link_bytes[l] += again_.link_bytes[l];
  outcome_.messages += again_.messages;
  outcome_.recurred += again_.courses;
  outcome_.memo = true;
  again_.next = 0;
  for (FlowRecurrence::Event& event : again_.events) event.told = false;
}

/// Plays up to what was handed out, and no further; nothing is handed out twice.
void FlowEngine::catch_up() {
  std::set<std::pair<FlowCourseId, int>> out;
  for (const FlowRecurrence::Event& event : std::span(again_.events).first(again_.next))
    if (event.leaves) out.emplace(again_.course + event.course, event.place);
  again_.on = again_.taken = false;
  const double held = std::exchange(until_, said_ - origin_);
  while (!out.empty()) {
    COX_ASSERT(can_go_on(next_event()), "who has left leaves again");
    batch(next_event());
    settle();
    if (reference_moved_) look_for_period();
    reference_moved_ = false;
    std::erase_if(departed_, [&](const FlowDeparture& one) {
      return out.erase({one.course, one.place}) > 0;
    });
  }
  all_came_ = false;
  until_ = held;
  for (FlowDeparture& one : departed_) one.at = std::max(one.at, Seconds{said_});
}

// Messages of two get what those before them left.

namespace {

/// Begun and over so often that what is allocated for one is kept for the next.
bool is_message(const model::Schedule& schedule) {
  return schedule.participants() == 2 && schedule.ranks() == 2 && schedule.lanes() == 1;
}

}  // namespace

/// With rounds and places for `what`, which is a schedule that begins.
std::unique_ptr<FlowCourse> FlowEngine::course_for(const FlowCollective& what) {
  const model::Schedule& schedule = *what.schedule;
  const bool message = is_message(schedule) && !eager_;
  if (message) {
    std::vector<std::unique_ptr<FlowCourse>>& spare = put_away_[&schedule];
    if (!spare.empty() && spare.back()->what.groups == what.groups) {
      std::unique_ptr<FlowCourse> course = std::move(spare.back());
      spare.pop_back();
      for (LaneRounds& rounds : course->rounds) rounds.begin_again();
      course->losses.clear();
      course->loses = false;
      course->cells.assign(course->cells.size(), {});
      return course;
    }
  }
  auto course = std::make_unique<FlowCourse>();
  course->places = static_cast<std::size_t>(schedule.participants());
  course->lanes = schedule.lanes() * what.groups;
  course->rounds.reserve(static_cast<std::size_t>(course->lanes));
  for (int lane = 0; lane < course->lanes; ++lane)
    course->rounds.emplace_back(schedule, lane % schedule.lanes(), message);
  course->cells.resize(course->places * static_cast<std::size_t>(course->lanes));
  course->ports = eager_ && what.ports != nullptr ? what.ports : std::make_shared<FlowPorts>();
  if (eager_) course->ports->of_senders.resize(course->cells.size());
  return course;
}

FlowCourseId FlowEngine::begin(FlowCollective what) {
  std::unique_ptr<FlowCourse> course = course_for(what);
  COX_ASSERT(what.rank_of.size() == course->places * static_cast<std::size_t>(what.groups),
             "every participant needs a rank to sit on");
  course->lanes_left.assign(course->places, course->lanes);
  course->to_come = course->to_leave = course->places;
  course->what = std::move(what);
  prepare_losses(*course);
  note_begin(*course);
  courses_.push_back(std::move(course));
  ++open_;
  const auto id = static_cast<FlowCourseId>(courses_.size() - 1);
  if (!eager_) call_servers(id);
  return id;
}

/// Those that are over since the last batch.
void FlowEngine::put_away() {
  constexpr std::size_t kMost = 1024;  // of a schedule
  for (std::unique_ptr<FlowCourse>& course : over_) {
    if (eager_ || !is_message(*course->what.schedule)) continue;
    std::vector<std::unique_ptr<FlowCourse>>& spare = put_away_[course->what.schedule];
    if (spare.size() < kMost) spare.push_back(std::move(course));
  }
  over_.clear();
}

}  // namespace cox::simulate
