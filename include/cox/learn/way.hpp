// SPDX-License-Identifier: Apache-2.0
/// \file
/// A way of synchronising, whole: who meets whom, and what is done with what they bring.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"
#include "cox/learn/compressor.hpp"
#include "cox/learn/optimizer.hpp"
#include "cox/model/scenario.hpp"
#include "cox/sync/gossip_graph.hpp"
#include "cox/sync/rounds.hpp"

namespace cox::learn {

/// What an update's age takes off its step.
enum class AgeWeight : std::uint8_t {
  None,
  Inverse,      ///< 1 / (1 + age)
  Exponential,  ///< exp(-decay x age)
};

/// What becomes of an inner optimizer's state when a round of local steps begins.
enum class LocalState : std::uint8_t { Keep, Reset };

/// Whose rules say who meets whom.
enum class Rule : std::uint8_t {
  Policy,  ///< sync::Policy, played by simulate
  Rounds,  ///< sync::Rounds: drawn clients, the slowest dropped, time-outs
  Groups,  ///< sync::Groups: synchronous inside groups, the policy between them
  Gossip,  ///< sync::Gossip: every worker has parameters of its own, and takes in those of its neighbours
  Pairs,   ///< sync::Pairs: the same, with one neighbour at a time, and nobody waits for all
  Bound,   ///< the policy, whose bound follows the curvature that is measured on the way
  Shards,  ///< sync::Shards: parts of the parameters have versions of their own
};

/// What holds the shards.
enum class Sharding : std::uint8_t {
  Servers,   ///< each one, with ports of its own
  Pipeline,  ///< each stage its own weights, stashed from forward to backward (PipeDream)
  Memory,    ///< blocks of one memory, which workers read and write without a lock (Hogwild)
};

/// Who has a server's shard beside it.
enum class Standby : std::uint8_t {
  None,
  Synchronous,   ///< gets each update before anybody sees its version
  Asynchronous,  ///< gets a copy of the shard now and then
};

/// Servers with a shard each.
struct ServerSpec {
  bool sparse_pulls = false;  ///< a step reads and brings only the parameters that its samples need
  Bandwidth apply{};          ///< gradients that a server applies; zero: that takes no time
  Standby standby = Standby::None;
  std::int64_t copy_every = 8;  ///< Asynchronous: updates from copy to copy at least
  Seconds dies{};               ///< server `dead`; zero: none does
  int dead = 0;
  Seconds takes_over{0.1};  ///< from its death on until its standby serves
};

/// Workers that come and go, under Groups of one.
struct Elastic {
  int count = 0;    ///< that leave, the last ones, and that join; 0: nobody does
  Seconds leave{};  ///< zero: they stay
  Seconds join{};   ///< zero: nobody does. Each has the speed of a machine that left
};

/// The default is synchronous data parallelism.
struct Way {
  std::string name = "synchronous";  ///< as it was asked for
  model::PolicySpec policy{};  ///< where other rules are named: what workers bring, and how many local steps
  Rule rule = Rule::Policy;
  sync::RoundSpec rounds{};               ///< its local steps are the policy's, its seed the run's
  Seconds time_out{};                     ///< Rounds: from the first that delivers in a round on; zero = none
  int group = 1;                          ///< Groups: workers of each
  bool by_speed = false;                  ///< Groups: of workers that are alike fast, not of consecutive ones
  Elastic elastic{};                      ///< Groups of one
  sync::GossipSpec graph{};               ///< Gossip, Pairs
  Sharding sharding = Sharding::Servers;  ///< Shards
  int shards = 1;                         ///< Shards; 0 = as many as workers
  ServerSpec server{};                    ///< Shards on servers
  std::int64_t probe = 50;                ///< Bound: steps of each worker between two probes
  AgeWeight weight = AgeWeight::None;
  double decay = 0;  ///< of exponential weights, per version
  /// Synchronous for so many steps of each worker, then local: post-local SGD (Lin et al. 2020). 0 = local at once.
  std::int64_t synchronous_steps = 0;
  /// What the mean difference of a round of local steps goes through: sgd with rate 1 is the mean of the parameters
  /// (local SGD, FedAvg); nesterov with rate 0.7 is DiLoCo (Douillard et al. 2023).
  OptimizerSpec outer{.kind = OptimizerKind::Sgd, .rate = 1};
  LocalState local_state = LocalState::Keep;
  double proximal = 0;  ///< FedProx: of local steps, towards where the round began (Li et al. 2020)
  /// Elastic averaging: the part of the way to the workers' mean that the centre goes when it meets all; a worker goes that over
  /// their number to the centre. 0: there is none.
  double centre = 0;
  bool control_variates = false;  ///< SCAFFOLD, option II (Karimireddy et al. 2020)
  CompressorSpec compressor{};    ///< of what each worker brings

  /// Shards of a job of so many workers; 1 where all parameters have one version.
  [[nodiscard]] int shards_of(int workers) const {
    return rule != Rule::Shards ? 1 : shards > 0 ? shards : workers;
  }
  /// Workers bring differences of parameters, not gradients.
  [[nodiscard]] bool is_local() const {
    const bool meets = policy.kind == model::PolicyKind::LocalSgd;
    return centre > 0 || (meets && (policy.local_steps > 1 || outer.kind != OptimizerKind::Sgd ||
                                    outer.rate != 1 || proximal > 0 || control_variates));
  }
};

/// Reads `bounded-wait,staleness=3`: `synchronous`, `backup`, `bounded-wait`, `bounded-discard`, `asynchronous`,
/// `age-weighted` (asynchronous with weight 1 / (1 + age), or exp(-decay x age) where `decay` is given), `local-sgd`, `post-local`, `diloco`, `fedprox`, `scaffold`,
/// `fedavg` (the last three
/// with `fraction`, the part of the workers that each round draws), `easgd` and `easgd-asynchronous` (elastic averaging with `centre`, in rounds of all or without meetings), `drop` (the k slowest of a step are
/// interrupted), `time-out` (all who are not there so many seconds behind the first), `gossip-ring`, `-torus`, `-hypercube`, `-exponential`, `-complete`, `-star`, `-regular` (`degree` neighbours each; `draw`: which of the graphs), `gossip-asynchronous` (in pairs, on the `graph` halves, ring, torus, hypercube or star), `groups-asynchronous`, `groups-bounded-wait`,
/// `curvature-bound` (bounded-wait whose bound is at most `staleness` and follows a probe every `probe` steps), `groups-local-sgd` (with `by-speed=yes` groups are of alike fast workers; every step inside a group, between `group`s as the rest of the word says), `sharded-asynchronous` and `sharded-bounded-wait` (`servers` with versions of their own; `pull=sparse`: of what a step needs; `apply` gigabytes of gradients a second; `standby`, `every`, `dies`, `server`, `takes-over`: one that dies), `pipedream` (as many stages as workers),
/// `hogwild` (`blocks` of memory without locks), `speculative` (the work of the `k` last is begun again by those who are there), `elastic-` before synchronous, backup, bounded-wait,
/// bounded-discard, asynchronous and local-sgd (`k` workers leave at `leaves` and as many join at `joins`, in seconds), then what differs from the defaults; behind a plus what it is compressed by, as `synchronous+top-k,keep=0.01`. Local SGD with one local step and a mean is synchronous: gradients are
/// averaged. Errors: learn-001, one line that says what is allowed. Held by: src/learn/run/way_test.cpp
[[nodiscard]] Result<Way> read_way(std::string_view text);

}  // namespace cox::learn
