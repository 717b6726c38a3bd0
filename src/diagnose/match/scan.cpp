// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/scan.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace cox::diagnose {
namespace {

using trace::EventColumns;
using trace::EventKind;

/// The uses seen so far by key, with the place of the previous hit kept: neighbouring events mostly agree.
template <class Use>
class UseTable {
 public:
  explicit UseTable(std::vector<Use>& uses) : uses_(uses) {}
  Use& at(std::uint64_t key, const Use& fresh) {
    if (key != last_key_ || uses_.empty()) {
      const auto [place, inserted] = places_.try_emplace(key, uses_.size());
      if (inserted) uses_.push_back(fresh);
      last_key_ = key;
      last_ = place->second;
    }
    return uses_[last_];
  }

 private:
  std::vector<Use>& uses_;
  std::unordered_map<std::uint64_t, std::size_t> places_;
  std::uint64_t last_key_ = 0;
  std::size_t last_ = 0;
};

/// The thread with most of the program's own records; the lowest number among equals.
std::uint32_t thread_of_waits(const EventColumns& e) {
  std::map<std::uint32_t, std::int64_t> votes;
  for (std::size_t i = 0; i < e.size(); ++i)
    if (is_program_wait(e, i)) ++votes[e.thread[i]];
  std::uint32_t best = 0;
  std::int64_t most = 0;
  for (const auto& [thread, count] : votes)
    if (count > most) {
      best = thread;
      most = count;
    }
  return best;
}

Bytes add_clamped(Bytes a, Bytes b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a.count(), b.count(), &sum)) return Bytes{sum};
  return Bytes{std::numeric_limits<std::int64_t>::max()};
}

void sort_marks(std::vector<StepMark>& marks) {
  const auto by_number = [](const StepMark& a, const StepMark& b) { return a.number < b.number; };
  if (!std::is_sorted(marks.begin(), marks.end(), by_number))
    std::stable_sort(marks.begin(), marks.end(), by_number);
  const auto end = std::unique(marks.begin(), marks.end(),
                               [](const StepMark& a, const StepMark& b) { return a.number == b.number; });
  marks.erase(end, marks.end());
  // A later number at an earlier time is not a sequence of steps; keep the part that is one.
  const auto out_of_order = std::is_sorted_until(
      marks.begin(), marks.end(), [](const StepMark& a, const StepMark& b) { return a.at < b.at; });
  marks.erase(out_of_order, marks.end());
}

/// Time of the first step that every rank marked; nothing where there is none.
std::optional<std::int64_t> first_common_mark(const std::vector<RankScan>& scans) {
  if (scans.empty()) return std::nullopt;
  for (const StepMark& mark : scans.front().marks) {
    const bool everywhere = std::all_of(scans.begin(), scans.end(), [&](const RankScan& s) {
      return std::binary_search(s.marks.begin(), s.marks.end(), mark,
                                [](const StepMark& a, const StepMark& b) { return a.number < b.number; });
    });
    if (everywhere) return mark.number;
  }
  return std::nullopt;
}

/// Waits that ended before `from`, per (communicator, kind).
void count_earlier_waits(const EventColumns& e, const CommIndex& comms, Duration from,
                         std::vector<WaitUse>& uses) {
  for (std::size_t i = 0; i < e.size() && e.begin[i] < from; ++i) {
    if (!is_program_wait(e, i) || e.end[i] > from) continue;
    const auto comm = comms.find(e.comm[i]);
    for (WaitUse& use : uses)
      if (use.comm == comm && use.kind == e.op[i]) ++use.skipped;
  }
}

}  // namespace

CommIndex::CommIndex(const trace::Run& run) : size_(run.communicators.size()) {
  for (std::size_t i = 0; i < size_; ++i)
    if (run.communicators[i].id.value() != static_cast<std::int32_t>(i)) dense_ = false;
  if (dense_) return;
  for (std::size_t i = 0; i < size_; ++i)
    sorted_.emplace_back(run.communicators[i].id, static_cast<std::int32_t>(i));
  std::sort(sorted_.begin(), sorted_.end());
}

std::int32_t CommIndex::find_sparse(CommId id) const {
  const auto at = std::lower_bound(sorted_.begin(), sorted_.end(),
                                   std::pair{id, std::numeric_limits<std::int32_t>::min()});
  return at != sorted_.end() && at->first == id ? at->second : -1;
}

RankScan scan_rank(const trace::RankTrack& track, const CommIndex& comms) {
  const EventColumns& e = track.events;
  RankScan scan;
  if (std::find(e.kind.begin(), e.kind.end(), EventKind::Wait) != e.kind.end()) {
    for (std::size_t i = 0; i < e.size() && !scan.program_waits; ++i)
      scan.program_waits = is_program_wait(e, i);
    if (scan.program_waits) scan.program_thread = thread_of_waits(e);
  }
  scan.marks.reserve(static_cast<std::size_t>(std::count(e.kind.begin(), e.kind.end(), EventKind::Step)));
  UseTable<CommUse> comm_uses(scan.comms);
  UseTable<WaitUse> wait_uses(scan.waits);
  for (std::size_t i = 0; i < e.size(); ++i) {
    scan.first = std::min(scan.first, e.begin[i]);
    scan.latest = std::max(scan.latest, e.end[i] == trace::kStillRunning ? e.begin[i] : e.end[i]);
    switch (e.kind[i]) {
      case EventKind::Collective: {
        scan.has_calls = true;
        ++scan.collectives;
        if (e.end[i] == trace::kStillRunning) ++scan.unfinished;
        scan.has_blocking |= (e.flags[i] & trace::kNonBlocking) == 0;
        const auto comm = comms.find(e.comm[i]);
        if (comm < 0) {
          ++scan.unmatchable;
          break;
        }
        CommUse& use =
            comm_uses.at(static_cast<std::uint64_t>(comm), CommUse{comm, e.seq[i], e.seq[i], 0, 0, Bytes{}});
        use.first_seq = std::min(use.first_seq, e.seq[i]);
        use.last_seq = std::max(use.last_seq, e.seq[i]);
        ++use.calls;
        if (!scan.in_background(e, i)) ++use.foreground;
        use.bytes = add_clamped(use.bytes, std::max(e.bytes[i], Bytes{}));
        break;
      }
      case EventKind::Wait: {
        scan.has_calls = true;
        if (is_peer_wait(e, i)) {
          scan.stands_for_peer |= (e.flags[i] & trace::kNonBlocking) == 0;
          scan.open_for_peer |= e.end[i] == trace::kStillRunning;
        }
        if (!is_program_wait(e, i)) break;
        if (e.end[i] == trace::kStillRunning) ++scan.unfinished;
        const auto comm = comms.find(e.comm[i]);
        const auto key = (static_cast<std::uint64_t>(comm + 1) << 8) | e.op[i];
        WaitUse& use = wait_uses.at(key, WaitUse{comm, e.op[i], 0, 0});
        ++use.count;
        break;
      }
      case EventKind::Step:
        scan.marks.push_back({e.step_number(i), e.begin[i]});
        break;
      case EventKind::Phase:
        scan.has_phases = true;
        break;
      case EventKind::Pace:
        scan.has_pace_decisions |= !keeps_order(e, i);
        break;
      default:
        break;
    }
  }
  std::sort(scan.comms.begin(), scan.comms.end(),
            [](const auto& a, const auto& b) { return a.comm < b.comm; });
  std::sort(scan.waits.begin(), scan.waits.end(), [](const auto& a, const auto& b) {
    return std::pair{a.comm, a.kind} < std::pair{b.comm, b.kind};
  });
  sort_marks(scan.marks);
  return scan;
}

void number_waits(const trace::Run& run, const CommIndex& comms, std::vector<RankScan>& scans) {
  if (const auto first = first_common_mark(scans)) {
    for (std::size_t r = 0; r < scans.size(); ++r) {
      if (scans[r].waits.empty()) continue;
      const auto mark = std::lower_bound(scans[r].marks.begin(), scans[r].marks.end(), *first,
                                         [](const StepMark& m, std::int64_t n) { return m.number < n; });
      count_earlier_waits(run.ranks[r].events, comms, mark->at, scans[r].waits);
    }
    return;
  }
  const bool recycled = std::any_of(run.ranks.begin(), run.ranks.end(),
                                    [](const trace::RankTrack& t) { return t.recycled_records > 0; });
  if (!recycled) return;
  std::map<std::pair<std::int32_t, std::uint8_t>, std::int64_t> fewest;
  for (const RankScan& scan : scans)
    for (const WaitUse& use : scan.waits) {
      const auto [at, fresh] = fewest.try_emplace({use.comm, use.kind}, use.count);
      if (!fresh) at->second = std::min(at->second, use.count);
    }
  for (RankScan& scan : scans)
    for (WaitUse& use : scan.waits) use.skipped = use.count - fewest[{use.comm, use.kind}];
}

std::int32_t index_of(const trace::Run& run, Rank rank) {
  const auto at = std::lower_bound(run.ranks.begin(), run.ranks.end(), rank,
                                   [](const trace::RankTrack& t, Rank r) { return t.rank < r; });
  return at != run.ranks.end() && at->rank == rank ? static_cast<std::int32_t>(at - run.ranks.begin()) : -1;
}

std::int32_t rank_at(const trace::Run& run, std::int32_t comm, std::uint32_t place) {
  const trace::Communicator& c = run.communicators[static_cast<std::size_t>(comm)];
  if (place < c.by_rank.size() && c.by_rank[place].value() >= 0) return index_of(run, c.by_rank[place]);
  return -1;
}

}  // namespace cox::diagnose
