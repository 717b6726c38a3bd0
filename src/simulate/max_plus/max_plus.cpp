// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/max_plus.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/parallel.hpp"

#include "simulate/kernels/seconds_array.hpp"
#include "simulate/max_plus/closure.hpp"
#include "simulate/max_plus/folded_doubling.hpp"
#include "simulate/max_plus/list_rounds.hpp"
#include "simulate/max_plus/loggops_events.hpp"
#include "simulate/max_plus/loggops_rounds.hpp"
#include "simulate/max_plus/message_parts.hpp"
#include "simulate/max_plus/regular_rounds.hpp"
#include "simulate/noise/lane_losses.hpp"

namespace cox::simulate {
namespace {

using model::RegularRound;

constexpr std::size_t kSweptTogether = 1024;  // rounds that are made before they are swept
constexpr std::int64_t kRemembered = 64;      // rounds of a lane that are kept for the next run

/// Costs by place where they are not those by rank: nothing for lanes in rank order, or whose order stays inside
/// nodes.
std::unique_ptr<const LinkCosts> by_place(const model::Schedule& schedule, const LinkCosts& costs, int lane) {
  const model::PlaceOrder order = schedule.order(lane);
  if (!costs.by_lane.empty()) {
    LinkCosts own{.inside = {}, .across = {}, .into = costs.by_lane[static_cast<std::size_t>(lane)]};
    return std::make_unique<const LinkCosts>(std::move(own));
  }
  if (order.is_plain() || (costs.into.empty() && costs.ranks_per_node % order.node == 0)) return nullptr;
  // A lane with an order is a ring: each place hears from the one before it.
  LinkCosts of_places = costs;
  of_places.into.clear();
  const int ranks = schedule.ranks();
  for (int p = 0; p < ranks; ++p)
    of_places.into.push_back(costs.of(order.rank_at(p == 0 ? ranks - 1 : p - 1), order.rank_at(p)));
  return std::make_unique<const LinkCosts>(std::move(of_places));
}

/// One lane, with what it keeps between runs.
class Lane {
 public:
  Lane(const model::Schedule& schedule, const LinkCosts& costs, const CollectiveOptions& options, int lane)
      : schedule_(schedule),
        of_places_(by_place(schedule, costs, lane)),
        costs_(costs),
        options_(options),
        lane_(lane),
        rounds_(options.first_rounds < 0 ? schedule.rounds(lane)
                                         : std::min(options.first_rounds, schedule.rounds(lane))) {
    const bool regular = rounds_ > 0 && schedule.regular(0, lane).has_value();
    if (options.protocol == model::Protocol::LogGops) {
      if (regular) processors_.emplace(this->costs(), schedule.ranks());
    } else if (regular)
      regular_.emplace(this->costs(), options.protocol, schedule.ranks());
    else if (rounds_ == schedule.rounds(lane) && FoldedDoubling::fits(schedule, costs))
      folded_.emplace(schedule, costs, options.protocol);
  }

  CollectiveOutcome run(MessageDraws draws, std::span<double> times) {
    const model::PlaceOrder order = schedule_.order(lane_);
    const bool named = draws.noise != nullptr && draws.noise->names_ranks();
    draws.ranks = named ? std::span<const int>(options_.ranks) : std::span<const int>{};
    if (order.is_plain()) return run_places(draws, times);
    if (named) {
      ranks_.resize(times.size());
      for (std::size_t p = 0; p < times.size(); ++p) {
        const int rank = order.rank_at(static_cast<int>(p));
        ranks_[p] = options_.ranks.empty() ? rank : options_.ranks[static_cast<std::size_t>(rank)];
      }
      draws.ranks = ranks_;
    }
    places_.resize(times.size());
    for (std::size_t p = 0; p < times.size(); ++p)
      places_[p] = times[static_cast<std::size_t>(order.rank_at(static_cast<int>(p)))];
    const CollectiveOutcome outcome = run_places(draws, places_);
    for (std::size_t p = 0; p < times.size(); ++p)
      times[static_cast<std::size_t>(order.rank_at(static_cast<int>(p)))] = places_[p];
    return outcome;
  }

 private:
  [[nodiscard]] const LinkCosts& costs() const { return of_places_ ? *of_places_ : costs_; }

  /// `times` by place.
  CollectiveOutcome run_places(MessageDraws draws, std::span<double> times) {
    CollectiveOutcome outcome;
    draws.lane = lane_;
    if (rounds_ == 0) return outcome;
    std::optional<LaneLosses> losses;
    if (options_.timeouts != nullptr && options_.timeouts->happen())
      losses.emplace(*options_.timeouts,
                     TimeoutDraws::Row{.step = draws.step, .number = draws.number, .lane = lane_},
                     schedule_.rounds(lane_), schedule_.participants());
    find_late(losses ? &*losses : nullptr);
    if (options_.protocol == model::Protocol::LogGops) {
      draws.nodes = options_.nodes;
      run_loggops(draws, losses ? &*losses : nullptr, times, outcome);
      outcome.evaluated = outcome.messages;
      return outcome;
    }
    const bool free = !options_.ports_stay || !regular_ || regular_->ports_are_free();
    if (free && options_.closure && draws.noise == nullptr && !late_.empty() &&
        close_late(schedule_, lane_, rounds_, costs(), options_.protocol, late_, times)) {
      const auto late = static_cast<std::int64_t>(late_.size());
      outcome.closure = true;
      outcome.messages = rounds_ * schedule_.ranks();
      outcome.evaluated = rounds_ + (late + 1) * (late + schedule_.ranks());
      return outcome;
    }
    if (free && options_.closure && draws.noise == nullptr && late_.empty() &&
        close(schedule_, lane_, rounds_, costs(), options_.protocol, times)) {
      outcome.closure = true;
      outcome.messages = rounds_ * schedule_.ranks();
      outcome.evaluated = rounds_ + schedule_.ranks();
      return outcome;
    }
    if (regular_)
      run_regular(draws, times.data(), outcome);
    else if (folded_ && draws.noise == nullptr && !losses)
      outcome.messages = folded_->run(times);
    else {
      draws.losses = losses ? &*losses : nullptr;
      draws.nodes = options_.nodes;
      run_lists(draws, times, outcome);
    }
    outcome.evaluated = outcome.messages;
    return outcome;
  }

  /// Regular rounds: which messages come later.
  void find_late(LaneLosses* losses) {
    late_.clear();
    if (losses == nullptr || !(regular_ || processors_)) return;
    const model::PlaceOrder order = schedule_.order(lane_);
    for (const TimeoutDraws::Lost& lost : losses->all()) {
      const std::int64_t k = lost.message / schedule_.participants();
      const auto to = static_cast<int>(lost.message % schedule_.participants());
      if (k >= rounds_) return;
      const int from = regular_round(k).from(to);
      if (from != to && MessageDraws::crosses(options_.nodes, order.rank_at(from), order.rank_at(to)))
        late_.push_back({.round = k, .receiver = static_cast<std::size_t>(to), .seconds = lost.late.count()});
    }
  }

  /// Those of round `k`, the first of `rest`, which go out of it; and how many rounds there are until the next.
  static std::pair<std::span<const LateMessage>, std::int64_t> take_late(std::span<const LateMessage>& rest,
                                                                         std::int64_t k,
                                                                         std::int64_t rounds) {
    const auto end = std::ranges::find_if(rest, [k](const LateMessage& m) { return m.round != k; });
    const auto now = rest.first(static_cast<std::size_t>(end - rest.begin()));
    rest = rest.subspan(now.size());
    if (!now.empty()) return {now, 1};
    return {now, rest.empty() ? rounds : std::min(rounds, rest.front().round - k)};
  }

  /// Rounds from `k` on that can be swept together.
  std::span<const RegularRound> rounds_from(std::int64_t k) {
    if (rounds_ <= kRemembered && together_.empty())
      for (std::int64_t i = 0; i < rounds_; ++i) together_.push_back(regular_round(i));
    if (rounds_ <= kRemembered) {
      const auto rest = std::span<const RegularRound>(together_).subspan(static_cast<std::size_t>(k));
      std::size_t n = 1;
      while (n < rest.size() && same_sweep(rest[0], rest[n])) ++n;
      return rest.first(n);
    }
    together_.clear();
    if (ahead_) together_.push_back(*ahead_);
    ahead_.reset();
    for (auto i = k + static_cast<std::int64_t>(together_.size());
         i < rounds_ && together_.size() < kSweptTogether; ++i) {
      const RegularRound round = regular_round(i);
      if (!together_.empty() && !same_sweep(together_.front(), round)) {
        ahead_ = round;
        break;
      }
      together_.push_back(round);
    }
    return together_;
  }

  RegularRound regular_round(std::int64_t k) const {
    const auto round = schedule_.regular(k, lane_);
    COX_ASSERT(round.has_value(), "all rounds of a lane are regular, or none is");
    return *round;
  }

  void run_regular(MessageDraws draws, double* times, CollectiveOutcome& outcome) {
    if (!options_.ports_stay) regular_->begin();
    ahead_.reset();
    std::span<const LateMessage> late = late_;
    for (std::int64_t k = 0; k < rounds_;) {
      const auto rounds = rounds_from(k);
      for (auto rest = rounds; !rest.empty();) {
        const auto [now, count] = take_late(late, k, static_cast<std::int64_t>(rest.size()));
        draws.late = now;
        regular_->run(rest.first(static_cast<std::size_t>(count)), k, draws, times);
        rest = rest.subspan(static_cast<std::size_t>(count));
        k += count;
      }
      for (const RegularRound& r : rounds) outcome.messages += r.size > 1 ? schedule_.ranks() : 0;
      if (options_.progress && lane_ == 0)
        options_.progress(static_cast<double>(k) / static_cast<double>(rounds_));
    }
  }

  /// In the order of the rounds where that is the processors', else event by event. Inside, times are picoseconds from
  /// the first arrival on.
  void run_loggops(MessageDraws draws, LaneLosses* losses, std::span<double> times,
                   CollectiveOutcome& outcome) {
    const double first = *std::ranges::min_element(times);
    for (double& t : times) t = in_picoseconds(t - first);
    if (processors_) processors_->begin(times);
    if (processors_ && in_order(draws, outcome)) {
      processors_->end(times);
    } else {
      outcome.by_events = true;
      if (!events_) events_.emplace(schedule_, lane_, rounds_, costs());
      draws.losses = losses;
      const std::span<double> ready = with_servers(times);
      outcome.messages = events_->run(draws, ready);
      without_servers(ready, times, outcome);
    }
    if (schedule_.participants() > schedule_.ranks())
      outcome.behind_ranks = Seconds{first + outcome.behind_ranks.count() * 1e-12};
    for (double& t : times) t = first + t * 1e-12;
  }

  bool in_order(MessageDraws draws, CollectiveOutcome& outcome) {
    std::span<const LateMessage> late = late_;
    std::int64_t messages = 0;
    for (std::int64_t k = 0; k < rounds_; ++k) {
      const RegularRound round = regular_round(k);
      draws.late = take_late(late, k, 1).first;
      if (!processors_->run(round, k, draws)) return false;
      messages += round.size > 1 ? schedule_.ranks() : 0;
      if (options_.progress && lane_ == 0 && k % 64 == 0)
        options_.progress(static_cast<double>(k) / static_cast<double>(rounds_));
    }
    outcome.messages = messages;
    return true;
  }

  void run_lists(const MessageDraws& draws, std::span<double> times, CollectiveOutcome& outcome) {
    if (!lists_) lists_.emplace(schedule_, costs_, options_.protocol, options_.ports_stay);
    const std::span<double> ready = with_servers(times);
    for (std::int64_t k = 0; k < rounds_; ++k) outcome.messages += lists_->run(k, draws, ready);
    without_servers(ready, times, outcome);
  }

  /// One per participant. Servers and switches are ready when the first rank is; where ports stay, servers when they have done the
  /// run before, too.
  std::span<double> with_servers(std::span<double> times) {
    const auto participants = static_cast<std::size_t>(schedule_.participants());
    if (participants <= times.size()) return times;
    const double first = *std::ranges::min_element(times);
    const bool before = options_.ports_stay && !events_ && ready_.size() == participants;
    ready_.resize(participants);
    for (std::size_t p = times.size(); p < participants; ++p) {
      const bool waits = before && !schedule_.is_switch(static_cast<int>(p));
      ready_[p] = waits ? std::max(ready_[p], first) : first;
    }
    std::ranges::copy(times, ready_.begin());
    return ready_;
  }

  static void without_servers(std::span<const double> ready, std::span<double> times,
                              CollectiveOutcome& outcome) {
    if (ready.data() == times.data()) return;
    const auto behind = ready.subspan(times.size());
    outcome.behind_ranks = Seconds{*std::ranges::max_element(behind)};
    std::copy_n(ready.begin(), times.size(), times.begin());
  }

  const model::Schedule& schedule_;
  std::unique_ptr<const LinkCosts> of_places_;
  const LinkCosts& costs_;
  const CollectiveOptions& options_;
  int lane_;
  std::int64_t rounds_;
  std::optional<RegularRounds> regular_;
  std::optional<FoldedDoubling> folded_;
  std::optional<ListRounds> lists_;
  std::optional<LogGopsRounds> processors_;  ///< LogGops
  std::optional<LogGopsEvents> events_;
  std::vector<RegularRound> together_;
  std::optional<RegularRound> ahead_;
  std::vector<double> ready_;
  std::vector<double> places_;
  std::vector<LateMessage> late_;
  std::vector<int> ranks_;  ///< by place of the lane
};

}  // namespace

class MaxPlus::State {
 public:
  State(const model::Schedule& schedule, const LinkCosts& costs, const CollectiveOptions& options)
      : schedule_(schedule), options_(options) {
    lanes_.reserve(static_cast<std::size_t>(schedule.lanes()));
    for (int lane = 0; lane < schedule.lanes(); ++lane) lanes_.emplace_back(schedule, costs, options_, lane);
  }

  CollectiveOutcome run(std::span<double> times, const MessageDraws& draws) {
    COX_ASSERT(times.size() == static_cast<std::size_t>(schedule_.ranks()), "one arrival per rank");
    if (lanes_.size() == 1) return lanes_.front().run(draws, times);
    departures_.resize(lanes_.size());
    std::vector<CollectiveOutcome> outcomes(lanes_.size());
    parallel_for(lanes_.size(), std::max(1, options_.threads), [&](std::size_t i) {
      departures_[i].assign(times.begin(), times.end());
      outcomes[i] = lanes_[i].run(draws, departures_[i]);
    });
    CollectiveOutcome all;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      for (std::size_t r = 0; r < times.size(); ++r) times[r] = std::max(times[r], departures_[i][r]);
      all.closure = all.closure || outcomes[i].closure;
      all.by_events = all.by_events || outcomes[i].by_events;
      all.messages += outcomes[i].messages;
      all.evaluated += outcomes[i].evaluated;
      all.behind_ranks = std::max(all.behind_ranks, outcomes[i].behind_ranks);
    }
    return all;
  }

 private:
  const model::Schedule& schedule_;
  const CollectiveOptions options_;
  std::vector<Lane> lanes_;
  std::vector<std::vector<double>> departures_;
};

MaxPlus::MaxPlus(const model::Schedule& schedule, const LinkCosts& costs, const CollectiveOptions& options)
    : state_(std::make_unique<State>(schedule, costs, options)) {}
MaxPlus::MaxPlus(MaxPlus&& other) noexcept = default;
MaxPlus& MaxPlus::operator=(MaxPlus&& other) noexcept = default;
MaxPlus::~MaxPlus() = default;

CollectiveOutcome MaxPlus::run(std::span<Seconds> times, const Noise* noise, std::int64_t step,
                               std::int64_t number) {
  const bool disturbs = noise != nullptr && (noise->disturbs_messages() || noise->disturbs_bandwidth());
  return state_->run(as_doubles(times), {disturbs ? noise : nullptr, step, number, 0});
}

CollectiveOutcome run_collective(const model::Schedule& schedule, const LinkCosts& costs,
                                 const CollectiveOptions& options, std::span<Seconds> times) {
  return MaxPlus(schedule, costs, options).run(times, options.noise, options.step, options.number);
}

}  // namespace cox::simulate
