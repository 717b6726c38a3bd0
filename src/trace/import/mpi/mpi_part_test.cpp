// SPDX-License-Identifier: Apache-2.0
#include "trace/import/mpi/mpi_part.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cox::trace {
namespace {

using namespace cox::literals;
using model::Collective;

MpiRank rank(int number) {
  MpiRank r;
  r.rank = Rank(number);
  return r;
}

MessageEnd end_of(int peer, int comm, std::int64_t tag, Duration begin, std::int64_t bytes = 8) {
  return {.peer = peer,
          .comm = CommId(comm),
          .tag = tag,
          .bytes = Bytes(bytes),
          .begin = begin,
          .end = begin + 1us};
}

trace::Run part_of(std::vector<MpiRank> ranks) {
  PartBuilder part("f", "test");
  add_ranks(part, std::move(ranks), [&](std::size_t, CommId own) {
    return part.communicator("comm " + std::to_string(own.value()), {Rank(0), Rank(1)}, 2);
  });
  return std::move(part).finish();
}

TEST(MpiPart, PairsMessagesInTheOrderOfPosting) {
  MpiRank a = rank(0);
  MpiRank b = rank(1);
  a.sends = {end_of(1, 0, 5, 10us, 100), end_of(1, 0, 5, 20us, 200), end_of(1, 0, 6, 30us, 300)};
  b.receives = {end_of(0, 0, 6, 1us), end_of(0, 0, 5, 2us), end_of(0, 0, 5, 3us)};
  const trace::Run run = part_of({a, b});
  ASSERT_EQ(run.messages.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(run.messages.from[i], Rank(0));
    EXPECT_EQ(run.messages.to[i], Rank(1));
    const Duration posted = run.messages.receive_begin[i];
    EXPECT_EQ(run.messages.bytes[i], posted == 1us ? 300_B : posted == 2us ? 100_B : 200_B);
  }
  EXPECT_TRUE(run.notes.empty());
}

TEST(MpiPart, CommunicatorsAndPeersTellMessagesApart) {
  MpiRank a = rank(0);
  MpiRank b = rank(1);
  a.sends = {end_of(1, 0, 5, 10us), end_of(1, 1, 5, 20us)};
  b.receives = {end_of(0, 1, 5, 1us)};
  MessageEnd lost = end_of(-1, 0, 5, 3us);
  b.receives.push_back(lost);
  const trace::Run run = part_of({a, b});
  ASSERT_EQ(run.messages.size(), 1U);
  EXPECT_EQ(run.messages.send_begin[0], 20us);
  ASSERT_EQ(run.notes.size(), 2U);
  EXPECT_EQ(run.notes[0].text, "1 send or receive without its counterpart");
  EXPECT_EQ(run.notes[1].text, "1 send or receive without a known peer or completion");
}

TEST(MpiPart, UsefulIsWhatLiesBetweenCalls) {
  MpiRank a = rank(0);
  a.saw(0us);
  a.saw(100us);
  // Out of order, overlapping, one within another.
  a.inside = {{.begin = 50us, .end = 60us},
              {.begin = 10us, .end = 30us},
              {.begin = 15us, .end = 20us},
              {.begin = 25us, .end = 40us}};
  const trace::Run run = part_of({a});
  const UsefulColumns& u = run.ranks[0].useful;
  EXPECT_EQ(u.begin, (std::vector<Duration>{0us, 40us, 60us}));
  EXPECT_EQ(u.end, (std::vector<Duration>{10us, 50us, 100us}));
}

TEST(MpiPart, NumbersCollectivesPerCommunicatorByBegin) {
  MpiRank a = rank(0);
  const auto add = [&](Duration begin, int comm) {
    a.events.push_back(
        {.kind = EventKind::Collective, .begin = begin, .end = begin + 1us, .comm = CommId(comm)});
  };
  add(30us, 0);
  add(10us, 0);
  add(20us, 1);
  a.events.push_back({.kind = EventKind::Wait,
                      .op = static_cast<std::uint8_t>(WaitKind::Request),
                      .begin = 40us,
                      .end = 41us});
  a.waits_for = {{3, 0}};
  const trace::Run run = part_of({a});
  const EventColumns& e = run.ranks[0].events;
  EXPECT_EQ(e.seq, (std::vector<std::uint32_t>{0, 0, 1, 1}));
  EXPECT_EQ(e.comm[3], e.comm[2]);
}

TEST(MpiPart, RankThatDidNotFinalizeIsOpenAndNamed) {
  MpiRank a = rank(3);
  a.inits = 1;
  const trace::Run run = part_of({a});
  EXPECT_EQ(run.ranks[0].state, WriterState::Open);
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_EQ(run.notes[0].text, "rank 3: 1 return of MPI_Init, 0 of MPI_Finalize");
}

TEST(MpiPart, KnowsFunctionsByName) {
  EXPECT_EQ(mpi_function("MPI_Allreduce").op, Collective::AllReduce);
  EXPECT_EQ(mpi_function("MPI_Allreduce").flags, 0);
  EXPECT_EQ(mpi_function("PMPI_Iallgatherv()").flags, kNonBlocking | kVariable);
  EXPECT_EQ(mpi_function("mpi_bcast_").op, Collective::Broadcast);
  EXPECT_EQ(mpi_function("MPI_Ireduce_scatter_block").op, Collective::ReduceScatter);
  EXPECT_EQ(mpi_function("MPI_Init_thread").call, MpiCall::Init);
  EXPECT_EQ(mpi_function("MPI_Isend").call, MpiCall::Start);
  EXPECT_EQ(mpi_function("MPI_Waitall").call, MpiCall::Wait);
  EXPECT_EQ(mpi_function("MPI_Comm_rank").call, MpiCall::Other);
  EXPECT_TRUE(is_mpi_name("MPI_Comm_rank"));
  EXPECT_FALSE(is_mpi_name("compute"));
}

TEST(MpiPart, SizesDoNotOverflow) {
  EXPECT_EQ(whole_array(8_B, 4), 32_B);
  EXPECT_EQ(whole_array(8_B, 0), 0_B);
  EXPECT_EQ(whole_array(Bytes(std::int64_t{1} << 62), 4).count(), std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace cox::trace
