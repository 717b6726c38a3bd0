// SPDX-License-Identifier: Apache-2.0
// From the arrivals of a collective's members to their departures, where it has the network for itself.
#include <algorithm>
#include <tuple>
#include <utility>

#include "cox/base/assert.hpp"

#include "simulate/collective/prices.hpp"
#include "simulate/training/step/step.hpp"

namespace cox::simulate::training {

StepEngine::Known& StepEngine::known(model::Collective kind, Bytes bytes, ReplicaGroup of) {
  const std::tuple key(of, kind, bytes.count());
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  auto made = plan_.schedule(kind, bytes, of);
  COX_ASSERT(made.has_value(), "ring and direct exist for any number of ranks");
  return known_.emplace(key, Known{.schedule = *std::move(made), .equal = {}, .messages = 0}).first->second;
}

bool StepEngine::draws_messages() const {
  return noise_ != nullptr && (noise_->disturbs_messages() || noise_->disturbs_bandwidth());
}

/// Moves `expanded_` from arrivals to departures; returns the messages of it.
std::int64_t StepEngine::sweep(const Known& known, const LinkCosts& links, std::int64_t number,
                               std::span<const int> nodes, std::vector<int> ranks) {
  CollectiveOptions options;
  options.ranks = std::move(ranks);
  options.protocol = plan_.scenario().protocol;
  options.closure = shortcuts_.closure;
  options.step = step_;
  options.number = number;
  if (draws_messages()) options.noise = noise_;
  if (!nodes.empty()) options.timeouts = &timeouts_;
  options.nodes = nodes;
  const CollectiveOutcome ran = run_collective(known.schedule, links, options, expanded_);
  evaluated_ += ran.evaluated;
  closure_used_ = closure_used_ || ran.closure;
  return ran.messages;
}

/// Of a measured time, or of its dip.
Seconds StepEngine::drawn(const model::LookedUp& whole, const Gathering& g) const {
  return drawn_time(whole, seed_, step_, number_of(g, plan_.ranks_per_unit(), 0));
}

/// A computation with the dips of its unit's groups, which go on together: behind each collective as the longest of the
/// groups beside each other. A draw is by the group's first rank, the step, and the collective's number in it.
Instruction StepEngine::with_dips(int unit, const Instruction& i) const {
  constexpr std::uint64_t kOfTensor = 0x74656e736f72, kOfContext = 0x636f6e74657874;
  const auto& dips = (*programs_)[static_cast<std::size_t>(stage_of(unit))].dips;
  const int first = (first_ * plan_.stages() + unit) * plan_.ranks_per_unit();
  Instruction out = i;
  for (const InnerDips& d : dips[static_cast<std::size_t>(i.slot - 1)]) {
    const int ways = plan_.layout().tensor;
    const int groups = d.tensor ? plan_.layout().context : ways;
    for (int k = 0; k < d.count; ++k) {
      Seconds longest = -kNotYet;
      for (int g = 0; g < groups; ++g) {
        const std::int64_t rank = first + (d.tensor ? g * ways : g);
        longest = std::max(longest, drawn_time(d.time, seed_ ^ (d.tensor ? kOfTensor : kOfContext), step_,
                                               std::int64_t{d.first + k} * plan_.ranks() + rank));
      }
      (d.tensor ? out.tensor : out.context) += longest - d.time.time;
    }
  }
  return out;
}

/// Moves `times` from arrivals to departures. Each unit brings ranks that arrive together; the
/// groups of the other ranks of the units do the same at the same time.
void StepEngine::collect(Gathering g, std::vector<Seconds>& times) {
  if (is_told()) {
    times = told({.kind = g.is_exchange() ? SharedNetwork::Kind::Exchange : SharedNetwork::Kind::Data,
                  .of = g.of,
                  .stage = g.stage,
                  .group = g.group - plan_.groups().group_of(g.of, first_),
                  .slot = g.slot});
    g.departures = times;
    return watcher_->met(g);
  }
  if (const auto whole = plan_.whole_time(g.kind, g.bytes, g.of)) {
    std::ranges::fill(times, *std::ranges::max_element(times) + drawn(*whole, g));
    g.departures = times;
    if (watcher_ != nullptr) watcher_->met(g);
    return;
  }
  Known& known = this->known(g.kind, plan_.is_striped() ? shared_bytes(g.bytes, g.of) : g.bytes, g.of);
  const LinkCosts& links = plan_.costs(g.of).links;
  const int copies = plan_.groups().ranks_of_member(g.of);
  const Seconds first = times.front();
  if (draws_messages() || loses(g, known.schedule, copies))
    collect_drawn(g, known, links, copies, times);
  else if (std::all_of(times.begin(), times.end(), [&](Seconds t) { return t == first; }))
    collect_equal(known, links, copies, times);
  else
    collect_unequal(known, links, copies, times);
  g.departures = times;
  if (watcher_ != nullptr) watcher_->met(g);
}

/// `expanded_` becomes one time per rank.
void StepEngine::expand(std::span<const Seconds> times, int copies) {
  const auto each = static_cast<std::size_t>(copies);
  expanded_.resize(times.size() * each);
  for (std::size_t r = 0; r < expanded_.size(); ++r) expanded_[r] = times[r / each];
}

/// When the last rank of each unit leaves, from `expanded_`.
void StepEngine::gather_latest(int copies, std::span<Seconds> latest) const {
  const auto each = static_cast<std::size_t>(copies);
  for (std::size_t r = 0; r < latest.size() * each; ++r)
    latest[r / each] = std::max(latest[r / each], expanded_[r]);
}

/// A later start moves everything by as much, so equal arrivals need one evaluation per kind and size.
void StepEngine::collect_equal(Known& known, const LinkCosts& links, int copies,
                               std::vector<Seconds>& times) {
  if (known.equal.empty()) {
    expanded_.assign(times.size() * static_cast<std::size_t>(copies), Seconds{});
    known.messages = sweep(known, links, 0, {});
    known.equal.assign(times.size(), -kNotYet);
    gather_latest(copies, known.equal);
  }
  messages_ += known.messages * (plan_.ranks_per_unit() / copies);
  for (std::size_t m = 0; m < times.size(); ++m) times[m] += known.equal[m];
}

void StepEngine::collect_unequal(Known& known, const LinkCosts& links, int copies,
                                 std::vector<Seconds>& times) {
  const Seconds first = *std::min_element(times.begin(), times.end());
  for (Seconds& t : times) t -= first;
  const KnownTimes* as_before = known.unequal.find([&](const KnownTimes& k) { return k.stand_for(times); });
  if (as_before != nullptr && shortcuts_.memo) {
    times = as_before->ends;
  } else {
    expand(times, copies);
    known.messages = sweep(known, links, 0, {});
    latest_.assign(times.size(), -kNotYet);
    gather_latest(copies, latest_);
    known.unequal.keep({.begins = times, .ends = latest_, .tolerance = tolerated(latest_)});
    times = latest_;
  }
  messages_ += known.messages * (plan_.ranks_per_unit() / copies);
  for (Seconds& t : times) t += first;
}

/// With noise or losses of messages every group has its own draws. One that loses nothing is not later than one
/// that does.
void StepEngine::collect_drawn(const Gathering& g, const Known& known, const LinkCosts& links, int copies,
                               std::vector<Seconds>& times) {
  const int groups = plan_.ranks_per_unit() / copies;
  latest_.assign(times.size(), -kNotYet);
  std::int64_t messages = 0;
  for (int copy = 0; copy < groups; ++copy) {
    const std::int64_t number = number_of(g, copies, copy);
    if (!draws_messages() && !loses(known.schedule, number)) continue;
    expand(times, copies);
    std::vector<int> ranks;
    for (const int unit : g.members)
      for (int c = 0; c < copies; ++c)
        ranks.push_back((first_ * plan_.stages() + unit) * plan_.ranks_per_unit() + c * groups + copy);
    messages = sweep(known, links, number, nodes_of(g, copies, copy), std::move(ranks));
    gather_latest(copies, latest_);
  }
  messages_ += messages * groups;
  times = latest_;
}

}  // namespace cox::simulate::training
