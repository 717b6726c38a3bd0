// SPDX-License-Identifier: Apache-2.0
// What cannot go together of what a job's time, energy and money go into beside its steps.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "cox/base/units_text.hpp"

#include "model/toml/check/check.hpp"
#include "model/toml/keys/words.hpp"

namespace cox::model {
namespace {

/// A key that is said though no failure is that would read it: the file's own where --set chose which there are.
Status unread(const Notes& notes, std::string_view key, std::string_view why) {
  if (!notes.said(std::string(key))) return {};
  const auto by_option = [&](std::string_view rate) {
    const Note* note = notes.find(std::string(rate));
    return note != nullptr && note->is_option();
  };
  if (!notes.find(std::string(key))->is_option() &&
      (by_option("failures.node_mtbf") || by_option("failures.job_mtbf") || by_option(kClassArray)))
    return {};
  return notes.clash({key}, fmt::format("{} without failures.node_mtbf: {}", key, why), "");
}

/// Deltas and near checkpoints.
Status check_stores(const Failures& f, const Notes& notes) {
  if (f.checkpoint_interval > Seconds{} && f.full_every > 1 &&
      (f.checkpoint_delta == Bytes{} || f.checkpoint_delta > f.checkpoint_size))
    return notes.clash(
        {"failures.checkpoint_delta", "failures.full_every"},
        fmt::format("failures.full_every = {} with deltas of {} and full checkpoints of {}", f.full_every,
                    spelled(f.checkpoint_delta), spelled(f.checkpoint_size)),
        "say failures.checkpoint_size, failures.storage, and a failures.checkpoint_delta that is not more");
  if (f.near_interval == Seconds{}) return {};
  if (f.checkpoint_interval > Seconds{} && f.near_interval >= f.checkpoint_interval)
    return notes.clash(
        {"failures.near_interval", "failures.checkpoint_interval"},
        fmt::format("failures.near_interval = {} is not below failures.checkpoint_interval = {}",
                    spelled(f.near_interval), spelled(f.checkpoint_interval)),
        "near checkpoints are the frequent ones");
  if (f.near_survives == 0 && f.near_checkpoint == Seconds{})
    return notes.clash(
        {"failures.near_interval"},
        "failures.near_interval without failures.near_survives or failures.near_checkpoint",
        "say after which part of the failures near checkpoints can be read, and what one takes");
  return {};
}

Status check_classes(const Scenario& s, const Notes& notes) {
  const Failures& f = s.failures;
  const FabricKind kind = s.fabric.kind;
  for (std::size_t i = 0; i < f.classes.size(); ++i) {
    const FailureClass& one = f.classes[i];
    const std::string at = fmt::format("{}[{}]", kClassArray, i);
    const std::string mtbf = at + ".mtbf";
    const std::string per = at + ".per";
    const std::string repair = at + ".repair";
    if (one.mtbf == Seconds{})
      return notes.clash({mtbf, at}, fmt::format("{} has no mtbf: it never fails", at),
                         "give the mean time between failures of one component");
    const bool tree = kind == FabricKind::FatTree || kind == FabricKind::RailOptimised;
    if (one.per == FailureUnit::Switch && !(tree && s.cluster.nodes > 1))
      return notes.clash({per, at},
                         fmt::format("{}: which nodes a switch takes down is known of trees only", at),
                         "say fabric.kind = \"fat-tree\" or \"rail-optimised\", or another `per`");
    if (one.per == FailureUnit::Link && (kind == FabricKind::Torus || kind == FabricKind::Graph))
      return notes.clash({per, at}, fmt::format("{}: nodes of this fabric have no cards", at),
                         "say another `per`: a node with the failures of all its links");
    if (one.per == FailureUnit::Job && one.repair > Seconds{})
      return notes.clash({repair, at},
                         fmt::format("{} takes no node down: there is nothing to repair", repair),
                         "leave it out");
  }
  if (!f.happen()) return {};
  const bool reads_repair =
      f.node_mtbf > Seconds{} || std::ranges::any_of(f.classes, [&](const FailureClass& one) {
        const std::string key = fmt::format("{}[{}].repair", kClassArray, &one - f.classes.data());
        return one.per != FailureUnit::Job && !notes.said(key);
      });
  const bool reads_restart =
      f.node_mtbf > Seconds{} || f.job_mtbf > Seconds{} ||
      std::ranges::any_of(f.classes, [&](const FailureClass& one) {
        return !notes.said(fmt::format("{}[{}].restart", kClassArray, &one - f.classes.data()));
      });
  if (!reads_repair) COX_CHECK(unread(notes, "failures.repair", "no failure that takes nodes down reads it"));
  if (!reads_restart) COX_CHECK(unread(notes, "failures.restart", "every class has its own"));
  return {};
}

Status check_start(const Startup& start, const Notes& notes) {
  if (start.read > Bytes{} && start.storage == Bandwidth{})
    return notes.clash({"start.read"}, "start.read without start.storage: it takes no time",
                       "say how fast the nodes read together");
  return {};
}

Status check_input(const StepInput& in, const Notes& notes) {
  if (in.link > Bandwidth{} && in.storage > Bandwidth{})
    return notes.clash({"job.input.storage", "job.input.link"},
                       "job.input.link and job.input.storage: one of them is what the input comes through",
                       "keep the slower one for all ranks together");
  if (in.fetch > Bytes{} && in.link == Bandwidth{} && in.storage == Bandwidth{})
    return notes.clash({"job.input.fetch"}, "job.input.fetch comes through nothing: it takes no time",
                       "say job.input.link of each node, or job.input.storage of the job");
  return {};
}

}  // namespace

Status check_running(const Draft& draft, const Notes& notes) {
  const Scenario& s = draft.scenario;
  COX_CHECK(check_stores(s.failures, notes));
  COX_CHECK(check_classes(s, notes));
  COX_CHECK(check_start(s.start, notes));
  return check_input(draft.job.training.input, notes);
}

}  // namespace cox::model
