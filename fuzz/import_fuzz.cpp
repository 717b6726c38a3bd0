// SPDX-License-Identifier: Apache-2.0
// libFuzzer target of one reader; COX_READER names it.
#include <cstdint>

#include "fuzz/entries.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cox::fuzz::import(COX_READER, {reinterpret_cast<const char*>(data), size});
  return 0;
}
