// SPDX-License-Identifier: Apache-2.0
// What a completion's record says, with a writer and an MPI library that are played here. Built once per
// library, as the wrappers are, and linked to none.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "guest/mpi/state.hpp"

namespace cox::guest::mpi {
namespace {

using trace::RawRecord;
using trace::WaitKind;

enum class Left : std::uint8_t { Open, Stays, StaysIfLong, TakenBack };
RawRecord recorded{};            // by the call under test
std::vector<RawRecord> awaited;  // what it said before: peers of a wait for several
std::size_t awaited_taken_back = 0;
Left left{};

RawRecord* begin(trace::EventKind kind, std::uint8_t op, std::uint16_t flags, std::uint32_t comm,
                 std::uint32_t seq, std::uint64_t bytes, std::uint32_t aux) noexcept {
  if (kind == trace::EventKind::Awaited) {
    awaited.push_back({.begin = 1,
                       .end = 0,
                       .bytes = bytes,
                       .comm = comm,
                       .seq = seq,
                       .kind = 8,
                       .op = op,
                       .flags = flags,
                       .aux = aux});
    return &awaited.back();
  }
  left = Left::Open;
  recorded = {.begin = 1,
              .end = 0,
              .bytes = bytes,
              .comm = comm,
              .seq = seq,
              .kind = static_cast<std::uint8_t>(kind),
              .op = op,
              .flags = flags,
              .aux = aux};
  return &recorded;
}
void end(RawRecord*) noexcept {
  left = Left::Stays;
}
bool is_long = true;
bool end_if_long(RawRecord*, std::uint64_t) noexcept {
  left = Left::StaysIfLong;
  return is_long;
}
void retract(RawRecord* record) noexcept {
  if (record != &recorded) {
    ++awaited_taken_back;
    return;
  }
  left = Left::TakenBack;
}

// Requests: two of collectives, with the numbers of their handles, and one of a message.
#if defined(OPEN_MPI)
constexpr MPI_Fint kFirst = 20;
#else
constexpr auto kFirst = static_cast<MPI_Fint>(0xac000014U);  // a request's, as its upper bits say
#endif
constexpr MPI_Fint kSecond = kFirst + 1;
constexpr MPI_Fint kMessage = kFirst + 2;

#if defined(OPEN_MPI)
MPI_Request handle_of(MPI_Fint number) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<MPI_Request>(static_cast<std::uintptr_t>(number) * 64);
}
#else
MPI_Request handle_of(MPI_Fint number) {
  return number;
}
#endif

MessageTable::Message received(std::uint32_t comm, std::uint32_t rank, std::uint32_t number) {
  return {MessageTable::key(comm, rank), MessageTable::number(number, false), 1};
}
MessageTable::Message sent(std::uint32_t comm, std::uint32_t rank, std::uint32_t number) {
  return {MessageTable::key(comm, rank), MessageTable::number(number, true), 1};
}

void put_collective(MPI_Fint number, std::uint32_t comm, std::uint32_t seq) {
  requests.put(key_of(handle_of(number)), [&](RequestFacts& r) {
    r.comm = comm;
    r.seq = seq;
    r.bytes = std::uint64_t{8} * comm;
    r.aux = 0;
    r.flags = trace::kNonBlocking;
    r.op = 0;
    r.message = r.persistent = false;
  });
}

// What the library will say: these positions of the list are complete; negative: the call fails.
std::vector<int> complete;
int result = MPI_SUCCESS;

int play_some(int, MPI_Request*, int* found, int* indices, MPI_Status*) {
  *found = static_cast<int>(complete.size());
  std::copy(complete.begin(), complete.end(), indices);
  return result;
}
/// Another thread is given the handle of what completed while the call has not returned yet.
int play_reissuing_wait(MPI_Request* request, MPI_Status*) {
  EXPECT_EQ(requests.find(key_of(*request)), nullptr) << "for other threads it is not there";
  requests.put(key_of(*request), [](RequestFacts& r) { r.comm = 9; });
  return MPI_SUCCESS;
}
int play_wait(MPI_Request*, MPI_Status*) {
  return result;
}
int play_start(MPI_Request*) {
  return result;
}
int play_wait_all(int, MPI_Request*, MPI_Status*) {
  return result;
}
int play_incomplete_test(MPI_Request*, int* flag, MPI_Status*) {
  *flag = 0;
  return MPI_SUCCESS;
}
int play_wait_any(int, MPI_Request*, int* index, MPI_Status*) {
  *index = complete.empty() ? MPI_UNDEFINED : complete.front();
  return result;
}
void play_fortran_some(void*, void*, void* found, void* indices, void*, void* error) {
  *static_cast<MPI_Fint*>(found) = static_cast<MPI_Fint>(complete.size());
  std::transform(complete.begin(), complete.end(), static_cast<MPI_Fint*>(indices),
                 [](int i) { return i + library.fortran_first; });
  *static_cast<MPI_Fint*>(error) = result;
}
void play_fortran_any(void*, void*, void* index, void*, void* error) {
  *static_cast<MPI_Fint*>(index) =
      complete.empty() ? MPI_UNDEFINED : complete.front() + library.fortran_first;
  *static_cast<MPI_Fint*>(error) = result;
}
void play_fortran_test_any(void* count, void* list, void* index, void* flag, void* status, void* error) {
  *static_cast<MPI_Fint*>(flag) = 1;
  play_fortran_any(count, list, index, status, error);
}

const Wrapper& find(const char* symbol) {
  const Wrappers all = completion_wrappers();
  const Wrapper* found = std::find_if(all.first, all.first + all.count,
                                      [symbol](const Wrapper& w) { return strcmp(w.symbol, symbol) == 0; });
  if (found == all.first + all.count) std::abort();
  return *found;
}

/// The wrapper of `symbol`, in front of a function of the library's.
template <class Function>
Function* wrapped(const char* symbol, Function* real) {
  const Wrapper& w = find(symbol);
  *w.real = reinterpret_cast<void*>(real);
  return reinterpret_cast<Function*>(w.function);
}

constexpr const char* kFortranWaitsome = "mpi_waitsome_f08_";
constexpr const char* kFortranTestsome = "mpi_testsome_f08_";

class Completion : public testing::Test {
 protected:
  void SetUp() override {
    static WriterApi api{};
    api.begin = begin;
    api.end = end;
    api.end_if_long = end_if_long;
    api.retract = retract;
    writer = &api;
    peers.set_writer(writer);
#if defined(OPEN_MPI)
    library.request_f2c = handle_of;
#endif
    library.fortran_first = 1;
    put_collective(kFirst, 3, 30);
    put_collective(kSecond, 4, 40);
    result = MPI_SUCCESS;
    complete.clear();
    awaited.clear();
    awaited.reserve(64);
    awaited_taken_back = 0;
    is_long = true;
  }
  void TearDown() override {
    for (const MPI_Fint number : {kFirst, kSecond}) requests.erase(key_of(handle_of(number)));
    for (MPI_Fint number = kMessage; number < kMessage + 64; ++number)
      messages.erase(key_of(handle_of(number)));
  }

  /// Calls MPI_Waitsome or MPI_Testsome on {first, second, message}.
  static void call_c(const char* symbol) {
    std::array<MPI_Request, 3> list = {handle_of(kFirst), handle_of(kSecond), handle_of(kMessage)};
    std::array<int, 3> indices{};
    int found = 0;
    wrapped(symbol, play_some)(3, list.data(), &found, indices.data(), nullptr);
  }
  static void call_fortran(const char* symbol) {
    MPI_Fint count = 3;
    std::array<MPI_Fint, 3> list = {kFirst, kSecond, kMessage};
    std::array<MPI_Fint, 3> indices{};
    MPI_Fint found = 0;
    MPI_Fint error = 0;
    wrapped(symbol, play_fortran_some)(&count, list.data(), &found, indices.data(), nullptr, &error);
  }
  static void call_fortran_any(bool test) {
    MPI_Fint count = 3;
    std::array<MPI_Fint, 3> list = {kFirst, kSecond, kMessage};
    MPI_Fint index = 0;
    MPI_Fint flag = 0;
    MPI_Fint error = 0;
    if (test)
      wrapped("mpi_testany_f08_", play_fortran_test_any)(&count, list.data(), &index, &flag, nullptr, &error);
    else
      wrapped("mpi_waitany_f08_", play_fortran_any)(&count, list.data(), &index, nullptr, &error);
  }
  static void call_any() {
    std::array<MPI_Request, 3> list = {handle_of(kFirst), handle_of(kSecond), handle_of(kMessage)};
    int index = 0;
    wrapped("MPI_Waitany", play_wait_any)(3, list.data(), &index, nullptr);
  }
  /// MPI_Waitall on messages of these ranks of communicator 5; -1 = of a message that nothing is known of.
  static void wait_for(const std::vector<int>& peers) {
    std::vector<MPI_Request> list;
    for (const int peer : peers) {
      list.push_back(handle_of(kMessage + static_cast<MPI_Fint>(list.size())));
      if (peer >= 0)
        messages.put(key_of(list.back()),
                     received(5, static_cast<std::uint32_t>(peer), static_cast<std::uint32_t>(list.size())));
    }
    wrapped("MPI_Waitall", play_wait_all)(static_cast<int>(list.size()), list.data(), nullptr);
  }
  static bool is_known(MPI_Fint number) { return requests.find(key_of(handle_of(number))) != nullptr; }
};

void expect_named(std::uint32_t comm, std::uint32_t seq) {
  EXPECT_EQ(recorded.kind, static_cast<std::uint8_t>(trace::EventKind::Wait));
  EXPECT_EQ(recorded.op, static_cast<std::uint8_t>(WaitKind::Request));
  EXPECT_EQ(recorded.comm, comm);
  EXPECT_EQ(recorded.seq, seq);
  EXPECT_EQ(recorded.bytes, 8 * comm);
  EXPECT_EQ(left, Left::Stays);
}
void expect_message() {
  EXPECT_EQ(recorded.op, static_cast<std::uint8_t>(WaitKind::Peer));
  EXPECT_EQ(recorded.comm, 0U);
  EXPECT_EQ(recorded.seq, 0U);
  EXPECT_EQ(recorded.bytes, 0U);
  EXPECT_EQ(recorded.flags, 0U);
  EXPECT_EQ(recorded.aux, trace::kAnyPeer);
  EXPECT_EQ(left, Left::StaysIfLong);
}

TEST_F(Completion, WaitsomeIsNamedByTheCollectiveThatCompleted) {
  complete = {0};
  call_c("MPI_Waitsome");
  expect_named(3, 30);
  EXPECT_FALSE(is_known(kFirst));
  EXPECT_TRUE(is_known(kSecond));
}

TEST_F(Completion, FortransWaitsomeIsNamedByTheCollectiveThatCompleted) {
  complete = {0};
  call_fortran(kFortranWaitsome);
  expect_named(3, 30);
  EXPECT_FALSE(is_known(kFirst));
}

TEST_F(Completion, FortransTestsomeIsNamedByTheCollectiveThatCompleted) {
  complete = {0};
  call_fortran(kFortranTestsome);
  expect_named(3, 30);
  EXPECT_TRUE(is_known(kSecond));
}

TEST_F(Completion, TestsomeIsNamedByTheCollectiveThatCompleted) {
  complete = {0};
  call_c("MPI_Testsome");
  expect_named(3, 30);
}

TEST_F(Completion, WhatFortranCallsTheFirstOfAListIsTheLibrarysChoice) {
  for (const int first : {1, 0}) {
    library.fortran_first = first;
    for (int way = 0; way < 4; ++way) {
      put_collective(kFirst, 3, 30);
      put_collective(kSecond, 4, 40);
      complete = {0};
      if (way < 2)
        call_fortran_any(way == 1);
      else
        call_fortran(way == 2 ? kFortranWaitsome : kFortranTestsome);
      expect_named(3, 30);
      EXPECT_FALSE(is_known(kFirst)) << first << way;
      EXPECT_TRUE(is_known(kSecond)) << first << way;
    }
    complete = {};
    call_fortran_any(false);
    EXPECT_TRUE(is_known(kSecond)) << "of a list of nothing";
  }
}

TEST_F(Completion, OneReleaseOfOneLibraryBeginsListsWithNull) {
  const auto first_of = [](const char* version) {
    library.heed(version);
    return library.fortran_first;
  };
  EXPECT_EQ(first_of("MPICH Version:\t4.0.2\nMPICH Release date:"), kOpenMpi ? 1 : 0);
  EXPECT_EQ(first_of("MPICH Version:      4.0\n"), kOpenMpi ? 1 : 0);
  EXPECT_EQ(first_of("MPICH Version:\t4.0rc1"), kOpenMpi ? 1 : 0);
  for (const char* other : {"MPICH Version:\t3.4.3", "MPICH Version:\t4.1a1", "MPICH Version:\t4.01",
                            "MPICH Version:", "Open MPI v4.0.3, package: Debian", ""})
    EXPECT_EQ(first_of(other), 1) << other;
}

TEST_F(Completion, OfSeveralTheLastOneNamesTheRecord) {
  complete = {0, 2, 1};
  call_c("MPI_Waitsome");
  expect_named(4, 40);
}

TEST_F(Completion, AMessageIsNoCollectiveWhateverElseIsUnderWay) {
  complete = {2};
  call_c("MPI_Waitsome");
  expect_message();
  call_fortran(kFortranWaitsome);
  expect_message();
  call_any();
  expect_message();
  EXPECT_TRUE(is_known(kFirst));
  call_fortran(kFortranTestsome);
  EXPECT_EQ(left, Left::TakenBack) << "a test that completed no collective leaves nothing";
}

TEST_F(Completion, APersistentCollectiveThatNobodyStartedIsNotWaitedFor) {
  const auto put = [](bool active) {
    put_collective(kSecond, 4, 40);
    Request* r = requests.find(key_of(handle_of(kSecond)));
    r->persistent = true;
    r->active = active;
  };
  std::array<MPI_Request, 2> list = {handle_of(kFirst), handle_of(kSecond)};
  const auto wait_for_all = wrapped("MPI_Waitall", play_wait_all);
  put(false);
  wait_for_all(2, list.data(), nullptr);
  expect_named(3, 30);
  wait_for_all(2, list.data(), nullptr);
  EXPECT_EQ(left, Left::StaysIfLong) << "nothing is under way";
  put(true);
  wait_for_all(2, list.data(), nullptr);
  expect_named(4, 40);
  EXPECT_TRUE(is_known(kSecond));
  wait_for_all(2, list.data(), nullptr);
  EXPECT_EQ(left, Left::StaysIfLong) << "it was complete before";
}

TEST_F(Completion, APersistentMessageThatNobodyStartedNamesNoPeer) {
  requests.erase(key_of(handle_of(kFirst)));
  requests.put(key_of(handle_of(kSecond)), [](RequestFacts& r) {
    r = {.comm = 5, .seq = 1, .aux = 7, .message = true, .persistent = true, .active = false};
    r.op = static_cast<std::uint8_t>(trace::PeerKind::Receive);
  });
  const auto named_by = [](const auto& wait) {
    MPI_Request request = handle_of(kSecond);
    wait(&request);
    return recorded.aux;
  };
  const auto wait_for_one = [](MPI_Request* request) { wrapped("MPI_Wait", play_wait)(request, nullptr); };
  const auto start = [](bool active) { requests.find(key_of(handle_of(kSecond)))->active = active; };
  EXPECT_EQ(named_by(wait_for_one), trace::kAnyPeer);
  start(true);
  EXPECT_EQ(named_by(wait_for_one), 7U);
  EXPECT_EQ(named_by(wait_for_one), trace::kAnyPeer) << "it was complete before";
  start(true);
  complete = {0};
  const auto wait_for_any = [](MPI_Request* request) {
    int index = 0;
    wrapped("MPI_Waitany", play_wait_any)(1, request, &index, nullptr);
  };
  EXPECT_EQ(named_by(wait_for_any), 7U);
  EXPECT_EQ(named_by(wait_for_any), trace::kAnyPeer) << "it was complete before";
}

TEST_F(Completion, AStartThatTheLibraryRefusesStartsNothing) {
  constexpr std::uintptr_t kCommunicator = 640;
  comms.insert(kCommunicator, [](CommFacts& comm) { comm.number = 3; });
  const auto start = wrapped("MPI_Start", play_start);
  const auto wait_for_one = wrapped("MPI_Wait", play_wait);
  Request* persistent = requests.find(key_of(handle_of(kFirst)));
  persistent->persistent = true;
  persistent->comm_handle = kCommunicator;
  MPI_Request request = handle_of(kFirst);
  result = MPI_ERR_OTHER;
  EXPECT_EQ(start(&request), MPI_ERR_OTHER);
  result = MPI_SUCCESS;
  wait_for_one(&request, nullptr);
  EXPECT_EQ(left, Left::StaysIfLong) << "nothing is under way";
  EXPECT_EQ(start(&request), MPI_SUCCESS);
  wait_for_one(&request, nullptr);
  EXPECT_EQ(left, Left::Stays);
  comms.erase(kCommunicator);
}

TEST_F(Completion, AHandleThatIsGivenOutAgainInTheCallStaysTheNewRequests) {
  MPI_Request request = handle_of(kFirst);
  wrapped("MPI_Wait", play_reissuing_wait)(&request, nullptr);
  expect_named(3, 30);
  const Request* now = requests.find(key_of(handle_of(kFirst)));
  ASSERT_NE(now, nullptr);
  EXPECT_EQ(now->comm, 9U);
}

TEST_F(Completion, ATestThatIsNotCompleteKeepsItsRequestKnown) {
  MPI_Request request = handle_of(kFirst);
  int flag = 1;
  wrapped("MPI_Test", play_incomplete_test)(&request, &flag, nullptr);
  EXPECT_EQ(left, Left::TakenBack);
  EXPECT_TRUE(is_known(kFirst));
}

TEST_F(Completion, AWaitForAMessageNamesItsPeer) {
  messages.put(key_of(handle_of(kMessage)), received(5, 7, 1));
  MPI_Request request = handle_of(kMessage);
  wrapped("MPI_Wait", play_wait)(&request, nullptr);
  EXPECT_EQ(recorded.op, static_cast<std::uint8_t>(WaitKind::Peer));
  EXPECT_EQ(recorded.comm, 5U);
  EXPECT_EQ(recorded.aux, 7U);
  EXPECT_EQ(recorded.seq, 1U);
  EXPECT_EQ(recorded.flags, trace::kNumbered);
  MessageTable::Message message{};
  EXPECT_FALSE(messages.find(key_of(handle_of(kMessage)), message))
      << "the handle may be another request's now";
}

TEST_F(Completion, WaitallNamesEachPeerOnceBeforeTheWait) {
  wait_for({3, 4, 3});
  ASSERT_EQ(awaited.size(), 2U);
  EXPECT_EQ(awaited[0].aux, 3U);
  EXPECT_EQ(awaited[1].aux, 4U);
  EXPECT_EQ(awaited[0].comm, 5U);
  EXPECT_EQ(awaited[0].end, awaited[0].begin);
  EXPECT_EQ(awaited[0].seq, 3U) << "the last of the two that come from rank 3";
  EXPECT_EQ(awaited[1].seq, 2U);
  EXPECT_EQ(awaited[0].flags, trace::kNumbered);
  EXPECT_EQ(recorded.aux, trace::kAnyPeer);
  EXPECT_EQ(recorded.seq, 2U);
  EXPECT_EQ(recorded.bytes, 0U);
  EXPECT_EQ(awaited_taken_back, 0U);
}

TEST_F(Completion, WaitallOfOnePeerIsNamedByIt) {
  wait_for({6, 6});
  EXPECT_TRUE(awaited.empty());
  EXPECT_EQ(recorded.aux, 6U);
  EXPECT_EQ(recorded.seq, 2U) << "number of its last message";
}

TEST_F(Completion, AMessageOfNoKnownPeerIsCountedAndNobodyIsNamedForIt) {
  wait_for({6, -1});
  ASSERT_EQ(awaited.size(), 1U);
  EXPECT_EQ(recorded.aux, trace::kAnyPeer);
  EXPECT_EQ(recorded.seq, 1U);
  EXPECT_EQ(recorded.bytes, 1U);
}

TEST_F(Completion, WhatWasSentToAPeerIsNumberedBesideWhatComesFromIt) {
  messages.put(key_of(handle_of(kMessage)), sent(5, 7, 41));
  MPI_Request request = handle_of(kMessage);
  wrapped("MPI_Wait", play_wait)(&request, nullptr);
  const auto numbers = trace::MessageNumbers::of(recorded.seq, recorded.bytes);
  EXPECT_EQ(numbers.sent, 41U);
  EXPECT_EQ(numbers.received, 0U);
}

TEST_F(Completion, AShortWaitallLeavesNoNames) {
  is_long = false;
  wait_for({3, 4});
  EXPECT_EQ(awaited_taken_back, 2U);
}

TEST_F(Completion, PeersBeyondTheRoomForThemAreCounted) {
  std::vector<int> peers;
  peers.reserve(20);
  for (int i = 0; i < 20; ++i) peers.push_back(i);
  wait_for(peers);
  EXPECT_EQ(awaited.size(), 16U);
  EXPECT_EQ(recorded.bytes, 4U);
}

TEST_F(Completion, WaitanyIsNamedByTheMessageThatCompleted) {
  messages.put(key_of(handle_of(kMessage)), received(5, 7, 1));
  complete = {2};
  call_any();
  EXPECT_EQ(recorded.aux, 7U);
  EXPECT_EQ(recorded.comm, 5U);
}

TEST_F(Completion, ATestThatFoundNothingLeavesNothing) {
  call_c("MPI_Testsome");
  EXPECT_EQ(left, Left::TakenBack);
  call_fortran(kFortranTestsome);
  EXPECT_EQ(left, Left::TakenBack);
}

int play_failing_wait_all(int, MPI_Request* list, MPI_Status*) {
  list[1] = library.null_request;
  return MPI_ERR_IN_STATUS;
}
TEST_F(Completion, WhatCompletedInACallThatFailedIsForgotten) {
  std::array<MPI_Request, 2> list = {handle_of(kFirst), handle_of(kSecond)};
  EXPECT_EQ(wrapped("MPI_Waitall", play_failing_wait_all)(2, list.data(), nullptr), MPI_ERR_IN_STATUS);
  EXPECT_TRUE(is_known(kFirst));
  EXPECT_FALSE(is_known(kSecond)) << "its handle may be a message's next";
}

int play_failing_test_all(int, MPI_Request* list, int*, MPI_Status*) {
  return play_failing_wait_all(2, list, nullptr);
}
int play_failing_test_any(int, MPI_Request* list, int*, int*, MPI_Status*) {
  return play_failing_wait_all(2, list, nullptr);
}
TEST_F(Completion, WhatCompletedInATestThatFailedIsForgotten) {
  for (const bool all : {false, true}) {
    put_collective(kSecond, 4, 40);
    std::array<MPI_Request, 2> list = {handle_of(kFirst), handle_of(kSecond)};
    int index = 0;
    int flag = 0;
    const int rc =
        all ? wrapped("MPI_Testall", play_failing_test_all)(2, list.data(), &flag, nullptr)
            : wrapped("MPI_Testany", play_failing_test_any)(2, list.data(), &index, &flag, nullptr);
    EXPECT_EQ(rc, MPI_ERR_IN_STATUS);
    EXPECT_EQ(left, Left::TakenBack);
    EXPECT_TRUE(is_known(kFirst)) << all;
    EXPECT_FALSE(is_known(kSecond)) << all;
  }
}
TEST_F(Completion, AMessageThatCompletedInATestThatFailedIsForgotten) {
  requests.erase(key_of(handle_of(kFirst)));
  requests.erase(key_of(handle_of(kSecond)));
  messages.put(key_of(handle_of(kMessage)), received(5, 7, 1));
  messages.put(key_of(handle_of(kMessage + 1)), received(5, 8, 1));
  std::array<MPI_Request, 2> list = {handle_of(kMessage), handle_of(kMessage + 1)};
  int flag = 0;
  wrapped("MPI_Testall", play_failing_test_all)(2, list.data(), &flag, nullptr);
  MessageTable::Message message;
  EXPECT_TRUE(messages.find(key_of(handle_of(kMessage)), message));
  EXPECT_FALSE(messages.find(key_of(handle_of(kMessage + 1)), message));
}

TEST_F(Completion, AWaitThatFailedStaysKnownByTheLastCollectiveOfItsList) {
  complete = {0};
  result = MPI_ERR_IN_STATUS;
  call_c("MPI_Waitsome");
  expect_named(4, 40);
  EXPECT_TRUE(is_known(kFirst));
}

}  // namespace
}  // namespace cox::guest::mpi
