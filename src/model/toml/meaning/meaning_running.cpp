// SPDX-License-Identifier: Apache-2.0
// Keys of failures, starts and time-outs that have a meaning only beside another one, which thereby is a switch for them: where
// `--set` makes it zero, what the file says of them is not read.
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "model/toml/meaning/sections.hpp"

namespace cox::model {
namespace {

/// A key, and whether something reads it. The first of `choose` is named where nothing does; each of them can be why.
struct Dependant {
  std::string_view key;
  bool (*reads)(const Scenario&);
  std::vector<std::string_view> choose;
  std::string_view hint;
};

/// Of all that only failing jobs read.
const std::vector<std::string_view>& rates() {
  static const std::vector<std::string_view> all = {"failures.node_mtbf", "failures.job_mtbf", kClassArray};
  return all;
}

const std::vector<Dependant>& dependants() {
  static const std::vector<Dependant> all = {
      {"failures.weibull_shape",
       [](const Scenario& s) { return s.failures.node_mtbf > Seconds{}; },
       {"failures.node_mtbf"},
       "no node ever fails: give the mean time between failures of one"},
      {"failures.spares",
       [](const Scenario& s) {
         const Failures& f = s.failures;
         return f.repair > Seconds{} || s.node_price.node_hour > 0 ||
                std::ranges::any_of(f.classes, [](const FailureClass& c) { return c.repair > Seconds{}; });
       },
       {"failures.repair", "price.node_hour", kClassArray},
       "another node is there at once"},
      {"failures.restart_tail",
       [](const Scenario& s) { return s.failures.restart_spread > Seconds{}; },
       {"failures.restart_spread"},
       "no node takes longer than another"},
      {"failures.cold_factor",
       [](const Scenario& s) { return s.failures.cold_steps > 0; },
       {"failures.cold_steps"},
       "no step is cold"},
      {"failures.cold_steps",
       [](const Scenario& s) { return s.failures.cold_factor != 1; },
       {"failures.cold_factor"},
       "they take as long as the others"},
      {"failures.checkpoint",
       [](const Scenario& s) { return s.failures.checkpoint_interval > Seconds{}; },
       {"failures.checkpoint_interval"},
       "none are written: say failures.checkpoint_interval"},
      {"failures.checkpoint_write",
       [](const Scenario& s) { return s.failures.checkpoint_interval > Seconds{}; },
       {"failures.checkpoint_interval"},
       "none are written: say failures.checkpoint_interval"},
      {"failures.unreadable",
       [](const Scenario& s) { return s.failures.checkpoint_interval > Seconds{}; },
       {"failures.checkpoint_interval"},
       "none are written: say failures.checkpoint_interval"},
      {"failures.full_every",
       [](const Scenario& s) { return s.failures.checkpoint_interval > Seconds{}; },
       {"failures.checkpoint_interval"},
       "none are written: say failures.checkpoint_interval"},
      {"failures.checkpoint_delta",
       [](const Scenario& s) { return s.failures.full_every > 1; },
       {"failures.full_every"},
       "every checkpoint is full"},
      {"failures.checkpoint_delta",
       [](const Scenario& s) { return s.failures.checkpoint_interval > Seconds{}; },
       {"failures.checkpoint_interval"},
       "none are written: say failures.checkpoint_interval"},
      {"failures.storage",
       [](const Scenario& s) { return s.failures.checkpoint_size > Bytes{}; },
       {"failures.checkpoint_size"},
       "nothing is written to it"},
      {"failures.checkpoint_size",
       [](const Scenario& s) { return s.failures.storage > Bandwidth{}; },
       {"failures.storage"},
       "its size takes no time"},
      {"failures.near_checkpoint",
       [](const Scenario& s) { return s.failures.near_interval > Seconds{}; },
       {"failures.near_interval"},
       "none are written: say failures.near_interval"},
      {"failures.near_survives",
       [](const Scenario& s) { return s.failures.near_interval > Seconds{}; },
       {"failures.near_interval"},
       "none are written: say failures.near_interval"},
      {"start.communicators",
       [](const Scenario& s) { return s.start.per_rank > Seconds{} || s.start.per_pair > Seconds{}; },
       {"start.per_rank", "start.per_pair"},
       "they take no time"},
      {"start.storage",
       [](const Scenario& s) { return s.start.read > Bytes{}; },
       {"start.read"},
       "nothing is read"},
      {"start.tail",
       [](const Scenario& s) { return s.start.spread > Seconds{}; },
       {"start.spread"},
       "no node takes longer than another"},
      {"fabric.timeout.loss",
       [](const Scenario& s) { return s.fabric.timeouts.wait > Seconds{} || s.fabric.timeouts.loss == 0; },
       {"fabric.timeout.wait"},
       "nothing sends again: say after how long a lost message is sent"},
      {"fabric.timeout.flows",
       [](const Scenario& s) { return s.fabric.timeouts.wait > Seconds{} || s.fabric.timeouts.flows == 0; },
       {"fabric.timeout.wait"},
       "nothing sends again: say after how long a lost message is sent"},
      {"fabric.timeout.wait",
       [](const Scenario& s) { return s.fabric.timeouts.happen() || s.fabric.timeouts.wait == Seconds{}; },
       {"fabric.timeout.loss", "fabric.timeout.flows"},
       "no message is lost: give one of loss and flows"},
  };
  return all;
}

}  // namespace

std::optional<Unread> unread_beside(std::string_view key, const Draft& d) {
  if (is_one_of(key, {"failures.repair", "failures.spares", "failures.unreadable", "failures.near_survives",
                      "failures.restart", "failures.restart_per_node", "failures.restart_per_pair",
                      "failures.restart_spread", "failures.restart_tail", "failures.cold_steps",
                      "failures.cold_factor"}) &&
      !d.scenario.failures.happen())
    return Unread{.chooses = rates().front(),
                  .hint =
                      "nothing ever fails: give the mean time between failures of one node, or "
                      "failures.job_mtbf",
                  .others = rates()};
  for (const Dependant& one : dependants())
    if (one.key == key && !one.reads(d.scenario))
      return Unread{.chooses = one.choose.front(), .hint = std::string(one.hint), .others = one.choose};
  return std::nullopt;
}

}  // namespace cox::model
