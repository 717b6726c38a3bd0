// SPDX-License-Identifier: Apache-2.0
#include "simulate/record/run_from_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "cox/base/version.hpp"

namespace cox::simulate {
namespace {

using trace::EventKind;

Duration rounded(Seconds s) {
  return duration_from_seconds(s.count());
}

}  // namespace

trace::Run empty_run(const model::Scenario& s, int ranks) {
  trace::Run run;
  run.info.provenance = trace::Provenance::Simulated;
  run.info.name = s.name;
  run.info.tool = std::string("cox ") + COX_VERSION;
  run.world_size = ranks;
  const int per_node = std::max(1, s.cluster.devices_per_node);
  for (int n = 0; n * per_node < ranks; ++n) {
    trace::Node node;
    node.id = NodeId{n};
    node.host = fmt::format("n{}", n);
    node.boot_id = trace::name_of(run.info.provenance);  // one clock for all
    run.nodes.push_back(std::move(node));
  }
  run.ranks.resize(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    trace::RankTrack& track = run.ranks[static_cast<std::size_t>(r)];
    track.rank = Rank{r};
    track.node = NodeId{r / per_node};
    track.local_rank = LocalRank{r % per_node};
    track.pid = r + 1;
    track.node_number = r / per_node;
    track.local_size = std::min(per_node, ranks - r / per_node * per_node);
    track.launcher = trace::name_of(run.info.provenance);
    track.program = "simulated";
    track.library = "simulated";
    track.timing = "collective=simulated step=simulated";
    track.clock = {
        .node = NodeId{r / per_node}, .kind = trace::ClockKind::Monotonic, .residual = Duration::zero()};
    track.state = trace::WriterState::Closed;
  }
  return run;
}

void put_on(trace::Run& run, const model::Cluster& cluster, std::span<const int> devices) {
  std::map<int, std::vector<std::size_t>> ranks_of;  // by node
  for (std::size_t r = 0; r < devices.size(); ++r)
    ranks_of[devices[r] / cluster.devices_per_node].push_back(r);
  run.nodes.clear();
  for (const auto& [number, ranks] : ranks_of) {
    trace::Node node;
    node.id = NodeId{static_cast<std::int32_t>(run.nodes.size())};
    node.host = fmt::format("n{}", number);
    node.boot_id = trace::name_of(run.info.provenance);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      trace::RankTrack& track = run.ranks[ranks[i]];
      track.node = track.clock.node = node.id;
      track.node_number = static_cast<int>(run.nodes.size());
      track.local_rank = LocalRank{static_cast<int>(i)};
      track.local_size = static_cast<int>(ranks.size());
    }
    run.nodes.push_back(std::move(node));
  }
}

trace::Event pace_event(std::int64_t step, Seconds begin, Seconds end, const PaceRecord& what) {
  constexpr double kMillion = 1e6;
  constexpr double kMost = 2e9;  // of an int32
  const std::int64_t nanoseconds = std::chrono::duration_cast<Nanoseconds>(what.decision.delay).count();
  const double gain = std::clamp(what.gain * kMillion, -kMost, kMost);
  return {.kind = EventKind::Pace,
          .op = static_cast<std::uint8_t>(what.decision.reason),
          .flags = trace::PaceFlags::of(static_cast<std::uint8_t>(what.decision.state),
                                        static_cast<std::uint8_t>(what.mode)),
          .begin = rounded(begin),
          .end = rounded(end),
          .bytes = Bytes{nanoseconds},
          .comm = CommId{0},
          .seq = static_cast<std::uint32_t>(step),
          .aux = static_cast<std::uint32_t>(static_cast<std::int32_t>(gain))};
}

StepRecorder::StepRecorder(const model::Scenario& s, const model::CollectiveSpec& spec)
    : spec_(spec), run_(empty_run(s, spec.ranks)), arrived_(static_cast<std::size_t>(spec.ranks)) {
  trace::Communicator world;
  world.id = CommId{0};
  world.identity = 1;
  world.name = "world";
  world.size = spec.ranks;
  for (int r = 0; r < spec.ranks; ++r) world.ranks.emplace_back(r);
  world.by_rank = world.ranks;
  run_.communicators.push_back(std::move(world));
  for (trace::RankTrack& track : run_.ranks) track.events.reserve(static_cast<std::size_t>(s.job.steps) * 2);
}

void StepRecorder::begin_step(std::int64_t step, std::span<const Seconds> now) {
  for (std::size_t r = 0; r < now.size(); ++r) {
    const Duration at = rounded(now[r]);
    run_.ranks[r].events.push_back({.kind = EventKind::Step, .begin = at, .end = at, .bytes = Bytes{step}});
  }
}

void StepRecorder::pace(std::size_t rank, std::int64_t step, Seconds begin, Seconds end,
                        const PaceRecord& what) {
  run_.ranks[rank].events.push_back(pace_event(step, begin, end, what));
}

void StepRecorder::arrive(std::span<const Seconds> now) {
  std::copy(now.begin(), now.end(), arrived_.begin());
}

void StepRecorder::depart(std::span<const Seconds> now) {
  for (std::size_t r = 0; r < now.size(); ++r)
    run_.ranks[r].events.push_back({.kind = EventKind::Collective,
                                    .op = static_cast<std::uint8_t>(spec_.kind),
                                    .begin = rounded(arrived_[r]),
                                    .end = rounded(now[r]),
                                    .bytes = spec_.bytes,
                                    .comm = CommId{0},
                                    .seq = number_});
  ++number_;
}

trace::Run StepRecorder::finish() && {
  return std::move(run_);
}

}  // namespace cox::simulate
