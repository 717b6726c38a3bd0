// SPDX-License-Identifier: Apache-2.0
/// \file
/// Collectives on an idle network for studies: the max-plus engine, with the closed form as its oracle.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/schedule.hpp"
#include "cox/simulate/max_plus.hpp"
#include "cox/study/answer.hpp"

namespace cox::study {

inline constexpr std::string_view kMaxPlus = "max-plus";
inline constexpr std::string_view kFlow = "flow";  ///< links are shared
inline constexpr std::string_view kTraining = "training";
inline constexpr std::string_view kFluid = "fluid";  ///< all-reduces beside each other and a backward pass
inline constexpr std::string_view kSchedule = "schedule";       ///< counted on the collective's messages
inline constexpr std::string_view kReplay = "replay";           ///< an operation graph
inline constexpr std::string_view kDraws = "draws";             ///< random, over seeds
inline constexpr std::string_view kClosedForm = "closed-form";  ///< arithmetic on the inputs

/// alpha + n beta on every link.
[[nodiscard]] simulate::LinkCosts uniform_links(Seconds latency, Bandwidth bandwidth);
/// Two levels: inside nodes of `ranks_per_node`, and across them.
[[nodiscard]] simulate::LinkCosts two_level_links(const simulate::LinkCosts& inside,
                                                  const simulate::LinkCosts& across, int ranks_per_node);

[[nodiscard]] model::CollectiveSpec all_reduce(model::Algorithm algorithm, int ranks, Bytes bytes);

/// When the last rank leaves, where all arrive at zero. Every round is swept: no identity is used.
/// Errors: model-001.
[[nodiscard]] Result<Seconds> idle_time(const model::CollectiveSpec& spec, const simulate::LinkCosts& costs);
/// The same, and a check against the closed form where there is one and costs are uniform.
[[nodiscard]] Result<Seconds> checked_time(Computation& out, const std::string& name,
                                           const model::CollectiveSpec& spec,
                                           const simulate::LinkCosts& costs);
/// Bytes that the busiest participant sends, counted message by message. Errors: model-001.
[[nodiscard]] Result<Bytes> most_sent(const model::CollectiveSpec& spec);

/// Sizes at which two collectives take equally long.
struct Crossing {
  model::CollectiveSpec few_rounds;  ///< quicker for small messages
  model::CollectiveSpec few_bytes;
  int parts = 1;  ///< of the bytes, each by a collective of few rounds of its own beside the others
};
/// Smallest size, to a thousandth of its power of two, for which `few_bytes` is not slower, by bisection over
/// runs of the engine; nothing where there is none up to 2^40 bytes. `few_rounds_links` are those of the other one.
[[nodiscard]] Result<std::optional<Bytes>> crossing(Crossing c, const simulate::LinkCosts& few_rounds_links,
                                                    const simulate::LinkCosts& few_bytes_links);
/// The same of any two times over sizes.
using TimeOver = std::function<Result<Seconds>(Bytes)>;
[[nodiscard]] Result<std::optional<Bytes>> crossing(const TimeOver& few_rounds, const TimeOver& few_bytes);

/// Cells of a table, in the unit that reads best.
[[nodiscard]] std::string cell_of(Seconds t);
[[nodiscard]] std::string cell_of_ratio(double ratio);

void add(Computation& out, std::string name, Quantity value, std::string_view engine);

}  // namespace cox::study
