// SPDX-License-Identifier: Apache-2.0
// Collectives begin on the network; messages of two get what those before them left.
#include <utility>

#include "cox/base/assert.hpp"

#include "simulate/flow/engine.hpp"

namespace cox::simulate {
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
