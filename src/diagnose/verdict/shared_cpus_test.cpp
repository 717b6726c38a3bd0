// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict/shared_cpus.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cox/diagnose/diagnosis.hpp"

#include "support/make_run.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

/// Four ranks on one host that did, in ten seconds, what is said; without samples where nothing is.
struct Host {
  trace::Run run;
  std::vector<NodeLocality> places{{.host = "a", .cpus = 2, .ranks = 4}};
  std::vector<RankAccount> ranks;
  explicit Host(std::string library, Duration cpu = {}, Duration ready = {}, std::int64_t switches = 0) {
    run.nodes.push_back({.id = NodeId{0}, .host = "a", .boot_id = "b"});
    for (int r = 0; r < 4; ++r) {
      trace::RankTrack& track = run.ranks.emplace_back();
      track.rank = Rank(r);
      track.node = NodeId(0);
      track.library = library;
      ranks.push_back({.rank = Rank(r), .work = 5s, .wait = 5s});
      if (cpu == Duration{}) continue;
      track.samples = {{.at = 0s, .main_cpu = 0s, .main_wait = 0s, .involuntary = 7},
                       {.at = 10s, .main_cpu = cpu, .main_wait = ready, .involuntary = 7 + switches}};
    }
  }
  [[nodiscard]] Duration least(Duration step) const { return least_beside_pollers(run, places, ranks, step); }
};

TEST(SharedCpus, ASliceIsNobodysDelayWhereAnMpiPolls) {
  Host host("Open MPI 4.1.4");
  EXPECT_EQ(host.least(100ms), 3ms);
  EXPECT_EQ(host.least(8ms), 2ms) << "at most a quarter of a step";
  host.places[0].cpus = 4;
  EXPECT_EQ(host.least(100ms), 0ms) << "a CPU for each";
  EXPECT_EQ(Host("gloo").least(100ms), 0ms) << "who knows how they wait";
}

TEST(SharedCpus, SamplesSayWhetherTheyPoll) {
  EXPECT_EQ(Host("gloo", 5s, 5s, 900).least(100ms), 3ms);
  EXPECT_EQ(Host("Open MPI 4.1.4", 5s, 200ms).least(100ms), 0ms) << "they block";
}

}  // namespace
}  // namespace cox::diagnose
