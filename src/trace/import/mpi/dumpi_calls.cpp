// SPDX-License-Identifier: Apache-2.0
#include "trace/import/mpi/dumpi_calls.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "trace/raw/meta_entries.hpp"

namespace cox::trace::dumpi {
namespace {

using model::Collective;

// Predefined handles (constants.h).
constexpr std::uint16_t kNullComm = 1;
constexpr std::uint16_t kWorldComm = 2;
constexpr std::uint16_t kSelfComm = 3;
constexpr std::int32_t kAnySource = -1;
constexpr std::int32_t kNullRequest = 1;

/// Bytes of the predefined data types where the file does not list them (LP64).
constexpr std::array<std::int32_t, 28> kTypeBytes{0, 0,  1, 1, 1, 1, 4, 2, 2, 4,  4,  8, 8, 4,
                                                  8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20};

std::int64_t saturating(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (a <= 0 || b <= 0) return 0;
  return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<std::int64_t>::max() : out;
}

std::int64_t sum_of(const std::vector<std::int32_t>& counts) {
  std::int64_t sum = 0;
  for (const std::int32_t c : counts) sum += std::max(c, 0);
  return sum;
}

/// Turns records into calls.
class CallReader {
 public:
  explicit CallReader(const File& file, RankFile* out) : out_(*out), type_sizes_(file.type_sizes()) {
    own_number_[kWorldComm] = kWorld;
    own_number_[kSelfComm] = kSelf;
    out_.sizes.assign(2, 0);
  }
  void read(const Record& r);

 private:
  struct Posted {
    bool is_send = false;
    std::size_t index = 0;
    bool persistent = false;
    bool active = true;
    bool nobody = false;  ///< with MPI_PROC_NULL
    MessageEnd like;      ///< persistent: what each start posts
  };
  struct Group {
    std::int32_t base = -1;  ///< communicator whose places the members are; -1 = not known
    std::shared_ptr<const std::vector<std::int32_t>> places{};
    bool everybody = false;
  };

  bool take(const Record& r);
  bool take_message(const Record& r);
  bool take_completion(const Record& r);
  bool take_collective(const Record& r);
  bool take_communicator(const Record& r);
  bool take_type(const Record& r);

  [[nodiscard]] CommId comm_of(std::uint16_t handle) const {
    const auto at = own_number_.find(handle);
    return at == own_number_.end() ? kNoComm : CommId(at->second);
  }
  std::int64_t size_of(std::int64_t count, std::uint16_t type);
  MessageEnd message(const Record& r, std::int32_t count, std::uint16_t type, std::int32_t peer,
                     std::int32_t tag, std::uint16_t comm);
  void add_wait(const Record& r, const MessageEnd* m);
  void add_request_wait(const Record& r);
  void post(const Record& r, bool is_send, bool persistent);
  void start(std::int32_t request, const Record& r);
  /// Marks it complete; the message where it was one.
  const MessageEnd* complete(std::int32_t request, const Status* status, const Record& r);
  void receive(MessageEnd m, const Record& r);
  static void settle(MessageEnd& m, const Status* status);
  void collective(const Record& r, Collective op, std::uint16_t comm, std::int64_t bytes,
                  std::uint16_t flags = 0, std::int32_t root = -1);
  void made(Making making, std::uint16_t parent, std::uint16_t handle, CommMade how = {});

  RankFile& out_;
  const std::vector<std::int32_t>& type_sizes_;
  std::map<std::uint16_t, std::int64_t> own_types_;
  std::map<std::uint16_t, std::int32_t> own_number_;
  std::map<std::uint16_t, Group> groups_;
  std::map<std::int32_t, Posted> requests_;
  std::map<std::uint16_t, std::uint32_t> threads_;
  std::uint32_t thread_ = 0;
};

void CallReader::read(const Record& r) {
  ++out_.records[r.function];
  if (static_cast<Call>(r.function) == Call::FunctionEnter ||
      static_cast<Call>(r.function) == Call::FunctionExit)
    return;
  if (!r.timed) ++out_.without_times;
  thread_ = threads_.try_emplace(r.thread, static_cast<std::uint32_t>(threads_.size())).first->second;
  if (take(r)) ++out_.used;
  if (thread_ != 0 || !r.timed) return;
  out_.calls.saw(r.begin);
  out_.calls.saw(r.end);
  out_.calls.inside.push_back({.begin = r.begin, .end = r.end});
}

bool CallReader::take(const Record& r) {
  switch (static_cast<Call>(r.function)) {
    case Call::Init:
    case Call::InitThread:
      ++out_.calls.inits;
      if (out_.program.empty()) out_.program = clean_text(r.text);
      return true;
    case Call::Finalize:
      ++out_.calls.finalizes;
      return true;
    default:
      return take_message(r) || take_completion(r) || take_collective(r) || take_communicator(r) ||
             take_type(r);
  }
}

std::int64_t CallReader::size_of(std::int64_t count, std::uint16_t type) {
  std::int64_t each = 0;
  if (const auto own = own_types_.find(type); own != own_types_.end())
    each = own->second;
  else if (type < type_sizes_.size())
    each = type_sizes_[type];
  else if (type < kTypeBytes.size())
    each = kTypeBytes[type];
  else if (count > 0)
    ++out_.unsized;
  return saturating(count, each);
}

/// `peer` is a place in the communicator until `place_peers`; kAnySource where the program named none.
MessageEnd CallReader::message(const Record& r, std::int32_t count, std::uint16_t type, std::int32_t peer,
                               std::int32_t tag, std::uint16_t comm) {
  return {.peer = peer,
          .comm = comm_of(comm),
          .tag = tag,
          .bytes = Bytes(size_of(count, type)),
          .begin = r.begin,
          .end = r.end};
}

/// What the status says of a message that came.
void CallReader::settle(MessageEnd& m, const Status* status) {
  if (status == nullptr || status->cancelled) return;
  if (status->source >= 0) m.peer = status->source;
  if (status->tag >= 0) m.tag = status->tag;
  if (status->bytes >= 0) m.bytes = Bytes(status->bytes);
}

void CallReader::add_wait(const Record& r, const MessageEnd* m) {
  if (m == nullptr) {
    add_request_wait(r);
    return;
  }
  out_.calls.events.push_back({.kind = EventKind::Wait,
                               .op = static_cast<std::uint8_t>(WaitKind::Peer),
                               .begin = r.begin,
                               .end = r.end,
                               .bytes = m->bytes,
                               .comm = m->comm,
                               .aux = m->peer < 0 ? kAnyPeer : static_cast<std::uint32_t>(m->peer),
                               .thread = thread_});
}

void CallReader::add_request_wait(const Record& r) {
  out_.calls.events.push_back({.kind = EventKind::Wait,
                               .op = static_cast<std::uint8_t>(WaitKind::Request),
                               .begin = r.begin,
                               .end = r.end,
                               .thread = thread_});
}

void CallReader::receive(MessageEnd m, const Record& r) {
  settle(m, r.statuses.empty() ? nullptr : &r.statuses.front());
  add_wait(r, &m);
  if (m.peer >= kAnySource) out_.calls.receives.push_back(m);
}

bool CallReader::take_message(const Record& r) {
  const auto& i = r.ints;
  const auto& h = r.halves;
  switch (static_cast<Call>(r.function)) {
    case Call::Send:
    case Call::Bsend:
    case Call::Ssend:
    case Call::Rsend: {
      const MessageEnd m = message(r, i[0], h[0], i[1], i[2], h[1]);
      add_wait(r, &m);
      if (m.peer >= 0) out_.calls.sends.push_back(m);
      return true;
    }
    case Call::Recv:
      receive(message(r, i[0], h[0], i[1], i[2], h[1]), r);
      return true;
    case Call::Sendrecv: {
      const MessageEnd sent = message(r, i[0], h[0], i[1], i[2], h[2]);
      if (sent.peer >= 0) out_.calls.sends.push_back(sent);
      receive(message(r, i[3], h[1], i[4], i[5], h[2]), r);
      return true;
    }
    case Call::SendrecvReplace: {
      const MessageEnd sent = message(r, i[0], h[0], i[1], i[2], h[1]);
      if (sent.peer >= 0) out_.calls.sends.push_back(sent);
      receive(message(r, i[0], h[0], i[3], i[4], h[1]), r);
      return true;
    }
    case Call::Isend:
    case Call::Ibsend:
    case Call::Issend:
    case Call::Irsend:
      post(r, true, false);
      return true;
    case Call::Irecv:
      post(r, false, false);
      return true;
    case Call::SendInit:
    case Call::BsendInit:
    case Call::SsendInit:
    case Call::RsendInit:
      post(r, true, true);
      return true;
    case Call::RecvInit:
      post(r, false, true);
      return true;
    case Call::Start:
      start(i[0], r);
      return true;
    case Call::Startall:
      for (const std::int32_t request : r.first_array) start(request, r);
      return true;
    default:
      return false;
  }
}

void CallReader::post(const Record& r, bool is_send, bool persistent) {
  const auto& i = r.ints;
  MessageEnd m = message(r, i[0], r.halves[0], i[1], i[2], r.halves[1]);
  m.end = kStillRunning;
  Posted posted{.is_send = is_send, .persistent = persistent, .active = !persistent, .like = m};
  posted.nobody = m.peer < (is_send ? 0 : kAnySource);
  if (!persistent && !posted.nobody) {
    auto& ends = is_send ? out_.calls.sends : out_.calls.receives;
    posted.index = ends.size();
    ends.push_back(m);
  }
  requests_.insert_or_assign(i[3], posted);
}

void CallReader::start(std::int32_t request, const Record& r) {
  const auto at = requests_.find(request);
  if (at == requests_.end() || !at->second.persistent) {
    ++out_.orphans;
    return;
  }
  at->second.active = true;
  if (at->second.nobody) return;
  auto& ends = at->second.is_send ? out_.calls.sends : out_.calls.receives;
  at->second.index = ends.size();
  ends.push_back(at->second.like);
  ends.back().begin = r.begin;
}

const MessageEnd* CallReader::complete(std::int32_t request, const Status* status, const Record& r) {
  if (request <= kNullRequest) return nullptr;
  const auto at = requests_.find(request);
  if (at == requests_.end() || !at->second.active) {
    ++out_.orphans;
    return nullptr;
  }
  const Posted posted = at->second;
  if (posted.persistent)
    at->second.active = false;
  else
    requests_.erase(at);
  if (posted.nobody) return nullptr;
  MessageEnd& m = posted.is_send ? out_.calls.sends[posted.index] : out_.calls.receives[posted.index];
  if (!posted.is_send) settle(m, status);
  // A damaged time may lie before that of the post; so does an untimed one.
  m.end = std::max(m.begin, r.end);
  return &m;
}

bool CallReader::take_completion(const Record& r) {
  const auto& i = r.ints;
  const auto status = [&](std::size_t n) { return n < r.statuses.size() ? &r.statuses[n] : nullptr; };
  const auto nth = [&](std::int64_t n) {
    return n >= 0 && n < static_cast<std::int64_t>(r.first_array.size())
               ? r.first_array[static_cast<std::size_t>(n)]
               : kNullRequest;
  };
  switch (static_cast<Call>(r.function)) {
    case Call::Wait:
      add_wait(r, complete(i[0], status(0), r));
      return true;
    case Call::Waitany:
      add_wait(r, complete(nth(i[1]), status(0), r));
      return true;
    case Call::Waitall: {
      const MessageEnd* one = nullptr;
      for (std::size_t n = 0; n < r.first_array.size(); ++n) one = complete(r.first_array[n], status(n), r);
      add_wait(r, r.first_array.size() == 1 ? one : nullptr);
      return true;
    }
    case Call::Waitsome:
      add_request_wait(r);
      [[fallthrough]];
    case Call::Testsome:
      for (std::size_t n = 0; n < r.second_array.size(); ++n) complete(nth(r.second_array[n]), status(n), r);
      return true;
    case Call::Test:
      if (i[1] != 0) complete(i[0], status(0), r);
      return true;
    case Call::Testany:
      if (i[2] != 0) complete(nth(i[1]), status(0), r);
      return true;
    case Call::Testall:
      if (i[1] != 0)
        for (std::size_t n = 0; n < r.first_array.size(); ++n) complete(r.first_array[n], status(n), r);
      return true;
    case Call::RequestFree:
      requests_.erase(i[0]);
      return true;
    default:
      return false;
  }
}

void CallReader::collective(const Record& r, Collective op, std::uint16_t comm, std::int64_t bytes,
                            std::uint16_t flags, std::int32_t root) {
  Event e{.kind = EventKind::Collective,
          .op = static_cast<std::uint8_t>(op),
          .flags = flags,
          .begin = r.begin,
          .end = r.end,
          .bytes = Bytes(bytes),
          .comm = comm_of(comm),
          .thread = thread_};
  if (root >= 0) {
    e.flags |= kRooted;
    e.aux = static_cast<std::uint32_t>(root);
  }
  out_.calls.events.push_back(e);
}

bool CallReader::take_collective(const Record& r) {
  const auto& i = r.ints;
  const auto& h = r.halves;
  switch (static_cast<Call>(r.function)) {
    case Call::Barrier:
      collective(r, Collective::Barrier, h[0], 0);
      return true;
    case Call::Bcast:
      collective(r, Collective::Broadcast, h[1], size_of(i[0], h[0]), 0, i[1]);
      return true;
    case Call::Gather:  // own rank, count, root
      collective(r, Collective::Gather, h[1], size_of(i[1], h[0]), 0, i[2]);
      return true;
    case Call::Gatherv:  // own rank, size, count, root
      collective(r, Collective::Gather, h[1],
                 r.first_array.empty() ? size_of(i[2], h[0]) : size_of(sum_of(r.first_array), h[2]),
                 kVariable, i[3]);
      return true;
    case Call::Scatter:
      collective(r, Collective::Scatter, h[1], size_of(i[1], h[0]), 0, i[2]);
      return true;
    case Call::Scatterv:  // own rank, size, count, root; types sent and received, communicator
      collective(r, Collective::Scatter, h[2],
                 r.first_array.empty() ? size_of(i[2], h[1]) : size_of(sum_of(r.first_array), h[0]),
                 kVariable, i[3]);
      return true;
    case Call::Allgather:
      collective(r, Collective::AllGather, h[2], size_of(i[0], h[0]));
      return true;
    case Call::Allgatherv:  // the array of what everybody sends is the first one
      collective(r, Collective::AllGather, h[2], size_of(sum_of(r.first_array), h[1]), kVariable);
      return true;
    case Call::Alltoall:
      collective(r, Collective::AllToAll, h[2], size_of(i[0], h[0]));
      return true;
    case Call::Alltoallv:
      collective(r, Collective::AllToAll, h[2], size_of(sum_of(r.first_array), h[0]), kVariable);
      return true;
    case Call::Alltoallw:  // a type per peer: no size
      collective(r, Collective::AllToAll, h[0], 0, kVariable);
      return true;
    case Call::Reduce:
      collective(r, Collective::Reduce, h[1], size_of(i[0], h[0]), 0, i[1]);
      return true;
    case Call::Allreduce:
      collective(r, Collective::AllReduce, h[1], size_of(i[0], h[0]));
      return true;
    case Call::ReduceScatter:
      collective(r, Collective::ReduceScatter, h[1], size_of(sum_of(r.first_array), h[0]), kVariable);
      return true;
    case Call::Scan:
    case Call::Exscan:
      collective(r, Collective::Scan, h[1], size_of(i[0], h[0]));
      return true;
    default:
      return false;
  }
}

void CallReader::made(Making making, std::uint16_t parent, std::uint16_t handle, CommMade how) {
  const CommId from = comm_of(parent);
  how.making = from == kNoComm ? Making::Unknown : making;
  how.parent = from == kNoComm ? -1 : from.value();
  if (handle > kNullComm) {
    how.made = static_cast<std::int32_t>(out_.sizes.size());
    out_.sizes.push_back(0);
    own_number_[handle] = how.made;
  }
  out_.made.push_back(std::move(how));
}

bool CallReader::take_communicator(const Record& r) {
  const auto& i = r.ints;
  const auto& h = r.halves;
  switch (static_cast<Call>(r.function)) {
    case Call::CommRank:
      if (h[0] == kWorldComm) out_.own_rank = i[0];
      return true;
    case Call::CommSize: {
      const CommId comm = comm_of(h[0]);
      if (comm == CommId(kWorld)) out_.world_size = i[0];
      if (comm != kNoComm) out_.sizes[static_cast<std::size_t>(comm.value())] = i[0];
      return true;
    }
    case Call::CommDup:
      made(Making::Dup, h[0], h[1]);
      return true;
    case Call::CommSplit:
      made(Making::Split, h[0], h[1], {.color = i[0], .key = i[1], .group = {}});
      return true;
    case Call::CommCreate: {
      CommMade how;
      const auto group = groups_.find(h[1]);
      if (group != groups_.end() && CommId(group->second.base) == comm_of(h[0]))
        how.group = group->second.places;
      made(Making::Create, h[0], h[2], std::move(how));
      return true;
    }
    case Call::CartCreate:  // dimensions, then whether ranks may be reordered
      made(i[1] == 0 ? Making::Subset : Making::Unknown, h[0], h[1]);
      return true;
    case Call::GraphCreate:
    case Call::CartSub:
    case Call::IntercommMerge:
      made(Making::Unknown, h[0], h[1]);
      return true;
    case Call::IntercommCreate:
      made(Making::Unknown, h[0], h[2]);
      return true;
    case Call::CommGroup: {
      const CommId comm = comm_of(h[0]);
      groups_.insert_or_assign(
          h[1], Group{.base = comm == kNoComm ? -1 : comm.value(), .places = nullptr, .everybody = true});
      return true;
    }
    case Call::GroupIncl: {
      const auto from = groups_.find(h[0]);
      const bool known = from != groups_.end() && from->second.everybody;
      Group group{.base = known ? from->second.base : -1};
      if (known) group.places = std::make_shared<const std::vector<std::int32_t>>(r.first_array);
      groups_.insert_or_assign(h[1], std::move(group));
      return true;
    }
    default:
      return false;
  }
}

bool CallReader::take_type(const Record& r) {
  const auto& i = r.ints;
  const auto& h = r.halves;
  switch (static_cast<Call>(r.function)) {
    case Call::TypeContiguous:
      own_types_[h[1]] = size_of(i[0], h[0]);
      return true;
    case Call::TypeVector:
      own_types_[h[1]] = size_of(saturating(i[0], i[1]), h[0]);
      return true;
    case Call::TypeSize:
      own_types_[h[0]] = std::max(i[0], 0);
      return true;
    default:
      return false;
  }
}

void compare_with_footer(const File& file, RankFile& out) {
  if (!file.footer()) return;
  out.ignored = file.footer()->ignored;
  const auto& calls = file.footer()->calls;
  // Behind the last function stands the sum of all.
  for (std::size_t f = 0; f + 1 < calls.size() && f < out.records.size(); ++f)
    out.footer_differs += calls[f] != static_cast<std::uint64_t>(out.records[f]);
}

}  // namespace

bool RankFile::tells_time_of_day() const {
  constexpr std::uint64_t kDay = 86'400;
  if (!header) return false;
  const std::uint64_t started = header->started;
  return base_second + kDay > started && base_second < started + kDay && base_second > kDay;
}

RankFile read_rank(std::string_view bytes) {
  File file(bytes);
  RankFile out;
  out.header = file.header();
  out.base_second = file.base_second();
  out.records.assign(kEndOfStream + std::size_t{1}, 0);
  out.too_old = file.too_old();
  if (out.too_old) return out;
  CallReader calls(file, &out);
  Record record;
  while (file.next(record)) calls.read(record);
  out.ending = file.ending();
  out.end_at = file.position();
  if (out.ending == Ending::Damaged && record.function < kEndOfStream)
    out.stopped_at = functions()[record.function].name;
  if (out.ending == Ending::Whole) compare_with_footer(file, out);
  return out;
}

}  // namespace cox::trace::dumpi
