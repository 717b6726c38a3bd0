// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "cox/base/assert.hpp"
#include "cox/study/study.hpp"

#include "fuzz/entries.hpp"

namespace cox::fuzz {

void study(std::string_view bytes) {
  const auto read = cox::study::parse_study(bytes, "fuzz.toml");
  if (!read) {
    const Error& error = read.error();
    COX_ASSERT(error.id.starts_with("study-00") || error.id == "base-001", "a bad study has its own errors");
    COX_ASSERT(error.code == Errc::InvalidInput, "and exit code 3");
    COX_ASSERT(error.message.size() < 2000, "a message is a line");
    for (const char c : error.message) COX_ASSERT(c >= ' ' || c < 0, "that a terminal can show");
    return;
  }
  for (const cox::study::StudyInput& in : read->inputs)
    COX_ASSERT(!in.values.empty(), "an input has a value");
  for (const cox::study::Printed& p : read->printed)
    COX_ASSERT(p.declared != cox::study::Declared::Nothing || !p.quantity.empty(),
               "a printed number can be judged");
}

}  // namespace cox::fuzz
