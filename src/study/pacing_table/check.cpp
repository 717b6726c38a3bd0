// SPDX-License-Identifier: Apache-2.0
#include "study/pacing_table/check.hpp"

#include <fmt/format.h>

#include <cmath>

namespace cox::study {
namespace {

tl::unexpected<Error> refuse(std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-003",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = std::nullopt});
}

bool is_positive(double v) {
  return std::isfinite(v) && v > 0;
}

}  // namespace

Status check_rows(std::span<const TableRow> rows) {
  if (rows.size() < 3 || rows.size() > 100)
    return refuse(fmt::format("the table has {} sizes, wanted 3 to 100", rows.size()),
                  "four parameters need at least three sizes with two numbers each");
  int before = 1;
  for (const TableRow& r : rows) {
    if (r.nodes <= before || r.nodes > 4096)
      return refuse(fmt::format("{} nodes after {}", r.nodes, before),
                    "list sizes in ascending order, from 2 to 4096");
    if (!is_positive(r.baseline_rate) || !is_positive(r.baseline_cv) || r.baseline_cv >= 1)
      return refuse(fmt::format("{} nodes: throughput {}, CV {}", r.nodes, r.baseline_rate, r.baseline_cv),
                    "a throughput is positive and a coefficient of variation lies between 0 and 1");
    before = r.nodes;
  }
  return {};
}

Status check_assumptions(const TableAssumptions& a) {
  if (a.samples_per_node < 1 || a.samples_per_node > 1'000'000)
    return refuse(fmt::format("{} samples per node", a.samples_per_node), "give 1 to 1000000");
  if (!(a.slow_share >= 0 && a.slow_share <= 1) || !(a.slow_factor >= 1 && a.slow_factor <= 100))
    return refuse(fmt::format("a share {} of the nodes is slow by {}", a.slow_share, a.slow_factor),
                  "give a share from 0 to 1 and a factor from 1 to 100");
  if (a.steps < 1 || a.steps > 1'000'000 || a.seeds < 2 || a.seeds > 1000)
    return refuse(fmt::format("{} steps of {} seeds", a.steps, a.seeds),
                  "give 1 to 1000000 steps and 2 to 1000 seeds");
  return {};
}

Status check_sizes(std::span<const int> sizes, const TableAssumptions& a) {
  double steps = 0;
  for (const int n : sizes) {
    if (n < 1 || n > 4096) return refuse(fmt::format("{} nodes", n), "give sizes from 1 to 4096");
    steps += static_cast<double>(n) * a.steps * a.seeds;
  }
  if (sizes.empty() || sizes.size() > 100)
    return refuse(fmt::format("{} sizes", sizes.size()), "give 1 to 100 sizes");
  if (steps > 1e9)
    return refuse(fmt::format("{:g} steps of nodes in all, at most 1e9", steps), "take fewer steps or seeds");
  return {};
}

Status check_parameters(Mechanism m, const TableParameters& p) {
  bool good = is_positive(p.compute.count()) && is_positive(p.per_node.count());
  if (m == Mechanism::Timeouts)
    good = good && is_positive(p.timeout.count()) && is_positive(p.chance) && p.chance < 1;
  else
    good = good && is_positive(p.alone) && is_positive(p.spread);
  if (good) return {};
  return refuse(
      fmt::format("mechanism {}: a parameter is not positive, or its chance not below 1", name_of(m)),
      "take the parameters of a fit");
}

}  // namespace cox::study
