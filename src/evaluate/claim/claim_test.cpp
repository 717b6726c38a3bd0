// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "cox/base/json.hpp"

#include "evaluate/claim/formula.hpp"
#include "evaluate/claim/judged.hpp"

namespace cox::evaluate {
namespace {

constexpr std::string_view kFollows = "follows";
constexpr std::string_view kOurs = "follows-with-ours";
constexpr std::string_view kFalse = "does-not-follow";
constexpr std::string_view kFalseOurs = "not-with-ours";
constexpr std::string_view kUnknown = "cannot-tell";

/// A sentence, what is to become of it, and the value in base units by arithmetic of its own; 0 where nothing is
/// computed.
struct Example {
  std::string_view text;
  std::string_view verdict;
  double value = 0;
};

void expect(const Example& e) {
  SCOPED_TRACE(std::string(e.text));
  const auto claim = judge_claim(e.text);
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_EQ(verdict_text(*claim), e.verdict) << to_text(*claim);
  if (e.value == 0) {
    EXPECT_TRUE(claim->readings.empty()) << to_text(*claim);
    return;
  }
  ASSERT_FALSE(claim->readings.empty()) << to_text(*claim);
  const auto claimed = std::find_if(claim->readings.begin(), claim->readings.end(),
                                    [](const ClaimReading& r) { return r.is_claimed; });
  const ClaimReading& shown = claimed == claim->readings.end() ? claim->readings.front() : *claimed;
  EXPECT_NEAR(shown.value.in_base_unit() / e.value, 1, 2e-6) << to_text(*claim);
}

TEST(Claims, Collectives) {
  const double crossover = 50e9 * 1e-5 * (255 - 8) / (8 - 255 / 256.0);
  // Parts are whole bytes: a few of millions off the formula without rounding.
  const auto ring = [](double n, double m, double b, double a) { return 2 * (n - 1) * (a + m / n / b); };
  for (
      const Example& e : {
          Example{"ring over 256 workers of 700 MB at 50 GB/s takes 28 ms", kFollows,
                  ring(256, 700e6, 50e9, 0)},
          {"ring over 256 workers of 700 MB at 50 GB/s takes 22 ms", kFalse, ring(256, 700e6, 50e9, 0)},
          {"ring all-reduce of 700 MB over 256 GPUs at 25 GB/s with latency 10 us takes 60.9 ms", kFollows,
           ring(256, 700e6, 25e9, 1e-5)},
          {"With 10 us latency, 50 GB/s, 256 ranks and 100 MB, the ring takes 820.1 ms", kFalse,
           ring(256, 100e6, 50e9, 1e-5)},
          {"a ring all-reduce of 100 MB over 8 GPUs at 100 GB/s takes 15 ms", kFalse,
           ring(8, 100e6, 100e9, 0)},
          {"ring of 256 workers, 700 MB at 200 Gbit/s takes at most 60 ms", kFollows,
           ring(256, 700e6, 25e9, 0)},
          {"ring of 256 workers, 700 MB at 200 Gbit/s takes less than 50 ms", kFalse,
           ring(256, 700e6, 25e9, 0)},
          {"ring of 256 workers, 700 MB at 200 Gbit/s takes about 57 ms", kFollows,
           ring(256, 700e6, 25e9, 0)},
          {"tree over 256 workers of 700 MB at 50 GB/s takes 22.1 ms", kFalse, 16 * 700e6 / 50e9},
          {"tree over 256 workers of 1 MB at 50 GB/s with a latency of 10 us takes 0.48 ms", kFollows,
           16 * (1e-5 + 1e6 / 50e9)},
          {"halving-doubling over 1024 ranks of 1024 MB at 25 GB/s with 10 us latency takes 82.04 ms",
           kFollows, 20e-5 + 2 * 1023e6 / 25e9},
          {"in a ring of 64 ranks each sends 196.9 MB of a 100 MB buffer", kFollows, 2 * 63 / 64.0 * 100e6},
          {"a ring all-reduce of 400 MB over 8 ranks sends 87.5 MB from each rank", kFalse, 700e6},
          {"ring and tree cross at 17.633 MB with 256 workers, 10 us latency and 50 GB/s", kFollows,
           17.633e6},
          {"ring and tree cross at 125 MB with 256 workers, 10 us latency and 50 GB/s", kFalse, crossover},
          {"all-to-all of 700 MB over 256 ranks at 25 GB/s takes 7.14 s", kFollows, 255 * 700e6 / 25e9},
          {"all-to-all of 768 MB over 256 ranks at 25 GB/s takes 30.6 ms", kFollows, 255 * 3e6 / 25e9},
          {"an all-gather of 1024 MB over 64 ranks at 25 GB/s takes 40.32 ms", kFollows, 63 * 16e6 / 25e9},
          {"100 workers push and pull 4 GB through a parameter server with a link of 100 GB/s, which takes 8 s",
           kFollows, 8},
          {"a parameter server with 256 workers and 16 servers is 16.06 times slower than a ring", kFollows,
           65536.0 / 255 / 16},
          {"a parameter server with 100 workers of 4 GB moves 800 GB a step", kFollows, 800e9},
      })
    expect(e);
}

TEST(Claims, MessagesAndCompression) {
  for (const Example& e : {
           Example{"10 GB over 600 GB/s takes 17 ms", kFollows, 10.0 / 600},
           {"700 GB at 25 GB/s takes 28 ms", kFalse, 28},
           {"10 GB at 100 Gbit/s takes 100 ms", kFalse, 0.8},
           {"latency of 10 us at 600 GB/s is negligible above 100 bytes", kFalse, 6e6},
           {"8-bit quantisation turns a gradient of 100 MB into 12.5 MB", kFalseOurs, 25e6},
           {"8-bit quantisation turns a gradient of 100 MB into 25 MB", kOurs, 25e6},
           {"8-bit quantised gradients are 8x smaller", kFalseOurs, 4},
           {"keeping the top 0.1 % of a 4 GB gradient leaves 8 MB", kOurs, 8e6},
           {"top-1% of 700 MB with an element of 0.2 bytes leaves 14 MB", kOurs, 14e6},
           {"keeping the top 0.1 % of a 4 GB gradient leaves 1 MB", kFalseOurs, 8e6},
           {"keeping the top 1 % makes a gradient 100x smaller", kFalseOurs, 50},
           {"compression 10x pays on links below 9 GB/s with an encoder of 10 GB/s", kFollows, 9e9},
       })
    expect(e);
}

TEST(Claims, SplitsOfWork) {
  for (const Example& e : {
           Example{"step efficiency is 0.72 with 180 ms of compute and 70 ms of communication", kFollows,
                   0.72},
           {"compute 180 ms, communication 40 ms: efficiency 81.8 %", kFollows, 180.0 / 220},
           {"with 125 ms of compute and 28.4 ms of communication the efficiency is 45.2 %", kFalse,
            125 / 153.4},
           {"communication of 28.4 ms beside 125 ms of compute is a share of 18.5 %", kFollows, 28.4 / 153.4},
           {"115.4x speed-up on 256 workers is an efficiency of 45.2 %", kFalse, 115.4 / 256},
           {"a pipeline of 8 stages and 24 micro-batches has a bubble of 22.6 %", kFollows, 7 / 31.0},
           {"with p=8 and m=4 the bubble is 200 %", kFalse, 7 / 11.0},
           {"with p=8 and m=4 the bubble is 175 %", kFollows, 7 / 4.0},
           {"p=8, m=32: the bubble is 25 %", kFalse, 7 / 39.0},
           {"p=8, m=16, 2 chunks: the bubble is 17.95 %", kFollows, 7 / 39.0},
           {"a pipeline with 8 stages needs 10 micro-batches for a utilisation of 90 %", kFalse, 63},
           {"a pipeline of 4 stages with 8 micro-batches is 2.91 times faster", kFollows, 32 / 11.0},
           {"a pipeline of 8 stages, 16 micro-batches of 50 ms each takes 1150 ms", kFollows, 1.15},
           {"training state of 192 GB sharded over 8 GPUs is 24 GB each", kFollows, 24e9},
           {"a 70B model sharded with ZeRO over 64 GPUs needs 17.5 GB per device", kFollows, 17.5e9},
           {"the gradient of 175B parameters is 700 MB", kFalse, 700e9},
           {"175B parameters are 350 GB", kFollows, 350e9},
           {"a serial part of 5 % limits 64 workers to a speed-up of 15.4x", kFollows,
            1 / (0.05 + 0.95 / 64)},
           {"at a compute to communication ratio of 3, 4x the workers give a speed-up of 2.29x", kFollows,
            16 / 7.0},
           {"8 workers, 800 ms of compute and 8 ms of communication give a speed-up of 7.4x", kFollows,
            800 / 108.0},
           {"communication is 86 % of the step, so 10x compression makes training 10x faster", kFalse,
            1 / 0.226},
           {"tensor parallel over 8 GPUs, sequence 2048, hidden 12288: each sends 352 MB per layer", kOurs,
            7 * 2048 * 12288 * 2.0},
           {"tensor parallel over 8 GPUs, sequence 2048, hidden 12288: each sends 248 kB per layer",
            kFalseOurs, 7 * 2048 * 12288 * 2.0},
       })
    expect(e);
}

TEST(Claims, Jobs) {
  for (const Example& e : {
           Example{"a checkpoint takes 12 min and the MTBF is 18 h, so the best interval is 161 min",
                   kFollows, 60 * std::sqrt(2 * 12.0 * 1080)},
           {"Young: a checkpoint of 5 min with an MTBF of 21 h gives an interval of 112 min", kFollows,
            60 * std::sqrt(2 * 5.0 * 1260)},
           {"a checkpoint takes 12 min and the MTBF is 18 h, so the best interval is 161 h", kFalse,
            60 * std::sqrt(2 * 12.0 * 1080)},
           {"nodes have an MTBF of 5 years; 1000 nodes fail every 18 h", kFalse, 43.8 * 3600},
           {"checkpoints of 10 min every 2.76 h with an MTBF of 22.81 h waste 12.1 %", kFollows,
            1 / 6.0 / 2.76 + 2.76 / 2 / 22.81},
           {"70B parameters on 1.4T tokens with 256 GPUs at 312 TFLOP/s and 45 % MFU take 189 days", kFollows,
            6 * 70e9 * 1.4e12 / (256 * 312e12 * 0.45)},
           {"70B parameters on 1.4T tokens with 256 GPUs at 312 TFLOP/s take 85 days", kOurs,
            6 * 70e9 * 1.4e12 / (256 * 312e12)},
           {"175B parameters and 300B tokens need 3.15e23 FLOP", kFollows, 3.15e23},
           {"350e9 FLOP at 312 TFLOP/s take 1.1 s", kFalse, 350.0 / 312e3},
           {"with a delay of 10 the gradient is stable below a curvature times rate of 0.1495", kFollows,
            2 * std::sin(std::acos(-1) / 42)},
           {"with a delay of 5 the step is stable below 0.35", kFalse, 2 * std::sin(std::acos(-1) / 22)},
           {"alpha lambda of 0.2 tolerates a delay of up to 7", kFollows, 7},
           {"alpha lambda of 0.2 tolerates a delay of up to 10", kFalse, 7},
           {"8 asynchronous workers have a mean staleness of 7", kFollows, 7},
           {"the learning rate 0.1 at batch 256 becomes 0.8 at batch 2048", kFollows, 0.8},
           {"the learning rate 0.1 at batch 256 becomes 1.6 at batch 2,048", kFalse, 0.8},
       })
    expect(e);
}

TEST(Claims, SayWhatIsMissing) {
  for (const Example& e :
       {Example{"ring over 256 workers of 700 MB takes 28 ms", kUnknown},
        {"all-reduce of 700 GB at 100 GB/s takes 100 ms", kUnknown},
        {"checkpoint interval of 161 min for an MTBF of 18 h", kUnknown},
        {"a delay of 1e30 updates is stable below a rate times curvature of 0.1", kUnknown},
        {"the model is good", kUnknown},
        {"500 % of nothing", kUnknown}})
    expect(e);
  EXPECT_NE(judge_claim("ring over 256 workers of 700 MB takes 28 ms")
                ->reason.find("ring all-reduce, time (it does not say: rate)"),
            std::string::npos);
  // Everything is there, but nothing is claimed.
  const auto open = judge_claim("ring over 256 workers of 700 MB at 50 GB/s");
  EXPECT_FALSE(open->verdict);
  EXPECT_EQ(open->readings.size(), 1U);
}

TEST(Claims, NameTheSlip) {
  const auto slips = [](std::string_view text) {
    std::string all;
    const auto claim = judge_claim(text);
    for (const std::string& s : claim->slips) all += s + "\n";
    return all;
  };
  EXPECT_NE(slips("10 GB at 100 Gbit/s takes 100 ms").find("bits of 100 Gbit/s were bytes"),
            std::string::npos);
  EXPECT_NE(slips("10 GB at 100 GB/s takes 800 ms").find("bytes of 100 GB/s were bits"), std::string::npos);
  EXPECT_NE(slips("a ring of 4 ranks with 1000 MB at 10 GB/s takes 75 ms").find("factor 2 is left out"),
            std::string::npos);
  EXPECT_NE(slips("a ring of 4 ranks with 1000 MB at 10 GB/s takes 37.5 ms").find("divided by 4 once more"),
            std::string::npos);
  EXPECT_NE(slips("100 MB at 1 GB/s take 104.9 ms").find("prefix of 100 MB were binary"), std::string::npos);
  EXPECT_NE(slips("the gradient of 175B parameters is 700 MB").find("factor 1000"), std::string::npos);
  EXPECT_NE(slips("compute 180 ms, communication 70 ms: efficiency 28 %").find("the rest is meant"),
            std::string::npos);
  EXPECT_EQ(slips("10 GB at 100 Gbit/s takes 800 ms"), "");
  EXPECT_EQ(slips("10 GB at 100 Gbit/s takes 333 ms"), "");
}

TEST(Claims, RefuseWhatIsNoSentence) {
  for (const std::string& text : {std::string(), std::string(" \t"), std::string(kLongestClaim + 1, 'a')}) {
    const auto claim = judge_claim(text);
    ASSERT_FALSE(claim);
    EXPECT_EQ(claim.error().id, "evaluate-001");
    EXPECT_EQ(claim.error().code, Errc::InvalidInput);
  }
  EXPECT_TRUE(judge_claim(std::string(kLongestClaim, '9')));
}

TEST(Claims, JsonHoldsWhatTheTextSays) {
  const auto claim = judge_claim("10 GB at 100 Gbit/s takes 100 ms");
  const Json json = Json::parse(to_json(*claim));
  EXPECT_EQ(json["schema"], "cox.claim/1");
  EXPECT_EQ(json["result"]["verdict"], "does-not-follow");
  EXPECT_EQ(json["result"]["claimed_s"], 0.1);
  EXPECT_EQ(json["result"]["computed"][0]["value_s"], 0.8);
  EXPECT_EQ(json["result"]["inputs"][1]["value_bytes_per_s"], 12.5e9);
  EXPECT_NE(to_text(*claim).find("does-not-follow: the formula gives 800 ms; that is 8.000x the claim"),
            std::string::npos);
}

/// A row without words could not be found, one without needs would always fit.
TEST(Claims, EveryFormulaIsWhole) {
  for (const auto formulas : {collective_formulas(), parallel_formulas(), job_formulas()})
    for (const Formula& f : formulas) {
      SCOPED_TRACE(std::string(f.name));
      EXPECT_FALSE(f.equation.empty());
      EXPECT_FALSE(f.source.empty());
      EXPECT_NE(f.compute, nullptr);
      EXPECT_FALSE(f.needs[0].name.empty());
      EXPECT_TRUE(std::any_of(f.needs.begin(), f.needs.end(),
                              [](const Needed& n) { return !n.name.empty() && !n.is_optional(); }));
    }
}

TEST(JudgeClaim, BoundsAndDenialsAreReadAsTheyAreMeant) {
  const std::string ring = "ring over 256 workers of 700 MB at 50 GB/s takes ";  // 27.9 ms
  const auto verdict = [&](std::string_view end) {
    const auto judged = judge_claim(ring + std::string(end));
    EXPECT_TRUE(judged);
    return judged ? std::string(verdict_text(*judged)) : std::string();
  };
  for (const char* end : {"at most 40 ms", "no more than 40 ms", "not more than 40 ms", "at least 20 ms",
                          "no less than 20 ms", "more than 20 ms", "> 20 ms", "< 40 ms"})
    EXPECT_EQ(verdict(end), "follows") << end;
  for (const char* end : {"no more than 20 ms", "no less than 40 ms", "> 40 ms", "< 20 ms"})
    EXPECT_EQ(verdict(end), "does-not-follow") << end;
  EXPECT_EQ(verdict("-28 ms"), "cannot-tell");
  const auto denied = judge_claim("ring over 256 workers of 700 MB at 50 GB/s does not take 28 ms");
  ASSERT_TRUE(denied);
  EXPECT_EQ(verdict_text(*denied), "cannot-tell");
}

TEST(JudgeClaim, PartsOfNumbersAreNoNumbers) {
  const std::string ring = "ring over 256 workers of 700 MB at 50 GB/s takes ";
  for (const char* end : {".028 s", "28,5 ms", "20-30 ms", "1e-300 s", "2.8.1 ms", "1e999 s", "10^3 ms"}) {
    const auto judged = judge_claim(ring + end);
    ASSERT_TRUE(judged);
    EXPECT_EQ(verdict_text(*judged), "cannot-tell") << end;
  }
  EXPECT_EQ(verdict_text(*judge_claim(ring + "0.028 s")), "follows");
  EXPECT_EQ(verdict_text(*judge_claim("message of 1,000 MB at 1 GB/s takes 1 s")), "follows");
}

}  // namespace
}  // namespace cox::evaluate
