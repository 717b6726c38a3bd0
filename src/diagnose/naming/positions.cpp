// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/positions.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "diagnose/naming/submits.hpp"

namespace cox::diagnose {
namespace {

/// Operations whose cells are read before the next member's row is written: both stay in cache.
constexpr std::size_t kBlockOps = 32;

/// Operations of one step, as a stretch of a list.
struct StepOps {
  std::size_t first = 0;
  std::size_t end = 0;
  [[nodiscard]] std::size_t size() const { return end - first; }
};

}  // namespace

Positions::Positions(const Matched& matched)
    : of_rank_(matched.ranks(), 0), steps_(static_cast<std::size_t>(matched.steps().count)) {
  const std::vector<ComparedOp>& ops = matched.skew().ops;
  of_op_.assign(ops.size(), -1);
  for (std::size_t from = 0; from < ops.size();) {
    std::size_t to = from;
    while (to < ops.size() && ops[to].group == ops[from].group) ++to;
    cut_group(matched, from, to);
    from = to;
  }
  divide(matched);
  for (std::size_t p = 0; p < all_.size(); ++p) {
    if (is_divided(static_cast<std::int32_t>(p))) continue;
    for (const auto member : matched.operations().groups[static_cast<std::size_t>(all_[p].group)].members)
      ++of_rank_[static_cast<std::size_t>(member)];
  }
  if (worth_looking()) sort_ops();
}

bool Positions::worth_looking() const {
  return std::any_of(of_rank_.begin(), of_rank_.end(), [](std::int64_t n) { return n > 1; });
}

void Positions::cut_group(const Matched& matched, std::size_t from, std::size_t to) {
  std::vector<std::uint32_t> ops(to - from);
  std::iota(ops.begin(), ops.end(), static_cast<std::uint32_t>(from));
  if (cut(matched, ops)) return;
  const Matching& m = matched.operations();
  std::map<model::Collective, std::vector<std::uint32_t>> by_kind;
  for (const auto i : ops) {
    const ComparedOp& op = matched.skew().ops[i];
    const Group& group = m.groups[static_cast<std::size_t>(op.group)];
    by_kind[m.ops[group.first_op + static_cast<std::size_t>(op.op)].kind].push_back(i);
  }
  if (by_kind.size() < 2) return;
  for (const auto& [kind, of_kind] : by_kind) (void)cut(matched, of_kind);
}

/// Positions of operations of one group, where most steps have the same number of them in the same order.
bool Positions::cut(const Matched& matched, std::span<const std::uint32_t> ops) {
  const auto& compared = matched.skew().ops;
  const Matching& m = matched.operations();
  const Group& group = m.groups[static_cast<std::size_t>(compared[ops.front()].group)];
  const auto kind_of = [&](std::size_t i) {
    return m.ops[group.first_op + static_cast<std::size_t>(compared[ops[i]].op)].kind;
  };
  std::vector<StepOps> steps;
  std::map<std::size_t, std::int64_t> sizes;
  for (std::size_t i = 0; i < ops.size();) {
    StepOps step{i, i};
    while (step.end < ops.size() && compared[ops[step.end]].step == compared[ops[i]].step) ++step.end;
    i = step.end;
    steps.push_back(step);
    ++sizes[step.size()];
  }
  const auto usual = std::max_element(sizes.begin(), sizes.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::size_t size = usual->first;
  // The first step may lack what was carried in, so the shape is that of a step in the middle.
  const auto shape = std::find_if(steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2), steps.end(),
                                  [&](const StepOps& s) { return s.size() == size; });
  if (shape == steps.end()) return false;
  const auto fits = [&](const StepOps& s) {
    if (s.size() != size) return false;
    for (std::size_t k = 0; k < size; ++k)
      if (kind_of(s.first + k) != kind_of(shape->first + k)) return false;
    return true;
  };
  const auto alike = std::count_if(steps.begin(), steps.end(), fits);
  if (static_cast<double>(alike) < kMostSteps * static_cast<double>(steps.size())) return false;
  const auto first = static_cast<std::int32_t>(all_.size());
  std::map<model::Collective, std::int64_t> seen;
  for (std::size_t k = 0; k < size; ++k) {
    const model::Collective kind = kind_of(shape->first + k);
    all_.push_back({compared[ops.front()].group, kind, ++seen[kind], 0});
  }
  for (std::size_t k = 0; k < size; ++k) {
    Position& p = all_[static_cast<std::size_t>(first) + k];
    p.of = seen[p.kind];
  }
  for (const StepOps& s : steps)
    if (fits(s))
      for (std::size_t k = 0; k < size; ++k) of_op_[ops[s.first + k]] = first + static_cast<std::int32_t>(k);
  return true;
}

/// One wait per step, for several collectives: positions before each of these.
void Positions::divide(const Matched& matched) {
  if (all_.size() != 1 || !matched.operations().groups[static_cast<std::size_t>(all_[0].group)].waits) return;
  Submits submits = submits_before(matched, all_[0].group);
  std::map<model::Collective, std::int64_t> seen;
  for (std::size_t n = 0; n < submits.kinds.size(); ++n)
    all_.push_back({submits.group, submits.kinds[n], ++seen[submits.kinds[n]], 0, 0});
  for (std::size_t p = 1; p < all_.size(); ++p) all_[p].of = seen[all_[p].kind];
  std::vector<Duration> column;
  for (std::vector<Duration>& work : submits.work) {
    const std::size_t members = work.size() / std::max<std::size_t>(steps_, 1);
    for (std::size_t s = 0; s < steps_; ++s) {
      column.clear();
      for (std::size_t k = 0; k < members; ++k) column.push_back(work[k * steps_ + s]);
      const bool known = std::find(column.begin(), column.end(), kUnknown) == column.end();
      const Duration reference = known ? lower_median_in_place(column) : Duration::zero();
      for (std::size_t k = 0; k < members; ++k) {
        Duration& at = work[k * steps_ + s];
        at = known ? positive_part(minus_clamped(at, reference)) : Duration::zero();
      }
    }
  }
  late_before_submit_ = std::move(submits.work);
}

Duration Positions::late_before(std::int32_t position, std::size_t member, std::size_t step) const {
  return late_before_submit_[static_cast<std::size_t>(position) - 1][member * steps_ + step];
}

void Positions::sort_ops() {
  first_.assign(all_.size() + 1, 0);
  for (const auto p : of_op_)
    if (p >= 0) ++first_[static_cast<std::size_t>(p) + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  ops_.resize(first_.back());
  std::vector<std::size_t> next = first_;
  for (std::size_t i = 0; i < of_op_.size(); ++i)
    if (of_op_[i] >= 0) ops_[next[static_cast<std::size_t>(of_op_[i])]++] = static_cast<std::uint32_t>(i);
}

std::span<const std::uint32_t> Positions::ops_of(std::int32_t position) const {
  if (ops_.empty()) return {};
  const auto p = static_cast<std::size_t>(holder(position));
  return std::span(ops_).subspan(first_[p], first_[p + 1] - first_[p]);
}

bool delays_at(const Matched& matched, const Positions& positions, std::int32_t position, Duration least,
               std::int64_t least_count, std::vector<std::vector<Duration>>& delays) {
  const Matching& m = matched.operations();
  const auto& compared = matched.skew().ops;
  const Group& group = m.groups[static_cast<std::size_t>(positions.at(position).group)];
  if (positions.at(position).within >= 0) {
    delays.assign(group.members.size(), {});
    std::int64_t large = 0;
    for (std::size_t k = 0; k < delays.size(); ++k)
      for (std::int64_t s = 0; s < matched.steps().count; ++s) {
        delays[k].push_back(positions.late_before(position, k, static_cast<std::size_t>(s)));
        large += delays[k].back() >= least;
      }
    return large >= least_count;
  }
  const std::span<const std::uint32_t> ops = positions.ops_of(position);
  std::int64_t large = 0;
  for (const auto i : ops) {
    const std::size_t first = group.cell(compared[i].op, 0);
    for (std::size_t k = 0; k < group.members.size(); ++k)
      large += delay_at(m, compared[i], first + k) >= least;
  }
  if (large < least_count) return false;
  delays.resize(group.members.size());
  for (auto& row : delays) row.assign(static_cast<std::size_t>(matched.steps().count), Duration::zero());
  for (std::size_t from = 0; from < ops.size(); from += kBlockOps) {
    const auto block = ops.subspan(from, std::min(kBlockOps, ops.size() - from));
    for (std::size_t k = 0; k < delays.size(); ++k)
      for (const auto i : block)
        delays[k][static_cast<std::size_t>(compared[i].step)] =
            delay_at(m, compared[i], group.cell(compared[i].op, k));
  }
  return true;
}

}  // namespace cox::diagnose
