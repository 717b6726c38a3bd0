// SPDX-License-Identifier: Apache-2.0
#include "observe/redact.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using Words = std::vector<std::string>;

void hides(const Words& command, const Words& expected, int count) {
  const cox::observe::Redacted out = cox::observe::redact(command);
  EXPECT_EQ(out.words, expected);
  EXPECT_EQ(out.count, count);
}

TEST(Redact, ValuesOfFlags) {
  hides({"train", "--hf-token", "abc", "--lr", "0.1"}, {"train", "--hf-token", "<redacted>", "--lr", "0.1"},
        1);
  hides({"train", "--api-key=abc", "--password=x"},
        {"train", "--api-key=<redacted>", "--password=<redacted>"}, 2);
  hides({"train", "--token", "a b;c"}, {"train", "--token", "<redacted>"}, 1);
}

TEST(Redact, ValuesOfVariables) {
  hides({"env", "WANDB_API_KEY=abc", "AWS_SECRET_ACCESS_KEY=x/y+z", "LR=1"},
        {"env", "WANDB_API_KEY=<redacted>", "AWS_SECRET_ACCESS_KEY=<redacted>", "LR=1"}, 2);
  hides({"mpirun", "-x", "HF_TOKEN=abc", "./train"}, {"mpirun", "-x", "HF_TOKEN=<redacted>", "./train"}, 1);
}

TEST(Redact, InsideAScript) {
  hides({"sh", "-c", "export HF_TOKEN='a b'; ./train --secret xyz --lr 1"},
        {"sh", "-c", "export HF_TOKEN='<redacted>'; ./train --secret <redacted> --lr 1"}, 2);
  hides({"curl", "-H", "Authorization: Bearer abc.def"}, {"curl", "-H", "Authorization: Bearer <redacted>"},
        1);
}

TEST(Redact, PasswordsInUrls) {
  hides({"git", "clone", "https://me:pass@host/x"}, {"git", "clone", "https://me:<redacted>@host/x"}, 1);
  hides({"x", "tcp://host:29500", "s3://bucket/a@b:c"}, {"x", "tcp://host:29500", "s3://bucket/a@b:c"}, 0);
}

TEST(Redact, TokensOfWellKnownServices) {
  const std::string token = "hf_" + std::string(34, 'a');
  hides({"train", token, "--key=" + token}, {"train", "<redacted>", "--key=<redacted>"}, 2);
}

TEST(Redact, WhatIsNoSecretStays) {
  const Words plain = {
      "python3", "train.py", "--max-tokens", "512", "--tokenizer",        "bert", "--token-dim=4",
      "--seed",  "1",        "hf_short",     "a:b", "--out=x y",          "",     "--",
      "-n",      "4",        "sh",           "-c",  "echo 'a b' | wc (c)"};
  hides(plain, plain, 0);
}

}  // namespace
