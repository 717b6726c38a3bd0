// SPDX-License-Identifier: Apache-2.0
#include "trace/import/tables/operation_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace cox::trace {
namespace {

struct NamedMeaning {
  std::string_view type;
  OperationMeaning meaning;
};

constexpr OperationMeaning compute(PhaseKind phase) {
  return {.phase = phase};
}
constexpr OperationMeaning collective(model::Collective c, OperationGroup group) {
  return {.kind = OperationKind::Collective, .group = group, .collective = c};
}
constexpr OperationMeaning message(OperationKind kind, int peer) {
  return {.kind = kind,
          .group = OperationGroup::Pipeline,
          .collective = model::Collective::SendRecv,
          .peer = peer};
}

constexpr std::array kMeanings{
    NamedMeaning{"forward-compute", compute(PhaseKind::Forward)},
    NamedMeaning{"backward-compute", compute(PhaseKind::Backward)},
    NamedMeaning{"optimizer", compute(PhaseKind::Optimizer)},
    NamedMeaning{"gc", compute(PhaseKind::Other)},
    NamedMeaning{"forward-send", message(OperationKind::Send, 1)},
    NamedMeaning{"forward-recv", message(OperationKind::Receive, -1)},
    NamedMeaning{"backward-send", message(OperationKind::Send, -1)},
    NamedMeaning{"backward-recv", message(OperationKind::Receive, 1)},
    NamedMeaning{"params-all-gather", collective(model::Collective::AllGather, OperationGroup::Data)},
    NamedMeaning{"grads-reduce-scatter", collective(model::Collective::ReduceScatter, OperationGroup::Data)},
    NamedMeaning{"separate-grads-all-reduce", collective(model::Collective::AllReduce, OperationGroup::Data)},
    // Among the tensor ranks of one stage, whom the table does not list.
    NamedMeaning{"layernorm-grads-all-reduce",
                 collective(model::Collective::AllReduce, OperationGroup::None)},
    NamedMeaning{"embedding-grads-all-reduce",
                 collective(model::Collective::AllReduce, OperationGroup::Ends)},
    // Clips by the norm over all ranks, so it ends with an all-reduce of one number.
    NamedMeaning{"optimizer-clip-main-grad", collective(model::Collective::AllReduce, OperationGroup::World)},
};

struct Span {
  Duration begin;
  Duration end;
};

Duration end_of(const model::Program& o, std::size_t i) {
  return Duration(o.begin[i].count() + o.duration[i].count());  // both within 50 days of zero
}

/// Sorted, without overlaps.
void unite(std::vector<Span>& spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  std::size_t kept = 0;
  for (const Span& s : spans) {
    if (kept > 0 && s.begin <= spans[kept - 1].end)
      spans[kept - 1].end = std::max(spans[kept - 1].end, s.end);
    else
      spans[kept++] = s;
  }
  spans.resize(kept);
}

/// Position of every collective in its communicator's order: the same on all members, also where one of them
/// lacks a row.
std::vector<std::uint32_t> number_collectives(const model::Program& o,
                                              const std::vector<OperationMeaning>& meanings) {
  struct Call {
    std::int32_t comm;
    std::int32_t step;
    Duration begin;
    std::uint32_t name;
    std::int32_t sequence;
  };
  std::map<std::tuple<std::int32_t, std::int32_t, std::uint32_t, std::int32_t>, Duration> first;
  const auto key = [&](std::size_t i) {
    return std::tuple(o.comm[i].value(), o.step[i], o.name[i], o.sequence[i]);
  };
  for (std::size_t i = 0; i < o.size(); ++i) {
    if (o.comm[i] == kNoComm || meanings[o.name[i]].kind != OperationKind::Collective) continue;
    const auto [at, is_new] = first.try_emplace(key(i), o.begin[i]);
    at->second = std::min(at->second, o.begin[i]);
  }
  std::vector<Call> calls;
  calls.reserve(first.size());
  for (const auto& [k, begin] : first)
    calls.push_back({std::get<0>(k), std::get<1>(k), begin, std::get<2>(k), std::get<3>(k)});
  std::stable_sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
    return std::tie(a.comm, a.step, a.begin) < std::tie(b.comm, b.step, b.begin);
  });
  std::map<std::tuple<std::int32_t, std::int32_t, std::uint32_t, std::int32_t>, std::uint32_t> number;
  std::uint32_t next = 0;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    if (c > 0 && calls[c].comm != calls[c - 1].comm) next = 0;
    number[{calls[c].comm, calls[c].step, calls[c].name, calls[c].sequence}] = next++;
  }
  std::vector<std::uint32_t> out(o.size(), 0);
  for (std::size_t i = 0; i < o.size(); ++i)
    if (const auto at = number.find(key(i)); at != number.end()) out[i] = at->second;
  return out;
}

/// Makes the events of one rank.
class RankEvents {
 public:
  RankEvents(PartBuilder& builder, const std::vector<OperationMeaning>& meanings,
             const std::vector<std::uint32_t>& numbers, const OperationGroups& groups)
      : builder_(builder), o_(builder.program()), meanings_(meanings), numbers_(numbers) {
    std::map<std::int32_t, std::uint32_t> next;
    const std::vector<RankTrack>& ranks = builder.run().ranks;  // sorted, as members are
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const std::int32_t comm = groups.of(OperationGroup::Pipeline, r).value();
      stages_[comm][ranks[r].role.pipeline] = next[comm]++;
    }
  }

  void add(std::size_t track, const std::vector<std::uint32_t>& operations) {
    std::vector<Span> computing;
    for (const std::uint32_t i : operations)
      if (meaning(i).kind == OperationKind::Compute) computing.push_back({o_.begin[i], end_of(o_, i)});
    unite(computing);
    std::int64_t step = INT64_MIN;
    Span met{};  // the last collective so far
    for (const std::uint32_t i : operations) {
      if (o_.step[i] != step) {
        step = o_.step[i];
        const Duration at = begin_behind(met, o_.begin[i]);
        if (step >= 0)
          builder_.add_event(track, {.kind = EventKind::Step, .begin = at, .end = at, .bytes = Bytes(step)});
      }
      if (meaning(i).kind == OperationKind::Collective && end_of(o_, i) > met.end)
        met = {o_.begin[i], end_of(o_, i)};
      add_operation(track, i, computing);
    }
    add_waits(track, operations, computing);
  }

 private:
  [[nodiscard]] const OperationMeaning& meaning(std::size_t i) const { return meanings_[o_.name[i]]; }

  /// Where a step begins that follows a collective: rounded begins and lengths touch or overlap by a digit, and a collective
  /// that ended behind the mark would be one of the next step. A tenth of it and more is overlap, and is left.
  static Duration begin_behind(const Span& met, Duration begin) {
    const bool touch = met.end > begin && (met.end - begin) * 10 <= met.end - met.begin;
    return touch ? met.end : begin;
  }

  void add_operation(std::size_t track, std::uint32_t i, const std::vector<Span>& computing) {
    const OperationMeaning& m = meaning(i);
    Event e{.begin = o_.begin[i], .end = end_of(o_, i)};
    if (m.kind == OperationKind::Compute) {
      if (e.begin == e.end) return;
      e.kind = EventKind::Phase;
      e.op = static_cast<std::uint8_t>(m.phase);
      builder_.add_event(track, e);
    } else if (m.kind == OperationKind::Collective && o_.comm[i] != kNoComm) {
      e.op = static_cast<std::uint8_t>(m.collective);
      e.comm = o_.comm[i];
      e.seq = numbers_[i];
      e.flags = kTagged;
      if (is_beside(e, computing)) {
        e.flags |= kOffThread;
        e.thread = 1;
      }
      builder_.add_event(track, e);
    }
  }

  /// Whether the rank computes while the collective runs, so that it does not wait for it there.
  static bool is_beside(const Event& e, const std::vector<Span>& computing) {
    const auto at = std::upper_bound(computing.begin(), computing.end(), e.begin,
                                     [](Duration b, const Span& s) { return b < s.end; });
    if (at == computing.end() || at->begin >= e.end) return false;
    // Clocks of a table touch where one thing follows another: less than a tenth is no overlap.
    const Duration overlap = std::min(at->end, e.end) - std::max(at->begin, e.begin);
    return overlap * 10 > e.end - e.begin;
  }

  /// A rank waits for a pipeline neighbour where it receives and does not compute;
  /// two receives at a time are one wait.
  void add_waits(std::size_t track, const std::vector<std::uint32_t>& operations,
                 const std::vector<Span>& computing) {
    Duration done = Duration::min();
    for (const std::uint32_t i : operations) {
      const OperationMeaning& m = meaning(i);
      if (m.kind != OperationKind::Receive || o_.comm[i] == kNoComm) continue;
      const Duration end = end_of(o_, i);
      Duration at = std::max(o_.begin[i], done);
      auto busy = std::upper_bound(computing.begin(), computing.end(), at,
                                   [](Duration b, const Span& s) { return b < s.end; });
      while (at < end) {
        const Duration until = busy == computing.end() ? end : std::min(end, busy->begin);
        if (until > at) add_wait(track, i, {at, until});
        if (busy == computing.end()) break;
        at = std::max(at, busy->end);
        ++busy;
      }
      done = std::max(done, end);
    }
  }

  void add_wait(std::size_t track, std::uint32_t i, Span span) {
    builder_.add_event(track, {.kind = EventKind::Wait,
                               .op = static_cast<std::uint8_t>(WaitKind::Peer),
                               .begin = span.begin,
                               .end = span.end,
                               .comm = o_.comm[i],
                               .aux = peer_of(track, i)});
  }

  /// The peer's place among the members, who are sorted by rank.
  [[nodiscard]] std::uint32_t peer_of(std::size_t track, std::uint32_t i) const {
    const std::map<int, std::uint32_t>& members = stages_.at(o_.comm[i].value());
    const int stages = members.rbegin()->first + 1;
    const int wanted = (builder_.run().ranks[track].role.pipeline + meaning(i).peer + stages) % stages;
    const auto at = members.find(wanted);
    return at == members.end() ? kAnyPeer : at->second;
  }

  PartBuilder& builder_;
  const model::Program& o_;
  const std::vector<OperationMeaning>& meanings_;
  const std::vector<std::uint32_t>& numbers_;
  std::map<std::int32_t, std::map<int, std::uint32_t>> stages_;  ///< pipeline: place of each stage's member
};

}  // namespace

OperationMeaning meaning_of(std::string_view type) {
  for (const NamedMeaning& m : kMeanings)
    if (m.type == type) return m.meaning;
  if (const auto c = model::synchronization_from_spelling(type)) return collective(*c, OperationGroup::Alike);
  return {};
}

OperationGroups::OperationGroups(PartBuilder& builder) {
  const std::vector<RankTrack>& ranks = builder.run().ranks;
  comms_.resize(ranks.size());
  for (auto& c : comms_) c.fill(kNoComm);
  int last_stage = -1;
  for (const RankTrack& t : ranks) last_stage = std::max(last_stage, t.role.pipeline);
  const bool has_places = std::all_of(ranks.begin(), ranks.end(), [](const RankTrack& t) {
    return t.role.data >= 0 && t.role.pipeline >= 0;
  });
  // Name of the group and what its members share; a map keeps both in order.
  std::map<std::tuple<OperationGroup, int, int>, std::vector<std::size_t>> members;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    members[{OperationGroup::World, 0, 0}].push_back(r);
    if (!has_places) continue;
    const model::Role& role = ranks[r].role;
    members[{OperationGroup::Data, role.pipeline, role.tensor}].push_back(r);
    members[{OperationGroup::Pipeline, role.data, role.tensor}].push_back(r);
    if (last_stage > 0 && (role.pipeline == 0 || role.pipeline == last_stage))
      members[{OperationGroup::Ends, role.data, role.tensor}].push_back(r);
  }
  for (const auto& [what, tracks] : members) {
    const auto& [group, place, tensor] = what;
    const std::string tail =
        tensor >= 0 && group != OperationGroup::World ? fmt::format(", tensor {}", tensor) : "";
    std::string name = "all";
    if (group == OperationGroup::Data) name = fmt::format("data, stage {}{}", place, tail);
    if (group == OperationGroup::Pipeline) name = fmt::format("pipeline, data rank {}{}", place, tail);
    if (group == OperationGroup::Ends)
      name = fmt::format("first and last stage, data rank {}{}", place, tail);
    std::vector<Rank> list;
    for (const std::size_t r : tracks) list.push_back(ranks[r].rank);
    const CommId id = builder.communicator(name, std::move(list), static_cast<int>(tracks.size()));
    for (const std::size_t r : tracks) comms_[r][static_cast<std::size_t>(group)] = id;
  }
}

CommId OperationGroups::of(OperationGroup group, std::size_t track) const {
  if (group == OperationGroup::Alike) {
    const CommId data = of(OperationGroup::Data, track);
    return data == kNoComm ? of(OperationGroup::World, track) : data;
  }
  return comms_[track][static_cast<std::size_t>(group)];
}

void add_operation_events(PartBuilder& builder, const OperationGroups& groups) {
  const Run& run = builder.run();
  const model::Program& program = builder.program();
  std::vector<OperationMeaning> meanings;
  meanings.reserve(program.names.size());
  for (const std::string& name : program.names) meanings.push_back(meaning_of(name));
  const std::vector<std::uint32_t> numbers = number_collectives(program, meanings);
  std::vector<std::vector<std::uint32_t>> by_rank(run.ranks.size());
  for (std::size_t i = 0; i < program.size(); ++i)
    by_rank[program.rank[i]].push_back(static_cast<std::uint32_t>(i));
  for (std::vector<std::uint32_t>& list : by_rank)
    std::stable_sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(program.step[a], program.begin[a]) < std::tie(program.step[b], program.begin[b]);
    });
  RankEvents events(builder, meanings, numbers, groups);
  for (std::size_t r = 0; r < by_rank.size(); ++r) events.add(r, by_rank[r]);
}

}  // namespace cox::trace
