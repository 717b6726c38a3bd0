// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "cox/base/stats.hpp"

#include "diagnose/fabric/pass.hpp"
#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kLeastRepetitions = 5;
constexpr std::size_t kLeastAlike = 3;
constexpr std::size_t kToldSizes = 16;
constexpr double kDip = 1.5;
constexpr double kLeastSlow = 1.25;
constexpr double kSpreads = 5;
constexpr double kLeastDips = 0.05;
constexpr double kDipsBeyondOthers = 3;
/// Of as many dips by chance, over all groups, where the group dips as often as those alike.
constexpr double kDipChance = 1e-3;

/// One operation as its members saw it.
struct OpTransfer {
  Duration shortest = Duration::max();
  Bytes bytes{};
  std::int32_t seen = 0;
  bool usable = true;
};

std::vector<OpTransfer> gather(const Matched& matched) {
  const Matching& m = matched.operations();
  std::vector<OpTransfer> ops(m.ops.size());
  for (std::size_t r = 0; r < matched.ranks(); ++r) {
    const trace::EventColumns& e = matched.track(r).events;
    SyncCursor cursor = matched.walk(r);
    SyncPoint point;
    const auto add = [&](const Call& call) {
      OpTransfer& op =
          ops[m.groups[static_cast<std::size_t>(call.group)].first_op + static_cast<std::size_t>(call.op)];
      const std::size_t i = call.event;
      // Members of a v or w form contribute different sizes; a call that only starts
      // says nothing of the transfer.
      if (e.end[i] == trace::kStillRunning || (e.flags[i] & (trace::kVariable | trace::kNonBlocking)) != 0)
        op.usable = false;
      if (op.seen++ > 0 && op.bytes != e.bytes[i]) op.usable = false;
      op.bytes = e.bytes[i];
      op.shortest = std::min(op.shortest, positive_part(minus_clamped(e.end[i], e.begin[i])));
    };
    while (cursor.next(point, add)) {
    }
  }
  return ops;
}

/// Operations of one kind and size in one group.
struct SizeSample {
  SizeTransfer told;
  double total = 0;  ///< seconds, of all repetitions
  std::int64_t dips = 0;
};

SizeSample summarise(model::Collective kind, Bytes bytes, int members, std::vector<double>& seconds) {
  SizeSample s;
  s.told.kind = kind;
  s.told.bytes = bytes;
  s.told.repetitions = static_cast<std::int64_t>(seconds.size());
  const double best = *std::min_element(seconds.begin(), seconds.end());
  const double reference = quantile_in_place(seconds, 0.25);
  std::vector<double> dips;
  for (const double t : seconds) {
    s.total += t;
    if (reference > 0 && t > kDip * reference) dips.push_back(t / reference);
  }
  s.told.lower_quartile = duration_from_seconds(reference);
  if (best > 0)
    s.told.best_busbw = Bandwidth::bytes_per_s(static_cast<double>(bytes.count()) / best *
                                               model::busbw_factor(kind, members));
  s.dips = static_cast<std::int64_t>(dips.size());
  s.told.dip_ratio = static_cast<double>(dips.size()) / static_cast<double>(seconds.size());
  if (!dips.empty()) s.told.dip_depth = median_in_place(dips);
  return s;
}

std::vector<SizeSample> sizes_of(const Matching& m, const Group& group, const std::vector<OpTransfer>& ops) {
  std::vector<std::tuple<model::Collective, Bytes, double>> samples;
  std::set<std::pair<model::Collective, Bytes>> started;
  for (std::size_t i = group.first_op; i < group.first_op + static_cast<std::size_t>(group.ops); ++i) {
    const model::Collective kind = m.ops[i].kind;
    if (!ops[i].usable || ops[i].seen != group.declared || m.ops[i].mismatch ||
        !model::synchronizes_all(kind))
      continue;
    if (started.emplace(kind, ops[i].bytes).second) continue;
    samples.emplace_back(kind, ops[i].bytes, in_seconds(ops[i].shortest));
  }
  std::sort(samples.begin(), samples.end());
  std::vector<SizeSample> sizes;
  std::vector<double> seconds;
  for (std::size_t i = 0; i < samples.size();) {
    const auto [kind, bytes, first] = samples[i];
    seconds.clear();
    for (; i < samples.size() && std::get<0>(samples[i]) == kind && std::get<1>(samples[i]) == bytes; ++i)
      seconds.push_back(std::get<2>(samples[i]));
    if (seconds.size() >= kLeastRepetitions)
      sizes.push_back(summarise(kind, bytes, static_cast<int>(group.declared), seconds));
  }
  return sizes;
}

/// What makes groups comparable: the same operation on as many members, spread alike over as many hosts.
using Shape = std::tuple<model::Collective, Bytes, std::size_t, std::size_t, std::size_t>;

struct Measured {
  GroupTransfer told;
  std::vector<SizeSample> sizes;
  std::size_t members = 0;
  std::size_t most_per_host = 0;

  [[nodiscard]] Shape shape(const SizeSample& s) const {
    return {s.told.kind, s.told.bytes, members, static_cast<std::size_t>(told.hosts), most_per_host};
  }
};

Measured describe_group(const Matched& matched, const Group& group, std::vector<SizeSample> sizes) {
  Measured g;
  const trace::Communicator& comm = matched.communicator(group.comm);
  g.told.comm = comm.id;
  g.told.name = comm.name;
  std::map<NodeId, std::size_t> hosts;
  for (const auto r : group.members) {
    const trace::RankTrack& track = matched.track(static_cast<std::size_t>(r));
    g.told.ranks.push_back(track.rank);
    g.most_per_host = std::max(g.most_per_host, ++hosts[track.node]);
  }
  g.told.hosts = static_cast<std::int64_t>(hosts.size());
  g.members = group.members.size();
  std::int64_t repetitions = 0;
  std::int64_t dips = 0;
  std::vector<double> depths;
  for (const SizeSample& s : sizes) {
    repetitions += s.told.repetitions;
    dips += s.dips;
    if (s.dips > 0) depths.push_back(s.told.dip_depth);
  }
  if (repetitions > 0) g.told.dip_ratio = static_cast<double>(dips) / static_cast<double>(repetitions);
  if (!depths.empty()) g.told.dip_depth = median_in_place(depths);
  g.sizes = std::move(sizes);
  return g;
}

/// Half a dip more than the usual is granted: that those alike had none does not mean that they never do.
bool more_than_luck(double dip_ratio, double usual_dips, double compared, std::size_t groups) {
  const auto trials = static_cast<std::int64_t>(compared);
  const auto dips = std::llround(dip_ratio * compared);
  const double chance = binomial_upper_tail(dips, trials, std::min(1.0, (usual_dips + 0.5) / compared));
  return chance * static_cast<double>(groups) <= kDipChance;
}

/// Holds each group against those alike: weighted by the time that each size takes.
void compare(std::vector<Measured>& groups) {
  std::map<Shape, std::vector<double>> references;
  std::map<Shape, std::vector<double>> dips;
  for (const Measured& g : groups)
    for (const SizeSample& s : g.sizes) {
      references[g.shape(s)].push_back(in_seconds(s.told.lower_quartile));
      dips[g.shape(s)].push_back(s.told.dip_ratio);
    }
  for (Measured& g : groups) {
    double own = 0;
    double usual = 0;
    double usual_dips = 0;
    double compared = 0;
    for (const SizeSample& s : g.sizes) {
      const auto& alike = references[g.shape(s)];
      const auto repetitions = static_cast<double>(s.told.repetitions);
      g.told.alike = std::max(g.told.alike, static_cast<std::int64_t>(alike.size()));
      if (alike.size() < kLeastAlike) continue;
      own += in_seconds(s.told.lower_quartile) * repetitions;
      usual += median(alike) * repetitions;
      usual_dips += median(dips[g.shape(s)]) * repetitions;
      compared += repetitions;
    }
    if (usual <= 0) continue;
    g.told.slow_ratio = own / usual;
    g.told.slow_sometimes = g.told.dip_ratio >= kLeastDips &&
                            g.told.dip_ratio > kDipsBeyondOthers * usual_dips / compared &&
                            more_than_luck(g.told.dip_ratio, usual_dips, compared, groups.size());
  }
}

/// Marks those that stand out from the spread of all that cross hosts, or of all that do not.
void mark_slow(std::vector<Measured>& groups) {
  for (const bool crossing : {false, true}) {
    std::vector<double> ratios;
    for (const Measured& g : groups)
      if ((g.told.hosts > 1) == crossing && g.told.slow_ratio > 0)
        ratios.push_back(std::log(g.told.slow_ratio));
    if (ratios.size() < kLeastAlike) continue;
    const double bar = std::max(kLeastSlow, std::exp(kSpreads * scaled_mad(ratios)));
    for (Measured& g : groups)
      if ((g.told.hosts > 1) == crossing) g.told.slow_always = g.told.slow_ratio >= bar;
  }
}

}  // namespace

std::vector<GroupTransfer> measure_transfers(const Matched& matched) {
  const Matching& m = matched.operations();
  const std::vector<OpTransfer> ops = gather(matched);
  std::vector<Measured> groups;
  for (const Group& group : m.groups) {
    if (group.waits || group.comm < 0 || group.declared < 2 ||
        group.declared != static_cast<std::int64_t>(group.members.size()))
      continue;
    std::vector<SizeSample> sizes = sizes_of(m, group, ops);
    if (!sizes.empty()) groups.push_back(describe_group(matched, group, std::move(sizes)));
  }
  compare(groups);
  mark_slow(groups);
  std::vector<GroupTransfer> out;
  for (Measured& g : groups) {
    std::stable_sort(g.sizes.begin(), g.sizes.end(),
                     [](const SizeSample& a, const SizeSample& b) { return a.total > b.total; });
    for (const SizeSample& s : g.sizes)
      if (g.told.sizes.size() < kToldSizes) g.told.sizes.push_back(s.told);
    out.push_back(std::move(g.told));
  }
  return out;
}

}  // namespace cox::diagnose
