// SPDX-License-Identifier: Apache-2.0
// Where a program waits for what it started: Wait*, Test*, and Start of persistent operations.
// A completion of a collective leaves a record that names it; one of messages does so only where
// the program stood still for long.
#include "guest/mpi/bindings.hpp"
#include "guest/mpi/keys.hpp"
#include "guest/mpi/state.hpp"

namespace cox::guest::mpi {
namespace {

using trace::RawRecord;

void name(RawRecord* record, const RequestFacts& r) noexcept {
  record->comm = r.comm;
  record->seq = r.seq;
  record->bytes = r.bytes;
  record->aux = r.aux;
  record->flags = r.flags;
  record->op = static_cast<std::uint8_t>(trace::WaitKind::Request);
}
void name(RawRecord* record, const AwaitedPeer& one) noexcept {
  record->comm = one.comm();
  record->seq = static_cast<std::uint32_t>(one.received);
  record->bytes = one.sent;
  record->aux = one.rank();
  record->flags = one.rank() == trace::kAnyPeer ? 0 : trace::kNumbered;
  record->op = static_cast<std::uint8_t>(trace::WaitKind::Peer);
}
constexpr AwaitedPeer kUnnamed = {.peer = MessageTable::key(0, trace::kAnyPeer)};

/// A record of messages with one peer; `sent_before_ns` of its MessageNumbers is told where it stays.
RawRecord* begin_one(trace::EventKind kind, trace::WaitKind op, const AwaitedPeer& one) noexcept {
  return writer->begin(kind, static_cast<std::uint8_t>(op), trace::kNumbered, one.comm(),
                       static_cast<std::uint32_t>(one.received), one.sent, one.rank());
}
RawRecord* begin_unnamed(std::uint32_t comm, std::uint32_t named, std::uint64_t more) noexcept {
  return writer->begin(trace::EventKind::Wait, static_cast<std::uint8_t>(trace::WaitKind::Peer), 0, comm,
                       named, more, trace::kAnyPeer);
}
RawRecord* begin_wait(const Keys& keys) noexcept {
  RawRecord* record = keys.awaited().is_one()
                          ? begin_one(trace::EventKind::Wait, trace::WaitKind::Peer, keys.awaited()[0])
                          : begin_unnamed(0, 0, 0);
  if (keys.collective() != nullptr) name(record, *keys.collective());
  return record;
}

/// Adds to a record that stays how long before it the last message to the peer was started. Libraries give
/// the same request to all messages that are sent at once: what is not known by its request is the last one.
void tell_sent(RawRecord* record, const AwaitedPeer& one) noexcept {
  PeerSums::Counted last{static_cast<std::uint32_t>(one.sent), one.sent_at};
  if (last.number == 0) last = peers.last_sent(one.comm(), one.rank());
  if (last.number == 0 || last.at >= record->begin) return;
  record->bytes = sent_before(*writer, last, record->begin).bytes();
}

/// A wait for all of a list: where its messages have several peers, a record for each of them comes before it.
class WholeWait {
 public:
  explicit WholeWait(const Keys& keys) noexcept
      : awaited_(keys.awaited()), collective_(keys.collective() != nullptr) {
    const Awaited& awaited = awaited_;
    if (collective_ || awaited.size() == 0 || awaited.is_one()) {
      record_ = begin_wait(keys);
      return;
    }
    for (; peers_ < awaited.size(); ++peers_) {
      RawRecord* one = begin_one(trace::EventKind::Awaited, trace::WaitKind::Other, awaited[peers_]);
      one->end = one->begin;
      before_[peers_] = one;
    }
    record_ = begin_unnamed(awaited[0].comm(), static_cast<std::uint32_t>(peers_), awaited.more());
  }
  /// The call returned: a short wait for messages leaves nothing.
  void end() noexcept {
    if (collective_) return writer->end(record_);
    if (!short_calls.end(record_)) {
      while (peers_ > 0) writer->retract(before_[--peers_]);
      return;
    }
    if (awaited_.is_one()) tell_sent(record_, awaited_[0]);
    for (std::size_t i = 0; i < peers_; ++i) tell_sent(before_[i], awaited_[i]);
  }
  [[nodiscard]] const RawRecord* record() const noexcept { return record_; }

 private:
  const Awaited& awaited_;
  RawRecord* record_ = nullptr;
  RawRecord* before_[Awaited::kMost];
  std::size_t peers_ = 0;
  bool collective_;
};

void end_wait(RawRecord* record, const RequestFacts* collective) noexcept {
  if (collective != nullptr)
    writer->end(record);
  else
    short_calls.end(record);
}
/// A test that found nothing complete leaves no trace: programs poll.
void end_test(RawRecord* record, bool complete, const RequestFacts* collective) noexcept {
  if (complete && collective != nullptr)
    writer->end(record);
  else
    writer->retract(record);
}

/// A wait that began in the name of a list's last collective, or of its messages' peer, takes that of what
/// completed: `collective`, else the peer of `found` messages where it is one.
template <class Position>
void name_completed(RawRecord* record, const Keys& keys, const RequestFacts* collective, int found,
                    Position position) noexcept {
  if (collective != nullptr) return name(record, *collective);
  AwaitedPeer one = kUnnamed;
  for (int i = 0; i < found; ++i) {
    MessageTable::Message message;
    const bool known = keys.message_of(static_cast<std::size_t>(position(i)), message);
    if (!known || (i > 0 && !(message.peer == one.peer))) {
      one = kUnnamed;
      break;
    }
    one.peer = message.peer;
    one.add(message);
  }
  name(record, one);
}

/// A completed collective, kept until its request is forgotten: a delay is served after that, since another
/// thread may be given the handle meanwhile.
class Completed {
 public:
  Completed() noexcept = default;
  explicit Completed(const RequestFacts* r) noexcept {
    if (pacing == nullptr || r == nullptr) return;
    comm_ = r->comm;
    bytes_ = static_cast<std::int64_t>(r->bytes);
  }
  /// The program waited for it as the record says, which has ended.
  void tell(const RawRecord* record) const noexcept {
    if (comm_ != 0) pacing->leave(comm_, record->begin, record->end, bytes_, Boundary::Synchronisation);
  }
  /// It completed together with one that was told.
  void tell_instant(std::uint64_t at) const noexcept {
    if (comm_ != 0) pacing->leave(comm_, at, at, bytes_, Boundary::Synchronisation);
  }

 private:
  std::uint32_t comm_ = 0;
  std::int64_t bytes_ = 0;
};

/// Some of a list completed: `position(i)` of the i-th of `found`. Each counts as one synchronisation, in
/// whatever portions they come, so that all members count alike.
template <class Position>
void complete_some(Keys& keys, const RawRecord* record, int found, Position position) {
  if (pacing == nullptr) {
    for (int i = 0; i < found; ++i) keys.completed(static_cast<std::size_t>(position(i)));
    return;
  }
  constexpr std::size_t kAtOnce = 64;
  const std::uint64_t end = record->end;
  Completed done[kAtOnce];  // all are forgotten before the first is told
  std::size_t count = 0;
  bool first = true;
  const auto tell = [&] {
    for (std::size_t k = 0; k < count; ++k) {
      if (first)
        done[k].tell(record);
      else
        done[k].tell_instant(end);
      first = false;
    }
    count = 0;
  };
  for (int i = 0; i < found; ++i) {
    const auto at = static_cast<std::size_t>(position(i));
    const RequestFacts* r = keys.collective(at);
    const bool told = r != nullptr;
    const Completed one(r);
    keys.completed(at);
    if (!told) continue;
    if (count == kAtOnce) tell();
    done[count++] = one;
  }
  tell();
}

/// Completion of requests, whatever the binding: `key_at(i)` reads the i-th request before the call, `call()`
/// makes it and returns whether it went well, `done` and `index` are read after it.
template <class Key, class Call>
void wait_all(int count, Key key_at, Call call) {
  if (nested()) {
    call();
    return;
  }
  Keys keys(count, key_at, Lists::Whole);
  WholeWait wait(keys);
  const bool good = call();
  wait.end();
  if (!good) return keys.some_completed(key_at);
  const Completed done(keys.collective());
  keys.all_completed();
  done.tell(wait.record());
}
template <class Key, class Call, class Index>
void wait_any(int count, Key key_at, Call call, Index index) {
  if (nested()) {
    call();
    return;
  }
  Keys keys(count, key_at, Lists::Part);
  RawRecord* const record = begin_wait(keys);
  const bool good = call();
  const int which = good ? index() : -1;
  const RequestFacts* r = which < 0 ? nullptr : keys.collective(static_cast<std::size_t>(which));
  if (good) name_completed(record, keys, r, which < 0 ? 0 : 1, [which](int) { return which; });
  end_wait(record, good ? r : keys.collective());
  const Completed done(r);
  if (!good) keys.some_completed(key_at);
  if (which >= 0) keys.completed(static_cast<std::size_t>(which));
  done.tell(record);
}
template <class Key, class Call, class Found, class Position>
void wait_some(int count, Key key_at, Call call, Found found, Position position) {
  if (nested()) {
    call();
    return;
  }
  Keys keys(count, key_at, Lists::Part);
  RawRecord* const record = begin_wait(keys);
  const bool good = call();
  const int n = good ? found() : 0;
  const RequestFacts* r = keys.last_completed(n, position);
  if (good) name_completed(record, keys, r, n, position);
  end_wait(record, good ? r : keys.collective());
  if (!good) keys.some_completed(key_at);
  complete_some(keys, record, n, position);
}
template <class Key, class Call, class Found, class Position>
void test_some(int count, Key key_at, Call call, Found found, Position position) {
  if (nested()) {
    call();
    return;
  }
  Keys keys(count, key_at, Lists::Part);
  RawRecord* const record = begin_wait(keys);
  const bool good = call();
  const int n = good ? found() : 0;
  const RequestFacts* r = keys.last_completed(n, position);
  if (r != nullptr) name(record, *r);
  end_test(record, n > 0, r);
  if (!good) keys.some_completed(key_at);
  complete_some(keys, record, n, position);
}
template <class Key, class Call, class Done, class Index>
void test_any(int count, Key key_at, Call call, Done done, Index index) {
  test_some(
      count, key_at, call, [&] { return done() && index() >= 0 ? 1 : 0; }, [&](int) { return index(); });
}
template <class Key, class Call, class Done>
void test_all(int count, Key key_at, Call call, Done done) {
  if (nested() || (requests.empty() && !messages.in_use())) {
    call();
    return;
  }
  Keys keys(count, key_at, Lists::Part);
  if (keys.collective() == nullptr) {
    if (!call())
      keys.some_completed(key_at);
    else if (done())
      keys.all_completed();
    return;
  }
  RawRecord* const record = begin_wait(keys);
  const bool good = call();
  const bool complete = good && done();
  end_test(record, complete, keys.collective());
  if (!good) keys.some_completed(key_at);
  if (!complete) return;
  const Completed told(keys.collective());
  keys.all_completed();
  told.tell(record);
}

void start(std::uintptr_t key) noexcept {
  if (nested()) return;
  Request* r = requests.find(key);
  if (r == nullptr || !r->persistent) return;
  Comm* comm = comms.find(r->comm_handle);
  if (comm == nullptr || comm->number != r->comm) return;
  if (r->message) {
    const PeerSums::Counted counted =
        peers.add(comm->number, r->aux, static_cast<trace::PeerKind>(r->op), r->bytes);
    r->seq = counted.number;
    r->started = counted.at;
    r->active = true;
    return;
  }
  if (peers.pending()) peers.flush();
  if (pacing != nullptr) enter_paced(comm);
  r->seq = comm->seq++;
  r->active = true;
  RawRecord* record = writer->begin(trace::EventKind::Collective, r->op, r->flags | trace::kNonBlocking,
                                    r->comm, r->seq, r->bytes, r->aux);
  record->end = record->begin;  // starting is not waiting; the real call follows
}

template <class Key>
void start_all(int count, Key key_at) noexcept {
  for (int i = 0; i < count; ++i) start(key_at(static_cast<std::size_t>(i)));
}
/// The library refused: which of a list it started nobody knows, and none is waited for. What a list holds is read again,
/// since `MPI_Start` leaves it as it is.
template <class Key>
[[gnu::noinline, gnu::cold]] void refused_start(int count, Key key_at) noexcept {
  if (nested()) return;
  for (int i = 0; i < count; ++i) requests.rest(key_at(static_cast<std::size_t>(i)));
}

/// A request that the program gives up: before the call, since its handle may be given out again in it.
void forget(std::uintptr_t key) noexcept {
  requests.erase(key);
  if (messages.in_use()) messages.erase(key);
}

// C
#define REAL(function) decltype(&PMPI_##function) real_##function = nullptr
REAL(Wait);
REAL(Waitall);
REAL(Waitany);
REAL(Waitsome);
REAL(Test);
REAL(Testall);
REAL(Testany);
REAL(Testsome);
REAL(Start);
REAL(Startall);
REAL(Request_free);
#undef REAL

/// Keys of a list; a list that is not there is the library's to refuse.
auto c_keys(const MPI_Request* list) {
  return [list](std::size_t i) { return list == nullptr ? std::uintptr_t{0} : key_of(list[i]); };
}

int wrap_Wait(MPI_Request* request, MPI_Status* status) {
  int rc = 0;
  wait_all(1, c_keys(request), [&] { return (rc = real_Wait(request, status)) == MPI_SUCCESS; });
  return rc;
}
int wrap_Waitall(int count, MPI_Request* list, MPI_Status* statuses) {
  int rc = 0;
  wait_all(count, c_keys(list), [&] { return (rc = real_Waitall(count, list, statuses)) == MPI_SUCCESS; });
  return rc;
}
int wrap_Waitany(int count, MPI_Request* list, int* index, MPI_Status* status) {
  int rc = 0;
  wait_any(
      count, c_keys(list), [&] { return (rc = real_Waitany(count, list, index, status)) == MPI_SUCCESS; },
      [&] { return *index; });
  return rc;
}
int wrap_Waitsome(int count, MPI_Request* list, int* found, int* indices, MPI_Status* statuses) {
  int rc = 0;
  wait_some(
      count, c_keys(list),
      [&] { return (rc = real_Waitsome(count, list, found, indices, statuses)) == MPI_SUCCESS; },
      [&] { return *found; }, [&](int i) { return indices[i]; });
  return rc;
}
int wrap_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  int rc = 0;
  test_all(
      1, c_keys(request), [&] { return (rc = real_Test(request, flag, status)) == MPI_SUCCESS; },
      [&] { return *flag != 0; });
  return rc;
}
int wrap_Testall(int count, MPI_Request* list, int* flag, MPI_Status* statuses) {
  int rc = 0;
  test_all(
      count, c_keys(list), [&] { return (rc = real_Testall(count, list, flag, statuses)) == MPI_SUCCESS; },
      [&] { return *flag != 0; });
  return rc;
}
int wrap_Testany(int count, MPI_Request* list, int* index, int* flag, MPI_Status* status) {
  int rc = 0;
  test_any(
      count, c_keys(list),
      [&] { return (rc = real_Testany(count, list, index, flag, status)) == MPI_SUCCESS; },
      [&] { return *flag != 0; }, [&] { return *index; });
  return rc;
}
int wrap_Testsome(int count, MPI_Request* list, int* found, int* indices, MPI_Status* statuses) {
  int rc = 0;
  test_some(
      count, c_keys(list),
      [&] { return (rc = real_Testsome(count, list, found, indices, statuses)) == MPI_SUCCESS; },
      [&] { return *found; }, [&](int i) { return indices[i]; });
  return rc;
}
int wrap_Start(MPI_Request* request) {
  start_all(1, c_keys(request));
  const int rc = real_Start(request);
  if (rc != MPI_SUCCESS) [[unlikely]]
    refused_start(1, c_keys(request));
  return rc;
}
int wrap_Startall(int count, MPI_Request* list) {
  start_all(count, c_keys(list));
  const int rc = real_Startall(count, list);
  if (rc != MPI_SUCCESS) [[unlikely]]
    refused_start(count, c_keys(list));
  return rc;
}
int wrap_Request_free(MPI_Request* request) {
  forget(c_keys(request)(0));
  return real_Request_free(request);
}

// Fortran: requests are lists of integers; statuses and logicals are forwarded unread,
// except the flags. Open MPI and MPICH store zero for .false. and another value for .true. whatever the
// compiler's choice of that value is.
auto fortran_keys(const void* list) {
  return
      [list](std::size_t i) { return key_of(request_from_fortran(static_cast<const MPI_Fint*>(list)[i])); };
}
auto fortran_positions(const void* indices) {
  return [indices](int i) { return static_cast<const MPI_Fint*>(indices)[i] - library.fortran_first; };
}
int number(const void* address) {
  return *static_cast<const MPI_Fint*>(address);
}
/// A Fortran function with its `ierror`, which may be left out in mpi_f08.
class Error {
 public:
  explicit Error(MPI_Fint* given) : place_(given != nullptr ? given : &own_) {}
  /// Calls the real function; whether it went well.
  template <class Real, class... A>
  bool of(Real real, A... a) {
    in_fortran([&] { real(a..., place_); });
    return good();
  }
  [[nodiscard]] bool good() const { return *place_ == MPI_SUCCESS; }

 private:
  MPI_Fint own_ = MPI_SUCCESS;
  MPI_Fint* place_;
};

/// One spelling of the Fortran names of the functions above.
template <int Spelling>
struct F {
  using Two = void (*)(void*, void*);
  using Three = void (*)(void*, void*, void*);
  using Four = void (*)(void*, void*, void*, void*);
  using Five = void (*)(void*, void*, void*, void*, void*);
  using Six = void (*)(void*, void*, void*, void*, void*, void*);
  static inline Three wait = nullptr;
  static inline Four waitall = nullptr;
  static inline Five waitany = nullptr;
  static inline Six waitsome = nullptr;
  static inline Four test = nullptr;
  static inline Five testall = nullptr;
  static inline Six testany = nullptr;
  static inline Six testsome = nullptr;
  static inline Two start_one = nullptr;
  static inline Three startall = nullptr;
  static inline Two request_free = nullptr;

  static void wrap_wait(void* request, void* status, MPI_Fint* given) {
    Error e(given);
    wait_all(1, fortran_keys(request), [&] { return e.of(wait, request, status); });
  }
  static void wrap_waitall(void* count, void* list, void* statuses, MPI_Fint* given) {
    Error e(given);
    wait_all(number(count), fortran_keys(list), [&] { return e.of(waitall, count, list, statuses); });
  }
  static void wrap_waitany(void* count, void* list, void* index, void* status, MPI_Fint* given) {
    Error e(given);
    wait_any(
        number(count), fortran_keys(list), [&] { return e.of(waitany, count, list, index, status); },
        [&] { return number(index) - library.fortran_first; });
  }
  static void wrap_waitsome(void* count, void* list, void* found, void* indices, void* statuses,
                            MPI_Fint* given) {
    Error e(given);
    wait_some(
        number(count), fortran_keys(list),
        [&] { return e.of(waitsome, count, list, found, indices, statuses); }, [&] { return number(found); },
        fortran_positions(indices));
  }
  static void wrap_test(void* request, void* flag, void* status, MPI_Fint* given) {
    Error e(given);
    test_all(
        1, fortran_keys(request), [&] { return e.of(test, request, flag, status); },
        [&] { return number(flag) != 0; });
  }
  static void wrap_testall(void* count, void* list, void* flag, void* statuses, MPI_Fint* given) {
    Error e(given);
    test_all(
        number(count), fortran_keys(list), [&] { return e.of(testall, count, list, flag, statuses); },
        [&] { return number(flag) != 0; });
  }
  static void wrap_testany(void* count, void* list, void* index, void* flag, void* status, MPI_Fint* given) {
    Error e(given);
    test_any(
        number(count), fortran_keys(list), [&] { return e.of(testany, count, list, index, flag, status); },
        [&] { return number(flag) != 0; }, [&] { return number(index) - library.fortran_first; });
  }
  static void wrap_testsome(void* count, void* list, void* found, void* indices, void* statuses,
                            MPI_Fint* given) {
    Error e(given);
    test_some(
        number(count), fortran_keys(list),
        [&] { return e.of(testsome, count, list, found, indices, statuses); }, [&] { return number(found); },
        fortran_positions(indices));
  }
  static void wrap_start(void* request, MPI_Fint* given) {
    Error e(given);
    start_all(1, fortran_keys(request));
    if (!e.of(start_one, request)) refused_start(1, fortran_keys(request));
  }
  static void wrap_startall(void* count, void* list, MPI_Fint* given) {
    Error e(given);
    start_all(number(count), fortran_keys(list));
    if (!e.of(startall, count, list)) refused_start(number(count), fortran_keys(list));
  }
  static void wrap_request_free(void* request, MPI_Fint* given) {
    Error e(given);
    forget(fortran_keys(request)(0));
    e.of(request_free, request);
  }
};

// NOLINTBEGIN(bugprone-macro-parentheses)
#define ROW(symbol, function, real) \
  { symbol, reinterpret_cast<void*>(&function), reinterpret_cast<void**>(&real) }
#define C_ROW(function) ROW("MPI_" #function, wrap_##function, real_##function)
#define FORTRAN_ROWS(ending, spelling)                                               \
  ROW("mpi_wait" ending, F<spelling>::wrap_wait, F<spelling>::wait),                 \
      ROW("mpi_waitall" ending, F<spelling>::wrap_waitall, F<spelling>::waitall),    \
      ROW("mpi_waitany" ending, F<spelling>::wrap_waitany, F<spelling>::waitany),    \
      ROW("mpi_waitsome" ending, F<spelling>::wrap_waitsome, F<spelling>::waitsome), \
      ROW("mpi_test" ending, F<spelling>::wrap_test, F<spelling>::test),             \
      ROW("mpi_testall" ending, F<spelling>::wrap_testall, F<spelling>::testall),    \
      ROW("mpi_testany" ending, F<spelling>::wrap_testany, F<spelling>::testany),    \
      ROW("mpi_testsome" ending, F<spelling>::wrap_testsome, F<spelling>::testsome), \
      ROW("mpi_start" ending, F<spelling>::wrap_start, F<spelling>::start_one),      \
      ROW("mpi_startall" ending, F<spelling>::wrap_startall, F<spelling>::startall), \
      ROW("mpi_request_free" ending, F<spelling>::wrap_request_free, F<spelling>::request_free)
// NOLINTEND(bugprone-macro-parentheses)

const Wrapper kWrappers[] = {
    C_ROW(Wait),
    C_ROW(Waitall),
    C_ROW(Waitany),
    C_ROW(Waitsome),
    C_ROW(Test),
    C_ROW(Testall),
    C_ROW(Testany),
    C_ROW(Testsome),
    C_ROW(Start),
    C_ROW(Startall),
    C_ROW(Request_free),
#if defined(OPEN_MPI)
    FORTRAN_ROWS("_", 0),
#endif
#if !defined(COX_STANDARD_ABI)
    FORTRAN_ROWS("_f08_", 1),
#endif
};

}  // namespace

Wrappers completion_wrappers() noexcept {
  return {kWrappers, sizeof kWrappers / sizeof kWrappers[0]};
}

}  // namespace cox::guest::mpi
