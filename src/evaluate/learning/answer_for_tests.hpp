// SPDX-License-Identifier: Apache-2.0
/// \file
/// Studies of the tree, for tests: computed once per program.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

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

/// The study with one input set, computed; nothing where it is not there (and the test fails).
inline std::optional<study::AnsweredStudy> with_input(const std::string& name, const std::string& change) {
  const auto studies = study::read_studies(COX_STUDIES);
  EXPECT_TRUE(studies);
  if (!studies) return {};
  for (study::Study s : *studies) {
    if (s.name != name) continue;
    EXPECT_TRUE(study::set_input(s, change)) << change;
    auto a = study::run_study(s, computations(), {.threads = 1});
    EXPECT_TRUE(a) << (a ? "" : a.error().to_string());
    if (a) return *std::move(a);
    return {};
  }
  ADD_FAILURE() << "no study " << name;
  return {};
}

inline double value_of(const std::string& study, const std::string& name) {
  const auto& all = values_of(study);
  const auto at = all.find(name);
  EXPECT_NE(at, all.end()) << study << ": " << name;
  return at == all.end() ? 0 : at->second;
}

}  // namespace cox::evaluate
