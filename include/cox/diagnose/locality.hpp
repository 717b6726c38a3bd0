// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the ranks of a job may run.
#pragma once

#include <string>
#include <vector>

#include "cox/base/ids.hpp"

namespace cox::diagnose {

/// NUMA nodes at which one kind of device is attached, and who is bound to none of them.
struct DeviceNodes {
  std::vector<int> nodes;  ///< ascending; empty: no such device, or the machine does not say where one is
  std::vector<Rank> away;  ///< bound ranks that may use no CPU of these nodes
};

/// Where the ranks of one node may run, as they recorded it at their start.
struct NodeLocality {
  std::string host;
  std::string source = "affinity";  ///< `hwloc` where the machine's topology is known, else `affinity`
  int packages = 0;                 ///< of the machine; 0 = not known, as below
  int numa_nodes = 0;
  int cores = 0;
  int cpus = 0;               ///< online
  int ranks = 0;              ///< of which is known where they may run
  int bound = 0;              ///< of those: may not use all CPUs
  int sharing_cores = 0;      ///< bound ranks that may use a core of another bound rank
  int across_numa_nodes = 0;  ///< bound ranks that may use more than one NUMA node
  DeviceNodes gpus;           ///< and other accelerators
  DeviceNodes ports;          ///< InfiniBand and RoCE where there are any, else other network ports
  std::vector<Rank> known;    ///< the `ranks`
  std::vector<Rank> sharing;  ///< the `sharing_cores`
};

}  // namespace cox::diagnose
