// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/matching.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "diagnose/match/said.hpp"
#include "diagnose/match/span_math.hpp"
#include "diagnose/match/sync_cursor.hpp"

namespace cox::diagnose {
namespace {

/// Points of one rank that are placed before the next rank's turn: keeps the cells being written in cache.
constexpr int kPointsPerTurn = 128;
/// A table may be so much larger than what is put into it; beyond that the input
/// is not a sequence of operations.
constexpr std::int64_t kTableSlack = 8;
constexpr std::int64_t kTableFloor = 65536;

std::vector<std::int32_t> members_present(const trace::Run& run, const std::vector<Rank>& ranks) {
  std::vector<std::int32_t> members;
  for (const Rank rank : ranks) {
    const auto at = std::lower_bound(run.ranks.begin(), run.ranks.end(), rank,
                                     [](const trace::RankTrack& t, Rank r) { return t.rank < r; });
    if (at != run.ranks.end() && at->rank == rank)
      members.push_back(static_cast<std::int32_t>(at - run.ranks.begin()));
  }
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return members;
}

std::int64_t declared_members(const trace::Communicator& comm) {
  return std::max<std::int64_t>(comm.size, static_cast<std::int64_t>(comm.ranks.size()));
}

/// All sequence numbers that occur on a communicator, sorted; only for those whose numbers lie far apart.
std::vector<std::uint32_t> seqs_in_use(const trace::Run& run, const CommIndex& comms, const Group& group) {
  std::vector<std::uint32_t> seqs;
  for (const auto member : group.members) {
    const trace::EventColumns& e = run.ranks[static_cast<std::size_t>(member)].events;
    for (std::size_t i = 0; i < e.size(); ++i)
      if (e.kind[i] == trace::EventKind::Collective && comms.find(e.comm[i]) == group.comm)
        seqs.push_back(e.seq[i]);
  }
  std::sort(seqs.begin(), seqs.end());
  seqs.erase(std::unique(seqs.begin(), seqs.end()), seqs.end());
  return seqs;
}

struct Extent {
  std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t last = 0;
  std::int64_t calls = 0;
  std::int64_t foreground = 0;
};

void reserve_cells(Group& group, std::int64_t calls, std::size_t& cells) {
  const auto members = static_cast<std::int64_t>(group.members.size());
  if (members == 0 || group.ops > (kTableSlack * calls + kTableFloor) / members) return;
  group.first_cell = cells;
  cells += static_cast<std::size_t>(group.ops * members);
}

void add_call_groups(const trace::Run& run, const CommIndex& comms, const std::vector<RankScan>& scans,
                     Matching& m, std::size_t& cells) {
  std::map<std::int32_t, Extent> extents;
  for (const RankScan& scan : scans)
    for (const CommUse& use : scan.comms) {
      Extent& x = extents[use.comm];
      x.first = std::min(x.first, use.first_seq);
      x.last = std::max(x.last, use.last_seq);
      x.calls += use.calls;
      x.foreground += use.foreground;
    }
  for (const auto& [comm, x] : extents) {
    const trace::Communicator& c = run.communicators[static_cast<std::size_t>(comm)];
    Group group;
    group.comm = comm;
    group.declared = declared_members(c);
    group.members = members_present(run, c.ranks);
    group.first_seq = x.first;
    group.expected_ops = static_cast<std::int64_t>(x.last) - static_cast<std::int64_t>(x.first) + 1;
    group.ops = group.expected_ops;
    if (group.ops > kTableSlack * x.calls + kTableFloor) {
      group.sparse_seqs = seqs_in_use(run, comms, group);
      group.ops = static_cast<std::int64_t>(group.sparse_seqs.size());
    }
    group.first_op = m.ops.size();
    m.ops.resize(m.ops.size() + static_cast<std::size_t>(group.ops));
    group.mark_limit = 8 * (kTableSlack * x.calls + kTableFloor);
    if (x.foreground > 0) reserve_cells(group, x.calls, cells);
    m.groups.push_back(std::move(group));
  }
}

void add_wait_groups(const trace::Run& run, const std::vector<RankScan>& scans, Matching& m,
                     std::size_t& cells) {
  struct Waiters {
    std::int64_t most = 0;
    std::int64_t count = 0;
    std::vector<std::int32_t> ranks;
  };
  std::map<std::pair<std::int32_t, std::uint8_t>, Waiters> uses;
  for (std::size_t r = 0; r < scans.size(); ++r)
    for (const WaitUse& use : scans[r].waits) {
      Waiters& w = uses[{use.comm, use.kind}];
      w.most = std::max(w.most, use.count - use.skipped);
      w.count += use.count;
      w.ranks.push_back(static_cast<std::int32_t>(r));
    }
  const std::pair<std::int32_t, std::uint8_t> exchange{-1, static_cast<std::uint8_t>(trace::WaitKind::Peer)};
  for (std::size_t r = 0; r < scans.size(); ++r) {
    if (scans[r].exchanges.empty()) continue;
    Waiters& w = uses[exchange];
    w.most = static_cast<std::int64_t>(scans[r].exchanges.size());
    w.count += w.most;
    w.ranks.push_back(static_cast<std::int32_t>(r));
  }
  const std::int64_t absent =
      std::max<std::int64_t>(0, run.world_size - static_cast<std::int64_t>(run.ranks.size()));
  for (auto& [key, w] : uses) {
    Group group;
    group.waits = true;
    group.exchange = key == exchange;
    std::tie(group.comm, group.wait_kind) = key;
    if (group.comm >= 0) {
      const trace::Communicator& c = run.communicators[static_cast<std::size_t>(group.comm)];
      group.declared = declared_members(c);
      group.members = members_present(run, c.ranks);
    } else {
      group.declared = static_cast<std::int64_t>(w.ranks.size()) + absent;
      group.members = std::move(w.ranks);
    }
    group.ops = group.expected_ops = std::max<std::int64_t>(0, w.most);
    group.first_op = m.ops.size();
    m.ops.resize(m.ops.size() + static_cast<std::size_t>(group.ops));
    reserve_cells(group, w.count, cells);
    m.groups.push_back(std::move(group));
  }
}

/// Fills cells and counts calls, a few points of each rank in turn.
class Gather {
 public:
  Gather(const trace::Run& run, const CommIndex& comms, const std::vector<RankScan>& scans, Matching& m)
      : run_(run), m_(m) {
    first_said_.resize(m.ops.size());
    lay_out_marks();
    cursors_.reserve(run.ranks.size());
    for (std::size_t r = 0; r < run.ranks.size(); ++r)
      cursors_.emplace_back(run, comms, scans[r], m.groups, r);
    m_.totals.resize(run.ranks.size());
  }

  void run() {
    std::vector<bool> done(cursors_.size(), false);
    for (std::size_t open = cursors_.size(); open > 0;) {
      for (std::size_t r = 0; r < cursors_.size(); ++r) {
        if (done[r] || turn(r)) continue;
        done[r] = true;
        --open;
      }
    }
  }

 private:
  bool turn(std::size_t r) {
    const trace::EventColumns& e = run_.ranks[r].events;
    SyncPoint point;
    for (int n = 0; n < kPointsPerTurn; ++n) {
      if (!cursors_[r].next(point, [&](const Call& call) { count(e, call); })) {
        close(cursors_[r], m_.totals[r]);
        return false;
      }
      place(point, m_.totals[r]);
    }
    return true;
  }

  /// One bit per operation and member, also where nobody blocks.
  void lay_out_marks() {
    std::size_t bits = 0;
    for (const Group& group : m_.groups) {
      const auto members = static_cast<std::int64_t>(group.members.size());
      const bool fits = !group.waits && members > 0 && group.ops <= group.mark_limit / members;
      first_mark_.push_back(fits ? bits : kNoCells);
      if (fits) bits += static_cast<std::size_t>(group.ops * members);
    }
    seen_.assign(bits, false);
  }

  /// Holds what a member says of an operation against what the first one said.
  void compare(const trace::EventColumns& e, const Call& call, std::size_t op) {
    const Said said = said_by(e, call.event);
    Said& first = first_said_[op];
    if (!first.known) {
      first = said;
    } else if (first != said && !m_.ops[op].disputed && difference(first, said)) {
      m_.ops[op].disputed = true;
      ++m_.disputed_ops;
    }
  }

  void count(const trace::EventColumns& e, const Call& call) {
    const auto g = static_cast<std::size_t>(call.group);
    const Group& group = m_.groups[g];
    compare(e, call, group.first_op + static_cast<std::size_t>(call.op));
    if (e.end[call.event] == trace::kStillRunning) return;
    if (first_mark_[g] != kNoCells) {
      const auto place =
          static_cast<std::size_t>(call.op) * group.members.size() + static_cast<std::size_t>(call.member);
      if (seen_[first_mark_[g] + place]) return;  // the same number twice on one rank is not two members
      seen_[first_mark_[g] + place] = true;
    }
    Operation& op = m_.ops[group.first_op + static_cast<std::size_t>(call.op)];
    const auto kind = e.collective(call.event);
    if (op.seen == 0) op.kind = kind;
    if (op.kind != kind && !op.mismatch) {
      op.mismatch = true;
      ++m_.mismatched_ops;
    }
    ++op.seen;
    ++m_.finished_calls;
  }

  static void close(const SyncCursor& cursor, Matching::Totals& totals) {
    if (!cursor.started()) return;
    const SyncCursor::Tail tail = cursor.tail();
    totals.first_entry = cursor.begun();
    totals.last_exit = tail.end;
    add_to(totals.work, tail.work);
    add_to(totals.messages, tail.messages);
  }

  void place(const SyncPoint& point, Matching::Totals& totals) {
    ++totals.points;
    add_to(totals.messages, point.messages);
    add_to(totals.work, point.gap);
    const bool exchange = point.group >= 0 && m_.groups[static_cast<std::size_t>(point.group)].exchange;
    add_to(exchange ? totals.messages : totals.inside, minus_clamped(point.exit, point.entry));
    if (point.group < 0) return;
    const Group& group = m_.groups[static_cast<std::size_t>(point.group)];
    if (group.waits) {
      Operation& op = m_.ops[group.first_op + static_cast<std::size_t>(point.op)];
      if (op.seen == 0) op.kind = point.kind;
      if (op.kind != point.kind) op.mismatch = true;
      ++op.seen;
    }
    if (group.first_cell == kNoCells) return;
    const std::size_t cell = group.cell(point.op, static_cast<std::size_t>(point.member));
    if (m_.entry[cell] != kUnknown) return;
    m_.entry[cell] = point.entry;
    m_.exit[cell] = point.exit;
    m_.work[cell] = point.work;
    if (point.work == kUnknown || point.held == Duration::zero()) return;
    if (m_.held.empty()) m_.held.assign(m_.entry.size(), Duration::zero());
    m_.held[cell] = point.held;
  }

  const trace::Run& run_;
  Matching& m_;
  std::vector<SyncCursor> cursors_;
  std::vector<std::size_t> first_mark_;
  std::vector<bool> seen_;
  std::vector<Said> first_said_;
};

}  // namespace

std::int32_t find_group(const std::vector<Group>& groups, bool waits, std::int32_t comm,
                        std::uint8_t wait_kind) {
  const auto key = std::tuple{waits, comm, wait_kind};
  const auto at = std::lower_bound(groups.begin(), groups.end(), key, [](const Group& g, const auto& k) {
    return std::tuple{g.waits, g.comm, g.wait_kind} < k;
  });
  if (at == groups.end() || std::tuple{at->waits, at->comm, at->wait_kind} != key) return -1;
  return static_cast<std::int32_t>(at - groups.begin());
}

Matching match(const trace::Run& run, const CommIndex& comms, const std::vector<RankScan>& scans) {
  Matching m;
  std::size_t cells = 0;
  add_call_groups(run, comms, scans, m, cells);
  add_wait_groups(run, scans, m, cells);
  m.entry.assign(cells, kUnknown);
  m.exit.assign(cells, kUnknown);
  m.work.assign(cells, kUnknown);
  Gather(run, comms, scans, m).run();
  return m;
}

}  // namespace cox::diagnose
