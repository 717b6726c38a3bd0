// SPDX-License-Identifier: Apache-2.0
#include "trace/import/nccl/nccl_ring.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cox::trace {
namespace {

/// Numbers that are not there between 0 and the last one.
struct Gap {
  std::uint64_t kept = 0;
  std::uint64_t missing = 0;
  std::uint64_t repeated = 0;
  std::uint32_t last = 0;
};

Gap gap_of(std::vector<std::uint32_t>& numbers) {
  Gap gap;
  if (numbers.empty()) return gap;
  std::sort(numbers.begin(), numbers.end());
  const auto distinct =
      static_cast<std::uint64_t>(std::unique(numbers.begin(), numbers.end()) - numbers.begin());
  gap.kept = numbers.size();
  gap.repeated = numbers.size() - distinct;
  numbers.resize(distinct);
  gap.last = numbers.back();
  // The first number may be 0 or 1; what lies before the first kept is missing too.
  const std::uint64_t first = numbers.front() == 0 ? 0 : 1;
  gap.missing = gap.last - first + 1 - distinct;
  return gap;
}

std::string text_of(const Gap& gap, std::string_view what) {
  if (gap.missing == 0) return {};
  std::string out = fmt::format("{} of {} {} {} missing (last number {})", gap.missing,
                                gap.missing + gap.kept, what, gap.missing == 1 ? "is" : "are", gap.last);
  for (const std::uint64_t ring : {1024U, 256U})
    if (gap.kept % ring == 0)
      return out + fmt::format(", kept exactly {} x {}: the ring overwrote the rest", gap.kept / ring, ring);
  return out + ": overwritten, or below the size limit of the recording";
}

}  // namespace

void NcclRing::add(bool message, model::Collective function, std::uint32_t sequence) {
  kept_[message ? kMessages : static_cast<std::size_t>(function)].push_back(sequence);
}

std::string NcclRing::describe() && {
  Gap apart;
  std::vector<std::uint32_t> all;
  std::size_t functions = 0;
  for (std::size_t f = 0; f < kMessages; ++f) {
    if (kept_[f].empty()) continue;
    ++functions;
    all.insert(all.end(), kept_[f].begin(), kept_[f].end());
    const Gap gap = gap_of(kept_[f]);
    apart.kept += gap.kept;
    apart.missing += gap.missing;
    apart.repeated += gap.repeated;
    apart.last = std::max(apart.last, gap.last);
  }
  const Gap together = gap_of(all);
  const bool one_count = functions > 1 && together.repeated == apart.repeated;
  std::string out = text_of(one_count ? together : apart, "collectives");
  const std::string messages = text_of(gap_of(kept_[kMessages]), "messages");
  if (!out.empty() && !messages.empty()) out += "; ";
  return out + messages;
}

}  // namespace cox::trace
