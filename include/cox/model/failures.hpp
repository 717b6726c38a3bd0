// SPDX-License-Identifier: Apache-2.0
/// \file
/// What stops a whole job, what going on costs, and what each start of it takes. How it is played:
/// docs/concepts/failures.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/units.hpp"

namespace cox::model {

/// What there is several of, and fails one at a time.
enum class FailureUnit : std::uint8_t {
  Node,
  Device,
  Link,    ///< a card and its cable: takes its node down
  Switch,  ///< a leaf: takes all its nodes down
  Job,     ///< what no component causes (software, people): takes no node down
};
[[nodiscard]] std::string_view name_of(FailureUnit unit);

/// Components that are alike: each fails at the same rate, exponentially, alone.
struct FailureClass {
  std::string name{};
  FailureUnit per = FailureUnit::Node;
  Seconds mtbf{};     ///< of one component
  Seconds restart{};  ///< instead of `Failures::restart`
  Seconds repair{};   ///< instead of `Failures::repair`
};

struct Failures {
  Seconds node_mtbf{};  ///< zero = none
  double weibull_shape = 1;
  Seconds job_mtbf{};             ///< of what no node causes (software, people), exponential; zero = none
  Seconds restart{};              ///< what does not grow with the job
  Seconds restart_per_node{};     ///< rendezvous, communicators: one after the other
  Seconds restart_per_pair{};     ///< per node and node
  Seconds restart_spread{};       ///< scale of what a node takes on its own; the slowest is waited for
  double restart_tail = 0;        ///< shape of its generalised Pareto law: 0 is exponential
  int cold_steps = 0;             ///< after a restart
  double cold_factor = 1;         ///< times as long
  Seconds checkpoint{};           ///< for which one holds up the job
  Seconds checkpoint_interval{};  ///< zero = none are written
  Seconds checkpoint_write{};     ///< beside the steps, before it can be used
  Bytes checkpoint_size{};        ///< of all nodes together
  Bandwidth storage{};  ///< that all nodes share, for writing and for reading at a restart; zero = no limit
  std::vector<FailureClass> classes{};  ///< beside nodes and job
  Seconds repair{};           ///< until a node that failed stands by again; zero = another is there at once
  int spares = 0;             ///< nodes that stand by
  Bytes checkpoint_delta{};   ///< of a checkpoint that holds changes only
  int full_every = 1;         ///< every so many checkpoints, one is full; the others are deltas
  double unreadable = 0;      ///< probability that a checkpoint cannot be read at a restart
  Seconds near_checkpoint{};  ///< for which a checkpoint into the nodes' own memory holds up the job
  Seconds near_interval{};    ///< zero = none
  double near_survives = 0;   ///< part of the failures after which those can be read

  [[nodiscard]] bool happen() const {
    return node_mtbf > Seconds{} || job_mtbf > Seconds{} || !classes.empty();
  }
  /// Checkpoints are written or something fails: steps are not all that a job's time goes into.
  [[nodiscard]] bool lengthen() const {
    return happen() || checkpoint_interval > Seconds{} || near_interval > Seconds{};
  }
};

/// What each start of the job takes before its first step: the first one, and those after failures.
struct Startup {
  Seconds fixed{};        ///< what does not grow with the job
  Seconds per_rank{};     ///< of each communicator, times its ranks: rendezvous, addresses
  Seconds per_pair{};     ///< of each communicator, times the square of its ranks: connections
  int communicators = 1;  ///< of all ranks, made one after the other
  Bytes read{};           ///< by each node: programs, data set index, weights
  Bandwidth storage{};    ///< that all nodes share for it
  Seconds spread{};  ///< scale of what a node takes on its own, beside reading; the slowest is waited for
  double tail = 0;   ///< shape of its generalised Pareto law: 0 is exponential

  [[nodiscard]] bool takes_time() const {
    return fixed > Seconds{} || per_rank > Seconds{} || per_pair > Seconds{} || spread > Seconds{} ||
           read > Bytes{};
  }
};

}  // namespace cox::model
