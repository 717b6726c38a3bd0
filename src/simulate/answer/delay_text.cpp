// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"
#include "cox/simulate/render.hpp"

namespace cox::simulate {
namespace {

constexpr int kDigits = 4;

/// `3.000 ms later`. A neighbour's burst that is met elsewhere may end a step before it would have.
std::string directed(Seconds by) {
  return by < Seconds{} ? to_string(-by, kDigits) + " earlier" : to_string(by, kDigits) + " later";
}

}  // namespace

std::vector<std::string> text_lines(const KeptDelay& kept) {
  std::vector<std::string> lines = {fmt::format("a delay of {} in step {}, beside the same draws without it:",
                                                to_string(kept.delay, kDigits), kept.step)};
  const auto tell = [&](std::size_t k) {
    const ReplicaSpread& d = kept.by[k];
    const std::string width =
        d.replicas > 1 ? fmt::format(" ± {} (95 %)", to_string(d.half_width_95, kDigits)) : std::string();
    lines.push_back(fmt::format("  step {:<8} {:>16}{}: {:.3f} of it",
                                kept.step + static_cast<std::int64_t>(k), directed(d.mean), width,
                                d.mean / kept.delay));
  };
  if (kept.by.empty()) return lines;
  // The first steps, then fewer and fewer, and the last.
  for (std::size_t k = 0; k < kept.by.size(); k = k < 2 ? k + 1 : 2 * k) tell(k);
  if (const std::size_t last = kept.by.size() - 1; kept.by.size() > 3 && (last & (last - 1)) != 0) tell(last);
  const auto late =
      std::ranges::count_if(kept.ranks, [&](Seconds d) { return d.count() > 1e-9 * kept.delay.count(); });
  if (!kept.ranks.empty()) {
    const auto [least, most] = std::ranges::minmax(kept.ranks);
    const std::string by = least < Seconds{} ? fmt::format("from {} to {}", directed(least), directed(most))
                                             : fmt::format("all by {} to {}", to_string(least, kDigits),
                                                           to_string(most, kDigits));
    lines.push_back(fmt::format("  at the end {} of {} ranks are later{}, {}", late, kept.ranks.size(),
                                kept.by[0].replicas > 1 ? " (first seed)" : "", by));
  }
  return lines;
}

}  // namespace cox::simulate
