// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cox/study/study.hpp"

namespace cox::study {
namespace {

Study study() {
  auto s = parse_study(
      "name = \"one\"\ntitle = \"One\"\nquestion = \"What?\"\nsource = \"here\"\ncompute = \"c\"\n"
      "[[input]]\nname = \"workers\"\nvalue = 8\nfrom = \"source\"\n"
      "[[input]]\nname = \"link, slow\"\nvalue = \"1Gbps\"\nfrom = \"source\"\n"
      "[[input]]\nname = \"sizes\"\nvalue = [\"1MB\", \"2MB\"]\nfrom = \"source\"\n",
      "one.toml");
  EXPECT_TRUE(s);
  return *s;
}

TEST(SetInput, ReplacesAValueAndKeepsWhatTheFileSaid) {
  Study s = study();
  ASSERT_TRUE(set_input(s, "workers=16"));
  EXPECT_EQ(s.inputs[0].values.front().value.in_base_unit(), 16);
  ASSERT_TRUE(set_input(s, "workers = 32"));
  EXPECT_EQ(s.inputs[0].of_file, "8");
  ASSERT_TRUE(set_input(s, "\"link, slow\"=2Gbps"));
  EXPECT_EQ(s.inputs[1].values.front().text, "2Gbps");
  ASSERT_TRUE(set_input(s, "sizes=[4MB, 8MB, 16MB]"));
  EXPECT_EQ(s.inputs[2].values.size(), 3U);
  EXPECT_EQ(s.inputs[2].of_file, "1MB, 2MB");
}

TEST(SetInput, WhatDoesNotFitIsRefused) {
  for (const char* change : {"workers", "workers=", "worker=3", "workers=3ms", "workers=[3, 4]", "sizes=1MB",
                             "sizes=[1MB, 3s]", "sizes=[]", "=3"}) {
    Study s = study();
    const auto done = set_input(s, change);
    ASSERT_FALSE(done) << change;
    EXPECT_EQ(done.error().id, "study-008") << change;
  }
  Study s = study();
  EXPECT_NE(set_input(s, "worker=3").error().hint.find("'workers'"), std::string::npos);
}

TEST(SetInput, AChangeIsReadAsItIsWritten) {
  Study s = *parse_study(
      "name = \"one\"\ntitle = \"One\"\nquestion = \"What?\"\nsource = \"here\"\ncompute = \"c\"\n"
      "[[input]]\nname = \"link, slow\"\nvalue = \"1Gbps\"\nfrom = \"source\"\n"
      "[[input]]\nname = \"sizes\"\nvalue = [\"1MB\", \"2MB\"]\nfrom = \"source\"\n",
      "one.toml");
  std::vector<std::string> changes;
  changes.reserve(s.inputs.size());
  for (const StudyInput& in : s.inputs) changes.push_back(change_text(in));
  EXPECT_EQ(changes, (std::vector<std::string>{"\"link, slow\"=1Gbps", "sizes=[1MB, 2MB]"}));
  ASSERT_TRUE(set_inputs(s, changes));
  for (std::size_t i = 0; i < changes.size(); ++i) EXPECT_EQ(change_text(s.inputs[i]), changes[i]);
}

TEST(SetInput, TwoChangesOfOneInputAreRefused) {
  Study s = *parse_study(
      "name = \"one\"\ntitle = \"One\"\nquestion = \"What?\"\nsource = \"here\"\ncompute = \"c\"\n"
      "[[input]]\nname = \"workers\"\nvalue = 4\nfrom = \"source\"\n",
      "one.toml");
  const auto set = set_inputs(s, std::vector<std::string>{"workers=8", "workers=2"});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().message, "'workers=2' sets an input a second time");
}

TEST(SetInput, AListThatIsNotClosedIsCalledThat) {
  Study s = *parse_study(
      "name = \"one\"\ntitle = \"One\"\nquestion = \"What?\"\nsource = \"here\"\ncompute = \"c\"\n"
      "[[input]]\nname = \"sizes\"\nvalue = [\"1MB\"]\nfrom = \"source\"\n",
      "one.toml");
  for (const char* open : {"sizes=[1MB, 1GB", "sizes=1MB]"}) {
    const auto set = set_input(s, open);
    ASSERT_FALSE(set) << open;
    EXPECT_NE(set.error().message.find("a list begins with [ and ends with ]"), std::string::npos);
  }
}

}  // namespace
}  // namespace cox::study
