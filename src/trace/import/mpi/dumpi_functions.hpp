// SPDX-License-Identifier: Apache-2.0
/// \file
/// The functions of MPI by their number in DUMPI files, and how their arguments are stored.
///
/// Records carry no length, so every function's layout has to be known to find the next record.
/// Source: sst-dumpi (BSD-3-Clause), dumpi/common/funclabels.h (numbers) and dumpiio.c (layouts).
#pragma once

#include <cstdint>
#include <span>

namespace cox::trace::dumpi {

/// `arguments`, one letter each: i 32 bits; h 16; b 8; q 64; I, H, B arrays of those behind a count of 32
/// bits; Y array of I; C characters behind a count; D array of C; T array of D; S statuses, where recorded.
/// r and o are an i each: the caller's rank and the root. From R to E (or the end) only where they are equal.
/// `?`: nobody writes these, and their layout is not known.
struct Function {
  const char* name;  ///< without MPI_
  const char* arguments;
};
[[nodiscard]] std::span<const Function> functions();

inline constexpr std::uint16_t kEndOfStream = 293;

/// Those that a Run has a place for.
enum class Call : std::uint16_t {
  Send = 0,
  Recv = 1,
  Bsend = 3,
  Ssend = 4,
  Rsend = 5,
  Isend = 8,
  Ibsend = 9,
  Issend = 10,
  Irsend = 11,
  Irecv = 12,
  Wait = 13,
  Test = 14,
  RequestFree = 15,
  Waitany = 16,
  Testany = 17,
  Waitall = 18,
  Testall = 19,
  Waitsome = 20,
  Testsome = 21,
  SendInit = 26,
  BsendInit = 27,
  SsendInit = 28,
  RsendInit = 29,
  RecvInit = 30,
  Start = 31,
  Startall = 32,
  Sendrecv = 33,
  SendrecvReplace = 34,
  TypeContiguous = 35,
  TypeVector = 36,
  TypeSize = 43,
  Barrier = 52,
  Bcast = 53,
  Gather = 54,
  Gatherv = 55,
  Scatter = 56,
  Scatterv = 57,
  Allgather = 58,
  Allgatherv = 59,
  Alltoall = 60,
  Alltoallv = 61,
  Reduce = 62,
  Allreduce = 65,
  ReduceScatter = 66,
  Scan = 67,
  CommGroup = 72,
  GroupIncl = 76,
  CommSize = 81,
  CommRank = 82,
  CommDup = 84,
  CommCreate = 85,
  CommSplit = 86,
  IntercommCreate = 91,
  IntercommMerge = 92,
  CartCreate = 99,
  GraphCreate = 101,
  CartSub = 111,
  Init = 124,
  Finalize = 125,
  Alltoallw = 155,
  Exscan = 156,
  InitThread = 171,
  FunctionEnter = 291,
  FunctionExit = 292,
};

}  // namespace cox::trace::dumpi
