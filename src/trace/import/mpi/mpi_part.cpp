// SPDX-License-Identifier: Apache-2.0
#include "trace/import/mpi/mpi_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <numeric>
#include <tuple>

#include "cox/base/number_text.hpp"
#include "cox/base/release_memory.hpp"

#include "trace/import/bytes/byte_source.hpp"

namespace cox::trace {
namespace {

using model::Collective;

/// A message's end with everything that pairs it.
struct Keyed {
  std::int32_t from;
  std::int32_t to;
  std::int32_t comm;
  std::int64_t tag;
  std::uint32_t rank_index;
  std::uint32_t place;  ///< in the order of posting

  [[nodiscard]] auto key() const { return std::tie(from, to, comm, tag); }
  bool operator<(const Keyed& o) const {
    return std::tie(from, to, comm, tag, place) < std::tie(o.from, o.to, o.comm, o.tag, o.place);
  }
};

enum class Side : std::uint8_t { Sender, Receiver };

std::vector<Keyed> keyed(const std::vector<MpiRank>& ranks, Side side, std::int64_t* without_peer) {
  std::vector<Keyed> out;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::vector<MessageEnd>& ends = side == Side::Sender ? ranks[r].sends : ranks[r].receives;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].peer < 0 || ends[i].end == kStillRunning) {
        ++*without_peer;
        continue;
      }
      const std::int32_t self = ranks[r].rank.value();
      const bool sends = side == Side::Sender;
      out.push_back({.from = sends ? self : ends[i].peer,
                     .to = sends ? ends[i].peer : self,
                     .comm = ends[i].comm.value(),
                     .tag = ends[i].tag,
                     .rank_index = static_cast<std::uint32_t>(r),
                     .place = static_cast<std::uint32_t>(i)});
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

void add_message(MessageColumns& m, const Keyed& key, const MessageEnd& sent, const MessageEnd& received) {
  m.from.push_back(Rank(key.from));
  m.to.push_back(Rank(key.to));
  m.send_begin.push_back(sent.begin);
  m.send_end.push_back(sent.end);
  m.receive_begin.push_back(received.begin);
  m.receive_end.push_back(received.end);
  m.bytes.push_back(sent.bytes);
  m.tag.push_back(key.tag);
}

void pair_messages(PartBuilder& part, const std::vector<MpiRank>& ranks) {
  std::int64_t incomplete = 0;
  const std::vector<Keyed> sends = keyed(ranks, Side::Sender, &incomplete);
  const std::vector<Keyed> receives = keyed(ranks, Side::Receiver, &incomplete);
  std::int64_t alone = 0;
  std::size_t s = 0;
  std::size_t r = 0;
  while (s < sends.size() && r < receives.size()) {
    if (sends[s].key() < receives[r].key()) {
      ++s;
      ++alone;
    } else if (receives[r].key() < sends[s].key()) {
      ++r;
      ++alone;
    } else {
      add_message(part.run().messages, sends[s], ranks[sends[s].rank_index].sends[sends[s].place],
                  ranks[receives[r].rank_index].receives[receives[r].place]);
      ++s;
      ++r;
    }
  }
  alone += static_cast<std::int64_t>(sends.size() - s + receives.size() - r);
  if (ranks.size() > 1)
    part.note_count(alone, "send or receive without its counterpart",
                    "sends or receives without their counterpart");
  part.note_count(incomplete, "send or receive", "sends or receives", " without a known peer or completion");
}

/// What lies between the calls of MPI, merged.
UsefulColumns outside(std::vector<TimeSpan> inside, TimeSpan recorded) {
  UsefulColumns out;
  std::sort(inside.begin(), inside.end(),
            [](const TimeSpan& a, const TimeSpan& b) { return a.begin < b.begin; });
  const auto add = [&](Duration begin, Duration end) {
    if (end <= begin) return;
    out.begin.push_back(begin);
    out.end.push_back(end);
  };
  Duration at = recorded.begin;
  for (const TimeSpan& call : inside) {
    add(at, call.begin);
    at = std::max(at, call.end);
  }
  add(at, recorded.end);
  return out;
}

/// Gives each collective its place in its communicator's order, and the waits for it the same.
void number_collectives(MpiRank& rank) {
  std::vector<std::uint32_t> order(rank.events.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return rank.events[a].begin < rank.events[b].begin;
  });
  std::map<CommId, std::uint32_t> next;
  for (const std::uint32_t i : order)
    if (Event& e = rank.events[i]; e.kind == EventKind::Collective && e.comm != kNoComm)
      e.seq = next[e.comm]++;
  for (const auto& [wait, collective] : rank.waits_for) {
    rank.events[wait].comm = rank.events[collective].comm;
    rank.events[wait].seq = rank.events[collective].seq;
  }
}

void translate(MpiRank& rank, std::size_t index, const CommOf& comm_of) {
  std::map<CommId, CommId> known;
  const auto real = [&](CommId own) {
    if (own == kNoComm) return kNoComm;
    const auto [at, is_new] = known.try_emplace(own, kNoComm);
    if (is_new) at->second = comm_of(index, own);
    return at->second;
  };
  for (Event& e : rank.events) e.comm = real(e.comm);
  for (MessageEnd& m : rank.sends) m.comm = real(m.comm);
  for (MessageEnd& m : rank.receives) m.comm = real(m.comm);
}

struct Named {
  std::string_view name;
  Collective op;
  std::uint16_t flags;
};
constexpr std::array kCollectives{
    Named{"allgather", Collective::AllGather, 0},
    Named{"allgatherv", Collective::AllGather, kVariable},
    Named{"allreduce", Collective::AllReduce, 0},
    Named{"alltoall", Collective::AllToAll, 0},
    Named{"alltoallv", Collective::AllToAll, kVariable},
    Named{"alltoallw", Collective::AllToAll, kVariable},
    Named{"barrier", Collective::Barrier, 0},
    Named{"bcast", Collective::Broadcast, 0},
    Named{"exscan", Collective::Scan, 0},
    Named{"gather", Collective::Gather, 0},
    Named{"gatherv", Collective::Gather, kVariable},
    Named{"neighbor_allgather", Collective::Neighbor, 0},
    Named{"neighbor_allgatherv", Collective::Neighbor, kVariable},
    Named{"neighbor_alltoall", Collective::Neighbor, 0},
    Named{"neighbor_alltoallv", Collective::Neighbor, kVariable},
    Named{"neighbor_alltoallw", Collective::Neighbor, kVariable},
    Named{"reduce", Collective::Reduce, 0},
    Named{"reduce_scatter", Collective::ReduceScatter, kVariable},
    Named{"reduce_scatter_block", Collective::ReduceScatter, 0},
    Named{"scan", Collective::Scan, 0},
    Named{"scatter", Collective::Scatter, 0},
    Named{"scatterv", Collective::Scatter, kVariable},
};

struct Called {
  std::string_view name;
  MpiCall call;
};
constexpr std::array kCalls{
    Called{"init", MpiCall::Init},
    Called{"init_thread", MpiCall::Init},
    Called{"finalize", MpiCall::Finalize},
    Called{"wait", MpiCall::Wait},
    Called{"waitall", MpiCall::Wait},
    Called{"waitany", MpiCall::Wait},
    Called{"waitsome", MpiCall::Wait},
    Called{"send", MpiCall::Transfer},
    Called{"bsend", MpiCall::Transfer},
    Called{"ssend", MpiCall::Transfer},
    Called{"rsend", MpiCall::Transfer},
    Called{"recv", MpiCall::Transfer},
    Called{"mrecv", MpiCall::Transfer},
    Called{"sendrecv", MpiCall::Transfer},
    Called{"sendrecv_replace", MpiCall::Transfer},
    Called{"isend", MpiCall::Start},
    Called{"ibsend", MpiCall::Start},
    Called{"issend", MpiCall::Start},
    Called{"irsend", MpiCall::Start},
    Called{"irecv", MpiCall::Start},
    Called{"imrecv", MpiCall::Start},
    Called{"start", MpiCall::Start},
    Called{"startall", MpiCall::Start},
};

/// `MPI_Iallreduce()` gives `iallreduce`; empty where it is no name of MPI.
std::string bare_name(std::string_view name) {
  std::string lower;
  for (const char c : name.substr(0, 64))
    if (c != ' ' && c != '(' && c != ')')
      lower.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  std::string_view rest = lower;
  if (rest.starts_with("pmpi_")) rest.remove_prefix(1);
  if (!rest.starts_with("mpi_")) return {};
  rest.remove_prefix(4);
  if (rest.ends_with('_')) rest.remove_suffix(1);
  return std::string(rest);
}

std::optional<MpiFunction> collective_named(std::string_view name) {
  const auto at =
      std::find_if(kCollectives.begin(), kCollectives.end(), [&](const Named& n) { return n.name == name; });
  if (at == kCollectives.end()) return std::nullopt;
  return MpiFunction{.call = MpiCall::Collective, .op = at->op, .flags = at->flags};
}

}  // namespace

void add_ranks(PartBuilder& part, std::vector<MpiRank> ranks, const CommOf& comm_of) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    MpiRank& rank = ranks[i];
    const std::size_t index = part.add_rank(rank.rank, rank.host);
    translate(rank, i, comm_of);
    number_collectives(rank);
    part.rank(index).events.reserve(rank.events.size());
    for (const Event& e : rank.events) part.add_event(index, e);
    part.rank(index).useful = outside(std::move(rank.inside), rank.recorded);
    part.rank(index).state = rank.inits > 0 && rank.finalizes == 0 ? WriterState::Open : WriterState::Closed;
    if (rank.inits != rank.finalizes)
      part.note(fmt::format("rank {}: {} of MPI_Init, {} of MPI_Finalize", rank.rank.value(),
                            counted(rank.inits, "return", "returns"), rank.finalizes));
    release_memory(rank.events);
  }
  pair_messages(part, ranks);
}

Result<std::string> whole_file(const std::filesystem::path& path, std::uint64_t limit_bytes) {
  COX_TRY(ByteSource source, ByteSource::open(path, limit_bytes));
  std::string bytes;
  for (std::size_t piece = std::size_t{32} << 10;; piece = std::min(2 * piece, std::size_t{16} << 20)) {
    const std::size_t had = bytes.size();
    bytes.resize(had + piece);
    COX_TRY(const std::size_t n, source.read({bytes.data() + had, piece}));
    bytes.resize(had + n);
    if (n < piece) return bytes;
  }
}

MpiFunction mpi_function(std::string_view name) {
  const std::string bare = bare_name(name);
  if (const auto found = collective_named(bare)) return *found;
  const auto at = std::find_if(kCalls.begin(), kCalls.end(), [&](const Called& c) { return c.name == bare; });
  if (at != kCalls.end()) return {.call = at->call};
  // MPI names the non-blocking form of each collective with an i in front: ineighbor_, iallreduce.
  if (bare.starts_with('i'))
    if (auto found = collective_named(std::string_view(bare).substr(1))) {
      found->flags |= kNonBlocking;
      return *found;
    }
  return {};
}

bool is_mpi_name(std::string_view name) {
  return !bare_name(name).empty();
}

Bytes whole_array(Bytes own, int members) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (members <= 0 || own.count() <= 0) return Bytes(0);
  return own.count() > kMost / members ? Bytes(kMost) : own * members;
}

}  // namespace cox::trace
