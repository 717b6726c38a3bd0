// SPDX-License-Identifier: Apache-2.0
#include "diagnose/operations/graph_path.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {

std::vector<std::string> describe(const GraphPath& path) {
  constexpr std::size_t kNames = 3;
  std::vector<std::string> lines;
  std::int64_t collectives = 0;
  for (const GraphKind& k : path.kinds)
    if (k.kind == model::OperationKind::Collective) collectives = k.operations;
  lines.push_back(
      fmt::format("{} of {}, {} of them collectives; dependencies: {}", counted(path.operations, "operation"),
                  counted(static_cast<std::int64_t>(path.ranks.size()), "rank"), collectives, path.edges));
  if (path.times) {
    const GraphTimes& t = *path.times;
    lines.push_back(fmt::format("longest chain {} over {}; all operations together {}: {:.2f} at a time",
                                to_string(t.makespan), counted(t.path_operations, "operation"),
                                to_string(t.work), t.parallelism_ratio));
    for (std::size_t i = 0; i < std::min(t.names.size(), kNames); ++i)
      if (t.makespan > Duration::zero())
        lines.push_back(fmt::format("{} of the chain is {}", percent(ratio(t.names[i].on_path, t.makespan)),
                                    t.names[i].name));
  }
  lines.insert(lines.end(), path.limits.begin(), path.limits.end());
  return lines;
}

}  // namespace cox::diagnose
