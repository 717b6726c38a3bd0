// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/lost_time.hpp"

#include <algorithm>

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

class Removal {
 public:
  Removal(const Matched& matched, const std::vector<Suspect>& suspects)
      : m_(matched.operations()),
        comparable_(matched.clocks_comparable()),
        suspects_(suspects),
        suspect_of_(matched.ranks(), -1),
        level_(suspects.size()) {
    out_.each.resize(suspects.size());
    for (std::size_t p = 0; p < suspects.size(); ++p)
      for (const auto rank : suspects[p].ranks)
        suspect_of_[static_cast<std::size_t>(rank)] = static_cast<std::int32_t>(p);
  }

  void operation(const ComparedOp& op) {
    const Group& group = m_.groups[static_cast<std::size_t>(op.group)];
    const std::size_t first = group.cell(op.op, 0);
    std::fill(level_.begin(), level_.end(), Duration::min());
    Duration floor = Duration::min();
    bool any = false;
    for (std::size_t k = 0; k < group.members.size(); ++k) {
      if (m_.work[first + k] == kUnknown) continue;
      const Duration arrival = arrival_at(m_, first + k, comparable_);
      const std::int32_t p = suspected(group.members[k], op.step);
      if (p < 0) {
        floor = std::max(floor, arrival);
        continue;
      }
      any = true;
      level_[static_cast<std::size_t>(p)] = std::max(level_[static_cast<std::size_t>(p)], arrival);
      floor = std::max(floor, minus_clamped(arrival, positive_part(delay_at(m_, op, first + k))));
    }
    if (any) divide(floor);
  }

  Savings take() { return std::move(out_); }

 private:
  [[nodiscard]] std::int32_t suspected(std::int32_t rank, std::int64_t step) const {
    const std::int32_t p = suspect_of_[static_cast<std::size_t>(rank)];
    if (p < 0) return -1;
    const Suspect& s = suspects_[static_cast<std::size_t>(p)];
    if (step < s.first_step || step > s.last_step) return -1;
    if (!s.rank_of_step.empty() && s.rank_of_step[static_cast<std::size_t>(step)] != rank) return -1;
    return p;
  }

  void divide(Duration floor) {
    order_.clear();
    for (std::size_t p = 0; p < level_.size(); ++p)
      if (level_[p] > floor) order_.push_back(p);
    if (order_.empty()) return;
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return level_[a] != level_[b] ? level_[a] > level_[b] : a < b;
    });
    add_to(out_.joint, minus_clamped(level_[order_.front()], floor));
    Duration tail{};
    for (std::size_t i = order_.size(); i-- > 0;) {
      const Duration below = i + 1 < order_.size() ? level_[order_[i + 1]] : floor;
      const Duration part = minus_clamped(level_[order_[i]], below);
      add_to(tail, part / static_cast<std::int64_t>(i + 1));
      add_to(out_.each[order_[i]].share, tail);
      if (i == 0) add_to(out_.each[order_[0]].alone, part);
    }
  }

  const Matching& m_;
  bool comparable_;
  const std::vector<Suspect>& suspects_;
  std::vector<std::int32_t> suspect_of_;
  std::vector<Duration> level_;
  std::vector<std::size_t> order_;
  Savings out_;
};

}  // namespace

Savings savings_without(const Matched& matched, const std::vector<Suspect>& suspects) {
  return savings_without(matched, suspects, matched.skew().ops);
}

Savings savings_without(const Matched& matched, const std::vector<Suspect>& suspects,
                        const std::vector<ComparedOp>& ops) {
  Removal removal(matched, suspects);
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = -1;
  for (const Suspect& s : suspects) {
    first = std::min(first, s.first_step);
    last = std::max(last, s.last_step);
  }
  for (const ComparedOp& op : ops)
    if (op.step >= first && op.step <= last) removal.operation(op);
  return removal.take();
}

}  // namespace cox::diagnose
