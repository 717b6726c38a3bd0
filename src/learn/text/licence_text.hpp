// SPDX-License-Identifier: Apache-2.0
/// \file
/// Text that every Debian machine has, as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "cox/base/result.hpp"

namespace cox::learn {

/// Texts as symbols 0 ... symbols - 1, the bytes that occur in any of them in their order.
struct SymbolTexts {
  std::size_t symbols = 0;
  std::vector<std::vector<std::uint8_t>> trained;
  std::vector<std::vector<std::uint8_t>> held_out;
};

/// Fourteen licences as Debian 12 has them: 207 kB to train on, and Artistic, CC0-1.0 and MPL-2.0 (30 kB) held out whole:
/// of their windows of 50 bytes 1.2 % at most occur in what is trained on, where licences of the GNU family share most of
/// theirs. Their bytes are known by length and FNV-1a, so that what is learned has the same bits everywhere.
/// Errors: learn-003 (a file is missing, or has other bytes). Cost: 0.24 MB read and hashed.
/// Held by: src/learn/text/licence_text_test.cpp
[[nodiscard]] Result<SymbolTexts> read_licences(
    const std::filesystem::path& folder = "/usr/share/common-licenses");

}  // namespace cox::learn
