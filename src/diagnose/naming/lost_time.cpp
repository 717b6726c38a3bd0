// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/lost_time.hpp"

#include <algorithm>
#include <limits>

#include "diagnose/match/span_math.hpp"
#include "diagnose/naming/positions.hpp"

namespace cox::diagnose {
namespace {

/// Operations come group by group mostly: what repeats is put together at the end.
void add_of_group(GroupTimes& times, std::int32_t group, Duration d) {
  if (times.empty() || times.back().first != group)
    times.emplace_back(group, d);
  else
    add_to(times.back().second, d);
}

void put_together(GroupTimes& times) {
  std::stable_sort(times.begin(), times.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  GroupTimes out;
  for (const auto& [group, d] : times) add_of_group(out, group, d);
  times = std::move(out);
}

class Removal {
 public:
  /// `positions` may be null where no suspect is limited to some.
  Removal(const Matched& matched, const std::vector<Suspect>& suspects, const Positions* positions)
      : m_(matched.operations()),
        comparable_(matched.clocks_comparable()),
        suspects_(suspects),
        positions_(positions),
        suspect_of_(matched.ranks(), -1),
        level_(suspects.size()),
        bound_(suspects.size()) {
    out_.each.resize(suspects.size());
  }

  /// `position`: of the operation within its step, or -1.
  void operation(const ComparedOp& op, std::int32_t position) {
    accuse(op.step, position, true);
    if (accused_) {
      measure(op);
      accuse(op.step, position, false);
    }
  }

  Savings take() {
    put_together(out_.joint_in);
    for (Saving& s : out_.each)
      for (GroupTimes* times : {&s.share_in, &s.alone_in, &s.bound_in}) put_together(*times);
    return std::move(out_);
  }

 private:
  /// Marks the ranks that are suspected at an operation, or takes the marks away.
  void accuse(std::int64_t step, std::int32_t position, bool mark) {
    accused_ = false;
    for (std::size_t p = 0; p < suspects_.size(); ++p) {
      const Suspect& s = suspects_[p];
      if (step < s.first_step || step > s.last_step) continue;
      if (!s.positions.empty() && std::none_of(s.positions.begin(), s.positions.end(), [&](std::int32_t at) {
            return positions_->holder(at) == position;
          }))
        continue;
      const auto now = mark ? static_cast<std::int32_t>(p) : -1;
      accused_ = true;
      if (s.rank_of_step.empty()) {
        for (const auto rank : s.ranks) suspect_of_[static_cast<std::size_t>(rank)] = now;
      } else if (const auto rank = s.rank_of_step[static_cast<std::size_t>(step)]; rank >= 0) {
        suspect_of_[static_cast<std::size_t>(rank)] = now;
      }
    }
  }

  void measure(const ComparedOp& op) {
    const Group& group = m_.groups[static_cast<std::size_t>(op.group)];
    const std::size_t first = group.cell(op.op, 0);
    std::fill(level_.begin(), level_.end(), Duration::min());
    std::fill(bound_.begin(), bound_.end(), Duration::zero());
    Duration floor = Duration::min();
    bool any = false;
    for (std::size_t k = 0; k < group.members.size(); ++k) {
      if (m_.work[first + k] == kUnknown) continue;
      const Duration arrival = arrival_at(m_, first + k, comparable_);
      const std::int32_t suspect = suspect_of_[static_cast<std::size_t>(group.members[k])];
      if (suspect < 0) {
        floor = std::max(floor, arrival);
        continue;
      }
      any = true;
      const auto p = static_cast<std::size_t>(suspect);
      const Duration delay = std::min(positive_part(delay_at(m_, op, first + k)), limit(p, op, k));
      level_[p] = std::max(level_[p], arrival);
      bound_[p] = std::max(bound_[p], delay);
      floor = std::max(floor, minus_clamped(arrival, delay));
    }
    if (!any) return;
    for (std::size_t p = 0; p < bound_.size(); ++p)
      if (bound_[p] > Duration::zero()) add_of_group(out_.each[p].bound_in, op.group, bound_[p]);
    divide(floor, op.group);
  }

  /// Where a suspect is only accused of what comes before some submits: how late member `k` was there.
  [[nodiscard]] Duration limit(std::size_t suspect, const ComparedOp& op, std::size_t k) const {
    Duration late{};
    bool limited = false;
    for (const auto at : suspects_[suspect].positions)
      if (positions_->at(at).within >= 0) {
        limited = true;
        add_to(late, positions_->late_before(at, k, static_cast<std::size_t>(op.step)));
      }
    return limited ? late : Duration::max();
  }

  void divide(Duration floor, std::int32_t group) {
    order_.clear();
    for (std::size_t p = 0; p < level_.size(); ++p)
      if (level_[p] > floor) order_.push_back(p);
    if (order_.empty()) return;
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return level_[a] != level_[b] ? level_[a] > level_[b] : a < b;
    });
    const Duration joint = minus_clamped(level_[order_.front()], floor);
    add_to(out_.joint, joint);
    add_of_group(out_.joint_in, group, joint);
    Duration tail{};
    for (std::size_t i = order_.size(); i-- > 0;) {
      const Duration below = i + 1 < order_.size() ? level_[order_[i + 1]] : floor;
      const Duration part = minus_clamped(level_[order_[i]], below);
      add_to(tail, part / static_cast<std::int64_t>(i + 1));
      Saving& saving = out_.each[order_[i]];
      add_to(saving.share, tail);
      add_of_group(saving.share_in, group, tail);
      if (i > 0) continue;
      add_to(saving.alone, part);
      add_of_group(saving.alone_in, group, part);
    }
  }

  const Matching& m_;
  bool comparable_;
  const std::vector<Suspect>& suspects_;
  const Positions* positions_;
  std::vector<std::int32_t> suspect_of_;
  std::vector<Duration> level_;
  std::vector<Duration> bound_;
  bool accused_ = false;
  std::vector<std::size_t> order_;
  Savings out_;
};

}  // namespace

Duration most_of_a_rank(const Matched& matched, const GroupTimes& times) {
  if (times.empty()) return Duration::zero();
  if (times.size() == 1) return times.front().second;
  std::vector<Duration> of_rank(matched.ranks(), Duration::zero());
  for (const auto& [group, d] : times)
    for (const auto rank : matched.operations().groups[static_cast<std::size_t>(group)].members)
      add_to(of_rank[static_cast<std::size_t>(rank)], d);
  return *std::max_element(of_rank.begin(), of_rank.end());
}

void add_to(GroupTimes& sum, const GroupTimes& times) {
  sum.insert(sum.end(), times.begin(), times.end());
  put_together(sum);
}

Savings savings_without(const Matched& matched, const std::vector<Suspect>& suspects,
                        const Positions* positions) {
  Removal removal(matched, suspects, positions);
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = -1;
  bool everywhere = positions == nullptr;
  std::vector<std::int32_t> at;
  for (const Suspect& s : suspects) {
    first = std::min(first, s.first_step);
    last = std::max(last, s.last_step);
    everywhere = everywhere || s.positions.empty();
    for (const auto position : s.positions)
      if (positions != nullptr) at.push_back(positions->holder(position));
  }
  const std::vector<ComparedOp>& ops = matched.skew().ops;
  const auto remove = [&](std::size_t i, std::int32_t position) {
    if (ops[i].step >= first && ops[i].step <= last) removal.operation(ops[i], position);
  };
  if (everywhere) {
    for (std::size_t i = 0; i < ops.size(); ++i) remove(i, positions == nullptr ? -1 : positions->of_op(i));
  } else {
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
    for (const auto position : at)
      for (const auto i : positions->ops_of(position)) remove(i, position);
  }
  return removal.take();
}

Savings savings_without(const Matched& matched, const std::vector<Suspect>& suspects,
                        const std::vector<ComparedOp>& ops) {
  Removal removal(matched, suspects, nullptr);
  for (const ComparedOp& op : ops) removal.operation(op, -1);
  return removal.take();
}

}  // namespace cox::diagnose
