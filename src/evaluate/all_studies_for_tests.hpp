// SPDX-License-Identifier: Apache-2.0
/// \file
/// All studies of the tree, for tests: read, and each computed, once per program.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cox/evaluate/computations.hpp"
#include "cox/study/study.hpp"

namespace cox::evaluate {

inline const std::vector<study::Study>& studies() {
  static const std::vector<study::Study> all = [] {
    auto read = study::read_studies(COX_STUDIES);
    EXPECT_TRUE(read) << read.error().to_string();
    return read ? *read : std::vector<study::Study>{};
  }();
  return all;
}

/// Null where it is not there or fails, and the test with it.
inline const study::AnsweredStudy* answer_of(const std::string& name) {
  static std::map<std::string, study::AnsweredStudy> made;
  if (const auto at = made.find(name); at != made.end()) return &at->second;
  for (const study::Study& s : studies()) {
    if (s.name != name) continue;
    auto a = study::run_study(s, computations(), {.threads = 2});
    EXPECT_TRUE(a) << a.error().to_string();
    if (!a) return nullptr;
    return &made.emplace(name, *std::move(a)).first->second;
  }
  ADD_FAILURE() << "no study " << name;
  return nullptr;
}

}  // namespace cox::evaluate
