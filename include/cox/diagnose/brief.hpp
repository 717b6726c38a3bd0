// SPDX-License-Identifier: Apache-2.0
/// \file
/// A diagnosis in the few sentences that are read first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cox/diagnose/diagnosis.hpp"

namespace cox::diagnose {

/// Sentences without the words that a headline says. At most three different percentages are in all of it
/// together with the coverage, each with what it is a part of.
struct Brief {
  std::vector<std::string> says;   ///< who, what, since when; what became of the job comes first
  std::string cause;               ///< empty where nobody is named
  std::string gain;                ///< empty where nobody is named
  std::vector<std::string> to_do;  ///< at most three
  std::string coverage;
  std::string cannot_tell;  ///< how much, and the most important; empty where there is nothing
};

/// `against`: the same job before a change, or null.
/// Held by: src/report/first_screen_test.cpp, tests/property/sentence_laws.cpp
[[nodiscard]] Brief brief_of(const Diagnosis& d, const Comparison* against = nullptr);

}  // namespace cox::diagnose
