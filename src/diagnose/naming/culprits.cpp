// SPDX-License-Identifier: Apache-2.0
// Whole steps and their positions asked for every kind of culprit, and what they say joined.
#include <algorithm>
#include <utility>

#include "diagnose/match/span_math.hpp"
#include "diagnose/naming/naming.hpp"

namespace cox::diagnose {
namespace {

/// A finding of whole steps is one of some positions where these hold this part of its delay, and are at most
/// half of all.
constexpr double kLimited = 0.8;
/// The same of turns: whole steps count those too whose culprit came of other positions by chance.
constexpr double kLimitedTurns = 0.5;
/// Turns are told instead of ranks that are late all along where they save this part of what these save.
constexpr double kTurnsInstead = 0.8;
/// Two sequences of culprits are the same where they agree in this part of the steps that both know.
constexpr double kSameTurns = 0.8;
/// Windows are the same where they share this part of the shorter one.
constexpr double kSameWindow = 0.5;
/// Delays at a position below which nothing can be named there.
constexpr std::int64_t kLeastLate = 4;

class Culprits {
 public:
  Culprits(const Evidenced& x, const Positions& positions, int threads)
      : x_(x), positions_(positions), threads_(threads), known_(x.ranks(), false) {}

  std::vector<Named> find() {
    Place whole{x_, positions_, x_.delays, {}};
    const DelayFigures figures = figures_of(whole, threads_);
    late_ = find_late(whole, figures);
    at_positions([&](const Place& place, const DelayFigures& f) {
      for (LateRank& r : find_late(place, f)) late_at_positions_.push_back(std::move(r));
    });
    // Of stretches, turns and pauses whole steps are one more place; who is late all along in them is asked
    // first, and short Runs have no chance to give away.
    if (positions_.worth_looking()) whole.searched += static_cast<double>(positions_.count());
    join_late();
    std::vector<Named> named = name_late(x_, positions_, late_);
    if (x_.steps().count < x_.rules.least_steps) return named;
    note(named);
    add_rotation(search(whole, figures, find_rotating), named);
    add(search(whole, figures,
               [&](const Place& p, const DelayFigures& f) { return find_pauses(p, f, known_); }),
        named);
    const bool rotates = std::any_of(named.begin(), named.end(),
                                     [](const Named& n) { return n.kind == FindingKind::RotatingStraggler; });
    if (!rotates)
      add(search(whole, figures,
                 [&](const Place& p, const DelayFigures& f) { return find_transient(p, f, known_); }),
          named);
    return named;
  }

 private:
  /// Asks every position that has delays worth a look; one table of delays at a time.
  template <class Ask>
  void at_positions(const Ask& ask) {
    if (!positions_.worth_looking()) return;
    const auto searched = static_cast<double>(positions_.count());
    const Duration least = duration_from_seconds(x_.rules.least_delay * in_seconds(x_.typical_step));
    for (std::int32_t p = 0; p < static_cast<std::int32_t>(positions_.count()); ++p) {
      if (positions_.is_divided(p) || !delays_at(x_.matched, positions_, p, least, kLeastLate, delays_))
        continue;
      const Group& group = x_.matched.operations().groups[static_cast<std::size_t>(positions_.at(p).group)];
      const Place place{x_, positions_, delays_, group.members, p, searched};
      ask(place, figures_of(place, threads_));
    }
  }

  template <class Find>
  std::vector<Named> search(const Place& whole, const DelayFigures& figures, const Find& find) {
    std::vector<Named> all = find(whole, figures);
    std::vector<Named> parts;
    at_positions([&](const Place& place, const DelayFigures& f) {
      for (Named& n : find(place, f)) join(std::move(n), parts);
    });
    for (Named& part : parts) settle(std::move(part), all);
    return all;
  }

  /// Ranks that take turns are late in part of the steps each, which may look like being late all along.
  void add_rotation(std::vector<Named> found, std::vector<Named>& named) {
    for (Named& rotation : found) {
      std::vector<std::int32_t> ranks = rotation.suspect.ranks;
      std::sort(ranks.begin(), ranks.end());
      const bool holds_all = std::all_of(named.begin(), named.end(), [&](const Named& n) {
        return std::all_of(n.suspect.ranks.begin(), n.suspect.ranks.end(),
                           [&](std::int32_t r) { return std::binary_search(ranks.begin(), ranks.end(), r); });
      });
      Duration saved{};
      for (const Named& n : named) saved += n.saving.share;
      if (!holds_all || rotation.saving.share < kTurnsInstead * saved) continue;
      named.clear();
      named.push_back(std::move(rotation));
      note(named);
      return;
    }
  }

  void note(const std::vector<Named>& named) {
    for (const Named& n : named)
      for (const auto r : n.suspect.ranks) known_[static_cast<std::size_t>(r)] = true;
  }

  void add(std::vector<Named> found, std::vector<Named>& named) {
    note(found);
    named.insert(named.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }

  /// Whether positions that are late are all that a rank takes part in.
  [[nodiscard]] bool everywhere(std::int32_t rank, const std::vector<std::int32_t>& at) const {
    return static_cast<std::int64_t>(at.size()) >= positions_.of_rank(static_cast<std::size_t>(rank));
  }
  [[nodiscard]] bool are_few(std::int32_t rank, const std::vector<std::int32_t>& at) const {
    return 2 * static_cast<std::int64_t>(at.size()) <= positions_.of_rank(static_cast<std::size_t>(rank));
  }

  /// A rank that is late all along is one finding, whether whole steps show it, positions, or both.
  void join_late() {
    std::vector<LateRank> parts;
    for (LateRank& late : late_at_positions_) {
      const auto same =
          std::find_if(parts.begin(), parts.end(), [&](const LateRank& p) { return p.rank == late.rank; });
      if (same == parts.end()) {
        parts.push_back(std::move(late));
        continue;
      }
      same->positions.insert(same->positions.end(), late.positions.begin(), late.positions.end());
      same->typical += late.typical;
      same->beyond += late.beyond;
      same->spread = std::max(same->spread, late.spread);
      same->agreement = std::min(same->agreement, late.agreement);
      same->chance = std::max(same->chance, late.chance);
      same->late_steps = std::max(same->late_steps, late.late_steps);
    }
    for (LateRank& part : parts) {
      std::sort(part.positions.begin(), part.positions.end());
      const auto whole =
          std::find_if(late_.begin(), late_.end(), [&](const LateRank& l) { return l.rank == part.rank; });
      if (everywhere(part.rank, part.positions)) part.positions.clear();
      if (whole == late_.end())
        late_.push_back(std::move(part));
      else if (!part.positions.empty() && are_few(part.rank, part.positions) &&
               part.beyond >= kLimited * whole->beyond)
        *whole = std::move(part);
    }
  }

  [[nodiscard]] static bool is_same(const Named& a, const Named& b) {
    if (a.kind != b.kind || a.suspect.ranks != b.suspect.ranks) return false;
    if (a.pauses)
      return a.pauses->regular == b.pauses->regular &&
             (!a.pauses->regular ||
              (a.pauses->period == b.pauses->period && a.pauses->first == b.pauses->first));
    if (!a.suspect.rank_of_step.empty()) {
      std::int64_t both = 0;
      std::int64_t same = 0;
      for (std::size_t s = 0; s < a.suspect.rank_of_step.size(); ++s) {
        const auto p = a.suspect.rank_of_step[s];
        const auto q = b.suspect.rank_of_step[s];
        both += p >= 0 && q >= 0;
        same += p >= 0 && p == q;
      }
      return static_cast<double>(same) >= kSameTurns * static_cast<double>(both);
    }
    const auto shared = std::min(a.suspect.last_step, b.suspect.last_step) -
                        std::max(a.suspect.first_step, b.suspect.first_step) + 1;
    const auto shorter =
        std::min(a.suspect.last_step - a.suspect.first_step, b.suspect.last_step - b.suspect.first_step) + 1;
    return static_cast<double>(shared) >= kSameWindow * static_cast<double>(shorter);
  }

  /// The same at another position: one finding of both.
  void join(Named part, std::vector<Named>& parts) {
    const auto same =
        std::find_if(parts.begin(), parts.end(), [&](const Named& p) { return is_same(p, part); });
    if (same == parts.end()) {
      parts.push_back(std::move(part));
      return;
    }
    const double typical = same->typical_delay + part.typical_delay;
    std::vector<std::int32_t> at = std::move(same->suspect.positions);
    at.insert(at.end(), part.suspect.positions.begin(), part.suspect.positions.end());
    std::sort(at.begin(), at.end());
    if (part.chance < same->chance) *same = std::move(part);
    same->typical_delay = typical;
    same->suspect.positions = std::move(at);
    same->saving = savings_without(x_.matched, {same->suspect}, &positions_).each[0];
  }

  /// Puts what positions say beside what whole steps say.
  void settle(Named part, std::vector<Named>& all) {
    const auto whole = std::find_if(all.begin(), all.end(), [&](const Named& n) { return is_same(n, part); });
    const std::int32_t rank = part.suspect.ranks.front();
    if (whole != all.end() && part.kind != FindingKind::RotatingStraggler) {
      if (are_few(rank, part.suspect.positions) && part.saving.share >= kLimited * whole->saving.share)
        *whole = std::move(part);
      return;
    }
    // Of one rank, or of ranks that take turns, one story is enough: the one that costs most.
    const auto other = std::find_if(all.begin(), all.end(), [&](const Named& n) {
      return n.kind == FindingKind::RotatingStraggler || n.suspect.ranks == part.suspect.ranks;
    });
    if (other != all.end()) {
      const bool turns_of_whole =
          part.kind == FindingKind::RotatingStraggler && other->suspect.positions.empty();
      const double needed = turns_of_whole && are_few(rank, part.suspect.positions) ? kLimitedTurns : 1;
      if (part.saving.share > needed * other->saving.share) *other = std::move(part);
      return;
    }
    if (everywhere(rank, part.suspect.positions)) {
      part.suspect.positions.clear();
      part.saving = savings_without(x_.matched, {part.suspect}, &positions_).each[0];
    }
    all.push_back(std::move(part));
  }

  const Evidenced& x_;
  const Positions& positions_;
  int threads_;
  std::vector<bool> known_;
  std::vector<LateRank> late_;
  std::vector<LateRank> late_at_positions_;
  std::vector<std::vector<Duration>> delays_;
};

}  // namespace

std::vector<Named> name_culprits(const Evidenced& x, const Positions& positions, int threads) {
  if (x.ranks() < 2 || x.steps().count < 1 || x.typical_step <= Duration::zero() || x.skew().ops.empty())
    return {};
  std::vector<Named> named = Culprits(x, positions, threads).find();
  std::stable_sort(named.begin(), named.end(),
                   [](const Named& a, const Named& b) { return a.saving.share > b.saving.share; });
  return named;
}

}  // namespace cox::diagnose
