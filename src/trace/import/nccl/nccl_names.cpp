// SPDX-License-Identifier: Apache-2.0
#include "trace/import/nccl/nccl_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace cox::trace {

NcclFunction nccl_function(std::string_view name) {
  const auto find = [](std::string_view n) {
    return n == "AlltoAll" ? model::Collective::AllToAll : model::collective_from_name(n);
  };
  if (const auto op = find(name)) return {.op = *op};
  if (name.ends_with('V'))
    if (const auto op = find(name.substr(0, name.size() - 1))) return {.op = *op, .variable = true};
  return {};
}

std::int64_t nccl_message_bytes(model::Collective op, std::int64_t bytes, int ranks) {
  const bool part = op == model::Collective::AllGather || op == model::Collective::ReduceScatter;
  std::int64_t whole = 0;
  if (__builtin_mul_overflow(bytes, part ? std::max(ranks, 1) : 1, &whole))
    return std::numeric_limits<std::int64_t>::max();
  return whole;
}

std::string nccl_title(std::string_view id, std::string_view name, std::string_view function) {
  return fmt::format("{}{}{} {}", id, name.empty() ? "" : " ", name, function);
}

}  // namespace cox::trace
