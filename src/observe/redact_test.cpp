// SPDX-License-Identifier: Apache-2.0
#include "observe/redact.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
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

/// `secret` is not in what is kept, `kept` is.
void keeps(const Words& command, const std::string& secret, const std::string& kept) {
  std::string all;
  const cox::observe::Redacted out = cox::observe::redact(command);
  for (const std::string& word : out.words) all += word + "\n";
  EXPECT_EQ(all.find(secret), std::string::npos) << all;
  EXPECT_NE(all.find(kept), std::string::npos) << all;
  EXPECT_GE(out.count, 1) << all;
}

TEST(Redact, ValuesWithBlanksGoAsAWhole) {
  keeps({"sh", "-c", "true --password \"correct horse\" --lr 1"}, "horse", "--lr 1");
  keeps({"sh", "-c", "export PASSWORD=x\\ yzzy; ls"}, "yzzy", "; ls");
  keeps({"sh", "-c", "export PASSWORD=x\"yz zy\"; ls"}, "zy", "; ls");
  keeps({"sh", "-c", "curl -H \"Authorization: ApiKey abc def\" host"}, "def", "host");
  keeps({"curl", "-H", "Authorization: ApiKey abc def", "host"}, "abc", "host");
  keeps({"sh", "-c", "curl -H 'X-Auth-Token: abc' host"}, "abc", "' host");
}

TEST(Redact, BehindANameThatBeginsAWordAllOfItGoes) {
  hides({"x", "--password=correct horse"}, {"x", "--password=<redacted>"}, 1);
  hides({"x", "--db-password=Xy&9k2"}, {"x", "--db-password=<redacted>"}, 1);
  hides({"mpirun", "-x", "TOKEN=a,b"}, {"mpirun", "-x", "TOKEN=<redacted>"}, 1);
  hides({"curl", "-H", "Cookie: a=1; session=abc"}, {"curl", "-H", "Cookie: <redacted>"}, 1);
}

TEST(Redact, OtherLanguagesAndApostrophes) {
  keeps({"python3", "-c", "token = \"abcdef\"; f(1)"}, "abcdef", "; f(1)");
  keeps({"sh", "-c", "# don't\nexport PASSWORD='s3cret'; ls"}, "s3cret", "; ls");
  hides({"sh", "-c", "x; TOKEN= make"}, {"sh", "-c", "x; TOKEN= make"}, 0);
}

TEST(Redact, QuotesEndWhereTheShellEndsThem) {
  hides({"sh", "-c", "export DB_PASSWORD=\"one\"; TOKEN=$'ab cd' ./x"},
        {"sh", "-c", "export DB_PASSWORD=\"<redacted>\"; TOKEN=<redacted> ./x"}, 2);
  hides({"sh", "-c", "A_PASSWORD='one' B_PASSWORD=pre'two three' ./x"},
        {"sh", "-c", "A_PASSWORD='<redacted>' B_PASSWORD=<redacted> ./x"}, 2);
  hides({"sh", "-c", "API_KEY='k1' && ./x --password pre'pass word' host"},
        {"sh", "-c", "API_KEY='<redacted>' && ./x --password <redacted> host"}, 2);
  hides({"sh", "-c", "PASSWORD='x'; curl -H 'X-Token: abc' host -H 'Accept: b' z"},
        {"sh", "-c", "PASSWORD='<redacted>'; curl -H 'X-Token: <redacted>' host -H 'Accept: b' z"}, 2);
  hides({"sh", "-c", "PASSWORD='it'\\''s3cret' ./x"}, {"sh", "-c", "PASSWORD=<redacted> ./x"}, 1);
  keeps({"sh", "-c", "PASSWORD=\"ab\\\"cdsecret\" ./x"}, "cdsecret", "./x");
  keeps({"x", "{\"password\": \"ab\\\"cdsecret\", \"lr\": 1}"}, "cdsecret", "\"lr\": 1}");
  keeps({"sh", "-c", "curl -H 'Cookie: a=1; session=s3ss' host"}, "s3ss", "' host");
  hides({"sh", "-c", "curl 'x?token=' 'hello' world"}, {"sh", "-c", "curl 'x?token=' 'hello' world"}, 0);
}

TEST(Redact, ASettingOfTheLauncherIsOne) {
  hides({"mpiexec", "-genv", "HF_TOKEN", "abc", "-env", "LR", "1", "./x"},
        {"mpiexec", "-genv", "HF_TOKEN", "<redacted>", "-env", "LR", "1", "./x"}, 1);
  hides({"docker", "--env=DB_PASSWORD=correct horse"}, {"docker", "--env=DB_PASSWORD=<redacted>"}, 1);
  hides({"docker", "--env=DB_PASSWORD=Xy&9k2"}, {"docker", "--env=DB_PASSWORD=<redacted>"}, 1);
  hides({"srun", "--export=API_KEY=a,b,LR=1"}, {"srun", "--export=API_KEY=<redacted>,LR=1"}, 1);
  hides({"train", "+db.password=Xy&9k2"}, {"train", "+db.password=<redacted>"}, 1);
}

TEST(Redact, AScriptThatBeginsWithAVariableKeepsItsCommand) {
  hides({"sh", "-c", "HF_TOKEN='abc' mpirun -n 4 ./train --lr 1"},
        {"sh", "-c", "HF_TOKEN='<redacted>' mpirun -n 4 ./train --lr 1"}, 1);
  hides({"bash", "-lc", "TOKEN=abc; mpirun ./x"}, {"bash", "-lc", "TOKEN=<redacted>; mpirun ./x"}, 1);
}

TEST(Redact, NamesInsideOfWords) {
  keeps({"x", R"({"token": "abcdef", "lr": 1})"}, "abcdef", R"("lr": 1})");
  keeps({"x", R"(--config={"api_key":"abcdef","lr":1})"}, "abcdef", R"("lr":1})");
  keeps({"sh", "-c", R"(x "{\"token\": \"abcdef\", \"lr\": 1}")"}, "abcdef", "lr");
  keeps({"curl", "https://x/y?access_token=abcdef&lr=1"}, "abcdef", "&lr=1");
  keeps({"curl", "https://x/y?lr=1&key=abcdef"}, "abcdef", "lr=1");
  keeps({"python3", "-c", R"(os.environ["HF_TOKEN"]="s3cr et"; f(1))"}, "s3cr", "; f(1)");
  keeps({"srun", "--export=WANDB_API_KEY=abcdef,LR=1"}, "abcdef", ",LR=1");
  keeps({"train", "+wandb.api_key=abcdef"}, "abcdef", "+wandb.api_key=");
  keeps({"train", "--wandb-key", "abcdef", "--lr", "1"}, "abcdef", "--wandb-key");
  keeps({"x", "--pw=abcdef"}, "abcdef", "--pw=");
  keeps({"x", "--cookie", "session=abcdef", "--lr", "1"}, "abcdef", "--lr");
  keeps({"x", "--sas", "sv=2020&sig=abcdef", "--lr", "1"}, "abcdef", "--lr");
  keeps({"x", "https://b.s3.host/k?X-Amz-Signature=abcdef&x=1"}, "abcdef", "&x=1");
  for (const char* variable : {"MYSQL_PWD", "SSHPASS", "PGPASSWORD", "DB_PASS"})
    keeps({"env", std::string(variable) + "=abcdef"}, "abcdef", variable);
  keeps({"x", "--pwd", "abcdef", "--db_pass=abcdef", "--token", "-abcdef"}, "abcdef", "--db_pass=");
  keeps({"curl", "-u", "me:abcdef", "host"}, "abcdef", "me:");
  keeps({"sh", "-c", "curl --user me:abcdef host"}, "abcdef", "host");
}

TEST(Redact, PasswordsInUrls) {
  hides({"git", "clone", "https://me:pass@host/x"}, {"git", "clone", "https://me:<redacted>@host/x"}, 1);
  hides({"x", "tcp://host:29500", "s3://bucket/a@b:c"}, {"x", "tcp://host:29500", "s3://bucket/a@b:c"}, 0);
}

TEST(Redact, TokensOfWellKnownServices) {
  const std::string token = "hf_" + std::string(34, 'a');
  hides({"train", token, "--key=" + token}, {"train", "<redacted>", "--key=<redacted>"}, 2);
  hides({"docker", "--env=X=" + token, "git+https://" + token + "@host/x"},
        {"docker", "--env=X=<redacted>", "git+https://<redacted>@host/x"}, 2);
  for (const char* begin : {"ghu_", "npm_", "ghp_"}) hides({begin + std::string(34, 'a')}, {"<redacted>"}, 1);
}

TEST(Redact, AnyWordIsReadToItsEnd) {
  constexpr std::string_view kPieces[] = {"--token", "TOKEN", "=", ":",      "\"", "'", "\\",  " ",
                                          "://",     "@",     "a", "Bearer", "-u", "]", "&key"};
  std::uint32_t state = 1;
  for (int i = 0; i < 20'000; ++i) {
    Words words(2);
    for (std::string& word : words)
      for (int k = 0; k < 6; ++k) {
        state = state * 1664525 + 1013904223;
        word += kPieces[(state >> 16) % std::size(kPieces)];
      }
    EXPECT_EQ(cox::observe::redact(words).words.size(), words.size());
  }
}

TEST(Redact, WhatIsNoSecretStays) {
  const Words plain = {"python3",
                       "train.py",
                       "--max-tokens",
                       "512",
                       "--tokenizer",
                       "bert",
                       "--token-dim=4",
                       "--seed",
                       "1",
                       "hf_short",
                       "a:b",
                       "--out=x y",
                       "",
                       "--",
                       "-n",
                       "4",
                       "sh",
                       "-c",
                       "echo 'a b' | wc (c)",
                       "PWD=/home/me",
                       "--passes",
                       "3",
                       "-u",
                       "1000:1000",
                       "python3",
                       "-u",
                       "x.py",
                       "--bypass=1",
                       "pass",
                       "cd \"$PWD\" && ls",
                       "if x: pass",
                       "--key=abc",
                       "tcp://host:29500"};
  hides(plain, plain, 0);
}

}  // namespace
