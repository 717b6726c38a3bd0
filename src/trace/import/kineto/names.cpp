// SPDX-License-Identifier: Apache-2.0
#include "trace/import/kineto/names.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

namespace cox::trace::kineto {
namespace {

using model::Collective;

/// Names made to collide would otherwise cost quadratic time; beyond this many they are stored again.
constexpr int kMaxProbes = 128;

/// Lower case letters and digits only, up to an argument list: `_allgather_base` and `AllGather` meet.
std::string squeeze(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, text.find('('))) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Kernels of NCCL since 2.4, RCCL, MSCCL and oneCCL. Source: names in traces
/// and in the libraries' own builds.
bool communicates(std::string_view kernel) {
  return kernel.starts_with("nccl") || kernel.starts_with("rccl") || kernel.starts_with("mscclKernel") ||
         kernel.starts_with("collective_subgraph_execution") || kernel.starts_with("oneccl_") ||
         kernel.starts_with("hccl") || holds(kernel.substr(0, kernel.find('(')), "ncclDevKernel") ||
         holds(kernel.substr(0, kernel.find('(')), "ncclKernel");
}

/// `gloo:all_reduce` -> `gloo`; empty where it is no such name.
std::string_view backend_in(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon > 8 || name.substr(colon).starts_with("::"))
    return {};
  const std::string_view backend = name.substr(0, colon);
  for (const char c : backend)
    if (c < 'a' || c > 'z') return {};
  return backend;
}

std::optional<std::int64_t> number_after(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), n);
  if (error != std::errc() || end != name.data() + name.size() || n < 0) return std::nullopt;
  return n;
}

NameMeaning meaning_of_call(std::string_view name) {
  if (holds(name, "Synchronize")) return {.kind = NameKind::HostSync};
  static constexpr std::array<std::string_view, 8> kAllocation = {
      "cudaMalloc", "cudaFree", "cudaHostAlloc", "cuMem",
      "hipMalloc",  "hipFree",  "hipHostMalloc", "hipMemCreate"};
  for (const std::string_view prefix : kAllocation) {
    if (!name.starts_with(prefix)) continue;
    // The driver's cuMemcpy and cuMemset move data, they do not allocate.
    if (name.starts_with("cuMemcpy") || name.starts_with("cuMemset")) break;
    return {.kind = NameKind::Allocation};
  }
  return {};
}

NameMeaning meaning_on_host(std::string_view name) {
  if (name == "record_param_comms") return {.kind = NameKind::CommsRecord};
  if (const auto step = number_after(name, "ProfilerStep#")) return {.kind = NameKind::Step, .step = *step};
  if (name.starts_with("Optimizer.step#")) return {.kind = NameKind::OptimizerStep};
  if (name.starts_with("enumerate(DataLoader)")) return {.kind = NameKind::DataLoad};
  if (name.starts_with("Python GC") || name.starts_with("gc.collect") || name.starts_with("Garbage"))
    return {.kind = NameKind::Gc};
  const std::string_view backend = backend_in(name);
  if (backend.empty()) return {};
  const auto collective = collective_in(name.substr(backend.size() + 1));
  if (!collective) return {};
  // These run where they are seen; the others only hand work to a device.
  const bool runs_here = backend == "gloo" || backend == "mpi" || backend == "ucc";
  return {.kind = runs_here ? NameKind::Collective : NameKind::CollectiveCall, .collective = *collective};
}

void append_utf8(std::string& out, std::uint32_t c) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | (c >> 6));
    return put(0x80 | (c & 0x3f));
  }
  if (c < 0x10000) {
    put(0xe0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3f));
    return put(0x80 | (c & 0x3f));
  }
  put(0xf0 | (c >> 18));
  put(0x80 | ((c >> 12) & 0x3f));
  put(0x80 | ((c >> 6) & 0x3f));
  put(0x80 | (c & 0x3f));
}

/// Four hexadecimal digits after `\u` at `at`.
std::optional<std::uint32_t> code_unit(std::string_view raw, std::size_t at) {
  std::uint32_t unit = 0;
  if (at + 6 > raw.size() || raw[at] != '\\' || raw[at + 1] != 'u') return std::nullopt;
  const auto [end, error] = std::from_chars(raw.data() + at + 2, raw.data() + at + 6, unit, 16);
  if (error != std::errc() || end != raw.data() + at + 6) return std::nullopt;
  return unit;
}

std::uint64_t load(const char* at, std::size_t n) {
  std::uint64_t v = 0;
  std::memcpy(&v, at, n);
  return v;
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const auto wide = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(wide) ^ static_cast<std::uint64_t>(wide >> 64);
}

/// Multiply and fold, 16 bytes at a time: kernel names are long.
std::uint64_t hash_of(std::string_view s) {
  constexpr std::uint64_t kA = 0x9e3779b97f4a7c15ULL;
  constexpr std::uint64_t kB = 0xe7037ed1a0b428dbULL;
  std::uint64_t h = s.size() * kA;
  const char* at = s.data();
  std::size_t left = s.size();
  for (; left >= 16; at += 16, left -= 16) h = mix(load(at, 8) ^ kA ^ h, load(at + 8, 8) ^ kB);
  if (left >= 8)
    h = mix(load(at, 8) ^ kA ^ h, load(at + left - 8, 8) ^ kB);
  else if (left > 0)
    h = mix(load(at, left) ^ kA ^ h, kB);
  return mix(h ^ kB, kA);
}

}  // namespace

/// Source: Kineto's ActivityType.h, and traces of 2021.
Category category_of(std::string_view t) {
  static constexpr std::array<std::pair<std::string_view, Category>, 47> kKnown{{
      {"cpu_op", Category::HostOp},
      {"Operator", Category::HostOp},
      {"hpu_op", Category::HostOp},
      {"kernel", Category::Kernel},
      {"Kernel", Category::Kernel},
      {"mtia_ccp_events", Category::Kernel},
      {"mtia_workloadd", Category::Uninteresting},
      {"mtia_insight", Category::Uninteresting},
      {"gpu_memcpy", Category::Copy},
      {"gpu_memset", Category::Copy},
      {"Memcpy", Category::Copy},
      {"Memset", Category::Copy},
      {"cuda_runtime", Category::Runtime},
      {"cuda_driver", Category::Runtime},
      {"Runtime", Category::Runtime},
      {"hip_runtime", Category::Runtime},
      {"hip_driver", Category::Runtime},
      {"hip", Category::Runtime},
      {"xpu_runtime", Category::Runtime},
      {"mtia_runtime", Category::Runtime},
      {"privateuse1_runtime", Category::Runtime},
      {"privateuse1_driver", Category::Runtime},
      {"user_annotation", Category::Annotation},
      {"gpu_user_annotation", Category::Uninteresting},
      {"cuda_sync", Category::DeviceSync},
      {"python_function", Category::PythonFrame},
      {"Python", Category::PythonFrame},
      {"cpu_instant_event", Category::Uninteresting},
      {"ac2g", Category::Uninteresting},
      {"async", Category::Uninteresting},
      {"async_cpu_to_gpu", Category::Uninteresting},
      {"async_gpu", Category::Uninteresting},
      {"fwdbwd", Category::Uninteresting},
      {"forward_backward", Category::Uninteresting},
      {"overhead", Category::Uninteresting},
      {"Trace", Category::Uninteresting},
      {"Communication", Category::Uninteresting},
      {"cuda_profiler_range", Category::Uninteresting},
      {"collective_comm", Category::Kernel},
      {"glow_runtime", Category::Uninteresting},
      {"xpu_driver", Category::Runtime},
      {"xpu_sync", Category::DeviceSync},
      {"xpu_scope_profiler", Category::Uninteresting},
      {"cuda_event", Category::Uninteresting},
      {"mtia_counters", Category::Uninteresting},
      {"hardware_counters", Category::Uninteresting},
      {"external_correlation", Category::Uninteresting},
  }};
  for (const auto& [name, category] : kKnown)
    if (t == name) return category;
  return Category::Unknown;
}

std::optional<Collective> collective_in(std::string_view text) {
  const std::string s = squeeze(text);
  // Longer words first: ReduceScatter holds Reduce, AllGather holds Gather.
  static constexpr std::array<std::pair<std::string_view, Collective>, 14> kWords{{
      {"allreduce", Collective::AllReduce},
      {"reducescatter", Collective::ReduceScatter},
      {"allgather", Collective::AllGather},
      {"alltoall", Collective::AllToAll},
      {"all2all", Collective::AllToAll},
      {"sendrecv", Collective::SendRecv},
      {"broadcast", Collective::Broadcast},
      {"barrier", Collective::Barrier},
      {"scatter", Collective::Scatter},
      {"gather", Collective::Gather},
      {"reduce", Collective::Reduce},
      {"send", Collective::SendRecv},
      {"recv", Collective::SendRecv},
      {"receive", Collective::SendRecv},
  }};
  for (const auto& [word, collective] : kWords)
    if (holds(s, word)) return collective;
  return std::nullopt;
}

NameMeaning meaning_of(Category category, std::string_view name) {
  switch (category) {
    case Category::Kernel:
      if (name.starts_with("dma")) return {.kind = NameKind::Copy};  // MTIA
      if (!communicates(name)) return {};
      return {.kind = NameKind::Collective, .collective = collective_in(name).value_or(Collective::Other)};
    case Category::Runtime:
      return meaning_of_call(name);
    case Category::HostOp:
    case Category::Annotation:
      return meaning_on_host(name);
    case Category::PythonFrame:
      return name.starts_with("Python GC") ? NameMeaning{.kind = NameKind::Gc} : NameMeaning{};
    default:
      return {};
  }
}

Bytes element_size(std::string_view type) {
  if (const std::size_t colons = type.rfind("::"); colons != std::string_view::npos)
    type.remove_prefix(colons + 2);
  static constexpr std::array<std::pair<std::string_view, int>, 27> kSizes{{
      {"float", 4},      {"half", 2},         {"bfloat16", 2},
      {"double", 8},     {"longint", 8},      {"long", 8},
      {"int", 4},        {"short", 2},        {"shortint", 2},
      {"byte", 1},       {"char", 1},         {"unsignedchar", 1},
      {"signedchar", 1}, {"bool", 1},         {"float16", 2},
      {"float32", 4},    {"float64", 8},      {"int8", 1},
      {"uint8", 1},      {"int16", 2},        {"uint16", 2},
      {"int32", 4},      {"uint32", 4},       {"int64", 8},
      {"uint64", 8},     {"complexfloat", 8}, {"complexdouble", 16},
  }};
  const std::string s = squeeze(type);
  if (s.starts_with("float8")) return Bytes{1};
  for (const auto& [name, size] : kSizes)
    if (s == name) return Bytes{size};
  return Bytes{0};
}

std::uint32_t TextTable::index(std::string_view raw) {
  if (2 * entries_.size() >= slots_.size()) grow();
  const std::uint64_t hash = hash_of(raw);
  const std::size_t mask = slots_.size() - 1;
  const auto next = static_cast<std::uint32_t>(entries_.size());
  std::size_t at = hash & mask;
  for (int probes = 0; probes < kMaxProbes; ++probes, at = (at + 1) & mask) {
    const std::uint32_t slot = slots_[at];
    if (slot == 0) {
      slots_[at] = next + 1;
      break;
    }
    const Entry& e = entries_[slot - 1];
    if (e.hash == hash && e.size == raw.size() && text(slot - 1) == raw.substr(0, kMaxText)) return slot - 1;
  }
  entries_.push_back({.hash = hash, .offset = bytes_.size(), .size = static_cast<std::uint32_t>(raw.size())});
  bytes_.append(raw.substr(0, kMaxText));
  return next;
}

void TextTable::grow() {
  slots_.assign(std::max<std::size_t>(1024, 2 * slots_.size()), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t at = entries_[i].hash & mask;
    int probes = 0;
    while (slots_[at] != 0 && probes < kMaxProbes) {
      at = (at + 1) & mask;
      ++probes;
    }
    if (slots_[at] == 0) slots_[at] = static_cast<std::uint32_t>(i + 1);
  }
}

std::string unescape(std::string_view raw) {
  std::string out;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      out += raw[i];
      continue;
    }
    if (const auto unit = code_unit(raw, i)) {
      const auto low = code_unit(raw, i + 6);
      const bool pair = *unit >= 0xd800 && *unit < 0xdc00 && low && *low >= 0xdc00 && *low < 0xe000;
      append_utf8(out, pair ? 0x10000 + ((*unit - 0xd800) << 10) + (*low - 0xdc00) : *unit);
      i += pair ? 11 : 5;
      continue;
    }
    ++i;
    const std::size_t known = std::string_view("\"\\/nrtbf").find(raw[i]);
    if (known == std::string_view::npos) out += '\\';
    out += known == std::string_view::npos ? raw[i] : "\"\\/\n\r\t\b\f"[known];
  }
  return out;
}

}  // namespace cox::trace::kineto
