// SPDX-License-Identifier: Apache-2.0
#include "diagnose/efficiency/ideal_network_plan.hpp"

#include <algorithm>

namespace cox::diagnose {

RankPlan::RankPlan(const Matched& matched, std::size_t rank, const UsefulTime& useful,
                   const Meetings& meetings, const std::vector<Posting>& postings)
    : track_(&matched.track(rank)),
      meetings_(&meetings),
      postings_(&postings),
      cursor_(track_->events, matched.scan(rank), useful.first[rank]),
      counts_(meetings.wait_counts(rank)),
      only_useful_(useful.outside_is_useful),
      now_(useful.first[rank]),
      last_(useful.last[rank]) {}

const PlannedCall* RankPlan::next() {
  if (taken_ == planned_) read_ahead();
  return taken_ == planned_ ? nullptr : &plan_[taken_++];
}

Duration RankPlan::rest() {
  return pass(last_);
}

void RankPlan::read_ahead() {
  planned_ = taken_ = 0;
  while (planned_ < kReadAhead) {
    if (!ahead_) {
      ProgramCall call;
      if (cursor_.next(call)) ahead_ = call;
    }
    const bool posts =
        next_posting_ < postings_->size() && (!ahead_ || (*postings_)[next_posting_].at <= ahead_->entry);
    if (posts)
      plan_posting();
    else if (ahead_)
      plan_call();
    else
      return;
  }
}

void RankPlan::plan_posting() {
  const Posting& posting = (*postings_)[next_posting_++];
  plan_[planned_++] = {.posting = &posting, .gap = pass(posting.at)};
}

void RankPlan::plan_call() {
  const trace::EventColumns& e = track_->events;
  const std::size_t i = ahead_->event;
  plan_[planned_++] = {.event = static_cast<std::uint32_t>(i),
                       .gap = pass(ahead_->entry),
                       .at = meetings_->attend(e, i, counts_),
                       .open = ahead_->open,
                       .blocks = (e.flags[i] & trace::kNonBlocking) == 0};
  now_ = std::max(now_, ahead_->exit);
  ahead_.reset();
}

Duration RankPlan::pass(Duration to) {
  const Duration from = now_;
  if (to <= from) return Duration::zero();
  now_ = to;
  if (!only_useful_) return minus_clamped(to, from);
  const trace::UsefulColumns& u = track_->useful;
  Duration sum{};
  for (; stretch_ < u.size() && u.begin[stretch_] < to; ++stretch_) {
    const Duration begin = std::max(u.begin[stretch_], from);
    add_to(sum, positive_part(minus_clamped(std::min(u.end[stretch_], to), begin)));
    if (u.end[stretch_] > to) break;
  }
  return sum;
}

}  // namespace cox::diagnose
