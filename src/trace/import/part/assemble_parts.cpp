// SPDX-License-Identifier: Apache-2.0
#include "trace/import/part/assemble_parts.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/trace/time_unit.hpp"

#include "trace/import/bytes/saturating_time.hpp"
#include "trace/import/part/align_sequences.hpp"
#include "trace/import/part/place_by_durations.hpp"
#include "trace/raw/process_file.hpp"
#include "trace/run/assemble.hpp"

namespace cox::trace {
namespace {

std::string file_of(const Run& part) {
  return part.sources.empty() ? std::string() : part.sources.front().file;
}

/// Communicators that a rank's events are on.
std::set<CommId> used_by(const RankTrack& track) {
  std::set<CommId> used;
  CommId last = kNoComm;
  for (const CommId c : track.events.comm)
    if (c != last) used.insert(last = c);
  return used;
}

/// Where no file lists the members of a communicator, they are those that used it.
void fill_members(Run& run) {
  std::map<CommId, std::vector<Rank>> users;
  for (const RankTrack& track : run.ranks)
    for (const CommId c : used_by(track)) users[c].push_back(track.rank);
  for (Communicator& c : run.communicators) {
    if (!c.ranks.empty()) continue;
    c.ranks = users[c.id];
    std::sort(c.ranks.begin(), c.ranks.end());
    c.ranks.erase(std::unique(c.ranks.begin(), c.ranks.end()), c.ranks.end());
    c.size = std::max(c.size, static_cast<int>(c.ranks.size()));
  }
}

/// Communicators as one rank of the part declares them: local numbers are the part's ids plus one.
std::vector<LocalCommunicator> local_communicators(const Run& part, const RankTrack& track,
                                                   const std::vector<std::vector<MetaRanks>>& members) {
  const std::set<CommId> used = used_by(track);
  const Rank rank = track.rank;
  std::vector<LocalCommunicator> out;
  for (const Communicator& c : part.communicators) {
    const auto at = std::lower_bound(c.ranks.begin(), c.ranks.end(), rank);
    const bool member = at != c.ranks.end() && *at == rank;
    if (!member && !(c.ranks.empty() && used.contains(c.id))) continue;
    LocalCommunicator local;
    local.identity = c.identity;
    local.local_number = static_cast<std::uint32_t>(c.id.value()) + 1;
    local.size = c.size;
    local.my_rank = member ? static_cast<int>(at - c.ranks.begin()) : -1;
    local.name = c.name;
    local.members = members[static_cast<std::size_t>(&c - part.communicators.data())];
    out.push_back(std::move(local));
  }
  return out;
}

class Joiner {
 public:
  /// Takes one part apart into processes; names of activities become those of the whole.
  void add(Run part, std::size_t operations) {
    std::vector<std::uint32_t> names(part.names.size());
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = name(part.names[i]);
    std::vector<std::vector<MetaRanks>> members;
    members.reserve(part.communicators.size());
    for (const Communicator& c : part.communicators) members.push_back(ranges_of(c.ranks));
    for (RankTrack& track : part.ranks) processes_.push_back(process_of(part, track, members, names));
    if (part.messages.size() > 0)
      notes_.push_back({.file = file_of(part),
                        .text = counted(static_cast<std::int64_t>(part.messages.size()),
                                        "message is not used beside other files: its ends may lie",
                                        "messages are not used beside other files: their ends may lie") +
                                " in another file"});
    if (operations > 0)
      notes_.push_back(
          {.file = file_of(part),
           .text = counted(static_cast<std::int64_t>(operations),
                           "operation of a table or graph is not put together with other files'",
                           "operations of a table or graph are not put together with other files'")});
    std::move(part.notes.begin(), part.notes.end(), std::back_inserter(notes_));
    std::move(part.sources.begin(), part.sources.end(), std::back_inserter(sources_));
    times_ = std::max(times_, part.times);
    resolution_ = std::max(resolution_, part.resolution);
  }

  Run finish(int threads) && {
    Run run = assemble(std::move(processes_), threads);
    run.info.provenance = Provenance::Imported;
    run.times = times_;
    run.resolution = resolution_;
    run.names = std::move(names_);
    run.sources = std::move(sources_);
    run.notes.insert(run.notes.begin(), std::make_move_iterator(notes_.begin()),
                     std::make_move_iterator(notes_.end()));
    return run;
  }

 private:
  std::uint32_t name(const std::string& text) {
    const auto [at, fresh] = index_.try_emplace(text, static_cast<std::uint32_t>(names_.size()));
    if (fresh) names_.push_back(text);
    return at->second;
  }

  static std::string host_of(const Run& part, const RankTrack& track) {
    for (const Node& node : part.nodes)
      if (node.id == track.node && !node.host.empty()) return node.host;
    return "unknown host of " + file_of(part);
  }

  static ProcessFile process_of(const Run& part, RankTrack& track,
                                const std::vector<std::vector<MetaRanks>>& members,
                                const std::vector<std::uint32_t>& names) {
    ProcessFile p;
    p.file = file_of(part);
    p.pid = track.pid;
    p.rank = track.rank.value();
    p.world_size = part.world_size > 0 ? part.world_size : -1;
    p.local_rank = track.local_rank.value();
    p.state = track.state;
    p.host = host_of(part, track);
    p.job = part.info.job;
    p.launcher = track.launcher;
    p.library = track.library;
    p.program = track.program;
    p.timing = track.timing;
    p.clock_kind = ClockKind::Monotonic;
    p.residual = track.clock.residual;
    p.aligned = part.origin_realtime_ns > 0;
    p.reference_ns = part.origin_realtime_ns;
    if (p.aligned) p.realtime_offset_ns = 0;
    p.dropped_records = track.dropped_records;
    p.recycled_records = track.recycled_records;
    p.communicators = local_communicators(part, track, members);
    p.events = std::move(track.events);
    PackedColumn<CommId> local;
    local.reserve(p.events.size());
    for (const CommId c : p.events.comm) local.push_back(c == kNoComm ? c : CommId(c.value() + 1));
    p.events.comm = std::move(local);
    p.activities = std::move(track.activities);
    for (std::uint32_t& n : p.activities.name) n = names[n];
    p.launches = std::move(track.launches);
    p.useful = std::move(track.useful);
    p.role = track.role;
    return p;
  }

  std::vector<ProcessFile> processes_;
  std::vector<Note> notes_;
  std::vector<SourceFile> sources_;
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t> index_;
  TimesKind times_ = TimesKind::Clocked;
  Duration resolution_{};
};

/// The part's earliest time becomes zero, so that a Run's times never are negative.
void begin_at_zero(Run& run, model::Program& program) {
  Duration first = Duration::max();
  for (const RankTrack& t : run.ranks)
    if (t.events.size() > 0) first = std::min(first, t.events.begin.front());
  if (first == Duration::max() || first >= Duration::zero()) return;
  const auto move = [first](Duration& t) {
    if (t != kStillRunning && t != model::kNoDuration) t = saturating_difference(t, first);
  };
  for (RankTrack& t : run.ranks) {
    for (auto* column : {&t.events.begin, &t.events.end, &t.activities.begin, &t.activities.end,
                         &t.useful.begin, &t.useful.end})
      std::for_each(column->begin(), column->end(), move);
    for (CollectiveLaunch& launch : t.launches) {
      move(launch.begin);
      move(launch.end);
    }
  }
  for (auto* column : {&run.messages.send_begin, &run.messages.send_end, &run.messages.receive_begin,
                       &run.messages.receive_end, &program.begin})
    std::for_each(column->begin(), column->end(), move);
  if (run.origin_realtime_ns > 0) run.origin_realtime_ns += first.count() / 1000;
}

/// Times in another unit than those of the first part, or in one that nobody told, cannot stand beside them. What was
/// left out, as notes and as sources that are not used.
Run leave_out_other_units(std::vector<ImportedJob>& parts) {
  Run left_out;
  const std::optional<Seconds> unit = unknown_unit(parts.front().run.ranks);
  std::erase_if(parts, [&](ImportedJob& part) {
    if (unknown_unit(part.run.ranks) == unit) return false;
    const std::string why = "its times have no unit, or not the one of the other files";
    left_out.notes.push_back({.file = file_of(part.run), .text = "not used: " + why});
    for (SourceFile& source : part.run.sources) {
      source.used = false;
      source.why = why;
      left_out.sources.push_back(std::move(source));
    }
    return true;
  });
  return left_out;
}

}  // namespace

ImportedJob assemble_parts(std::vector<ImportedJob> parts, int threads) {
  ImportedJob job;
  Run left_out = leave_out_other_units(parts);
  if (parts.size() == 1) {
    job = std::move(parts.front());
    begin_at_zero(job.run, job.program);
    fill_members(job.run);
  } else {
    std::vector<Run> runs;
    runs.reserve(parts.size());
    for (ImportedJob& part : parts) runs.push_back(std::move(part.run));
    align_sequences(runs);
    Joiner joiner;
    for (std::size_t i = 0; i < runs.size(); ++i) joiner.add(std::move(runs[i]), parts[i].program.size());
    job.run = std::move(joiner).finish(threads);
  }
  std::move(left_out.notes.begin(), left_out.notes.end(), std::back_inserter(job.run.notes));
  std::move(left_out.sources.begin(), left_out.sources.end(), std::back_inserter(job.run.sources));
  if (job.run.times == TimesKind::Durations) place_by_durations(job.run);
  return job;
}

}  // namespace cox::trace
