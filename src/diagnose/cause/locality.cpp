// SPDX-License-Identifier: Apache-2.0
#include "diagnose/cause/locality.hpp"

#include <hwloc.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cox::diagnose {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRoot = "/sys/devices/system/";
constexpr std::string_view kOnline = "/sys/devices/system/cpu/online";
constexpr std::size_t kLongestList = 2048;

struct FreeBitmap {
  void operator()(hwloc_bitmap_t b) const { hwloc_bitmap_free(b); }
};
struct FreeTopology {
  void operator()(hwloc_topology_t t) const { hwloc_topology_destroy(t); }
};
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, FreeBitmap>;
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, FreeTopology>;

const std::string* value_of(const trace::RankTrack& track, std::string_view path) {
  for (const trace::LocalityFact& fact : track.locality)
    if (fact.path == path) return &fact.value;
  return nullptr;
}

/// `0-3,8` as a set. Nothing for anything else; numbers of more than five digits would cost memory.
std::optional<Bitmap> set_of(const std::string& list) {
  if (list.empty() || list.size() > kLongestList) return std::nullopt;
  std::size_t digits = 0;
  for (const char c : list) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && c != '-' && c != ',') return std::nullopt;
    digits = digit ? digits + 1 : 0;
    if (digits > 5) return std::nullopt;
  }
  // `3-` would be a set without end.
  if (list.front() < '0' || list.front() > '9' || list.back() == '-') return std::nullopt;
  Bitmap set(hwloc_bitmap_alloc());
  if (!set || hwloc_bitmap_list_sscanf(set.get(), list.c_str()) != 0 || hwloc_bitmap_weight(set.get()) <= 0)
    return std::nullopt;
  return set;
}

/// A variable of the environment for as long as the object lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// The recorded files of sysfs in a folder of their own, for hwloc to read; removed with the object.
class CopiedRoot {
 public:
  explicit CopiedRoot(const trace::RankTrack& track) {
    std::string name = (fs::temp_directory_path() / "cox-locality-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return;
    root_ = name;
    for (const trace::LocalityFact& fact : track.locality) {
      // Paths are claims of a file: they must not lead out of the folder.
      if (!fact.path.starts_with(kRoot) || fact.path.find("..") != std::string::npos) continue;
      const fs::path file = root_ / fact.path.substr(1);
      std::error_code ec;
      fs::create_directories(file.parent_path(), ec);
      std::ofstream(file) << fact.value << '\n';
    }
  }
  CopiedRoot(const CopiedRoot&) = delete;
  CopiedRoot& operator=(const CopiedRoot&) = delete;
  ~CopiedRoot() {
    std::error_code ec;
    if (!root_.empty()) fs::remove_all(root_, ec);
  }
  [[nodiscard]] const fs::path& path() const { return root_; }

 private:
  fs::path root_;
};

/// The topology that a rank recorded; null where hwloc makes nothing of it.
Topology topology_of(const trace::RankTrack& track, const Bitmap& online) {
  const CopiedRoot root(track);
  if (root.path().empty()) return nullptr;
  const Variable where("HWLOC_FSROOT", root.path().c_str());
  const Variable how("HWLOC_COMPONENTS", "linux,stop");
  const Variable plugins("HWLOC_PLUGINS_PATH", root.path().c_str());  // none: they look at real devices
  const Variable quiet("HWLOC_HIDE_ERRORS", "2");
  const Variable foreign("HWLOC_THISSYSTEM", "0");
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  if (hwloc_topology_load(raw) != 0) return nullptr;
  // Its CPUs must be the recorded ones, or it looked elsewhere.
  return hwloc_bitmap_isequal(hwloc_topology_get_topology_cpuset(raw), online.get()) != 0
             ? std::move(topology)
             : nullptr;
}

/// A rank's CPUs, and what of the topology they touch.
struct Allowed {
  Bitmap cpus;
  Bitmap cores;  // all CPUs of the cores that it may use any CPU of
  bool bound = false;
};

Bitmap widen_to_cores(hwloc_topology_t topology, const Bitmap& cpus) {
  Bitmap wide(hwloc_bitmap_dup(cpus.get()));
  if (topology == nullptr) return wide;
  for (hwloc_obj_t core = nullptr;
       (core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr;)
    if (hwloc_bitmap_intersects(core->cpuset, cpus.get()) != 0)
      hwloc_bitmap_or(wide.get(), wide.get(), core->cpuset);
  return wide;
}

/// NUMA nodes of which a rank may use CPUs.
std::vector<int> numa_nodes_of(hwloc_topology_t topology, const Bitmap& cpus) {
  std::vector<int> nodes;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;)
    if (hwloc_bitmap_intersects(node->cpuset, cpus.get()) != 0)
      nodes.push_back(static_cast<int>(node->os_index));
  return nodes;
}

bool has(const std::vector<int>& nodes, int node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

bool meet(const std::vector<int>& a, const std::vector<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int node) { return has(b, node); });
}

int at_least_zero(int n) {
  return std::max(n, 0);
}

std::string_view text_of(const trace::RankTrack& track, const std::string& path) {
  const std::string* value = value_of(track, path);
  return value == nullptr ? std::string_view{} : std::string_view(*value);
}

/// A device of PCI that computes: 3D and other display controllers, processing accelerators, and what shows pictures
/// only where those who make GPUs made it. A server's console is none.
bool is_gpu(const trace::RankTrack& track, const std::string& folder) {
  const std::string_view kind = text_of(track, folder + "/class");
  if (kind.starts_with("0x0302") || kind.starts_with("0x0380") || kind.starts_with("0x12")) return true;
  const std::string_view vendor = text_of(track, folder + "/vendor");
  return kind.starts_with("0x0300") && (vendor == "0x10de" || vendor == "0x1002");
}

/// NUMA nodes of devices whose recorded path is `folder` NAME `file`; nothing where one of them says none (-1).
template <class Counts>
std::vector<int> nodes_of(const trace::RankTrack& track, std::string_view folder, std::string_view file,
                          const Counts& counts) {
  std::vector<int> nodes;
  for (const trace::LocalityFact& fact : track.locality) {
    if (!fact.path.starts_with(folder) || !fact.path.ends_with(file)) continue;
    if (!counts(fact.path.substr(0, fact.path.size() - file.size()))) continue;
    int node = -1;
    const char* end = fact.value.data() + fact.value.size();
    if (std::from_chars(fact.value.data(), end, node).ptr != end || node < 0) return {};
    if (!has(nodes, node)) nodes.push_back(node);
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

/// Where the devices of a machine are, which one of its ranks recorded.
void find_devices(const trace::RankTrack& track, NodeLocality& out) {
  const auto any = [](const std::string&) { return true; };
  out.gpus.nodes = nodes_of(track, "/sys/bus/pci/devices/", "/numa_node",
                            [&](const std::string& folder) { return is_gpu(track, folder); });
  constexpr std::string_view kFabric = "/sys/class/infiniband/";
  const bool fabric =
      std::any_of(track.locality.begin(), track.locality.end(),
                  [&](const trace::LocalityFact& fact) { return fact.path.starts_with(kFabric); });
  out.ports.nodes =
      nodes_of(track, fabric ? kFabric : std::string_view("/sys/class/net/"), "/device/numa_node", any);
}

NodeLocality describe(const std::string& host, const std::vector<const trace::RankTrack*>& tracks) {
  NodeLocality out;
  out.host = host;
  std::optional<Bitmap> online;
  Topology topology;
  for (const trace::RankTrack* track : tracks) {
    const std::string* text = value_of(*track, kOnline);
    if (text == nullptr) continue;
    online = set_of(*text);
    if (online) topology = topology_of(*track, *online);
    if (topology) find_devices(*track, out);
    break;
  }
  if (online) out.cpus = hwloc_bitmap_weight(online->get());
  if (topology) {
    out.source = "hwloc";
    out.packages = at_least_zero(hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_PACKAGE));
    out.numa_nodes = at_least_zero(hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_NUMANODE));
    out.cores = at_least_zero(hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE));
  }
  std::vector<Allowed> all;
  for (const trace::RankTrack* track : tracks) {
    const std::string* text = value_of(*track, "affinity");
    auto cpus = text == nullptr ? std::nullopt : set_of(*text);
    if (!cpus) continue;
    Allowed a{.cpus = *std::move(cpus), .cores = nullptr, .bound = false};
    a.cores = widen_to_cores(topology.get(), a.cpus);
    a.bound = online && hwloc_bitmap_isincluded(online->get(), a.cpus.get()) == 0;
    out.bound += a.bound ? 1 : 0;
    if (topology && a.bound) {
      const std::vector<int> nodes = numa_nodes_of(topology.get(), a.cpus);
      out.across_numa_nodes += nodes.size() > 1 ? 1 : 0;
      for (DeviceNodes* devices : {&out.gpus, &out.ports})
        if (!devices->nodes.empty() && !meet(nodes, devices->nodes)) devices->away.push_back(track->rank);
    }
    out.known.push_back(track->rank);
    all.push_back(std::move(a));
  }
  out.ranks = static_cast<int>(all.size());
  // Each against the union of the others': what one uses, and what two or more use.
  const Bitmap once(hwloc_bitmap_alloc());
  const Bitmap twice(hwloc_bitmap_alloc());
  const Bitmap both(hwloc_bitmap_alloc());
  for (const Allowed& a : all) {
    if (!a.bound) continue;
    hwloc_bitmap_and(both.get(), once.get(), a.cores.get());
    hwloc_bitmap_or(twice.get(), twice.get(), both.get());
    hwloc_bitmap_or(once.get(), once.get(), a.cores.get());
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].bound && hwloc_bitmap_intersects(all[i].cores.get(), twice.get()) != 0)
      out.sharing.push_back(out.known[i]);
  out.sharing_cores = static_cast<int>(out.sharing.size());
  return out;
}

}  // namespace

std::vector<NodeLocality> understand_locality(const Matched& matched) {
  std::vector<NodeLocality> out;
  for (const trace::Node& node : matched.nodes()) {
    std::vector<const trace::RankTrack*> tracks;
    for (const trace::RankTrack& track : matched.tracks())
      if (track.node == node.id && !track.locality.empty()) tracks.push_back(&track);
    if (!tracks.empty()) out.push_back(describe(node.host, tracks));
  }
  return out;
}

}  // namespace cox::diagnose
