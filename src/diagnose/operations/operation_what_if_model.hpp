// SPDX-License-Identifier: Apache-2.0
/// \file
/// Recorded operations as a graph: who waits for whom is told from their types and the order of one step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/model/program.hpp"

namespace cox::diagnose {

/// What an operation is in a training step, by the name of its type.
enum class OperationRole : std::uint8_t {
  ForwardCompute,
  BackwardCompute,
  ForwardSend,
  ForwardReceive,
  BackwardSend,
  BackwardReceive,
  ParamsGather,
  GradsScatter,
  NormReduce,
  EmbeddingReduce,
  SeparateReduce,
  ClipGrads,
  Optimizer,
  Collection,       ///< of garbage
  Synchronization,  ///< a collective by its usual name: where the program stands when it comes to it
  Unknown,
};

struct OperationRule {
  std::string_view type;
  std::string_view merged;  ///< name under which results are given
  OperationRole role = OperationRole::Unknown;
  bool is_communication = false;
};
/// Unknown types are compute of their own name.
[[nodiscard]] OperationRule rule_of(std::string_view type);
[[nodiscard]] bool is_pipeline_message(OperationRole r);
/// Collectives of data parallelism that the paper's what-if sets to nothing.
[[nodiscard]] bool is_data_collective(OperationRole r);

/// Operations of one step and one replica of the model (one data and tensor rank), in an order that does not
/// depend on time: by stage, role, type and number.
struct SliceOperation {
  std::uint32_t index = 0;  ///< into the program
  int stage = 0;
  OperationRole role = OperationRole::Unknown;
  std::uint32_t type = 0;     ///< index into Program::names
  std::uint32_t ordinal = 0;  ///< among those of its rank and type, in their order
  int chunk = 0;              ///< of the model; 0 where not known
  Duration begin{};
  Duration end{};
};
inline constexpr std::uint32_t kNoPair = 0xffffffff;

/// Who waits for whom within a slice, by positions in it.
struct Schedule {
  std::vector<std::vector<std::uint32_t>> before;
  std::vector<std::uint32_t> pair;  ///< operations with the same number transfer together; kNoPair = alone
  std::uint32_t pairs = 0;
  std::uint32_t unmatched = 0;  ///< sends and receives whose peer or compute is not there
};
struct ScheduleShape {
  int stages = 1;
  int chunks = 1;
  bool overlaps_data = false;  ///< gradients are reduced while others are computed
};
[[nodiscard]] Schedule learn_schedule(const std::vector<SliceOperation>& slice, const ScheduleShape& shape);

/// The graph, with what each of its nodes is.
struct OperationModel {
  struct Type {
    std::string name;
    OperationRole role = OperationRole::Unknown;
    bool is_communication = false;
    std::uint32_t merged = 0;  ///< index into `merged`
  };

  model::Dependencies graph;
  std::vector<Duration> original;               ///< per node: recorded duration or transfer; zero for joins
  std::vector<std::uint32_t> type;              ///< per node: index into `types`; kNoType for joins
  std::vector<std::uint32_t> rank;              ///< per node: index into Program::ranks; kNoType for joins
  std::vector<std::uint32_t> ordinal;           ///< per node: among those of its rank and type in the step
  std::vector<Type> types;                      ///< by Program::names
  std::vector<std::string> merged;              ///< names of results
  std::vector<model::OperationIndex> step_end;  ///< per step: joins all of it, and the next step begins there
  std::vector<int> steps;
  std::vector<Duration> measured;  ///< per step
  std::int64_t operations = 0;
  std::int64_t meetings = 0;           ///< at which ranks wait for each other: messages and collectives
  std::int64_t collectives = 0;        ///< over data ranks, of all steps
  std::int64_t short_collectives = 0;  ///< of these, such as lack a member that others of the kind have
  std::vector<std::string> notes;
};
inline constexpr std::uint32_t kNoType = 0xffffffff;

/// Errors: diagnose-002.
[[nodiscard]] Result<OperationModel> build_operation_model(const model::Program& program);

}  // namespace cox::diagnose
