// SPDX-License-Identifier: Apache-2.0
#include "diagnose/efficiency/efficiency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/number_text.hpp"

#include "diagnose/efficiency/measure.hpp"

namespace cox::diagnose {
namespace {

/// A factor that loses less than the rest of this is left out: all factors are in the JSON.
constexpr double kNearlyAll = 0.99;

std::string percent_of(const std::optional<double>& ratio) {
  return ratio ? percent(*ratio) : "-";
}

/// `  load balance        99 %, lost 1.3 %: other ranks have less to compute`
std::string factor_line(std::string_view name, double ratio, std::string_view lost) {
  return fmt::format("{:<18} {:>7}, lost {}: {}", name, percent_of(ratio),
                     percent_of(std::max(0.0, 1 - ratio)), lost);
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
  lines.push_back(fmt::format("parallel efficiency {}: the part of {} time that was useful computation",
                              percent_of(e.parallel),
                              e.ranks == 1 ? "the rank's" : fmt::format("{} ranks'", e.ranks)));
  const auto add = [&](const char* name, double ratio, const char* lost) {
    if (!(ratio > kNearlyAll)) lines.push_back(factor_line(name, ratio, lost));
  };
  const bool on_device = e.source == UsefulSource::ComputeKernels;
  // One rank has nobody to share with or to talk to: what is left of its time is neither.
  if (e.ranks > 1) {
    add("  load balance", e.load_balance, "other ranks have less to compute");
    add("  communication", e.communication,
        on_device ? "the busiest rank's device does not compute either: it communicates or idles"
                  : "the busiest rank does not compute either");
  } else if (on_device) {
    lines.emplace_back("the rest of the time its device ran no compute kernel");
  }
  if (e.serialisation && e.transfer) {
    add("    serialisation", *e.serialisation, "waits that no network would save");
    add("    transfer", *e.transfer, "what an ideal network would save");
  } else if (!e.no_ideal.empty()) {
    lines.push_back(fmt::format("    serialisation and transfer are not told: {}", e.no_ideal));
  }
  if (e.counters)
    lines.push_back(fmt::format("{:.2f} instructions per cycle at {:.2f} GHz while computing",
                                e.counters->ipc, static_cast<double>(e.counters->frequency_hz) * 1e-9));
  lines.push_back(fmt::format("useful computation: {}", useful_words(e.source)));
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
