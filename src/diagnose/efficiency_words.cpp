// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <vector>

#include "cox/diagnose/efficiency.hpp"

namespace cox::diagnose {
namespace {

std::string percent_of(double ratio) {
  return fmt::format("{:.1f} %", ratio * 100);
}

std::string percent_of(const std::optional<double>& ratio) {
  return ratio ? percent_of(*ratio) : "-";
}

const char* useful_words(UsefulSource s) {
  switch (s) {
    case UsefulSource::States:
      return "the states that the input records";
    case UsefulSource::OutsideMpi:
      return "time outside MPI calls";
    case UsefulSource::OwnWork:
      return "time outside synchronisations";
    case UsefulSource::ComputeKernels:
      return "compute kernels on the device";
  }
  return "time outside synchronisations";
}

}  // namespace

std::vector<std::string> efficiency_lines(const Efficiencies& e) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("parallel efficiency {}: so much of {} rank{}' time was useful computation",
                              percent_of(e.parallel), e.ranks, e.ranks == 1 ? "" : "s"));
  lines.push_back(fmt::format("  load balance    {:>8}  the rest: other ranks have less to compute",
                              percent_of(e.load_balance)));
  lines.push_back(fmt::format("  communication   {:>8}  the rest: even the busiest rank does not compute",
                              percent_of(e.communication)));
  if (e.serialisation && e.transfer) {
    lines.push_back(fmt::format("    serialisation {:>8}  the rest: waits that the fastest network leaves",
                                percent_of(*e.serialisation)));
    lines.push_back(fmt::format("    transfer      {:>8}  the rest: what an ideal network would save",
                                percent_of(*e.transfer)));
  } else if (!e.no_ideal.empty()) {
    lines.push_back(fmt::format("    serialisation and transfer are not told: {}", e.no_ideal));
  }
  if (e.counters)
    lines.push_back(fmt::format("  {:.2f} instructions per cycle at {:.2f} GHz while computing",
                                e.counters->ipc, static_cast<double>(e.counters->frequency_hz) * 1e-9));
  lines.push_back(fmt::format("  useful computation is {}", useful_words(e.source)));
  return lines;
}

std::vector<std::string> scaling_lines(const ScalingEfficiencies& s) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{:>8} {:>9} {:>9} {:>9} {:>12} {:>9} {:>9} {:>9}", "ranks", "speed-up",
                              "global", "parallel", "computation", "instr.", "IPC", "frequency"));
  for (const SizeEfficiencies& size : s.sizes)
    lines.push_back(fmt::format("{:>8} {:>9.2f} {:>9} {:>9} {:>12} {:>9} {:>9} {:>9}", size.at.ranks,
                                size.speed_up, percent_of(size.global), percent_of(size.at.parallel),
                                percent_of(size.computation_scaling), percent_of(size.instruction_scaling),
                                percent_of(size.ipc_scaling), percent_of(size.frequency_scaling)));
  return lines;
}

}  // namespace cox::diagnose
