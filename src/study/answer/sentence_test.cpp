// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "cox/study/answer.hpp"

namespace cox::study {
namespace {

Result<Said> filled(const std::string& text) {
  const auto s = parse_study(
      "name = \"one\"\ntitle = \"One\"\nquestion = \"What?\"\nsource = \"here\"\ncompute = \"c\"\n"
      "[[input]]\nname = \"some sizes\"\nvalue = [\"1MB\", \"2MB\"]\nfrom = \"source\"\n"
      "[[input]]\nname = \"traffic, as printed\"\nvalue = \"3MB\"\nfrom = \"source\"\n"
      "[[input]]\nname = \"as good as\"\nvalue = \"4MB\"\nfrom = \"source\"\n",
      "one.toml");
  EXPECT_TRUE(s);
  Computation c;
  c.values = {{.name = "ring", .value = Quantity::of(Seconds{0.02814}), .engine = "e"}};
  return said(*s, c, text, {}, 7);
}

TEST(Sentence, PlacesAreFilled) {
  EXPECT_EQ(filled("no place")->text, "no place");
  EXPECT_EQ(filled("the ring takes {ring}.")->text, "the ring takes 28.14 ms.");
  EXPECT_EQ(filled("{ring as 1.0ms}, {ring as 1us}")->text, "28.1 ms, 28140 us");
  EXPECT_EQ(filled("for {some sizes}")->text, "for 1MB, 2MB");
  EXPECT_EQ(filled("{traffic, as printed} {as good as}")->text, "3MB 4MB") << "names, not samples";
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

/// `text` guarded by `left > right` and the like, where the file's ring is 28.14 ms; set: one input was replaced.
Result<Said> guarded(const std::string& condition, bool is_set) {
  auto s = parse_study(
      "name = \"one\"\ntitle = \"One\"\nquestion = \"What of {bound}?\"\nsource = \"here\"\n"
      "compute = \"c\"\nanswer = \"The ring is slow.\"\nholds = [\"" +
          condition +
          "\"]\n"
          "[[input]]\nname = \"bound\"\nvalue = \"20ms\"\nfrom = \"source\"\n",
      "one.toml");
  if (!s) return fail(std::move(s).error());
  if (is_set) {
    EXPECT_TRUE(set_input(*s, "bound=30ms"));
  }
  EXPECT_EQ(*question_of(*s), is_set ? "What of 30ms?" : "What of 20ms?");
  Computation c;
  c.values = {{.name = "ring", .value = Quantity::of(Seconds{0.02814}), .engine = "e"}};
  return said(*s, c, s->answer, s->holds, 3);
}

TEST(Sentence, IsSaidWhereItHolds) {
  for (const char* so :
       {"ring > bound", "ring < 1.5 * bound", "20ms < ring", "1.4 * bound < ring", "ring < 0.1s"})
    EXPECT_EQ(guarded(so, false)->text, "The ring is slow.") << so;
  EXPECT_EQ(guarded("ring > 0.5 * bound", true)->text, "The ring is slow.");
  EXPECT_EQ(
      guarded("ring > bound", true)->text,
      "What the file says here does not hold with the inputs that were set: it needs ring > bound, and ring is "
      "28.14 ms and bound is 30.00 ms");
  EXPECT_EQ(
      guarded("tree > bound", true)->text,
      "What the file says here does not hold with the inputs that were set: it needs tree > bound, and tree is "
      "not computed");
}

TEST(Sentence, WhatIsLeftWithoutAValueIsNotSaid) {
  auto s = parse_study(
      "name = \"one\"\ntitle = \"One\"\nquestion = \"What?\"\nsource = \"here\"\ncompute = \"c\"\n"
      "[[input]]\nname = \"sizes\"\nvalue = [\"1MB\"]\nfrom = \"source\"\n",
      "one.toml");
  ASSERT_TRUE(s);
  EXPECT_FALSE(said(*s, {}, "{ring-1MB} is slow", {}, 1)) << "with the inputs of the file it is an error";
  ASSERT_TRUE(set_input(*s, "sizes=[2MB]"));
  const auto out = said(*s, {}, "{ring-1MB} is slow", {}, 1);
  ASSERT_TRUE(out);
  EXPECT_TRUE(out->is_withdrawn);
  EXPECT_EQ(
      out->text,
      "What the file says here does not hold with the inputs that were set: it needs ring-1MB, which is not computed");
}

TEST(Sentence, AFalseConditionOfTheFileIsRefused) {
  for (const char* wrong : {"ring < bound", "ring > ring", "ring > tree", "ring > 1GB", "ring > 3"}) {
    const auto out = guarded(wrong, false);
    ASSERT_FALSE(out) << wrong;
    EXPECT_EQ(out.error().id, "study-004") << wrong;
    EXPECT_EQ(out.error().where->line, 7) << wrong << ": that of the condition";
  }
  for (const char* wrong :
       {"ring", "ring >", "> ring", "ring>bound", "a > b > c", "2ms * ring > bound", ""}) {
    const auto out = guarded(wrong, false);
    ASSERT_FALSE(out) << wrong;
    EXPECT_EQ(out.error().id, "study-002") << wrong;
  }
}

}  // namespace
}  // namespace cox::study
