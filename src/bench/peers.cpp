// SPDX-License-Identifier: Apache-2.0
// Other simulators on our workloads, where they are installed. Options after their documentation: LogGOPSim
// 76451de, SimGrid 3.32 (network model CM02 without its TCP corrections, so that a message costs latency plus
// bytes over rate).
#include <fmt/format.h>

#include <algorithm>

#include "cox/base/child.hpp"
#include "cox/base/file.hpp"
#include "cox/bench/speed.hpp"

namespace cox::bench {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr int kHosts = 64;

PeerResult run_peer(std::string peer, std::string workload, const Words& command,
                    std::span<const SpeedResult> ours) {
  PeerResult result{.peer = std::move(peer), .workload = std::move(workload)};
  const Result<Ended> ended = run_child(command, "bench-006", {.time = Seconds{120}});
  if (!ended || ended->status != 0) {
    result.skipped = ended ? fmt::format("{} ended with status {}", command.front(), ended->status)
                           : ended.error().message;
    return result;
  }
  result.processor = ended->user + ended->system;
  result.peak_memory = ended->peak_memory;
  for (const SpeedResult& own : ours)
    if (own.workload.name == result.workload)
      result.ratio = result.processor / std::max(Seconds{1e-6}, own.processor());
  return result;
}

/// Trace of a rank and the list of them, the platform, and hosts in random order.
Status write_simgrid_files(const fs::path& folder) {
  std::string list;
  for (int r = 0; r < kHosts; ++r) {
    const fs::path trace = folder / fmt::format("rank{}.trace", r);
    COX_CHECK(write_file_atomically(
        trace, fmt::format("{0} init\n{0} allreduce 268435456 0\n{0} finalize\n", r), IfExists::Replace));
    list += trace.string() + "\n";
  }
  COX_CHECK(write_file_atomically(folder / "traces", list, IfExists::Replace));
  COX_CHECK(write_file_atomically(
      folder / "fat-tree.xml",
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\"><cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-63\" "
      "speed=\"1Gf\" bw=\"50GBps\" lat=\"250ns\" topology=\"FAT_TREE\" topo_parameters=\"2;8,8;1,2;1,1\" "
      "sharing_policy=\"SPLITDUPLEX\"/></platform>\n",
      IfExists::Replace));
  std::string hosts;
  for (int i = 0; i < kHosts; ++i)
    hosts += fmt::format("n{}\n", i * 29 % kHosts);  // 29 and 64 share no factor
  return write_file_atomically(folder / "hosts", hosts, IfExists::Replace);
}

PeerResult run_simgrid(std::span<const SpeedResult> ours, const fs::path& folder) {
  const char* workload = "fat-tree-64";
  if (!in_path("smpirun"))
    return {.peer = "SimGrid", .workload = workload, .skipped = "smpirun is not in PATH"};
  if (const Status written = write_simgrid_files(folder); !written)
    return {.peer = "SimGrid", .workload = workload, .skipped = written.error().message};
  const auto file = [&](const char* name) { return (folder / name).string(); };
  return run_peer("SimGrid", workload,
                  {"smpirun",
                   "-no-privatize",
                   "-np",
                   std::to_string(kHosts),
                   "-platform",
                   file("fat-tree.xml"),
                   "-hostfile",
                   file("hosts"),
                   "-replay",
                   file("traces"),
                   "--cfg=smpi/allreduce:lr",
                   "--cfg=network/model:CM02",
                   "--cfg=network/weight-S:0",
                   "--cfg=network/TCP-gamma:0",
                   "--cfg=network/latency-factor:1",
                   "--cfg=network/bandwidth-factor:1",
                   "--cfg=network/crosstraffic:0",
                   "--cfg=smpi/send-is-detached-thresh:2000000000",
                   "--cfg=contexts/stack-size:256",
                   "--log=root.thresh:error"},
                  ours);
}

PeerResult run_loggopsim(std::span<const SpeedResult> ours, const fs::path& folder) {
  const char* workload = "goal-binary";
  if (!in_path("LogGOPSim")) return {.peer = "LogGOPSim", .workload = workload, .skipped = "not in PATH"};
  return run_peer("LogGOPSim", workload,
                  {"LogGOPSim", "-f", (folder / "ring.bin").string(), "-L", "1000", "-o", "0", "-g", "0",
                   "-G", "1", "-O", "0", "-S", "2000000000", "-b"},
                  ours);
}

}  // namespace

std::vector<PeerResult> measure_peers(std::span<const SpeedResult> ours, const fs::path& folder) {
  return {run_simgrid(ours, folder),
          run_loggopsim(ours, folder),
          {.peer = "ASTRA-sim",
           .workload = "ring-4096",
           .skipped = "its input, a Chakra file per rank, is not made here"}};
}

}  // namespace cox::bench
