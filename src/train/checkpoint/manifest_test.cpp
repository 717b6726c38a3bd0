// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint/manifest.hpp"

#include <gtest/gtest.h>

#include "cox/base/hash.hpp"

namespace cox::train {
namespace {

Manifest three_parts() {
  return {.version = 120,
          .job = "problem=quadratic,dimension=10 optimizer=adam,rate=0.1 workers=8 samples=1",
          .elements = 10,
          .moments = 2,
          .parts = {{.elements = {.first = 0, .count = 4}, .hash = 1},
                    {.elements = {.first = 4, .count = 3}, .hash = ~std::uint64_t{0}},
                    {.elements = {.first = 7, .count = 3}, .hash = 0}}};
}

/// With the hash that belongs to what is there.
std::string hashed(const std::string& text) {
  return text + "hash\t" + [&] {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(fnv1a(text)));
    return std::string(digits);
  }() + "\n";
}

TEST(CheckpointManifest, IsReadAsItWasWritten) {
  const Manifest m = three_parts();
  const auto back = read_manifest(text_of(m));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(text_of(*back), text_of(m));
  EXPECT_EQ(back->version, 120);
  EXPECT_EQ(back->job, m.job);
  EXPECT_EQ(back->parts[1].hash, ~std::uint64_t{0});
  EXPECT_EQ(back->bytes_of(back->parts[0]), Bytes{4 * 3 * 4});
}

TEST(CheckpointManifest, EveryChangedByteAndEveryCutIsFound) {
  const std::string text = text_of(three_parts());
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      EXPECT_FALSE(read_manifest(changed)) << i << ", bit " << bit;
    }
    EXPECT_FALSE(read_manifest(text.substr(0, i))) << i;
  }
  EXPECT_FALSE(read_manifest(text + text));
  EXPECT_FALSE(read_manifest(text + "\n"));
}

TEST(CheckpointManifest, WorkersHaveFilesOfTheirOwn) {
  Manifest m = three_parts();
  m.workers = 5;
  m.worker_floats = 30;
  m.worker_parts = {{.elements = {.first = 0, .count = 3}, .hash = 7},
                    {.elements = {.first = 3, .count = 2}, .hash = 8}};
  const auto back = read_manifest(text_of(m));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(text_of(*back), text_of(m));
  EXPECT_EQ(back->files(), 5U);
  EXPECT_EQ(back->bytes_of_file(4), Bytes{2 * 30 * 4});
  m.worker_parts.pop_back();
  EXPECT_FALSE(read_manifest(text_of(m))) << "two workers are nowhere";
}

TEST(CheckpointManifest, ALossScaleIsSaved) {
  Manifest m = three_parts();
  EXPECT_FALSE(read_manifest(text_of(m))->scale);
  for (const learn::LossScaleState& scale :
       {learn::LossScaleState{.factor = 65536, .good = 7, .skipped = 3},
        learn::LossScaleState{.factor = 0x1p-24, .good = 0, .skipped = 120}, learn::LossScaleState{}}) {
    m.scale = scale;
    const auto back = read_manifest(text_of(m));
    ASSERT_TRUE(back) << text_of(m);
    EXPECT_EQ(back->scale, scale);
  }
}

// The hash is no secret: what it covers is looked at all the same.
TEST(CheckpointManifest, WhatCannotBeIsRefusedUnderARightHash) {
  const std::string head = "cox-checkpoint 1\nversion\t1\njob\tj\n";
  EXPECT_TRUE(read_manifest(hashed(head + "elements\t5\nmoments\t0\npart\t0\t5\t00\n")));
  for (const char* rest :
       {"elements\t5\nmoments\t0\n", "elements\t5\nmoments\t0\npart\t0\t4\t00\n",
        "elements\t5\nmoments\t0\npart\t1\t4\t00\n", "elements\t5\nmoments\t0\npart\t0\t6\t00\n",
        "elements\t5\nmoments\t3\npart\t0\t5\t00\n", "elements\t0\nmoments\t0\n",
        "elements\t5\nmoments\t0\npart\t0\t3\t00\npart\t2\t3\t00\n",
        "elements\t-5\nmoments\t0\npart\t0\t-5\t00\n", "elements\t99999999999999\nmoments\t0\n",
        "elements\t5\nmoments\t0\npart\t0\t5\t00\npart\t5\t0\tx\n", "moments\t0\nelements\t5\n",
        "elements\t5\nmoments\t0\nscale\t2^99\t0\t0\npart\t0\t5\t00\n",
        "elements\t5\nmoments\t0\nscale\t8\t0\t0\npart\t0\t5\t00\n",
        "elements\t5\nmoments\t0\nscale\t2^3\t0\t2\npart\t0\t5\t00\n",
        "elements\t5\nmoments\t0\nworkers\t2\t3\npart\t0\t5\t00\n",
        "elements\t5\nmoments\t0\nworkers\t2\t3\npart\t0\t5\t00\nof-workers\t0\t3\t00\n",
        "elements\t5\nmoments\t0\npart\t0\t5\t00\nof-workers\t0\t1\t00\n"}) {
    const auto read = read_manifest(hashed(head + rest));
    ASSERT_FALSE(read) << rest;
    EXPECT_EQ(read.error().id, "train-008");
  }
}

}  // namespace
}  // namespace cox::train
