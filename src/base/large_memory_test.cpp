// SPDX-License-Identifier: Apache-2.0
#include "cox/base/large_memory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstddef>
#include <vector>

#include "cox/base/release_memory.hpp"

namespace cox {
namespace {

constexpr std::size_t kBytes = std::size_t{64} << 20;

[[maybe_unused]] long faults_of_a_table() {
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  const std::vector<char> table(kBytes, 'x');
  EXPECT_EQ(table.back(), 'x');
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

TEST(LargeMemory, WhatWasFreedIsNotFaultedInAgain) {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const long pages = static_cast<long>(kBytes / 4096);
  (void)faults_of_a_table();
  EXPECT_GT(faults_of_a_table(), pages / 1024) << "before: each table is new to the kernel";
  prepare_for_large_data();
  prepare_for_large_data();
  const long first = faults_of_a_table();
  EXPECT_LE(first, pages + 64);
  EXPECT_LT(faults_of_a_table(), pages / 1024);
#else
  prepare_for_large_data();
#endif
}

TEST(ReleaseMemory, LeavesNoRoomWhereAssigningNothingDoes) {
  std::vector<double> v(1000);
  v = {};
  EXPECT_EQ(v.capacity(), 1000U) << "if this fails, the function is no longer needed";
  release_memory(v);
  EXPECT_EQ(v.capacity(), 0U);
}

}  // namespace
}  // namespace cox
