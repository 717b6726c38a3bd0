// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"
#include "cox/simulate/render.hpp"
#include "cox/simulate/switches.hpp"

namespace cox::simulate {
namespace {

constexpr std::size_t kShownLinks = 5;

/// A simulation is as exact as its input, and people compare close results.
constexpr int kDigits = 6;

std::string shown(Seconds s) {
  return to_string(s, kDigits);
}

/// A mean over seeds and its interval. No time is below zero: an interval that would be is cut there, and says so.
std::string with_interval(const ReplicaSpread& s) {
  if (s.half_width_95 <= s.mean) return with_half_width(s.mean, s.half_width_95, kDigits) + " (95 %)";
  return fmt::format("{} (95 %: 0 to {}, cut at 0)", shown(s.mean), shown(s.high_95()));
}

/// Binary where that is whole, and thousands are not, as people write message sizes.
std::string size(Bytes b) {
  constexpr std::int64_t kKiB = 1 << 10;
  constexpr std::int64_t kMiB = 1 << 20;
  if (b.count() >= kMiB && b.count() % kMiB == 0) return fmt::format("{} MiB", b.count() / kMiB);
  if (b.count() >= kKiB && b.count() % kKiB == 0 && b.count() % 1000 != 0)
    return fmt::format("{} KiB", b.count() / kKiB);
  return to_string(b);
}

std::string what(const model::Scenario& s, const Outcome& o) {
  const model::Job& job = s.job;
  const std::string steps = fmt::format("{} step{}", grouped(job.steps), job.steps == 1 ? "" : "s");
  const auto schedule = [&](const std::string& file) {
    return fmt::format("schedule {} on {} ranks", file, grouped(o.ranks));
  };
  switch (job.workload()) {
    case model::Workload::Collective: {
      const model::CollectiveSpec& spec = job.as<model::CollectiveJob>().collective;
      const bool nccl = s.price == model::CollectivePrice::Nccl;
      return fmt::format("{} of {} by {} over {} ranks, {}", name_of(spec.kind), size(spec.bytes),
                         nccl ? "NCCL" : name_of(spec.algorithm), grouped(o.ranks), steps);
    }
    case model::Workload::Training: {
      const model::Layout& layout = job.as<model::TrainingJob>().layout;
      return fmt::format("training, data {} x tensor {} x pipeline {} on {} ranks, {}", layout.data,
                         layout.tensor, layout.pipeline, grouped(o.ranks), steps);
    }
    case model::Workload::Iteration:
      return fmt::format("iterations of {} ranks on {} host{}, {}", grouped(o.ranks),
                         grouped(s.cluster.nodes), s.cluster.nodes == 1 ? "" : "s", steps);
    case model::Workload::Goal:
      return schedule(job.as<model::GoalJob>().file);
    case model::Workload::Chakra:
      break;
  }
  return schedule(job.as<model::TraceJob>().file);
}

std::string how(const Outcome& o) {
  if (o.paced && o.messages == 0) return fmt::format("simulated by {}", name_of(o.engine));
  std::string text = fmt::format("simulated by {}, {}", name_of(o.engine), name_of(o.protocol));
  if (o.closure) text += ", identities instead of rounds";
  if (o.memo) text += ", repeated states reused";
  if (o.messages > 0) text += fmt::format("; {} messages", grouped(o.messages));
  return text;
}

void add_steps(const Outcome& o, std::vector<std::string>& lines) {
  if (o.step_ends.size() < 2) return;
  std::vector<double> length;
  Seconds before = o.started;
  for (const Seconds end : o.step_ends) {
    length.push_back((end - before).count());
    before = end;
  }
  const double longest = *std::max_element(length.begin(), length.end());
  const double p99 = quantile_in_place(length, 0.99);
  const double p50 = quantile_in_place(length, 0.5);
  lines.push_back(fmt::format("step         p50 {}, p99 {}, longest {}", shown(Seconds{p50}),
                              shown(Seconds{p99}), shown(Seconds{longest})));
}

/// Of all steps of all replicas, where they are many.
void add_all_steps(const Outcome& o, std::vector<std::string>& lines) {
  constexpr std::int64_t kMany = 1000;
  const QuantileSketch& steps = o.steps;
  if (steps.count() < kMany) return;
  const auto at = [&](double q) { return to_string(Seconds{steps.quantile(q)}, 4); };
  lines.push_back(fmt::format(
      "all steps    {}{}: p50 {}, p95 {}, p99 {}, p999 {} (each within {})", grouped(steps.count()),
      o.steps_replicas > 1 ? fmt::format(" of {} seeds", grouped(o.steps_replicas)) : "", at(0.5), at(0.95),
      at(0.99), at(0.999), percent(steps.relative_error())));
}

/// With and without pacing on the same draws, and where the controllers stand at the end.
void add_paced(const PacedJobOutcome& p, std::vector<std::string>& lines) {
  const auto line = [](const std::string& name, const PacedSummary& s) {
    std::string text = fmt::format("{:<12} {} a step, CV {:.4f}, p99 {}; wait {} a rank", name, shown(s.mean),
                                   s.cv, shown(s.p99), shown(s.wait));
    if (s.delay > Seconds::zero()) text += fmt::format(", delay {}", shown(s.delay));
    return text;
  };
  lines.push_back(line("without", p.without));
  if (p.mode == pace::Mode::Off) return;
  lines.push_back(line(fmt::format("mode {}", pace::name_of(p.mode)), p.with));
  lines.push_back(
      fmt::format("throughput   {} against the same draws without pacing", percent_change(p.gain())));
  std::map<pace::State, int> states;
  for (const PacedRank& rank : p.with.ranks) ++states[rank.last.state];
  std::string text;
  for (const auto& [state, ranks] : states)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(ranks), pace::name_of(state));
  lines.push_back("at the end   ranks in state: " + text);
}

/// Of all ranks together.
GroupTime sum_of(const std::vector<GroupTime>& groups) {
  GroupTime all;
  for (const GroupTime& g : groups) {
    const auto ranks = static_cast<double>(g.ranks);
    all.busy += g.busy * ranks;
    all.exposed += g.exposed * ranks;
    all.waiting += g.waiting * ranks;
  }
  return all;
}

/// What of the ranks' time in all steps is communication, and what is waiting; by groups where there are several.
void add_exposed(const Outcome& o, std::vector<std::string>& lines) {
  const GroupTime all = sum_of(o.groups);
  const auto part = [](Seconds s, const GroupTime& g) {
    const Seconds step = g.busy + g.exposed + g.waiting;
    return percent(step > Seconds{} ? s / step : 0);
  };
  const char* steps = o.step_ends.size() > 1 ? "all steps" : "the step";
  std::string text =
      fmt::format("exposed      {} of the ranks' time in {} is communication that nothing hides",
                  part(all.exposed, all), steps);
  if (all.waiting > Seconds{}) text += fmt::format(", {} waiting", part(all.waiting, all));
  lines.push_back(std::move(text));
  constexpr std::size_t kMostShown = 8;
  for (std::size_t g = 0; o.groups.size() > 1 && g < std::min(kMostShown, o.groups.size()); ++g) {
    const GroupTime& group = o.groups[g];
    lines.push_back(fmt::format("  {:<10} {} busy, {} exposed, {} waiting", group.name,
                                part(group.busy, group), part(group.exposed, group),
                                part(group.waiting, group)));
  }
  if (o.groups.size() > kMostShown)
    lines.push_back(fmt::format("  and {} more: --json has them", o.groups.size() - kMostShown));
}

/// Where a job's time goes beside its steps, and what it costs.
void add_job(const model::Scenario& s, const Outcome& o, std::vector<std::string>& lines) {
  const JobTime& t = *o.time;
  if (t.total() > t.work && t.total() > Seconds{}) {
    std::string text =
        fmt::format("goodput      {} of the job's time is steps that counted", percent(t.work / t.total()));
    for (const auto& [name, part] : {std::pair{"start", t.start},
                                     {"checkpoints", t.checkpoints},
                                     {"rework", t.rework},
                                     {"restarts", t.restarts},
                                     {"waiting for nodes", t.repair},
                                     {"cold steps", t.cold}})
      if (part > Seconds{}) text += fmt::format(", {} {}", percent(part / t.total()), name);
    lines.push_back(std::move(text));
  }
  const double steps = s.job.steps;
  // Sequences of a step, where they are known; else steps.
  const auto& job = s.job.as<model::TrainingJob>();
  const double sequences = static_cast<double>(job.sequences) * job.micro_batches * job.layout.data;
  if (o.energy) {
    const Energy total = o.energy->total();
    std::string text = fmt::format("energy       {}, {} a step", to_string(total), to_string(total / steps));
    if (sequences > 0) text += fmt::format(", {} a sequence", to_string(total / (steps * sequences)));
    if (o.energy->ideal > Energy{})
      text += fmt::format("; {:.3g} times that of computing alone", total / o.energy->ideal);
    lines.push_back(std::move(text));
  }
  if (!(s.node_price.node_hour > 0)) {
    if (t.total() > t.work || s.failures.spares > 0)
      lines.push_back(fmt::format("node-hours   {:.4g}", *o.node_hours));
    return;
  }
  const double cost = *o.cost;
  const std::string currency = s.node_price.currency.empty() ? "" : " " + s.node_price.currency;
  std::string text = fmt::format("cost         {:.4g}{} for {:.4g} node-hours, {:.4g} a step", cost, currency,
                                 *o.node_hours, cost / steps);
  if (sequences > 0) text += fmt::format(", {:.4g} a sequence", cost / (steps * sequences));
  if (o.ideal_cost && *o.ideal_cost > 0)
    text += fmt::format("; {:.3g} times that of computing alone", cost / *o.ideal_cost);
  lines.push_back(std::move(text));
}

/// What of the ranks' time in a step is communication, and what is waiting.
std::string exposed(const StepAnalysis& step, std::int64_t number) {
  double communication = 0;
  for (const StepPart part :
       {StepPart::Data, StepPart::Tensor, StepPart::Pipeline, StepPart::Expert, StepPart::Context})
    communication += step.share(part);
  std::string text =
      fmt::format("exposed      {} of the ranks' time in step {} is communication that nothing hides",
                  percent(communication), number);
  if (step.share(StepPart::Wait) > 0)
    text += fmt::format(", {} waiting for slower ranks", percent(step.share(StepPart::Wait)));
  if (step.share(StepPart::Bubble) > 0)
    text += fmt::format(", {} bubble", percent(step.share(StepPart::Bubble)));
  return text;
}

std::string neighbour(const NeighbourOutcome& n) {
  const bool flows = n.kind == model::NeighbourKind::Flows;
  if (n.done == 0)
    return fmt::format("beside it    {}: not one {} was over", n.name, flows ? "burst" : "step");
  return fmt::format("beside it    {}: {} {}{}, mean {}, alone {}", n.name, grouped(n.done),
                     flows ? "burst" : "step", n.done == 1 ? "" : "s", shown(n.mean), shown(n.alone));
}

void add_links(const Outcome& o, std::vector<std::string>& lines) {
  std::vector<LinkLoad> busiest;
  for (const LinkLoad& link : o.links)
    if (link.bytes.count() > 0) busiest.push_back(link);
  if (busiest.empty()) return;
  const std::size_t n = std::min(kShownLinks, busiest.size());
  std::partial_sort(busiest.begin(), busiest.begin() + static_cast<std::ptrdiff_t>(n), busiest.end(),
                    [](const LinkLoad& a, const LinkLoad& b) {
                      return a.utilisation_ratio != b.utilisation_ratio
                                 ? a.utilisation_ratio > b.utilisation_ratio
                                 : a.name < b.name;
                    });
  lines.emplace_back();
  lines.push_back(fmt::format("busiest of {} links that carried anything",
                              grouped(static_cast<std::int64_t>(busiest.size()))));
  const LinkLoad most = busiest.front();
  const auto alike = std::count_if(busiest.begin(), busiest.end(), [&](const LinkLoad& link) {
    return link.bytes == most.bytes && link.utilisation_ratio == most.utilisation_ratio;
  });
  if (static_cast<std::size_t>(alike) >= n && n > 1) {
    lines.push_back(fmt::format("  {:<24} {:>7}  {} each",
                                fmt::format("{} alike: {}, ...", grouped(alike), most.name),
                                percent(most.utilisation_ratio), to_string(most.bytes)));
    return;
  }
  for (std::size_t i = 0; i < n; ++i)
    lines.push_back(fmt::format("  {:<24} {:>7}  {}", busiest[i].name, percent(busiest[i].utilisation_ratio),
                                to_string(busiest[i].bytes)));
}

/// Where no link is known: from the schedules. Of servers always.
void add_ports(const Outcome& o, std::vector<std::string>& lines) {
  if (o.busiest_port) {
    const PortLoad& p = *o.busiest_port;
    std::string text =
        fmt::format("busiest {} {} of the time: {}, {} {}", p.is_card ? "card" : "port",
                    percent(p.utilisation_ratio), p.name, to_string(p.bytes), p.goes_out ? "out" : "in");
    if (p.alike > 1) text += fmt::format("; {} directions alike", grouped(p.alike));
    lines.push_back(std::move(text));
  }
  if (o.servers_busy_ratio)
    lines.push_back(fmt::format("servers      their busiest {} is taken {} of the time",
                                o.engine == model::EngineKind::Flow ? "link" : "port",
                                percent(*o.servers_busy_ratio)));
}

}  // namespace

std::optional<double> Outcome::exposed_ratio() const {
  const GroupTime all = sum_of(groups);
  const Seconds step = all.busy + all.exposed + all.waiting;
  return step > Seconds{} ? std::optional(all.exposed / step) : std::nullopt;
}

std::vector<std::string> text_lines(const model::Scenario& s, const Outcome& o, const StepAnalysis* step) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}: {}", s.name, what(s, o)));
  lines.push_back(how(o));
  lines.emplace_back();
  if (const ReplicaSpread& spread = o.over_replicas; spread.replicas > 1) {
    lines.push_back(fmt::format("total        mean of {} seeds {}, p50 {}, p99 {}", grouped(spread.replicas),
                                with_interval(spread), shown(spread.p50), shown(spread.p99)));
    add_all_steps(o, lines);
  } else {
    lines.push_back(fmt::format("total        {}", shown(o.total)));
    add_steps(o, lines);
    add_all_steps(o, lines);
  }
  if (!o.groups.empty()) add_exposed(o, lines);
  if (o.over_replicas.replicas > 1) {
    if (o.time) add_job(s, o, lines);
    lines.push_back(fmt::format("first seed   {}; what follows is of this one", shown(o.total)));
    add_steps(o, lines);
  }
  if (o.groups.empty() && step != nullptr) lines.push_back(exposed(*step, middle_step(s)));
  if (o.mfu)
    lines.push_back(
        fmt::format("MFU          {} of {} a device{}{}", percent(*o.mfu), to_string(o.mfu_peak),
                    o.mfu_peak != s.cluster.device_peak ? ", the mean of unlike nodes" : "",
                    o.goodput_mfu && *o.goodput_mfu < *o.mfu
                        ? fmt::format("; {} without updates that were discarded", percent(*o.goodput_mfu))
                        : ""));
  if (o.time && o.over_replicas.replicas <= 1) add_job(s, o, lines);
  if (o.paced) add_paced(*o.paced, lines);
  add_ports(o, lines);
  add_links(o, lines);
  for (const NeighbourOutcome& n : o.neighbours) lines.push_back(neighbour(n));
  if (const std::vector<std::string> on = mechanisms_within(s, o.last_end()); !on.empty())
    lines.push_back(fmt::format("switched on: {}", fmt::join(on, ", ")));
  for (const std::string& left_out : o.not_modelled) lines.push_back("not modelled: " + left_out);
  for (const std::string& note : o.notes) lines.push_back("note: " + note);
  return lines;
}

std::vector<std::string> text_lines(const std::string& a, const std::string& b, const PairedTotals& c) {
  const auto line = [](const std::string& name, const ReplicaSpread& s) {
    return fmt::format("{:<24} mean {}, p50 {}, p99 {}", name, shown(s.mean), shown(s.p50), shown(s.p99));
  };
  const Seconds d = c.difference.mean;
  const Seconds half = c.difference.half_width_95;
  const std::string change = percent_change(c.a.mean.count() > 0 ? d.count() / c.a.mean.count() : 0);
  std::vector<std::string> lines = {line(a, c.a), line(b, c.b), ""};
  const std::string by = shown(Seconds{std::abs(d.count())});
  const char* sign = d.count() < 0 ? "shorter" : "longer";
  if (c.difference.replicas < 2)
    lines.push_back(
        fmt::format("{} is {} {} ({}) for one seed; --replicas gives an interval", b, by, sign, change));
  else if (std::abs(d.count()) <= half.count())
    lines.push_back(fmt::format("no difference is certain: {} {} ({}), ± {} (95 %, {} seeds, common draws)",
                                by, sign, change, shown(half), grouped(c.difference.replicas)));
  else
    lines.push_back(fmt::format("{} is {} {} ({}), ± {} (95 %, {} seeds, common draws)", b, by, sign, change,
                                shown(half), grouped(c.difference.replicas)));
  return lines;
}

std::vector<std::string> text_lines(const std::string& file, const EventOutcome& o) {
  Seconds last{};
  std::size_t who = 0;
  for (std::size_t r = 0; r < o.finish.size(); ++r)
    if (o.finish[r] > last) {
      last = o.finish[r];
      who = r;
    }
  return {fmt::format("{}: schedule of {} ranks", file, grouped(static_cast<std::int64_t>(o.finish.size()))),
          fmt::format("simulated by event, LogGOPS; {} messages, {} events", grouped(o.messages),
                      grouped(o.events)),
          "", fmt::format("total        {} (rank {} is the last)", shown(last), who)};
}

namespace {

/// Of a share, of the step without any mechanism: over drawn orders, over seeds.
std::string uncertainty(const Attribution& a, const MechanismCost& m) {
  std::string text;
  if (!(a.without > Seconds{})) return text;
  if (!a.exact) text += fmt::format("  share ± {}", percent(m.half_width / a.without));
  if (a.seeds > 1)
    text +=
        fmt::format("{} ± {} of seeds", a.exact ? "  share" : ",", percent(m.seeds_half_width / a.without));
  return text;
}

}  // namespace

std::vector<std::string> text_lines(const Attribution& a, int steps) {
  if (a.mechanisms.empty()) return {"what each mechanism costs: nothing is switched on that has an off"};
  std::vector<std::string> lines = {
      fmt::format("what each mechanism costs: {} a step without any of them, {} with all",
                  shown(a.without / steps), shown(a.with / steps)),
      fmt::format("  {:<44} {:>10}  {:>10}  {:>10}", "of the step without any", "share", "alone", "on top")};
  const auto part = [&](Seconds s) {
    return a.without > Seconds{} ? percent_change(s / a.without) : std::string("-");
  };
  for (const MechanismCost& m : a.mechanisms)
    lines.push_back(fmt::format("  {:<44} {:>10}  {:>10}  {:>10}{}", m.name, part(m.share), part(m.alone),
                                part(m.last), uncertainty(a, m)));
  lines.push_back(fmt::format("  shares add up ({}; {} simulations on the same draws)",
                              a.exact ? "Shapley values, exact" : "Shapley values of drawn orders, 95 %",
                              grouped(a.simulated)));
  if (a.seeds > 1)
    lines.push_back(fmt::format("  of {} seeds: 95 % over the shares of each, all combinations on its draws",
                                grouped(a.seeds)));
  return lines;
}

std::vector<std::string> text_lines(const std::vector<SizeOutcome>& sizes) {
  std::vector<std::string> lines;
  if (!sizes.empty() && sizes.front().fixed_batch)
    lines.emplace_back(
        "the same batch at any size: efficiency is ranks x step at the smallest over ranks x step here");
  const bool exposed =
      std::ranges::any_of(sizes, [](const SizeOutcome& p) { return p.exposed_ratio.has_value(); });
  if (exposed)
    lines.emplace_back("exposed: of the ranks' time in all steps, communication that nothing hides");
  const auto explained =
      std::ranges::find_if(sizes, [](const SizeOutcome& p) { return p.attribution.has_value(); });
  if (explained != sizes.end())
    lines.push_back(fmt::format(
        "under each size: what each mechanism adds to the run, of the run there without any of them (Shapley value{})",
        explained->attribution->seeds > 1 ? fmt::format(" ± 95 % over {} seeds, each on its own draws",
                                                        grouped(explained->attribution->seeds))
                                          : ""));
  const auto column = [exposed](const std::string& text) {
    return exposed ? fmt::format("{:>9} ", text) : "";
  };
  lines.push_back(fmt::format("{:>8} {:>10}  {:<30} {}{:>10} {:>11}", "nodes", "ranks", "step",
                              column("exposed"), "efficiency", "throughput"));
  for (const SizeOutcome& p : sizes) {
    const double efficiency = p.efficiency(sizes.front());
    const double ranks = static_cast<double>(p.ranks) / static_cast<double>(sizes.front().ranks);
    const std::string step = p.step.replicas > 1 ? with_interval(p.step) : shown(p.step.mean);
    lines.push_back(fmt::format("{:>8} {:>10}  {:<30} {}{:>10} {:>11}", p.nodes, grouped(p.ranks), step,
                                column(p.exposed_ratio ? percent(*p.exposed_ratio) : "-"),
                                percent(efficiency), fmt::format("x{:.3g}", ranks * efficiency)));
    if (!p.attribution) continue;
    const Attribution& a = *p.attribution;
    for (const MechanismCost& m : a.mechanisms)
      lines.push_back(fmt::format("{:>20}  {:>9}{}  {}", "",
                                  percent_change(a.without > Seconds{} ? m.share / a.without : 0),
                                  a.seeds > 1 && a.without > Seconds{}
                                      ? fmt::format(" ± {:>6}", percent(m.seeds_half_width / a.without))
                                      : "",
                                  m.name));
  }
  return lines;
}

}  // namespace cox::simulate
