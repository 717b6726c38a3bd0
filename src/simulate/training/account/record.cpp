// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/account/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "simulate/record/run_from_steps.hpp"

namespace cox::simulate::training {
namespace {

using trace::EventKind;

Duration in_ps(Seconds s) {
  return duration_from_seconds(s.count());
}

trace::PhaseKind phase_of(StepPart part) {
  switch (part) {
    case StepPart::Forward:
      return trace::PhaseKind::Forward;
    case StepPart::Backward:
      return trace::PhaseKind::Backward;
    case StepPart::Optimizer:
      return trace::PhaseKind::Optimizer;
    default:
      break;
  }
  return trace::PhaseKind::Other;
}

}  // namespace

Recorder::Recorder(const Plan& plan) : plan_(plan), run_(empty_run(plan.scenario(), plan.ranks())) {
  if (!plan.scenario().job.places.packed()) put_on(run_, plan.scenario().cluster, plan.devices());
  add_communicators();
  for (trace::RankTrack& track : run_.ranks) set_role(track);
  const auto ranks = static_cast<std::size_t>(plan.ranks());
  events_.resize(ranks);
  first_.resize(ranks);
  first_activity_.resize(ranks);
  pass_begin_.resize(static_cast<std::size_t>(plan.units()));
  seq_.resize(run_.communicators.size());
  told_.resize(pass_begin_.size());
  run_.names.emplace_back("optimizer");
  names_.assign(2 * static_cast<std::size_t>(plan.job().micro_batches), 0);
}

double Recorder::most_records(const Plan& plan) {
  double per_replica = 0;
  for (const Meeting m : {Meeting::Gradients, Meeting::Parameters, Meeting::None}) {
    double sum = 0;
    for (const StageCode& p : plan.code(m)) sum += static_cast<double>(p.code.size()) * 2;
    per_replica = std::max(per_replica, sum);
  }
  return per_replica * plan.ranks_per_unit() * plan.layout().data * plan.scenario().job.steps;
}

void Recorder::add_group(std::string name, std::vector<Rank> ranks) {
  const auto id = static_cast<std::int32_t>(run_.communicators.size());
  trace::Communicator& group = run_.communicators.emplace_back();
  group.id = CommId{id};
  group.identity = static_cast<std::uint64_t>(id) + 1;
  group.name = std::move(name);
  group.size = static_cast<int>(ranks.size());
  group.ranks = ranks;
  group.by_rank = std::move(ranks);
}

/// Groups of one rank never communicate and are left out.
void Recorder::add_communicators() {
  const model::Layout& l = plan_.layout();
  const auto rank = [&](int data, int stage, int context, int tensor) {
    return Rank{plan_.rank_of(data, stage, context * l.tensor + tensor)};
  };
  const auto next = [&] { return static_cast<int>(run_.communicators.size()); };
  std::vector<Rank> ranks;
  if (l.pipeline > 1) {
    for (int r = 0; r < plan_.ranks(); ++r) ranks.emplace_back(r);
    add_group("world", ranks);
  }
  if (!plan_.job().is_hybrid())
    add_groups(ReplicaGroup::All, [&](int stage, int tensor, Rank /*first*/) {
      return fmt::format("data of stage {} tensor {}", stage, tensor);
    });
  first_tensor_ = next();
  for (int u = 0; l.tensor > 1 && u < plan_.units(); ++u)
    for (int c = 0; c < l.context; ++c) {
      ranks.clear();
      for (int t = 0; t < l.tensor; ++t) ranks.push_back(rank(u / l.pipeline, u % l.pipeline, c, t));
      add_group(fmt::format("tensor of rank {}", ranks.front().value()), ranks);
    }
  first_context_ = next();
  for (int u = 0; l.context > 1 && u < plan_.units(); ++u)
    for (int t = 0; t < l.tensor; ++t) {
      ranks.clear();
      for (int c = 0; c < l.context; ++c) ranks.push_back(rank(u / l.pipeline, u % l.pipeline, c, t));
      add_group(fmt::format("context of rank {}", ranks.front().value()), ranks);
    }
  const auto of_rank = [](std::string_view what) {
    return [what](int /*stage*/, int /*inner*/, Rank first) {
      return fmt::format("{} of rank {}", what, first.value());
    };
  };
  add_groups(ReplicaGroup::Experts, of_rank("experts"));
  if (!plan_.job().is_hybrid()) return;
  add_groups(ReplicaGroup::Shards, of_rank("shards"));
  add_groups(ReplicaGroup::Copies, of_rank("copies of the shard"));
}

/// Of each stage, [group][those beside each other].
void Recorder::add_groups(ReplicaGroup of,
                          const std::function<std::string(int stage, int inner, Rank first)>& name) {
  first_of_[static_cast<std::size_t>(of)] = static_cast<int>(run_.communicators.size());
  if (plan_.costs(of).members == 1) return;
  const ReplicaGroups& groups = plan_.groups();
  for (int stage = 0; stage < plan_.stages(); ++stage)
    for (int g = 0; g < groups.count(of); ++g)
      for (int inner = 0; inner < beside(of); ++inner) {
        std::vector<Rank> ranks;
        for (int m = 0; m < groups.size(of); ++m)
          for (int c = 0; c < groups.ranks_of_member(of); ++c)
            ranks.emplace_back(plan_.rank_of(groups.replica_of(of, g, m), stage, c * beside(of) + inner));
        add_group(name(stage, inner, ranks.front()), ranks);
      }
}

/// Groups of a kind that the ranks of a unit are in.
int Recorder::beside(ReplicaGroup of) const {
  return plan_.ranks_per_unit() / plan_.groups().ranks_of_member(of);
}

CommId Recorder::comm_of(ReplicaGroup of, int stage, int group, int inner) const {
  return CommId{first_of_[static_cast<std::size_t>(of)] +
                (stage * plan_.groups().count(of) + group) * beside(of) + inner % beside(of)};
}
CommId Recorder::tensor_comm(int unit, int context) const {
  return CommId{first_tensor_ + unit * plan_.layout().context + context};
}
CommId Recorder::context_comm(int unit, int tensor) const {
  return CommId{first_context_ + unit * plan_.layout().tensor + tensor};
}
void Recorder::set_role(trace::RankTrack& track) const {
  const model::Layout& l = plan_.layout();
  const auto place = [](int at, int ways) { return ways > 1 ? at : -1; };
  const int unit = track.rank.value() / plan_.ranks_per_unit();
  track.role = {.data = place(unit / l.pipeline, l.data),
                .tensor = place(track.rank.value() % l.tensor, l.tensor),
                .pipeline = place(unit % l.pipeline, l.pipeline),
                .expert = place(unit / l.pipeline % l.expert, l.expert)};
}

void Recorder::open_step(std::int64_t step, int first_unit, const std::vector<double>& factors) {
  step_ = step;
  first_unit_ = first_unit;
  factors_ = &factors;
}

void Recorder::close_step() {
  const std::size_t first = static_cast<std::size_t>(first_rank(0));
  for (std::size_t r = first; r < first + factors_->size(); ++r) {
    std::vector<Event>& events = events_[r];
    // Records of one thread are in order already; a collective's of another one are put between them.
    std::stable_sort(events.begin(), events.end(),
                     [](const Event& a, const Event& b) { return a.begin < b.begin; });
    trace::EventColumns& to = run_.ranks[r].events;
    for (const Event& e : events) {
      const Duration begin = in_ps(e.begin);
      to.push_back({.kind = e.kind,
                    .op = e.op,
                    .flags = e.flags,
                    .begin = begin,
                    .end = std::max(in_ps(e.end), begin),
                    .bytes = Bytes{e.bytes},
                    .comm = e.comm,
                    .seq = e.seq,
                    .aux = e.aux,
                    .thread = e.thread});
    }
    events.clear();
  }
}

void Recorder::shift(std::span<const Seconds> by) {
  const auto move = [&](const std::vector<std::size_t>& first, std::size_t size, auto&& each) {
    for (std::size_t k = 0; k < first.size(); ++k) {
      const Duration d = in_ps(by[std::min(k, by.size() - 1)]);
      for (std::size_t i = first[k]; i < (k + 1 < first.size() ? first[k + 1] : size); ++i) each(i, d);
    }
  };
  for (std::size_t r = 0; r < run_.ranks.size(); ++r) {
    trace::EventColumns& e = run_.ranks[r].events;
    move(first_[r], e.size(), [&](std::size_t i, Duration d) {
      e.begin[i] += d;
      e.end[i] += d;
    });
    trace::ActivityColumns& a = run_.ranks[r].activities;
    move(first_activity_[r], a.size(), [&](std::size_t i, Duration d) {
      a.begin[i] += d;
      a.end[i] += d;
    });
  }
}

trace::Run Recorder::take() {
  return std::move(run_);
}

void Recorder::pace(int unit, std::int64_t step, Seconds begin, Seconds end, const PaceRecord& what) {
  std::optional<pace::Reason>& told = told_[static_cast<std::size_t>(unit)];
  const bool served = end > begin;
  if (served) held_from_[unit] = begin;
  if (!served && told == what.decision.reason) return;
  told = what.decision.reason;
  const trace::Event e = pace_event(step, begin, end, what);
  const ReplicaGroup meets = plan_.sharing();
  const CommId comm =
      comm_of(meets, unit % plan_.stages(), plan_.groups().group_of(meets, unit / plan_.stages()), 0);
  for (int r = first_rank(unit); r < first_rank(unit + 1); ++r)
    put(r, {.begin = begin,
            .end = end,
            .bytes = e.bytes.count(),
            .comm = comm,
            .seq = e.seq,
            .kind = e.kind,
            .op = e.op,
            .flags = e.flags,
            .aux = e.aux});
}

void Recorder::begin(int unit, Seconds at) {
  if (const auto held = held_from_.find(unit); held != held_from_.end()) {
    at = held->second;
    held_from_.erase(held);
  }
  for (int r = first_rank(unit); r < first_rank(unit + 1); ++r) {
    const auto i = static_cast<std::size_t>(r);
    first_[i].push_back(run_.ranks[i].events.size());
    first_activity_[i].push_back(run_.ranks[i].activities.size());
    put(r, {.begin = at, .end = at, .bytes = step_, .kind = EventKind::Step});
  }
}

std::uint32_t Recorder::name_of(const Instruction& i) {
  if (i.part == StepPart::Optimizer) return 0;
  const bool forward = i.part == StepPart::Forward;
  std::uint32_t& name = names_[static_cast<std::size_t>(i.micro_batch) * 2 + (forward ? 0 : 1)];
  if (name == 0) {
    name = static_cast<std::uint32_t>(run_.names.size());
    run_.names.push_back(fmt::format("{} {}", forward ? "forward" : "backward", i.micro_batch));
  }
  return name;
}

void Recorder::activity(int rank, const Instruction& i, Seconds begin, Seconds end) {
  trace::ActivityColumns& a = run_.ranks[static_cast<std::size_t>(rank)].activities;
  const std::uint32_t name = name_of(i);
  a.begin.push_back(in_ps(begin));
  a.end.push_back(in_ps(end));
  a.kind.push_back(trace::ActivityKind::Kernel);
  a.lane.push_back(0);
  a.name.push_back(name);
  a.launched.push_back(trace::kNoActivity);
}

void Recorder::put_call(int rank, model::Collective kind, CommId comm, Bytes bytes, Seconds begin,
                        Seconds end, std::uint32_t seq, bool beside) {
  const auto flags = static_cast<std::uint16_t>(beside ? trace::kTagged | trace::kOffThread : trace::kTagged);
  put(rank, {.begin = begin,
             .end = end,
             .bytes = bytes.count(),
             .comm = comm,
             .seq = seq,
             .kind = EventKind::Collective,
             .op = static_cast<std::uint8_t>(kind),
             .flags = flags,
             .thread = beside ? 1U : 0U});
}

void Recorder::computed(int unit, const Instruction& i, Seconds begin, Seconds computed, Seconds end) {
  const int first = first_rank(unit);
  const int global = first_unit_ + unit;
  if (i.opens) pass_begin_[static_cast<std::size_t>(global)] = begin;
  const auto factor = [&](int r) { return (*factors_)[static_cast<std::size_t>(r - first_rank(0))]; };
  double slowest = 0;
  for (int r = first; r < first_rank(unit + 1); ++r) slowest = std::max(slowest, factor(r));
  for (int r = first; r < first_rank(unit + 1); ++r) {
    const Seconds done = slowest > 0 ? begin + (computed - begin) * (factor(r) / slowest) : computed;
    if (computed > begin) activity(r, i, begin, done);
    put_inner(r - first, global, i, done, end);
    if (i.closes)
      put(r, {.begin = pass_begin_[static_cast<std::size_t>(global)],
              .end = end,
              .kind = EventKind::Phase,
              .op = static_cast<std::uint8_t>(phase_of(i.part))});
  }
  if (i.tensor > Seconds{})
    for (int c = 0; c < plan_.layout().context; ++c) ++next_seq(tensor_comm(global, c));
  if (i.context > Seconds{})
    for (int t = 0; t < plan_.layout().tensor; ++t) ++next_seq(context_comm(global, t));
}

/// What the ranks of a unit exchange among themselves after a piece of work.
void Recorder::put_inner(int place, int unit, const Instruction& i, Seconds done, Seconds end) {
  const int rank = unit * plan_.ranks_per_unit() + place;
  const Seconds border = end - i.context;
  if (i.tensor > Seconds{}) {
    const CommId comm = tensor_comm(unit, place / plan_.layout().tensor);
    put_call(rank, model::Collective::AllReduce, comm, i.bytes, done, border, next_seq(comm), false);
  }
  if (i.context > Seconds{}) {
    const CommId comm = context_comm(unit, place % plan_.layout().tensor);
    put_call(rank, model::Collective::AllGather, comm, i.context_bytes, i.tensor > Seconds{} ? border : done,
             end, next_seq(comm), false);
  }
}

void Recorder::received(int unit, const Instruction& i, Seconds begin, Seconds /*leaves*/, Seconds arrives) {
  if (arrives <= begin) return;
  const int stage = (first_unit_ + unit) % plan_.stages();
  const int step = i.part == StepPart::Forward ? plan_.stages() - 1 : 1;
  const int peer = first_rank(unit) + ((stage + step) % plan_.stages() - stage) * plan_.ranks_per_unit();
  for (int r = 0; r < plan_.ranks_per_unit(); ++r)
    put(first_rank(unit) + r, {.begin = begin,
                               .end = arrives,
                               .comm = CommId{0},
                               .kind = EventKind::Wait,
                               .op = static_cast<std::uint8_t>(trace::WaitKind::Peer),
                               .aux = static_cast<std::uint32_t>(peer + r)});
}

void Recorder::met(const Gathering& g) {
  const int unit_ranks = plan_.ranks_per_unit();
  const bool beside_compute = !g.is_exchange() && plan_.job().overlap;
  const auto comm = [&](int inner) { return comm_of(g.of, g.stage, g.group, inner); };
  for (std::size_t m = 0; m < g.members.size(); ++m)
    for (int r = 0; r < unit_ranks; ++r)
      put_call(first_rank(g.members[m]) + r, g.kind, comm(r), g.bytes, g.arrivals[m], g.departures[m],
               next_seq(comm(r)), beside_compute);
  for (int r = 0; r < beside(g.of); ++r) ++next_seq(comm(r));
}

void Recorder::awaited(int unit, const Instruction& i, Seconds begin, Seconds /*alone*/, Seconds end) {
  if (!plan_.job().overlap) return;
  const int stage = (first_unit_ + unit) % plan_.stages();
  const int group = plan_.groups().group_of(i.of, (first_unit_ + unit) / plan_.stages());
  for (int r = 0; r < plan_.ranks_per_unit(); ++r)
    put(first_rank(unit) + r, {.begin = begin,
                               .end = std::max(begin, end),
                               .comm = comm_of(i.of, stage, group, r),
                               .kind = EventKind::Wait,
                               .op = static_cast<std::uint8_t>(trace::WaitKind::GradientSync)});
}

void Recorder::stop(int unit, Seconds begin, Seconds end) {
  if (end <= begin) return;
  for (int r = 0; r < plan_.ranks_per_unit(); ++r)
    put(first_rank(unit) + r, {.begin = begin,
                               .end = end,
                               .kind = EventKind::Wait,
                               .op = static_cast<std::uint8_t>(trace::WaitKind::Other)});
}

}  // namespace cox::simulate::training
