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
RawRecord recorded{};  // by the call under test
Left left{};

RawRecord* begin(trace::EventKind kind, std::uint8_t op, std::uint16_t flags, std::uint32_t comm,
                 std::uint32_t seq, std::uint64_t bytes, std::uint32_t aux) noexcept {
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
bool end_if_long(RawRecord*, std::uint64_t) noexcept {
  left = Left::StaysIfLong;
  return true;
}
void retract(RawRecord*) noexcept {
  left = Left::TakenBack;
}

// Requests: two of collectives, with the numbers of their handles, and one of a message.
constexpr MPI_Fint kFirst = 20;
constexpr MPI_Fint kSecond = 21;
constexpr MPI_Fint kMessage = 22;

#if defined(OPEN_MPI)
MPI_Request handle_of(MPI_Fint number) {
  return reinterpret_cast<MPI_Request>(static_cast<std::uintptr_t>(number) * 64);
}
#else
MPI_Request handle_of(MPI_Fint number) {
  return number;
}
#endif

void put_collective(MPI_Fint number, std::uint32_t comm, std::uint32_t seq) {
  requests.put(key_of(handle_of(number)), [&](Request& r) {
    r.comm = comm;
    r.seq = seq;
    r.bytes = 8 * comm;
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
int play_wait_any(int, MPI_Request*, int* index, MPI_Status*) {
  *index = complete.empty() ? MPI_UNDEFINED : complete.front();
  return result;
}
void play_fortran_some(void*, void*, void* found, void* indices, void*, void* error) {
  *static_cast<MPI_Fint*>(found) = static_cast<MPI_Fint>(complete.size());
  std::transform(complete.begin(), complete.end(), static_cast<MPI_Fint*>(indices),
                 [](int i) { return i + 1; });
  *static_cast<MPI_Fint*>(error) = result;
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
#if defined(OPEN_MPI)
    library.request_f2c = handle_of;
#endif
    put_collective(kFirst, 3, 30);
    put_collective(kSecond, 4, 40);
    result = MPI_SUCCESS;
    complete.clear();
  }
  void TearDown() override {
    for (const MPI_Fint number : {kFirst, kSecond}) requests.erase(key_of(handle_of(number)));
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
  static void call_any() {
    std::array<MPI_Request, 3> list = {handle_of(kFirst), handle_of(kSecond), handle_of(kMessage)};
    int index = 0;
    wrapped("MPI_Waitany", play_wait_any)(3, list.data(), &index, nullptr);
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

TEST_F(Completion, ATestThatFoundNothingLeavesNothing) {
  call_c("MPI_Testsome");
  EXPECT_EQ(left, Left::TakenBack);
  call_fortran(kFortranTestsome);
  EXPECT_EQ(left, Left::TakenBack);
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
