// SPDX-License-Identifier: Apache-2.0
/// \file
/// Layout of what Gloo's collectives are called with, as far as we read it: own declarations, because Gloo's
/// headers pull in the C++ runtime and a guest needs libc only.
///
/// Valid for: Gloo 0.5 of 2022 to 2025 on LP64 with libstdc++; held against the real headers by abi_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cox::guest::gloo_abi {

/// What a `gloo::Context` begins with: behind its table of virtual functions where it has one (until 2023).
struct ContextNumbers {
  std::int32_t rank;
  std::int32_t size;
};
/// Exported by a Gloo whose contexts have a table of virtual functions.
inline constexpr char kContextTable[] = "_ZTVN4gloo7ContextE";
/// In a `gloo::rendezvous::Context`, which has such a table in any Gloo.
inline constexpr std::size_t kNumbersInRendezvous = sizeof(void*);

struct UnboundBuffer {
  void* vtable;
  void* data;
  std::size_t size;
};

struct ContextPointer {  // std::shared_ptr
  const void* get;       // gloo::Context
  void* control;
};

struct Vector {  // std::vector of a word-sized type
  const std::size_t* first;
  const std::size_t* last;
  const std::size_t* capacity;
};

struct Function {  // std::function
  void* words[4];
};

struct AllreduceOptions {
  ContextPointer context;
  std::int64_t timeout_ms;
  std::int32_t algorithm;
  Vector in;
  Vector out;
  std::size_t elements;
  std::size_t element_size;
  Function reduce;
  std::uint32_t tag;
};

struct BroadcastOptions {
  ContextPointer context;
  const UnboundBuffer* in;
  const UnboundBuffer* out;
  std::size_t elements;
  std::size_t element_size;
  std::int32_t root;
  std::uint32_t tag;
};

struct AllgatherOptions {
  ContextPointer context;
  const UnboundBuffer* in;
  const UnboundBuffer* out;
  std::size_t element_size;
  std::uint32_t tag;
};

struct AllgathervOptions {
  ContextPointer context;
  const UnboundBuffer* in;
  const UnboundBuffer* out;
  Vector elements;
  std::size_t element_size;
  std::uint32_t tag;
};

struct BarrierOptions {
  ContextPointer context;
  const UnboundBuffer* buffer;
  std::uint32_t tag;
};

struct ReduceOptions {
  ContextPointer context;
  const UnboundBuffer* in;
  const UnboundBuffer* out;
  std::size_t elements;
  std::size_t element_size;
  std::int32_t root;
  Function reduce;
  std::uint32_t tag;
};

struct GatherOptions {
  ContextPointer context;
  const UnboundBuffer* in;
  const UnboundBuffer* out;
  std::size_t element_size;
  std::int32_t root;
  std::uint32_t tag;
};

struct ScatterOptions {
  ContextPointer context;
  Vector in;
  const UnboundBuffer* out;
  std::size_t element_size;
  std::int32_t root;
  std::uint32_t tag;
};

struct AlltoallOptions {
  ContextPointer context;
  const UnboundBuffer* in;
  const UnboundBuffer* out;
  std::size_t element_size;
  std::uint32_t tag;
};

struct AlltoallvOptions {
  ContextPointer context;
  const UnboundBuffer* in;
  const UnboundBuffer* out;
  Vector in_offset;
  Vector in_length;
  Vector out_offset;
  Vector out_length;
  std::size_t element_size;
  std::uint32_t tag;
};

}  // namespace cox::guest::gloo_abi
