// SPDX-License-Identifier: Apache-2.0
#include "diagnose/charge/charge.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <vector>

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

/// Ranks late together: their distance is at most this part of the longest wait.
constexpr std::int64_t kTogether = 100;
/// So many of them are told apart at least; more in small groups, where it costs little.
constexpr std::size_t kFewTogether = 4;
constexpr std::size_t kMostComparisons = 4096;
/// Points that may be walked over per point of the Run before the rest is given up.
constexpr std::uint64_t kWalksPerPoint = 64;
constexpr std::size_t kMostPairs = std::size_t{1} << 20;

/// A wait and what was passed on to it, on the way to whoever caused it.
struct Amount {
  Duration own{};
  Duration passed{};
  [[nodiscard]] bool none() const { return own == Duration::zero() && passed == Duration::zero(); }
};

/// Time of one rank from a synchronisation on, up to its point `end` or into it.
struct Stretch {
  std::size_t rank = 0;
  std::size_t begin = 0;  ///< point whose completion it starts with
  std::size_t end = 0;    ///< points before this one are in it
  Duration work{};
  Duration wait{};
  Duration other{};  ///< inside synchronisations without waiting: transfers, rooted operations
};

/// What a culprit took longer than who waited for it.
struct Excess {
  Duration work{};
  Duration wait{};
  Duration other{};
  [[nodiscard]] Duration sum() const { return plus_clamped(plus_clamped(work, wait), other); }
};

Excess excess_of(const Stretch& late, const Stretch& early) {
  return {positive_part(minus_clamped(late.work, early.work)),
          positive_part(minus_clamped(late.wait, early.wait)),
          positive_part(minus_clamped(late.other, early.other))};
}

/// Somebody whom others waited for, where its stretches end.
struct Culprit {
  std::int32_t rank = -1;
  std::size_t end = 0;    ///< points before this one are in the stretch
  Duration until{};       ///< time at which it ends
  Duration work_until{};  ///< own work since its first point, up to then
};

/// To be passed on to the waits of one culprit within a stretch.
struct Passing {
  std::int32_t rank = -1;
  std::size_t begin = 0;
  std::size_t end = 0;
  Duration amount{};
  Duration from = Duration::min();  ///< of these waits, only what lies in between counts
  Duration until = Duration::max();
};

/// What is passed on to the points of one rank. They are asked for from the last to the first: only those that
/// something was passed on to and that are still to come are kept.
class PendingRow {
 public:
  explicit PendingRow(std::size_t points) : chunks_((points + kChunk - 1) / kChunk), last_(chunks_.size()) {}

  Duration& at(std::size_t point) {
    auto& chunk = chunks_[point / kChunk];
    if (!chunk) chunk = std::make_unique<Chunk>();
    return (*chunk)[point % kChunk];
  }
  /// Nothing is asked of later points any more.
  [[nodiscard]] Duration take(std::size_t point) {
    for (; last_ > point / kChunk + 1; --last_) chunks_[last_ - 1].reset();
    const auto& chunk = chunks_[point / kChunk];
    return chunk ? (*chunk)[point % kChunk] : Duration::zero();
  }

 private:
  static constexpr std::size_t kChunk = 256;
  using Chunk = std::array<Duration, kChunk>;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::size_t last_;  ///< chunks that may be there
};

class Backwards {
 public:
  Backwards(const TimelineInput& in, const WaitTimeline& t)
      : in_(in), m_(in.matched.operations()), t_(t), last_(t.last) {
    const std::size_t ranks = t.ranks.size();
    pending_.reserve(ranks);
    std::uint64_t points = 0;
    for (const RankPoints& p : t.ranks) {
      pending_.emplace_back(p.size());
      points += p.size();
    }
    walks_left_ = kWalksPerPoint * points + 65536;
    out_.ranks.resize(ranks);
    out_.by_activity.resize(ranks * in.activities.size());
    lay_out_pairs();
  }

  Charges run() {
    for (std::size_t i = t_.order.size(); i-- > 0;) {
      const std::uint32_t what = t_.order[i];
      if ((what & kPeerBit) != 0)
        peer_wait(t_.peers[what ^ kPeerBit]);
      else
        operation(what, t_.before[i]);
      pass_on();
    }
    for (const RankPoints& p : t_.ranks) out_.waited.add(p.waited.back());
    return std::move(out_);
  }

 private:
  /// Rows for those whom others waited for longest, all where they fit.
  void lay_out_pairs() {
    const std::size_t ranks = t_.ranks.size();
    const std::size_t rows =
        std::min(ranks, std::max<std::size_t>(1, kMostPairs / std::max<std::size_t>(1, ranks)));
    out_.row_of_rank.assign(ranks, -1);
    std::vector<std::size_t> chosen(ranks);
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    if (rows < ranks)
      std::stable_sort(chosen.begin(), chosen.end(),
                       [&](std::size_t a, std::size_t b) { return t_.self_delay[a] > t_.self_delay[b]; });
    for (std::size_t i = 0; i < rows; ++i) out_.row_of_rank[chosen[i]] = static_cast<std::int32_t>(i);
    out_.pairs.resize(rows * ranks);
  }

  [[nodiscard]] Amount amount_at(std::size_t rank, std::size_t point) {
    return {t_.ranks[rank].wait(point), pending_[rank].take(point)};
  }

  [[nodiscard]] std::uint32_t point_in(std::uint32_t op, std::int32_t place) const {
    const Group& group = m_.groups[static_cast<std::size_t>(t_.group_of_op[op])];
    return t_.point_of[group.cell(static_cast<std::int64_t>(op - group.first_op),
                                  static_cast<std::size_t>(place))];
  }

  [[nodiscard]] Stretch stretch(std::size_t rank, std::size_t begin, std::size_t end, Duration until,
                                Duration work_until) const {
    const RankPoints& p = t_.ranks[rank];
    Stretch s{.rank = rank, .begin = begin, .end = end};
    s.work = minus_clamped(work_until, p.work[begin]);
    s.wait = minus_clamped(p.waited[end], p.waited[begin + 1]);
    s.other = minus_clamped(minus_clamped(minus_clamped(until, p.complete(begin)), s.work), s.wait);
    return s;
  }

  // An operation of a group.

  void operation(std::uint32_t op, std::uint32_t before) {
    const auto g = static_cast<std::size_t>(t_.group_of_op[op]);
    const Group& group = m_.groups[g];
    const auto cls = static_cast<std::size_t>(t_.class_of_group[g]);
    last_[cls] = before;
    ++out_.operations;
    const auto number = static_cast<std::int64_t>(op - group.first_op);
    measure_gaps(in_.matched, group, number, gaps_);
    const Duration longest = *std::max_element(gaps_.begin(), gaps_.end());
    if (longest <= Duration::zero()) return;
    find_causes(longest);
    amounts_.assign(group.members.size(), {});
    stretches_.resize(group.members.size());
    stretch_starts_.assign(group.members.size(), kNoPoint);
    for (std::size_t k = 0; k < amounts_.size(); ++k)
      amounts_[k] = amount_at(static_cast<std::size_t>(group.members[k]), t_.point_of[group.cell(number, k)]);
    for (std::size_t which = 0; which < causes_.size(); ++which) blame(group, number, cls, which);
  }

  /// Members that everybody else waited for: the last one, and those that came with it.
  void find_causes(Duration longest) {
    causes_.clear();
    for (std::size_t k = 0; k < gaps_.size(); ++k)
      if (gaps_[k] <= longest / kTogether) causes_.push_back(k);
    std::stable_sort(causes_.begin(), causes_.end(),
                     [&](std::size_t a, std::size_t b) { return gaps_[a] < gaps_[b]; });
    const std::size_t most = std::max(kFewTogether, kMostComparisons / gaps_.size());
    if (causes_.size() > most) causes_.resize(most);
    firmly_last_ = 0;
    while (firmly_last_ < causes_.size() && gaps_[causes_[firmly_last_]] == Duration::zero()) ++firmly_last_;
    late_itself_.assign(gaps_.size(), false);
    for (const std::size_t k : causes_) late_itself_[k] = true;
  }

  /// What member k waited because of the `which`-th cause: causes share alike,
  /// and wait only for the very last.
  [[nodiscard]] Amount share_of(std::size_t k, std::size_t which) const {
    const std::size_t many = late_itself_[k] ? firmly_last_ : causes_.size();
    if (which >= many) return {};
    const auto part = [&](Duration d) {
      const auto n = static_cast<std::int64_t>(many);
      return Duration{d.count() / n + (static_cast<std::int64_t>(which) < d.count() % n ? 1 : 0)};
    };
    return {part(amounts_[k].own), part(amounts_[k].passed)};
  }

  /// Charges what all members waited for one of the causes.
  void blame(const Group& group, std::int64_t number, std::size_t cls, std::size_t which) {
    const std::size_t q = causes_[which];
    const std::int32_t rank = group.members[q];
    const RankPoints& late = t_.ranks[static_cast<std::size_t>(rank)];
    const std::size_t end = t_.point_of[group.cell(number, q)];
    const Culprit culprit{rank, end, late.entry[end], late.work[end]};
    find_starts(group, cls, q);
    const bool alone = causes_.size() == 1;
    for (std::size_t k = 0; k < group.members.size(); ++k) {
      if (k == q) continue;
      const Amount amount = alone ? amounts_[k] : share_of(k, which);
      if (amount.none()) continue;
      if (starts_[k] == kNoPoint) {
        carry_in(amount);
        continue;
      }
      const Stretch& mine = stretch_before(group, number, k);
      charge(culprit, start_points_[k], mine, amount, minus_clamped(gaps_[k], gaps_[q]));
    }
  }

  /// What member k did since the operation that its stretch begins with; the same for most causes.
  const Stretch& stretch_before(const Group& group, std::int64_t number, std::size_t k) {
    if (stretch_starts_[k] == starts_[k]) return stretches_[k];
    stretch_starts_[k] = starts_[k];
    const auto p = static_cast<std::size_t>(group.members[k]);
    const std::size_t point = t_.point_of[group.cell(number, k)];
    const RankPoints& early = t_.ranks[p];
    return stretches_[k] =
               stretch(p, point_in(starts_[k], places_[k]), point, early.entry[point], early.work[point]);
  }

  /// For each member the last synchronisation that it and member q had in common, of any group.
  void find_starts(const Group& group, std::size_t cls, std::size_t q) {
    const std::size_t n = group.members.size();
    const std::uint32_t of_class = last_[cls];
    starts_.assign(n, of_class);
    start_points_.assign(n, 0);
    places_.resize(n);
    std::iota(places_.begin(), places_.end(), 0);
    std::uint32_t latest = 0;
    if (of_class != kNoPoint) {
      latest = point_in(of_class, static_cast<std::int32_t>(q));
      start_points_.assign(n, latest);
    }
    for (const auto other : t_.classes_of[static_cast<std::size_t>(group.members[q])]) {
      const std::uint32_t op = last_[static_cast<std::size_t>(other)];
      if (static_cast<std::size_t>(other) == cls || op == kNoPoint) continue;
      const std::uint32_t point = point_in(op, t_.place(other, group.members[q]));
      if (of_class != kNoPoint && point <= latest) continue;
      if (spend(std::min(n, t_.classes[static_cast<std::size_t>(other)].members.size())))
        shorten(group, q, other, op, point);
    }
  }

  /// Starts from operation `op` of class `other` for those members that were in it, where that is later.
  void shorten(const Group& group, std::size_t q, std::int32_t other, std::uint32_t op, std::uint32_t point) {
    const auto take = [&](std::size_t k, std::int32_t place) {
      if (starts_[k] != kNoPoint && start_points_[k] >= point) return;
      starts_[k] = op;
      start_points_[k] = point;
      places_[k] = place;
    };
    const auto& members = t_.classes[static_cast<std::size_t>(other)].members;
    if (members.size() < group.members.size()) {
      for (std::size_t i = 0; i < members.size(); ++i) {
        const auto at = std::lower_bound(group.members.begin(), group.members.end(), members[i]);
        if (at != group.members.end() && *at == members[i] && members[i] != group.members[q])
          take(static_cast<std::size_t>(at - group.members.begin()), static_cast<std::int32_t>(i));
      }
      return;
    }
    for (std::size_t k = 0; k < group.members.size(); ++k)
      if (const std::int32_t place = t_.place(other, group.members[k]); k != q && place >= 0) take(k, place);
  }

  // A wait for one peer.

  void peer_wait(const PeerWait& wait) {
    const Amount amount = amount_at(wait.rank, wait.point);
    if (amount.none()) return;
    if (wait.peer < 0 || !in_.matched.clocks_comparable()) return give_up(amount);
    std::uint32_t start = 0;
    std::uint32_t mine = 0;
    bool found = false;
    for (const auto cls : t_.classes_of[wait.rank]) {
      const std::uint32_t op = last_[static_cast<std::size_t>(cls)];
      const std::int32_t theirs = op == kNoPoint ? -1 : t_.place(cls, wait.peer);
      if (theirs < 0) continue;
      const std::uint32_t point = point_in(op, t_.place(cls, static_cast<std::int32_t>(wait.rank)));
      const std::uint32_t peers = point_in(op, theirs);
      if (peers >= wait.peer_points || (found && point <= mine)) continue;
      found = true;
      mine = point;
      start = peers;
    }
    const RankPoints& waiter = t_.ranks[wait.rank];
    if (wait.since != Duration::min() && (!found || wait.since > waiter.complete(mine)))
      return since_last_message(wait, amount);
    if (!found) return carry_in(amount);
    const RankPoints& peer = t_.ranks[static_cast<std::size_t>(wait.peer)];
    const RankPoints& early = t_.ranks[wait.rank];
    // Own work of the peer up to the end of the wait; what it was inside of then
    // did not keep it from sending.
    const std::size_t end = wait.peer_points;
    Duration work = end < peer.size() ? peer.work[end] : peer.work.back();
    if (end < peer.size())
      work = minus_clamped(work, positive_part(minus_clamped(peer.entry[end], wait.end)));
    const Culprit culprit{wait.peer, end, wait.end, work};
    const Stretch own = stretch(wait.rank, mine, wait.point, early.entry[wait.point], early.work[wait.point]);
    charge(culprit, start, own, amount, early.wait(wait.point));
  }

  /// The two had exchanged messages before: what each did since then, on one clock.
  void since_last_message(const PeerWait& wait, const Amount& amount) {
    const auto q = static_cast<std::size_t>(wait.peer);
    const RankPoints& peer = t_.ranks[q];
    const RankPoints& waiter = t_.ranks[wait.rank];
    const Duration begin = waiter.entry[wait.point];
    const auto between = [&](const RankPoints& p, std::size_t rank, Duration until, std::size_t end) {
      Stretch s{.rank = rank, .begin = p.point_at(wait.since), .end = p.point_at(until)};
      s.work = minus_clamped(p.work_until(until), p.work_until(wait.since));
      s.wait = minus_clamped(p.waited_until(until, end), p.waited_until(wait.since, end));
      s.other = minus_clamped(minus_clamped(minus_clamped(until, wait.since), s.work), s.wait);
      return s;
    };
    const Stretch late = between(peer, q, wait.end, wait.peer_points);
    const Stretch early = between(waiter, wait.rank, begin, wait.point);
    const auto pass = [&](const Amount& a) {
      passing_.push_back(
          {wait.peer, late.begin, wait.peer_points, plus_clamped(a.own, a.passed), wait.since, wait.end});
    };
    divide(late, early, amount, minus_clamped(wait.end, begin), pass);
  }

  // Charging.

  void carry_in(const Amount& a) {
    out_.carried_in.add(a.own);
    out_.carried_in.add(a.passed);
  }

  void give_up(const Amount& a) {
    out_.unknown.add(a.own);
    out_.unknown.add(a.passed);
  }

  /// Divides one amount among what the culprit took longer for than who waited, whose time is `early`.
  void charge(const Culprit& culprit, std::uint32_t start, const Stretch& early, Amount amount,
              Duration gap) {
    const auto q = static_cast<std::size_t>(culprit.rank);
    if (late_.rank != q || late_start_ != start || late_end_ != culprit.end || late_until_ != culprit.until) {
      late_ = stretch(q, start, culprit.end, culprit.until, culprit.work_until);
      late_start_ = start;
      late_end_ = culprit.end;
      late_until_ = culprit.until;
    }
    divide(late_, early, amount, gap, [&](const Amount& a) { add_passing(culprit, start, a); });
  }

  /// `pass(Amount)` hears of what the culprit waited itself.
  template <class Pass>
  void divide(const Stretch& late, const Stretch& early, Amount amount, Duration gap, Pass pass) {
    const Excess excess = excess_of(late, early);
    const Duration sum = excess.sum();
    if (sum <= Duration::zero()) return give_up(amount);
    if (sum < gap) {
      const Amount told{part_of(amount.own, sum, gap), part_of(amount.passed, sum, gap)};
      give_up({amount.own - told.own, amount.passed - told.passed});
      amount = told;
    }
    const Amount by_work = take(amount, excess.work, sum);
    const Amount by_wait = take(amount, excess.wait, minus_clamped(sum, excess.work));
    if (!by_work.none()) charge_work(late, early, by_work);
    auto& communication = out_.ranks[late.rank].communication;
    communication.add(amount.own);
    communication.add(amount.passed);
    if (!by_wait.none()) pass(by_wait);
  }

  /// Takes part / whole off an amount; all of it where the part is the whole.
  static Amount take(Amount& from, Duration part, Duration whole) {
    if (part <= Duration::zero()) return {};
    const Amount taken =
        part >= whole ? from : Amount{part_of(from.own, part, whole), part_of(from.passed, part, whole)};
    from.own -= taken.own;
    from.passed -= taken.passed;
    return taken;
  }

  void charge_work(const Stretch& late, const Stretch& early, const Amount& a) {
    auto& sums = out_.ranks[late.rank];
    sums.short_term.add(a.own);
    sums.long_term.add(a.passed);
    tell_activities(late, early, plus_clamped(a.own, a.passed));
    const std::int32_t row = out_.row_of_rank[late.rank];
    if (row < 0) return;
    auto& pair = out_.pairs[static_cast<std::size_t>(row) * t_.ranks.size() + early.rank];
    add_to(pair.direct, a.own);
    add_to(pair.passed, a.passed);
  }

  [[nodiscard]] Duration activity_in(const Stretch& s, std::size_t activity) const {
    const std::size_t classes = in_.activities.size();
    const RankPoints& p = t_.ranks[s.rank];
    const std::size_t end = std::min(s.end, p.size() - 1);
    return minus_clamped(p.activity[end * classes + activity], p.activity[s.begin * classes + activity]);
  }

  /// Divides what excess work cost among the activities that took longer; to the last class where none did.
  void tell_activities(const Stretch& late, const Stretch& early, Duration cost) {
    const std::size_t classes = in_.activities.size();
    WideSum* sums = &out_.by_activity[late.rank * classes];
    Duration left = cost;
    if (classes > 1) {
      Duration whole{};
      excess_.resize(classes);
      for (std::size_t x = 0; x < classes; ++x) {
        excess_[x] = positive_part(minus_clamped(activity_in(late, x), activity_in(early, x)));
        add_to(whole, excess_[x]);
      }
      for (std::size_t x = 0; x < classes && whole > Duration::zero(); ++x) {
        const Duration part = part_of(left, excess_[x], whole);
        sums[x].add(part);
        left -= part;
        whole -= excess_[x];
      }
    }
    sums[classes - 1].add(left);
  }

  void add_passing(const Culprit& culprit, std::uint32_t start, const Amount& a) {
    const Duration amount = plus_clamped(a.own, a.passed);
    if (amount == Duration::max()) return give_up(a);
    for (Passing& p : passing_) {
      if (p.rank != culprit.rank || p.begin != start + std::size_t{1} || p.from != Duration::min()) continue;
      if (p.amount > Duration::max() - amount) return give_up(a);
      p.amount += amount;
      return;
    }
    passing_.push_back(
        {.rank = culprit.rank, .begin = start + std::size_t{1}, .end = culprit.end, .amount = amount});
  }

  /// Distributes what is to be passed on over the waits of the culprits, in proportion to their length.
  void pass_on() {
    for (const Passing& p : passing_) {
      const auto r = static_cast<std::size_t>(p.rank);
      if (p.from != Duration::min()) {
        pass_between(p);
        continue;
      }
      const auto& waited = t_.ranks[r].waited;
      const Duration whole = minus_clamped(waited[p.end], waited[p.begin]);
      if (whole <= Duration::zero() || !spend(p.end - p.begin)) {
        give_up({p.amount, {}});
        continue;
      }
      Duration given{};
      for (std::size_t i = p.begin; i < p.end; ++i) {
        if (waited[i + 1] == waited[i]) continue;
        const Duration upto = part_of(p.amount, waited[i + 1] - waited[p.begin], whole);
        const Duration share = upto - given;
        given = upto;
        Duration& pending = pending_[r].at(i);
        if (pending > Duration::max() - share)
          give_up({share, {}});
        else
          pending += share;
      }
    }
    passing_.clear();
  }

  /// The same over the parts of waits that lie between two times.
  void pass_between(const Passing& p) {
    const auto r = static_cast<std::size_t>(p.rank);
    const RankPoints& points = t_.ranks[r];
    const Duration before = points.waited_until(p.from, p.end);
    const Duration whole = minus_clamped(points.waited_until(p.until, p.end), before);
    if (whole <= Duration::zero() || p.amount == Duration::max() || !spend(p.end - std::min(p.begin, p.end)))
      return give_up({p.amount, {}});
    Duration given{};
    for (std::size_t i = p.begin; i < p.end && given < p.amount; ++i) {
      const Duration upto = std::min(points.waited[i + 1], plus_clamped(before, whole));
      const Duration part = positive_part(minus_clamped(upto, before));
      const Duration share = minus_clamped(part_of(p.amount, part, whole), given);
      if (share <= Duration::zero()) continue;
      given += share;
      Duration& pending = pending_[r].at(i);
      if (pending > Duration::max() - share)
        give_up({share, {}});
      else
        pending += share;
    }
    if (given < p.amount) give_up({minus_clamped(p.amount, given), {}});
  }

  /// Whether there is still enough left to walk over so many points.
  bool spend(std::size_t points) {
    if (points > walks_left_) {
      out_.too_tangled = true;
      return false;
    }
    walks_left_ -= points;
    return true;
  }

  const TimelineInput& in_;
  const Matching& m_;
  const WaitTimeline& t_;
  Charges out_;
  std::vector<std::uint32_t> last_;  ///< per class: last operation before the one being looked at
  std::vector<PendingRow> pending_;
  std::vector<Passing> passing_;
  std::uint64_t walks_left_ = 0;
  // Of the operation being looked at, per member.
  std::vector<Duration> gaps_;
  std::vector<Amount> amounts_;
  std::vector<std::size_t> causes_;
  std::vector<bool> late_itself_;
  std::size_t firmly_last_ = 0;  ///< causes that nobody was later than
  std::vector<Duration> excess_;
  std::vector<std::uint32_t> starts_;  ///< operation that the stretch begins with; kNoPoint = carried in
  std::vector<std::uint32_t> start_points_;  ///< the culprit's point in it
  std::vector<std::int32_t> places_;         ///< the member's place in that operation
  std::vector<Stretch> stretches_;
  std::vector<std::uint32_t> stretch_starts_;
  // Of the culprit being looked at.
  Stretch late_;
  std::uint32_t late_start_ = kNoPoint;
  std::size_t late_end_ = 0;
  Duration late_until_{};
};

}  // namespace

Charges charge_waits(const TimelineInput& in, const WaitTimeline& t) {
  return Backwards(in, t).run();
}

}  // namespace cox::diagnose
