// SPDX-License-Identifier: Apache-2.0
#include "forecast/simulated/asked_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"

#include "forecast/law/monotone_cubic.hpp"
#include "forecast/scenario/resize.hpp"
#include "forecast/simulated/budget.hpp"

namespace cox::forecast {
namespace {

constexpr double kShorter = 5e-3;
constexpr double kEnd = 0.05;   // beyond each end of a band
constexpr double kNear = 0.33;  // ln of ranks, less than half a doubling: what such sizes differ by is noise
constexpr double kRounding = 5e-3;

struct Knot {
  double x;      // ln ranks
  double y;      // ln of simulated over parts
  double noise;  // variance of y
};

std::vector<Knot> knots_of(std::span<const CheckedSize> sizes) {
  std::vector<Knot> out;
  for (const CheckedSize& s : sizes) {
    const double sd = s.half_width / s.step / 1.96;
    out.push_back({std::log(static_cast<double>(s.ranks)), std::log(s.step / s.beside_others()), sd * sd});
  }
  return out;
}

/// Plays sizes within one budget.
class AskedPlayer {
 public:
  AskedPlayer(const model::Scenario& scenario, Scaling scaling, const CheckedSizes& known, double events,
              int threads)
      : scenario_(scenario),
        scaling_(scaling),
        unit_(unit_of(scenario)),
        left_(events),
        threads_(threads),
        each_(std::min(kEventsOfASize, events / 4)),
        most_(std::min(kMostEventsOfASize, events / 4)),
        budget_(scenario, scaling) {
    for (const CheckedSize& s : known.all()) known_.insert(s.ranks);
  }
  [[nodiscard]] bool has(std::int64_t ranks) const { return known_.contains(ranks); }
  [[nodiscard]] bool is_whole(std::int64_t ranks) const { return ranks >= unit_ && ranks % unit_ == 0; }

  /// The cheapest first; those that were not, and why.
  std::vector<NotSimulated> play(const std::set<std::int64_t>& sizes) {
    std::vector<NotSimulated> out;
    std::vector<std::pair<Plays, std::int64_t>> able;
    for (const std::int64_t ranks : sizes) {
      if (const auto plays = budget_.plays(ranks, each_, most_))
        able.emplace_back(*plays, ranks);
      else
        out.push_back({ranks, "its steps are too dear"});
    }
    std::ranges::stable_sort(able, {}, [](const auto& one) { return one.first.events; });
    for (const auto& [plays, ranks] : able) {
      if (plays.events > left_) {
        out.push_back({ranks, "its steps are too dear beside the others"});
        continue;
      }
      left_ -= plays.events;
      auto one = simulate_size(scenario_, scaling_, ranks, threads_);
      if (!one) one = play_size(scenario_, scaling_, ranks, plays, threads_);
      if (!one) {
        out.push_back({ranks, "`cox simulate` refuses it"});
        continue;
      }
      known_.insert(ranks);
      found_.push_back(*std::move(one));
    }
    return out;
  }

  /// Sizes that tell most of one that is not simulated.
  [[nodiscard]] std::set<std::int64_t> beside(std::int64_t ranks) {
    std::set<std::int64_t> out;
    const auto add = [&](std::int64_t size) {
      if (is_whole(size) && !has(size) && no_such_size(scenario_, size).empty()) out.insert(size);
    };
    if (!is_whole(ranks)) {
      add(ranks / unit_ * unit_);
      add((ranks / unit_ + 1) * unit_);
      return out;
    }
    std::int64_t size = model::ranks_of(scenario_.cluster, scenario_.job.places);
    while (2 * size < ranks && budget_.plays(2 * size, each_, most_)) size *= 2;
    if (size < ranks) add(size);
    if (size % 4 == 0) add(size / 4);
    return out;
  }

  [[nodiscard]] std::vector<CheckedSize> take() {
    std::ranges::sort(found_, {}, &CheckedSize::ranks);
    return std::move(found_);
  }

 private:
  const model::Scenario& scenario_;
  Scaling scaling_;
  std::int64_t unit_;
  double left_;
  int threads_;
  double each_;
  double most_;
  SimulationBudget budget_;
  std::set<std::int64_t> known_;
  std::vector<CheckedSize> found_;
};

/// What is not known of a walk of variance 1 between these two.
double bridge(double a, double x, double b) {
  return (x - a) * (b - x) / (b - a);
}

}  // namespace

SimulatedAsked simulate_asked_sizes(const model::Scenario& scenario, Scaling scaling,
                                    const std::vector<std::int64_t>& asked, const CheckedSizes& known,
                                    double events, int threads) {
  SimulatedAsked out;
  AskedPlayer player(scenario, scaling, known, events, threads);
  std::set<std::int64_t> whole;
  for (const std::int64_t ranks : std::set(asked.begin(), asked.end())) {
    if (player.has(ranks) || !no_such_size(scenario, ranks).empty()) continue;
    if (player.is_whole(ranks))
      whole.insert(ranks);
    else
      out.left.push_back({ranks, "not whole replicas on whole nodes"});
  }
  for (NotSimulated& one : player.play(whole)) out.left.push_back(std::move(one));
  std::set<std::int64_t> beside;
  for (const NotSimulated& one : out.left) beside.merge(player.beside(one.ranks));
  (void)player.play(beside);
  out.sizes = player.take();
  std::ranges::sort(out.left, {}, &NotSimulated::ranks);
  return out;
}

OverPartsAt over_parts_asked(OverPartsAt around, const CheckedSizes& simulated) {
  struct Place {
    double x = 0;
    double y = 0;
    double weight = 0;  // 0 = stays
  };
  std::vector<Place> asked;
  bool any = false;
  for (const CheckedSize& s : simulated.asked) {
    const Seconds others = over_parts_at(around, s.ranks) * s.beside_others();
    const Seconds off = s.half_width + kRounding * s.step;  // beside where runs lie by what lasts
    const bool follows = s.step + off >= others * (s.by_parts.low / s.by_parts.value) &&
                         s.step - off <= others * (s.by_parts.high / s.by_parts.value);
    const double y = follows ? 0 : std::log(s.step / others);
    const double sd = s.half_width / s.step / 1.96;
    any = any || y != 0;
    asked.push_back({std::log(static_cast<double>(s.ranks)), y, 1 / (sd * sd + kRounding * kRounding)});
  }
  if (!any) return around;
  std::vector<Place> places;
  for (const CheckedSize& s : simulated.all())
    places.push_back({std::log(static_cast<double>(s.ranks)), 0, 0});
  const auto is_near_one_that_stays = [&](const Place& p) {
    return std::ranges::any_of(simulated.all(), [&](const CheckedSize& s) {
      return std::abs(std::log(static_cast<double>(s.ranks)) - p.x) < kNear;
    });
  };
  std::erase_if(asked, is_near_one_that_stays);
  std::ranges::sort(asked, {}, &Place::x);
  double from = 0;
  for (const Place& p : asked) {
    const bool joins = from > 0 && p.x - from < kNear;
    if (!joins) {
      from = p.x;
      places.push_back(p);
      continue;
    }
    Place& one = places.back();
    const double all = one.weight + p.weight;
    one = {(one.weight * one.x + p.weight * p.x) / all, (one.weight * one.y + p.weight * p.y) / all, all};
  }
  std::ranges::sort(places, {}, &Place::x);
  if (places.empty()) return around;
  std::vector<double> x, y;
  for (const Place& p : places) {
    x.push_back(p.x);
    y.push_back(p.y);
  }
  return [around = std::move(around),
          curve = MonotoneCubic(std::move(x), std::move(y), MonotoneCubic::Ends::Level)](std::int64_t ranks) {
    return over_parts_at(around, ranks) * std::exp(curve.at(std::log(static_cast<double>(ranks))).y);
  };
}

SizePoint point_of_asked(CheckedSize& size, const Parts& parts, const RestOfScenario& rest,
                         ProjectOptions options, bool steps_are_fresh) {
  const RestAt around_rest = options.rest;
  // How much of it surfaces is in the steps that were simulated, so its range is not in their band.
  const auto alone = [&](TimeEstimate here) {
    here.low = here.high = here.value;
    options.rest = [here, ranks = size.ranks, around_rest](std::int64_t other) {
      return other == ranks ? here : around_rest(other);
    };
  };
  if (const std::optional<TimeEstimate> here = rest.simulated_at(size.ranks))
    alone(*here);
  else if (around_rest)
    alone(around_rest(size.ranks));
  ProjectOptions plain = options;
  plain.over_parts = {};
  size.by_parts = mean_of_one_run(parts, size.ranks, plain);
  ProjectOptions beside = plain;
  beside.rest = around_rest;
  size.as_others = project_one(parts, size.ranks, beside).mean.value;
  size.forecast = mean_of_one_run(parts, size.ranks, options);
  if (!size.follows())
    options.over_parts = [by = size.step / size.forecast.value, around = options.over_parts](
                             std::int64_t ranks) { return by * over_parts_at(around, ranks); };
  SizePoint point = project(parts, {size.ranks}, options).points.front();
  size.forecast = point.mean;
  if (steps_are_fresh) size.spread = spread_of(size.lengths, point, size.whole, size.half_width == Seconds{});
  hold(point, size);
  return point;
}

double between_sizes(std::span<const CheckedSize> sizes, std::int64_t ranks) {
  const std::vector<Knot> knots = knots_of(sizes);
  if (knots.size() < 2) return 0;
  double sum = 0;
  std::size_t freedom = 0;
  for (std::size_t i = 1; i + 1 < knots.size(); ++i) {
    const Knot& a = knots[i - 1];
    const Knot& k = knots[i];
    const Knot& b = knots[i + 1];
    if (k.x - a.x < kNear || b.x - k.x < kNear) continue;
    const double t = (k.x - a.x) / (b.x - a.x);
    const double miss = k.y - (1 - t) * a.y - t * b.y;
    const double noise = k.noise + (1 - t) * (1 - t) * a.noise + t * t * b.noise;
    sum += std::max(miss * miss - noise, 0.0) / bridge(a.x, k.x, b.x);
    ++freedom;
  }
  if (freedom == 0) {
    if (knots.back().x - knots.front().x < kNear) return 0;
    const double miss = knots.back().y - knots[0].y;
    sum = std::max(miss * miss - knots[0].noise - knots.back().noise, 0.0) / (knots.back().x - knots[0].x);
    freedom = 1;
  }
  const double variance = sum / static_cast<double>(freedom);
  const double x = std::log(static_cast<double>(ranks));
  double open = std::max(knots.front().x - x, 0.0);
  if (x > knots.front().x && x < knots.back().x) {
    const auto above = std::ranges::lower_bound(knots, x, {}, &Knot::x);
    open = std::max(bridge(std::prev(above)->x, x, above->x), 0.0);
  }
  return std::expm1(student_quantile(kEnd, static_cast<std::int64_t>(freedom)) * std::sqrt(variance * open));
}

std::vector<std::string> shorter_steps(const Projection& projection, const CheckedSizes& simulated) {
  std::vector<std::string> out;
  if (projection.scaling == Scaling::Strong) return out;
  std::vector<const SizePoint*> points;
  for (const SizePoint& p : projection.points)
    if (p.refused.empty()) points.push_back(&p);
  std::ranges::sort(points, {}, &SizePoint::ranks);
  const std::vector<CheckedSize> all = simulated.told();
  const auto is_simulated = [&](const SizePoint& p) {
    return std::ranges::find(all, p.ranks, &CheckedSize::ranks) != all.end();
  };
  for (std::size_t i = 1; i < points.size(); ++i) {
    const SizePoint& few = *points[i - 1];
    const SizePoint& many = *points[i];
    const Seconds shorter = few.mean.value - many.mean.value;
    if (shorter <= kShorter * few.mean.value) continue;
    const Seconds sent = few.rest - many.rest;
    out.push_back(fmt::format(
        "{} ranks take less than {} ({} for {}): {}; {}", grouped(many.ranks), grouped(few.ranks),
        to_string(many.mean.value), to_string(few.mean.value),
        2 * sent > shorter
            ? "communication that nothing hides is shorter there by " + to_string(sent)
            : "ranks wait less for each other and for what is sent, or share work that each did",
        is_simulated(few) && is_simulated(many) ? "both are simulated" : "not both are simulated"));
  }
  return out;
}

}  // namespace cox::forecast
