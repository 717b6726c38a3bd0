// SPDX-License-Identifier: Apache-2.0
#include "diagnose/what_if/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "cox/base/number_text.hpp"

#include "diagnose/match/span_math.hpp"
#include "diagnose/what_if/path.hpp"
#include "diagnose/what_if/questions.hpp"

namespace cox::diagnose {
namespace {

constexpr double kDoubtful = 0.02;
constexpr double kRefused = 0.10;
/// A part of the time that is nothing but rounding.
constexpr double kLeastGain = 1e-6;
/// Of the run time: of less than that nobody has a share.
constexpr double kLeastToShare = 1e-3;
/// Up to so many ranks, sets of up to kMostFixed are searched among all of them.
constexpr std::size_t kFewRanks = 64;
constexpr std::size_t kMostInManyRanks = 3;
/// Up to so many ranks, all pairs and triples are tried.
constexpr std::size_t kExhaustive = 10;
constexpr std::size_t kBestKept = 3;
/// Communicators with most transfer on the path whose transfer is questioned.
constexpr std::size_t kMostComms = 16;
constexpr std::size_t kMostRanksAlone = 4096;

class Search {
 public:
  Search(const Matched& matched, const Recording& recording, const WhatIfOptions& options, WhatIf& out)
      : matched_(matched),
        m_(matched.operations()),
        recording_(recording),
        times_(replay::times_of(recording.tracks)),
        options_(options),
        out_(out) {}

  void all() {
    if (!trusted()) return;
    const Peers peers(matched_, recording_);
    Questions ask(recording_, peers, options_);
    out_.compared = peers.compared();
    ideal(peers, ask);
    accounts(peers);
    single_ranks(ask);
    greedy_sets(ask);
    exhaustive_sets(ask);
    fabric(ask);
    path();
    out_.scenarios = ask.asked();
  }

 private:
  /// The gate: what cannot reproduce the past is not asked about another one.
  bool trusted() {
    out_.measured = recording_.measured;
    out_.simulated = times_.makespan;
    out_.operations = static_cast<std::int64_t>(recording_.tracks.meetings().size());
    out_.cells = static_cast<std::int64_t>(recording_.count);
    out_.blocks = static_cast<std::int64_t>(recording_.tracks.blocks());
    if (recording_.tangled) {
      out_.why = "ranks reach the same synchronisations in different orders";
      return false;
    }
    if (out_.operations == 0 || out_.measured <= Duration::zero()) {
      out_.why = "no two synchronisations that hold all their members follow each other";
      return false;
    }
    out_.fidelity_ratio = ratio(out_.simulated, out_.measured) - 1;
    const double off = std::abs(out_.fidelity_ratio);
    const std::string by =
        fmt::format("replay of what was recorded takes {} {} than was measured",
                    percent_change(off, ChangeSign::InWords), out_.fidelity_ratio > 0 ? "longer" : "shorter");
    if (off > kRefused) {
      out_.why = by + ", expected at most 10 %: ranks do not leave together, or clocks stray";
      return false;
    }
    out_.fidelity = off > kDoubtful ? Fidelity::Doubtful : Fidelity::Good;
    if (out_.fidelity == Fidelity::Doubtful) out_.why = by;
    if (recording_.cut)
      out_.screened.push_back(
          fmt::format("replayed: the first {} synchronisations, as many as fit {} "
                      "stretches of work",
                      out_.operations, options_.most_cells));
    if (recording_.out_of_order > 0)
      out_.screened.push_back(fmt::format(
          "{} synchronisations that ranks reach in different orders count as held", recording_.out_of_order));
    if (recording_.incomplete > 0)
      out_.screened.push_back(fmt::format("{} synchronisations lack a member: replayed among those present",
                                          recording_.incomplete));
    return true;
  }

  void ideal(const Peers& peers, const Questions& ask) {
    const Replayed& recorded = ask.recorded();
    out_.ideal = ask.ideal().time;
    out_.slowdown_ratio = ratio(recorded.time, std::max(out_.ideal, Duration{1}));
    const Estimate e = ask.estimate(ask.ideal());
    out_.slowdown_low = e.speedup_low;
    out_.slowdown_high = e.speedup_high;
    out_.waited = out_.injected = Duration::zero();
    std::int64_t taking_part = 0;
    for (std::size_t r = 0; r < recording_.attended.size(); ++r) {
      add_to(out_.waited, times_.waited[r]);
      add_to(out_.injected, peers.self_delay()[r]);
      taking_part += recording_.attended[r].empty() ? 0 : 1;
    }
    out_.lost = duration_from_seconds(in_seconds(minus_clamped(out_.simulated, out_.ideal)) *
                                      static_cast<double>(taking_part));
    if (out_.injected > Duration::zero()) out_.amplification_ratio = ratio(out_.lost, out_.injected);
  }

  void accounts(const Peers& peers) {
    out_.ranks.resize(matched_.ranks());
    for (std::size_t r = 0; r < out_.ranks.size(); ++r) {
      out_.ranks[r].rank = matched_.rank(r);
      out_.ranks[r].self_delay = peers.self_delay()[r];
    }
    for (std::size_t c = 0; c < times_.last.size(); ++c) {
      const replay::Tracks::Meeting& m = recording_.tracks.meetings()[c];
      const auto last = recording_.tracks.members(m.group)[times_.last[c]];
      const Duration delay = peers.delay(m.first_cell + times_.last[c]);
      add_to(out_.ranks[last].charged, std::min(positive_part(delay), times_.ahead[c]));
    }
  }

  /// Ranks by what they may be worth, from what costs nothing: charge and self-delay, each as part of all.
  [[nodiscard]] std::vector<std::size_t> by_suspicion() const {
    Duration charged{};
    Duration delay{};
    for (const RankWhatIf& r : out_.ranks) {
      add_to(charged, r.charged);
      add_to(delay, r.self_delay);
    }
    std::vector<double> score;
    score.reserve(out_.ranks.size());
    for (const RankWhatIf& r : out_.ranks)
      score.push_back(std::max(ratio(r.charged, std::max(charged, Duration{1})),
                               ratio(r.self_delay, std::max(delay, Duration{1}))));
    return ordered(score);
  }

  /// Indices of the positive scores, highest first.
  static std::vector<std::size_t> ordered(const std::vector<double>& score) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < score.size(); ++i)
      if (score[i] > 0) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return score[a] != score[b] ? score[a] > score[b] : a < b;
    });
    return order;
  }

  [[nodiscard]] double share(Duration part) const {
    const Duration whole = minus_clamped(out_.simulated, out_.ideal);
    if (whole <= Duration::zero() || ratio(whole, out_.simulated) < kLeastToShare) return 0;
    return std::clamp(ratio(part, whole), 0.0, 1.0);
  }

  void single_ranks(Questions& ask) {
    std::vector<std::size_t> suspects = by_suspicion();
    const auto suspected = suspects.size();
    // Two questions per rank, for which two fifths of the work may be spent.
    const auto most = std::min<std::size_t>(
        kMostRanksAlone, std::max<std::size_t>(8, static_cast<std::size_t>(ask.affordable(1)) / 5));
    if (suspected > most) {
      suspects.resize(most);
      out_.screened.push_back(
          fmt::format("asked one by one: {} of {} ranks; {} have no self-delay, {} less than these",
                      suspects.size(), out_.ranks.size(), out_.ranks.size() - suspected, suspected - most));
    }
    std::vector<RankSet> alone;
    alone.reserve(suspects.size());
    for (const std::size_t r : suspects) alone.push_back({r});
    const std::vector<Replayed> fixed = ask.fixed(alone);
    const std::vector<Replayed> only = ask.only(suspects);
    std::vector<double> score(out_.ranks.size(), 0);
    for (std::size_t i = 0; i < suspects.size(); ++i) {
      RankWhatIf& r = out_.ranks[suspects[i]];
      r.evaluated = true;
      r.fixed = ask.estimate(fixed[i]);
      const Duration saved = minus_clamped(out_.simulated, fixed[i].time);
      const Duration loss = minus_clamped(only[i].time, out_.ideal);
      r.removal_share = share(saved);
      r.add_back_share = share(loss);
      r.loss_ratio = ratio(loss, std::max(out_.ideal, Duration{1}));
      score[suspects[i]] = in_seconds(std::max(saved, loss));
    }
    candidates_ = ordered(score);
  }

  /// Half of the ranks, rounded up: those who are left say what is usual.
  [[nodiscard]] std::size_t largest_set() const { return (out_.ranks.size() + 1) / 2; }

  /// Adds the rank that saves most to the set, and goes on where that is little: one rank often hides
  /// another. What follows the last gain beyond noise is dropped again.
  void greedy_sets(Questions& ask) {
    const std::size_t most =
        std::min(largest_set(), out_.ranks.size() <= kFewRanks ? kMostFixed : kMostInManyRanks);
    const auto pool = std::min<std::size_t>(
        {candidates_.size(), kFewRanks,
         std::max<std::size_t>(8, static_cast<std::size_t>(ask.affordable(most)) * 3 / 4 / most)});
    if (pool < candidates_.size())
      out_.screened.push_back(
          fmt::format("sets are searched among the {} ranks that alone save or lose most", pool));
    RankSet chosen;
    std::vector<std::size_t> open(candidates_.begin(),
                                  candidates_.begin() + static_cast<std::ptrdiff_t>(pool));
    Replayed before = ask.recorded();
    Replayed kept = before;  // with the last set whose gain was beyond noise
    std::size_t keep = 0;
    while (chosen.size() < most && !open.empty()) {
      std::vector<RankSet> sets;
      for (const std::size_t r : open) {
        sets.push_back(chosen);
        sets.back().push_back(r);
      }
      std::vector<Replayed> answers = ask.fixed(sets);
      std::size_t best = 0;
      for (std::size_t i = 1; i < answers.size(); ++i)
        if (answers[i].time < answers[best].time) best = i;
      chosen = sets[best];
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(best));
      SetWhatIf set = about(ask, chosen, answers[best]);
      set.added_ratio = ratio(minus_clamped(before.time, answers[best].time), out_.simulated);
      set.beyond_noise = gains(ask, kept, answers[best]);
      out_.sets.push_back(std::move(set));
      before = answers[best];
      if (out_.sets.back().beyond_noise) {
        kept = before;
        keep = out_.sets.size();
      }
    }
    out_.sets.resize(keep);
  }

  /// Whether the step-to-step variation leaves no doubt that `to` is faster. Where there are too few steps to
  /// tell, any gain counts.
  [[nodiscard]] static bool gains(const Questions& ask, const Replayed& from, const Replayed& to) {
    if (to.time >= from.time) return false;
    if (!ask.bootstrap().possible()) return true;
    return ask.bootstrap().difference(from.sums, to.sums, ask.recorded().sums).low > kLeastGain;
  }

  [[nodiscard]] SetWhatIf about(const Questions& ask, const RankSet& set, const Replayed& answer) const {
    SetWhatIf s;
    for (const std::size_t r : set) s.ranks.push_back(matched_.rank(r));
    s.fixed = ask.estimate(answer);
    s.removal_share = share(minus_clamped(out_.simulated, answer.time));
    return s;
  }

  void exhaustive_sets(Questions& ask) {
    const std::size_t n = out_.ranks.size();
    if (n > kExhaustive) return;
    std::vector<RankSet> pairs;
    std::vector<RankSet> triples;
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = a + 1; b < n; ++b) {
        pairs.push_back({a, b});
        for (std::size_t c = b + 1; c < n; ++c) triples.push_back({a, b, c});
      }
    if (ask.affordable(3) < static_cast<std::int64_t>(pairs.size() + triples.size())) {
      out_.screened.emplace_back("pairs and triples: too many operations to try them all");
      return;
    }
    if (largest_set() >= 2) out_.best_pairs = best_of(ask, pairs);
    if (largest_set() >= 3) out_.best_triples = best_of(ask, triples);
  }

  [[nodiscard]] std::vector<SetWhatIf> best_of(Questions& ask, const std::vector<RankSet>& sets) const {
    const std::vector<Replayed> answers = ask.fixed(sets);
    std::vector<std::size_t> order(sets.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::tie(answers[a].time, a) < std::tie(answers[b].time, b);
    });
    std::vector<SetWhatIf> best;
    for (const std::size_t i : order) {
      if (best.size() == kBestKept || answers[i].time >= out_.simulated) break;
      best.push_back(about(ask, sets[i], answers[i]));
    }
    return best;
  }

  /// Transfers of each meeting, changed where `of` says so.
  template <class Change>
  [[nodiscard]] std::vector<Duration> changed(const Change& change) const {
    std::vector<Duration> column;
    const auto meetings = recording_.tracks.meetings();
    column.reserve(meetings.size());
    for (std::size_t c = 0; c < meetings.size(); ++c) column.push_back(change(c, meetings[c].transfer));
    return column;
  }

  /// Per kind of operation: lower quartile of its transfers.
  [[nodiscard]] std::vector<Duration> usual_transfers() const {
    std::vector<std::vector<Duration>> samples(recording_.alikes);
    const auto meetings = recording_.tracks.meetings();
    for (std::size_t c = 0; c < meetings.size(); ++c)
      samples[recording_.alike[c]].push_back(meetings[c].transfer);
    std::vector<Duration> usual;
    for (auto& sample : samples) {
      const auto at = sample.begin() + static_cast<std::ptrdiff_t>((sample.size() - 1) / 4);
      std::nth_element(sample.begin(), at, sample.end());
      usual.push_back(*at);
    }
    return usual;
  }

  void fabric(Questions& ask) {
    const std::vector<std::vector<Duration>> all{
        changed([](std::size_t, Duration) { return Duration::zero(); }),
        changed([](std::size_t, Duration transfer) { return transfer / 10; })};
    const std::vector<Replayed> answers = ask.transfers(all);
    out_.fabric_free = ask.estimate(answers[0]);
    out_.fabric_tenfold = ask.estimate(answers[1]);
    communicators(ask);
  }

  void communicators(Questions& ask) {
    std::vector<std::int64_t> operations(m_.groups.size(), 0);
    std::vector<Duration> transfer(m_.groups.size());
    for (std::size_t c = 0; c < recording_.group.size(); ++c) {
      const auto g = static_cast<std::size_t>(recording_.group[c]);
      ++operations[g];
      add_to(transfer[g], recording_.tracks.meetings()[c].transfer);
    }
    for (std::size_t g = 0; g < transfer.size(); ++g)
      if (operations[g] > 0) groups_.push_back(g);
    std::stable_sort(groups_.begin(), groups_.end(),
                     [&](std::size_t a, std::size_t b) { return transfer[a] > transfer[b]; });
    for (const std::size_t g : groups_) {
      CommWhatIf comm;
      const Group& group = m_.groups[g];
      if (group.comm >= 0) {
        const trace::Communicator& c = matched_.communicator(group.comm);
        comm.comm = c.id;
        comm.name = c.name;
      }
      comm.operations = operations[g];
      comm.transfer = transfer[g];
      out_.communicators.push_back(std::move(comm));
    }
    question_communicators(ask);
    if (groups_.size() > kMostComms)
      out_.screened.push_back(fmt::format(
          "transfer is questioned on the {} of {} communicators that have most", kMostComms, groups_.size()));
  }

  /// As many at once as fit in memory: a column per question.
  void question_communicators(Questions& ask) {
    const std::vector<Duration> usual = usual_transfers();
    const std::size_t count = std::min(kMostComms, groups_.size());
    const std::size_t at_once = std::max<std::size_t>(1, ask.columns_at_once() / 2);
    for (std::size_t from = 0; from < count; from += at_once) {
      const std::size_t to = std::min(count, from + at_once);
      std::vector<std::vector<Duration>> columns;
      for (std::size_t i = from; i < to; ++i) {
        const auto here = [&](std::size_t c) {
          return static_cast<std::size_t>(recording_.group[c]) == groups_[i];
        };
        columns.push_back(changed([&](std::size_t c, Duration transfer) {
          return here(c) ? std::min(transfer, usual[recording_.alike[c]]) : transfer;
        }));
        columns.push_back(
            changed([&](std::size_t c, Duration transfer) { return here(c) ? Duration::zero() : transfer; }));
      }
      const std::vector<Replayed> answers = ask.transfers(columns);
      for (std::size_t i = from; i < to; ++i) {
        CommWhatIf& comm = out_.communicators[i];
        comm.evaluated = true;
        comm.lower_quartile = ask.estimate(answers[2 * (i - from)]);
        comm.zero = ask.estimate(answers[2 * (i - from) + 1]);
      }
    }
  }

  void path() {
    const PathTimes path = critical_path(recording_, times_, m_.groups.size());
    const auto part = [&](Duration d) { return ratio(d, std::max(times_.makespan, Duration{1})); };
    for (const Duration d : path.work) out_.path.work.push_back(part(d));
    for (const Duration d : path.held) out_.path.held.push_back(part(d));
    out_.path.carried_in = part(path.carried_in);
    for (std::size_t i = 0; i < groups_.size(); ++i)
      out_.communicators[i].path_share = part(path.transfer[groups_[i]]);
  }

  const Matched& matched_;
  const Matching& m_;
  const Recording& recording_;
  replay::MeetingTimes times_;
  const WhatIfOptions& options_;
  WhatIf& out_;
  std::vector<std::size_t> candidates_;
  std::vector<std::size_t> groups_;  ///< of the matching, as in out_.communicators
};

/// Waits for messages follow from who worked how long, where replay without them takes as long as was measured;
/// else they stay as they were.
Recording record_messages(const Matched& matched, std::int64_t most_cells, WhatIf& out) {
  Recording recording = record(matched, most_cells, MessageTime::Follows);
  if (!recording.has_messages) return recording;
  const Duration time = replay::times_of(recording.tracks).makespan;
  if (std::abs(ratio(time, std::max(recording.measured, Duration{1})) - 1) <= kRefused) return recording;
  out.screened.emplace_back("time in calls for messages is taken as it was, whoever is fixed");
  return record(matched, most_cells, MessageTime::Stays);
}

}  // namespace

const char* name_of(Fidelity f) {
  switch (f) {
    case Fidelity::Good:
      return "good";
    case Fidelity::Doubtful:
      return "doubtful";
    case Fidelity::Refused:
      return "refused";
  }
  return "refused";
}

WhatIf what_if(const Matched& matched, const WhatIfOptions& options) {
  WhatIf out;
  const Recording recording = record_messages(matched, options.most_cells, out);
  Search(matched, recording, options, out).all();
  return out;
}

}  // namespace cox::diagnose
