// SPDX-License-Identifier: Apache-2.0
#include "learn/drive/drive.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/sync/pairs.hpp"

namespace cox::learn {
namespace {

/// Somebody stays, and whoever joins has the speed of a machine that there is.
Status check_members(const Elastic& elastic, int workers) {
  // Whoever joins before others leave stays.
  const bool leave = elastic.leave > Seconds{} && !(elastic.join > Seconds{} && elastic.join < elastic.leave);
  if (elastic.count < workers || (elastic.count == workers && !leave)) return {};
  return fail({.code = Errc::InvalidInput,
               .id = "learn-002",
               .message = fmt::format("k is {}, and there are {} workers: {}", elastic.count, workers,
                                      leave ? "nobody would stay" : "not all who join had anybody's speed"),
               .hint = leave ? "somebody has to stay: say a smaller k" : "say a smaller k",
               .where = std::nullopt});
}

}  // namespace

std::string graph_misfit(const Way& way, int workers) {
  if (way.rule == Rule::Gossip) return sync::graph_misfit(way.graph, workers);
  if (way.rule == Rule::Pairs) return sync::pairs_misfit(way.graph, workers);
  return {};
}

Status stream_ruled(const model::Scenario& scenario, const Way& way, const model::Compression& wire,
                    std::int64_t steps, std::uint64_t seed, const simulate::UpdateSink& sink,
                    const Beside& beside) {
  COX_ASSERT(way.rule != Rule::Policy, "simulate plays policies");
  COX_TRY(const ComputeTimes compute, ComputeTimes::make(scenario, steps, seed));
  if (std::string why = graph_misfit(way, compute.workers()); !why.empty())
    return fail({.code = Errc::InvalidInput,
                 .id = "learn-002",
                 .message = std::move(why),
                 .hint = kGraphHint,
                 .where = std::nullopt});
  const Prices prices(scenario, wire);
  switch (way.rule) {
    case Rule::Policy:
      break;
    case Rule::Rounds:
      drive_rounds(compute, prices, way, seed, sink, beside);
      break;
    case Rule::Gossip:
      drive_gossip(compute, prices, way, sink);
      break;
    case Rule::Pairs:
      drive_pairs(compute, prices, way, seed, sink);
      break;
    case Rule::Shards:
      if (way.sharding == Sharding::Servers)
        drive_servers(compute, prices, way, sink, beside);
      else
        drive_shards(compute, prices, way, pipeline_times(scenario), sink);
      break;
    case Rule::Groups:
    case Rule::Bound:
      COX_CHECK(check_members(way.elastic, compute.workers()));
      drive_groups(compute, prices, way, sink, beside);
      break;
  }
  return {};
}

}  // namespace cox::learn
