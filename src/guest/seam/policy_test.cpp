// SPDX-License-Identifier: Apache-2.0
#include "cox/guest/policy.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace {

using cox::guest::AdminPolicy;

std::unique_ptr<AdminPolicy> parsed(std::string text) {
  auto policy = std::make_unique<AdminPolicy>();
  cox::guest::parse_policy(text.data(), *policy);
  return policy;
}

TEST(Policy, ReadsEveryKey) {
  const auto p = parsed(
      "# comment\n\n  pacing = false  # no\nmax_size_bytes=64_000_000\r\nmax_job_size_bytes = 7\nfolders = [ \"/scratch\", \"/data/runs/\" ]\n");
  EXPECT_EQ(p->trouble, nullptr);
  EXPECT_FALSE(p->pacing);
  EXPECT_EQ(p->max_size_bytes, 64'000'000u);
  EXPECT_EQ(p->max_job_size_bytes, 7u);
  ASSERT_EQ(p->folder_count, 2u);
  EXPECT_STREQ(p->folders[0], "/scratch");
  EXPECT_STREQ(p->folders[1], "/data/runs");
}

TEST(Policy, AnEmptyFileForbidsNothing) {
  const auto p = parsed("");
  EXPECT_EQ(p->trouble, nullptr);
  EXPECT_TRUE(p->pacing);
  EXPECT_EQ(p->max_size_bytes, 0u);
  EXPECT_TRUE(cox::guest::allows_folder(*p, "/anywhere"));
}

TEST(Policy, WhatIsNotUnderstoodIsSaidWithItsLine) {
  for (const char* bad :
       {"pacing = no", "pacing = falsely", "max_size_bytes = 0", "max_size_bytes = 64MB",
        "max_size_bytes = 99999999999999999999", "folders = []", "folders = [\"relative\"]",
        "folders = \"/scratch\"", "folders = [\"/a\" \"/b\"]", "folders = [\"/a\"", "folders = [\"/a\\\"]",
        "paceing = true", "pacing_ = true", "[table]", "folders = [\"/a\"] x"}) {
    const auto p = parsed(std::string("pacing = true\n") + bad + "\n");
    EXPECT_NE(p->trouble, nullptr) << bad;
    EXPECT_EQ(p->line, 2) << bad;
  }
}

TEST(Policy, AFolderIsAllowedWithAllBelowIt) {
  const auto p = parsed("folders = [\"/scratch\"]");
  EXPECT_TRUE(cox::guest::allows_folder(*p, "/scratch"));
  EXPECT_TRUE(cox::guest::allows_folder(*p, "/scratch/me/run"));
  EXPECT_FALSE(cox::guest::allows_folder(*p, "/scratchy/run"));
  EXPECT_FALSE(cox::guest::allows_folder(*p, "/home/me"));
  EXPECT_TRUE(cox::guest::allows_folder(*parsed("folders = [\"/\"]"), "/home/me"));
}

TEST(Policy, MoreFoldersThanThereIsRoomForAreRefused) {
  std::string list = "folders = [\"/0\"";
  for (int i = 1; i < 17; ++i) list += ", \"/" + std::to_string(i) + "\"";
  EXPECT_NE(parsed(list + "]")->trouble, nullptr);
  EXPECT_NE(parsed("folders = [\"/" + std::string(600, 'a') + "\"]")->trouble, nullptr);
}

TEST(Policy, OneThatIsNotThereForbidsNothing) {
  auto p = std::make_unique<AdminPolicy>();
  cox::guest::read_policy("/no/such/policy.toml", *p);
  EXPECT_FALSE(p->is_there);
  EXPECT_EQ(p->trouble, nullptr);
}

}  // namespace
