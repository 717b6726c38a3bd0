// SPDX-License-Identifier: Apache-2.0
#include "support/make_run.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cox/base/hash.hpp"

namespace cox::test {
namespace {

using trace::EventKind;

/// Counter-based random bits: the draw depends on its coordinates alone.
std::uint64_t mix(std::uint64_t x) {
  return mix_bits(x + kGoldenStep);
}

double uniform(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

/// Standard normal draw. Source: Box, Muller 1958.
double normal(std::uint64_t seed, int rank, int step) {
  const std::uint64_t at =
      mix(mix(seed) ^ (static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint32_t>(step)));
  return std::sqrt(-2 * std::log(uniform(at))) * std::cos(2 * std::numbers::pi * uniform(mix(at)));
}

Duration work_of(const RunShape& s, int rank, int step) {
  Duration work = s.work;
  if (s.jitter > Duration::zero())
    work += Duration{std::llround(normal(s.seed, rank, step) * static_cast<double>(s.jitter.count()))};
  for (const ExtraWork& e : s.extras) {
    if (step < e.first_step || step > e.last_step) continue;
    const int who = e.rotate_every > 0 ? (e.rank + (step - e.first_step) / e.rotate_every) % s.ranks : e.rank;
    if (who == rank) work += e.amount;
  }
  return std::max(work, Duration{1});
}

int node_of(const RunShape& s, int rank) {
  const int per_node = (s.ranks + s.nodes - 1) / s.nodes;
  return rank / per_node;
}

trace::RankTrack empty_track(const RunShape& s, int rank) {
  const int node = node_of(s, rank);
  const int per_node = (s.ranks + s.nodes - 1) / s.nodes;
  trace::RankTrack track;
  track.rank = Rank{rank};
  track.node = NodeId{node};
  track.local_rank = LocalRank{rank % per_node};
  track.pid = 1000 + rank;
  track.program = "/opt/synthetic/train";
  track.library = "synthetic";
  track.timing = "collective=model step=model";
  track.clock = {.node = NodeId{node}, .kind = trace::ClockKind::Monotonic, .residual = Duration::zero()};
  track.state = trace::WriterState::Closed;
  const auto per_step = static_cast<std::size_t>(s.collectives) + (s.step_marks ? 1 : 0);
  track.events.reserve(static_cast<std::size_t>(s.steps) * per_step);
  return track;
}

/// One step of all ranks; `free_at` is when they all start it, and afterwards when they all end it.
void add_step(const RunShape& s, int step, const std::vector<Duration>& offset, Duration& free_at,
              std::vector<trace::RankTrack>& ranks) {
  const Duration start = free_at;
  for (int c = 0; c < s.collectives; ++c) {
    std::vector<Duration> entry(ranks.size());
    for (int r = 0; r < s.ranks; ++r)
      entry[static_cast<std::size_t>(r)] = free_at + work_of(s, r, step) / s.collectives;
    const Duration leave = *std::max_element(entry.begin(), entry.end()) + s.transfer;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const Duration shown = offset[r];
      if (c == 0 && s.step_marks)
        ranks[r].events.push_back(
            {.kind = EventKind::Step, .begin = start + shown, .end = start + shown, .bytes = Bytes{step}});
      ranks[r].events.push_back({.kind = EventKind::Collective,
                                 .op = static_cast<std::uint8_t>(model::Collective::AllReduce),
                                 .begin = entry[r] + shown,
                                 .end = leave + shown,
                                 .bytes = s.bytes,
                                 .comm = CommId{0},
                                 .seq = static_cast<std::uint32_t>(step * s.collectives + c)});
    }
    free_at = leave;
  }
}

}  // namespace

trace::Run make_run(const RunShape& s) {
  trace::Run run;
  run.info.provenance = trace::Provenance::Simulated;
  run.info.name = s.name;
  run.info.tool = "make_run";
  run.origin_realtime_ns = 1'700'000'000'000'000'000;
  run.world_size = s.ranks;
  for (int n = 0; n < s.nodes; ++n)
    run.nodes.push_back({.id = NodeId{n},
                         .host = "node" + std::to_string(n),
                         .boot_id = "00000000-0000-4000-8000-" + std::to_string(100'000'000'000 + n)});
  trace::Communicator world{
      .id = CommId{0}, .identity = mix(s.seed) | 1, .name = "world", .size = s.ranks, .ranks = {}};
  std::vector<Duration> offset;
  for (int r = 0; r < s.ranks; ++r) {
    world.ranks.emplace_back(r);
    run.ranks.push_back(empty_track(s, r));
    const auto node = static_cast<std::size_t>(node_of(s, r));
    offset.push_back(node < s.clock_offset.size() ? s.clock_offset[node] : Duration::zero());
  }
  run.communicators.push_back(std::move(world));
  Duration free_at{};
  for (int step = 0; step < s.steps; ++step) add_step(s, step, offset, free_at, run.ranks);
  return run;
}

}  // namespace cox::test
