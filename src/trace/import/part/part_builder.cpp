// SPDX-License-Identifier: Apache-2.0
#include "trace/import/part/part_builder.hpp"

#include <algorithm>
#include <numeric>

#include "cox/base/hash.hpp"
#include "cox/base/number_text.hpp"

namespace cox::trace {
namespace {

void sort_events(RankTrack& track) {
  EventColumns& e = track.events;
  if (std::is_sorted(e.begin.begin(), e.begin.end())) return;
  std::vector<std::uint32_t> order(e.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return e.begin[a] < e.begin[b]; });
  e.reorder(order);
  std::vector<std::uint32_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<std::uint32_t>(i);
  for (CollectiveLaunch& launch : track.launches) launch.event = place[launch.event];
}

void sort_ranks(Run& run, model::Program& program) {
  std::vector<std::uint32_t> order(run.ranks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return run.ranks[a].rank < run.ranks[b].rank; });
  if (std::is_sorted(order.begin(), order.end())) return;
  std::vector<RankTrack> sorted(order.size());
  std::vector<std::uint32_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted[i] = std::move(run.ranks[order[i]]);
    place[order[i]] = static_cast<std::uint32_t>(i);
  }
  run.ranks.swap(sorted);
  for (std::uint32_t& r : program.rank) r = place[r];
}

void identify(std::vector<Communicator>& communicators) {
  std::map<std::vector<Rank>, std::uint64_t> occurrences;
  for (Communicator& c : communicators) {
    Fnv1a hash;  // the same on all machines, so that parts made apart agree
    if (c.ranks.empty()) {
      hash.add(c.name);
      hash.add_number(static_cast<std::uint64_t>(c.size));
    } else {
      for (const Rank r : c.ranks) hash.add_number(static_cast<std::uint64_t>(r.value()));
      hash.add_number(occurrences[c.ranks]++);
    }
    c.identity = hash.identity();
  }
}

std::uint32_t intern(std::map<std::string, std::uint32_t, std::less<>>& known,
                     std::vector<std::string>& names, std::string_view text) {
  if (const auto at = known.find(text); at != known.end()) return at->second;
  const auto index = static_cast<std::uint32_t>(names.size());
  known.emplace(std::string(text), index);
  names.emplace_back(text);
  return index;
}

}  // namespace

PartBuilder::PartBuilder(std::string file, std::string format) {
  run_.info.provenance = Provenance::Imported;
  source_.file = std::move(file);
  source_.format = std::move(format);
  source_.used = true;
}

std::size_t PartBuilder::add_rank(Rank rank, const std::string& host) {
  auto node =
      std::find_if(run_.nodes.begin(), run_.nodes.end(), [&](const Node& n) { return n.host == host; });
  if (node == run_.nodes.end()) {
    run_.nodes.push_back(
        {.id = NodeId(static_cast<std::int32_t>(run_.nodes.size())), .host = host, .boot_id = {}});
    node = run_.nodes.end() - 1;
  }
  RankTrack track;
  track.rank = rank;
  track.node = node->id;
  track.clock.node = node->id;
  run_.ranks.push_back(std::move(track));
  return run_.ranks.size() - 1;
}

CommId PartBuilder::communicator(std::string_view name, std::vector<Rank> members, int size) {
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  const CommId next(static_cast<std::int32_t>(run_.communicators.size()));
  const auto [at, is_new] = comms_.try_emplace({std::string(name), members}, next);
  if (is_new) {
    Communicator c;
    c.id = next;
    c.name = std::string(name);
    c.size = std::max(size, static_cast<int>(members.size()));
    c.ranks = std::move(members);
    run_.communicators.push_back(std::move(c));
  }
  return at->second;
}

std::uint32_t PartBuilder::name(std::string_view text) {
  return intern(names_, run_.names, text);
}

std::uint32_t PartBuilder::operation_name(std::string_view text) {
  return intern(operation_names_, program_.names, text);
}

std::size_t PartBuilder::add_event(std::size_t rank, const Event& event) {
  EventColumns& e = run_.ranks[rank].events;
  e.push_back(event);
  return e.size() - 1;
}

void PartBuilder::note(std::string text) {
  run_.notes.push_back({.file = source_.file, .text = std::move(text)});
}

void PartBuilder::note_count(std::int64_t n, std::string_view one, std::string_view many,
                             std::string_view rest) {
  if (n <= 0) return;
  std::string text = counted(n, one, many);
  text += rest;
  note(std::move(text));
}

void PartBuilder::count(std::int64_t records, std::int64_t used) {
  source_.records += records;
  source_.used_records += used;
}

Run PartBuilder::finish() && {
  for (RankTrack& track : run_.ranks) {
    sort_events(track);
    std::sort(track.launches.begin(), track.launches.end(),
              [](const CollectiveLaunch& a, const CollectiveLaunch& b) { return a.event < b.event; });
  }
  identify(run_.communicators);
  sort_ranks(run_, program_);
  run_.sources.push_back(std::move(source_));
  return std::move(run_);
}

ImportedJob PartBuilder::finish_job() && {
  ImportedJob out;
  out.run = std::move(*this).finish();
  out.program = std::move(program_);
  name_participants(out.program, out.run);
  return out;
}

void name_participants(model::Program& program, const Run& run) {
  program.ranks.clear();
  for (const RankTrack& track : run.ranks) program.ranks.push_back({.rank = track.rank, .role = track.role});
  program.groups.clear();
  for (const Communicator& c : run.communicators) program.groups.push_back({.name = c.name, .size = c.size});
  program.world_size = run.world_size;
}

}  // namespace cox::trace
