// SPDX-License-Identifier: Apache-2.0
#include "diagnose/cause/locality.hpp"

#include <hwloc.h>

#include <algorithm>
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

int numa_nodes_of(hwloc_topology_t topology, const Bitmap& cpus) {
  int count = 0;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;)
    count += hwloc_bitmap_intersects(node->cpuset, cpus.get()) != 0 ? 1 : 0;
  return count;
}

int at_least_zero(int n) {
  return std::max(n, 0);
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
    if (topology && a.bound && numa_nodes_of(topology.get(), a.cpus) > 1) ++out.across_numa_nodes;
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
  for (const Allowed& a : all)
    out.sharing_cores += a.bound && hwloc_bitmap_intersects(a.cores.get(), twice.get()) != 0 ? 1 : 0;
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
