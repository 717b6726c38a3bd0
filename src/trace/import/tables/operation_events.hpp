// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the types of a table of operations mean: their groups, and the events
/// that they are for everybody else.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "cox/model/collective.hpp"
#include "cox/trace/run.hpp"

#include "trace/import/part/part_builder.hpp"

namespace cox::trace {

/// Who takes part in an operation.
enum class OperationGroup : std::uint8_t {
  None,
  Data,
  Pipeline,
  Ends,
  World,
  Alike,  ///< Data where ranks have places, else World
};

struct OperationMeaning {
  OperationKind kind = OperationKind::Compute;
  OperationGroup group = OperationGroup::None;
  model::Collective collective = model::Collective::Other;
  PhaseKind phase = PhaseKind::Other;  ///< of compute
  int peer = 0;                        ///< of sends and receives: the peer's stage minus the own
};

/// Meaning of a type by its name; unknown ones are compute.
/// Source: op types of the artifact of "Understanding Stragglers in Large Model Training Using What-if
/// Analysis" (OSDI 2025), its readme and metatypes.
[[nodiscard]] OperationMeaning meaning_of(std::string_view type);

/// Communicators by the roles of the ranks: one per data group (same stage), pipeline (same data rank), pair
/// of first and last stage, and one of all.
class OperationGroups {
 public:
  explicit OperationGroups(PartBuilder& builder);
  /// kNoComm where the rank's role does not tell.
  [[nodiscard]] CommId of(OperationGroup group, std::size_t track) const;

 private:
  std::vector<std::array<CommId, 5>> comms_;  ///< [track][group]
};

/// Makes events of the program: step marks, phases of compute, collectives,
/// and waits for pipeline neighbours.
void add_operation_events(PartBuilder& builder, const OperationGroups& groups);

}  // namespace cox::trace
