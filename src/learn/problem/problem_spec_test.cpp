// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cox/learn/problem.hpp"

namespace cox::learn {
namespace {

TEST(ProblemSpec, IsReadFromText) {
  const auto read = read_problem("quadratic,dimension=10,condition=50,noise=0.5,spread=2,workers=4,seed=7");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->dimension, 10);
  EXPECT_EQ(read->condition, 50);
  EXPECT_EQ(read->noise, 0.5);
  EXPECT_EQ(read->workers, 4);
  EXPECT_EQ(read->seed, 7);
  const auto problem = make_problem(*read);
  ASSERT_TRUE(problem);
  EXPECT_EQ((*problem)->parameters(), 10);
}

TEST(ProblemSpec, ErrorsSayWhatIsAllowed) {
  const auto message = [](const char* text) {
    const auto read = read_problem(text);
    return read ? std::string("read") : read.error().message;
  };
  EXPECT_EQ(
      message("quadratik"),
      R"("quadratik" is no problem, expected one of quadratic, least-squares, logistic, mlp, embedding, convolution, experts, text)");
  EXPECT_EQ(message("least-squares,condition=3"),
            R"(least-squares has no setting "condition", expected one of dimension, noise, seed)");
  EXPECT_EQ(message("quadratic,dimension=0"),
            "dimension of quadratic is 0, expected a whole number from 1 to 100000000");
  EXPECT_EQ(message("quadratic,dimension=1.5"),
            R"(dimension of quadratic is "1.5", expected a whole number from 1 to 100000000)");
  EXPECT_EQ(make_problem(*read_problem("quadratic,spread=1")).error().message,
            "quadratic has one worker, and its workers differ");
  EXPECT_EQ(message("mlp,dimension=5,pairs=3"),
            "dimension of mlp is 5, expected a whole number from 6 to 100000000");
  EXPECT_EQ(message("mlp,hidden=100000,layers=2"),
            "mlp would have 10010200000 weights, expected 100000000 at most");
  EXPECT_EQ(message("mlp,blocks=3"),
            "blocks of mlp is 3, expected a power of two that divides its 64 hidden");
  EXPECT_EQ(message("mlp,hidden=24,blocks=16"),
            "blocks of mlp is 16, expected a power of two that divides its 24 hidden");
  EXPECT_EQ(message("mlp,hidden=24,blocks=8"), "read");
  EXPECT_EQ(
      message("embedding,dimension=3"),
      R"(embedding has no setting "dimension", expected one of noise, seed, keys, zipf, bag, width, classes, held-out)");
  EXPECT_EQ(message("embedding,keys=10000000,width=100"),
            "embedding would have 1000000400 weights, expected 100000000 at most");
  EXPECT_EQ(message("embedding,keys=1000000,width=1,classes=1000"),
            "embedding would have 1000001000 weights, expected 100000000 at most");
  EXPECT_EQ(message("convolution,norm=layer"),
            R"(norm of convolution is "layer", expected one of none, batch)");
  EXPECT_EQ(message("convolution,side=2"), "side of convolution is 2, expected a whole number from 3 to 32");
  EXPECT_EQ(message("experts,experts=1,top=2"), "top of experts is 2, expected a whole number from 1 to 1");
  EXPECT_EQ(message("text,blocks=8"),
            "blocks of text is 8, expected a power of two that divides its 4 heads");
  EXPECT_EQ(message("text,hidden=30"), "hidden of text is 30, expected a multiple of its 4 heads");
  EXPECT_EQ(read_problem("quadratik").error().hint, "did you mean quadratic?");
  EXPECT_EQ(read_problem("quadratic,nose=1").error().hint, "did you mean noise?");
}

TEST(ProblemSpec, RangesHoldForWhatIsNotRead) {
  const auto made = make_problem({.dimension = -1});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().id, "learn-001");
}

}  // namespace
}  // namespace cox::learn
