// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/open_calls.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace cox::diagnose {
namespace {

using trace::EventColumns;
using trace::EventKind;

/// Operations and (operation, member) pairs that are put together; a file may claim any number of open calls.
constexpr std::size_t kMostOperations = 16384;
constexpr std::size_t kMostPairs = std::size_t{1} << 22;

/// Open records of one rank that are still true, newest first. A thread that began another collective or a
/// step has left what it was in, even where no record says so (an exception passed through). Not so where a device runs them:
/// what is behind another on its queue is begun by the host, and all of them are open.
/// A process that ended in order had left them, unless the job failed: a library may end its process out of a call that waits
/// (Open MPI does where its daemon is gone).
std::vector<std::size_t> open_records(const trace::RankTrack& track, bool job_failed) {
  std::vector<std::size_t> open;
  const EventColumns& e = track.events;
  if (track.state != trace::WriterState::Open && !(job_failed && track.state == trace::WriterState::Closed))
    return open;
  if (std::find(e.end.begin(), e.end.end(), trace::kStillRunning) == e.end.end()) return open;
  struct Later {
    bool collective = false;
    bool wait = false;
  };
  std::unordered_map<std::uint32_t, Later> later;
  for (std::size_t i = e.size(); i-- > 0;) {
    const bool wait = is_program_wait(e, i) || is_peer_wait(e, i);
    if (e.kind[i] == EventKind::Step) later[e.thread[i]] = {true, true};
    if (e.kind[i] != EventKind::Collective && !wait) continue;
    Later& seen = later[e.thread[i]];
    const bool running = e.end[i] == trace::kStillRunning;
    if (running && !seen.wait && (wait || !seen.collective)) open.push_back(i);
    const bool is_queued = running && !wait && (e.flags[i] & trace::kTagged) != 0;
    if (!is_queued) (wait ? seen.wait : seen.collective) = true;
  }
  return open;
}

using OperationKey = std::pair<std::int32_t, std::uint32_t>;
struct KeyHash {
  std::size_t operator()(const OperationKey& k) const noexcept {
    return (static_cast<std::size_t>(static_cast<std::uint32_t>(k.first)) << 32 | k.second) *
           0x9e3779b97f4a7c15ULL;
  }
};

class Finder {
 public:
  explicit Finder(const Matched& m) : m_(m) { out_.ranks.resize(m.ranks()); }

  OpenCalls find() && {
    for (std::size_t r = 0; r < m_.ranks(); ++r) collect(r);
    if (out_.operations.empty()) return std::move(out_);
    place_members();
    for (std::size_t r = 0; r < m_.ranks(); ++r) mark(r);
    for (std::size_t o = 0; o < out_.operations.size(); ++o) settle(o);
    sort_operations();
    return std::move(out_);
  }

 private:
  void collect(std::size_t r) {
    const trace::RankTrack& track = m_.track(r);
    const EventColumns& e = track.events;
    Standing& standing = out_.ranks[r];
    standing.recorded = track.state != trace::WriterState::Disabled && track.dropped_records == 0 &&
                        (e.size() > 0 || !track.samples.empty());
    for (const std::size_t i : open_records(track, m_.info().exit_status > 0)) {
      const bool collective = e.kind[i] == EventKind::Collective;
      if (!collective || !m_.scan(r).in_background(e, i)) standing.still = true;
      std::int32_t comm = m_.comms().find(e.comm[i]);
      if (comm < 0 && is_peer_wait(e, i))
        comm = of_all_ranks();  // of messages from anybody nothing tells which
      if (comm < 0) continue;
      if (is_peer_wait(e, i)) {
        add_peer(r, i, comm);
      } else if (collective || static_cast<trace::WaitKind>(e.op[i]) == trace::WaitKind::Request) {
        add_collective(r, i, comm);
      }
    }
  }

  /// The communicator that all ranks of the Run are in, or -1.
  [[nodiscard]] std::int32_t of_all_ranks() const {
    const auto all = m_.communicators();
    for (std::size_t c = 0; c < all.size(); ++c)
      if (all[c].ranks.size() == m_.ranks() && all[c].ranks.size() == static_cast<std::size_t>(all[c].size))
        return static_cast<std::int32_t>(c);
    return -1;
  }

  bool room_for(std::size_t members) {
    if (out_.operations.size() < kMostOperations && pairs_ + members <= kMostPairs) {
      pairs_ += members;
      return true;
    }
    ++out_.not_looked_at;
    return false;
  }

  /// Name and size as the first record says that tells them.
  static void describe(OpenOperation& op, const EventColumns& e, std::size_t i) {
    if (e.kind[i] != EventKind::Collective || op.kind != model::Collective::Other) return;
    op.kind = e.collective(i);
    op.bytes = std::max(e.bytes[i], Bytes{});
  }

  void enter(std::int32_t o, std::size_t r, std::size_t event) {
    OpenOperation& op = out_.operations[static_cast<std::size_t>(o)];
    const auto self = static_cast<std::int32_t>(r);
    const EventColumns& e = m_.track(r).events;
    if (op.inside.empty() || e.begin[event] < op.since) {
      op.since = e.begin[event];
      op.first = self;
    }
    describe(op, e, event);
    auto& mine = out_.ranks[r].operations;
    if (std::find(mine.begin(), mine.end(), o) == mine.end()) mine.push_back(o);
    if (op.inside.empty() || op.inside.back() != self) op.inside.push_back(self);
  }

  void add_collective(std::size_t r, std::size_t i, std::int32_t comm) {
    const EventColumns& e = m_.track(r).events;
    const OperationKey key{comm, e.seq[i]};
    auto at = places_.find(key);
    if (at == places_.end()) {
      if (!room_for(m_.communicator(comm).ranks.size())) return;
      at = places_.emplace(key, static_cast<std::int32_t>(out_.operations.size())).first;
      out_.operations.push_back({.comm = comm, .seq = e.seq[i]});
    }
    enter(at->second, r, i);
  }

  void add_peer(std::size_t r, std::size_t i, std::int32_t comm) {
    if (!room_for(2)) return;
    const EventColumns& e = m_.track(r).events;
    out_.operations.push_back(
        {.comm = comm, .point_to_point = true, .kind = model::Collective::SendRecv, .bytes = e.bytes[i]});
    OpenOperation& op = out_.operations.back();
    if (e.aux[i] == trace::kAnyPeer || (e.flags[i] & trace::kNumbered) != 0) op.bytes = Bytes{};
    const MessageWait* wait = m_.message_waits().find(r, i);
    if (wait == nullptr || wait->more) op.unnamed = 1;
    if (wait != nullptr) op.missing = whom_it_waits_for(static_cast<std::int32_t>(r), *wait);
    enter(static_cast<std::int32_t>(out_.operations.size() - 1), r, i);
  }

  /// Of the peers of a call those that it may lack something from: a message, where the records do not show it
  /// as sent, or a receive for what it sends itself, which a library may hold back until then.
  [[nodiscard]] std::vector<std::int32_t> whom_it_waits_for(std::int32_t self,
                                                            const MessageWait& wait) const {
    const MessageWaits& waits = m_.message_waits();
    std::vector<std::int32_t> lacking;
    for (const AwaitedMessages& a : waits.awaited(static_cast<std::size_t>(self), wait)) {
      const bool unnumbered = a.received == 0 && a.sent == 0;
      const bool no_message = a.received > 0 && !waits.surely_sent(a.peer, self, a.comm, a.received);
      const bool no_receive = a.sent > 0 && !waits.surely_posted(self, a.peer, a.comm, a.sent);
      if (unnumbered || no_message || no_receive) lacking.push_back(a.peer);
    }
    std::sort(lacking.begin(), lacking.end());
    lacking.erase(std::unique(lacking.begin(), lacking.end()), lacking.end());
    return lacking;
  }

  /// A part for each member of each collective, not entered until a record says otherwise.
  void place_members() {
    for (const OpenOperation& op : out_.operations) {
      const auto& members = m_.communicator(op.comm).ranks;
      parts_.emplace_back(op.point_to_point ? 0 : members.size(), MemberPart::NotEntered);
      calls_in_use_.push_back(op.comm);
    }
    std::sort(calls_in_use_.begin(), calls_in_use_.end());
    calls_in_use_.erase(std::unique(calls_in_use_.begin(), calls_in_use_.end()), calls_in_use_.end());
  }

  /// Writes what the records of one rank say into its parts.
  void mark(std::size_t r) {
    const bool concerned =
        std::any_of(m_.scan(r).comms.begin(), m_.scan(r).comms.end(), [&](const CommUse& use) {
          return std::binary_search(calls_in_use_.begin(), calls_in_use_.end(), use.comm);
        });
    if (!concerned) return;
    const EventColumns& e = m_.track(r).events;
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (e.kind[i] != EventKind::Collective) continue;
      const std::int32_t comm = m_.comms().find(e.comm[i]);
      if (comm < 0) continue;
      const auto at = places_.find({comm, e.seq[i]});
      if (at == places_.end()) continue;
      const auto& members = m_.communicator(comm).ranks;
      const auto member = std::lower_bound(members.begin(), members.end(), m_.track(r).rank);
      if (member == members.end() || *member != m_.track(r).rank) continue;
      describe(out_.operations[static_cast<std::size_t>(at->second)], e, i);
      parts_[static_cast<std::size_t>(at->second)][static_cast<std::size_t>(member - members.begin())] =
          MemberPart::Left;
    }
  }

  /// Whether a rank without a record of the operation can be said not to have entered it.
  [[nodiscard]] bool surely_not_entered(std::size_t r, const OpenOperation& op) const {
    const trace::RankTrack& track = m_.track(r);
    if (!out_.ranks[r].recorded) return false;
    const auto& uses = m_.scan(r).comms;
    const auto use = std::lower_bound(uses.begin(), uses.end(), op.comm,
                                      [](const CommUse& u, std::int32_t c) { return u.comm < c; });
    const bool used = use != uses.end() && use->comm == op.comm;
    if (used && use->last_seq > op.seq) return false;  // it is further: the record is lost
    if (track.recycled_records == 0) return true;
    // Records are overwritten from the oldest on, but the first ones are kept: only a hole that lies before
    // its last call here shows that nothing after that call was overwritten.
    const auto span = used ? std::int64_t{use->last_seq} - std::int64_t{use->first_seq} + 1 : 0;
    return used && use->calls < span;
  }

  void settle(std::size_t o) {
    OpenOperation& op = out_.operations[o];
    if (op.point_to_point) return settle_peer(op);
    const trace::Communicator& comm = m_.communicator(op.comm);
    for (std::size_t k = 0; k < comm.ranks.size(); ++k) {
      const std::int32_t r = m_.index_of(comm.ranks[k]);
      if (r >= 0 && std::binary_search(op.inside.begin(), op.inside.end(), r)) continue;
      if (r >= 0 && parts_[o][k] == MemberPart::Left)
        op.left.push_back(comm.ranks[k]);
      else if (r >= 0 && surely_not_entered(static_cast<std::size_t>(r), op))
        op.missing.push_back(r);
      else
        op.not_recorded.push_back(comm.ranks[k]);
    }
    std::sort(op.missing.begin(), op.missing.end());
    op.unnamed = std::max<std::int64_t>(0, comm.size - static_cast<std::int64_t>(comm.ranks.size()));
  }

  void settle_peer(OpenOperation& op) {
    std::erase_if(op.missing, [&](std::int32_t peer) {
      if (out_.ranks[static_cast<std::size_t>(peer)].recorded) return false;
      op.not_recorded.push_back(m_.track(static_cast<std::size_t>(peer)).rank);
      return true;
    });
    // Any of several may have sent already: those that wait themselves are missing only where all do.
    const auto waits = [&](std::int32_t peer) {
      return !out_.ranks[static_cast<std::size_t>(peer)].operations.empty();
    };
    if (!std::all_of(op.missing.begin(), op.missing.end(), waits)) std::erase_if(op.missing, waits);
    std::sort(op.missing.begin(), op.missing.end());
    if (op.unnamed > 0 && op.missing.empty() && op.not_recorded.empty()) {
      const auto [at, fresh] = only_one_.try_emplace(op.comm, -1);
      if (fresh) at->second = only_one_that_goes_on(op.comm);
      if (at->second >= 0) op.missing.push_back(at->second);
    }
  }

  /// Of a call whose peer is not known (a receive from anybody, a wait for any of several): what it waits for can come
  /// only from a member that does not stand still itself. -1 where those are several, or a member's record does not say.
  [[nodiscard]] std::int32_t only_one_that_goes_on(std::int32_t comm_index) const {
    const trace::Communicator& comm = m_.communicator(comm_index);
    if (static_cast<std::size_t>(std::max(comm.size, 0)) != comm.ranks.size()) return -1;
    std::int32_t one = -1;
    for (const Rank member : comm.ranks) {
      const std::int32_t r = m_.index_of(member);
      if (r < 0 || !out_.ranks[static_cast<std::size_t>(r)].recorded) return -1;
      if (out_.ranks[static_cast<std::size_t>(r)].still) continue;
      if (one >= 0) return -1;
      one = r;
    }
    return one;
  }

  void sort_operations() {
    std::vector<std::int32_t> order(out_.operations.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
    const auto key = [&](std::int32_t i) {
      const OpenOperation& op = out_.operations[static_cast<std::size_t>(i)];
      return std::tuple{op.point_to_point, op.comm, op.seq, op.first, i};
    };
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return key(a) < key(b); });
    std::vector<std::int32_t> moved(order.size());
    std::vector<OpenOperation> sorted;
    sorted.reserve(order.size());
    for (const std::int32_t i : order) {
      moved[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(sorted.size());
      sorted.push_back(std::move(out_.operations[static_cast<std::size_t>(i)]));
    }
    out_.operations = std::move(sorted);
    for (Standing& standing : out_.ranks) {
      for (std::int32_t& o : standing.operations) o = moved[static_cast<std::size_t>(o)];
      std::sort(standing.operations.begin(), standing.operations.end());
    }
  }

  const Matched& m_;
  OpenCalls out_;
  std::unordered_map<OperationKey, std::int32_t, KeyHash> places_;
  std::vector<std::vector<MemberPart>> parts_;
  std::vector<std::int32_t> calls_in_use_;
  std::map<std::int32_t, std::int32_t> only_one_;  ///< by communicator
  std::size_t pairs_ = 0;
};

}  // namespace

OpenCalls find_open_calls(const Matched& matched) {
  return Finder(matched).find();
}

}  // namespace cox::diagnose
