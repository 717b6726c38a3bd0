// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"
#include "cox/learn/price.hpp"

#include "learn/answer/ages.hpp"
#include "learn/answer/comparison.hpp"
#include "learn/answer/scaled.hpp"
#include "learn/answer/servers.hpp"
#include "learn/answer/text_table.hpp"

namespace cox::learn {
namespace {

constexpr double kNothing = 1e-9;  ///< rounding

std::string factor_text(double x) {
  return fmt::format("x {:.3g}", x);
}

std::vector<std::string> row_of(const WayResult& w, const WayResult& first) {
  const std::string& name = w.way.name;
  if (!w.refused.empty()) return {name, "not possible"};
  const auto lost = std::ranges::count_if(w.attempts, &Attempt::lost);
  if (!w.all_reached())
    return {name, lost > 0      ? fmt::format("{} diverged", lost)
                  : unserved(w) ? std::string("a server died")
                                : fmt::format("{} of {}", w.reached(), w.attempts.size())};
  if (w.time_ratio == 0)  // the first policy did not reach the target
    return {name,
            to_string(w.time),
            "",
            "",
            "",
            "",
            "",
            fmt::format("{:.1f}", w.mean_age),
            factor_text(w.rate_factor)};
  if (&w == &first)
    return {name,
            to_string(w.time),
            "1",
            "",
            "1",
            "1",
            "1",
            fmt::format("{:.1f}", w.mean_age),
            factor_text(w.rate_factor)};
  return {
      name,
      to_string(w.time),
      fmt::format("{:.3g}", w.time_ratio),
      fmt::format("{:.3g} .. {:.3g}", w.time_ratio_95.low, w.time_ratio_95.high),
      fmt::format("{:.3g}", w.samples_ratio),
      fmt::format("{:.3g}", w.sample_time_ratio),
      w.sent_bytes > 0 && first.sent_bytes > 0 ? fmt::format("{:.2g}", w.sent_bytes / first.sent_bytes) : "",
      fmt::format("{:.1f}", w.mean_age),
      factor_text(w.rate_factor)};
}

/// What the time to the target takes, where the scenario tells more of it than hours.
void add_expenses(const Comparison& c, const model::Scenario& scenario, std::vector<TextLine>& lines) {
  const auto known = [&](const auto& of) {
    return std::ranges::any_of(c.ways,
                               [&](const WayResult& w) { return w.expense && of(*w.expense).has_value(); });
  };
  const bool energy = known([](const Expense& e) { return e.energy; });
  const bool cost = known([](const Expense& e) { return e.cost; });
  const bool flops = known([](const Expense& e) { return e.flops; });
  if (!energy && !cost && !flops) return;
  std::vector<std::string> head{"to the target", "node-hours"};
  if (energy) head.emplace_back("energy");
  if (cost) head.push_back(scenario.node_price.currency.empty() ? "cost" : scenario.node_price.currency);
  if (flops) head.emplace_back("operations");
  std::vector<std::vector<std::string>> rows{head};
  for (const WayResult& w : c.ways) {
    if (!w.expense) continue;
    const Expense& e = *w.expense;
    std::vector<std::string> row{w.way.name, e.node_hours ? fmt::format("{:.4g}", *e.node_hours) : ""};
    if (energy) row.push_back(e.energy ? to_string(*e.energy) : "");
    if (cost) row.push_back(e.cost ? fmt::format("{:.4g}", *e.cost) : "");
    if (flops) row.push_back(e.flops ? to_string(*e.flops) : "");
    rows.push_back(std::move(row));
  }
  for (TextLine& line : text_table(rows)) lines.push_back(std::move(line));
  lines.emplace_back();
}

/// Ages of those whose updates have any: of all seeds together, and of the workers whose own median is least and largest in one
/// of them.
void add_ages(const Comparison& c, std::vector<TextLine>& lines) {
  std::vector<std::vector<std::string>> rows{
      {"age, versions", "p50", "p99", "largest", "p50 of the freshest worker", "of the stalest"}};
  for (const WayResult& w : c.ways) {
    if (!w.all_reached() || w.ages.largest() == 0) continue;
    std::int64_t least = w.ages.largest();
    std::int64_t most = 0;
    for (const Attempt& a : w.attempts) {
      const MedianAges of = median_ages(a.ages);
      least = std::min(least, of.least);
      most = std::max(most, of.most);
    }
    rows.push_back({w.way.name, grouped(w.ages.quantile(0.5)), grouped(w.ages.quantile(0.99)),
                    grouped(w.ages.largest()), grouped(least), grouped(most)});
  }
  if (rows.size() == 1) return;
  for (TextLine& line : text_table(rows)) lines.push_back(std::move(line));
  lines.emplace_back();
}

/// Why the first of the table is there.
std::string reason_of(const Comparison& c) {
  const WayResult& best = c.ways.front();
  if (c.second_over_first.high > 0 && c.second_over_first.low <= 1)
    return fmt::format("{} and {} are not told apart ({:.3g} .. {:.3g}); more --seeds may", best.way.name,
                       c.ways[1].way.name, c.second_over_first.low, c.second_over_first.high);
  const WayResult& first = c.ways[c.baseline];
  constexpr double kSaves = 0.99;
  const bool saved = std::ranges::any_of(c.ways, [](const WayResult& w) {
    return w.time_ratio > 0 && w.sample_time_ratio < kSaves && w.samples_ratio > 1;
  });
  if (&best == &first)
    return fmt::format("{} is first: {}", best.way.name,
                       saved ? "what others save in time, they lose in samples" : "no other saves time");
  const bool both = best.sample_time_ratio < 1 && best.samples_ratio < 1;
  return fmt::format(
      "{} is first: it needs {:.3g} x the samples of {}, {} {:.3g} x the time{}", best.way.name,
      best.samples_ratio, first.way.name, both ? "and each takes" : "but each takes", best.sample_time_ratio,
      best.sent_bytes > 0 && best.sent_bytes < first.sent_bytes / 2
          ? fmt::format(", for {:.2g} x the bytes", best.sent_bytes / first.sent_bytes)
      : (best.way.policy.kind == model::PolicyKind::Asynchronous || best.way.rule == Rule::Pairs) &&
              first.way.policy.kind != model::PolicyKind::Asynchronous
          ? std::string(", for nobody waits for the slowest")
          : std::string());
}

/// A share of one worker's updates that should be told: twice the fair one, or halfway from it to all.
double suspicious(int workers) {
  const double fair = 1.0 / workers;
  return std::min(2 * fair, (1 + fair) / 2);
}

/// What a loss scale did, over all seeds.
void add_scaled(const WayResult& w, std::vector<TextLine>& lines) {
  std::vector<ScaledSteps> runs;
  std::string last;
  for (const Attempt& a : w.attempts) {
    if (!a.scaled) return;
    runs.push_back(*a.scaled);
    if (a.scaled->last_overflow) last = fmt::format("{} (seed {})", a.scaled->last_overflow->place(), a.seed);
  }
  if (!runs.empty()) lines.push_back(fmt::format("{}: {}", w.way.name, scaled_text(runs, last)));
}

/// What a router did with held-out tokens at the end, mean over seeds.
void add_experts(const WayResult& w, std::vector<TextLine>& lines) {
  Welford busiest, dropped, idle;
  for (const Attempt& a : w.attempts) {
    if (!a.experts) return;
    busiest.add(a.experts->busiest);
    dropped.add(a.experts->dropped);
    idle.add(static_cast<double>(a.experts->idle));
  }
  if (busiest.count() > 0)
    lines.push_back(fmt::format(
        "{}: the busiest expert is chosen {:.2g} x as often as the mean, {} of the choices find no room, {:.2g} experts "
        "are idle",
        w.way.name, busiest.mean(), percent(dropped.mean()), idle.mean()));
}

/// What a bound that follows the curvature did, over all seeds.
void add_bound(const WayResult& w, std::vector<TextLine>& lines) {
  std::int64_t probes = 0, raised = 0;
  int least = 0, most = 0;
  for (const Attempt& a : w.attempts) {
    if (!a.bound) return;
    const bool first = &a == &w.attempts.front();
    least = first ? a.bound->bound() : std::min(least, a.bound->bound());
    most = std::max(most, a.bound->bound());
    probes += a.bound->probes();
    raised += a.bound->raised();
  }
  if (probes > 0)
    lines.push_back(fmt::format("{}: {} of {} raised the alarm; the bound ended at {}{}", w.way.name, raised,
                                counted(probes, "probe", "probes"), least,
                                least < most ? fmt::format(" to {}", most) : ""));
}

/// How fast workers on a graph agree, and whether their mean stays.
void add_mixing(const WayResult& w, std::vector<TextLine>& lines) {
  if (!w.mixing) return;
  const GraphMixing& m = *w.mixing;
  const bool none = m.factor < kNothing;
  const std::string after = w.way.rule == Rule::Pairs
                                ? fmt::format("{} exchanges, in the root mean square", m.period)
                            : m.period == 1 ? "a round"
                            : none          ? fmt::format("{} rounds", m.period)
                                            : fmt::format("a round, in the mean of {}", m.period);
  lines.push_back(fmt::format("{}: {} of what copies are apart remains after {} (spectral gap {:.3g}); {}",
                              w.way.name, none ? std::string("nothing") : percent(m.factor), after, m.gap(),
                              m.sums.columns < kNothing
                                  ? std::string("columns of the weights sum to 1, so the mean stays")
                                  : fmt::format("columns of the weights miss 1 by {:.1g}", m.sums.columns)));
}

/// Of counts: one digit behind the point where it is no whole number.
std::string mean_text(double mean) {
  const double tenths = std::round(mean * 10);
  return fmt::format("{:.{}f}", tenths / 10, std::fmod(tenths, 10) == 0 ? 0 : 1);
}

/// How often two workers met, over all seeds.
void add_exchanges(const WayResult& w, std::vector<TextLine>& lines) {
  if (w.way.rule != Rule::Pairs) return;
  Welford each;
  for (const Attempt& a : w.attempts)
    each.add(static_cast<double>(a.exchanges) / static_cast<double>(std::max<std::int64_t>(a.versions, 1)));
  lines.push_back(fmt::format("{}: {:.2g} exchanges for each gradient", w.way.name, each.mean()));
}

/// Workers that came and went, and work that was begun again, over all seeds.
void add_workers(const WayResult& w, std::vector<TextLine>& lines) {
  Welford copies, left, joined;
  for (const Attempt& a : w.attempts) {
    copies.add(static_cast<double>(a.copies) / static_cast<double>(std::max<std::int64_t>(a.versions, 1)));
    left.add(a.left);
    joined.add(a.joined);
  }
  if (w.way.rounds.copies > 0)
    lines.push_back(fmt::format("{}: begun again by another: {} of the steps of a version", w.way.name,
                                mean_text(copies.mean())));
  if (w.way.elastic.count > 0)
    lines.push_back(fmt::format("{}: {} workers left and {} joined on the way to the target", w.way.name,
                                mean_text(left.mean()), mean_text(joined.mean())));
}

/// What a row says that is not in its figures.
void add_notes(const Comparison& c, std::vector<TextLine>& lines) {
  for (const WayResult& w : c.ways) {
    if (!w.refused.empty()) {
      lines.push_back(fmt::format("{}: {}", w.way.name, w.refused));
      continue;
    }
    for (const Attempt& a : w.attempts)
      if (a.diverged) {
        lines.push_back(fmt::format("{}, seed {}: {}", w.way.name, a.seed, a.diverged->text()));
        break;
      }
    const bool came_and_went =
        std::ranges::any_of(w.attempts, [](const Attempt& a) { return a.left + a.joined > 0; });
    if (w.all_reached() && !came_and_went && w.busiest_share > suspicious(w.attempts.front().workers))
      lines.push_back(fmt::format("{}: worker {} delivered {} of what was applied, its fair share is {}",
                                  w.way.name, w.busiest, percent(w.busiest_share),
                                  percent(1.0 / w.attempts.front().workers)));
    add_scaled(w, lines);
    add_experts(w, lines);
    add_bound(w, lines);
    add_mixing(w, lines);
    if (w.elastic_edge)
      lines.push_back(fmt::format("{}: stable up to rate x curvature {:.3g}", w.way.name, *w.elastic_edge));
    add_exchanges(w, lines);
    add_pace_of_servers(w, lines);
    add_death(w, lines);
    add_workers(w, lines);
    if (w.at_edge)
      lines.push_back(fmt::format("{}: its best rate is at the end of those that were tried", w.way.name));
  }
}

/// What makes the problem hard.
std::string shape_of(const ProblemSpec& p) {
  switch (p.kind) {
    case ProblemKind::Quadratic:
      return fmt::format("condition {:g}, noise {:g}, spread {:g}", p.condition, p.noise, p.spread);
    case ProblemKind::Embedding:
      return fmt::format("{} of {} keys a sample, Zipf {:g}, noise {:g}", grouped(p.bag), grouped(p.keys),
                         p.zipf, p.noise);
    case ProblemKind::Convolution:
      return fmt::format("normalised over {}, noise {:g}",
                         p.norm == 0   ? "nothing"
                         : p.group > 0 ? counted(p.group, "sample", "samples")
                                       : "each shard",
                         p.noise);
    case ProblemKind::Experts:
      return fmt::format("top {} of {}, room {}, balance {:g}, noise {:g}", p.top, grouped(p.experts),
                         p.capacity > 0 ? fmt::format("for {:g} x the mean", p.capacity) : "for all",
                         p.balance, p.noise);
    case ProblemKind::Text:
      return fmt::format("{} of attention with {}, {} symbols a sample", counted(p.layers, "layer", "layers"),
                         counted(p.heads, "head", "heads"), p.context);
    case ProblemKind::LeastSquares:
    case ProblemKind::Logistic:
    case ProblemKind::Mlp:
      break;
  }
  return fmt::format("noise {:g}", p.noise);
}

std::string how_learned(const WaysQuestion& q) {
  return fmt::format("({}), {}{}, {} {} a worker and step", shape_of(q.problem), name_of(q.optimizer.kind),
                     schedule_text(q.optimizer), grouped(q.share.batch()),
                     q.share.batch() == 1 ? "sample" : "samples");
}

}  // namespace

std::string learned_text(const WaysQuestion& q) {
  return fmt::format("{} {}", name_of(q.problem.kind), how_learned(q));
}

std::vector<TextLine> text_lines(const Comparison& c, const model::Scenario& scenario,
                                 const WaysQuestion& q) {
  std::vector<TextLine> lines;
  lines.push_back(fmt::format("{}: {} workers; a job of {} of gradients gives the times", scenario.name,
                              grouped(c.workers), to_string(c.gradients)));
  lines.push_back(fmt::format("learned: {} of {} parameters {}", name_of(q.problem.kind),
                              grouped(c.parameters), how_learned(q)));
  lines.push_back(fmt::format("target: loss {:.3g}, from {:.3g}; {} seeds, {} more for the rates", c.target,
                              c.first_loss, q.seeds, q.tuning_seeds));
  lines.emplace_back();
  std::vector<std::vector<std::string>> rows{
      {"policy", "to target", "ratio", "95 %", "samples", "time each", "bytes", "age", "rate"}};
  const WayResult& first = c.ways[c.baseline];
  for (const WayResult& w : c.ways) rows.push_back(row_of(w, first));
  for (TextLine& line : text_table(rows)) lines.push_back(std::move(line));
  lines.push_back(fmt::format("ratio, bytes: over those of {}; ratio = samples x time each", first.way.name));
  lines.emplace_back(
      "samples: computed until the target; age: versions that others made meanwhile; rate: x that asked for");
  lines.emplace_back();
  add_ages(c, lines);
  add_servers(c, lines);
  add_expenses(c, scenario, lines);
  if (!first.all_reached())
    lines.push_back(fmt::format("no ratios: {} did not reach the target on every seed", first.way.name));
  if (c.ways.front().time_ratio > 0) lines.push_back(reason_of(c));
  add_notes(c, lines);
  lines.emplace_back(
      "note: times are simulated, what is learned is computed; a problem of this size says nothing of "
      "how well a large model generalises");
  return lines;
}

}  // namespace cox::learn
