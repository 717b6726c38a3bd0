// SPDX-License-Identifier: Apache-2.0
/// \file
/// Layout of the few objects of PyTorch that the guest reads or hands over: own declarations,
/// because PyTorch's headers pull in the C++ runtime and a guest needs libc only.
/// Tensors, options and works stay opaque.
///
/// Valid for: PyTorch 1.13 to 2.14 (version.hpp) on LP64 with libstdc++'s cxx11 strings; held against the
/// real headers by abi_test.cpp, which was run with 1.13, 2.6 and 2.14. What does not name a version here is
/// fixed by the mangled names of the hooks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cox::guest::c10d_abi {

struct String {  // std::string, the cxx11 one
  const char* data;
  std::size_t size;
};

struct StorePointer {  // c10::intrusive_ptr<c10d::Store>
  const void* get;
};

struct WorkPointer {  // c10::intrusive_ptr<c10d::Work>
  const void* get;
};

/// `at::RecordFunctionCallback`, passed by value.
///
/// Start: `std::unique_ptr<ObserverContext> start(const RecordFunction&)`, returned through a hidden pointer.
struct RangeCallback {
  void* (*start)(void** context, const void* range);
  void (*end)(const void* range, void* context);
  double sampling_probability;
  bool scopes[10];
  bool needs_inputs;
  bool needs_outputs;
  bool needs_ids;
};
static_assert(sizeof(RangeCallback) == 40);

inline constexpr std::uint8_t kOperatorScope = 0;  ///< `at::RecordScope::FUNCTION`
inline constexpr std::uint8_t kUserScope = 7;      ///< `at::RecordScope::USER_SCOPE`

/// A callback for named ranges only: operators are not slowed by it.
inline RangeCallback range_callback(void* (*start)(void**, const void*), void (*end)(const void*, void*)) {
  RangeCallback callback{start, end, 1.0, {}, false, false, false};
  callback.scopes[kUserScope] = true;
  return callback;
}

}  // namespace cox::guest::c10d_abi
