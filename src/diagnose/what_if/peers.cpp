// SPDX-License-Identifier: Apache-2.0
#include "diagnose/what_if/peers.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/hash.hpp"

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

/// A rank's cells of one step.
struct Stretch {
  std::uint64_t doing = 0;  ///< what they are: ranks with the same number do the same
  std::size_t rank = 0;
  std::size_t first = 0;  ///< into the rank's cells
  std::size_t count = 0;
};

}  // namespace

/// Goes through the steps; in each, ranks that make the same calls are compared call by call.
class Peers::Builder {
 public:
  Builder(const Matched& matched, Peers& peers)
      : matched_(matched), peers_(peers), recording_(*peers.recording_) {}

  void build() {
    const std::size_t ranks = recording_.attended.size();
    for (std::size_t r = 0; r < ranks; ++r)
      peers_.class_of_[r].assign(recording_.attended[r].size(), kNoClass);
    at_.assign(ranks, 0);
    if (recording_.has_steps) {
      std::int32_t last = -1;
      for (const std::int32_t step : recording_.step) last = std::max(last, step);
      for (std::int32_t step = 0; step <= last; ++step) by_step(step);
    } else {
      for (std::uint32_t meeting = 0; meeting < recording_.step.size(); ++meeting) by_meeting(meeting);
    }
  }

 private:
  [[nodiscard]] std::int32_t step_of(std::size_t rank, std::size_t k) const {
    return recording_.step[recording_.attended[rank][k]];
  }

  void by_step(std::int32_t step) {
    stretches_.clear();
    for (std::size_t r = 0; r < at_.size(); ++r) {
      const std::size_t end = recording_.attended[r].size();
      // What lies outside of steps, or goes back to an earlier one, is compared with nobody.
      while (at_[r] < end && step_of(r, at_[r]) < step) ++at_[r];
      const std::size_t first = at_[r];
      while (at_[r] < end && step_of(r, at_[r]) == step) ++at_[r];
      if (at_[r] > first) stretches_.push_back({doing(r, first, at_[r]), r, first, at_[r] - first});
    }
    compare_stretches();
  }

  void by_meeting(std::uint32_t meeting) {
    stretches_.clear();
    for (const replay::Track t : recording_.tracks.members(recording_.tracks.meetings()[meeting].group)) {
      const std::size_t first = at_[t]++;
      stretches_.push_back({doing(t, first, first + 1), t, first, 1});
    }
    compare_stretches();
  }

  /// Kind of rank and of all it does in a stretch: stage and expert where known, and with how many it meets.
  [[nodiscard]] std::uint64_t doing(std::size_t rank, std::size_t from, std::size_t to) const {
    const model::Role& role = matched_.track(rank).role;
    std::uint64_t number = mix_bits(static_cast<std::uint64_t>(role.pipeline + 1) << 32 |
                                    static_cast<std::uint32_t>(role.expert + 1));
    for (std::size_t k = from; k < to; ++k) {
      const replay::Tracks::Meeting& m = recording_.tracks.meetings()[recording_.attended[rank][k]];
      number = mix_bits(number + recording_.tracks.members(m.group).size() + kGoldenStep);
    }
    return number;
  }

  void compare_stretches() {
    const auto before = [](const Stretch& a, const Stretch& b) {
      return std::tie(a.doing, a.count, a.rank) < std::tie(b.doing, b.count, b.rank);
    };
    if (!std::is_sorted(stretches_.begin(), stretches_.end(), before))
      std::sort(stretches_.begin(), stretches_.end(), before);
    for (auto from = stretches_.begin(); from != stretches_.end();) {
      const auto to = std::find_if(from, stretches_.end(), [&](const Stretch& s) {
        return s.doing != from->doing || s.count != from->count;
      });
      for (std::size_t k = 0; k < from->count; ++k) compare(std::span(from, to), k);
      from = to;
    }
  }

  /// The k-th cells of some stretches: one class.
  void compare(std::span<const Stretch> stretches, std::size_t k) {
    members_.clear();
    sample_.clear();
    for (const Stretch& s : stretches) {
      const std::size_t at = s.first + k;
      if (at == 0 && recording_.carried_in[s.rank]) continue;
      const std::size_t cell = recording_.cell(s.rank, at);
      const Duration held = recording_.held(s.rank, at);
      const Duration own = minus_clamped(recording_.tracks.work()[cell], held);
      members_.push_back({s.rank, at, cell, held, own});
      sample_.push_back(own);
    }
    if (sample_.size() < 2) return;
    const std::size_t n = sample_.size();
    const auto number = static_cast<std::uint32_t>(peers_.classes_.size());
    Class c;
    c.members = static_cast<std::uint32_t>(n);
    c.lowest = static_cast<std::uint32_t>(n > kMostFixed ? (n - kMostFixed - 1) / 2 : 0);
    c.first = peers_.values_.size();
    const auto low = sample_.begin() + c.lowest;
    const auto high = sample_.begin() + static_cast<std::ptrdiff_t>(std::min(n, c.lowest + kMostFixed + 1));
    select_in_place(sample_, c.lowest);
    std::partial_sort(low, high, sample_.end());
    peers_.values_.insert(peers_.values_.end(), low, high);
    peers_.classes_.push_back(c);
    const Duration median = sample_[(n - 1) / 2];
    for (const Member& m : members_) {
      peers_.class_of_[m.rank][m.at] = number;
      peers_.ideal_[m.cell] = plus_clamped(m.held, median);
      add_to(peers_.self_delay_[m.rank], positive_part(minus_clamped(m.own, median)));
    }
    peers_.compared_ += static_cast<std::int64_t>(n);
  }

  /// One cell of a class.
  struct Member {
    std::size_t rank = 0;
    std::size_t at = 0;  ///< the rank's so-many-th cell
    std::size_t cell = 0;
    Duration held{};
    Duration own{};
  };

  const Matched& matched_;
  Peers& peers_;
  const Recording& recording_;
  std::vector<std::size_t> at_;
  std::vector<Stretch> stretches_;
  std::vector<Member> members_;
  std::vector<Duration> sample_;
};

Peers::Peers(const Matched& matched, const Recording& recording)
    : recording_(&recording),
      class_of_(recording.attended.size()),
      ideal_(recording.tracks.work().begin(), recording.tracks.work().end()),
      self_delay_(recording.attended.size(), Duration::zero()) {
  Builder(matched, *this).build();
}

Duration Peers::delay(std::size_t cell) const {
  return minus_clamped(recording_->tracks.work()[cell], ideal_[cell]);
}

std::vector<Duration> Peers::recorded(std::size_t rank) const {
  std::vector<Duration> work(recording_->attended[rank].size());
  for (std::size_t k = 0; k < work.size(); ++k)
    work[k] = recording_->tracks.work()[recording_->cell(rank, k)];
  return work;
}

/// Which order statistic of a whole class is the lower median of the rest: each one left out that is not
/// above it moves it up by one.
Duration Peers::median_without(const Class& c, std::span<const Duration> sorted_out) const {
  std::size_t at = (c.members - sorted_out.size() - 1) / 2;
  for (const Duration out : sorted_out) {
    if (out > values_[c.first + at - c.lowest]) break;
    ++at;
  }
  return values_[c.first + at - c.lowest];
}

std::vector<std::vector<Duration>> Peers::fixed(std::span<const std::size_t> ranks) const {
  COX_ASSERT(ranks.size() <= kMostFixed, "at most kMostFixed ranks are fixed at once");
  std::vector<std::vector<Duration>> out;
  for (const std::size_t r : ranks) out.push_back(recorded(r));
  std::vector<std::size_t> at(ranks.size(), 0);
  std::vector<std::size_t> in_class;
  std::vector<Duration> sorted;
  for (;;) {
    // The next class that any of them is in; classes ascend along each rank.
    std::uint32_t next = kNoClass;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto& classes = class_of_[ranks[i]];
      while (at[i] < classes.size() && classes[at[i]] == kNoClass) ++at[i];
      if (at[i] < classes.size()) next = std::min(next, classes[at[i]]);
    }
    if (next == kNoClass) return out;
    in_class.clear();
    sorted.clear();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (at[i] >= class_of_[ranks[i]].size() || class_of_[ranks[i]][at[i]] != next) continue;
      in_class.push_back(i);
      sorted.push_back(recording_->own(ranks[i], at[i]));
    }
    const bool has_peer = in_class.size() < classes_[next].members;
    std::sort(sorted.begin(), sorted.end());
    const Duration median = has_peer ? median_without(classes_[next], sorted) : Duration::zero();
    for (const std::size_t i : in_class) {
      const std::size_t k = at[i]++;
      if (has_peer) out[i][k] = plus_clamped(recording_->held(ranks[i], k), median);
    }
  }
}

}  // namespace cox::diagnose
