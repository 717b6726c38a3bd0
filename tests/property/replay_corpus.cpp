// SPDX-License-Identifier: Apache-2.0
// Every input that a fuzzer once found interesting, and every seed, without the fuzzer.
#include <gtest/gtest.h>

#include <filesystem>

#include "fuzz/entries.hpp"
#include "support/make_run.hpp"

namespace cox::fuzz {
namespace {

int replay(const char* folder, void (*entry)(std::string_view)) {
  int inputs = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(COX_FUZZ_CORPUS) / folder)) {
    SCOPED_TRACE(file.path().string());
    entry(test::file_content(file.path()));
    ++inputs;
  }
  return inputs;
}

TEST(ReplayCorpus, Raw) {
  EXPECT_GE(replay("raw", raw), 3);
}
TEST(ReplayCorpus, Compact) {
  EXPECT_GE(replay("compact", compact), 3);
}
TEST(ReplayCorpus, RunInfo) {
  EXPECT_GE(replay("run_info", run_info), 3);
}

}  // namespace
}  // namespace cox::fuzz
