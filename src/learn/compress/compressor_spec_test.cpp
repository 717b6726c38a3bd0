// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cox/learn/compressor.hpp"

namespace cox::learn {
namespace {

std::string error_of(const char* text) {
  const auto spec = read_compressor(text);
  return spec ? "" : spec.error().id + ": " + spec.error().message;
}

TEST(CompressorSpec, ANameAndItsKeys) {
  const auto spec = read_compressor("top-k,keep=0.05,per=tensor,warm-up=100");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->kind, CompressorKind::TopK);
  EXPECT_EQ(spec->keep, 0.05);
  EXPECT_TRUE(spec->by_tensor);
  EXPECT_EQ(spec->warm_up, 100);
  EXPECT_EQ(spec->feedback, FeedbackKind::Error);
}

TEST(CompressorSpec, Int8IsMaxScaled) {
  const auto spec = read_compressor("int8");
  ASSERT_TRUE(spec);
  EXPECT_EQ(name_of(spec->kind), "max-scaled");
  EXPECT_EQ(spec->levels, 127);
}

TEST(CompressorSpec, EveryNameIsReadAgain) {
  for (int kind = 0; kind <= static_cast<int>(CompressorKind::E5m2); ++kind) {
    const auto name = name_of(static_cast<CompressorKind>(kind));
    const auto spec = read_compressor(name);
    ASSERT_TRUE(spec) << name;
    EXPECT_EQ(static_cast<int>(spec->kind), kind) << name;
  }
}

TEST(CompressorSpec, FeedbackWhereThereIsABias) {
  EXPECT_EQ(read_compressor("sign")->feedback, FeedbackKind::Error);
  EXPECT_EQ(read_compressor("sign,feedback=ef21")->feedback, FeedbackKind::Ef21);
  EXPECT_EQ(read_compressor("terngrad")->feedback, FeedbackKind::None);
  EXPECT_EQ(read_compressor("terngrad,clip=2.5")->feedback, FeedbackKind::Error);
  EXPECT_TRUE(read_compressor("random-k")->scaled);
  EXPECT_FALSE(read_compressor("random-k,feedback=error")->scaled);
}

TEST(CompressorSpec, SaysWhatIsWrong) {
  EXPECT_EQ(error_of("topk"),
            "learn-001: \"topk\" is no compressor, expected one of dense, top-k, random-k, threshold, qsgd, "
            "max-scaled, terngrad, sign, sign-rms, powersgd, fp16, bf16, e4m3fn, e5m2, int8");
  EXPECT_EQ(error_of("top-k,kept=1"),
            "learn-001: top-k has no setting \"kept\", expected one of keep, warm-up, per, feedback");
  EXPECT_EQ(error_of("top-k,keep=0"), "learn-001: keep of top-k is 0, expected a number from 1e-09 to 1");
  EXPECT_EQ(error_of("qsgd,levels=1.5"),
            "learn-001: levels of qsgd is \"1.5\", expected a whole number from 1 to 127");
  EXPECT_EQ(error_of("sign,per=layer"), "learn-001: per of sign is \"layer\", expected one of all, tensor");
  EXPECT_NE(error_of("random-k,scaled=yes,feedback=error").find("scaled of random-k with feedback is 1"),
            std::string::npos);
  EXPECT_EQ(error_of("random-k,scaled=no,feedback=error"), "");
}

}  // namespace
}  // namespace cox::learn
