// SPDX-License-Identifier: Apache-2.0
#include "model/toml/keys/presets.hpp"

#include <array>

#include "model/toml/keys/words.hpp"

namespace cox::model {
namespace {

// Bandwidths are of one direction; vendors print NVLink as the sum of both,
// so theirs is halved. Peaks are dense.
constexpr std::string_view kNvlinkLatency = "NCCL 2.19 src/graph/tuning.cc, hwLat: ring, LL, NVLINK";
constexpr std::string_view kNicLatency =
    "half of 2.7 us: NCCL 2.19 src/graph/tuning.cc, hwLat: ring, LL, NET, which is a whole path";
constexpr std::string_view kNvls = "NCCL 2.30 src/graph/tuning.cc, nvlsEfficiency: not zero from Hopper on";
constexpr std::string_view kRails = "DGX SuperPOD reference architecture: rail-optimised compute fabric";

constexpr std::array<Figure, 14> kA100 = {{
    {"cluster.devices_per_node", "8", "DGX A100 data sheet: GPUs"},
    {"cluster.device.name", "A100-SXM4-80GB", "DGX A100 data sheet: GPUs"},
    {"cluster.device.peak", "312TFLOP/s", "A100 Tensor Core GPU data sheet: BFLOAT16, without sparsity"},
    {"cluster.device.memory", "80GB", "A100 Tensor Core GPU data sheet: GPU memory"},
    {"cluster.scale_up.latency", "0.6us", kNvlinkLatency},
    {"cluster.scale_up.bandwidth", "300GB/s",
     "A100 Tensor Core GPU data sheet: NVLink 600 GB/s, both directions together"},
    {"cluster.nics_per_node", "8", "DGX A100 data sheet: 8 single-port ConnectX-6 for the cluster"},
    {"cluster.nic.latency", "1.35us", kNicLatency},
    {"cluster.nic.bandwidth", "200Gbps", "DGX A100 data sheet: ConnectX-6 VPI 200 Gb/s InfiniBand"},
    {"cluster.pcie.bandwidth", "31.5GB/s", "PCI Express 4.0: 16 lanes x 16 GT/s x 128/130"},
    {"fabric.kind", "rail-optimised", kRails},
    {"fabric.link.latency", "130ns", "Quantum QM8700 product brief: port to port below 130 ns"},
    {"fabric.link.bandwidth", "200Gbps", "Quantum QM8700 product brief: HDR"},
    {"power.busy", "4.94kW",
     "76 % of 6.5 kW (DGX A100 data sheet: system power): the part is arXiv 2506.14551's"},
}};

constexpr std::array<Figure, 15> kH100 = {{
    {"cluster.devices_per_node", "8", "DGX H100 data sheet: GPUs"},
    {"cluster.device.name", "H100-SXM5-80GB", "DGX H100 data sheet: GPUs"},
    {"cluster.device.peak", "989.4TFLOP/s",
     "H100 Tensor Core GPU architecture white paper: peak BF16 Tensor, without sparsity"},
    {"cluster.device.memory", "80GB", "H100 Tensor Core GPU data sheet: GPU memory"},
    {"cluster.scale_up.latency", "0.6us", kNvlinkLatency},
    {"cluster.scale_up.bandwidth", "450GB/s",
     "H100 Tensor Core GPU data sheet: NVLink 900 GB/s, both directions together"},
    {"cluster.nics_per_node", "8", "DGX H100 user guide, component descriptions: 8 ConnectX-7 single port"},
    {"cluster.nic.latency", "1.35us", kNicLatency},
    {"cluster.nic.bandwidth", "400Gbps",
     "DGX H100 user guide, component descriptions: InfiniBand up to 400 Gbps"},
    {"cluster.pcie.bandwidth", "63GB/s", "PCI Express 5.0: 16 lanes x 32 GT/s x 128/130"},
    {"fabric.kind", "rail-optimised", kRails},
    {"fabric.link.latency", "130ns",
     "taken as of Quantum QM8700 (product brief: below 130 ns); none is printed for QM9700"},
    {"fabric.link.bandwidth", "400Gbps", "Quantum-2 QM9700 data sheet: NDR"},
    {"cost.nccl.nvls", "true", kNvls},
    {"power.busy", "7.752kW",
     "76 % of 10.2 kW (DGX H100 data sheet: system power): the part, of training on such a node, is arXiv 2506.14551's"},
}};

constexpr std::array<Figure, 15> kB200 = {{
    {"cluster.devices_per_node", "8", "DGX B200 user guide, component descriptions"},
    {"cluster.device.name", "B200-SXM-180GB", "DGX B200 user guide, component descriptions"},
    {"cluster.device.peak", "2250TFLOP/s",
     "Blackwell architecture technical brief, HGX B200: FP16/BF16 4.5 PFLOPS with sparsity, half without"},
    {"cluster.device.memory", "180GB", "DGX B200 user guide, component descriptions: 1,440 GB of 8 GPUs"},
    {"cluster.scale_up.latency", "0.6us", kNvlinkLatency},
    {"cluster.scale_up.bandwidth", "900GB/s",
     "DGX B200 user guide, component descriptions: NVLink 14.4 TB/s of 8 GPUs, both directions together"},
    {"cluster.nics_per_node", "8", "DGX B200 user guide, component descriptions: 8 ConnectX-7 single port"},
    {"cluster.nic.latency", "1.35us", kNicLatency},
    {"cluster.nic.bandwidth", "400Gbps",
     "DGX B200 user guide, component descriptions: InfiniBand up to 400 Gbps"},
    {"cluster.pcie.bandwidth", "63GB/s", "PCI Express 5.0: 16 lanes x 32 GT/s x 128/130"},
    {"fabric.kind", "rail-optimised", kRails},
    {"fabric.link.latency", "130ns",
     "taken as of Quantum QM8700 (product brief: below 130 ns); none is printed for QM9700"},
    {"fabric.link.bandwidth", "400Gbps", "Quantum-2 QM9700 data sheet: NDR"},
    {"cost.nccl.nvls", "true", kNvls},
    {"power.busy", "10.868kW",
     "76 % of 14.3 kW (DGX B200 data sheet: system power); the part is assumed to be that of DGX H100"},
}};

// The torus joins chips, so a chip is a node here; its host does not take part.
constexpr std::array<Figure, 9> kTpu = {{
    {"cluster.devices_per_node", "1", "a node of this torus is a chip (Jouppi et al., ISCA 2023, section 2)"},
    {"cluster.device.name", "TPU v4", "Jouppi et al., ISCA 2023, table 4"},
    {"cluster.device.peak", "275TFLOP/s", "Jouppi et al., ISCA 2023, table 4: peak bf16"},
    {"cluster.device.memory", "32GiB", "Jouppi et al., ISCA 2023, table 4: HBM2"},
    {"cluster.nic.latency", "1us", "assumed: no latency of these links is published"},
    {"cluster.nic.bandwidth", "50GB/s", "Jouppi et al., ISCA 2023, table 4: ICI, 6 links of 50 GB/s"},
    {"fabric.kind", "torus", "Jouppi et al., ISCA 2023, section 2: 3-D torus"},
    {"fabric.link.latency", "1us", "assumed: no latency of these links is published"},
    {"fabric.link.bandwidth", "50GB/s", "Jouppi et al., ISCA 2023, table 4: ICI, 6 links of 50 GB/s"},
}};

constexpr std::array<Figure, 6> kCloud = {{
    {"cluster.nics_per_node", "1", "generic: one card per machine"},
    {"cluster.nic.latency", "10us",
     "assumed: kernel TCP in one zone is 20 us and more per path; measure it with ping"},
    {"cluster.nic.bandwidth", "100Gbps", "IEEE 802.3bm, 100GBASE: line rate"},
    {"fabric.kind", "fat-tree", "generic: leaf and spine"},
    {"fabric.link.latency", "1us", "assumed: store and forward of one 9 kB frame is 0.72 us at this rate"},
    {"fabric.link.bandwidth", "100Gbps", "IEEE 802.3bm, 100GBASE: line rate"},
}};

constexpr std::array<Preset, 5> kPresets = {{
    {"dgx-a100", "NVIDIA DGX A100, 80 GB, in a SuperPOD", kA100},
    {"dgx-h100", "NVIDIA DGX H100 in a SuperPOD", kH100},
    {"dgx-b200", "NVIDIA DGX B200 in a SuperPOD", kB200},
    {"tpu-v4", "3-D torus of chips as in Google's TPU v4", kTpu},
    {"cloud-100g", "any machines behind 100 Gbit/s Ethernet", kCloud},
}};

}  // namespace

std::span<const Preset> presets() {
  return kPresets;
}

Words preset_words() {
  static const auto words = [] {
    std::array<std::string_view, kPresets.size() + 1> out;
    out[0] = "none";
    for (std::size_t i = 0; i < kPresets.size(); ++i) out[i + 1] = kPresets[i].name;
    return out;
  }();
  return words;
}

}  // namespace cox::model
