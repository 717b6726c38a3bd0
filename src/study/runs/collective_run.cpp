// SPDX-License-Identifier: Apache-2.0
#include "study/runs/collective_run.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cox/model/closed_form.hpp"

namespace cox::study {

simulate::LinkCosts uniform_links(Seconds latency, Bandwidth bandwidth) {
  simulate::LinkCosts costs;
  costs.across = {
      .form = model::CostForm::AlphaBeta, .latency = latency, .per_byte = bandwidth.time_per_byte()};
  costs.inside = costs.across;
  return costs;
}

simulate::LinkCosts two_level_links(const simulate::LinkCosts& inside, const simulate::LinkCosts& across,
                                    int ranks_per_node) {
  return {.inside = inside.across, .across = across.across, .ranks_per_node = ranks_per_node, .into = {}};
}

model::CollectiveSpec all_reduce(model::Algorithm algorithm, int ranks, Bytes bytes) {
  model::CollectiveSpec spec;
  spec.kind = model::Collective::AllReduce;
  spec.algorithm = algorithm;
  spec.ranks = ranks;
  spec.bytes = bytes;
  return spec;
}

Result<Seconds> idle_time(const model::CollectiveSpec& spec, const simulate::LinkCosts& costs) {
  COX_TRY(const model::Schedule schedule, model::Schedule::make(spec));
  std::vector<Seconds> times(static_cast<std::size_t>(schedule.ranks()), Seconds{0});
  simulate::CollectiveOptions options;
  options.closure = false;
  simulate::run_collective(schedule, costs, options, times);
  return *std::max_element(times.begin(), times.end());
}

Result<Seconds> checked_time(Computation& out, const std::string& name, const model::CollectiveSpec& spec,
                             const simulate::LinkCosts& costs) {
  COX_TRY(const Seconds time, idle_time(spec, costs));
  if (costs.uniform())
    if (const auto oracle = model::closed_form(spec, costs.across))
      out.checks.push_back({.name = name, .engine = Quantity::of(time), .oracle = Quantity::of(*oracle)});
  return time;
}

Result<Bytes> most_sent(const model::CollectiveSpec& spec) {
  COX_TRY(const model::Schedule schedule, model::Schedule::make(spec));
  const std::vector<Bytes> sent = model::bytes_sent(schedule);
  return *std::max_element(sent.begin(), sent.end());
}

Result<std::optional<Bytes>> crossing(Crossing c, const simulate::LinkCosts& few_rounds_links,
                                      const simulate::LinkCosts& few_bytes_links) {
  return crossing(
      [&](Bytes n) {
        c.few_rounds.bytes = n / c.parts;
        return idle_time(c.few_rounds, few_rounds_links);
      },
      [&](Bytes n) {
        c.few_bytes.bytes = n;
        return idle_time(c.few_bytes, few_bytes_links);
      });
}

Result<std::optional<Bytes>> crossing(const TimeOver& few_rounds, const TimeOver& few_bytes) {
  const auto slower = [&](std::int64_t n) -> Result<bool> {
    COX_TRY(const Seconds a, few_rounds(Bytes{n}));
    COX_TRY(const Seconds b, few_bytes(Bytes{n}));
    return b > a;
  };
  std::int64_t low = 1;
  std::int64_t high = std::int64_t{1} << 40;
  COX_TRY(const bool never, slower(high));
  if (never) return std::optional<Bytes>{};
  while (high - low > std::max<std::int64_t>(1, low >> 16)) {
    const std::int64_t middle = low + (high - low) / 2;
    COX_TRY(const bool still, slower(middle));
    (still ? low : high) = middle;
  }
  return std::optional(Bytes{high});
}

std::string cell_of(Seconds t) {
  return to_string(Quantity::of(t));
}
std::string cell_of_ratio(double ratio) {
  return to_string(Quantity::ratio(ratio));
}

void add(Computation& out, std::string name, Quantity value, std::string_view engine) {
  out.values.push_back({.name = std::move(name), .value = value, .engine = engine});
}

}  // namespace cox::study
