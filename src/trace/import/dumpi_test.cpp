// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/test_data.hpp"
#include "trace/import/dumpi_calls.hpp"
#include "trace/import/reader.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;

TEST(DumpiFixture, Bgp) {
  COX_NEED_DATA(folder, "traces/dumpi-sst");
  for (const char* name : {"testbgp.meta", "testtrace.meta", "testbgp-0003.bin", "testtrace-0001.bin"}) {
    const auto run = kDumpiReader.read(folder / name, {.threads = 2});
    ASSERT_TRUE(run.has_value()) << run.error().to_string();
    fmt::print("{}: {} ranks, {} messages\n", name, run->ranks.size(), run->messages.size());
    for (const Note& n : run->notes) fmt::print("  {}\n", n.text);
    for (const Communicator& c : run->communicators)
      fmt::print("  comm {} {} {}\n", c.name, c.size, c.ranks.size());
    for (const RankTrack& t : run->ranks)
      fmt::print("  {} events {} useful {} host {} {}\n", t.rank.value(), t.events.size(), t.useful.size(),
                 run->nodes[0].host, t.program);
  }
}

}  // namespace
}  // namespace cox::trace
