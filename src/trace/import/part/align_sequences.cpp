// SPDX-License-Identifier: Apache-2.0
#include "trace/import/part/align_sequences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "cox/base/number_text.hpp"

#include "trace/import/bytes/saturating_time.hpp"

namespace cox::trace {
namespace {

/// Notes stand in JSON documents, with whole per cent.
std::string share(double part) {
  return percent(part, PartDigits::Whole);
}

constexpr int kMostShift = 16;
/// Fewer common calls than this prove nothing.
constexpr std::size_t kFewest = 4;
/// Part of the calls that must agree for a shift, and below which a sequence is another one.
constexpr double kAgrees = 0.8;
constexpr double kRefuted = 0.5;
/// Ends this close count as one moment, and so do ends closer than a quarter of the usual distance of calls.
constexpr Duration kTogether = std::chrono::microseconds{200};
/// Ends further apart are the same to us; sums and differences of such distances fit a Duration.
constexpr Duration kFarthest = std::chrono::hours{25 * 24};
/// Calls of one sequence that are compared; more say nothing new.
constexpr std::size_t kCompared = 4096;

/// The calls of one rank on one communicator, in order.
struct Sequence {
  std::size_t part = 0;
  std::size_t track = 0;
  CommId comm{};
  bool counted = true;  ///< by position only
  bool clocked = false;
  std::vector<std::uint32_t> events;
};

struct Agreement {
  int shift = 0;
  double kinds = 0;
  double ends = 0;
  std::size_t pairs = 0;
  [[nodiscard]] double both(bool clocked) const { return clocked ? std::min(kinds, ends) : kinds; }
};

Duration median_of(std::vector<Duration> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Aligner {
 public:
  explicit Aligner(std::vector<Run>& parts) : parts_(parts) {}

  void run() {
    std::map<std::uint64_t, std::vector<Sequence>> by_identity;
    for (std::size_t p = 0; p < parts_.size(); ++p)
      for (std::size_t t = 0; t < parts_[p].ranks.size(); ++t) collect(p, t, by_identity);
    for (auto& [identity, sequences] : by_identity)
      if (sequences.size() > 1) align(sequences);
  }

 private:
  void collect(std::size_t p, std::size_t t, std::map<std::uint64_t, std::vector<Sequence>>& out) {
    const EventColumns& e = parts_[p].ranks[t].events;
    std::map<CommId, Sequence> own;
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (e.kind[i] != EventKind::Collective || e.comm[i] == kNoComm) continue;
      Sequence& s = own[e.comm[i]];
      s.counted = s.counted && (e.flags[i] & kTagged) == 0;
      s.events.push_back(static_cast<std::uint32_t>(i));
    }
    for (auto& [comm, s] : own) {
      if (!s.counted) continue;
      const Communicator* c = parts_[p].find(comm);
      if (c == nullptr || c->identity == 0) continue;
      std::sort(s.events.begin(), s.events.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair{e.seq[a], a} < std::pair{e.seq[b], b};
      });
      s.part = p;
      s.track = t;
      s.comm = comm;
      s.clocked = parts_[p].origin_realtime_ns > 0 && parts_[p].times == TimesKind::Clocked;
      out[c->identity].push_back(std::move(s));
    }
  }

  [[nodiscard]] const EventColumns& events(const Sequence& s) const {
    return parts_[s.part].ranks[s.track].events;
  }

  /// End of a call on the first part's time of day; days apart is as good as unknown.
  [[nodiscard]] Duration end(const Sequence& s, std::size_t k) const {
    const std::int64_t ns = parts_[s.part].origin_realtime_ns - parts_.front().origin_realtime_ns;
    const Duration of_part = std::chrono::nanoseconds{std::clamp<std::int64_t>(
        ns, -std::int64_t{86400} * 50'000'000'000, std::int64_t{86400} * 50'000'000'000)};
    const EventColumns& e = events(s);
    const Duration t = e.end[s.events[k]] == kStillRunning ? e.begin[s.events[k]] : e.end[s.events[k]];
    return saturating_sum(of_part, t);
  }

  [[nodiscard]] static Duration distance(Duration from, Duration to) {
    return std::clamp(saturating_difference(from, to), -kFarthest, kFarthest);
  }

  [[nodiscard]] Duration tolerance(const Sequence& s) const {
    std::vector<Duration> gaps;
    for (std::size_t k = 1; k < std::min(s.events.size(), kCompared); ++k)
      gaps.push_back(std::max(Duration::zero(), distance(end(s, k), end(s, k - 1))));
    return gaps.empty() ? kTogether : std::max(kTogether, median_of(std::move(gaps)) / 4);
  }

  /// Call k of `own` against call k + shift of `other`.
  [[nodiscard]] Agreement agreement(const Sequence& own, const Sequence& other, int shift,
                                    Duration tolerance) const {
    Agreement a;
    a.shift = shift;
    const EventColumns& x = events(own);
    const EventColumns& y = events(other);
    std::vector<Duration> apart;
    std::size_t same = 0;
    for (std::size_t k = 0; k < std::min(own.events.size(), kCompared); ++k) {
      const std::int64_t at = static_cast<std::int64_t>(k) + shift;
      if (at < 0 || at >= static_cast<std::int64_t>(other.events.size())) continue;
      const std::uint32_t i = own.events[k];
      const std::uint32_t j = other.events[static_cast<std::size_t>(at)];
      const bool variable = ((x.flags[i] | y.flags[j]) & kVariable) != 0;
      same += x.op[i] == y.op[j] && (variable || x.bytes[i] == y.bytes[j]);
      apart.push_back(distance(end(own, k), end(other, static_cast<std::size_t>(at))));
    }
    a.pairs = apart.size();
    if (apart.empty()) return a;
    a.kinds = static_cast<double>(same) / static_cast<double>(apart.size());
    const Duration usual = median_of(apart);
    const auto together = std::count_if(apart.begin(), apart.end(), [&](Duration d) {
      return d - usual <= tolerance && usual - d <= tolerance;
    });
    a.ends = static_cast<double>(together) / static_cast<double>(apart.size());
    return a;
  }

  void align(std::vector<Sequence>& sequences) {
    const Sequence* reference = &sequences.front();
    for (const Sequence& s : sequences)
      if (s.events.size() > reference->events.size()) reference = &s;
    const Duration within = tolerance(*reference);
    std::vector<int> shifts(sequences.size(), 0);
    for (std::size_t i = 0; i < sequences.size(); ++i)
      if (&sequences[i] != reference) shifts[i] = shift_of(sequences[i], *reference, within);
    const int lowest = *std::min_element(shifts.begin(), shifts.end());
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      EventColumns& e = parts_[sequences[i].part].ranks[sequences[i].track].events;
      for (const std::uint32_t k : sequences[i].events)
        if (e.comm[k] != kNoComm) e.seq[k] += static_cast<std::uint32_t>(shifts[i] - lowest);
    }
  }

  /// First call at or after each numbered step's mark: (number, position), by number.
  [[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> first_calls(const Sequence& s) const {
    const EventColumns& e = events(s);
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    std::size_t k = 0;
    for (std::size_t i = 0; i < e.size() && out.size() < kCompared; ++i) {
      if (e.kind[i] != EventKind::Step) continue;
      while (k < s.events.size() && e.begin[s.events[k]] < e.begin[i]) ++k;
      if (k < s.events.size()) out.emplace_back(e.step_number(i), static_cast<std::int64_t>(k));
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  /// The shift that most steps of the same number agree on: the only witness where every step is like the
  /// last and the clocks differ.
  [[nodiscard]] std::optional<int> shift_by_steps(const Sequence& own, const Sequence& reference) const {
    const auto mine = first_calls(own);
    const auto theirs = first_calls(reference);
    std::map<std::int64_t, std::size_t> votes;
    std::size_t common = 0;
    for (auto a = mine.begin(), b = theirs.begin(); a != mine.end() && b != theirs.end();) {
      if (a->first < b->first) {
        ++a;
      } else if (b->first < a->first) {
        ++b;
      } else {
        ++votes[b->second - a->second];
        ++common;
        ++a;
        ++b;
      }
    }
    for (const auto& [shift, count] : votes)
      if (common >= kFewest && 2 * count > common && std::abs(shift) <= kMostShift)
        return static_cast<int>(shift);
    return std::nullopt;
  }

  int shift_of(const Sequence& own, const Sequence& reference, Duration within) {
    const bool clocked = own.clocked && reference.clocked;
    if (const auto by_steps = shift_by_steps(own, reference); by_steps && *by_steps != 0) {
      const Agreement a = agreement(own, reference, *by_steps, within);
      if (a.pairs >= kFewest && a.both(clocked) >= kAgrees) {
        note(own,
             fmt::format("its calls on \"{}\" are counted from the start of the file and lie {} later than "
                         "rank {}'s by the numbers of the steps; moved",
                         name(own), a.shift, rank(reference)));
        return a.shift;
      }
    }
    const Agreement straight = agreement(own, reference, 0, within);
    if (straight.pairs < kFewest || straight.both(clocked) >= kAgrees) return 0;
    Agreement best = straight;
    for (int d = 1; d <= kMostShift; ++d)
      for (const int shift : {d, -d}) {
        const Agreement a = agreement(own, reference, shift, within);
        if (a.pairs >= kFewest && a.both(clocked) > best.both(clocked)) best = a;
      }
    if (best.shift != 0 && best.both(clocked) >= kAgrees) {
      note(own,
           fmt::format("its calls on \"{}\" are counted from the start of the file and lie {} later than "
                       "rank {}'s: {} agree in kind{} when moved, {} as they stand; moved",
                       name(own), best.shift, rank(reference), share(best.both(clocked)),
                       clocked ? " and end" : "", share(straight.both(clocked))));
      return best.shift;
    }
    if (std::max(best.both(clocked), straight.both(clocked)) >= kRefuted) return 0;
    note(own, fmt::format("its calls on \"{}\" fit rank {}'s at no shift of up to {} (best: {} agree in "
                          "kind{}): not matched",
                          name(own), rank(reference), kMostShift, share(best.both(clocked)),
                          clocked ? " and end" : ""));
    EventColumns& e = parts_[own.part].ranks[own.track].events;
    for (const std::uint32_t k : own.events) e.comm.set(k, kNoComm);
    return 0;
  }

  [[nodiscard]] int rank(const Sequence& s) const { return parts_[s.part].ranks[s.track].rank.value(); }
  [[nodiscard]] std::string name(const Sequence& s) const { return parts_[s.part].find(s.comm)->name; }
  void note(const Sequence& s, const std::string& text) {
    Run& part = parts_[s.part];
    part.notes.push_back({.file = part.sources.empty() ? std::string() : part.sources.front().file,
                          .text = fmt::format("rank {}: {}", rank(s), text)});
  }

  std::vector<Run>& parts_;
};

}  // namespace

void align_sequences(std::vector<Run>& parts) {
  Aligner(parts).run();
}

}  // namespace cox::trace
