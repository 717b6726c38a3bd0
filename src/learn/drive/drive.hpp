// SPDX-License-Identifier: Apache-2.0
/// \file
/// Drivers of rules that `simulate` does not know: computing as it draws it, messages in closed form.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/learn/way.hpp"
#include "cox/model/compression.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/training.hpp"

#include "learn/drive/compute_times.hpp"
#include "learn/drive/prices.hpp"
#include "learn/drive/server_load.hpp"

namespace cox::learn {

/// The bound that holds from now on; asked after each update. Empty: the policy's own stays.
using BoundNow = std::function<int()>;

/// How much of each shard step `step` of a worker reads and brings: into `parts`, one for each, as a part of the shard's bytes; 0 = nothing.
using StepNeeds = std::function<void(int worker, std::int64_t step, std::vector<double>& parts)>;

/// What a driver asks and tells beside the stream.
struct Beside {
  BoundNow bound{};
  StepNeeds needs{};                         ///< sparse pulls; empty: all of every shard
  std::vector<ServerLoad>* loads = nullptr;  ///< of servers with a shard each, when the run is over
  std::int64_t* copies = nullptr;            ///< steps that were begun again (speculative)
  std::int64_t* lost_steps = nullptr;        ///< that were computed, and left with their workers (elastic)
};

/// Every event of one run under the way's rules, in order of time, until a worker is out of `steps` steps or the sink ends it.
/// Pre: the way's rule is not Policy (asserted). Errors: those of ComputeTimes; learn-002 (numbers that do not fit the workers).
/// Deterministic. Held by: src/learn/drive/drive_test.cpp
[[nodiscard]] Status stream_ruled(const model::Scenario& scenario, const Way& way,
                                  const model::Compression& wire, std::int64_t steps, std::uint64_t seed,
                                  const simulate::UpdateSink& sink, const Beside& beside = {});

/// Rounds: whoever has delivered is summed, whoever is newly drawn reads the parameters from one who was there. A copy takes what its
/// worker would, drawn beside its own steps; work and data of others are at hand, and all take part in the sum.
void drive_rounds(const ComputeTimes& compute, const Prices& prices, const Way& way, std::uint64_t seed,
                  const simulate::UpdateSink& sink, const Beside& beside = {});
/// Why the workers do not make the way's graph; empty where they do, and where it has none.
[[nodiscard]] std::string graph_misfit(const Way& way, int workers);
/// What to do then.
inline constexpr const char* kGraphHint =
    "gossip-exponential or gossip-asynchronous, which go with any number; or other workers";
/// Gossip: a worker that has computed sends its parameters to all that hear it, one after the other, and then waits.
void drive_gossip(const ComputeTimes& compute, const Prices& prices, const Way& way,
                  const simulate::UpdateSink& sink);
/// Pairs: messages of an exchange go both ways at once, and whoever answers is in one exchange at a time. Computing goes on beside it.
void drive_pairs(const ComputeTimes& compute, const Prices& prices, const Way& way, std::uint64_t seed,
                 const simulate::UpdateSink& sink);
/// Groups: each is a worker of the stream. A step inside one ends with a sum; between them, a message to the servers, which take
/// one after the other, and the parameters back; or every so many steps a sum over one member of each.
/// By speed: workers in the order of the mean of their first ten steps (a job would have measured it), the fastest group first; seats have
/// the data, whoever sits there. Elastic: groups of one; whoever joins gets the parameters from one who is there, or from the servers.
/// What somebody who leaves had under way is lost. In a sum both wait for its end.
/// Pre: the groups' size divides the workers (asserted); fewer leave than there are.
void drive_groups(const ComputeTimes& compute, const Prices& prices, const Way& way,
                  const simulate::UpdateSink& sink, const Beside& beside = {});

/// What a pipeline of the job's layers takes beside its workers' steps.
struct PipelineTimes {
  double forward = 0;  ///< part of a step that is forward
  Seconds message{};   ///< activations between stages: those of a layer, in the mean
};
[[nodiscard]] PipelineTimes pipeline_times(const model::Scenario& scenario);
/// Shards: blocks of one memory; or stages, each of which takes an equal part of what its worker's step
/// computes, whose draws come again after the job's steps.
void drive_shards(const ComputeTimes& compute, const Prices& prices, const Way& way,
                  const PipelineTimes& stages, const simulate::UpdateSink& sink);
/// Servers with a shard and ports of their own. Held by: src/learn/drive/drive_servers_test.cpp
void drive_servers(const ComputeTimes& compute, const Prices& prices, const Way& way,
                   const simulate::UpdateSink& sink, const Beside& beside);

}  // namespace cox::learn
