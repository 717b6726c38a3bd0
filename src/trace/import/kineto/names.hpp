// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the words of a profiler trace mean: categories, kernel names, calls of the runtime, element types.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/collective.hpp"

namespace cox::trace::kineto {

/// What an event is, after its category; spellings of 2021 and of today.
enum class Category : std::uint8_t {
  Unknown,        ///< none given, or one that nobody here knows
  Uninteresting,  ///< known, and nothing is taken from it: flows, overhead of the profiler, memory marks
  Kernel,
  Copy,        ///< memcpy, memset
  Runtime,     ///< call of the device's runtime or driver on the host
  HostOp,      ///< framework operator
  Annotation,  ///< of the program, on the host
  DeviceSync,  ///< `cuda_sync`: a synchronisation as the device saw it
  PythonFrame,
};
[[nodiscard]] Category category_of(std::string_view text);

/// What a name means within its category.
enum class NameKind : std::uint8_t {
  Plain,
  Collective,      ///< kernel that communicates; host operator of a CPU back end
  Copy,            ///< kernel of a device that moves data by kernels
  CollectiveCall,  ///< `nccl:all_reduce`: annotation around the call, not its execution
  CommsRecord,     ///< `record_param_comms`
  HostSync,
  Allocation,
  Step,
  OptimizerStep,
  DataLoad,
  Gc,
};
struct NameMeaning {
  NameKind kind = NameKind::Plain;
  model::Collective collective = model::Collective::Other;
  std::int64_t step = -1;
};
[[nodiscard]] NameMeaning meaning_of(Category category, std::string_view name);

/// The collective that a text names, e.g. `ncclDevKernel_AllReduce_Sum_f32_RING_LL`, `_allgather_base`,
/// `all_to_allv`; nothing where it names none.
[[nodiscard]] std::optional<model::Collective> collective_in(std::string_view text);

/// Size of one element of a PyTorch type, `Float` or `c10::BFloat16`; zero where unknown.
[[nodiscard]] Bytes element_size(std::string_view type);

/// Strings of a file, each once, by their raw JSON bytes. Finding one costs a hash of its bytes. Of longer
/// ones the first `kMaxText` bytes are kept; the rest tells them apart by length and hash only.
class TextTable {
 public:
  static constexpr std::size_t kMaxText = 4096;
  /// Index of the text, in order of first sight.
  [[nodiscard]] std::uint32_t index(std::string_view raw);
  [[nodiscard]] std::string_view text(std::uint32_t index) const {
    return std::string_view(bytes_).substr(entries_[index].offset,
                                           std::min<std::size_t>(entries_[index].size, kMaxText));
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::uint64_t hash;
    std::uint64_t offset;
    std::uint32_t size;
  };
  void grow();

  std::vector<std::uint32_t> slots_;  // index + 1; 0 = free
  std::vector<Entry> entries_;
  std::string bytes_;
};

/// Bytes of a JSON string (without its quotes) as text; escapes that make no sense stay as they are.
[[nodiscard]] std::string unescape(std::string_view raw);

}  // namespace cox::trace::kineto
