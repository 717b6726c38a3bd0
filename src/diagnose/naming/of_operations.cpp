// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/of_operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"
#include "cox/model/collective.hpp"

#include "diagnose/match/span_math.hpp"
#include "diagnose/match/sync_cursor.hpp"
#include "diagnose/naming/repetitions.hpp"

namespace cox::diagnose {
namespace {

/// What an operation is called and what work before it repeats: what it is, and what it follows.
struct KindKey {
  bool waits = false;
  std::uint8_t wait_kind = 0;
  model::Collective kind = model::Collective::Other;
  std::int64_t bytes = 0;
  std::int64_t members = 0;
  [[nodiscard]] auto tied() const { return std::tuple{waits, wait_kind, kind, bytes, members}; }
  bool operator<(const KindKey& o) const { return tied() < o.tied(); }
};

std::string words_of(const KindKey& k) {
  if (k.waits) return "wait for communication";
  const std::string name = std::string(model::name_of(k.kind));
  return k.bytes > 0 ? fmt::format("{} of {}", name, to_string(Bytes{k.bytes})) : name;
}

/// All operations that hold their members, with those whose own work is known, in order of time.
class Rows {
 public:
  explicit Rows(const Matched& matched) : matched_(matched), m_(matched.operations()) {
    keys_.resize(m_.ops.size());
    after_gap_.assign(m_.entry.size(), false);
    for (std::size_t r = 0; r < matched.ranks(); ++r) walk(r);
    collect();
  }

  [[nodiscard]] const RepetitionTable& table() const { return table_; }
  [[nodiscard]] const std::vector<ComparedOp>& compared() const { return compared_; }
  [[nodiscard]] const std::string& name_of(std::int64_t kind) const {
    return names_[static_cast<std::size_t>(kind)];
  }

 private:
  struct Keys {
    std::int32_t at = -1;      ///< of the operation; -1: nobody walked over it
    std::int32_t before = -1;  ///< of the one that its own work follows
  };

  std::int32_t number_of(const KindKey& key) {
    return known_.try_emplace(key, static_cast<std::int32_t>(known_.size())).first->second;
  }

  /// Notes what each operation is, as the first rank that made it says; and where a call of this rank before it
  /// was not recorded: what then looks like own work holds that call and its wait.
  void walk(std::size_t r) {
    SyncCursor cursor = matched_.walk(r);
    const trace::EventColumns& e = matched_.track(r).events;
    SyncPoint p;
    std::int32_t before = -1;
    std::vector<std::size_t> cells;    // of this rank, in order
    std::vector<std::int32_t> opened;  // per cell, gaps that open before it less those that closed
    struct Latest {
      std::int64_t op = -1;
      std::size_t cells = 0;  ///< that were passed when the call was made
    };
    std::vector<Latest> latest(m_.groups.size());
    const auto hear = [&](const Call& call) {
      Latest& l = latest[static_cast<std::size_t>(call.group)];
      if (l.op >= 0 && call.op != l.op + 1) {
        opened.resize(cells.size() + 2, 0);
        ++opened[l.cells];
        --opened[cells.size() + 1];
      }
      l = {call.op, cells.size() + 1};
    };
    while (cursor.next(p, hear)) {
      if (p.group < 0 || p.op < 0) continue;
      const Group& group = m_.groups[static_cast<std::size_t>(p.group)];
      if (group.first_cell != kNoCells) {
        cells.push_back(group.cell(p.op, static_cast<std::size_t>(p.member)));
      }
      const std::size_t at = group.first_op + static_cast<std::size_t>(p.op);
      if (!holds_all(group, m_.ops[at])) continue;
      const bool sized = !group.waits && (e.flags[p.event] & trace::kVariable) == 0;
      const std::int32_t key = number_of(
          {group.waits, group.wait_kind, p.kind, sized ? e.bytes[p.event].count() : 0, group.declared});
      if (keys_[at].at < 0) keys_[at].at = key;
      if (keys_[at].before < 0) keys_[at].before = before;
      before = key;
    }
    std::int32_t open = 0;
    for (std::size_t i = 0; i < cells.size() && i < opened.size(); ++i) {
      open += opened[i];
      if (open > 0) after_gap_[cells[i]] = true;
    }
  }

  [[nodiscard]] bool is_known(std::size_t cell) const {
    return m_.entry[cell] != kUnknown && m_.work[cell] != kUnknown && !after_gap_[cell];
  }

  void collect() {
    struct Row {
      Duration at{};
      std::int32_t group = 0;
      std::int64_t op = 0;
      std::int64_t step = -1;
    };
    std::vector<Row> rows;
    const Steps& steps = matched_.steps();
    for (std::size_t g = 0; g < m_.groups.size(); ++g) {
      const Group& group = m_.groups[g];
      std::int64_t hint = -1;
      for (std::int64_t op = 0; op < group.ops; ++op) {
        if (!holds_all(group, m_.ops[group.first_op + static_cast<std::size_t>(op)])) continue;
        Row row{Duration::max(), static_cast<std::int32_t>(g), op, -1};
        std::size_t known = 0;
        for (std::size_t k = 0; k < group.members.size(); ++k) {
          const std::size_t cell = group.cell(op, k);
          if (!is_known(cell)) continue;
          if (known++ == 0) {
            row.at = m_.entry[cell];
            row.step = steps.step_of(static_cast<std::size_t>(group.members[k]), m_.exit[cell], hint);
            if (row.step >= 0) hint = row.step;
          }
        }
        if (known >= 2) rows.push_back(row);
      }
    }
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.at < b.at; });
    table_.ranks = matched_.ranks();
    // Each synchronisation taken as a step says nothing of steps.
    table_.steps = steps.source == StepSource::EachSync ? 0 : steps.count;
    std::map<std::pair<std::int32_t, std::int32_t>, std::uint32_t> kinds;
    std::vector<KindKey> by_number(known_.size());
    for (const auto& [key, number] : known_) by_number[static_cast<std::size_t>(number)] = key;
    for (const Row& row : rows) {
      const Group& group = m_.groups[static_cast<std::size_t>(row.group)];
      const Keys& keys = keys_[group.first_op + static_cast<std::size_t>(row.op)];
      if (keys.at < 0) continue;
      const auto [at, fresh] =
          kinds.try_emplace({keys.at, keys.before}, static_cast<std::uint32_t>(kinds.size()));
      if (fresh) names_.push_back(words_of(by_number[static_cast<std::size_t>(keys.at)]));
      add(group, row.group, row.op, row.step, at->second);
    }
    table_.kinds = static_cast<std::uint32_t>(kinds.size());
  }

  void add(const Group& group, std::int32_t g, std::int64_t op, std::int64_t step, std::uint32_t kind) {
    RepeatedOperation out{.kind = kind, .step = table_.steps > 0 ? step : -1, .first = table_.works.size()};
    sample_.clear();
    for (std::size_t k = 0; k < group.members.size(); ++k) {
      const std::size_t cell = group.cell(op, k);
      if (!is_known(cell)) continue;
      table_.works.push_back({group.members[k], m_.work[cell]});
      sample_.push_back(m_.work[cell]);
    }
    out.count = sample_.size();
    table_.operations.push_back(out);
    compared_.push_back({g, op, 0, lower_median_in_place(sample_)});
  }

  const Matched& matched_;
  const Matching& m_;
  std::vector<Keys> keys_;
  std::vector<bool> after_gap_;  ///< per cell
  std::map<KindKey, std::int32_t> known_;
  std::vector<std::string> names_;
  RepetitionTable table_;
  std::vector<ComparedOp> compared_;
  std::vector<Duration> sample_;
};

/// The kind before which a rank is late most in all, of those in which it stands out; all kinds together where
/// it stands out in more than one, or there only.
struct Lateness {
  LateOver most;
  Duration sum{};  ///< delay times operations
  std::size_t kinds = 0;
};

std::map<std::size_t, Lateness> by_rank(const std::vector<LateOver>& late) {
  std::map<std::size_t, Lateness> out;
  std::map<std::size_t, LateOver> over_all;
  for (const LateOver& l : late) {
    Lateness& mine = out[l.rank];
    const Duration sum = duration_from_seconds(in_seconds(l.delay) * static_cast<double>(l.operations));
    if (l.kind == LateOver::kAllKinds) {
      over_all[l.rank] = l;
      if (mine.kinds == 0) mine.most = l;
      if (mine.kinds == 0) mine.sum = sum;
      continue;
    }
    if (mine.kinds++ == 0 || sum > mine.sum) {
      mine.most = l;
      mine.sum = sum;
    }
  }
  for (auto& [rank, l] : out)
    if (const auto all = over_all.find(rank); l.kinds > 1 && all != over_all.end()) l.most = all->second;
  return out;
}

/// Whole nodes as one set, the others one by one.
std::vector<Named> by_node(const Evidenced& x, const std::map<std::size_t, Lateness>& late) {
  std::map<NodeId, std::size_t> size;
  std::map<NodeId, std::vector<std::int32_t>> on;
  for (const trace::RankTrack& track : x.matched.tracks()) ++size[track.node];
  for (const auto& [r, l] : late) on[x.matched.track(r).node].push_back(static_cast<std::int32_t>(r));
  const std::int64_t last = std::max<std::int64_t>(0, x.steps().count - 1);
  std::vector<Named> named;
  for (auto& [node, ranks] : on) {
    if (size.size() > 1 && ranks.size() > 1 && 4 * ranks.size() >= 3 * size[node]) {
      named.push_back({.kind = FindingKind::SlowGroup, .suspect = {ranks, 0, last, {}}});
      continue;
    }
    for (const auto r : ranks)
      named.push_back({.kind = FindingKind::SlowRank, .suspect = {{r}, 0, last, {}}});
  }
  return named;
}

/// Single ranks that hide each other become one finding, which says what fixing each of them alone saves.
void join_hidden(const Evidenced& x, const std::vector<ComparedOp>& compared, std::vector<NamedOver>& named) {
  std::vector<std::size_t> singles;
  std::vector<Suspect> suspects;
  for (std::size_t i = 0; i < named.size(); ++i)
    if (named[i].named.kind == FindingKind::SlowRank) {
      singles.push_back(i);
      suspects.push_back({named[i].named.suspect.ranks, 0, 0, {}});
    }
  if (singles.size() < 2) return;
  const std::vector<std::size_t> hidden = hidden_set(savings_without(x.matched, suspects, compared));
  if (hidden.empty()) return;
  std::vector<Suspect> together;
  for (const auto k : hidden) together.push_back(suspects[k]);
  const Savings savings = savings_without(x.matched, together, compared);
  NamedOver set = named[singles[hidden.front()]];
  set.named.kind = FindingKind::SlowGroup;
  set.named.suspect.ranks.clear();
  set.named.saving = {.share = savings.joint,
                      .alone = savings.joint,
                      .share_in = savings.joint_in,
                      .alone_in = savings.joint_in};
  std::map<std::int32_t, Duration> alone_of;
  std::vector<bool> joined(named.size(), false);
  for (std::size_t k = 0; k < hidden.size(); ++k) {
    const Named& n = named[singles[hidden[k]]].named;
    joined[singles[hidden[k]]] = true;
    alone_of[n.suspect.ranks.front()] = most_of_a_rank(x.matched, savings.each[k].alone_in);
    add_to(set.named.saving.bound_in, savings.each[k].bound_in);
    set.named.agreement = std::min(set.named.agreement, n.agreement);
    set.named.chance = std::max(set.named.chance, n.chance);
  }
  for (const auto& [rank, saved] : alone_of) {
    set.named.suspect.ranks.push_back(rank);
    set.named.each_alone.push_back(saved);
  }
  std::vector<NamedOver> kept{std::move(set)};
  for (std::size_t i = 0; i < named.size(); ++i)
    if (!joined[i]) kept.push_back(std::move(named[i]));
  named = std::move(kept);
}

}  // namespace

bool asks_operations(const Evidenced& x, const Presence& presence) {
  if (x.ranks() < 2) return false;
  const bool each_is_a_step = x.steps().source == StepSource::EachSync;
  return (x.steps().count < x.rules.least_steps && !each_is_a_step) || presence.often_incomplete();
}

bool asks_operations_after(const Evidenced& x) {
  constexpr std::int64_t kManyPerStep = 10;
  return x.ranks() >= 2 && x.steps().source != StepSource::EachSync &&
         x.steps().calls_per_step >= kManyPerStep && too_few_steps(x, static_cast<double>(x.ranks()));
}

std::vector<NamedOver> name_over_operations(const Evidenced& x, Duration run_time) {
  if (run_time <= Duration::zero()) return {};
  const Rows rows(x.matched);
  const std::map<std::size_t, Lateness> late = by_rank(find_late_over(rows.table()));
  if (late.empty()) return {};
  std::vector<Named> named = by_node(x, late);
  std::vector<Suspect> suspects;
  suspects.reserve(named.size());
  for (const Named& n : named) suspects.push_back({n.suspect.ranks, 0, 0, {}});
  const Savings savings = savings_without(x.matched, suspects, rows.compared());
  if (ratio(savings.joint, run_time) < x.rules.least_operations_gain) return {};
  std::vector<NamedOver> out;
  std::vector<Rank> together;
  for (std::size_t i = 0; i < named.size(); ++i) {
    Named& n = named[i];
    std::vector<const Lateness*> of;
    Duration sum{};
    for (const auto r : n.suspect.ranks) {
      of.push_back(&late.at(static_cast<std::size_t>(r)));
      sum = std::max(sum, of.back()->sum);
    }
    // Late beyond doubt, and of no account.
    if (ratio(sum, run_time) < x.rules.least_operations_gain / 3) continue;
    std::sort(of.begin(), of.end(),
              [](const Lateness* a, const Lateness* b) { return a->most.delay < b->most.delay; });
    const LateOver& usual = of[of.size() / 2]->most;
    n.saving = savings.each[i];
    n.agreement = usual.agreement;
    for (const Lateness* l : of) n.chance = std::max(n.chance, l->most.chance);
    if (x.typical_step > Duration::zero()) {
      n.typical_delay =
          ratio(sum, x.typical_step) / static_cast<double>(std::max<std::int64_t>(1, x.steps().count));
      n.others_spread = ratio(usual.others_spread, x.typical_step);
    }
    for (const auto r : n.suspect.ranks) together.push_back(x.matched.rank(static_cast<std::size_t>(r)));
    out.push_back({.named = std::move(n),
                   .kind = usual.kind == LateOver::kAllKinds ? "" : rows.name_of(usual.kind),
                   .delay = usual.delay,
                   .operations = usual.operations,
                   .late = usual.late,
                   .together = {}});
  }
  join_hidden(x, rows.compared(), out);
  std::sort(together.begin(), together.end());
  for (NamedOver& n : out) n.together = together;
  std::stable_sort(out.begin(), out.end(), [](const NamedOver& a, const NamedOver& b) {
    return a.named.saving.share > b.named.saving.share;
  });
  return out;
}

}  // namespace cox::diagnose
