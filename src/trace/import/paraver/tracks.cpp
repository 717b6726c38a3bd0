// SPDX-License-Identifier: Apache-2.0
#include "trace/import/paraver/tracks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

namespace cox::trace {
namespace {

constexpr std::int64_t kRunning = 1;  ///< the one state of useful computation
constexpr std::int32_t kNobody = -1;
/// Most communicators of a trace: each costs some hundred bytes, and a line of ten is enough to name one.
constexpr std::size_t kMostCommunicators = std::size_t{1} << 18;

/// Of one, and of many.
constexpr std::array<std::pair<std::string_view, std::string_view>, kParaverLossCount> kLossTexts = {{
    {"record not the numbers that its kind wants", "records not the numbers that their kind wants"},
    {"record of no known kind", "records of no known kind"},
    {"record of a task that the header does not list", "records of tasks that the header does not list"},
    {"record of a thread other than its task's first", "records of threads other than their task's first"},
    {"record of a communicator beyond the first 262144", "records of communicators beyond the first 262144"},
    {"Running state that begins before the one before it ended",
     "Running states that begin before the one before them ended"},
    {"call without an end: another one begins inside", "calls without an end: another one begins inside"},
    {"end of a call that did not begin", "ends of calls that did not begin"},
    {"call that ends before it begins", "calls that end before they begin"},
    {"message received before its receive began", "messages received before their receive began"},
}};

std::uint64_t pair_key(std::uint64_t high, std::uint64_t low) {
  return high << 32 | low;
}

void add_clamped(std::int64_t& sum, std::int64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = std::numeric_limits<std::int64_t>::max();
}

bool is_rooted(model::Collective c) {
  return c == model::Collective::Broadcast || c == model::Collective::Reduce ||
         c == model::Collective::Gather || c == model::Collective::Scatter;
}

bool is_peer_call(const EventColumns& e, std::size_t i) {
  return e.kind[i] == EventKind::Wait && static_cast<WaitKind>(e.op[i]) == WaitKind::Peer;
}

/// Where in a call a message touches it: sent and posted at its begin, complete at its end.
enum class Edge : std::uint8_t { Begin, End };

/// Index of the point-to-point call of a rank that time `at` lies in; the number of events where none does.
std::size_t call_around(const EventColumns& e, Duration at, Edge edge) {
  constexpr std::size_t kLookBack = 4;  // calls do not overlap; more only in a damaged file
  const auto after = edge == Edge::Begin ? std::upper_bound(e.begin.begin(), e.begin.end(), at)
                                         : std::lower_bound(e.begin.begin(), e.begin.end(), at);
  const auto from = static_cast<std::size_t>(after - e.begin.begin());
  for (std::size_t i = from; i-- > 0 && i + kLookBack >= from;)
    if (is_peer_call(e, i) && e.end[i] >= at) return i;
  return e.size();
}

void name_peer(EventColumns& e, std::size_t i, Rank peer, std::vector<bool>& several) {
  if (i >= e.size() || several[i]) return;
  const auto number = static_cast<std::uint32_t>(peer.value());
  if (e.aux[i] != kAnyPeer && e.aux[i] != number) {
    e.aux.set(i, kAnyPeer);
    several[i] = true;
  } else {
    e.aux.set(i, number);
  }
}

}  // namespace

ParaverTracks::ParaverTracks(PartBuilder& builder, ParaverHeader header, ParaverNames names,
                             const std::vector<std::string>& hosts)
    : builder_(builder), header_(std::move(header)), names_(std::move(names)), tasks_(header_.tasks()) {
  // Hosts in the order in which tasks name them; not by `add_rank`, whose search is linear in hosts.
  Run& run = builder_.run();
  std::unordered_map<std::int32_t, NodeId> node_ids;
  for (const auto& application : header_.node_of_task) {
    first_rank_.push_back(run.ranks.size());
    for (const std::int32_t node : application) {
      const NodeId next(static_cast<std::int32_t>(run.nodes.size()));
      const auto [at, fresh] = node_ids.try_emplace(node, next);
      if (fresh) {
        const auto index = static_cast<std::size_t>(node);
        run.nodes.push_back({.id = next,
                             .host = index < hosts.size() ? hosts[index] : fmt::format("node{}", node + 1),
                             .boot_id = {}});
        if (next != NodeId(0)) run.nodes.back().clock.source = ClockSource::Unknown;
      }
      RankTrack track;
      track.rank = Rank(static_cast<std::int32_t>(run.ranks.size()));
      track.node = track.clock.node = at->second;
      run.ranks.push_back(std::move(track));
    }
  }
  run.world_size = static_cast<int>(run.ranks.size());
  worlds_.assign(first_rank_.size(), kNobody);
}

void ParaverTracks::add_line(std::string_view line) {
  if (line.empty() || line.front() == '#') return;
  builder_.count(1, 1);  // taken back where it is lost
  if (line.starts_with("c:")) return add_communicator(line.substr(2));
  ColonNumbers in(line);
  std::int64_t kind = 0;
  if (!in.next(kind)) return lose(ParaverLoss::UnknownKind);
  switch (kind) {
    case 1:
      return add_state(in);
    case 2:
      return add_events(in);
    case 3:
      return add_message(in);
    default:
      return lose(ParaverLoss::UnknownKind);
  }
}

std::int64_t ParaverTracks::rank_at(const Place& place) {
  if (place.application < 1 || std::cmp_greater(place.application, first_rank_.size())) return -1;
  const auto application = static_cast<std::size_t>(place.application - 1);
  if (place.task < 1 || std::cmp_greater(place.task, header_.node_of_task[application].size())) return -1;
  return static_cast<std::int64_t>(first_rank_[application]) + place.task - 1;
}

void ParaverTracks::add_state(ColonNumbers in) {
  std::int64_t cpu = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t state = 0;
  Place place;
  if (!in.read(cpu, place.application, place.task, place.thread, from, to, state))
    return lose(ParaverLoss::Damaged);
  const auto begin = header_.time(from);
  const auto end = header_.time(to);
  if (!begin || !end || *end < *begin) return lose(ParaverLoss::Damaged);
  const std::int64_t rank = rank_at(place);
  if (rank < 0) return lose(ParaverLoss::UnknownTask);
  if (state != kRunning) return;
  if (place.thread != 1) return lose(ParaverLoss::OtherThread);
  UsefulColumns& useful = builder_.rank(static_cast<std::size_t>(rank)).useful;
  if (useful.size() > 0 && *begin < useful.end.back()) return lose(ParaverLoss::StateOrder);
  useful.begin.push_back(*begin);
  useful.end.push_back(*end);
  useful.instructions.push_back(0);
  useful.cycles.push_back(0);
}

void ParaverTracks::add_events(ColonNumbers in) {
  std::int64_t cpu = 0;
  std::int64_t when = 0;
  Place place;
  if (!in.read(cpu, place.application, place.task, place.thread, when)) return lose(ParaverLoss::Damaged);
  const auto at = header_.time(when);
  if (!at) return lose(ParaverLoss::Damaged);
  const std::int64_t found = rank_at(place);
  if (found < 0) return lose(ParaverLoss::UnknownTask);
  if (place.thread != 1) return lose(ParaverLoss::OtherThread);
  const auto rank = static_cast<std::size_t>(found);
  Task& task = tasks_[rank];
  std::int64_t instructions = 0;
  std::int64_t cycles = 0;
  std::int64_t comm = 0;
  OpenCall said;  // what this line says of the call that begins in it, whatever the order
  bool begins = false;
  std::int64_t type = 0;
  std::int64_t value = 0;
  while (in.read(type, value)) {
    if (type >= kFirstMpiType && type <= kLastMpiType) {
      begins = value != 0;
      begins ? begin_call(task, type, value, *at) : end_call(rank, *at);
    } else if (type == kSendSizeType) {
      said.send_bytes = value;
    } else if (type == kReceiveSizeType) {
      said.receive_bytes = value;
    } else if (type == kRootType) {
      said.root = value == 1;
    } else if (type == kCommunicatorType) {
      comm = value;
    } else if (type == names_.instructions) {
      add_clamped(instructions, value);
    } else if (type == names_.cycles) {
      add_clamped(cycles, value);
    }
  }
  if (in.damaged()) lose(ParaverLoss::Damaged);
  if (begins) {
    task.call.send_bytes = said.send_bytes;
    task.call.receive_bytes = said.receive_bytes;
    task.call.root = said.root;
    describe_call(rank, place, comm, task.call);
  }
  if (instructions != 0 || cycles != 0) credit(rank, *at, instructions, cycles);
}

void ParaverTracks::begin_call(Task& task, std::int64_t type, std::int64_t value, Duration at) {
  if (task.call.open) lose(ParaverLoss::CallInCall);
  task.call = {.open = true, .type = type, .call = names_.call(value), .begin = at};
}

/// Gives a call that has just begun its communicator and its place in the order of calls there.
void ParaverTracks::describe_call(std::size_t rank, const Place& place, std::int64_t comm, OpenCall& call) {
  const bool collective = call.call.role == MpiRole::Collective || call.call.role == MpiRole::CollectiveStart;
  if (!collective || comm <= 0) return;
  call.comm = comm_index(place.application, comm);
  if (call.comm < 0) return;
  Comm& c = comms_[static_cast<std::size_t>(call.comm)];
  std::uint32_t& next = next_seq_[pair_key(rank, static_cast<std::uint32_t>(call.comm))];
  call.seq = next++;
  if (!c.listed && call.seq == 0) c.members.emplace_back(static_cast<std::int32_t>(rank));
  if (!call.root || !is_rooted(call.call.collective)) return;
  if (c.root_of.size() <= call.seq) c.root_of.resize(std::size_t{call.seq} + 1, kNobody);
  c.root_of[call.seq] = static_cast<std::int32_t>(rank);
}

void ParaverTracks::end_call(std::size_t rank, Duration at) {
  OpenCall& call = tasks_[rank].call;
  if (!call.open) return lose(ParaverLoss::EndWithoutCall);
  call.open = false;
  if (at < call.begin) return lose(ParaverLoss::CallTime);
  write_call(rank, call, at);
}

/// The communicator of all tasks of a rank's application; -1 where none is listed.
std::int32_t ParaverTracks::world_of(std::size_t rank) const {
  const auto after = std::upper_bound(first_rank_.begin(), first_rank_.end(), rank);
  return worlds_[static_cast<std::size_t>(after - first_rank_.begin()) - 1];
}

/// The oldest collective under way, or the newest where all are waited for; there must be one.
ParaverTracks::Request ParaverTracks::take_request(Task& task, bool all) {
  const Request request = all ? task.requests.back() : task.requests[task.first_request++];
  if (!all && task.first_request < task.requests.size()) return request;
  task.requests.clear();
  task.first_request = 0;
  return request;
}

void ParaverTracks::write_call(std::size_t rank, const OpenCall& call, Duration end) {
  Event event{.kind = EventKind::Wait, .begin = call.begin, .end = end};
  Task& task = tasks_[rank];
  switch (call.call.role) {
    case MpiRole::CollectiveStart:
      if (call.comm >= 0) task.requests.push_back({call.comm, call.seq});
      event.flags |= kNonBlocking;
      [[fallthrough]];
    case MpiRole::Collective:
      event.kind = EventKind::Collective;
      event.op = static_cast<std::uint8_t>(call.call.collective);
      if (call.call.variable) event.flags |= kVariable;
      event.bytes = Bytes(std::max<std::int64_t>({0, call.send_bytes, call.receive_bytes}));
      event.seq = call.seq;
      if (call.comm >= 0) event.comm = CommId(call.comm);
      break;
    case MpiRole::Completion:
    case MpiRole::CompletionOfAll:
      if (task.first_request < task.requests.size()) {
        const Request request = take_request(task, call.call.role == MpiRole::CompletionOfAll);
        event.op = static_cast<std::uint8_t>(WaitKind::Request);
        event.comm = CommId(request.comm);
        event.seq = request.seq;
        break;
      }
      event.op = static_cast<std::uint8_t>(WaitKind::Peer);
      event.aux = kAnyPeer;
      break;
    case MpiRole::PointToPointStart:
      event.flags |= kNonBlocking;
      [[fallthrough]];
    case MpiRole::PointToPoint:
      event.op = static_cast<std::uint8_t>(WaitKind::Peer);
      event.aux = kAnyPeer;
      break;
    case MpiRole::Start:
      // All processes meet: named and numbered like a collective of the world, though it carries no data.
      if (const std::int32_t world = world_of(rank); world >= 0) {
        event.comm = CommId(world);
        event.flags |= kTagged;
      }
      break;
    case MpiRole::Library:
      break;
  }
  builder_.add_event(rank, event);
}

/// A counter's value is what was counted since the value before: it belongs to the stretch that ends now. A
/// second value at the same time was counted in a call that is over within one tick.
void ParaverTracks::credit(std::size_t rank, Duration at, std::int64_t instructions, std::int64_t cycles) {
  UsefulColumns& useful = builder_.rank(rank).useful;
  const std::size_t n = useful.size();
  std::size_t& credited = tasks_[rank].credited;
  for (std::size_t i = n; i-- > credited && i + 2 >= n;) {  // the state that begins now may be there already
    if (useful.end[i] != at) continue;
    credited = i + 1;
    add_clamped(useful.instructions[i], instructions);
    add_clamped(useful.cycles[i], cycles);
    counted_ = true;
    return;
  }
}

void ParaverTracks::add_message(ColonNumbers in) {
  std::int64_t cpu = 0;
  std::int64_t bytes = 0;
  std::int64_t tag = 0;
  Place from;
  Place to;
  std::array<std::int64_t, 4> at{};  // send begins, is on its way; receive begins, is done
  if (!in.read(cpu, from.application, from.task, from.thread, at[0], at[1], cpu, to.application, to.task,
               to.thread, at[2], at[3], bytes, tag) ||
      bytes < 0)
    return lose(ParaverLoss::Damaged);
  std::array<Duration, 4> times{};
  for (std::size_t i = 0; i < at.size(); ++i) {
    const auto t = header_.time(at[i]);
    if (!t) return lose(ParaverLoss::Damaged);
    times[i] = *t;
  }
  const std::int64_t sender = rank_at(from);
  const std::int64_t receiver = rank_at(to);
  if (sender < 0 || receiver < 0) return lose(ParaverLoss::UnknownTask);
  if (from.thread != 1 || to.thread != 1) return lose(ParaverLoss::OtherThread);
  if (times[3] < times[2]) return lose(ParaverLoss::MessageTime);
  MessageColumns& m = builder_.run().messages;
  m.from.emplace_back(static_cast<std::int32_t>(sender));
  m.to.emplace_back(static_cast<std::int32_t>(receiver));
  m.send_begin.push_back(times[0]);
  m.send_end.push_back(std::max(times[0], times[1]));
  m.receive_begin.push_back(times[2]);
  m.receive_end.push_back(times[3]);
  m.bytes.emplace_back(bytes);
  m.tag.push_back(tag);
}

/// `application:number:members:task:task:...`
void ParaverTracks::add_communicator(std::string_view line) {
  ColonNumbers in(line);
  Place place;
  std::int64_t number = 0;
  std::int64_t size = 0;
  if (!in.read(place.application, number, size) || number <= 0) return lose(ParaverLoss::Damaged);
  if (place.application < 1 || std::cmp_greater(place.application, worlds_.size()))
    return lose(ParaverLoss::UnknownTask);
  std::vector<Rank> members;
  while (in.next(place.task)) {
    const std::int64_t rank = rank_at(place);
    if (rank < 0) return lose(ParaverLoss::UnknownTask);
    members.emplace_back(static_cast<std::int32_t>(rank));
  }
  if (in.damaged() || std::cmp_not_equal(members.size(), size)) return lose(ParaverLoss::Damaged);
  const std::int32_t index = comm_index(place.application, number);
  if (index < 0) return lose(ParaverLoss::TooManyComms);
  Comm& c = comms_[static_cast<std::size_t>(index)];
  if (c.listed) return lose(ParaverLoss::Damaged);
  const auto application = static_cast<std::size_t>(place.application - 1);
  const bool all = members.size() == header_.node_of_task[application].size();
  if (all && worlds_[application] < 0) worlds_[application] = index;
  c.members = std::move(members);
  c.listed = true;
}

std::int32_t ParaverTracks::comm_index(std::int64_t application, std::int64_t number) {
  // Numbers are the recorder's own and small; what does not fit 32 bits shares the place of what does.
  const std::uint64_t key =
      pair_key(static_cast<std::uint64_t>(application), static_cast<std::uint32_t>(number));
  if (comms_.size() >= kMostCommunicators) {
    const auto at = comm_places_.find(key);
    return at == comm_places_.end() ? -1 : at->second;
  }
  const auto [at, fresh] = comm_places_.try_emplace(key, static_cast<std::int32_t>(comms_.size()));
  if (fresh) {
    Comm c;
    c.name = header_.node_of_task.size() == 1 ? fmt::format("communicator {}", number)
                                              : fmt::format("communicator {}.{}", application, number);
    comms_.push_back(std::move(c));
  }
  return at->second;
}

void ParaverTracks::close() {
  for (std::size_t rank = 0; rank < tasks_.size(); ++rank)
    if (tasks_[rank].call.open) write_call(rank, tasks_[rank].call, kStillRunning);
  for (const Comm& c : comms_) builder_.communicator(c.name, c.members, static_cast<int>(c.members.size()));
  if (!counted_)
    for (RankTrack& track : builder_.run().ranks) {
      track.useful.instructions.clear();
      track.useful.cycles.clear();
    }
  note_losses();
}

void ParaverTracks::note_losses() {
  std::int64_t lost = 0;
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    lost += losses_[i];
    builder_.note_count(losses_[i], kLossTexts[i].first, kLossTexts[i].second);
  }
  builder_.count(0, -lost);
}

void ParaverTracks::complete(Run& run) const {
  for (std::size_t c = 0; c < comms_.size(); ++c)
    if (comms_[c].listed) run.communicators[c].by_rank = comms_[c].members;
  std::vector<std::unordered_map<std::int32_t, std::uint32_t>> place_of(comms_.size());
  for (std::size_t c = 0; c < comms_.size(); ++c)
    for (std::size_t p = 0; comms_[c].listed && !comms_[c].root_of.empty() && p < comms_[c].members.size();
         ++p)
      place_of[c].try_emplace(comms_[c].members[p].value(), static_cast<std::uint32_t>(p));
  for (RankTrack& track : run.ranks) {
    EventColumns& e = track.events;
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (e.kind[i] != EventKind::Collective || e.comm[i] == kNoComm) continue;
      const auto c = static_cast<std::size_t>(e.comm[i].value());
      if (e.seq[i] >= comms_[c].root_of.size() || !is_rooted(e.collective(i))) continue;
      const auto root = place_of[c].find(comms_[c].root_of[e.seq[i]]);
      if (root == place_of[c].end()) continue;
      e.aux.set(i, root->second);
      e.flags[i] = static_cast<std::uint16_t>(e.flags[i] | kRooted);
    }
  }
  std::vector<std::vector<bool>> several(run.ranks.size());
  for (std::size_t r = 0; r < several.size(); ++r) several[r].resize(run.ranks[r].events.size());
  MessageColumns& m = run.messages;
  for (std::size_t k = 0; k < m.size(); ++k) {
    const auto from = static_cast<std::size_t>(m.from[k].value());
    const auto to = static_cast<std::size_t>(m.to[k].value());
    EventColumns& sends = run.ranks[from].events;
    EventColumns& receives = run.ranks[to].events;
    const std::size_t send = call_around(sends, m.send_begin[k], Edge::Begin);
    if (send < sends.size() && sends.end[send] != kStillRunning)
      m.send_end[k] = std::max(m.send_end[k], sends.end[send]);
    name_peer(sends, send, m.to[k], several[from]);
    const std::size_t posted = call_around(receives, m.receive_begin[k], Edge::Begin);
    const std::size_t done = call_around(receives, m.receive_end[k], Edge::End);
    name_peer(receives, posted, m.from[k], several[to]);
    if (done != posted) name_peer(receives, done, m.from[k], several[to]);
  }
}

}  // namespace cox::trace
