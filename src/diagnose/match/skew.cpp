// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/skew.hpp"

#include <algorithm>
#include <utility>

#include "cox/base/parallel.hpp"
#include "cox/model/collective.hpp"

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

/// Cells that one thread works on at once, at least.
constexpr std::size_t kBlockCells = std::size_t{1} << 16;
/// Operations that are in work at once: bounds what is kept of each until it is added up.
constexpr std::size_t kOpsAtOnce = std::size_t{1} << 16;
/// Ranks whose rows are written together: their cells of an operation lie side by side.
constexpr std::size_t kBlockRanks = 64;

/// What one operation says.
struct OpResult {
  ComparedOp compared;
  Duration rooted{};
  Duration lost{};
  Duration charged{};
  bool incomplete = false;
  bool is_compared = false;
};

/// Reads the cells of one operation after the other. One object per thread.
class OpReader {
 public:
  OpReader(const Matching& m, const Steps& steps, bool comparable)
      : m_(m), steps_(steps), comparable_(comparable) {}

  OpResult read(std::int32_t g, std::int64_t op, OpFacts& facts) {
    const Group& group = m_.groups[static_cast<std::size_t>(g)];
    const std::size_t n = group.members.size();
    const std::size_t first = group.cell(op, 0);
    const Operation& about = m_.ops[group.first_op + static_cast<std::size_t>(op)];
    OpResult out{.compared = {.group = g, .op = op}};
    std::size_t present = 0;
    bool works_known = true;
    for (std::size_t k = 0; k < n; ++k) {
      if (m_.entry[first + k] == kUnknown) continue;
      if (present++ == 0) find_step(static_cast<std::size_t>(group.members[k]), m_.exit[first + k], facts);
      works_known = works_known && m_.work[first + k] != kUnknown;
    }
    if (group.declared < 2 || present == 0) return out;
    if (!model::synchronizes_all(about.kind)) {
      for (std::size_t k = 0; k < n; ++k)
        if (m_.entry[first + k] != kUnknown)
          add_to(out.rooted, minus_clamped(m_.exit[first + k], m_.entry[first + k]));
      return out;
    }
    if (static_cast<std::int64_t>(present) != group.declared || about.mismatch) {
      out.incomplete = true;
      return out;
    }
    facts.bar = bar_of(first, n);
    if (works_known) compare(group, first, n, facts, out);
    return out;
  }

 private:
  void find_step(std::size_t rank, Duration exit, OpFacts& facts) {
    const std::int64_t step = steps_.step_of(rank, exit, hint_);
    if (step >= 0) hint_ = step;
    facts.step = static_cast<std::int32_t>(step);
  }

  [[nodiscard]] Duration bar_of(std::size_t first, std::size_t n) const {
    if (comparable_)
      return *std::max_element(m_.entry.begin() + static_cast<std::ptrdiff_t>(first),
                               m_.entry.begin() + static_cast<std::ptrdiff_t>(first + n));
    Duration shortest = Duration::max();
    for (std::size_t k = 0; k < n; ++k)
      shortest = std::min(shortest, minus_clamped(m_.exit[first + k], m_.entry[first + k]));
    return shortest;
  }

  /// Reference, lost time and charge of one operation whose members are all comparable.
  void compare(const Group& group, std::size_t first, std::size_t n, OpFacts& facts, OpResult& out) {
    sample_.assign(m_.work.begin() + static_cast<std::ptrdiff_t>(first),
                   m_.work.begin() + static_cast<std::ptrdiff_t>(first + n));
    facts.reference = lower_median_in_place(sample_);
    Duration latest = Duration::min();
    Duration second = Duration::min();
    std::size_t last = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const Duration arrival = arrival_at(m_, first + k, comparable_);
      sample_[k] = arrival;
      if (arrival > latest) {
        second = latest;
        latest = arrival;
        last = k;
      } else {
        second = std::max(second, arrival);
      }
    }
    out.is_compared = true;
    out.compared.step = facts.step;
    out.compared.last = static_cast<std::int32_t>(last);
    out.compared.reference = facts.reference;
    if (facts.step < 0) return;
    out.lost = out.compared.lost =
        minus_clamped(latest, comparable_ ? lower_median_in_place(sample_) : facts.reference);
    if (group
            .exchange) {  // ranks far from the last one are ahead of it: what they waited for it is what counts
      for (std::size_t k = 0; k < n; ++k) sample_[k] = wait_at(m_, facts, first + k, comparable_);
      out.lost = lower_median_in_place(sample_);
    }
    out.charged =
        std::min(positive_part(delay_at(m_, out.compared, first + last)), minus_clamped(latest, second));
  }

  const Matching& m_;
  const Steps& steps_;
  bool comparable_;
  std::int64_t hint_ = -1;
  std::vector<Duration> sample_;
};

class SkewPass {
 public:
  SkewPass(const Matching& m, const Steps& steps, bool comparable, int threads)
      : m_(m), steps_(steps), comparable_(comparable), threads_(threads) {
    const std::size_t ranks = m.totals.size();
    out_.facts.resize(m.ops.size());
    out_.wait_total.assign(ranks, Duration::zero());
    out_.charged.assign(ranks, Duration::zero());
    out_.last.assign(ranks, 0);
    out_.compared.assign(ranks, 0);
  }

  Skew run() {
    for (std::size_t g = 0; g < m_.groups.size(); ++g)
      if (m_.groups[g].first_cell != kNoCells && !m_.groups[g].members.empty())
        group(static_cast<std::int32_t>(g));
    const std::size_t ranks = m_.totals.size();
    parallel_for((ranks + kBlockRanks - 1) / kBlockRanks, threads_, [&](std::size_t block) {
      add_waits(block * kBlockRanks, std::min(ranks, (block + 1) * kBlockRanks));
    });
    return std::move(out_);
  }

 private:
  void group(std::int32_t g) {
    const Group& group = m_.groups[static_cast<std::size_t>(g)];
    const auto ops = static_cast<std::size_t>(group.ops);
    const std::size_t block = std::max<std::size_t>(1, kBlockCells / group.members.size());
    for (std::size_t from = 0; from < ops; from += kOpsAtOnce) {
      const std::size_t to = std::min(ops, from + kOpsAtOnce);
      results_.resize(to - from);
      parallel_for((to - from + block - 1) / block, threads_, [&](std::size_t b) {
        OpReader reader(m_, steps_, comparable_);
        for (std::size_t op = from + b * block; op < std::min(to, from + (b + 1) * block); ++op)
          results_[op - from] =
              reader.read(g, static_cast<std::int64_t>(op), out_.facts[group.first_op + op]);
      });
      for (const OpResult& r : results_) take(group, r);
    }
  }

  void take(const Group& group, const OpResult& r) {
    add_to(out_.rooted_time, r.rooted);
    out_.incomplete_ops += r.incomplete;
    if (!r.is_compared) return;
    for (const auto member : group.members) ++out_.compared[static_cast<std::size_t>(member)];
    const auto late = static_cast<std::size_t>(group.members[static_cast<std::size_t>(r.compared.last)]);
    ++out_.last[late];
    if (r.compared.step < 0) return;
    add_to(out_.lost, r.lost);
    add_to(out_.charged[late], r.charged);
    out_.ops.push_back(r.compared);
  }

  /// All waits of ranks [from, to), in and out of steps.
  void add_waits(std::size_t from, std::size_t to) {
    for (const Group& group : m_.groups) {
      if (group.first_cell == kNoCells || group.exchange) continue;
      const auto at = [&](std::size_t rank) {
        return static_cast<std::size_t>(
            std::lower_bound(group.members.begin(), group.members.end(), static_cast<std::int32_t>(rank)) -
            group.members.begin());
      };
      const std::size_t begin = at(from);
      const std::size_t end = at(to);
      for (std::int64_t op = 0; op < group.ops && begin < end; ++op) {
        const OpFacts& facts = out_.facts[group.first_op + static_cast<std::size_t>(op)];
        if (facts.bar == kUnknown) continue;
        for (std::size_t k = begin; k < end; ++k)
          add_to(out_.wait_total[static_cast<std::size_t>(group.members[k])],
                 wait_at(m_, facts, group.cell(op, k), comparable_));
      }
    }
  }

  const Matching& m_;
  const Steps& steps_;
  bool comparable_;
  int threads_;
  Skew out_;
  std::vector<OpResult> results_;
};

/// A member of the group at hand, and where its sums go.
struct Row {
  std::size_t member = 0;
  Duration* sums = nullptr;
};

template <InStep kWhat>
void add_group(const Matching& m, const Skew& skew, bool comparable, const Group& group,
               std::span<const Row> rows) {
  for (std::int64_t op = 0; op < group.ops; ++op) {
    const OpFacts& facts = skew.facts[group.first_op + static_cast<std::size_t>(op)];
    if (facts.step < 0) continue;
    if (kWhat == InStep::Delay && facts.reference == kUnknown) continue;
    if (kWhat == InStep::Wait && facts.bar == kUnknown) continue;
    for (const Row& row : rows) {
      const std::size_t cell = group.cell(op, row.member);
      Duration& sum = row.sums[facts.step];
      if constexpr (kWhat == InStep::Delay) add_to(sum, minus_clamped(m.work[cell], facts.reference));
      if constexpr (kWhat == InStep::Wait) add_to(sum, wait_at(m, facts, cell, comparable));
      if constexpr (kWhat == InStep::Work)
        if (m.work[cell] != kUnknown) add_to(sum, m.work[cell]);
    }
  }
}

/// Sums of ranks whose cells lie side by side.
template <InStep kWhat>
void add_ranks(const Matching& m, const Skew& skew, bool comparable, std::span<const std::int32_t> ranks,
               std::span<std::vector<Duration>> sums) {
  std::vector<Row> rows;
  for (const Group& group : m.groups) {
    if (group.first_cell == kNoCells) continue;
    rows.clear();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto at = std::lower_bound(group.members.begin(), group.members.end(), ranks[i]);
      if (at != group.members.end() && *at == ranks[i])
        rows.push_back({static_cast<std::size_t>(at - group.members.begin()), sums[i].data()});
    }
    if (!rows.empty()) add_group<kWhat>(m, skew, comparable, group, rows);
  }
}

}  // namespace

Skew measure_skew(const Matching& m, const Steps& steps, bool clocks_comparable, int threads) {
  return SkewPass(m, steps, clocks_comparable, threads).run();
}

StepTable sum_by_step(const Matching& m, const Skew& skew, std::int64_t steps, bool clocks_comparable,
                      InStep what, std::span<const std::int32_t> ranks, int threads) {
  StepTable sums(ranks.size());
  parallel_for((ranks.size() + kBlockRanks - 1) / kBlockRanks, threads, [&](std::size_t block) {
    const std::size_t from = block * kBlockRanks;
    const std::size_t count = std::min(ranks.size() - from, kBlockRanks);
    const auto here = std::span(sums).subspan(from, count);
    for (auto& row : here) row.assign(static_cast<std::size_t>(steps), Duration::zero());
    const auto add = [&](auto add_them) {
      add_them(m, skew, clocks_comparable, ranks.subspan(from, count), here);
    };
    switch (what) {
      case InStep::Delay:
        return add(add_ranks<InStep::Delay>);
      case InStep::Work:
        return add(add_ranks<InStep::Work>);
      case InStep::Wait:
        return add(add_ranks<InStep::Wait>);
    }
  });
  return sums;
}

}  // namespace cox::diagnose
