// SPDX-License-Identifier: Apache-2.0
/// \file
/// NCCL's own names and sizes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cox/model/collective.hpp"

namespace cox::trace {

struct NcclFunction {
  model::Collective op = model::Collective::Other;
  bool variable = false;
};
/// By NCCL's spelling: `AllReduce`, `AlltoAll`, `AllGatherV`, ...
[[nodiscard]] NcclFunction nccl_function(std::string_view name);

/// Message size in nccl-tests' convention from the elements or bytes that one rank contributes: NCCL's own
/// count of AllGather and ReduceScatter is that of one rank's part. Saturates.
/// Source: NCCL Inspector's bandwidth formula (`coll_algobw_gbs`), nccl-tests doc/PERFORMANCE.md.
[[nodiscard]] std::int64_t nccl_message_bytes(model::Collective op, std::int64_t bytes, int ranks);

/// Name of the communicator that stands for one function of an NCCL communicator: its identity, its own name
/// where it has one, and the function.
[[nodiscard]] std::string nccl_title(std::string_view id, std::string_view name, std::string_view function);

}  // namespace cox::trace
