// SPDX-License-Identifier: Apache-2.0
#include "cox/evaluate/computations.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cox::evaluate {
namespace {

TEST(Computations, EveryStudyOfTheTreeHasItsOwn) {
  const auto studies = study::read_studies(COX_STUDIES);
  ASSERT_TRUE(studies) << studies.error().to_string();
  const study::ComputationTable known = computations();
  for (const study::Study& s : *studies) EXPECT_NE(known.find(s.compute), nullptr) << s.name;
}

TEST(Computations, AreTheSameInTheSameOrderEachTime) {
  EXPECT_EQ(computations().names(), computations().names());
  EXPECT_EQ(computations().names().front(), "data-parallel-step");
}

}  // namespace
}  // namespace cox::evaluate
