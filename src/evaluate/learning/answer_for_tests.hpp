// SPDX-License-Identifier: Apache-2.0
/// \file
/// Studies of the tree, for tests: computed once per program.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "cox/evaluate/computations.hpp"
#include "cox/study/study.hpp"

namespace cox::evaluate {

/// Its values by name, in base units; empty where it fails (and the test with it).
inline const std::map<std::string, double>& values_of(const std::string& name) {
  static std::map<std::string, std::map<std::string, double>> made;
  const auto [at, is_new] = made.try_emplace(name);
  if (!is_new) return at->second;
  const auto studies = study::read_studies(COX_STUDIES);
  EXPECT_TRUE(studies);
  if (!studies) return at->second;
  for (const study::Study& s : *studies) {
    if (s.name != name) continue;
    const auto a = study::run_study(s, computations(), {.threads = 1});
    EXPECT_TRUE(a) << (a ? "" : a.error().to_string());
    if (!a) break;
    for (const study::Computed& c : a->computation.values) at->second[c.name] = c.value.in_base_unit();
  }
  EXPECT_FALSE(at->second.empty()) << "no study " << name;
  return at->second;
}

inline double value_of(const std::string& study, const std::string& name) {
  const auto& all = values_of(study);
  const auto at = all.find(name);
  EXPECT_NE(at, all.end()) << study << ": " << name;
  return at == all.end() ? 0 : at->second;
}

}  // namespace cox::evaluate
