// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/communication_names.hpp"

#include <gtest/gtest.h>

namespace cox::trace {
namespace {

TEST(CommunicationNames, WaitingIsToldFromWork) {
  for (const char* name : {"wait_ms", "AllReduce", "comm_time", "idle", "grad_sync"})
    EXPECT_TRUE(is_communication(name)) << name;
  for (const char* name : {"step_time", "forward", "data_loader"})
    EXPECT_FALSE(is_communication(name)) << name;
}

}  // namespace
}  // namespace cox::trace
