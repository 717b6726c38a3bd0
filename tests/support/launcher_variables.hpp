// SPDX-License-Identifier: Apache-2.0
/// \file
/// The environment of a process as some launcher leaves it; the test's own is put back.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "cox/guest/launcher.hpp"

namespace cox::test {

class LauncherVariables : public testing::Test {
 protected:
  void SetUp() override { forget_all(); }
  void TearDown() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }
  void set(std::initializer_list<std::pair<const char*, const char*>> variables) {
    for (const auto& [name, value] : variables) {
      setenv(name, value, 1);
      set_.emplace_back(name);
    }
  }
  /// As where nothing was launched, and nothing was set before.
  void forget_all() {
    for (const std::string& name : set_) unsetenv(name.c_str());
    set_.clear();
    for (const char* name : {"COX_JOB", "COX_BATCH_JOB"}) clear(name);
    for (const guest::BatchSystem& b : guest::kBatchSystems)
      for (const char* name : {b.job, b.whole})
        if (name != nullptr) clear(name);
    for (const guest::Launcher& l : guest::kLaunchers)
      for (const char* name : {l.sign[0], l.sign[1], l.rank, l.world_size, l.local_rank, l.local_size,
                               l.tasks_per_node, l.node, l.attempt, l.launch})
        if (name != nullptr) clear(name);
  }

 private:
  void clear(const char* name) {
    if (const char* value = getenv(name)) before_.emplace_back(name, value);
    unsetenv(name);
  }
  std::vector<std::string> set_;
  std::vector<std::pair<std::string, std::string>> before_;
};

}  // namespace cox::test
