// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cox/base/number_text.hpp"

#include "forecast/calibrate/calibrate.hpp"
#include "forecast/levers/by_parts.hpp"
#include "forecast/levers/even_stages.hpp"
#include "forecast/levers/message_levers.hpp"
#include "forecast/levers/told_tail.hpp"

namespace cox::forecast {
namespace {

constexpr int kBody = 201;
constexpr double kFarTail = 0.1;  ///< of a tail: beyond it goes on as generalised Pareto

bool any(const Parts& parts, bool (*has)(const PositionParts&)) {
  return std::ranges::any_of(parts.positions, has);
}
bool has_nodes(const PositionParts& p) {
  return p.node.value > Seconds{} || p.slow.seen > 0;
}
bool has_ranks(const PositionParts& p) {
  return p.rank.value > Seconds{};
}
bool has_tail(const PositionParts& p) {
  return p.tail_probability > 0 && !p.residual.is_constant();
}

/// What each rank works longer than ranks of its role do, over all steps and positions, in the sample's order.
std::vector<Seconds> excess_of(const Sample& sample, std::size_t position) {
  const std::size_t ranks = sample.ranks.size();
  std::vector<Seconds> mean(ranks);
  for (std::size_t k = 0; k < sample.steps.size(); ++k)
    for (std::size_t r = 0; r < ranks; ++r) mean[r] += sample.positions[position].at(k, r, ranks);
  for (Seconds& m : mean) m /= static_cast<double>(sample.steps.size());
  std::vector<Seconds> out(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    std::vector<double> peers;
    for (std::size_t other = 0; other < ranks; ++other)
      if (sample.ranks[other].role == sample.ranks[r].role) peers.push_back(mean[other].count());
    const auto middle = peers.begin() + static_cast<std::ptrdiff_t>(peers.size() / 2);
    std::nth_element(peers.begin(), middle, peers.end());
    out[r] = mean[r] - Seconds{*middle};
  }
  return out;
}

/// The parts where ranks at these places work as long as the middle one of their role does.
Parts replaced(const Parts& parts, const Sample& sample, const std::vector<std::size_t>& worst) {
  Sample evened = sample;
  for (std::size_t p = 0; p < sample.positions.size(); ++p) {
    const std::vector<Seconds> excess = excess_of(sample, p);
    for (std::size_t k = 0; k < sample.steps.size(); ++k)
      for (const std::size_t r : worst) {
        Seconds& own = evened.positions[p].own[k * sample.ranks.size() + r];
        own = std::max(own - excess[r], Seconds{});
      }
  }
  Parts out = parts;
  const auto before = calibrate(sample), after = calibrate(evened);
  if (!before || !after || after->positions.size() != out.positions.size()) return out;
  for (std::size_t i = 0; i < out.positions.size(); ++i) {
    PositionParts& p = out.positions[i];
    const PositionParts &a = after->positions[i], &b = before->positions[i];
    for (Seconds TimeEstimate::*end : {&TimeEstimate::value, &TimeEstimate::low, &TimeEstimate::high})
      p.level.*end += a.level.value - b.level.value;
    p.rank = a.rank;
    p.node = a.node;
    p.slow = a.slow;
  }
  return out;
}

void add_worst(const PartsCase& job, const Sample& sample, std::vector<PartLever>& out) {
  const std::size_t ranks = sample.ranks.size();
  std::vector<Seconds> excess(ranks);
  for (std::size_t p = 0; p < sample.positions.size(); ++p) {
    const std::vector<Seconds> here = excess_of(sample, p);
    for (std::size_t r = 0; r < ranks; ++r) excess[r] += here[r];
  }
  std::vector<std::size_t> order(ranks);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return excess[a] > excess[b]; });
  const bool lasts = any(job.parts, has_ranks) || any(job.parts, has_nodes);
  const bool roles = std::ranges::any_of(
      sample.ranks, [&](const SampleRank& r) { return r.role != sample.ranks.front().role; });
  const char* const of_their_own = roles ? ", the worst beside others of the same stage or role," : "";
  for (const std::size_t k : {1U, 2U, 4U}) {
    if (2 * k >= ranks) break;
    const std::vector<std::size_t> worst(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k));
    std::string names;
    for (const std::size_t r : worst)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", sample.ranks[r].rank);
    PartLever lever{.name = fmt::format("remove-worst-{}", k),
                    .does = fmt::format(
                        "{} {}{} replaced by {} like the others: {} of {}, and as large a part of a "
                        "larger job",
                        k == 1 ? "rank" : "ranks", names, of_their_own, k == 1 ? "one" : "some", k, ranks),
                    .part = "ranks",
                    .why_not = lasts ? "" : "no rank is slow for good, beyond chance",
                    .apply = {}};
    if (lasts) lever.apply = [parts = replaced(job.parts, sample, worst)](PartsCase& c) { c.parts = parts; };
    out.push_back(std::move(lever));
  }
}

/// A residual below the threshold of its tail, and one above it.
Law body_of(const PositionParts& p) {
  if (p.detours) return p.detours->usual.law;
  std::vector<Seconds> body;
  body.reserve(kBody);
  for (int i = 0; i < kBody; ++i)
    body.push_back(p.residual.quantile(
        std::clamp((1 - p.tail_probability) * i / (kBody - 1), 1e-6, 1 - p.tail_probability)));
  return Law::quantiles(body);
}
Law tail_of(const PositionParts& p) {
  if (p.detours) return p.detours->longer.law;
  const double all = p.tail_probability;
  std::vector<Seconds> near;
  near.reserve(kBody);
  for (int i = 0; i < kBody; ++i)
    near.push_back(p.residual.upper_quantile(all * (1 - (1 - kFarTail) * i / (kBody - 1))));
  const double shape = std::min(p.tail_shape.value, 0.95);
  const Seconds e_fold = p.residual.upper_quantile(all * kFarTail / std::exp(1.0)) - near.back();
  const Seconds scale = std::abs(shape) < 1e-9 ? e_fold : e_fold * shape / std::expm1(shape);
  return Law::quantiles(near,
                        {.threshold = near.back(), .scale = scale, .shape = shape, .probability = kFarTail});
}

/// One law, without what a tail or a mode of it was told by: those would be drawn again.
void set_residual(PositionParts& p, Law law) {
  p.residual = std::move(law);
  p.tail_probability = 0;
  p.tails.clear();
  p.detours.reset();
}

void keep_body(Parts& parts) {
  for (PositionParts& p : parts.positions) {
    if (!has_tail(p)) continue;
    set_residual(p, body_of(p));
  }
}

void align(PartsCase& c) {
  c.parts = with_told_tails(std::move(c.parts));
  c.detour = c.parts;
  for (PositionParts& p : c.detour->positions) {
    if (!has_tail(p)) continue;
    c.detours = std::max(c.detours, p.tail_probability);
    set_residual(p, tail_of(p));
  }
  keep_body(c.parts);
}

/// Of stated laws the tail is the one that a Run would tell.
void add_detours(const PartsCase& job, std::vector<PartLever>& out) {
  const Parts told = with_told_tails(job.parts);
  const std::string no_tail =
      any(told, has_tail) ? "" : "own work takes no other time in one step than in another";
  double share = 0;
  for (const PositionParts& p : told.positions)
    if (has_tail(p)) share = std::max(share, p.tail_probability);
  out.push_back({.name = "no-detours",
                 .does = fmt::format("the longest {} of own work is as long as the longest of the others",
                                     percent(share)),
                 .part = "detours",
                 .why_not = no_tail,
                 .apply = [](PartsCase& c) {
                   c.parts = with_told_tails(std::move(c.parts));
                   keep_body(c.parts);
                 }});
  out.push_back(
      {.name = "aligned-detours",
       .does = fmt::format("all ranks have their longest {} of own work in the same steps", percent(share)),
       .part = "detours",
       .why_not = no_tail,
       .apply = align});
}

void add_laws(const PartsCase& job, std::vector<PartLever>& out) {
  out.push_back({.name = "equal-ranks",
                 .does = "no rank differs from the others for good",
                 .part = "equal ranks",
                 .why_not = any(job.parts, has_ranks) ? "" : "ranks of a node differ by chance only",
                 .apply = [](PartsCase& c) {
                   for (PositionParts& p : c.parts.positions) p.rank = {};
                 }});
  out.push_back({.name = "equal-nodes",
                 .does = "no node differs from the others for good",
                 .part = "equal nodes",
                 .why_not = any(job.parts, has_nodes) ? "" : "nodes differ by chance only, or are not known",
                 .apply = [](PartsCase& c) {
                   for (PositionParts& p : c.parts.positions) {
                     p.node = {};
                     p.slow = {};
                   }
                 }});
  add_detours(job, out);
}

/// Those of a Scenario, on what the job's failures are, for the nodes that it has at its size; N* and the margin are with the best interval
/// of each size.
void add_checkpoints(const PartsCase& job, std::vector<PartLever>& out) {
  model::Scenario here = job.failing.value_or(model::Scenario{});
  here.cluster.nodes =
      static_cast<int>(std::max<std::int64_t>(job.ranks / std::max(job.parts.ranks_per_node, 1), 1));
  for (Lever& lever : checkpoint_levers(here)) {
    if (!job.failing) lever.why_not = "nothing fails: say --failures";
    out.push_back({.name = std::move(lever.name),
                   .does = std::move(lever.does),
                   .learning = std::move(lever.learning),
                   .part = std::move(lever.part),
                   .why_not = std::move(lever.why_not),
                   .apply = [apply = std::move(lever.apply), nodes = here.cluster.nodes](PartsCase& c) {
                     c.failing->cluster.nodes = nodes;
                     apply(*c.failing);
                     c.failing->failures.checkpoint_interval = {};
                   }});
  }
}

}  // namespace

std::vector<PartLever> part_levers(const PartsCase& job, const Sample* sample) {
  std::vector<PartLever> out;
  if (sample != nullptr) add_worst(job, *sample, out);
  add_even_stages(job, out);
  add_laws(job, out);
  out.push_back({.name = "faster-links",
                 .does = job.links ? "cards and switches pass twice the bytes"
                                   : "communication that nothing hides takes half as long",
                 .part = "links",
                 .why_not = job.parts.rest.value > Seconds{} ? "" : "no communication was seen",
                 .apply = [](PartsCase& c) {
                   if (c.links)
                     widen_links(c, 2);
                   else
                     change_communication(c, {.value = 0.5, .low = 0.5, .high = 0.5});
                 }});
  if (sample != nullptr) add_message_levers(job, *sample, out);
  out.push_back({.name = "fewer-ranks",
                 .does = "half the ranks",
                 .learning = "a smaller batch: another learning rate, more steps",
                 .part = "size",
                 .why_not = job.ranks >= 2 ? "" : "the job has one rank",
                 .apply = [](PartsCase& c) { c.ranks /= 2; }});
  add_checkpoints(job, out);
  return out;
}

}  // namespace cox::forecast
