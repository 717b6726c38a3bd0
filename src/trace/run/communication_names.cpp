// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/communication_names.hpp"

#include <string>

namespace cox::trace {

bool is_communication(std::string_view name) {
  std::string small;
  for (const char c : name) small += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const std::string_view word :
       {"allreduce",  "all_reduce",    "all-reduce",     "allgather",      "all_gather",
        "all-gather", "reducescatter", "reduce_scatter", "reduce-scatter", "alltoall",
        "all_to_all", "all-to-all",    "broadcast",      "bcast",          "barrier",
        "nccl",       "rccl",          "mpi_",           "comm",           "sync",
        "wait",       "sendrecv",      "send",           "recv",           "idle"})
    if (small.find(word) != std::string::npos) return true;
  return false;
}

}  // namespace cox::trace
