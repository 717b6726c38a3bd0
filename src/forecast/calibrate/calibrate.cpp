// SPDX-License-Identifier: Apache-2.0
#include "forecast/calibrate/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/release_memory.hpp"
#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"

#include "forecast/calibrate/decompose.hpp"
#include "forecast/calibrate/over_sizes.hpp"
#include "forecast/calibrate/tail.hpp"
#include "forecast/law/special.hpp"

namespace cox::forecast {
namespace {

/// One sample's columns of one role, by node.
struct RoleColumns {
  std::vector<std::size_t> columns;             // in the sample, ascending by node, then rank
  std::vector<std::vector<std::size_t>> nodes;  // places in `columns`
  bool nodes_known = true;
};

/// In an order that does not depend on how the sample lists its ranks.
std::map<std::int32_t, RoleColumns> roles_of(const Sample& sample) {
  std::vector<std::size_t> order(sample.ranks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const SampleRank& x = sample.ranks[a];
    const SampleRank& y = sample.ranks[b];
    return std::tie(x.role, x.node, x.rank, a) < std::tie(y.role, y.node, y.rank, b);
  });
  std::map<std::int32_t, RoleColumns> roles;
  for (const std::size_t i : order) {
    RoleColumns& role = roles[sample.ranks[i].role];
    const std::int32_t node = sample.ranks[i].node;
    if (node < 0) role.nodes_known = false;
    const bool same = !role.columns.empty() && sample.ranks[role.columns.back()].node == node && node >= 0;
    role.columns.push_back(i);
    if (!same) role.nodes.emplace_back();
    role.nodes.back().push_back(role.columns.size() - 1);
  }
  for (auto& [number, role] : roles) {
    if (role.nodes_known) continue;
    role.nodes.clear();
    for (std::size_t c = 0; c < role.columns.size(); ++c) role.nodes.push_back({c});
  }
  return roles;
}

WorkTable table_of(const Sample& sample, const Position& position, const RoleColumns& role) {
  WorkTable table;
  table.steps = sample.steps.size();
  table.nodes = role.nodes;
  table.own.reserve(table.steps * role.columns.size());
  for (std::size_t k = 0; k < table.steps; ++k)
    for (const std::size_t c : role.columns)
      table.own.push_back(position.at(k, c, sample.ranks.size()).count());
  return table;
}

/// The components of several tables as one, each by its degrees of freedom.
Component together(const std::vector<Decomposed>& tables, Component Decomposed::*which, bool fresh) {
  Component sum;
  for (const Decomposed& t : tables) {
    const Component& c = t.*which;
    const double freedom = c.freedom * (fresh ? t.independent : 1);
    if (freedom <= 0) continue;
    sum.variance += freedom * c.variance;
    sum.noise += freedom * c.noise;
    sum.freedom += freedom;
  }
  if (sum.freedom > 0) {
    sum.variance /= sum.freedom;
    sum.noise /= sum.freedom;
  }
  return sum;
}

/// The value is the one that is as likely too low as too high: few units show less than their deviation more often than not.
TimeEstimate deviation_of(const Component& c, std::int64_t units) {
  TimeEstimate e;
  if (c.freedom <= 0) {
    e.origin = Origin::Range;
    return e;
  }
  const double seen = std::max(c.variance + c.noise, 0.0);
  const auto at = [&](double above) {
    return Seconds{
        std::sqrt(std::max(seen * c.freedom / chi_square_upper_quantile(c.freedom, above) - c.noise, 0.0))};
  };
  e.value = at(0.5);
  e.low = at(0.05);
  e.high = at(0.95);
  e.units = units;
  e.freedom = c.freedom;
  e.noise = Seconds{std::sqrt(c.noise)};
  e.spread = Seconds{std::sqrt(seen)};
  return e;
}

/// Up to here, as a part of its work, one rank alone is taken to differ from others for good.
constexpr double kMostAlone = 0.05;
/// Slopes by e-fold of ranks, as a part of the time: own work's as a rule (what one size leaves open) and where all share something,
/// and communication's.
constexpr double kUsualWork = 0.03;
constexpr double kSharedWork = 0.3;
constexpr double kUsualRest = 0.3;
/// Chance that what a step has beside it levels off. Of three sizes bytes that do, beside latency that grows, look like bytes alone.
constexpr double kLevelling = 0.15;
constexpr double kLevellingOfMany = 0.05;
constexpr double kToldBeside =
    0.05;  ///< share from which on a second law of growth is told: it is in a band of 90 %
constexpr double kUndivided = 0.5;  ///< mean part of own work that is not divided, where something is not
/// Part of the level that is rounding, not noise.
constexpr double kDust = 1e-9;

/// Times of two modes. What others' noise added stretches each mode, and not what they are apart by.
void fit_modes(PositionParts& part, std::vector<double> residuals, std::size_t gap, double narrower,
               double independent) {
  const auto first = residuals.begin() + static_cast<std::ptrdiff_t>(gap);
  const double middle = residuals[gap + (residuals.size() - gap) / 2];
  for (auto it = residuals.begin(); it != first; ++it) *it *= narrower;
  for (auto it = first; it != residuals.end(); ++it) *it = middle + (*it - middle) * narrower;
  const std::span<const double> all(residuals);
  part.detours = LongerMode{.usual = tailed_law(all.first(gap), independent),
                            .longer = tailed_law(all.subspan(gap), independent)};
  part.tails = part.detours->longer.tails;
  part.tail_probability = share_of_longer(*part.detours);
  part.tail_shape = part.detours->longer.shape;
  part.residual = law_of(*part.detours, part.tail_probability);
  if (!std::isfinite(part.residual.mean().count())) return;
  const Seconds mean = part.residual.mean();
  part.residual = part.residual.plus(-mean);
  for (TailedLaw* mode : {&part.detours->usual, &part.detours->longer}) mode->law = mode->law.plus(-mean);
}

/// The residuals' law. Their body is as wide as the residual is; a tail lighter than exponential is narrowed with it, a heavier
/// one keeps its scale: added noise moves it, but does not stretch it.
void fit_residual(PositionParts& part, std::vector<double> residuals, double narrower, double independent) {
  std::sort(residuals.begin(), residuals.end());
  if (residuals.back() - residuals.front() <= kDust * part.level.value.count()) {
    std::fill(residuals.begin(), residuals.end(), 0.0);
  }
  if (const std::optional<std::size_t> gap = gap_in(residuals))
    return fit_modes(part, std::move(residuals), *gap, narrower, independent);
  part.tails = fit_tails(residuals, independent);
  for (double& e : residuals) e *= narrower;
  for (TailFit& fit : part.tails) {
    const double kept = std::clamp(1 + 10 * fit.tail.shape, 0.0, 1.0);
    fit.tail.threshold *= narrower;
    fit.tail.scale *= narrower + (1 - narrower) * kept;
  }
  Law law = body_and_tail(residuals, part.tails);
  if (std::isfinite(law.mean().count())) law = law.plus(-law.mean());
  part.residual = law;
  part.tail_probability = residuals.front() == residuals.back() ? 0 : probability_of(part.tails);
  part.tail_shape = shape_of(part.tails);
  if (part.tail_probability == 0) part.tail_shape = {};
}

struct Sized {
  const Sample* sample = nullptr;
  std::map<std::int32_t, RoleColumns> roles;
};

/// What one table's level was drawn from.
struct LevelUnits {
  double ranks = 0;
  double nodes = 0;
  double steps = 0;  ///< independent ones
};

/// One position of one role in all samples: their tables taken apart, with sums over these.
struct Tables {
  std::vector<Decomposed> all{};    ///< without their residuals
  std::vector<SizedTime> levels{};  ///< without errors
  std::vector<LevelUnits> units{};  ///< of each level
  std::vector<double> residuals{};
  std::vector<double> pooled{};
  SlowNodes slow{};
  std::vector<LaterSteps> later{};
  double narrower = 0;  ///< and the two below: by residuals
  double independent = 0;
  double correlation = 0;
  std::int64_t ranks = 0;
  std::int64_t nodes = 0;
  std::int64_t steps = 0;

  void add(Decomposed d, const WorkTable& shape, std::int64_t size);
};

void Tables::add(Decomposed d, const WorkTable& shape, std::int64_t size) {
  const auto weight = static_cast<double>(d.residuals.size());
  levels.push_back({.ranks = size, .value = Seconds{d.level}, .error = {}});
  units.push_back({.ranks = static_cast<double>(shape.ranks()),
                   .nodes = static_cast<double>(shape.nodes.size()),
                   .steps = std::max(static_cast<double>(shape.steps) * d.independent, 1.0)});
  residuals.insert(residuals.end(), d.residuals.begin(), d.residuals.end());
  pooled.insert(pooled.end(), d.pooled.begin(), d.pooled.end());
  narrower += weight * d.narrower;
  independent += weight * d.independent;
  correlation += weight * d.correlation;
  ranks += static_cast<std::int64_t>(shape.ranks());
  nodes += static_cast<std::int64_t>(shape.nodes.size());
  steps += static_cast<std::int64_t>(shape.steps);
  slow.seen += d.slow_nodes;
  slow.of += static_cast<std::int64_t>(shape.nodes.size());
  slow.extra += Seconds{static_cast<double>(d.slow_nodes) * d.slow_extra};
  release_memory(d.residuals);
  release_memory(d.pooled);
  all.push_back(std::move(d));
}

Tables tables_of(const std::vector<Sized>& samples, std::size_t p, std::int32_t role,
                 std::vector<std::string>& notes) {
  Tables out;
  for (const Sized& s : samples) {
    const WorkTable table = table_of(*s.sample, s.sample->positions[p], s.roles.at(role));
    Decomposed d = decompose(table);
    if (d.first_step > 0) {
      notes.push_back(fmt::format("{}: own work changed at step {} from {} to {}: what is after it is taken",
                                  s.sample->name, s.sample->steps[d.first_step].number,
                                  to_string(Seconds{d.earlier_level}), to_string(Seconds{d.level})));
      out.later.push_back({.name = s.sample->name, .ranks = s.sample->size(), .first = d.first_step});
    }
    const RoleColumns& columns = s.roles.at(role);
    for (const std::size_t n : d.slow_places)
      out.slow.nodes.push_back(s.sample->ranks[columns.columns[columns.nodes[n].front()]].node);
    out.add(std::move(d), table, s.sample->size());
  }
  std::sort(out.slow.nodes.begin(), out.slow.nodes.end());
  out.slow.nodes.erase(std::unique(out.slow.nodes.begin(), out.slow.nodes.end()), out.slow.nodes.end());
  if (out.slow.seen > 0) out.slow.extra /= static_cast<double>(out.slow.seen);
  return out;
}

/// Of what nodes share in a step, as far as tables tell it.
double node_step_skewness(const std::vector<Decomposed>& tables, const Component& shared) {
  double third = 0;
  double told = 0;
  for (const Decomposed& t : tables) {
    if (!t.node_step_told) continue;
    third += t.node_step.freedom * t.node_step_third;
    told += t.node_step.freedom;
  }
  if (!(told > 0 && shared.variance > 0.01 * shared.noise)) return 0;
  return std::clamp(third / told / std::pow(shared.variance, 1.5), 0.0, 4.0);
}

/// What each level may be off by: one draw of what lasts, and its steps. By the deviations of all tables, since few ranks show
/// little of what they differ by.
void add_level_errors(Tables& tables, const PositionParts& part) {
  const auto of = [](const TimeEstimate& e, double n) { return e.value.count() * e.value.count() / n; };
  for (std::size_t i = 0; i < tables.levels.size(); ++i) {
    const LevelUnits& u = tables.units[i];
    tables.levels[i].error =
        Seconds{std::sqrt(of(part.node, u.nodes) + of(part.rank, u.ranks) + of(part.step, u.steps) +
                          of(part.residual_sd, u.ranks * u.steps) + of(part.node_step, u.nodes * u.steps))};
  }
}

/// What own work of this level is thought to grow by.
GrowthBelief belief_of(WorkOf work, Seconds level) {
  if (work == WorkOf::Rank) return {.usual = kUsualWork * level, .shared = kSharedWork * level};
  return {
      .usual = kUsualWork * level, .shared = kUndivided * level, .as_rule = 0.05, .tree = 0, .line = 0.45};
}

PositionParts fit_position(const std::vector<Sized>& samples, std::size_t p, std::int32_t role, WorkOf work,
                           std::vector<std::string>& notes) {
  PositionParts part;
  part.role = role;
  part.ranks = static_cast<std::int64_t>(samples.back().roles.at(role).columns.size());
  part.name = samples.back().sample->positions[p].name;
  Tables tables = tables_of(samples, p, role, notes);
  part.slow = tables.slow;
  part.later = std::move(tables.later);
  const auto all = static_cast<double>(tables.residuals.size());
  part.rank = deviation_of(together(tables.all, &Decomposed::rank, false), tables.ranks);
  if (tables.ranks == 1) {
    part.rank.high = kMostAlone * tables.levels.back().value;
    part.rank.units = 1;
  }
  part.node = deviation_of(together(tables.all, &Decomposed::node, false), tables.nodes);
  part.step = deviation_of(together(tables.all, &Decomposed::step, true), tables.steps);
  const Component shared = together(tables.all, &Decomposed::node_step, true);
  part.node_step = deviation_of(shared, tables.nodes);
  part.node_step_skewness = node_step_skewness(tables.all, shared);
  const Component residual = together(tables.all, &Decomposed::residual, true);
  part.residual_sd = deviation_of(residual, static_cast<std::int64_t>(all));
  const Decomposed& last = tables.all.back();
  add_level_errors(tables, part);
  const std::vector<SizedTime> levels = merged_by_size(tables.levels);
  const auto& [size, level, error] = levels.back();
  part.growth = fit_growth(levels, belief_of(work, level));
  part.level = by_best({.value = level,
                        .low = level - 1.645 * error,
                        .high = level + 1.645 * error,
                        .origin = Origin::Measured,
                        .units = samples.back().sample->size()},
                       part.growth);
  fit_residual(part, std::move(tables.residuals), tables.narrower / all, tables.independent / all);
  std::sort(tables.pooled.begin(), tables.pooled.end());
  part.pooled = tailed_law(tables.pooled, tables.independent / all).law;
  const double correlation = tables.correlation / all;
  part.correlation = {.value = correlation,
                      .low = correlation - 1.645 / std::sqrt(all),
                      .high = correlation + 1.645 / std::sqrt(all),
                      .origin = Origin::Measured,
                      .units = tables.ranks};
  part.drift = {.value = Seconds{last.drift},
                .low = Seconds{last.drift},
                .high = Seconds{last.drift},
                .origin = Origin::Measured,
                .units = tables.steps};
  return part;
}

/// What a step has beside the slowest own work at each position.
std::vector<double> rests_of(const Sample& sample) {
  std::vector<double> rests;
  const std::size_t ranks = sample.ranks.size();
  for (std::size_t k = 0; k < sample.steps.size(); ++k) {
    double rest = sample.steps[k].length.count();
    for (const Position& position : sample.positions) {
      const auto row = position.own.begin() + static_cast<std::ptrdiff_t>(k * ranks);
      rest -= std::max_element(row, row + static_cast<std::ptrdiff_t>(ranks))->count();
    }
    rests.push_back(std::max(rest, 0.0));
  }
  return rests;
}

void fit_rest(const std::vector<Sized>& samples, Parts& parts) {
  std::vector<SizedTime> times;
  for (const Sized& s : samples) {
    Welford w;
    for (const double r : rests_of(*s.sample)) w.add(r);
    const Seconds error{w.stddev() / std::sqrt(static_cast<double>(w.count()))};
    times.push_back({.ranks = s.sample->size(), .value = Seconds{w.mean()}, .error = error});
    const Component spread = {
        .variance = w.variance(), .noise = 0, .freedom = static_cast<double>(w.count() - 1)};
    parts.rest_sd = deviation_of(spread, w.count());
  }
  times = merged_by_size(times);
  const SizedTime& last = times.back();
  const double nodes = static_cast<double>(last.ranks) / std::max(parts.ranks_per_node, 1);
  parts.rest_growth = fit_growth(times, {.usual = kUsualRest * last.value,
                                         .shared = last.value,
                                         .never = 0.2,
                                         .as_rule = 0.35,
                                         .tree = 0,
                                         .line = 0.3,
                                         .levelling = times.size() > 2 ? kLevellingOfMany : kLevelling,
                                         .left = last.value / nodes});
  parts.rest = by_best({.value = last.value,
                        .low = last.value - 1.645 * last.error,
                        .high = last.value + 1.645 * last.error,
                        .origin = Origin::Measured,
                        .units = parts.steps},
                       parts.rest_growth);
  for (Seconds* end : {&parts.rest.value, &parts.rest.low}) *end = std::max(*end, Seconds{});
}

/// By how much, and what makes a time grow so.
std::string grows_by(const GrowthFit& fit) {
  const std::string slope = to_string(fit.slope);
  switch (fit.growth) {
    case Growth::None:
      return "nothing";
    case Growth::Logarithm:
      return slope + " for each e-fold of ranks, as a tree or a maximum over ranks does";
    case Growth::Linear:
      return slope + " a rank, as the latency of a ring does, or what all share";
    case Growth::Levelling:
      return slope + " more at most, as bytes do that a rank passes on, all but its own part";
  }
  return {};
}

/// A law that others beside it are as good as is no fact.
void say_growth(const std::vector<GrowthFit>& fits, const std::string& what, Parts& parts) {
  if (fits.empty() || fits.front().growth == Growth::None) return;
  std::string others;
  for (const GrowthFit& fit : fits | std::views::drop(1))
    if (fit.growth != Growth::None && fit.share >= kToldBeside) others += "; or " + grows_by(fit);
  const std::string best = grows_by(fits.front());
  if (others.empty())
    parts.notes.push_back(fmt::format("{} grows by {}", what, best));
  else
    parts.untold.push_back(fmt::format(
        "by which law {} grows: {}{}. These sizes fit each of them: all are in the band, the value "
        "is by the first; a Run of another size tells",
        what, best, others));
}

/// ": node 3", and up to five of them.
std::string names_of(const std::vector<std::int32_t>& nodes) {
  constexpr std::size_t kMost = 5;
  std::string out;
  for (std::size_t i = 0; i < std::min(nodes.size(), kMost); ++i)
    if (nodes[i] >= 0) out += fmt::format("{}{}", out.empty() ? ": node " : ", ", nodes[i]);
  return out + (nodes.size() > kMost && !out.empty() ? " and more" : "");
}

/// Of a whole that is divided, times were taken as each rank's part at the ranks seen: a line over them is what is not divided.
void say_work(const std::vector<GrowthFit>& fits, const std::string& where, WorkOf work, Parts& parts) {
  if (work == WorkOf::Rank || fits.empty() || fits.front().growth != Growth::Linear)
    return say_growth(fits, where, parts);
  parts.notes.push_back(
      fmt::format("{}: {} of it are not divided by the ranks: each has as much to do at any size", where,
                  to_string(static_cast<double>(parts.ranks) * fits.front().slope)));
}

/// What was found beside, and what cannot be.
void say(const std::vector<Sized>& samples, bool nodes_known, WorkOf work, Parts& parts) {
  if (samples.size() == 1 || parts.rest_growth.empty()) {
    parts.untold.push_back(
        "how own work and communication go on with the number of ranks: all samples have one size");
  }
  if (parts.ranks == 1)
    parts.untold.push_back(fmt::format(
        "what ranks differ by for good: there is one; a deviation from nothing to {} of its work is in the band",
        percent(kMostAlone)));
  if (!nodes_known) {
    parts.untold.push_back("which ranks share a node: what a node adds is taken as its ranks' own");
  } else if (parts.nodes > 1 && parts.ranks_per_node == 1) {
    parts.untold.push_back("what a node adds: each holds one rank, whose own it cannot be told from");
  } else if (parts.nodes == 1) {
    parts.untold.push_back("what nodes differ by: there is one");
  } else if (parts.nodes < 4) {
    parts.untold.push_back(
        fmt::format("what nodes differ by: {} nodes say it within a factor of several only", parts.nodes));
  }
  if (parts.nodes_per_group == 0) {
    parts.untold.push_back("what switches add: no two groups of nodes were told apart");
  }
  for (const PositionParts& p : parts.positions) {
    const std::string where = p.name.empty() ? "own work" : "own work before " + p.name;
    if (p.detours) {
      parts.notes.push_back(fmt::format(
          "{}: {} of the times are a mode of their own, longer by {} ({:.0f} independent ones)", where,
          percent(p.tail_probability), to_string(p.detours->longer.law.mean() - p.detours->usual.law.mean()),
          p.detours->longer.seen));
    }
    if (p.tail_probability > 0 && p.tails.empty()) {
      parts.untold.push_back(
          fmt::format("{}: the tail: fewer than 50 independent times are beyond {}; taken as exponential",
                      where, p.detours ? "the gap that parts the longer ones" : "3 %"));
    }
    if (p.slow.seen > 0) {
      parts.notes.push_back(fmt::format("{}: {} of {} nodes {} slow for good, by {}{}", where, p.slow.seen,
                                        p.slow.of, p.slow.seen == 1 ? "is" : "are", to_string(p.slow.extra),
                                        names_of(p.slow.nodes)));
    }
    say_work(p.growth, where, work, parts);
  }
  say_growth(parts.rest_growth, std::string(kBesideOwnWork), parts);
}

Status refuse(const char* id, std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = id,
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = {}});
}

/// Samples of one job have the same positions and roles.
Status check_alike(const std::vector<Sized>& samples) {
  const Sized& last = samples.back();
  for (const Sized& s : samples) {
    if (s.sample->positions.empty()) {
      return refuse("forecast-010",
                    s.sample->name + ": only step times are known, expected own work of ranks",
                    "give step times of several sizes as a table `size,step_s`, or a Run");
    }
    std::set<std::int32_t> a;
    std::set<std::int32_t> b;
    for (const auto& [role, columns] : s.roles) a.insert(role);
    for (const auto& [role, columns] : last.roles) b.insert(role);
    if (s.sample->positions.size() != last.sample->positions.size() || a != b) {
      return refuse(
          "forecast-011",
          fmt::format("{} has {} synchronisations a step and {} roles, {} has {} and {}: not one job",
                      s.sample->name, s.sample->positions.size(), a.size(), last.sample->name,
                      last.sample->positions.size(), b.size()),
          "forecast from each alone, or leave out the one that is another job");
    }
  }
  return {};
}

}  // namespace

Result<Parts> calibrate(std::span<const Sample> samples, WorkOf work) {
  if (samples.empty()) return fail(refuse("forecast-001", "no sample, expected at least one", "").error());
  std::vector<Sized> sized;
  for (const Sample& sample : samples) {
    COX_CHECK(check(sample));
    sized.push_back({.sample = &sample, .roles = roles_of(sample)});
  }
  std::stable_sort(sized.begin(), sized.end(),
                   [](const Sized& a, const Sized& b) { return a.sample->size() < b.sample->size(); });
  COX_CHECK(check_alike(sized));
  const Sample& largest = *sized.back().sample;
  Parts parts;
  parts.ranks = largest.size();
  bool nodes_known = true;
  std::map<std::int32_t, int> in_node;
  std::map<std::int32_t, std::set<std::int32_t>> in_group;
  for (const SampleRank& r : largest.ranks) {
    nodes_known = nodes_known && r.node >= 0;
    ++in_node[r.node];
    if (r.group >= 0) in_group[r.group].insert(r.node);
  }
  parts.nodes = nodes_known ? static_cast<std::int64_t>(in_node.size()) : 0;
  if (nodes_known)
    for (const auto& [node, count] : in_node) parts.ranks_per_node = std::max(parts.ranks_per_node, count);
  if (in_group.size() > 1)
    for (const auto& [group, nodes] : in_group)
      parts.nodes_per_group = std::max(parts.nodes_per_group, static_cast<int>(nodes.size()));
  // One node at every size: it is no unit of which the larger job has more.
  if (parts.nodes == 1 && sized.front().sample->size() < largest.size()) parts.ranks_per_node = 1;
  for (const Sized& s : sized) parts.steps += static_cast<std::int64_t>(s.sample->steps.size());
  for (std::size_t p = 0; p < largest.positions.size(); ++p)
    for (const auto& [role, columns] : sized.back().roles)
      parts.positions.push_back(fit_position(sized, p, role, work, parts.notes));
  fit_rest(sized, parts);
  say(sized, nodes_known, work, parts);
  return parts;
}

Result<Parts> calibrate(const Sample& sample) {
  return calibrate(std::span(&sample, 1));
}

std::optional<Sample> after_change(const Sample& sample, const Parts& parts) {
  std::size_t first = 0;
  for (const PositionParts& p : parts.positions)
    for (const LaterSteps& later : p.later)
      if (later.name == sample.name && later.ranks == sample.size()) first = std::max(first, later.first);
  if (first == 0 || first >= sample.steps.size()) return std::nullopt;
  return cut(sample, first, sample.steps.size() - first);
}

}  // namespace cox::forecast
