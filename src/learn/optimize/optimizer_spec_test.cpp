// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cox/learn/optimizer.hpp"

namespace cox::learn {
namespace {

TEST(OptimizerSpec, IsReadFromText) {
  const auto read = read_optimizer("momentum,rate=0.25,momentum=0.5,clip=3");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, OptimizerKind::Momentum);
  EXPECT_EQ(read->rate, 0.25);
  EXPECT_EQ(read->momentum, 0.5);
  EXPECT_EQ(read->clip, 3);
  const auto scheduled = read_optimizer("sgd,warm-up=100,scaling=root,base-batch=32");
  ASSERT_TRUE(scheduled);
  EXPECT_EQ(scheduled->warm_up, 100);
  EXPECT_EQ(scheduled->scaling, RateScaling::Root);
  EXPECT_EQ(scheduled->base_batch, 32);
  EXPECT_EQ(schedule_text(*scheduled), ", warm-up over 100 steps, rate times the root of batch over 32");
  EXPECT_EQ(schedule_text({}), "");
  EXPECT_EQ(read_optimizer("sgd")->scaling, RateScaling::None);
  for (const char* name : {"sgd", "momentum", "nesterov", "adam", "adamw", "lars", "lamb"}) {
    const auto kind = read_optimizer(name);
    ASSERT_TRUE(kind) << name;
    EXPECT_EQ(name_of(kind->kind), name);
  }
}

TEST(OptimizerSpec, ErrorsSayWhatIsAllowed) {
  const auto message = [](const char* text) {
    const auto read = read_optimizer(text);
    return read ? std::string("read") : read.error().message;
  };
  EXPECT_EQ(message("adm"),
            R"("adm" is no optimizer, expected one of sgd, momentum, nesterov, adam, adamw, lars, lamb)");
  EXPECT_EQ(
      message("sgd,momentum=0.9"),
      R"(sgd has no setting "momentum", expected one of rate, decay, clip, warm-up, scaling, base-batch)");
  EXPECT_EQ(message("adam,beta1=1"), "beta1 of adam is 1, expected a number from 0 to below 1");
  EXPECT_EQ(message("adam,rate=fast"), R"(rate of adam is "fast", expected a number from 0 to 1000000000)");
  EXPECT_EQ(message("sgd,scaling=quadratic"),
            R"(scaling of sgd is "quadratic", expected one of none, linear, root)");
  EXPECT_EQ(message("sgd,rate"), R"("rate" of sgd has no value, expected KEY=VALUE)");
  EXPECT_EQ(message("sgd,rate=nan"), "rate of sgd is nan, expected a number from 0 to 1000000000");
  EXPECT_EQ(read_optimizer("adm").error().hint, "did you mean adam?");
}

}  // namespace
}  // namespace cox::learn
