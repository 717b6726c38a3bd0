// SPDX-License-Identifier: Apache-2.0
#include "trace/run/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/parallel.hpp"

#include "trace/run/communicators.hpp"
#include "trace/run/moved_process.hpp"
#include "trace/run/node_axes.hpp"
#include "trace/run/selection.hpp"

namespace cox::trace {
namespace {

void note_unconnected(const std::vector<Node>& nodes, std::vector<Note>& notes) {
  constexpr std::size_t kMostNamed = 8;
  std::string names;
  std::size_t count = 0;
  for (const Node& node : nodes) {
    if (node.clock.source != ClockSource::Realtime) continue;
    if (++count <= kMostNamed) names += (names.empty() ? "" : ", ") + node.host;
  }
  if (count == 0) return;
  if (count > kMostNamed) names += fmt::format(" and {} more", count - kMostNamed);
  notes.push_back(
      {.file = {},
       .text = fmt::format("clocks of {} are put beside {}'s by realtime alone: too few operations "
                           "hold ranks of both",
                           names, nodes.front().host)});
}

RankTrack track_of(ProcessFile& p, NodeId node) {
  RankTrack t;
  t.rank = Rank{p.rank};
  t.node = node;
  t.local_rank = LocalRank{p.local_rank};
  t.pid = p.pid;
  t.pid_namespace = p.pid_namespace;
  t.start_time = p.start_time;
  t.attempt = p.attempt;
  t.node_number = p.node_number;
  t.local_size = p.local_size;
  t.launcher = std::move(p.launcher);
  t.program = std::move(p.program);
  t.library = std::move(p.library);
  t.timing = std::move(p.timing);
  t.clock = {.node = node, .kind = p.clock_kind, .residual = p.residual};
  t.state = p.state;
  t.overhead_per_event = p.overhead;
  t.dropped_records = p.dropped_records;
  t.recycled_records = p.recycled_records;
  t.unobserved_calls = p.unobserved_calls;
  t.events = std::move(p.events);
  t.samples = std::move(p.samples);
  t.locality = std::move(p.locality);
  t.activities = std::move(p.activities);
  t.launches = std::move(p.launches);
  t.useful = std::move(p.useful);
  t.role = p.role;
  return t;
}

void take_world_size(const std::vector<ProcessFile>& processes, Run& run) {
  for (const ProcessFile& p : processes) run.world_size = std::max(run.world_size, p.world_size);
  run.world_size = std::min(run.world_size, kMaxRank);
  for (const ProcessFile& p : processes) {
    if (p.world_size > 0 && p.world_size != run.world_size)
      run.notes.push_back({.file = p.file,
                           .text = fmt::format("rank {} says that there {} {}, another says {}", p.rank,
                                               p.world_size == 1 ? "is" : "are",
                                               counted(p.world_size, "rank", "ranks"), run.world_size)});
    else if (run.world_size > 0 && p.rank >= run.world_size)
      run.notes.push_back({.file = p.file,
                           .text = fmt::format("rank {} of {} is out of range", p.rank,
                                               counted(run.world_size, "rank", "ranks"))});
  }
}

std::int64_t realtime_of(Int128 origin_ps, std::optional<std::int64_t> offset_ns) {
  const Int128 ns = origin_ps / 1000 + offset_ns.value_or(0);
  return offset_ns && ns >= 0 && ns <= INT64_MAX ? static_cast<std::int64_t>(ns) : 0;
}

// What each process's file says; what guests say in the same words stands there once.
std::vector<Note> notes_of(std::vector<ProcessFile>& processes) {
  std::vector<Note> notes;
  std::map<std::string, std::size_t, std::less<>> also;  // files that say the same as an earlier one
  for (ProcessFile& p : processes)
    for (std::string& note : p.notes) {
      const bool by_guest = note.starts_with(kGuestSays);
      if (by_guest && ++also[note] > 1) continue;
      notes.push_back({.file = p.file, .text = std::move(note)});
    }
  for (Note& note : notes) {
    const auto said = also.find(note.text);
    if (said == also.end() || said->second < 2) continue;
    note.text += fmt::format(
        " (and {})", counted(static_cast<std::int64_t>(said->second) - 1, "more process", "more processes"));
  }
  return notes;
}

}  // namespace

Run assemble(std::vector<ProcessFile> processes, int threads) {
  Run run;
  run.notes = notes_of(processes);
  processes = one_per_rank(std::move(processes), run.notes);
  if (processes.empty()) return run;
  take_world_size(processes, run);
  for (const ProcessFile& p : processes)
    if (run.info.job.empty()) run.info.job = p.job;

  MatchedCommunicators matched = match_communicators(processes);
  NodeAxes placed = place_nodes(processes, matched, threads);
  const std::optional<Int128> origin = earliest(processes, placed);
  run.origin_realtime_ns = origin ? realtime_of(*origin, placed.realtime_offset_ns[0]) : 0;
  for (std::size_t i = 0; i < placed.nodes.size(); ++i)
    describe_clock(placed, i, origin.value_or(0), placed.nodes[i].clock);
  for (std::size_t i = 0; origin && i < placed.nodes.size(); ++i)
    if (const auto shown = clock_at_origin(placed, i, *origin);
        shown && *shown >= 0 && *shown / 1000 <= INT64_MAX)
      placed.nodes[i].monotonic_origin_ns = static_cast<std::int64_t>(*shown / 1000);
  run.nodes = placed.nodes;
  note_unconnected(run.nodes, run.notes);
  run.communicators = std::move(matched.all);
  for (Note& note : matched.notes) run.notes.push_back(std::move(note));

  std::vector<MovedProcess> moved(processes.size());
  parallel_for(processes.size(), threads, [&](std::size_t i) {
    moved[i] = move_process(processes[i], Mover(placed, i, origin.value_or(0)), matched.local[i]);
  });
  for (std::size_t i = 0; i < processes.size(); ++i) {
    ProcessFile& p = processes[i];
    if (!moved[i].usable)
      run.notes.push_back(
          {.file = p.file,
           .text = fmt::format("rank {}: its clock is more than 100 days from the others', its "
                               "events are not used",
                               p.rank)});
    if (moved[i].unknown_comm > 0)
      run.notes.push_back({.file = p.file,
                           .text = fmt::format("rank {}: {} a communicator that is not described", p.rank,
                                               counted(static_cast<std::int64_t>(moved[i].unknown_comm),
                                                       "event names", "events name"))});
    if (!Mover(placed, i, 0).known() && p.events.size() > 0)
      run.notes.push_back(
          {.file = p.file,
           .text = fmt::format("rank {}: its times cannot be compared with other ranks'", p.rank)});
    run.ranks.push_back(track_of(p, run.nodes[placed.processes[i].node].id));
  }
  return run;
}

}  // namespace cox::trace
