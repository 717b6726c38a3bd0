// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "cox/study/study.hpp"

namespace cox::study {
namespace {

constexpr const char* kHead =
    "name = \"one\"\ntitle = \"One\"\nquestion = \"What?\"\nsource = \"here\"\ncompute = \"step-efficiency\"\n";

Result<Study> read(const std::string& rest) {
  return parse_study(kHead + rest, "one.toml");
}

TEST(ParseStudy, ReadsWhatIsThere) {
  const auto s = read(
      "[[input]]\nname = \"sizes\"\nvalue = [\"1MB\", \"2MB\"]\nfrom = \"source\"\nline = 7\n"
      "[[printed]]\nname = \"step\"\nquantity = \"step\"\nvalue = \"153.42ms\"\nline = 9\n");
  ASSERT_TRUE(s) << s.error().to_string();
  EXPECT_EQ(s->name, "one");
  ASSERT_EQ(s->inputs.size(), 1U);
  EXPECT_EQ(s->inputs[0].values.size(), 2U);
  EXPECT_EQ(s->inputs[0].source_line, 7);
  EXPECT_EQ(s->printed.at(0).quantity, "step");
  // Half of the last digit, where the file says nothing.
  EXPECT_DOUBLE_EQ(s->printed.at(0).within.in_base_unit(), 0.5e-5);
}

struct Wrong {
  const char* rest;
  int line;
  const char* id;
  const char* says;
};

TEST(ParseStudy, SaysWhatIsWrongAndWhere) {
  const Wrong cases[] = {
      {"x = [", 6, "study-001", ""},
      {"colour = 1\n", 6, "study-002", "unknown key 'colour'"},
      {"[[input]]\nname = \"a\"\nvalue = 1.5\nfrom = \"source\"\n", 8, "study-002", "no quantity"},
      {"[[input]]\nname = \"a\"\nvalue = \"1.5\"\nfrom = \"somewhere\"\n", 9, "study-002", "somewhere"},
      {"[[input]]\nname = \"a\"\nvalue = \"12parsec\"\nfrom = \"source\"\n", 8, "base-001", "parsec"},
      {"[[input]]\nname = \"a\"\nvalue = [1, \"2ms\"]\nfrom = \"source\"\n", 8, "study-002",
       "2ms among a count"},
      {"[[input]]\nname = \"a\"\nvalue = []\nfrom = \"source\"\n", 8, "study-002", "0 values"},
      {"[[input]]\nname = \"a\"\nvalue = 1\nfrom = \"missing\"\n", 6, "study-002", "note"},
      {"[[input]]\nname = \"a\"\nvalue = 1\nfrom = \"source\"\n[[input]]\nname = "
       "\"a\"\nvalue = 1\nfrom = \"source\"\n",
       10, "study-002", "twice"},
      {"[[printed]]\nname = \"p\"\nvalue = 1\nline = 3\n", 6, "study-002", "compared with nothing"},
      {"[[printed]]\nname = \"p\"\nvalue = 1\nquantity = \"q\"\n", 6, "study-002", "no line"},
      {"[[printed]]\nname = \"p\"\nvalue = 1\nline = 3\nquantity = \"q\"\njudgement = \"follows\"\n", 11,
       "study-002", "judgement 'follows'"},
      {"[[printed]]\nname = \"p\"\nvalue = 1\nline = 3\nquantity = \"q\"\njudgement = \"draw\"\n", 6,
       "study-002", "without a reason"},
      {"[[printed]]\nname = \"p\"\nvalue = 1\nline = 3\njudgement = \"input-missing\"\nreason = \"r\"\n", 6,
       "study-002", "which inputs"},
      {"[[printed]]\nname = \"p\"\nvalue = \"1ms\"\nline = 3\nquantity = \"q\"\nwithin = \"5%\"\n", 11,
       "study-002", "within 5%"},
      {"input = 3\n", 6, "study-002", "no list"},
  };
  for (const Wrong& w : cases) {
    const auto s = read(w.rest);
    ASSERT_FALSE(s) << w.rest;
    EXPECT_EQ(s.error().id, w.id) << w.rest;
    ASSERT_TRUE(s.error().where) << w.rest;
    EXPECT_EQ(s.error().where->line, w.line) << w.rest;
    EXPECT_NE(s.error().message.find(w.says), std::string::npos) << s.error().message;
  }
}

TEST(ParseStudy, RefusesNamesThatAreNoFileNames) {
  for (const char* name : {"../x", "A", "", "all"}) {
    const std::string text = "name = \"" + std::string(name) +
                             "\"\ntitle = \"t\"\nquestion = \"q\"\nsource = \"s\"\ncompute = \"c\"\n";
    EXPECT_FALSE(parse_study(text, "f")) << name;
  }
}

TEST(ParseStudy, MessagesAreOneLineThatATerminalCanShow) {
  for (const std::string& rest :
       {std::string("\"a\\u001b[2Jb\" = 1\n"), "\"" + std::string(5000, 'k') + "\" = 1\n",
        std::string("answer = \"\\u001b[2J\"\n"), std::string("[[input]]\nname = \"\\u0007\"\n")}) {
    const auto s = read(rest);
    ASSERT_FALSE(s);
    EXPECT_LT(s.error().message.size(), 300U);
    for (const char c : s.error().message) EXPECT_GE(c, ' ');
  }
}

TEST(ParseStudy, SurvivesDepthAndLength) {
  EXPECT_FALSE(read("x = " + std::string(100'000, '[')));
  EXPECT_FALSE(parse_study(std::string(2'000'000, '#'), "f"));
}

}  // namespace
}  // namespace cox::study
