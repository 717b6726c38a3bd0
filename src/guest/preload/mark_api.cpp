// SPDX-License-Identifier: Apache-2.0
// cox/abi/observe.h as the preload object offers it: marks go straight to the writer.
#include "guest/preload/mark_api.hpp"

#include <cstring>

#include "cox/abi/observe.h"

#include "guest/pacing/pacing.hpp"
#include "guest/seam/communicators.hpp"
#include "guest/seam/peer_sums.hpp"

namespace {

using namespace cox::guest;
using cox::trace::EventKind;
using cox::trace::PeerKind;
using cox::trace::RawRecord;
using cox::trace::WaitKind;

constexpr std::uint32_t kMostCommunicators = 64;
constexpr std::size_t kMostMembers = 4096;

const WriterApi* writer = nullptr;
const PaceApi* pacing = nullptr;

// Sequence per communicator; a communicator is used by one thread at a time, as in MPI.
std::uint32_t sequences[kMostCommunicators];
Occurrences occurrences;
PeerSums messages;

void rank(int32_t my_rank, int32_t world_size) {
  writer->open({.rank = my_rank, .world_size = world_size, .library = "cox/abi/observe.h"});
  writer->set_rank(my_rank, world_size);
}

// Equal sets of ranks are told apart by how many came before, which all members count alike.
cox_communicator communicator(const int32_t* ranks, std::size_t count, int32_t my_rank, const char* name) {
  static std::int32_t sorted[kMostMembers];
  if (ranks == nullptr || count == 0 || count > kMostMembers) return 0;
  memcpy(sorted, ranks, count * sizeof *ranks);
  const std::uint64_t first = writer->group_identity(sorted, count, 0);
  const std::uint32_t occurrence = occurrences.next(first);
  const std::uint64_t identity =
      occurrence == Occurrences::kUnknown ? 0 : writer->group_identity(sorted, count, occurrence);
  return writer->define_communicator(identity, static_cast<std::int32_t>(count), my_rank, sorted,
                                     static_cast<std::uint32_t>(count), name);
}

void step(uint64_t number) {
  writer->open({.library = "cox/abi/observe.h"});
  writer->instant(EventKind::Step, 0, cox::trace::kMarked, number);
  messages.flush();
  if (pacing != nullptr) pace_mark();
}

cox_span phase_begin(uint32_t phase) {
  return writer->begin(EventKind::Phase, static_cast<std::uint8_t>(phase), cox::trace::kMarked, 0, 0, 0, 0);
}

cox_span collective_begin(uint32_t collective, cox_communicator comm, uint64_t bytes) {
  if (comm >= kMostCommunicators) comm = 0;  // beyond what we number: unknown rather than matched wrongly
  if (messages.pending()) messages.flush();
  if (pacing != nullptr) pacing->enter(comm);
  return writer->begin(EventKind::Collective, static_cast<std::uint8_t>(collective), cox::trace::kMarked,
                       comm, sequences[comm]++, bytes, 0);
}

void span_end(cox_span span) {
  writer->end(static_cast<RawRecord*>(span));
}

void collective_end(cox_span span) {
  span_end(span);
  if (pacing == nullptr) return;
  const auto& r = *static_cast<const RawRecord*>(span);
  pacing->leave(r.comm, r.begin, r.end, static_cast<std::int64_t>(r.bytes), Boundary::Synchronisation);
}

void message_sent(cox_communicator comm, int32_t peer, uint64_t bytes) {
  if (comm != 0 && comm < kMostCommunicators && peer >= 0)
    messages.add(comm, static_cast<std::uint32_t>(peer), PeerKind::Send, bytes);
}

cox_span message_wait_begin(cox_communicator comm, int32_t peer) {
  if (comm >= kMostCommunicators) comm = 0;
  const bool named = peer >= 0 && comm != 0;
  return writer->begin(EventKind::Wait, static_cast<std::uint8_t>(WaitKind::Peer), cox::trace::kMarked, comm,
                       0, named ? 0 : 1, named ? static_cast<std::uint32_t>(peer) : cox::trace::kAnyPeer);
}

// Which of the peer's messages it was, and which was the last to the peer and when: the two sides are laid beside each other.
void message_wait_end(cox_span span, int32_t peer, uint64_t bytes) {
  auto& r = *static_cast<RawRecord*>(span);
  if (peer >= 0 && r.comm != 0) {
    r.aux = static_cast<std::uint32_t>(peer);
    r.seq = messages.add(r.comm, r.aux, PeerKind::Receive, bytes).number;
  }
  if (r.aux != cox::trace::kAnyPeer) {
    r.bytes = sent_before(*writer, messages.last_sent(r.comm, r.aux), r.begin).bytes();
    r.flags |= cox::trace::kNumbered;
  }
  span_end(span);
}

constexpr cox_observe_v1 kApi = {
    .size = sizeof(cox_observe_v1),
    .rank = rank,
    .communicator = communicator,
    .step = step,
    .phase_begin = phase_begin,
    .phase_end = span_end,
    .collective_begin = collective_begin,
    .collective_end = collective_end,
    .message_sent = message_sent,
    .message_wait_begin = message_wait_begin,
    .message_wait_end = message_wait_end,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const cox_observe_v1* cox_observe_get_v1();

const cox_observe_v1* cox_observe_get_v1() {
  writer = mark_writer();
  messages.set_writer(writer);
  if (writer != nullptr) pacing = mark_pacing();
  return writer == nullptr ? nullptr : &kApi;
}
