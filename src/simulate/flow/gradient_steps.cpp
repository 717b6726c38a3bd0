// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow/gradient_steps.hpp"

#include <algorithm>

#include "cox/base/assert.hpp"

namespace cox::simulate {

GradientSteps::GradientSteps(FlowEngine& engine, Work work, Owns owns)
    : engine_(engine), work_(std::move(work)), owns_(std::move(owns)), ranks_(work_.rank_of.size()) {
  COX_ASSERT(!work_.buckets.empty() && work_.buckets.size() == work_.ready.size(), "a bucket, and its time");
}

void GradientSteps::start(Seconds at) {
  for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) begin_step(r, at);
}

void GradientSteps::begin_step(int rank, Seconds at) {
  Rank& r = ranks_[static_cast<std::size_t>(rank)];
  r.bucket = 0;
  r.begin = at;
  r.backward = at + work_.forward * slow(rank);
  join(rank, at);
}

/// Its next bucket, from when it is ready and the stream is free.
void GradientSteps::join(int rank, Seconds free) {
  const Rank& r = ranks_[static_cast<std::size_t>(rank)];
  auto known = course_of_.find({r.step, r.bucket});
  if (known == course_of_.end()) {
    const FlowCourseId course = engine_.begin(
        {.schedule = work_.buckets[r.bucket], .rank_of = work_.rank_of, .step = r.step, .neighbours = true});
    open_.emplace(course, Course{.step = r.step, .bucket = r.bucket});
    known = course_of_.emplace(std::pair{r.step, r.bucket}, course).first;
    owns_(course);
  }
  engine_.arrive(known->second, rank,
                 std::max(free, r.backward + work_.backward * (slow(rank) * work_.ready[r.bucket])));
}

void GradientSteps::take(const FlowDeparture& departure) {
  const auto at = open_.find(departure.course);
  COX_ASSERT(at != open_.end(), "a course that is its own");
  if (++at->second.left == static_cast<int>(ranks_.size())) {
    course_of_.erase({at->second.step, at->second.bucket});
    open_.erase(at);
  }
  const int rank = departure.place;
  Rank& r = ranks_[static_cast<std::size_t>(rank)];
  if (++r.bucket < work_.buckets.size()) return join(rank, departure.at);
  end_step(rank, departure.at + work_.optimizer * slow(rank));
}

void GradientSteps::end_step(int rank, Seconds at) {
  constexpr Seconds kLeastPause{1e-6};  // of who would else do endless work in no time
  Rank& r = ranks_[static_cast<std::size_t>(rank)];
  auto& [ended, last] = ending_[r.step];
  last = std::max(last, at);
  if (++ended == static_cast<int>(ranks_.size())) {
    ++done_;
    last_end_ = last;
    ending_.erase(r.step);
  }
  ++r.step;
  begin_step(rank, at > r.begin ? at : at + kLeastPause);
}

}  // namespace cox::simulate
