// SPDX-License-Identifier: Apache-2.0
#include "cli/output/failure.hpp"

#include <gtest/gtest.h>

namespace cox::cli {
namespace {

TEST(Failure, ShowsPlaceMessageIdAndHint) {
  const Error error{.code = Errc::InvalidInput,
                    .id = "trace-002",
                    .message = "no Run",
                    .hint = "try another",
                    .where = Where{.file = "run", .line = 3}};
  EXPECT_EQ(describe(error, false), "cox: run:3: no Run [trace-002]\n  hint: try another\n");
}

TEST(Failure, LeavesOutWhatIsNotThere) {
  EXPECT_EQ(describe(Error{.code = Errc::Io, .id = {}, .message = "broken", .hint = {}, .where = {}}, false),
            "cox: broken\n");
}

TEST(Failure, ColourOnlyDecorates) {
  const Error error{.code = Errc::Io, .id = "base-006", .message = "full", .hint = {}, .where = {}};
  EXPECT_EQ(describe(error, true), "\x1b[1;31mcox:\x1b[0m full [base-006]\n");
}

TEST(Failure, ExitCodes) {
  EXPECT_EQ(exit_code_of(Errc::Usage), ExitCode::Usage);
  EXPECT_EQ(exit_code_of(Errc::InvalidInput), ExitCode::BadInput);
  EXPECT_EQ(exit_code_of(Errc::NotFound), ExitCode::BadInput);
  EXPECT_EQ(exit_code_of(Errc::Io), ExitCode::Environment);
}

TEST(Failure, ObserveKeepsItsCodesApartFromTheJobs) {
  const auto code = [](const char* id) {
    return observe_exit_code_of(Error{.code = Errc::Usage, .id = id, .message = {}, .hint = {}, .where = {}});
  };
  EXPECT_EQ(code("observe-003"), ExitCode::NotFound);
  EXPECT_EQ(code("observe-004"), ExitCode::NotExecutable);
  EXPECT_EQ(code("observe-001"), ExitCode::ObserveFailed);
  EXPECT_EQ(code("cli-002"), ExitCode::ObserveFailed);
}

}  // namespace
}  // namespace cox::cli
