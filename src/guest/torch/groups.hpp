// SPDX-License-Identifier: Apache-2.0
/// \file
/// Wrappers of PyTorch's process groups and of its DDP reducer, for the table in attach.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "guest/torch/abi.hpp"

namespace cox::guest::torch {

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot stand in parentheses
#define COX_WRAPPED(result, name, PARAMETERS) \
  extern result(*real_##name) PARAMETERS;     \
  result wrap_##name PARAMETERS;

// groups.cpp
COX_WRAPPED(void, prefix_store, (void* self, const void* prefix, void* inner))
COX_WRAPPED(void, process_group, (void* self, void* store, int rank, int size, void* options))
COX_WRAPPED(void, context, (void* self, int rank, int size, int base))
COX_WRAPPED(std::uint32_t, next_tag, (void* self))
COX_WRAPPED(void, monitored_barrier, (void* self, const void* options, bool wait_for_all))
COX_WRAPPED(void, run_loop, (void* self, int worker))
COX_WRAPPED(bool, wait, (void* self, std::int64_t timeout_ms))
#define COX_SUBMIT(name, collective, PARAMETERS, ARGUMENTS) COX_WRAPPED(void*, name, PARAMETERS)
#include "guest/torch/submit.def"
#undef COX_SUBMIT

// phases.cpp
COX_WRAPPED(void, prepare_for_forward, (void* self))
COX_WRAPPED(void, prepare_for_backward, (void* self, const void* outputs))
COX_WRAPPED(void, autograd_hook, (void* self, std::size_t index))
COX_WRAPPED(void, finalize_backward, (void* self))
COX_WRAPPED(void, make_range, (void* self, std::uint8_t scope))
COX_WRAPPED(std::uint64_t, add_callback, (c10d_abi::RangeCallback callback))

#undef COX_WRAPPED
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace cox::guest::torch
