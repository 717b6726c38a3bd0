// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "forecast/checkpoints/days.hpp"
#include "forecast/checkpoints/goodput.hpp"
#include "forecast/levers/even_stages.hpp"
#include "forecast/levers/levers.hpp"
#include "forecast/scaled/scaled.hpp"

namespace cox::forecast {
namespace {

constexpr const char* kAlone = "one replica exchanges no gradients";

using model::Scenario;
using model::TrainingJob;

TrainingJob& work_of(Scenario& s) {
  return s.job.as<TrainingJob>();
}

Lever cannot(std::string name, std::string does, std::string why) {
  return {.name = std::move(name),
          .does = std::move(does),
          .learning = {},
          .part = {},
          .apply = {},
          .why_not = std::move(why)};
}

/// Workers that are not waited for, and servers, take the gradients of a step as one sum behind its work.
bool leave_out_buckets(Scenario& s) {
  TrainingJob& job = work_of(s);
  Bytes all{};
  for (const model::Layer& layer : job.layers) all += layer.gradients;
  if (!job.overlap && job.bucket >= all) return false;
  job.bucket = std::max(job.bucket, all);
  job.overlap = false;
  job.overlap_slowdown = job.overlap_feedback = 0;
  job.overlap_threshold = {};
  return true;
}

/// Levers that change what waits for whom.
void add_policies(const Scenario& s, const TrainingJob& job, std::vector<Lever>& out) {
  const int each = job.replicas_per_worker();
  const bool alone = job.layout.tensor * job.layout.pipeline * job.layout.context * each == 1;
  const bool synchronous = s.policy.kind == model::PolicyKind::Synchronous;
  const std::string why = !synchronous          ? "the scenario has another policy already"
                          : job.layout.data < 3 ? "there are fewer than three replicas"
                                                : "";
  const int backups = std::max(job.layout.data / 32, 1);
  out.push_back({.name = "pacing",
                 .does = "ranks that are early are held back, as the controller of live jobs decides",
                 .learning = "",
                 .part = "pacing",
                 .apply =
                     [](Scenario& x) {
                       work_of(x).pace = {{"mode", "auto"}};
                     },
                 .why_not = !job.pace.empty()     ? "the scenario paces already"
                            : !synchronous        ? "pacing is of synchronous steps"
                            : job.layout.data < 2 ? "one replica waits for none"
                                                  : ""});
  out.push_back(
      {.name = "backup-workers",
       .does = fmt::format("the slowest {} of {} replicas are not waited for", backups, job.layout.data),
       .learning =
           "their gradients are lost: a slightly smaller batch, and data of slow ranks seen less often",
       .part = "policy",
       .apply =
           [backups](Scenario& x) { x.policy = {.kind = model::PolicyKind::Backup, .backups = backups}; },
       .why_not = !why.empty() ? why
                  : alone      ? ""
                               : "a worker is more than one rank",
       .leave_out = leave_out_buckets});
  out.push_back(
      {.name = "local-steps",
       .does = "replicas meet every 8 steps instead of every step",
       .learning = "replicas drift apart between meetings: more steps, or a worse model",
       .part = "policy",
       .apply = [](Scenario& x) { x.policy = {.kind = model::PolicyKind::LocalSgd, .local_steps = 8}; },
       .why_not = !why.empty()                             ? why
                  : job.zero_stage > 0 && !job.is_hybrid() ? "shards are spread over all replicas"
                                                           : ""});
  out.push_back(
      {.name = "bounded-staleness",
       .does = "replicas may be 2 steps ahead of the slowest, over as many servers as nodes",
       .learning = "gradients are up to 2 steps old: more steps, or a smaller learning rate",
       .part = "policy",
       .apply =
           [](Scenario& x) {
             x.policy = {.kind = model::PolicyKind::BoundedWait, .staleness = 2, .servers = x.cluster.nodes};
           },
       .why_not = !why.empty() ? why
                  : alone      ? ""
                               : "a worker is more than one rank",
       .leave_out = leave_out_buckets});
}

/// Levers that change how gradients are exchanged.
void add_exchange(const Scenario& s, const TrainingJob& job, std::vector<Lever>& out) {
  const std::string alone = job.layout.data > 1 ? "" : kAlone;
  const int group = s.cluster.devices_per_node / std::max(job.layout.tensor, 1);
  const bool can_nest = group > 1 && job.layout.data % group == 0 && job.layout.data > group;
  out.push_back({.name = "hierarchical",
                 .does = fmt::format("gradients are summed among the {} replicas of a node first", group),
                 .learning = "",
                 .part = "collective",
                 .apply =
                     [group](Scenario& x) {
                       work_of(x).collective.algorithm = model::Algorithm::Hierarchical2;
                       work_of(x).collective.group = group;
                     },
                 .why_not = job.collective.algorithm != model::Algorithm::Ring
                                ? "the collective is no plain ring"
                            : job.is_hybrid() ? "sets of shards are summed within their groups first already"
                            : can_nest        ? ""
                                              : "a node has no two whole replicas, or all of them"});
  out.push_back({.name = "buckets",
                 .does = "gradients leave in buckets of a quarter of the size",
                 .learning = "",
                 .part = "buckets",
                 .apply =
                     [](Scenario& x) {
                       work_of(x).bucket = Bytes{std::max<std::int64_t>(work_of(x).bucket.count() / 4, 1)};
                     },
                 .why_not = alone});
  out.push_back({.name = "overlap",
                 .does = "gradients are exchanged beside the backward pass",
                 .learning = "",
                 .part = "overlap",
                 .apply = [](Scenario& x) { work_of(x).overlap = true; },
                 .why_not = job.overlap ? "they are already" : alone});
}

/// Levers that change what the messages are and what carries them.
void add_network(const Scenario& s, const TrainingJob& job, std::vector<Lever>& out) {
  out.push_back({.name = "placement",
                 .does = "ranks are placed node after node",
                 .learning = "",
                 .part = "placement",
                 .apply = [](Scenario& x) { x.job.places.rule = model::PlaceRule::Packed; },
                 .why_not = s.job.places.rule == model::PlaceRule::Packed ? "they are already" : ""});
  out.push_back(
      {.name = "compression",
       .does = "gradients are sent with 8 bits an element",
       .learning = "rounded gradients: usually harmless with error feedback, which is not included",
       .part = "compression",
       .apply = [](Scenario& x) { work_of(x).compression = {.kind = model::Compressor::Quantised}; },
       .why_not = job.compression.kind != model::Compressor::None ? "they are compressed already"
                  : job.layout.data > 1                           ? ""
                                                                  : kAlone});
  out.push_back({.name = "faster-links",
                 .does = "cards and switches pass twice the bytes",
                 .learning = "",
                 .part = "links",
                 .apply = [](Scenario& x) { scale_links(x, 2); },
                 .why_not = s.price == model::CollectivePrice::Rounds
                                ? ""
                                : "collectives are priced by a table or by NCCL's model"});
  out.push_back({.name = "more-rails",
                 .does = fmt::format("nodes have {} cards instead of {}", s.cluster.nics_per_node * 2,
                                     s.cluster.nics_per_node),
                 .learning = "",
                 .part = "rails",
                 .apply = [](Scenario& x) { x.cluster.nics_per_node *= 2; },
                 .why_not = !s.cluster.nic_of.empty() ? "the scenario says which device uses which card"
                            : s.cluster.nics_per_node * 2 > s.cluster.devices_per_node
                                ? "a node has no two devices for one card"
                                : ""});
}

/// Levers that change who takes part.
void add_ranks(const Scenario& s, std::vector<Lever>& out) {
  const auto named = std::find_if(s.noise.begin(), s.noise.end(), [](const model::NoiseSource& n) {
    return !n.off && !n.ranks.empty() && n.pattern != model::NoisePattern::Once;
  });
  std::size_t slow = 0;
  for (const model::NoiseSource& n : s.noise)
    if (!n.off && n.pattern != model::NoisePattern::Once) slow += n.ranks.size();
  out.push_back({.name = "remove-worst",
                 .does = fmt::format("{} that the scenario names as slow {} replaced",
                                     slow == 1 ? "the rank" : fmt::format("the {} ranks", slow),
                                     slow == 1 ? "is" : "are"),
                 .learning = "",
                 .part = "ranks",
                 .apply =
                     [](Scenario& x) {
                       for (model::NoiseSource& n : x.noise)
                         if (!n.ranks.empty() && n.pattern != model::NoisePattern::Once) n.off = true;
                     },
                 .why_not = named == s.noise.end() ? "no source of noise names ranks" : ""});
  const std::int64_t half = nodes_of(s) / 2;
  const auto fewer = half >= 1 ? at_nodes(s, half, BatchRule::Grows)
                               : Result<Scenario>(fail({.code = Errc::InvalidInput,
                                                        .id = "forecast-031",
                                                        .message = "the job has one node",
                                                        .hint = {},
                                                        .where = std::nullopt}));
  out.push_back({.name = "fewer-ranks",
                 .does = fmt::format("half the nodes: {}", half),
                 .learning = "a smaller batch: another learning rate, more steps",
                 .part = "size",
                 .apply =
                     [](Scenario& x) {
                       const auto at = at_nodes(x, nodes_of(x) / 2, BatchRule::Grows);
                       if (at) x = *at;
                     },
                 .why_not = fewer ? "" : fewer.error().message});
}

/// Levers of failures and checkpoints.
void add_checkpoints(const Scenario& s, std::vector<Lever>& out) {
  const model::Failures& f = s.failures;
  const auto at = goodput(s, {std::max(nodes_of(s), 1)});
  const std::string why = at ? "" : at.error().message;
  const Seconds best = at ? at->front().best.far : Seconds{};
  out.push_back(
      {.name = "checkpoint-interval",
       .does = fmt::format("checkpoints every {:.3g} min of work, the best interval", best.count() / 60),
       .learning = "",
       .part = "interval",
       .apply = [best](Scenario& x) { x.failures.checkpoint_interval = best; },
       .why_not = !why.empty()                         ? why
                  : f.checkpoint_interval <= Seconds{} ? "the best interval is taken already"
                                                       : ""});
  out.push_back({.name = "checkpoint-beside",
                 .does = "checkpoints hold the job up for a tenth and are written beside the steps",
                 .learning = "",
                 .part = "checkpoint",
                 .apply =
                     [](Scenario& x) {
                       model::Failures& c = x.failures;
                       const Seconds all = interruptions(x, std::max(nodes_of(x), 1)).blocks;
                       // what storage adds anyhow
                       const Seconds read = interruptions(x, std::max(nodes_of(x), 1)).read;
                       c.checkpoint_write = std::max(all * 0.9 - read, Seconds{1e-6});
                       c.checkpoint = all * 0.1;
                       c.checkpoint_interval = {};
                     },
                 .why_not = !why.empty()                     ? why
                            : f.checkpoint_write > Seconds{} ? "they are already"
                                                             : ""});
  out.push_back(
      {.name = "checkpoint-near",
       .does = "a second level in the nodes' own memory, a twentieth of the time, for 4 of 5 failures",
       .learning = "",
       .part = "near",
       .apply =
           [](Scenario& x) {
             model::Failures& c = x.failures;
             c.near_checkpoint = interruptions(x, std::max(nodes_of(x), 1)).blocks / 20;
             c.near_survives = 0.8;
             const Interruptions costs = [&] {
               c.near_interval = Seconds{1};
               return interruptions(x, std::max(nodes_of(x), 1));
             }();
             const Intervals both = best_intervals(costs);
             c.near_interval = both.near;
             c.checkpoint_interval = both.far;
           },
       .why_not = !why.empty()                  ? why
                  : f.near_interval > Seconds{} ? "there is one already"
                                                : ""});
}

}  // namespace

std::vector<Lever> checkpoint_levers(const Scenario& s) {
  std::vector<Lever> out;
  add_checkpoints(s, out);
  for (Lever& lever : out) lever.of_steps = false;
  return out;
}

std::vector<Lever> levers_of(const Scenario& s) {
  std::vector<Lever> out;
  const auto* job = std::get_if<TrainingJob>(&s.job.work);
  if (job == nullptr) {
    if (s.job.workload() == model::Workload::Iteration)
      out.push_back(
          cannot("pacing", "ranks are held back so that they arrive together",
                 "of an iteration with pacing `cox simulate` itself prints the gain, beside the same "
                 "draws without"));
    out.push_back(cannot("others", "what waits for whom, buckets, placement, checkpoints",
                         "they are those of training steps: workload = \"training\""));
    return out;
  }
  add_policies(s, *job, out);
  add_exchange(s, *job, out);
  add_network(s, *job, out);
  if (std::optional<Lever> even = even_stages(s)) out.push_back(*std::move(even));
  add_ranks(s, out);
  const std::vector<Lever> checkpoints = checkpoint_levers(s);
  out.insert(out.end(), checkpoints.begin(), checkpoints.end());
  return out;
}

}  // namespace cox::forecast
