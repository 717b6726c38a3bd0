// SPDX-License-Identifier: Apache-2.0
#include "diagnose/pacing/iterations.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "cox/pace/iteration.hpp"

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

using pace::Boundary;
using trace::EventKind;

/// Columns beyond the longest member's, from which numbers are not believed.
constexpr std::uint64_t kMostGap = 1024;

/// A rank's collectives as its library runs them.
enum class Library : std::uint8_t {
  Caller,  ///< where the program calls them
  Worker,  ///< on threads of their own; the program waits for the results
};

Library library_of(const trace::EventColumns& e) {
  for (std::size_t i = 0; i < e.size(); ++i)
    if (e.kind[i] == EventKind::Collective && (e.flags[i] & trace::kOffThread) != 0) return Library::Worker;
  return Library::Caller;
}

bool holds_up(const trace::EventColumns& e, std::size_t i, Library library) {
  if (e.end[i] == trace::kStillRunning || e.end[i] < e.begin[i]) return false;
  if (e.kind[i] != EventKind::Collective) return is_program_wait(e, i);
  const bool worked_off = library == Library::Worker && (e.flags[i] & trace::kTagged) != 0;
  return !worked_off && (e.flags[i] & (trace::kNonBlocking | trace::kOffThread)) == 0;
}

bool is_decision(const trace::EventColumns& e, std::size_t i) {
  return e.kind[i] == EventKind::Pace && !keeps_order(e, i);
}

bool is_gradient_wait(const trace::EventColumns& e, std::size_t i) {
  return e.kind[i] == EventKind::Wait &&
         static_cast<trace::WaitKind>(e.op[i]) == trace::WaitKind::GradientSync;
}

/// When an event counts, and in which order events of one moment do.
struct Turn {
  Duration at{};
  std::uint8_t order = 0;
  std::size_t event = 0;
  auto operator<=>(const Turn&) const = default;
};

enum Order : std::uint8_t { kWorker, kSync, kMark, kRecord };

std::vector<Turn> turns_of(const trace::EventColumns& e, Library library) {
  std::vector<Turn> turns;
  std::optional<std::uint32_t> thread;  // that synchronises; others do not count
  for (std::size_t i = 0; i < e.size(); ++i) {
    const bool sync = holds_up(e, i, library);
    if (sync && !thread) thread = e.thread[i];
    if (is_decision(e, i))
      turns.push_back({e.begin[i], kRecord, i});
    else if (e.kind[i] == EventKind::Step && (e.flags[i] & trace::kMarked) != 0)  // not those of a framework
      turns.push_back({e.begin[i], kMark, i});
    else if (sync && e.comm[i] != trace::kNoComm)
      turns.push_back({e.end[i], kSync, i});
    else if (e.kind[i] == EventKind::Collective && library == Library::Worker)
      turns.push_back({e.begin[i], kWorker, i});
  }
  std::erase_if(turns,
                [&](const Turn& t) { return t.order != kWorker && thread && e.thread[t.event] != *thread; });
  std::sort(turns.begin(), turns.end());
  return turns;
}

/// The part of a wait that is transfer; negative = not known.
Duration transfer_of(const pace::Settings& s, std::int64_t bytes, Duration wait) {
  if (bytes >= 0 && s.transfer_latency >= Duration::zero())
    return std::min(wait,
                    plus_clamped(s.transfer_latency, duration_from_seconds(static_cast<double>(bytes) *
                                                                           s.transfer_ps_per_byte * 1e-12)));
  return bytes >= 0 && bytes <= pace::kSmallPayload ? Duration::zero() : Duration{-1};
}

/// Cuts one rank's events into iterations of one group.
class Cutter {
 public:
  Cutter(const Matched& matched, const trace::EventColumns& e, CommId paced, const pace::Settings& settings,
         Library library, GroupMember& out)
      : matched_(&matched), e_(&e), paced_(paced), settings_(&settings), library_(library), out_(&out) {
    for (std::size_t i = 0; i < e.size(); ++i)
      if (e.kind[i] == EventKind::Collective && (e.flags[i] & trace::kNonBlocking) != 0)
        begun_bytes_.emplace_back(std::pair(e.comm[i], e.seq[i]), e.bytes[i].count());
    std::sort(begun_bytes_.begin(), begun_bytes_.end());
  }

  void take(const Turn& t) {
    if (t.order == kRecord)
      take_record(t.event);
    else if (t.order == kMark)
      take_mark(t.at);
    else if (t.order == kSync)
      take_sync(t.event);
    else
      worked_off_ = std::min(kMostBytes, worked_off_) + 1 + bounded_bytes(t.event);
  }

  /// Numbers that the Pace records contradict are shifted to theirs.
  void finish() {
    if (shift_ == 0) return;
    for (SeenIteration& i : out_->seen) shift(i.step);
    for (std::size_t i = settled_entries_; i < out_->entries.size(); ++i) shift(out_->entries[i].step);
  }

 private:
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 61;

  [[nodiscard]] std::int64_t bounded_bytes(std::size_t i) const {
    return std::clamp<std::int64_t>(e_->bytes[i].count(), 0, kMostBytes);
  }

  /// Another count begins, with a new controller. Waits of other groups since the last iteration stay.
  void restart(Duration now) {
    reason_ = kNoReason;
    SeenIteration fresh;
    std::copy(std::begin(open_.others), std::end(open_.others), std::begin(fresh.others));
    fresh.other_groups = open_.other_groups;
    open_ = fresh;
    open_.begin = now;
    open_.transfer = Duration::zero();
    counted_until_ = now;
    step_ = 0;
    shift_ = 0;
    shift_known_ = false;
    out_->seen.clear();
    settled_entries_ = out_->entries.size();
  }

  void close(Duration now) {
    open_.step = step_++;
    open_.end = now;
    out_->seen.push_back(open_);
    open_ = SeenIteration{};
    open_.begin = now;
    open_.transfer = Duration::zero();
    open_.reason = reason_;
  }

  /// What the program waited for, in bytes; negative = not known.
  std::int64_t bytes_of(std::size_t i) {
    if (e_->kind[i] == EventKind::Collective) return e_->bytes[i].count();
    if (library_ == Library::Worker) return std::exchange(worked_off_, -1);
    const auto key = std::pair(e_->comm[i], e_->seq[i]);
    const auto at = std::lower_bound(begun_bytes_.begin(), begun_bytes_.end(), std::pair(key, INT64_MIN));
    return at != begun_bytes_.end() && at->first == key ? at->second : -1;
  }

  void take_sync(std::size_t i) {
    const std::int64_t bytes = bytes_of(i);
    const bool nested = begun_ && e_->comm[i] == paced_ && e_->begin[i] < counted_until_;
    const Duration wait = e_->end[i] - std::min(e_->end[i], nested ? counted_until_ : e_->begin[i]);
    const Duration transfer = transfer_of(*settings_, bytes, wait);
    if (e_->comm[i] != paced_) {
      if (begun_) add_other(e_->comm[i], transfer > Duration::zero() ? wait - transfer : wait);
      return;
    }
    if (!begun_) {
      begun_ = ++syncs_ == pace::kFirstSynchronisation;
      if (begun_) restart(e_->end[i]);
      return;
    }
    counted_until_ = e_->end[i];
    add_to(open_.sync, wait);
    if (transfer < Duration::zero()) open_.transfer = transfer;
    if (open_.transfer >= Duration::zero()) add_to(open_.transfer, transfer);
    pass(is_gradient_wait(*e_, i) ? Boundary::Gradients : Boundary::Synchronisation, e_->end[i]);
  }

  void take_mark(Duration at) {
    if (begun_) pass(Boundary::Mark, at);
  }

  void pass(Boundary boundary, Duration at) {
    using Effect = pace::BoundaryRule::Effect;
    const Effect effect = boundaries_.pass(boundary);
    if (effect == Effect::BeginsAnew) restart(at);
    if (effect == Effect::Ends) close(at);
  }

  void take_record(std::size_t i) {
    if (e_->comm[i] != paced_ || !begun_) return;
    const bool served = e_->end[i] != trace::kStillRunning && e_->end[i] > e_->begin[i];
    const std::int64_t decided_ns =
        std::clamp<std::int64_t>(e_->bytes[i].count(), 0, Duration::max().count() / 1000);
    PaceEntry p{.step = step_,
                .begin = e_->begin[i],
                .end = served ? e_->end[i] : e_->begin[i],
                .decision = {.delay = Nanoseconds(decided_ns),
                             .reason = static_cast<pace::Reason>(e_->op[i]),
                             .state = static_cast<pace::State>(trace::PaceFlags::state(e_->flags[i]))},
                .gain_ratio = 1e-6 * static_cast<double>(static_cast<std::int32_t>(e_->aux[i])),
                .mode = trace::PaceFlags::mode(e_->flags[i])};
    if (!shift_known_) shift_ = static_cast<std::int64_t>(e_->seq[i]) - static_cast<std::int64_t>(step_);
    shift_known_ = true;
    reason_ = e_->op[i];
    open_.reason = reason_;
    open_.told = true;
    open_.recorded = p.decision;
    add_to(open_.delayed, p.end - p.begin);
    if (served) counted_until_ = p.end;
    out_->entries.push_back(p);
  }

  void add_other(CommId comm, Duration wait) {
    const std::int32_t index = matched_->comms().find(comm);
    if (index < 0) return;
    const trace::Communicator& c = matched_->communicator(index);
    if (std::max<std::size_t>(c.ranks.size(), static_cast<std::size_t>(std::max(c.size, 0))) < 2) return;
    auto at = std::find(others_.begin(), others_.end(), comm);
    if (at == others_.end()) {
      if (others_.size() == pace::Controller::kOtherGroups) return;
      at = others_.insert(others_.end(), comm);
    }
    const auto g = static_cast<std::size_t>(at - others_.begin());
    add_to(open_.others[g], wait);
    open_.other_groups = static_cast<std::uint8_t>(open_.other_groups | (1U << g));
  }

  void shift(std::uint64_t& step) const {
    step = static_cast<std::uint64_t>(std::max<std::int64_t>(0, static_cast<std::int64_t>(step) + shift_));
  }

  const Matched* matched_;
  const trace::EventColumns* e_;
  CommId paced_;
  const pace::Settings* settings_;
  Library library_;
  GroupMember* out_;
  std::vector<std::pair<std::pair<CommId, std::uint32_t>, std::int64_t>> begun_bytes_;  ///< non-blocking ones
  /// Bytes and calls that workers began since the program last waited, less 1.
  std::int64_t worked_off_ = -1;
  Duration counted_until_{};
  pace::BoundaryRule boundaries_;
  bool begun_ = false;
  std::uint32_t syncs_ = 0;
  std::uint64_t step_ = 0;
  std::int64_t shift_ = 0;
  bool shift_known_ = false;
  std::uint8_t reason_ = kNoReason;
  std::size_t settled_entries_ = 0;
  SeenIteration open_;
  std::vector<CommId> others_;
};

std::uint32_t place_in(const trace::Communicator& comm, Rank rank) {
  const std::vector<Rank>& order = comm.by_rank.empty() ? comm.ranks : comm.by_rank;
  return static_cast<std::uint32_t>(std::find(order.begin(), order.end(), rank) - order.begin());
}

/// How much of the Run concerns a communicator.
struct Use {
  std::int64_t pace_records = 0;
  std::int64_t ranks = 0;
  std::int64_t calls = 0;
};

std::map<CommId, Use> uses_of(const Matched& matched) {
  std::map<CommId, Use> uses;
  for (const trace::RankTrack& track : matched.tracks()) {
    const trace::EventColumns& e = track.events;
    std::map<CommId, std::int64_t> calls;
    const Library library = library_of(e);
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (is_decision(e, i)) ++uses[e.comm[i]].pace_records;
      if (holds_up(e, i, library)) ++calls[e.comm[i]];
    }
    for (const auto& [comm, n] : calls) {
      if (n <= pace::kFirstSynchronisation) continue;
      ++uses[comm].ranks;
      uses[comm].calls += n;
    }
  }
  return uses;
}

const trace::Communicator* choose(const Matched& matched, const std::string& preferred) {
  const trace::Communicator* best = nullptr;
  Use most;
  const std::map<CommId, Use> uses = uses_of(matched);
  const auto weight = [&](const trace::Communicator& c, const Use& u) {
    return std::make_tuple(u.pace_records, !preferred.empty() && c.name == preferred, u.ranks, u.calls);
  };
  for (const trace::Communicator& c : matched.communicators()) {
    const auto at = uses.find(c.id);
    if (at == uses.end()) continue;
    const Use& u = at->second;
    if (u.ranks == 0 || (u.ranks < 2 && u.pace_records == 0)) continue;
    if (best != nullptr && weight(c, u) <= weight(*best, most)) continue;
    best = &c;
    most = u;
  }
  return best;
}

/// A member without a record of its own (its beginning was overwritten, and it decided nothing after) is numbered as
/// one that has some: iterations of a group end together.
void number_the_silent(GroupIterations& g) {
  const auto told = std::find_if(g.members.begin(), g.members.end(),
                                 [](const GroupMember& m) { return !m.entries.empty(); });
  if (told == g.members.end()) return;
  const std::vector<SeenIteration>& known = told->seen;
  for (GroupMember& m : g.members) {
    if (!m.entries.empty()) continue;
    const Duration end = m.seen.front().end;
    auto at = std::lower_bound(known.begin(), known.end(), end,
                               [](const SeenIteration& i, Duration t) { return i.end < t; });
    if (at == known.end() || (at != known.begin() && end - std::prev(at)->end < at->end - end)) --at;
    const std::uint64_t first = m.seen.front().step;
    for (SeenIteration& i : m.seen) i.step = i.step - first + at->step;
  }
}

/// The columns that hold all members' iterations.
void lay_out(GroupIterations& g) {
  std::uint64_t longest = 0;
  std::uint64_t low = UINT64_MAX;
  std::uint64_t high = 0;
  for (const GroupMember& m : g.members) {
    if (m.seen.empty()) continue;
    longest = std::max<std::uint64_t>(longest, m.seen.size());
    low = std::min(low, m.seen.front().step);
    high = std::max(high, m.seen.back().step + 1);
  }
  if (longest == 0) return;
  if (high - low > 2 * longest + kMostGap) {  // numbers that cannot be: by position
    for (GroupMember& m : g.members)
      for (std::size_t i = 0; i < m.seen.size(); ++i) m.seen[i].step = i;
    low = 0;
    high = longest;
  }
  g.first = low;
  g.count = static_cast<std::size_t>(high - low);
}

}  // namespace

bool has_pace_records(const Matched& matched) {
  return std::any_of(matched.scans().begin(), matched.scans().end(),
                     [](const RankScan& s) { return s.has_pace_decisions; });
}

std::optional<GroupIterations> find_group_iterations(const Matched& matched, const pace::Settings& settings,
                                                     const std::string& preferred) {
  const trace::Communicator* comm = choose(matched, preferred);
  if (comm == nullptr) return std::nullopt;
  GroupIterations g;
  g.comm = comm->id;
  g.name = comm->name;
  for (std::size_t r = 0; r < matched.ranks(); ++r) {
    GroupMember m;
    m.track = r;
    m.place = place_in(*comm, matched.rank(r));
    const trace::EventColumns& e = matched.track(r).events;
    const Library library = library_of(e);
    Cutter cutter(matched, e, comm->id, settings, library, m);
    for (const Turn& t : turns_of(e, library)) cutter.take(t);
    cutter.finish();
    if (m.seen.empty()) continue;
    g.paced = g.paced || !m.entries.empty();
    g.members.push_back(std::move(m));
  }
  g.size = static_cast<std::uint32_t>(std::max<std::size_t>(
      {g.members.size(), comm->ranks.size(), static_cast<std::size_t>(std::clamp(comm->size, 0, 1 << 24))}));
  number_the_silent(g);
  lay_out(g);
  if (g.count == 0) return std::nullopt;
  return g;
}

}  // namespace cox::diagnose
