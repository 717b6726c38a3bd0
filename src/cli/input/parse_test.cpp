// SPDX-License-Identifier: Apache-2.0
#include "cli/input/parse.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cox::cli {
namespace {

Command reader() {
  return {
      .spec = {.name = "read",
               .examples = {{"cox read x", "an example"}},
               .args = {{.name = "PATH"}, {.name = "KIND", .required = false, .choices = {"red", "green"}}},
               .flags = {{.name = "output", .letter = 'o', .value = "FILE"},
                         {.name = "force", .letter = 'f'},
                         {.name = "set", .value = "KEY=VALUE,..."}},
               .shared = {.json = true, .threads = true}},
      .run = nullptr};
}

Command runner() {
  return {.spec = {.name = "start",
                   .examples = {{"cox start -- x", "an example"}},
                   .flags = {{.name = "output", .letter = 'o', .value = "FILE"}},
                   .takes_command = true},
          .run = nullptr};
}

/// The id of the error, or "" where the words are fine.
std::string id_of(const Command& command, const std::vector<std::string>& words) {
  const auto parsed = parse(command, words);
  if (parsed) return "";
  EXPECT_EQ(parsed.error().code, Errc::Usage);
  return parsed.error().id;
}

TEST(Parse, OptionsMayStandAnywhereAndInAnyForm) {
  const Command command = reader();
  for (const auto& words : std::vector<std::vector<std::string>>{{"in", "-o", "out", "--force"},
                                                                 {"-f", "--output=out", "in"},
                                                                 {"--output", "out", "in", "-f"},
                                                                 {"-fo", "out", "in"}}) {
    const auto call = parse(command, words);
    ASSERT_TRUE(call) << call.error().message;
    EXPECT_EQ(call->args, std::vector<std::string>{"in"});
    EXPECT_EQ(call->value("output"), "out");
    EXPECT_TRUE(call->has("force"));
    EXPECT_FALSE(call->common.json);
  }
}

TEST(Parse, DefaultsAndSharedOptions) {
  const auto call = parse(reader(), {"in", "green", "--json", "-qv", "--threads", "3", "--color", "never"});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->value("output", "default"), "default");
  EXPECT_TRUE(call->common.json && call->common.quiet && call->common.verbose);
  EXPECT_EQ(call->common.threads, 3);
  EXPECT_EQ(call->common.color, ColorWhen::Never);
}

TEST(Parse, TwoDashesEndTheOptions) {
  const auto call = parse(reader(), {"--", "-o"});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->args, std::vector<std::string>{"-o"});
}

TEST(Parse, UnknownOptionNamesTheNearest) {
  const auto call = parse(reader(), {"in", "--ouptut=x"});
  ASSERT_FALSE(call);
  EXPECT_EQ(call.error().id, "cli-002");
  EXPECT_EQ(call.error().message, "unknown option --ouptut for `cox read`");
  EXPECT_EQ(call.error().hint, "did you mean --output?");
  EXPECT_EQ(id_of(reader(), {"in", "-x"}), "cli-002");
}

TEST(Parse, BadValues) {
  EXPECT_EQ(id_of(reader(), {"in", "-o"}), "cli-003");
  EXPECT_EQ(id_of(reader(), {"in", "--threads", "many"}), "cli-003");
  EXPECT_EQ(id_of(reader(), {"in", "--threads", "-1"}), "cli-003");
  EXPECT_EQ(id_of(reader(), {"in", "--threads", "99999999999999999999"}), "cli-003");
  EXPECT_EQ(id_of(reader(), {"in", "--color", "sometimes"}), "cli-003");
  EXPECT_EQ(id_of(reader(), {"in", "blue"}), "cli-003");
  EXPECT_EQ(id_of(reader(), {"in", "-o", "a", "-o", "b"}), "cli-003");
}

TEST(Parse, BadValuesAreToldInOurWords) {
  const auto message = [](const std::vector<std::string>& words) {
    return parse(reader(), words).error().message;
  };
  EXPECT_EQ(message({"in", "-o"}), "--output needs a value: --output FILE");
  EXPECT_EQ(message({"in", "-o", "a", "-o", "b"}), "--output is given more than once");
  EXPECT_EQ(message({"in", "--json=maybe"}), "--json takes no value");
}

TEST(Parse, ListsMayBeGivenInParts) {
  for (const auto& words : std::vector<std::vector<std::string>>{{"in", "--set", "a=1,b=2"},
                                                                 {"--set", "a=1", "in", "--set=b=2"}}) {
    const auto call = parse(reader(), words);
    ASSERT_TRUE(call) << call.error().message;
    EXPECT_EQ(call->value("set"), "a=1,b=2");
    EXPECT_EQ(call->args, std::vector<std::string>{"in"});
  }
}

TEST(Parse, AnEmptyPartOfAListReachesTheVerb) {
  const auto call = parse(reader(), {"in", "--set", "a=1,,b=2", "--set=,c=3"});
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->value("set"), "a=1,,b=2,,c=3");
}

TEST(Parse, AnEmptyValueIsNone) {
  EXPECT_EQ(parse(reader(), {"in", "--set", ""}).error().message, "--set needs a value: --set KEY=VALUE,...");
}

TEST(Parse, MissingAndSurplusArguments) {
  EXPECT_EQ(id_of(reader(), {}), "cli-004");
  EXPECT_EQ(id_of(reader(), {"in", "red", "more"}), "cli-004");
}

TEST(Parse, TheJobKeepsItsOwnOptions) {
  const auto call = parse(runner(), {"-o", "dir", "--", "mpirun", "-o", "x", "--", "--help"});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->value("output"), "dir");
  EXPECT_EQ(call->job, (std::vector<std::string>{"mpirun", "-o", "x", "--", "--help"}));
  EXPECT_FALSE(call->wants_help);
}

TEST(Parse, AJobWithoutDashesIsExplained) {
  const auto call = parse(runner(), {"mpirun", "x"});
  ASSERT_FALSE(call);
  EXPECT_EQ(call.error().hint, "cox start -- mpirun x");
  EXPECT_EQ(parse(runner(), {"-o", "dir", "mpirun", "-n", "4", "x"}).error().hint,
            "cox start -o dir -- mpirun -n 4 x");
  EXPECT_EQ(id_of(runner(), {"x", "--", "y"}), "cli-004");
  EXPECT_EQ(id_of(runner(), {"-o", "dir"}), "cli-004");
  EXPECT_EQ(id_of(runner(), {"--"}), "cli-004");
}

TEST(Parse, HelpWinsOverErrors) {
  EXPECT_TRUE(parse(reader(), {"--bogus", "-h"})->wants_help);
  EXPECT_TRUE(parse(runner(), {"--help"})->wants_help);
}

}  // namespace
}  // namespace cox::cli
