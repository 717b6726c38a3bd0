// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/writer_process.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace cox::trace {
namespace {

RawHeader header_of(int pid, std::uint64_t pid_namespace, std::uint64_t start_time) {
  RawHeader h{};
  h.pid = pid;
  h.pid_namespace = pid_namespace;
  h.start_time = start_time;
  std::strcpy(h.boot_id, "boot");
  return h;
}

class WriterProcessTest : public testing::Test {
 protected:
  ListedProcesses m;

  WriterProcessTest() {
    m.boot = "boot";
    m.pid_inode = 40;
    m.processes[100] = {.state = 'S', .start_ticks = 7, .started_ns = 0};
    m.processes[101] = {.state = 'Z', .start_ticks = 7, .started_ns = 0};
  }
};

TEST_F(WriterProcessTest, IsToldFromALaterOneOfItsNumber) {
  EXPECT_EQ(look_for_writer(header_of(100, 40, 7), m), WriterProcess::Runs);
  EXPECT_EQ(look_for_writer(header_of(100, 0, 0), m), WriterProcess::Runs) << "an older file";
  EXPECT_EQ(look_for_writer(header_of(100, 40, 8), m), WriterProcess::Gone);
  EXPECT_EQ(look_for_writer(header_of(101, 40, 7), m), WriterProcess::Gone) << "not waited for";
  EXPECT_EQ(look_for_writer(header_of(102, 40, 7), m), WriterProcess::Gone);
}

TEST_F(WriterProcessTest, ANumberOfAnotherNamespaceIsNotTakenForOneOfOurs) {
  EXPECT_EQ(look_for_writer(header_of(100, 41, 7), m), WriterProcess::Hidden);
  EXPECT_EQ(look_for_writer(header_of(102, 41, 7), m), WriterProcess::Hidden);
}

TEST_F(WriterProcessTest, OfAnotherMachineOrBootIsElsewhere) {
  m.boot = "another";
  EXPECT_EQ(look_for_writer(header_of(100, 40, 7), m), WriterProcess::Elsewhere);
  m.boot.clear();
  RawHeader unknown = header_of(100, 40, 7);
  unknown.boot_id[0] = 0;
  EXPECT_EQ(look_for_writer(unknown, m), WriterProcess::Elsewhere) << "two unknown ones are not the same";
}

}  // namespace
}  // namespace cox::trace
