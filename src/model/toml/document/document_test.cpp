// SPDX-License-Identifier: Apache-2.0
#include "cox/model/document.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cox::model {
namespace {

std::string error_of(const std::string& text) {
  const auto read = parse_document(text, "f.toml");
  return read ? "no error" : read.error().to_string();
}

TEST(Document, KeepsPlaces) {
  auto read = parse_document("[a]\nx = \"1us\"\ny.z = 3\n[[n]]\nq = 1.5\n[[n]]\nq = true\n", "f.toml");
  ASSERT_TRUE(read);
  DocumentNode* a = read->find("a");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->find("x")->text, "1us");
  EXPECT_EQ(a->find("x")->at.line, 2);
  EXPECT_EQ(a->find("x")->at.column, 5);
  EXPECT_EQ(a->find("y")->find("z")->integer, 3);
  EXPECT_EQ(a->entries[0].at.line, 2);
  EXPECT_EQ(a->entries[0].at.column, 1);
  const DocumentNode* n = read->find("n");
  ASSERT_EQ(n->items.size(), 2U);
  EXPECT_EQ(n->items[1].at.line, 6);
  EXPECT_EQ(n->items[0].entries[0].value.real, 1.5);
  EXPECT_TRUE(n->items[1].entries[0].value.flag);
  EXPECT_EQ(read->find("nothing"), nullptr);
}

TEST(Document, SaysWhatIsNotToml) {
  EXPECT_EQ(error_of("a = \nb = 3"),
            "f.toml:1:5: not TOML: error while parsing key-value pair: expected value, saw '\\n'");
  EXPECT_EQ(error_of("a = 1\na = 2"),
            "f.toml:2:5: not TOML: error while parsing key-value pair: cannot redefine existing integer 'a'");
}

TEST(Document, NestingIsBounded) {
  const auto nested = [](std::size_t n) { return "x = " + std::string(n, '[') + std::string(n, ']'); };
  EXPECT_EQ(error_of(nested(15)), "no error");
  EXPECT_NE(error_of(nested(17)).find("maximum nested value depth"), std::string::npos);
  EXPECT_NE(error_of(nested(100'000)).find("maximum nested value depth"), std::string::npos);
  std::string inline_tables;
  for (int i = 0; i < 100'000; ++i) inline_tables += "a={";
  EXPECT_NE(error_of(inline_tables).find("maximum nested value depth"), std::string::npos);
}

std::string dotted(std::size_t parts) {
  std::string out = "a";
  for (std::size_t i = 1; i < parts; ++i) out += ".a";
  return out;
}

TEST(Document, DottedKeysAreBounded) {
  EXPECT_EQ(error_of(dotted(16) + " = 1"), "no error");
  for (const std::size_t parts : {17UL, 1'000'000UL}) {
    const std::string key = dotted(parts);
    EXPECT_EQ(error_of("\n" + key + " = 1"), "f.toml:2:1: a key has more than 16 parts");
    EXPECT_EQ(error_of("[" + key + "]"), "f.toml:1:1: a key has more than 16 parts");
    EXPECT_EQ(error_of("x = {" + key + " = 1}"), "f.toml:1:1: a key has more than 16 parts");
  }
}

TEST(Document, StringsDoNotHideOrFakeDottedKeys) {
  const std::string dots(40, '.');
  EXPECT_EQ(error_of("x = \"" + dots + "\" # " + dots), "no error");
  EXPECT_EQ(error_of("x = '" + dots + "'"), "no error");
  EXPECT_EQ(error_of("x = \"\"\"\n\\\"" + dots + "\n\"\"\""), "no error");
  EXPECT_EQ(error_of("x = '''" + dots + "'''"), "no error");
  const std::string deep = dotted(20) + " = 1";
  // What ends a string ends it here too: quotes before its end, escaped quotes, quotes of the other kind.
  EXPECT_EQ(error_of("x = {a = '''y''''', " + deep + "}"), "f.toml:1:1: a key has more than 16 parts");
  EXPECT_EQ(error_of("x = {a = \"y\\\\\", " + deep + "}"), "f.toml:1:1: a key has more than 16 parts");
  EXPECT_EQ(error_of("x = \"'\"\n" + deep), "f.toml:2:1: a key has more than 16 parts");
  EXPECT_EQ(error_of("x = \"\"\"\n\n'\"\"\"\n" + deep), "f.toml:4:1: a key has more than 16 parts");
  std::string quoted_parts = "'a'";
  for (int i = 0; i < 30; ++i) quoted_parts += ".\"a\"";
  EXPECT_EQ(error_of(quoted_parts + " = 1"), "f.toml:1:1: a key has more than 16 parts");
}

TEST(Document, ValuesAreBounded) {
  const auto values = [](int n) {
    std::string text = "x = [";
    for (int i = 0; i < n; ++i) text += "1,";
    return text + "]";
  };
  EXPECT_EQ(error_of(values(299'998)), "no error") << "the table and the array count too";
  EXPECT_EQ(error_of(values(299'999)), "f.toml: more than 300000 values, expected at most that");
}

TEST(Document, BeyondAsciiOnlyInStringsAndComments) {
  EXPECT_EQ(error_of("\xef\xbb\xbfx = \"\u00b5s\" # \u00b5\ny = '\u4e2d'"), "no error");
  const std::string refused = "not TOML: a character beyond ASCII outside of a string and of a comment";
  EXPECT_EQ(error_of("\u015c#"), "f.toml:1:1: " + refused) << "undefined behaviour in toml++ 3.3.0";
  EXPECT_EQ(error_of("x = 1\n\u00b5 = 2"), "f.toml:2:1: " + refused);
  EXPECT_EQ(error_of("x = 1\u00a0"), "f.toml:1:1: " + refused);
  EXPECT_EQ(error_of("x = 1\n\xff\xfe"), "f.toml:2:1: " + refused);
  EXPECT_NE(error_of("x = \"\xff\xfe\""), "no error") << "not UTF-8";
}

// toml++ 3.3 takes such a letter for unreachable where blanks may stand; a sanitizer sees it (cox/base/toml_library.hpp).
TEST(Document, ALetterMayFollowAContinuedLine) {
  for (const char* letter : {"\u00e9", "\u03ca", "\u0416", "\u3042"}) {
    auto read = parse_document(std::string("a = \"\"\"\\\n  ") + letter + "\"\"\"\n", "f.toml");
    ASSERT_TRUE(read) << letter << ": " << read.error().to_string();
    EXPECT_EQ(read->find("a")->text, letter);
  }
}

TEST(Document, ShownTextIsShortAndPrintable) {
  EXPECT_EQ(shown(std::string_view{"a\x1b[31m\xff"}), "a?[31m?");
  EXPECT_EQ(shown(std::string_view{std::string(100, 'x')}), std::string(40, 'x') + "...");
  auto read = parse_document("d = 1979-05-27\nt = {}\na = []\nr = 2.5\nf = false\ns = 'x'", "f.toml");
  ASSERT_TRUE(read);
  EXPECT_EQ(shown(*read->find("d")), "a date");
  EXPECT_EQ(shown(*read->find("t")), "a table");
  EXPECT_EQ(shown(*read->find("a")), "an array");
  EXPECT_EQ(shown(*read->find("r")), "2.5");
  EXPECT_EQ(shown(*read->find("f")), "false");
  EXPECT_EQ(shown(*read->find("s")), "\"x\"");
}

}  // namespace
}  // namespace cox::model
