// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arithmetic on a thread of the program, out of its sight.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace cox::guest {

/// While this lives, floating point of the calling thread traps nothing and rounds to nearest; afterwards control and flags
/// are what they were. A program that traps inexact results is not ended by ours, and one that asks for its flags sees its own.
/// Only what is computed with SSE, which on x86-64 is all but long double.
/// Threads: each its own. Cost: two loads and a store, some ns.
/// Held by: e2e/harmless_*/traps, GuestWriter.ArithmeticOfTheProgramIsLeftAlone
class OwnArithmetic {
#if defined(__x86_64__)
 public:
  OwnArithmetic() noexcept : before_(_mm_getcsr()) { _mm_setcsr(kDefault); }
  ~OwnArithmetic() { _mm_setcsr(before_); }
  OwnArithmetic(const OwnArithmetic&) = delete;
  OwnArithmetic& operator=(const OwnArithmetic&) = delete;

 private:
  static constexpr unsigned kDefault =
      _MM_MASK_MASK;  // every trap masked, no flag up, to nearest, no flush to zero
  unsigned before_;
#endif
};

}  // namespace cox::guest
