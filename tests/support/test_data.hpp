// SPDX-License-Identifier: Apache-2.0
/// \file
/// Real traces used in place: under COX_TEST_DATA, by default ../shared/data beside the project; tests that
/// need them are skipped with a message where they are absent.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace cox::test {

/// The folder or file `under` the test data, e.g. "traces/dlrm-kineto-4of8"; empty where it is absent.
inline std::filesystem::path test_data(const std::filesystem::path& under) {
  const char* set = std::getenv("COX_TEST_DATA");  // NOLINT(concurrency-mt-unsafe): nobody sets it meanwhile
  const auto path =
      std::filesystem::path(set != nullptr && *set != '\0' ? set : COX_TEST_DATA_DEFAULT) / under;
  std::error_code ec;
  return std::filesystem::exists(path, ec) ? path : std::filesystem::path();
}

}  // namespace cox::test

/// Declares `var` as a path of the test data, or skips the test.
#define COX_NEED_DATA(var, under)                                  \
  const std::filesystem::path var = ::cox::test::test_data(under); \
  if ((var).empty()) GTEST_SKIP() << "no test data: set COX_TEST_DATA to a folder that holds " << (under)
