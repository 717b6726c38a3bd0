// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "support/test_data.hpp"
#include "trace/import/otf2_events.hpp"
#include "trace/import/reader.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;
using model::Collective;

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::int64_t count_events(const RankTrack& t, EventKind kind, std::uint8_t op, std::uint16_t flags_set,
                          std::uint16_t flags_clear) {
  std::int64_t n = 0;
  for (std::size_t i = 0; i < t.events.size(); ++i)
    n += t.events.kind[i] == kind && t.events.op[i] == op && (t.events.flags[i] & flags_set) == flags_set &&
         (t.events.flags[i] & flags_clear) == 0;
  return n;
}

std::int64_t collectives(const RankTrack& t, Collective op) {
  return count_events(t, EventKind::Collective, static_cast<std::uint8_t>(op), 0, kNonBlocking);
}

class Otf2Fixture : public testing::Test {
 protected:
  static trace::Run read() {
    const fs::path anchor = test::test_data("traces/otf2-sst") / "traces.otf2";
    auto run = kOtf2Reader.read(anchor, {.threads = 2});
    EXPECT_TRUE(run.has_value()) << run.error().to_string();
    return run ? *std::move(run) : trace::Run{};
  }
};

TEST_F(Otf2Fixture, HoldsWhatItsDescriptionSays) {
  COX_NEED_DATA(folder, "traces/otf2-sst");
  const trace::Run run = read();
  for (const Note& n : run.notes) fmt::print("{}\n", n.text);
  ASSERT_EQ(run.ranks.size(), 10U);
  EXPECT_EQ(run.world_size, 10);
  std::map<Collective, std::int64_t> sum;
  for (const RankTrack& t : run.ranks) {
    for (int op = 0; op < model::kCollectiveCount; ++op)
      sum[static_cast<Collective>(op)] += collectives(t, static_cast<Collective>(op));
    EXPECT_EQ(t.state, WriterState::Closed);
  }
  for (const Collective op : {Collective::AllReduce, Collective::AllToAll, Collective::AllGather})
    EXPECT_EQ(sum[op], 360) << model::name_of(op);
  for (const Collective op :
       {Collective::Broadcast, Collective::Gather, Collective::Reduce, Collective::Scatter})
    EXPECT_EQ(sum[op], 30) << model::name_of(op);
  EXPECT_EQ(run.messages.size(), 1440U);
}

}  // namespace
}  // namespace cox::trace
