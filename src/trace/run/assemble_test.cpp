// SPDX-License-Identifier: Apache-2.0
#include "trace/run/assemble.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace cox::trace {
namespace {

TEST(Assemble, WhatSeveralGuestsSayIsSaidOnce) {
  const std::string same = std::string(kGuestSays) + "this library is odd";
  const std::string own = std::string(kGuestSays) + "only here";
  std::vector<ProcessFile> processes(3);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    processes[i].file = std::string(1, static_cast<char>('a' + i));
    processes[i].pid = static_cast<int>(i) + 1;
    processes[i].rank = static_cast<int>(i);
    processes[i].world_size = 3;
    processes[i].notes = {same, "1 record is of a kind that is not known"};
  }
  processes[1].notes.push_back(own);
  const trace::Run run = assemble(std::move(processes), 1);
  std::vector<std::pair<std::string, std::string>> notes;
  notes.reserve(run.notes.size());
  for (const Note& note : run.notes) notes.emplace_back(note.file, note.text);
  const std::string record = "1 record is of a kind that is not known";  // each file's own
  EXPECT_EQ(
      notes,
      (std::vector<std::pair<std::string, std::string>>{
          {"a", same + " (and 2 more processes)"}, {"a", record}, {"b", record}, {"b", own}, {"c", record}}));
}

}  // namespace
}  // namespace cox::trace
