// SPDX-License-Identifier: Apache-2.0
#include "diagnose/what_if/recording.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "cox/model/collective.hpp"

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

/// Times that a deadlock may be resolved by tearing a meeting apart before the input is given up.
constexpr std::int64_t kMostTorn = 256;
/// Points of one rank that are read at once, so that its columns are read in one piece; fewer where many
/// ranks would make that large.
constexpr std::size_t kMostAhead = 64;
constexpr std::size_t kAheadOfAll = std::size_t{1} << 17;
/// Time lines are told by at most so many blocks: steps, or several steps together,
/// or stretches of operations.
constexpr std::int64_t kMostBlocks = 512;

class Recorder {
 public:
  Recorder(const Matched& matched, std::int64_t most_cells, MessageTime messages)
      : matched_(matched),
        messages_(messages),
        m_(matched.operations()),
        steps_(matched.steps()),
        comparable_(matched.clocks_comparable()),
        most_cells_(static_cast<std::size_t>(std::max<std::int64_t>(0, most_cells))),
        out_(matched.ranks()),
        ranks_(matched.ranks()),
        hints_(m_.groups.size(), -1) {
    cursors_.reserve(matched.ranks());
    for (std::size_t r = 0; r < matched.ranks(); ++r) cursors_.push_back(matched.walk(r));
    out_.has_steps = steps_.count > 0;
    ahead_ = std::clamp<std::size_t>(kAheadOfAll / std::max<std::size_t>(1, ranks_.size()), 1, kMostAhead);
    count_expected();
    reserve();
  }

  Recording run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) advance(r);
    while (!full_) {
      while (!ready_.empty() && !full_) {
        const Ready next = ready_.front();  // first come, first served: groups apart go on side by side
        ready_.pop_front();
        take_place(next);
      }
      if (full_ || !tear_one()) break;
    }
    finish();
    return std::move(out_);
  }

 private:
  /// What is used of a synchronisation point.
  struct Stop {
    Duration entry{};
    Duration exit{};
    Duration gap{};
    Duration messages{};
    Bytes bytes{};
    std::int64_t op = -1;
    std::int32_t group = -1;
    std::int32_t member = -1;
    model::Collective kind = model::Collective::Other;
    bool holds_all = false;
  };
  struct RankState {
    std::vector<Stop> ahead;  ///< read and not yet come to
    std::size_t next = 0;
    bool at_meeting = false;
    bool met = false;  ///< was at a meeting before: what it did since is known
    Stop point{};
    Duration own{};   ///< since the last meeting
    Duration held{};  ///< the same
    Duration previous_exit{};
    bool started = false;
    Duration begun{};  ///< when its part of the replay begins, by the recorded clock
    Duration left{};   ///< when it left its last meeting
    Duration ended{};  ///< the last thing it is known to have done
  };
  struct Expected {
    std::uint32_t to_come = 0;
    std::uint32_t come = 0;
    bool over = false;
  };
  struct Ready {
    std::int32_t group = -1;
    std::int64_t op = -1;
  };

  [[nodiscard]] std::size_t number(std::int32_t group, std::int64_t op) const {
    return m_.groups[static_cast<std::size_t>(group)].first_op + static_cast<std::size_t>(op);
  }

  void count_expected() {
    expected_.resize(m_.ops.size());
    for (const Group& group : m_.groups) {
      if (group.first_cell == kNoCells) continue;
      for (std::int64_t op = 0; op < group.ops; ++op) {
        Expected& e = expected_[group.first_op + static_cast<std::size_t>(op)];
        for (std::size_t k = 0; k < group.members.size(); ++k)
          if (m_.entry[group.cell(op, k)] != kUnknown) ++e.to_come;
      }
    }
  }

  void reserve() {
    std::size_t cells = 0;
    std::size_t meetings = 0;
    for (const Expected& e : expected_) {
      cells += e.to_come;
      meetings += e.to_come > 0 ? 1 : 0;
    }
    cells = std::min(cells, most_cells_);
    out_.tracks.reserve(meetings, cells);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const auto most = std::min(cells, static_cast<std::size_t>(m_.totals[r].points));
      out_.attended[r].reserve(most);
    }
    whole_.assign(m_.groups.size(), std::nullopt);
  }

  /// Whether all known members of the point's operation wait there for each other.
  [[nodiscard]] bool is_meeting(const Stop& p) const {
    if (!p.holds_all || p.group < 0 || p.op < 0) return false;
    const Group& group = m_.groups[static_cast<std::size_t>(p.group)];
    if (group.first_cell == kNoCells) return false;
    const std::size_t op = number(p.group, p.op);
    if (expected_[op].over || m_.ops[op].mismatch) return false;
    return m_.entry[group.cell(p.op, static_cast<std::size_t>(p.member))] != kUnknown;
  }

  /// Takes a rank to its next synchronisation of any kind; false at its end.
  bool next_stop(std::size_t r) {
    RankState& s = ranks_[r];
    if (s.next == s.ahead.size()) {
      s.ahead.clear();
      s.next = 0;
      SyncPoint p;
      const trace::EventColumns& e = matched_.track(r).events;
      while (s.ahead.size() < ahead_ && cursors_[r].next(p))
        s.ahead.push_back({p.entry, p.exit, p.gap, p.messages, e.bytes[p.event], p.op, p.group, p.member,
                           p.kind, p.holds_all});
      if (s.ahead.empty()) return false;
    }
    s.point = s.ahead[s.next++];
    return true;
  }

  /// Takes a rank to its next meeting. What it passes on the way is time of its own that nobody else decides.
  void advance(std::size_t r) {
    RankState& s = ranks_[r];
    s.at_meeting = false;
    while (next_stop(r)) {
      if (s.started) {
        const Duration between = minus_clamped(s.point.entry, s.previous_exit);
        add_to(s.own, s.point.gap);
        const bool follows = messages_ == MessageTime::Follows;
        out_.has_messages = out_.has_messages || s.point.messages > Duration::zero();
        const Duration known = plus_clamped(s.point.gap, follows ? s.point.messages : Duration::zero());
        add_to(s.held, minus_clamped(between, known));  // in calls for messages, or held back
      }
      s.started = true;
      s.previous_exit = s.point.exit;
      if (is_meeting(s.point)) {
        s.at_meeting = true;
        Expected& e = expected_[number(s.point.group, s.point.op)];
        if (++e.come == e.to_come) ready_.push_back({s.point.group, s.point.op});
        return;
      }
      add_to(s.held, minus_clamped(s.point.exit, s.point.entry));
      if (s.met) s.ended = s.point.exit;
    }
  }

  /// Where ranks wait for each other crosswise, the lowest operation that somebody waits in takes place
  /// without those who have not come. False where nobody waits.
  bool tear_one() {
    std::optional<std::size_t> lowest;
    Ready at;
    for (const RankState& s : ranks_) {
      if (!s.at_meeting) continue;
      const std::size_t op = number(s.point.group, s.point.op);
      if (!lowest || op < *lowest) {
        lowest = op;
        at = {s.point.group, s.point.op};
      }
    }
    if (!lowest) return false;
    if (++out_.out_of_order > kMostTorn) {
      out_.tangled = true;
      return false;
    }
    ready_.push_back(at);
    return true;
  }

  void take_place(const Ready& what) {
    const Group& group = m_.groups[static_cast<std::size_t>(what.group)];
    come_.clear();
    bool all_new = true;
    for (const auto member : group.members) {
      const auto r = static_cast<std::size_t>(member);
      const RankState& s = ranks_[r];
      if (!s.at_meeting || s.point.group != what.group || s.point.op != what.op) continue;
      come_.push_back(static_cast<replay::Track>(r));
      all_new = all_new && !s.met;
    }
    expected_[number(what.group, what.op)].over = true;
    if (out_.count + come_.size() > most_cells_) {
      full_ = out_.cut = true;
      return;
    }
    leave(all_new ? begin_here() : meet(what, group));
    for (const replay::Track r : come_) advance(r);
  }

  struct Exit {
    Duration base{};  ///< when the first one leaves, in everybody's clock; unused where clocks differ
    Duration transfer{};
  };

  [[nodiscard]] Exit exit_of() const {
    Duration last_entry = Duration::min();
    Duration first_exit = Duration::max();
    Duration shortest = Duration::max();
    for (const replay::Track r : come_) {
      const Stop& p = ranks_[r].point;
      last_entry = std::max(last_entry, p.entry);
      first_exit = std::min(first_exit, p.exit);
      shortest = std::min(shortest, minus_clamped(p.exit, p.entry));
    }
    if (!comparable_) return {Duration::zero(), shortest};
    const Duration base = std::max(first_exit, last_entry);
    return {base, minus_clamped(base, last_entry)};
  }

  /// The first thing that all who came are known to have done: they start when they leave it.
  Exit begin_here() {
    for (const replay::Track r : come_) ranks_[r].begun = ranks_[r].point.exit;
    Exit exit;
    exit.base = Duration::max();
    return exit;
  }

  Exit meet(const Ready& what, const Group& group) {
    const Exit exit = exit_of();
    work_.clear();
    const auto meeting = static_cast<std::uint32_t>(out_.tracks.meetings().size());
    for (std::size_t k = 0; k < come_.size(); ++k) {
      RankState& s = ranks_[come_[k]];
      const replay::Track r = come_[k];
      if (!s.met) s.begun = s.point.entry;
      const Duration own = s.met ? s.own : Duration::zero();
      const Duration held = s.met ? s.held : Duration::zero();
      if (!s.met) out_.carried_in[r] = true;
      out_.attend(r, meeting, held);
      work_.push_back(plus_clamped(own, held));
    }
    out_.count += come_.size();
    if (static_cast<std::int64_t>(come_.size()) < group.declared) ++out_.incomplete;
    const Stop& first = ranks_[come_.front()].point;
    std::int64_t& hint = hints_[static_cast<std::size_t>(what.group)];
    const std::int64_t step = steps_.count > 0 ? steps_.step_of(come_.front(), first.exit, hint) : -1;
    if (step >= 0) hint = step;
    block_ = std::max(block_, block_of(step, meeting));
    out_.tracks.meet(group_of(what.group, group), work_, exit.transfer, static_cast<std::uint32_t>(block_));
    out_.group.push_back(what.group);
    out_.step.push_back(static_cast<std::int32_t>(step));
    out_.alike.push_back(alike_of(what.group, first.kind, first.bytes));
    return exit;
  }

  [[nodiscard]] std::int64_t block_of(std::int64_t step, std::int64_t meeting) const {
    const std::int64_t at = out_.has_steps ? step : meeting;
    const std::int64_t count = out_.has_steps ? steps_.count : static_cast<std::int64_t>(m_.ops.size());
    return count <= kMostBlocks ? at : at / ((count + kMostBlocks - 1) / kMostBlocks);
  }

  /// Those who came as a group of the tracks: the whole one, or one for this meeting.
  std::uint32_t group_of(std::int32_t index, const Group& group) {
    if (come_.size() != group.members.size()) return out_.tracks.add_group(come_);
    auto& whole = whole_[static_cast<std::size_t>(index)];
    if (!whole) whole = out_.tracks.add_group(come_);
    return *whole;
  }

  std::uint32_t alike_of(std::int32_t group, model::Collective kind, Bytes bytes) {
    const auto [at, is_new] = alikes_.try_emplace(std::tuple{group, kind, bytes.count()}, out_.alikes);
    if (is_new) ++out_.alikes;
    return at->second;
  }

  void leave(const Exit& exit) {
    for (const replay::Track r : come_) {
      RankState& s = ranks_[r];
      s.own = Duration::zero();
      s.held = comparable_ ? positive_part(minus_clamped(s.point.exit, exit.base)) : Duration::zero();
      s.met = true;
      s.left = s.ended = s.point.exit;
    }
  }

  void finish() {
    Duration origin = Duration::max();
    Duration last = Duration::min();
    std::vector<Duration> spans;
    for (RankState& s : ranks_) {
      if (!s.met) continue;
      if (s.at_meeting) s.ended = s.left;  // what came after leads to a meeting that is not here
      origin = std::min(origin, s.begun);
      last = std::max(last, s.ended);
      spans.push_back(minus_clamped(s.ended, s.begun));
    }
    if (spans.empty()) return;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const RankState& s = ranks_[r];
      if (!s.met) continue;
      if (comparable_) out_.tracks.set_start(static_cast<replay::Track>(r), minus_clamped(s.begun, origin));
      if (!s.at_meeting) out_.tracks.set_tail(static_cast<replay::Track>(r), plus_clamped(s.own, s.held));
    }
    out_.measured = comparable_ ? minus_clamped(last, origin) : lower_median_in_place(spans);
  }

  const Matched& matched_;
  MessageTime messages_;
  const Matching& m_;
  const Steps& steps_;
  bool comparable_;
  std::size_t most_cells_;
  Recording out_;
  std::vector<SyncCursor> cursors_;
  std::vector<RankState> ranks_;
  std::vector<Expected> expected_;
  std::deque<Ready> ready_;
  std::vector<std::int64_t> hints_;
  std::vector<std::optional<std::uint32_t>> whole_;
  std::map<std::tuple<std::int32_t, model::Collective, std::int64_t>, std::uint32_t> alikes_;
  std::vector<replay::Track> come_;
  std::vector<Duration> work_;
  std::size_t ahead_ = 1;
  std::int64_t block_ = 0;
  bool full_ = false;
};

}  // namespace

void Recording::attend(std::size_t rank, std::uint32_t meeting, Duration held) {
  auto& all = held_[rank];
  if (all.empty() && held != Duration::zero()) {
    all.reserve(attended[rank].capacity());
    all.resize(attended[rank].size(), Duration::zero());
  }
  attended[rank].push_back(meeting);
  if (held != Duration::zero() || !all.empty()) all.push_back(held);
}

Recording record(const Matched& matched, std::int64_t most_cells, MessageTime messages) {
  return Recorder(matched, most_cells, messages).run();
}

}  // namespace cox::diagnose
