// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "cox/study/answer.hpp"

namespace cox::study {
namespace {

Study study_with(const std::string& printed) {
  const std::string text =
      "name = \"one\"\ntitle = \"One\"\nquestion = \"What?\"\nsource = \"here\"\ncompute = \"c\"\n"
      "[[input]]\nname = \"given\"\nvalue = \"28ms\"\nfrom = \"source\"\n"
      "[[input]]\nname = \"ours\"\nvalue = \"1ms\"\nfrom = \"missing\"\nnote = \"n\"\n" +
      printed;
  auto s = parse_study(text, "one.toml");
  EXPECT_TRUE(s) << s.error().to_string();
  return *s;
}

Computation computed() {
  Computation c;
  c.values = {{.name = "exact", .value = Quantity::of(Seconds{0.0281}), .engine = "e"},
              {.name = "edge", .value = Quantity::ratio(0.4375), .engine = "e"},
              {.name = "mean",
               .value = Quantity::of(Seconds{0.030}),
               .engine = "e",
               .half_width_95 = Quantity::of(Seconds{0.003}),
               .draw_low = Quantity::of(Seconds{0.020}),
               .draw_high = Quantity::of(Seconds{0.040}),
               .replicas = 100}};
  return c;
}

std::string printed(const std::string& name, const std::string& rest) {
  return "[[printed]]\nname = \"" + name + "\"\nline = 1\n" + rest;
}

Verdict verdict_of(const std::string& rest) {
  const auto j = judge(study_with(printed("p", rest)), computed());
  EXPECT_TRUE(j) << j.error().to_string();
  return j ? j->at(0).verdict : Verdict::TypedIn;
}

std::string refusal(const std::string& text) {
  const auto j = judge(study_with(text), computed());
  EXPECT_FALSE(j) << text;
  return j ? "" : j.error().id + ": " + j.error().message;
}

TEST(Judge, FollowsIsComputed) {
  EXPECT_EQ(verdict_of("quantity = \"exact\"\nvalue = \"28ms\"\n"), Verdict::Follows);
  EXPECT_EQ(verdict_of("quantity = \"exact\"\nvalue = \"28.0ms\"\n"), Verdict::DoesNotFollow);
  EXPECT_EQ(verdict_of("quantity = \"exact\"\nvalue = \"28.0ms\"\nwithin = \"0.2ms\"\nreason = \"r\"\n"),
            Verdict::Follows);
  EXPECT_EQ(verdict_of("quantity = \"exact\"\nvalue = \"29ms\"\n"), Verdict::DoesNotFollow);
  // 43.75 % may be printed as 43.8 % or as 43.7 %.
  EXPECT_EQ(verdict_of("quantity = \"edge\"\nvalue = \"43.8%\"\n"), Verdict::Follows);
  EXPECT_EQ(verdict_of("quantity = \"edge\"\nvalue = \"43.7%\"\n"), Verdict::Follows);
  EXPECT_EQ(verdict_of("quantity = \"edge\"\nvalue = \"43.9%\"\n"), Verdict::DoesNotFollow);
}

TEST(Judge, ARangeIsMetAnywhereInIt) {
  EXPECT_EQ(verdict_of("quantity = \"exact\"\nvalue = \"28ms\"\nup_to = \"30ms\"\n"), Verdict::Follows);
  EXPECT_EQ(verdict_of("quantity = \"exact\"\nvalue = \"20ms\"\nup_to = \"29ms\"\n"), Verdict::Follows);
  EXPECT_EQ(verdict_of("quantity = \"exact\"\nvalue = \"20ms\"\nup_to = \"27ms\"\n"), Verdict::DoesNotFollow);
  EXPECT_EQ(verdict_of("quantity = \"exact\"\nvalue = \"29ms\"\nup_to = \"40ms\"\n"), Verdict::DoesNotFollow);
}

TEST(Judge, WhatIsDeclaredIsChecked) {
  const std::string missing = "reason = \"r\"\njudgement = \"input-missing\"\nmissing = [\"ours\"]\n";
  EXPECT_EQ(verdict_of("value = \"5ms\"\n" + missing), Verdict::InputMissing);
  EXPECT_NE(refusal(printed("p",
                            "value = \"5ms\"\nreason = \"r\"\njudgement = \"input-missing\"\nmissing "
                            "= [\"given\"]\n"))
                .find("study-004"),
            std::string::npos);
  const std::string typed = "reason = \"r\"\njudgement = \"typed-in\"\ntyped = \"given\"\n";
  EXPECT_EQ(verdict_of("value = \"28ms\"\n" + typed), Verdict::TypedIn);
  EXPECT_EQ(verdict_of("value = \"29ms\"\n" + typed), Verdict::DoesNotFollow);
  EXPECT_NE(
      refusal(printed("p", "value = \"28ms\"\nreason = \"r\"\njudgement = \"typed-in\"\ntyped = \"ours\"\n"))
          .find("typed in"),
      std::string::npos);
}

// What is computed wins over what is declared.
TEST(Judge, WhatIsComputedIsCompared) {
  const std::string missing = "reason = \"r\"\njudgement = \"input-missing\"\nmissing = [\"ours\"]\n";
  EXPECT_EQ(verdict_of("quantity = \"exact\"\nvalue = \"28ms\"\n" + missing), Verdict::FollowsWithOurs);
  EXPECT_EQ(verdict_of("quantity = \"exact\"\nvalue = \"700000ms\"\n" + missing), Verdict::NotWithOurs);
  const std::string fitted = "reason = \"r\"\njudgement = \"fitted\"\n";
  EXPECT_EQ(verdict_of("quantity = \"exact\"\nvalue = \"28ms\"\n" + fitted), Verdict::Fitted);
  EXPECT_EQ(verdict_of("quantity = \"exact\"\nvalue = \"29ms\"\n" + fitted), Verdict::FitMisses);
}

// Whatever the missing input is, 28.1 ms is the least: 27 ms is wrong, 29 ms only not ours.
TEST(Judge, ABoundHoldsWhateverIsMissing) {
  const std::string rest =
      "line = 1\njudgement = \"input-missing\"\nmissing = [\"ours\"]\nreason = \"r\"\nquantity = \"mean\"\n";
  const auto verdict = [&](const std::string& more) {
    const auto j = judge(study_with("[[printed]]\nname = \"p\"\n" + rest + more), computed());
    EXPECT_TRUE(j) << j.error().to_string();
    return j ? j->at(0).verdict : Verdict::TypedIn;
  };
  EXPECT_EQ(verdict("value = \"27ms\"\n"), Verdict::NotWithOurs);
  EXPECT_EQ(verdict("value = \"27ms\"\nat_least = \"exact\"\n"), Verdict::DoesNotFollow);
  EXPECT_EQ(verdict("value = \"29ms\"\nat_least = \"exact\"\n"), Verdict::NotWithOurs);
  EXPECT_EQ(verdict("value = \"28ms\"\nat_least = \"exact\"\n"), Verdict::NotWithOurs);  // as printed
  EXPECT_EQ(verdict("value = \"30ms\"\nat_least = \"exact\"\n"), Verdict::FollowsWithOurs);
  EXPECT_EQ(verdict("value = \"20ms\"\nup_to = \"29ms\"\nat_least = \"exact\"\n"), Verdict::NotWithOurs);
  EXPECT_EQ(
      refusal("[[printed]]\nname = \"p\"\n" + rest + "value = \"27ms\"\nat_least = \"none\"\n").substr(0, 9),
      "study-004");
}

TEST(Judge, ADrawIsComparedWithDraws) {
  const std::string draw = "reason = \"r\"\njudgement = \"draw\"\n";
  EXPECT_EQ(verdict_of("quantity = \"mean\"\nvalue = \"21ms\"\n" + draw), Verdict::AmongDraws);
  EXPECT_EQ(verdict_of("quantity = \"mean\"\nvalue = \"19ms\"\n" + draw), Verdict::DoesNotFollow);
  EXPECT_EQ(verdict_of("quantity = \"mean\"\nvalue = \"41ms\"\n" + draw), Verdict::DoesNotFollow);
  EXPECT_NE(refusal(printed("p", "quantity = \"exact\"\nvalue = \"28ms\"\n" + draw)).find("no draws"),
            std::string::npos);
}

TEST(Judge, ADrawUnderALawOfOursIsOursToo) {
  const std::string draw = "reason = \"r\"\njudgement = \"draw\"\nmissing = [\"ours\"]\n";
  EXPECT_EQ(verdict_of("quantity = \"mean\"\nvalue = \"21ms\"\n" + draw), Verdict::FollowsWithOurs);
  EXPECT_EQ(verdict_of("quantity = \"mean\"\nvalue = \"19ms\"\n" + draw), Verdict::NotWithOurs);
}

TEST(Judge, AContradictionNamesAPlaceThatDiffers) {
  const std::string there = printed("there", "quantity = \"exact\"\nvalue = \"23ms\"\n");
  const auto two = [&](const std::string& value) {
    return there +
           printed("here", "quantity = \"exact\"\nvalue = \"" + value +
                               "\"\nreason = \"r\"\njudgement = \"contradicts\"\nagainst = \"there\"\n");
  };
  const auto j = judge(study_with(two("28.3ms")), computed());
  ASSERT_TRUE(j) << j.error().to_string();
  EXPECT_EQ(j->at(1).verdict, Verdict::DoesNotFollow);
  EXPECT_EQ(judge(study_with(two("28.1ms")), computed())->at(1).verdict, Verdict::Follows);
  const auto bare = judge(study_with(printed("there",
                                             "value = \"23ms\"\nreason = \"r\"\njudgement = "
                                             "\"input-missing\"\nmissing = [\"ours\"]\n") +
                                     printed("here",
                                             "value = \"28ms\"\nreason = \"r\"\njudgement = "
                                             "\"contradicts\"\nagainst = \"there\"\n")),
                          computed());
  ASSERT_TRUE(bare) << bare.error().to_string();
  EXPECT_EQ(bare->at(1).verdict, Verdict::Contradicts);
  EXPECT_NE(refusal(two("23.2ms")).find("does not contradict"), std::string::npos);
  EXPECT_NE(refusal(printed("here",
                            "quantity = \"exact\"\nvalue = \"1ms\"\nreason = \"r\"\njudgement = "
                            "\"contradicts\"\nagainst = \"nowhere\"\n"))
                .find("no other printed"),
            std::string::npos);
}

TEST(Judge, RefusesNamesAndKindsThatDoNotFit) {
  EXPECT_NE(refusal(printed("p", "quantity = \"nothing\"\nvalue = \"1ms\"\n")).find("'nothing'"),
            std::string::npos);
  EXPECT_NE(refusal(printed("p", "quantity = \"edge\"\nvalue = \"1ms\"\n")).find("a ratio"),
            std::string::npos);
}

}  // namespace
}  // namespace cox::study
