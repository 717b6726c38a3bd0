// SPDX-License-Identifier: Apache-2.0
#include "cox/diagnose/what_if.hpp"

#include <gtest/gtest.h>

#include "diagnose/synthetic_job.hpp"

namespace cox::diagnose {
namespace {
using testing::Job;
using namespace std::chrono_literals;

TEST(WhatIf, Smoke) {
  Job job;
  job.work = [](int r, int s) { return testing::lognormal_work(1, r, s, 10ms, 0.05) + (r == 3 ? 3ms : 0ms); };
  const WhatIf w = what_if(testing::make_job(job));
  for (const auto& l : describe(w)) puts(l.c_str());
}
}  // namespace
}  // namespace cox::diagnose
