// SPDX-License-Identifier: Apache-2.0
// Entry of a typed MPI object: finds the library's functions and offers the wrappers
// of all its files as one list.
#include "guest/mpi/state.hpp"

namespace cox::guest::mpi {
namespace {

constexpr std::size_t kMostWrappers = 768;
Wrapper all_wrappers[kMostWrappers];
TypedTable table{kTypedAbi, 0, all_wrappers};

bool add(Wrappers more) noexcept {
  if (table.count + more.count > kMostWrappers) return false;
  for (std::size_t i = 0; i < more.count; ++i) all_wrappers[table.count++] = more.first[i];
  return true;
}

}  // namespace
}  // namespace cox::guest::mpi

extern "C" __attribute__((visibility("default"))) const cox::guest::TypedTable* cox_typed_attach(
    const cox::guest::Host* from);

const cox::guest::TypedTable* cox_typed_attach(const cox::guest::Host* from) {
  using namespace cox::guest::mpi;
  if (from == nullptr || from->abi != cox::guest::kTypedAbi) return nullptr;
  host = from;
  writer = from->writer;
  peers.set_writer(writer);
  pacing = from->pace;
  const bool good = library.find(*from) && add(communicator_wrappers()) && add(collective_wrappers()) &&
                    add(completion_wrappers()) && add(peer_wrappers());
  return good ? &table : nullptr;
}
