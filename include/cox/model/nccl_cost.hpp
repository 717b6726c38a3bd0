// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a collective of NCCL costs, from public figures: channels, protocols, pipelining, launch.
///
/// Use when: a plan needs the time of a collective before there is a machine to measure it on.
/// Not when: nccl-tests was run there; a fit of its table is better.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cox/base/units.hpp"
#include "cox/model/schedule.hpp"

namespace cox::model {

/// How NCCL moves bytes. LL and LL128 send a flag with every 4 (120) bytes instead of waiting for a fence.
enum class NcclProtocol : std::uint8_t { LL, LL128, Simple };
[[nodiscard]] std::string_view name_of(NcclProtocol p);

/// What NCCL may choose from. CollNet and NVLS leave additions to the switches, between nodes and inside one.
enum class NcclAlgorithm : std::uint8_t { Ring, Tree, CollNetDirect, CollNetChain, Nvls, NvlsTree };
[[nodiscard]] std::string_view name_of(NcclAlgorithm a);

/// Inputs of `nccl_time`. The latencies' defaults are those of NCCL's own tuning model for NVLink inside a
/// node and a network across: baseLatencies and hwLatencies in src/graph/tuning.cc, NCCL 2.18 to 2.27. They
/// are NCCL's figures for choosing an algorithm, not a measurement of any machine.
struct NcclCost {
  /// One number per protocol, in the order of `NcclProtocol`.
  struct Latencies {
    std::array<Seconds, 3> ring{};
    std::array<Seconds, 3> tree{};
  };
  using Micro = std::chrono::duration<double, std::micro>;

  int ranks_per_node = 8;  ///< the last node may have fewer
  int channels = 16;       ///< rings, and trees, side by side
  Bandwidth inside{};      ///< of one channel between devices of a node, one direction
  Bandwidth across{};      ///< of one channel between nodes
  Seconds launch{};        ///< of the call and its kernel, as far as `base` has it not
  Latencies base{{Micro{6.6}, Micro{14}, Micro{8.4}}, {Micro{6.8}, Micro{14}, Micro{8.4}}};
  Latencies hop_inside{{Micro{0.6}, Micro{1.9}, Micro{3.4}}, {Micro{0.6}, Micro{1.25}, Micro{4}}};
  Latencies hop_across{{Micro{2.7}, Micro{4}, Micro{14}}, {Micro{5}, Micro{8.5}, Micro{14}}};
  /// Data per byte on the wire: 8 of each 16 bytes, 120 of each 128, all.
  std::array<double, 3> carried_ratio{0.5, 0.9375, 1};
  /// All channels together under LL, on one, two, more nodes: llMaxBws of tuning.cc, Hopper.
  std::array<Bandwidth, 3> ll_limit{Bandwidth::gbyte_per_s(141), Bandwidth::gbyte_per_s(45),
                                    Bandwidth::gbyte_per_s(35)};
  /// One channel under LL128: perChMaxRingLL128Bws of tuning.cc, Hopper.
  Bandwidth ll128_limit = Bandwidth::gbyte_per_s(36.7);
  /// Of one channel, on the wire; `slots` slices of it are on their way at a time (src/init.cc).
  std::array<Bytes, 3> buffer{Bytes{524'288}, Bytes{4'915'200}, Bytes{4'194'304}};
  int slots = 8;
  int pieces = 8;                 ///< a tree or chain cuts what a channel has into at least so many slices
  bool ll128 = true;              ///< NCCL uses it where it knows the path keeps 128 bytes together
  bool nvls = false;              ///< switches inside a node add (NVLink SHARP: Hopper and later)
  bool collnet = false;           ///< switches between nodes add (SHARP with its plugin)
  double nvls_efficiency = 0.85;  ///< of `inside` that NVLS reaches: nvlsEfficiency, Hopper
  /// One channel of NVLS with trees, on two, more nodes: perChMaxNVLSTreeBws, Hopper.
  std::array<Bandwidth, 2> nvls_tree_limit{Bandwidth::gbyte_per_s(57.7), Bandwidth::gbyte_per_s(45.5)};
  std::optional<NcclProtocol> protocol{};    ///< only this one (NCCL_PROTO)
  std::optional<NcclAlgorithm> algorithm{};  ///< only this one (NCCL_ALGO)
};

struct NcclEstimate {
  Seconds time{};
  NcclAlgorithm algorithm = NcclAlgorithm::Ring;
  NcclProtocol protocol = NcclProtocol::Simple;
};

/// The cheapest of what NCCL could choose. `spec.algorithm` is not looked at.
/// Formula: launch + base + hops x hop latency + wire bytes / (channels x bandwidth x carried) + the time of
/// a slice for each further hop of a pipeline: docs/concepts/message-cost.md, with what it leaves out.
/// Nothing: other collectives than AllReduce, ReduceScatter, AllGather, Broadcast, Reduce; a bandwidth that
/// is needed and zero; numbers below one; an algorithm that NCCL has not for the collective or `cost` switches off.
/// Held by: src/model/nccl_cost_test.cpp
[[nodiscard]] std::optional<NcclEstimate> nccl_time(const CollectiveSpec& spec, const NcclCost& cost);

}  // namespace cox::model
