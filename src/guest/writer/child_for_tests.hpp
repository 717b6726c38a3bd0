// SPDX-License-Identifier: Apache-2.0
/// \file
/// A writer in a child process of its own, since it keeps process-wide state, and what its file holds.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "cox/base/processes.h"
#include "cox/guest/writer.hpp"

namespace cox::guest::test {

namespace fs = std::filesystem;
using namespace cox::trace;

class GuestChild : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "cox-guest-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { fs::remove_all(dir_); }

  /// Runs `body` in a child and gives its exit status (128 + signal where one ended it).
  static int in_child(const std::function<int()>& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    cox_wait_process(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const auto& e : fs::directory_iterator(dir_)) out.push_back(e.path().string());
    return out;
  }
  [[nodiscard]] std::string only_file() const {
    const auto all = files();
    EXPECT_EQ(all.size(), 1U);
    if (all.empty()) return {};
    std::ifstream in(all.front(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path dir_;
};

inline RawHeader header_of(const std::string& file) {
  RawHeader h{};
  std::memcpy(&h, file.data(), sizeof h);
  return h;
}

/// In the order in which their chunks were begun, as readers take them: slots are used again, so places in a file have another.
inline std::vector<RawRecord> records_of(const std::string& file) {
  const RawHeader h = header_of(file);
  std::vector<std::pair<std::uint64_t, RawRecord>> by_ticket;
  for (std::size_t at = kHeaderBytes; at + sizeof(ChunkHeader) <= file.size(); at += h.chunk_bytes) {
    ChunkHeader chunk{};
    std::memcpy(&chunk, file.data() + at, sizeof chunk);
    if (chunk.magic != kChunkMagic || chunk.kind != ChunkKind::Events) continue;
    for (std::uint64_t i = 0; i < chunk.committed; ++i) {
      if (at + sizeof chunk + (i + 1) * sizeof(RawRecord) > file.size()) break;  // read while it was written
      RawRecord r{};
      std::memcpy(&r, file.data() + at + sizeof chunk + i * sizeof r, sizeof r);
      by_ticket.emplace_back(chunk.ticket, r);
    }
  }
  std::stable_sort(by_ticket.begin(), by_ticket.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<RawRecord> out;
  for (const auto& [ticket, record] : by_ticket) out.push_back(record);
  return out;
}

inline void record(std::uint64_t bytes) {
  end(begin(EventKind::Collective, 1, 0, 1, 0, bytes, 0));
}

}  // namespace cox::guest::test
