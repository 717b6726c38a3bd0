// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "cox/study/answer.hpp"

namespace cox::study {
namespace {

Result<std::string> filled(const std::string& text) {
  const auto s = parse_study(
      "name = \"one\"\ntitle = \"One\"\nquestion = \"What?\"\nsource = \"here\"\ncompute = \"c\"\n"
      "[[input]]\nname = \"some sizes\"\nvalue = [\"1MB\", \"2MB\"]\nfrom = \"source\"\n",
      "one.toml");
  EXPECT_TRUE(s);
  Computation c;
  c.values = {{.name = "ring", .value = Quantity::of(Seconds{0.02814}), .engine = "e"}};
  return fill(*s, c, text, 7);
}

TEST(Sentence, PlacesAreFilled) {
  EXPECT_EQ(*filled("no place"), "no place");
  EXPECT_EQ(*filled("the ring takes {ring}."), "the ring takes 28.14 ms.");
  EXPECT_EQ(*filled("{ring as 1.0ms}, {ring as 1us}"), "28.1 ms, 28140 us");
  EXPECT_EQ(*filled("for {some sizes}"), "for 1MB, 2MB");
}

TEST(Sentence, WhatIsNotThereIsRefusedWithItsLine) {
  for (const char* text :
       {"{nothing}", "{ring as 1GB}", "{ring as }", "{some sizes as 1MB}", "{ring", "ring}", "{ri{ng}"}) {
    const auto out = filled(text);
    ASSERT_FALSE(out) << text;
    EXPECT_EQ(out.error().id, "study-004") << text;
    EXPECT_EQ(out.error().where->line, 7) << text;
  }
}

}  // namespace
}  // namespace cox::study
