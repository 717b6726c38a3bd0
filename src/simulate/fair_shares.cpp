// SPDX-License-Identifier: Apache-2.0
#include "simulate/fair_shares.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"

namespace cox::simulate {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// Levels closer than this are one level: far above rounding, far below what a result shows.
constexpr double kSame = 1e-14;

bool same(double a, double b) {
  return a == b || std::abs(a - b) <= kSame * b;
}

}  // namespace

FairShares::FairShares(std::vector<double> capacity, Options options)
    : options_(std::move(options)), capacity_(std::move(capacity)) {
  level_.assign(capacity_.size(), kInfinite);
  links_.resize(capacity_.size());
}

void FairShares::mark(LinkIndex link) {
  if (links_[link].dirty) return;
  links_[link].dirty = true;
  queue_.push_back(link);
}

void FairShares::touch(FlowSlot slot) {
  Flow& flow = flows_[slot];
  if (flow.touched) return;
  flow.touched = true;
  touched_.push_back(slot);
}

void FairShares::set_capacity(LinkIndex link, double bytes_per_s) {
  capacity_[link] = bytes_per_s;
  mark(link);
}

void FairShares::start(FlowSlot slot, std::span<const Hop> hops) {
  if (slot >= flows_.size()) flows_.resize(slot + 1);
  Flow& flow = flows_[slot];
  COX_ASSERT(!flow.on, "a flow started twice");
  if (flow.room < hops.size()) {
    flow.first = static_cast<std::uint32_t>(hops_.size());
    flow.room = static_cast<std::uint32_t>(hops.size());
    hops_.resize(hops_.size() + hops.size());
  }
  flow.on = true;
  flow.count = static_cast<std::uint32_t>(hops.size());
  flow.rate = 0;
  for (std::uint32_t i = 0; i < flow.count; ++i) {
    const Hop& hop = hops[i];
    LinkState& link = links_[hop.link];
    hops_[flow.first + i] = {hop.link, static_cast<std::uint32_t>(link.members.size()), hop.stage, hop.part};
    link.members.push_back({slot, i, hop.part});
    mark(hop.link);
  }
  touch(slot);
}

void FairShares::stop(FlowSlot slot) {
  Flow& flow = flows_[slot];
  COX_ASSERT(flow.on, "a flow stopped that is not under way");
  flow.on = false;
  for (std::uint32_t i = 0; i < flow.count; ++i) {
    const FlowHop& hop = hops_[flow.first + i];
    std::vector<Member>& members = links_[hop.link].members;
    members[hop.place] = members.back();
    hops_[flows_[members[hop.place].slot].first + members[hop.place].hop].place = hop.place;
    members.pop_back();
    mark(hop.link);
  }
}

double FairShares::fill(const LinkState& link, double capacity) {
  // u_f of every member; those below the level are taken out until none is.
  std::size_t open = 0;
  double parts = 0;
  for (const Member& m : link.members) {
    const Flow& flow = flows_[m.slot];
    const FlowHop* hops = hops_.data() + flow.first;
    double limit = kInfinite;
    for (std::uint32_t i = 0; i < flow.count; ++i)
      if (i != m.hop) limit = std::min(limit, level_[hops[i].link]);
    limits_[open] = limit;
    parts_[open++] = m.part;
    parts += m.part;
  }
  double left = capacity;
  double level = left / parts;
  while (true) {
    std::size_t kept = 0;
    double kept_parts = 0;
    for (std::size_t i = 0; i < open; ++i) {
      if (limits_[i] <= level) {
        left -= parts_[i] * limits_[i];
      } else {
        limits_[kept] = limits_[i];
        kept_parts += parts_[kept] = parts_[i];
        ++kept;
      }
    }
    if (kept == 0) return kInfinite;
    if (kept == open) return level;
    open = kept;
    level = left / kept_parts;
  }
}

// The lowest level behind this link on any of its flows' ways.
double FairShares::held_up(const LinkState& link) const {
  double lowest = kInfinite;
  for (const Member& m : link.members) {
    const Flow& flow = flows_[m.slot];
    const FlowHop* hops = hops_.data() + flow.first;
    for (std::uint32_t i = 0; i < flow.count; ++i)
      if (hops[i].stage > hops[m.hop].stage) lowest = std::min(lowest, level_[hops[i].link]);
  }
  return lowest;
}

void FairShares::evaluate(LinkIndex index) {
  ++evaluated_;
  LinkState& link = links_[index];
  const std::size_t n = link.members.size();
  double level = kInfinite;
  if (n > 0 && capacity_[index] < kInfinite) {
    if (limits_.size() < n) limits_.resize(2 * n), parts_.resize(2 * n);
    double capacity = capacity_[index];
    const IncastLoss& incast = options_.incast;
    if (incast.fan_in > 0 && options_.receiving[index] && n > static_cast<std::size_t>(incast.fan_in))
      capacity *= std::max(incast.floor_ratio, static_cast<double>(incast.fan_in) / static_cast<double>(n));
    level = fill(link, capacity);
  }
  if (options_.pause) level = std::min(level, held_up(link));
  const double before = level_[index];
  if (same(level, before)) return;
  level_[index] = level;
  spread(index, before, level);
}

// Marks the links that see the change: those whose level is not below both values.
void FairShares::spread(LinkIndex index, double before, double after) {
  const double lower = std::min(before, after);
  for (const Member& m : links_[index].members) {
    touch(m.slot);
    const Flow& flow = flows_[m.slot];
    const FlowHop* hops = hops_.data() + flow.first;
    for (std::uint32_t i = 0; i < flow.count; ++i) {
      const double level = level_[hops[i].link];
      if (i != m.hop && (lower < level || (options_.pause && lower <= level))) mark(hops[i].link);
    }
  }
}

// With pause frames two links could hold each other down for ever; from above they cannot.
void FairShares::restart_levels() {
  std::fill(level_.begin(), level_.end(), kInfinite);
  for (LinkIndex l = 0; l < links_.size(); ++l)
    if (!links_[l].members.empty()) mark(l);
  for (FlowSlot s = 0; s < flows_.size(); ++s)
    if (flows_[s].on) touch(s);
}

std::span<const FlowSlot> FairShares::settle() {
  if (options_.pause && !queue_.empty()) restart_levels();
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const LinkIndex link = queue_[head];
    links_[link].dirty = false;
    evaluate(link);
  }
  queue_.clear();
  changed_.clear();
  for (const FlowSlot slot : touched_) {
    Flow& flow = flows_[slot];
    flow.touched = false;
    if (!flow.on) continue;
    double rate = kInfinite;
    for (std::uint32_t i = 0; i < flow.count; ++i) rate = std::min(rate, level_[hops_[flow.first + i].link]);
    if (rate == flow.rate) continue;
    flow.rate = rate;
    changed_.push_back(slot);
  }
  touched_.clear();
  return changed_;
}

}  // namespace cox::simulate
