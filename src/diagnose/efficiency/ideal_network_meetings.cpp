// SPDX-License-Identifier: Apache-2.0
#include "diagnose/efficiency/ideal_network_meetings.hpp"

#include <algorithm>
#include <limits>

namespace cox::diagnose {
namespace {

using trace::EventColumns;
using trace::EventKind;

/// A table may be so much larger than what is put into it; beyond, the numbers are no sequence.
constexpr std::uint64_t kTableSlack = 8;
constexpr std::uint64_t kTableFloor = 65536;

std::uint64_t wait_key(std::int32_t comm, std::uint8_t kind) {
  return static_cast<std::uint64_t>(comm + 1) << 8 | kind;
}

}  // namespace

Meetings::Meetings(const Matched& matched)
    : comms_(&matched.comms()), scans_(&matched.scans()), messages_(matched.messages().size() > 0) {}

bool Meetings::lay_out(const std::vector<RankScan>& scans) {
  struct Use {
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t last = 0;
    std::uint64_t calls = 0;
  };
  std::vector<Use> uses;
  for (const RankScan& scan : scans) {
    for (const CommUse& u : scan.comms) {
      const auto comm = static_cast<std::size_t>(u.comm);
      if (uses.size() <= comm) uses.resize(comm + 1);
      uses[comm].first = std::min(uses[comm].first, u.first_seq);
      uses[comm].last = std::max(uses[comm].last, u.last_seq);
      uses[comm].calls += static_cast<std::uint64_t>(u.calls);
    }
    for (const WaitUse& u : scan.waits) {
      const auto [at, fresh] = wait_kinds_.try_emplace(wait_key(u.comm, u.kind), by_wait_.size());
      if (fresh) by_wait_.emplace_back();
      Range& range = by_wait_[at->second];
      range.count = std::max(range.count, static_cast<std::size_t>(std::max<std::int64_t>(0, u.count)));
    }
  }
  std::size_t next = 0;
  for (const Use& use : uses) {
    Range range{.first = next, .count = 0, .first_seq = use.first};
    if (use.calls > 0) {
      const std::uint64_t count = std::uint64_t{use.last} - use.first + 1;
      if (count > kTableSlack * use.calls + kTableFloor) return false;
      range.count = count;
    }
    next += range.count;
    by_comm_.push_back(range);
  }
  for (Range& range : by_wait_) {
    range.first = next;
    next += range.count;
  }
  first_start_ = next;
  next += uses.size();
  if (next >= kNoMeeting) return false;
  expected_.assign(next, 0);
  return true;
}

std::optional<Meetings> Meetings::find(const Matched& matched) {
  Meetings m(matched);
  if (!m.lay_out(matched.scans())) return std::nullopt;
  // Waits last: whether one follows a posted collective is told by whether there is one.
  for (const bool waits : {false, true}) {
    for (std::size_t r = 0; r < matched.ranks(); ++r) {
      if (waits && matched.scan(r).waits.empty()) continue;
      const EventColumns& e = matched.track(r).events;
      CallCursor cursor(e, matched.scan(r), Duration::min());
      WaitCounts counts = m.wait_counts(r);
      ProgramCall call;
      while (cursor.next(call)) {
        if (is_program_wait(e, call.event) != waits) continue;
        const Attendance a = m.attend(e, call.event, counts);
        if (!a.arrives) continue;
        ++m.expected_[a.meeting];
        ++m.arrivals_;
      }
    }
  }
  return m;
}

Meetings::WaitCounts Meetings::wait_counts(std::size_t rank) const {
  WaitCounts counts(by_wait_.size(), 0);
  for (const WaitUse& u : (*scans_)[rank].waits)
    counts[wait_kinds_.at(wait_key(u.comm, u.kind))] = -u.skipped;
  return counts;
}

Meeting Meetings::by_number(CommId id, std::uint32_t seq) const {
  const auto comm = comms_->find(id);
  if (comm < 0 || static_cast<std::size_t>(comm) >= by_comm_.size()) return kNoMeeting;
  const Range& range = by_comm_[static_cast<std::size_t>(comm)];
  if (seq < range.first_seq || seq - range.first_seq >= range.count) return kNoMeeting;
  return static_cast<Meeting>(range.first + (seq - range.first_seq));
}

Attendance Meetings::attend(const EventColumns& e, std::size_t i, WaitCounts& counts) const {
  if (e.kind[i] == EventKind::Collective) {
    const Meeting m = by_number(e.comm[i], e.seq[i]);
    return {.meeting = m,
            .arrives = m != kNoMeeting,
            .stays = m != kNoMeeting && (e.flags[i] & trace::kNonBlocking) == 0};
  }
  if (e.kind[i] == EventKind::Pace) return {};
  if (!is_program_wait(e, i)) return at_start(e, i);
  if (static_cast<trace::WaitKind>(e.op[i]) == trace::WaitKind::Request) {
    const Meeting m = by_number(e.comm[i], e.seq[i]);
    if (m != kNoMeeting && expected_[m] > 0) return {.meeting = m, .arrives = false, .stays = true};
    if (messages_) return {};  // the wait may be for a message as well as for a collective
  }
  return by_order(e, i, counts);
}

/// A wait of no kind that is numbered like a collective: all members meet once, in MPI_Init.
Attendance Meetings::at_start(const EventColumns& e, std::size_t i) const {
  const bool meets = static_cast<trace::WaitKind>(e.op[i]) == trace::WaitKind::Other &&
                     (e.flags[i] & trace::kTagged) != 0 && e.seq[i] == 0;
  const auto comm = meets ? comms_->find(e.comm[i]) : -1;
  if (comm < 0 || static_cast<std::size_t>(comm) >= by_comm_.size()) return {};
  return {.meeting = static_cast<Meeting>(first_start_ + static_cast<std::size_t>(comm)),
          .arrives = true,
          .stays = true};
}

Attendance Meetings::by_order(const EventColumns& e, std::size_t i, WaitCounts& counts) const {
  const auto at = wait_kinds_.find(wait_key(comms_->find(e.comm[i]), e.op[i]));
  if (at == wait_kinds_.end()) return {};
  const Range& range = by_wait_[at->second];
  const std::int64_t n = counts[at->second]++;
  if (n < 0 || static_cast<std::uint64_t>(n) >= range.count) return {};
  const auto m = static_cast<Meeting>(range.first + static_cast<std::size_t>(n));
  return {.meeting = m, .arrives = true, .stays = true};
}

}  // namespace cox::diagnose
