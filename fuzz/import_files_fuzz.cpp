// SPDX-License-Identifier: Apache-2.0
// libFuzzer target of one reader whose format is several files; COX_READER names it.
#include <cstdint>

#include "fuzz/entries.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cox::fuzz::import_files(COX_READER, {reinterpret_cast<const char*>(data), size});
  return 0;
}
