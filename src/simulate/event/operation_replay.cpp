// SPDX-License-Identifier: Apache-2.0
#include "simulate/event/operation_replay.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "cox/base/assert.hpp"

namespace cox::simulate {
namespace {

using model::kNoComm;
using model::kNoDuration;
using model::OperationKind;
using model::Program;

constexpr std::uint32_t kNone = 0xffffffff;

tl::unexpected<Error> refuse(std::string message, std::string hint) {
  return fail(Error{.code = Errc::Unsupported,
                    .id = "simulate-006",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = std::nullopt});
}

/// Operations of all programs under one number.
struct Operation {
  std::uint32_t program = 0;
  std::uint32_t index = 0;
  std::uint32_t rank = 0;         ///< index into ranks
  std::uint32_t meeting = kNone;  ///< that it takes part in
  std::uint32_t left = 0;         ///< predecessors not yet done
  Seconds duration{};             ///< of what is local
  Seconds ready{};
  Seconds begin{};
  Seconds end{};
  bool local = false;  ///< occupies its rank's device
  bool done = false;
  bool waits = false;  ///< is ready, and waits for the others of its meeting
};

/// A collective, or the two ends of a message.
struct Meeting {
  std::uint32_t channel = 0;
  std::int64_t number = 0;
  std::uint32_t missing = 0;              ///< members that are not ready yet
  std::vector<std::uint32_t> operations;  ///< collective: by rank; message: sender, receiver
};

/// A communicator by its name, and who uses it.
struct Channel {
  std::string name;
  int size = 0;
  std::map<std::uint32_t, std::vector<std::uint32_t>> collectives;  ///< by rank, in order
  std::vector<std::uint32_t> sends;
  std::vector<std::uint32_t> receives;
};

struct Event {
  Seconds at;
  bool ends;  ///< else: becomes ready
  std::uint32_t operation;

  /// Of what happens together, ends come first: what they make ready belongs to the same moment.
  bool operator>(const Event& o) const {
    return std::tuple(at, !ends, operation) > std::tuple(o.at, !o.ends, o.operation);
  }
};

class OperationReplay {
 public:
  OperationReplay(std::span<const Program> programs, const OperationCosts& costs)
      : programs_(programs), costs_(costs) {}
  Result<OperationOutcome> run();

 private:
  Status load();
  Status load_operation(std::uint32_t program, std::uint32_t index, std::uint32_t first_rank);
  Status set_duration(Operation& op);
  Status join_channel(std::uint32_t number, OperationKind kind);
  void make_successors();
  void make_meetings();
  void make_collectives(std::uint32_t channel);
  void make_messages(std::uint32_t channel);

  void become_ready(std::uint32_t number, Seconds at);
  void meet(Meeting& meeting);
  void meet_collective(const Meeting& meeting);
  void meet_message(const Meeting& meeting);
  void finish(std::uint32_t number);
  [[nodiscard]] Error explain_blocked() const;
  [[nodiscard]] OperationOutcome outcome();

  [[nodiscard]] const Program& columns(const Operation& op) const { return programs_[op.program]; }
  [[nodiscard]] const std::string& name_of(const Operation& op) const {
    return columns(op).names[columns(op).name[op.index]];
  }

  std::span<const Program> programs_;
  const OperationCosts& costs_;
  std::vector<Rank> ranks_;
  std::vector<Seconds> device_free_;
  std::vector<std::uint32_t> first_of_program_;
  std::vector<Operation> operations_;
  std::vector<std::uint64_t> first_after_;
  std::vector<std::uint32_t> after_;
  std::map<std::string, std::uint32_t> channel_of_name_;
  std::vector<Channel> channels_;
  std::vector<Meeting> meetings_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  std::uint64_t done_ = 0;
  std::int64_t messages_ = 0;
  std::int64_t collectives_ = 0;
  std::int64_t without_channel_ = 0;
  std::int64_t by_roofline_ = 0;
  std::vector<std::string> notes_;
};

Status OperationReplay::set_duration(Operation& op) {
  const Program& o = columns(op);
  const Duration recorded = o.duration[op.index];
  const OperationKind kind = o.kind[op.index];
  op.local = kind == OperationKind::Compute || kind == OperationKind::Memory;
  if (recorded != kNoDuration) {
    op.duration = Seconds{in_seconds(recorded)};
  } else if (op.local && costs_.memory.in_bytes_per_s() > 0) {
    op.duration = costs_.memory.time_per_byte().over(o.bytes[op.index]);
    ++by_roofline_;
  } else if (op.local) {
    return refuse(fmt::format("operation {} (`{}`) of rank {} has no duration", op.index, name_of(op),
                              ranks_[op.rank].value()),
                  "record the trace with durations, or give a memory bandwidth to estimate them from bytes");
  }
  return {};
}

Status OperationReplay::join_channel(std::uint32_t number, OperationKind kind) {
  Operation& op = operations_[number];
  const model::ProgramGroup* known = columns(op).group_of(op.index);
  if (known == nullptr) {
    // A collective without a communicator is the host's call that starts one: it lasts what was recorded.
    if (kind == OperationKind::Collective) {
      ++without_channel_;
      return set_duration(op);
    }
    return refuse(
        fmt::format("operation {} (`{}`) of rank {} does not say between which ranks it is", op.index,
                    name_of(op), ranks_[op.rank].value()),
        "GOAL schedules are simulated with --goal; in Chakra a message needs comm_src and comm_dst");
  }
  const auto [at, fresh] =
      channel_of_name_.try_emplace(known->name, static_cast<std::uint32_t>(channels_.size()));
  if (fresh)
    channels_.push_back(
        Channel{.name = known->name, .size = 0, .collectives = {}, .sends = {}, .receives = {}});
  Channel& channel = channels_[at->second];
  channel.size = std::max(channel.size, known->size);
  if (kind == OperationKind::Collective) {
    channel.collectives[op.rank].push_back(number);
  } else {
    (kind == OperationKind::Send ? channel.sends : channel.receives).push_back(number);
  }
  return {};
}

Status OperationReplay::load_operation(std::uint32_t program, std::uint32_t index, std::uint32_t first_rank) {
  const Program& o = programs_[program];
  const auto number = static_cast<std::uint32_t>(operations_.size());
  Operation op;
  op.program = program;
  op.index = index;
  op.rank = first_rank + o.rank[index];
  op.left = static_cast<std::uint32_t>(o.needs.before(index).size());
  operations_.push_back(op);
  const OperationKind kind = o.kind[index];
  if (kind == OperationKind::Collective || kind == OperationKind::Send || kind == OperationKind::Receive)
    return join_channel(number, kind);
  return set_duration(operations_.back());
}

Status OperationReplay::load() {
  std::set<Rank> seen;
  for (std::uint32_t p = 0; p < programs_.size(); ++p) {
    const Program& o = programs_[p];
    if (!o.is_graph())
      return refuse("a trace without operations that say what they wait for",
                    "give Chakra or PyTorch execution traces, one file per rank");
    if (operations_.size() + o.size() >= kNone)
      return refuse("more than 4294967294 operations", "replay fewer ranks");
    const auto first_rank = static_cast<std::uint32_t>(ranks_.size());
    for (const model::ProgramRank& each : o.ranks) {
      if (!seen.insert(each.rank).second)
        return refuse(fmt::format("rank {} is in two traces", each.rank.value()),
                      "give each rank's trace once");
      ranks_.push_back(each.rank);
    }
    first_of_program_.push_back(static_cast<std::uint32_t>(operations_.size()));
    for (std::uint32_t i = 0; i < o.size(); ++i) COX_CHECK(load_operation(p, i, first_rank));
  }
  device_free_.assign(ranks_.size(), Seconds{});
  return {};
}

void OperationReplay::make_successors() {
  first_after_.assign(operations_.size() + 1, 0);
  const auto each_edge = [&](auto&& visit) {
    for (std::uint32_t n = 0; n < operations_.size(); ++n) {
      const Operation& op = operations_[n];
      for (const model::OperationIndex before : columns(op).needs.before(op.index))
        visit(first_of_program_[op.program] + before, n);
    }
  };
  each_edge([&](std::uint32_t before, std::uint32_t) { ++first_after_[before + 1]; });
  for (std::size_t i = 1; i < first_after_.size(); ++i) first_after_[i] += first_after_[i - 1];
  after_.resize(first_after_.back());
  std::vector<std::uint64_t> next(first_after_.begin(), first_after_.end() - 1);
  each_edge([&](std::uint32_t before, std::uint32_t n) { after_[next[before]++] = n; });
}

void OperationReplay::make_collectives(std::uint32_t c) {
  const Channel& channel = channels_[c];
  std::size_t rounds = 0;
  for (const auto& [rank, list] : channel.collectives) rounds = std::max(rounds, list.size());
  const auto first = static_cast<std::uint32_t>(meetings_.size());
  const auto members = static_cast<std::uint32_t>(channel.collectives.size());
  for (std::size_t k = 0; k < rounds; ++k)
    meetings_.push_back(
        Meeting{.channel = c, .number = static_cast<std::int64_t>(k), .missing = members, .operations = {}});
  // By rank number, whatever the order of the traces.
  std::vector<std::uint32_t> order;
  order.reserve(channel.collectives.size());
  for (const auto& [rank, list] : channel.collectives) order.push_back(rank);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return ranks_[a] < ranks_[b]; });
  for (const std::uint32_t rank : order) {
    const std::vector<std::uint32_t>& list = channel.collectives.at(rank);
    for (std::size_t k = 0; k < list.size(); ++k) {
      meetings_[first + k].operations.push_back(list[k]);
      operations_[list[k]].meeting = first + static_cast<std::uint32_t>(k);
    }
  }
  if (!order.empty() && channel.size > static_cast<int>(members))
    notes_.push_back(
        fmt::format("`{}`: {} of {} members are in the traces", channel.name, members, channel.size));
}

void OperationReplay::make_messages(std::uint32_t c) {
  const Channel& channel = channels_[c];
  const std::size_t count = std::max(channel.sends.size(), channel.receives.size());
  for (std::size_t k = 0; k < count; ++k) {
    Meeting meeting{.channel = c, .number = static_cast<std::int64_t>(k), .missing = 2, .operations = {}};
    for (const auto* list : {&channel.sends, &channel.receives}) {
      if (k >= list->size()) continue;  // stays blocked, and is then named
      meeting.operations.push_back((*list)[k]);
      operations_[(*list)[k]].meeting = static_cast<std::uint32_t>(meetings_.size());
    }
    meetings_.push_back(std::move(meeting));
  }
}

void OperationReplay::make_meetings() {
  for (std::uint32_t c = 0; c < channels_.size(); ++c) {
    make_collectives(c);
    make_messages(c);
  }
}

void OperationReplay::become_ready(std::uint32_t number, Seconds at) {
  Operation& op = operations_[number];
  op.begin = at;
  if (op.meeting != kNone) {
    op.waits = true;
    Meeting& meeting = meetings_[op.meeting];
    if (!costs_.rendezvous && columns(op).kind[op.index] == OperationKind::Send) {
      op.end = at;
      queue_.push(Event{at, true, number});
    }
    if (--meeting.missing == 0) meet(meeting);
    return;
  }
  if (op.local && costs_.one_at_a_time) {
    Seconds& free = device_free_[op.rank];
    op.begin = std::max(at, free);
    free = op.begin + op.duration;
  }
  op.end = op.begin + op.duration;
  queue_.push(Event{op.end, true, number});
}

void OperationReplay::meet(Meeting& meeting) {
  const Operation& first = operations_[meeting.operations.front()];
  if (columns(first).kind[first.index] == OperationKind::Collective) {
    meet_collective(meeting);
  } else {
    meet_message(meeting);
  }
}

void OperationReplay::meet_collective(const Meeting& meeting) {
  const Channel& channel = channels_[meeting.channel];
  std::vector<Rank> ranks;
  std::vector<Seconds> times;
  CollectiveCall call;
  for (const std::uint32_t n : meeting.operations) {
    const Operation& op = operations_[n];
    const Program& o = columns(op);
    ranks.push_back(ranks_[op.rank]);
    times.push_back(op.begin);
    call.bytes = std::max(call.bytes, o.bytes[op.index]);
    if (call.kind == model::Collective::Other && !o.collective.empty()) call.kind = o.collective[op.index];
  }
  call.ranks = ranks;
  call.size = std::max(channel.size, static_cast<int>(ranks.size()));
  call.communicator = channel.name;
  call.number = meeting.number;
  costs_.collective(call, times);
  for (std::size_t i = 0; i < times.size(); ++i) {
    Operation& op = operations_[meeting.operations[i]];
    COX_ASSERT(times[i] >= op.begin, "nobody leaves a collective before it came");
    op.end = times[i];
    queue_.push(Event{op.end, true, meeting.operations[i]});
  }
  ++collectives_;
}

void OperationReplay::meet_message(const Meeting& meeting) {
  Operation& sender = operations_[meeting.operations[0]];
  Operation& receiver = operations_[meeting.operations[1]];
  const Bytes bytes = columns(sender).bytes[sender.index];
  const Seconds cost = costs_.message(ranks_[sender.rank], ranks_[receiver.rank], bytes);
  ++messages_;
  if (costs_.rendezvous) {
    sender.end = receiver.end = std::max(sender.begin, receiver.begin) + cost;
    queue_.push(Event{sender.end, true, meeting.operations[0]});
  } else {
    receiver.end = std::max(receiver.begin, sender.begin + cost);
  }
  queue_.push(Event{receiver.end, true, meeting.operations[1]});
}

void OperationReplay::finish(std::uint32_t number) {
  Operation& op = operations_[number];
  op.done = true;
  ++done_;
  for (std::uint64_t k = first_after_[number]; k < first_after_[number + 1]; ++k) {
    Operation& next = operations_[after_[k]];
    next.ready = std::max(next.ready, op.end);
    if (--next.left == 0) queue_.push(Event{next.ready, false, after_[k]});
  }
}

Error OperationReplay::explain_blocked() const {
  const Operation* first = nullptr;
  for (const Operation& op : operations_)
    if (!op.done && op.waits &&
        (first == nullptr ||
         std::tuple(ranks_[op.rank], op.index) < std::tuple(ranks_[first->rank], first->index)))
      first = &op;
  std::string message = "operations wait for each other in a circle";
  if (first != nullptr) {
    const Meeting& meeting = meetings_[first->meeting];
    std::vector<int> absent;
    for (const std::uint32_t n : meeting.operations)
      if (!operations_[n].waits && absent.size() < 8) absent.push_back(ranks_[operations_[n].rank].value());
    message = fmt::format("rank {} is blocked: operation {} (`{}`, {} bytes) is number {} on `{}` and ",
                          ranks_[first->rank].value(), first->index, name_of(*first),
                          columns(*first).bytes[first->index].count(), meeting.number,
                          channels_[meeting.channel].name);
    message += absent.empty() ? "its other side has no such operation"
                              : fmt::format("waits for rank{} {}", absent.size() > 1 ? "s" : "",
                                            fmt::join(absent, ", "));
  }
  return Error{.code = Errc::InvalidInput,
               .id = "simulate-004",
               .message = std::move(message),
               .hint = "check that every rank's trace is given and covers the same steps",
               .where = std::nullopt};
}

OperationOutcome OperationReplay::outcome() {
  OperationOutcome out;
  out.ranks = ranks_;
  out.finish.assign(ranks_.size(), Seconds{});
  out.begin.resize(programs_.size());
  out.end.resize(programs_.size());
  for (const Operation& op : operations_) {
    out.begin[op.program].push_back(op.begin);
    out.end[op.program].push_back(op.end);
    out.finish[op.rank] = std::max(out.finish[op.rank], op.end);
  }
  out.messages = messages_;
  out.collectives = collectives_;
  if (without_channel_ > 0)
    notes_.push_back(
        fmt::format("{} collectives name no communicator and last what was recorded", without_channel_));
  if (by_roofline_ > 0)
    notes_.push_back(fmt::format("{} operations last their bytes over the bandwidth", by_roofline_));
  out.notes = std::move(notes_);
  return out;
}

Result<OperationOutcome> OperationReplay::run() {
  if (programs_.empty()) return refuse("no trace to replay", "name the traces of the ranks");
  COX_CHECK(load());
  make_successors();
  make_meetings();
  for (std::uint32_t n = 0; n < operations_.size(); ++n)
    if (operations_[n].left == 0) queue_.push(Event{Seconds{}, false, n});
  while (!queue_.empty()) {
    const Event e = queue_.top();
    queue_.pop();
    if (e.ends) {
      finish(e.operation);
    } else {
      become_ready(e.operation, e.at);
    }
  }
  if (done_ != operations_.size()) return fail(explain_blocked());
  return outcome();
}

}  // namespace

Result<OperationOutcome> replay_operations(std::span<const model::Program> programs,
                                           const OperationCosts& costs) {
  COX_ASSERT(costs.collective && costs.message, "costs are given");
  return OperationReplay(programs, costs).run();
}

}  // namespace cox::simulate
