// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/skew.hpp"

#include <algorithm>

#include "cox/model/collective.hpp"

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

/// Cells of a block of operations that are worked on together: they and their ranks' rows stay in cache.
constexpr std::size_t kBlockCells = 16384;
constexpr std::int64_t kBlockOps = 64;

class SkewPass {
 public:
  SkewPass(const Matching& m, const Steps& steps, bool comparable)
      : m_(m), steps_(steps), comparable_(comparable) {
    const std::size_t ranks = m.totals.size();
    const auto columns = static_cast<std::size_t>(steps.count);
    for (auto* matrix : {&out_.delay, &out_.work, &out_.wait}) {
      matrix->resize(ranks);
      for (auto& row : *matrix) row.assign(columns, Duration::zero());
    }
    out_.wait_total.assign(ranks, Duration::zero());
    out_.charged.assign(ranks, Duration::zero());
    out_.last.assign(ranks, 0);
    out_.compared.assign(ranks, 0);
  }

  Skew run() {
    for (std::size_t g = 0; g < m_.groups.size(); ++g)
      if (m_.groups[g].first_cell != kNoCells && !m_.groups[g].members.empty())
        group(static_cast<std::int32_t>(g));
    return std::move(out_);
  }

 private:
  void group(std::int32_t g) {
    const Group& group = m_.groups[static_cast<std::size_t>(g)];
    const std::size_t n = group.members.size();
    const auto block = std::clamp<std::int64_t>(static_cast<std::int64_t>(kBlockCells / n), 1, kBlockOps);
    std::int64_t hint = -1;
    for (std::int64_t from = 0; from < group.ops; from += block) {
      const std::int64_t to = std::min(group.ops, from + block);
      steps_of_.assign(static_cast<std::size_t>(to - from), -1);
      delay_.assign(static_cast<std::size_t>(to - from) * n, Duration::zero());
      work_.assign(delay_.size(), Duration::zero());
      wait_.assign(delay_.size(), Duration::zero());
      for (std::int64_t op = from; op < to; ++op) {
        const auto row = static_cast<std::size_t>(op - from);
        steps_of_[row] = operation(g, group, op, row * n, hint);
        if (steps_of_[row] >= 0) hint = steps_of_[row];
      }
      for (std::size_t k = 0; k < n; ++k)
        deliver(static_cast<std::size_t>(group.members[k]), k, n, !group.exchange);
    }
  }

  /// Adds a block's results to the rows of one rank.
  void deliver(std::size_t rank, std::size_t member, std::size_t n, bool in_total) {
    auto& delay = out_.delay[rank];
    auto& work = out_.work[rank];
    auto& wait = out_.wait[rank];
    for (std::size_t row = 0; row < steps_of_.size(); ++row) {
      const std::size_t cell = row * n + member;
      if (in_total) add_to(out_.wait_total[rank], wait_[cell]);
      if (steps_of_[row] < 0) continue;
      const auto s = static_cast<std::size_t>(steps_of_[row]);
      add_to(delay[s], delay_[cell]);
      add_to(work[s], work_[cell]);
      add_to(wait[s], wait_[cell]);
    }
  }

  /// One operation; returns its step.
  std::int64_t operation(std::int32_t g, const Group& group, std::int64_t op, std::size_t out,
                         std::int64_t hint) {
    const std::size_t n = group.members.size();
    const std::size_t first = group.cell(op, 0);
    const Operation& about = m_.ops[group.first_op + static_cast<std::size_t>(op)];
    std::size_t present = 0;
    bool works_known = true;
    std::int64_t step = -1;
    for (std::size_t k = 0; k < n; ++k) {
      if (m_.entry[first + k] == kUnknown) continue;
      if (present++ == 0)
        step = steps_.step_of(static_cast<std::size_t>(group.members[k]), m_.exit[first + k], hint);
      const Duration work = m_.work[first + k];
      if (work == kUnknown)
        works_known = false;
      else
        work_[out + k] = work;
    }
    if (group.declared < 2 || present == 0) return step;
    if (!model::synchronizes_all(about.kind)) {
      for (std::size_t k = 0; k < n; ++k)
        if (m_.entry[first + k] != kUnknown)
          add_to(out_.rooted_time, minus_clamped(m_.exit[first + k], m_.entry[first + k]));
      return step;
    }
    if (static_cast<std::int64_t>(present) != group.declared || about.mismatch) {
      ++out_.incomplete_ops;
      return step;
    }
    waits(first, n, out);
    if (!works_known) return step;
    const Duration reference = compare(group, first, n, out, step);
    if (step >= 0) out_.ops.push_back({g, op, step, reference});
    return step;
  }

  void waits(std::size_t first, std::size_t n, std::size_t out) {
    if (comparable_) {
      Duration latest = Duration::min();
      for (std::size_t k = 0; k < n; ++k) latest = std::max(latest, m_.entry[first + k]);
      for (std::size_t k = 0; k < n; ++k) {
        const Duration inside = minus_clamped(m_.exit[first + k], m_.entry[first + k]);
        wait_[out + k] = std::min(minus_clamped(latest, m_.entry[first + k]), inside);
      }
      return;
    }
    Duration shortest = Duration::max();
    for (std::size_t k = 0; k < n; ++k)
      shortest = std::min(shortest, minus_clamped(m_.exit[first + k], m_.entry[first + k]));
    for (std::size_t k = 0; k < n; ++k)
      wait_[out + k] = minus_clamped(minus_clamped(m_.exit[first + k], m_.entry[first + k]), shortest);
  }

  /// Self-delays, lost time and charge of one operation whose members are all comparable; returns what their
  /// work is held against.
  Duration compare(const Group& group, std::size_t first, std::size_t n, std::size_t out, std::int64_t step) {
    sample_.assign(work_.begin() + static_cast<std::ptrdiff_t>(out),
                   work_.begin() + static_cast<std::ptrdiff_t>(out + n));
    const Duration reference = lower_median_in_place(sample_);
    Duration latest = Duration::min();
    Duration second = Duration::min();
    std::size_t last = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const Duration arrival = arrival_at(m_, first + k, comparable_);
      delay_[out + k] = minus_clamped(work_[out + k], reference);
      sample_[k] = arrival;
      if (arrival > latest) {
        second = latest;
        latest = arrival;
        last = k;
      } else {
        second = std::max(second, arrival);
      }
    }
    for (const auto member : group.members) ++out_.compared[static_cast<std::size_t>(member)];
    const auto late = static_cast<std::size_t>(group.members[last]);
    ++out_.last[late];
    if (step < 0) return reference;
    if (group
            .exchange) {  // ranks far from the last one are ahead of it: what they waited for it is what counts
      sample_.assign(wait_.begin() + static_cast<std::ptrdiff_t>(out),
                     wait_.begin() + static_cast<std::ptrdiff_t>(out + n));
      add_to(out_.lost, lower_median_in_place(sample_));
    } else {
      add_to(out_.lost, minus_clamped(latest, comparable_ ? lower_median_in_place(sample_) : reference));
    }
    add_to(out_.charged[late], std::min(positive_part(delay_[out + last]), minus_clamped(latest, second)));
    return reference;
  }

  const Matching& m_;
  const Steps& steps_;
  bool comparable_;
  Skew out_;
  // One block of operations, operation-major.
  std::vector<std::int64_t> steps_of_;
  std::vector<Duration> delay_;
  std::vector<Duration> work_;
  std::vector<Duration> wait_;
  std::vector<Duration> sample_;
};

}  // namespace

Skew measure_skew(const Matching& m, const Steps& steps, bool clocks_comparable) {
  return SkewPass(m, steps, clocks_comparable).run();
}

}  // namespace cox::diagnose
