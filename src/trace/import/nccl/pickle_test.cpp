// SPDX-License-Identifier: Apache-2.0
#include "trace/import/nccl/pickle.hpp"

#include <gtest/gtest.h>

#include <string>

#include "trace/import/nccl/flight_recorder_sample.hpp"

namespace cox::trace {
namespace {

using namespace std::string_literals;

std::string error_of(const std::string& bytes) {
  const auto got = parse_pickle(bytes);
  return got ? "" : got.error().id + " " + got.error().message;
}

TEST(Pickle, ReadsPlainValues) {
  const auto got = parse_pickle(
      sample::as_pickle(sample::dict({{"a", sample::integer(-5)},
                                      {"b", sample::real(2.5)},
                                      {"c", sample::list({sample::none(), sample::boolean(true)})},
                                      {"d", sample::pair(sample::text("x"), sample::text(""))}})));
  ASSERT_TRUE(got) << got.error().message;
  const PlainTree& t = got->tree;
  EXPECT_EQ(t.as_integer(t.find(got->root, "a")), -5);
  EXPECT_EQ(t.as_real(t.find(got->root, "b")), 2.5);
  ASSERT_EQ(t.items(t.find(got->root, "c")).size(), 2U);
  EXPECT_EQ(t.as_bool(t.items(t.find(got->root, "c"))[1]), true);
  ASSERT_EQ(t.items(t.find(got->root, "d")).size(), 2U);
  EXPECT_EQ(t.as_text(t.items(t.find(got->root, "d"))[0]), "x");
  EXPECT_EQ(t.find(got->root, "e"), PlainTree::kNothing);
}

TEST(Pickle, ReadsWhatPythonWritesInEachProtocol) {
  // pickle.dumps({'a': [1, 300, -70000, 2**40], 't': (1.5, None, True)}, protocol) of CPython 3.11.
  const std::string two =
      "\x80\x02}q\0(X\x01\0\0\0aq\x01]q\x02(K\x01M,\x01J\x90\xee\xfe\xff\x8a\x06\0\0\0\0\0\x01"
      "eX\x01\0\0\0tq\x03G?\xf8\0\0\0\0\0\0N\x88\x87q\x04u."s;
  const std::string five =
      "\x80\x05\x95\x35\0\0\0\0\0\0\0}\x94(\x8c\x01"
      "a\x94]\x94(K\x01M,\x01J\x90\xee\xfe\xff\x8a\x06\0\0\0\0\0\x01"
      "e\x8c\x01t\x94G?\xf8\0\0\0\0\0\0N\x88\x87\x94u."s;
  for (const std::string& bytes : {two, five}) {
    const auto got = parse_pickle(bytes);
    ASSERT_TRUE(got) << got.error().message;
    const PlainTree& t = got->tree;
    const auto& a = t.items(t.find(got->root, "a"));
    ASSERT_EQ(a.size(), 4U);
    EXPECT_EQ(t.as_integer(a[1]), 300);
    EXPECT_EQ(t.as_integer(a[2]), -70000);
    EXPECT_EQ(t.as_integer(a[3]), std::int64_t{1} << 40);
    EXPECT_EQ(t.as_real(t.items(t.find(got->root, "t"))[0]), 1.5);
  }
}

TEST(Pickle, SharedValuesStaySharedAndCyclesEnd) {
  // a = []; a.append(a), and ten thousand references to one dictionary.
  EXPECT_EQ(error_of("\x80\x02]q\0h\0a."s), "");
  std::string shared = "\x80\x02](}q\0"s;
  for (int i = 0; i < 10000; ++i) shared += "h\0"s;
  const auto got = parse_pickle(shared + "e.");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->tree.items(got->root).size(), 10001U);
  EXPECT_LT(got->tree.size(), 10U);
}

TEST(Pickle, RefusesWhatWouldExecuteAndNamesIt) {
  const std::string global =
      "\x80\x02}(X\x07\0\0\0entries"
      "cposix\nsystem\nX\x02\0\0\0id\x85Ru."s;
  EXPECT_EQ(
      error_of(global),
      "import-005 byte 16 of the pickle: opcode GLOBAL (posix.system) would execute code, expected plain data");
  const std::string stacked = "\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R."s;
  EXPECT_NE(error_of(stacked).find("STACK_GLOBAL (os.system) would execute"), std::string::npos);
  for (const char op : {'c', '\x93', 'R', 'b', 'i', 'o', '\x81', '\x92', '\x82', '\x83', '\x84', 'P', 'Q'})
    EXPECT_NE(error_of("\x80\x02]"s + op + "."s).find("would execute"), std::string::npos) << op;
}

TEST(Pickle, RefusesDamage) {
  for (const std::string& bytes :
       {""s, "\x80"s, "\x80\x02"s, "\x80\x09N."s, "\x80\x02."s, "\x80\x02X\xff\xff\xff\xff"s + "abc.",
        "\x80\x05\x8d\xff\xff\xff\xff\xff\xff\xff\xff."s, "\x80\x02h\x05."s, "\x80\x02Nr\xff\xff\xff\x7f."s,
        "\x80\x02](NN"s, "\x80\x02(NNNd."s, "\x80\x02Na."s, "\x80\x02Nu."s, "\x80\x02Nt."s, "\x80\x02N\x87."s,
        "\x80\x02\x8a\x09"
        "12345678"
        "\x39."s,
        "\x80\x02I01\n."s, "\x80\x02(a."s, "\x80\x02]N(s."s}) {
    const std::string error = error_of(bytes);
    EXPECT_TRUE(error.starts_with("import-005 byte ")) << error;
  }
}

TEST(Pickle, DeepNestsNeedNoStack) {
  std::string deep = "\x80\x02";
  for (int i = 0; i < 200000; ++i) deep += "]";
  for (int i = 1; i < 200000; ++i) deep += "a";
  EXPECT_EQ(error_of(deep + "."), "");
  std::string marks = "\x80\x02" + std::string(200000, '(');
  EXPECT_NE(error_of(marks + "."), "");
}

TEST(Pickle, AnyCutIsAnError) {
  const std::string whole = sample::as_pickle(sample::dump({{.completed = 5}}));
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_NE(error_of(whole.substr(0, n)), "") << n;
  EXPECT_EQ(error_of(whole), "");
}

}  // namespace
}  // namespace cox::trace
