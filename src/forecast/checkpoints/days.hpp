// SPDX-License-Identifier: Apache-2.0
/// \file
/// A whole training from end to end: days, energy and cost, where they go, and the questions the other way round.
/// What is in it and what is not: docs/concepts/goodput.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/power.hpp"
#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

#include "forecast/checkpoints/goodput.hpp"

namespace cox::forecast {

/// A step of the job while nothing is down, mean over ranks. Parts add up to it.
struct StepBudget {
  Seconds compute{};
  Seconds communication{};  ///< that no computation hides
  Seconds waiting{};        ///< for others, or for input
  double tokens = 0;        ///< that it trains on, all ranks together
  [[nodiscard]] Seconds total() const { return compute + communication + waiting; }
};
/// At any number of nodes. Errors: its own (a size that the layout does not fit).
using BudgetAt = std::function<Result<StepBudget>(std::int64_t nodes)>;

/// The scenario at another number of nodes: as many more replicas of the model (layout.data), each as it is.
/// Errors: forecast-031 (not a training; no whole number of replicas or micro-batches; places by name).
/// Held by: src/forecast/checkpoints/days_test.cpp
[[nodiscard]] Result<model::Scenario> at_nodes(const model::Scenario& scenario, std::int64_t nodes,
                                               BatchRule rule);

/// Steps as `simulate` plays them, without failures and starts. `tokens_per_step` is that of the scenario as it is.
/// Cost: one simulation of `scenario.job.steps` steps a size.
[[nodiscard]] BudgetAt budget_of(const model::Scenario& scenario, double tokens_per_step, BatchRule rule,
                                 int threads = 1);

/// Steps of a model of so many parameters: 6 operations per parameter and token (Kaplan et al. 2020, section 2.1), at
/// `utilisation` of the devices' peak, and communication that is not hidden as a part of computation.
struct ModelWork {
  double parameters = 0;
  double tokens_per_step = 0;
  int devices_per_node = 8;
  FlopRate peak{};         ///< of a device
  double utilisation = 1;  ///< of it, while it computes
  double exposed = 0;      ///< communication over computation
};
[[nodiscard]] BudgetAt budget_of(const ModelWork& work);

/// Where a training's wall time goes. Text forms are the field names.
enum class DaysPart : std::uint8_t {
  Start,
  Compute,
  Communication,
  Waiting,
  Checkpoints,
  Rework,
  Restarts,
  Repair
};
inline constexpr std::size_t kDaysParts = 8;
[[nodiscard]] std::string_view name_of(DaysPart part);

/// Between which a training's time lies in nine of ten draws. Infinite = it never ends in some.
struct DaysBand {
  Seconds low{};
  Seconds high{};
};

/// Where the time of a training goes with its checkpoints so far apart.
struct DaysAt {
  Seconds total{};                          ///< the sum of `parts`; infinite = it never ends, and has none
  std::array<Seconds, kDaysParts> parts{};  ///< what of it
  Intervals intervals;                      ///< between checkpoints
  [[nodiscard]] double share(DaysPart part) const { return parts[static_cast<std::size_t>(part)] / total; }
};

/// One training on one number of nodes.
struct Days : DaysAt {
  std::int64_t nodes = 0;
  double tokens = 0;
  double steps = 0;
  std::optional<DaysAt>
      at_stated{};  ///< the same at the scenario's own interval, where `intervals` are the best
  std::optional<DaysBand> band{};  ///< of `total`; empty = nothing is drawn
  double goodput = 1;              ///< steps that count, over the time behind the start
  double failures = 0;             ///< mean number
  double node_hours = 0;           ///< with spares
  std::optional<Energy> energy;    ///< where a node's power is known
  std::optional<double> cost;      ///< node hours x price, where that is known
  std::string currency;
};

/// At the intervals of the scenario where `at_given` and it says some, else at the best ones.
/// Formula: tokens / tokens per step x step / goodput + first start; energy as docs/concepts/energy-and-cost.md says.
/// Errors: forecast-032 (no tokens; steps that do nothing; a job that gets nowhere), those of `budget`.
/// Held by: src/forecast/checkpoints/days_test.cpp (parts add up to 1e-9; C.20 by hand; `simulate` with failures)
[[nodiscard]] Result<Days> days(const model::Scenario& scenario, const BudgetAt& budget, double tokens,
                                std::int64_t nodes, bool at_given = false);

/// The least nodes, a multiple of `multiple`, that finish within `target`; where none does, the quickest.
struct NodesFor {
  bool reached = false;
  Days at;
  std::string why;        ///< not reached: what more nodes do instead
  std::int64_t most = 0;  ///< nodes up to which was looked
  std::optional<std::int64_t>
      nodes_low{};  ///< that nine of ten draws need; empty = as many in all, or not reached
  std::optional<std::int64_t>
      nodes_high{};  ///< likewise; empty beside `nodes_low` = in some draws no number of nodes is in time
};
/// Up to `most` nodes; sizes that the layout does not fit are passed over, and so are those on which what ranks compute alone takes longer
/// than `target`, unless no other is in time. Cost: about 40 budgets. Held by: src/forecast/checkpoints/days_test.cpp
/// Errors: forecast-032, those of `budget` where no size at all can be computed.
[[nodiscard]] Result<NodesFor> nodes_for(const model::Scenario& scenario, const BudgetAt& budget,
                                         double tokens, Seconds target, std::int64_t multiple,
                                         std::int64_t most);

/// What one number a fifth smaller or larger does to the days.
struct Sensitivity {
  std::string name;
  double at_less = 1;  ///< days over days as they are
  double at_more = 1;
};
/// Steps of a scenario that was changed.
using BudgetFrom = std::function<BudgetAt(const model::Scenario&)>;

/// Of computation, exposed communication, time between failures, checkpoint, restart: each alone, at the best interval. Where
/// `steps_of` is given steps are simulated again with layers that take other times (bubbles shrink with the work, and what it hid
/// surfaces), and, where collectives are priced by their rounds, with other links. Held by: src/forecast/checkpoints/days_test.cpp
[[nodiscard]] Result<std::vector<Sensitivity>> sensitivities(const model::Scenario& scenario,
                                                             const BudgetAt& budget, double tokens,
                                                             std::int64_t nodes,
                                                             const BudgetFrom& steps_of = {});

}  // namespace cox::forecast
