// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/goal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "simulate/event/goal_image.hpp"
#include "simulate/event/goal_reader.hpp"

namespace cox::simulate {
namespace {

constexpr Seconds kGoalUnit{1e-9};

bool is_binary(std::span<const std::byte> bytes) {
  if (bytes.size() < 8) return false;
  const auto magic = load_as<std::uint64_t>(bytes.data());
  return magic == kGoalMagic || magic == kGoalSpent;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<EventOutcome> run_binary(std::string_view binary, const std::string& name, const LogGops& cost,
                                Seconds unit) {
  COX_TRY(const GoalImage image, GoalImage::check(std::as_bytes(std::span(binary)), name));
  return run_image(image, cost, unit);
}

tl::unexpected<Error> misfit(std::string message) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "goal-004",
                    .message = std::move(message),
                    .hint = "check who made the schedule",
                    .where = std::nullopt});
}

/// One rank's part of a graph; whatever the columns hold, the writer gets indices that exist.
Status add_rank(const OperationGraph& graph, std::uint32_t rank, GoalImageWriter& writer) {
  const std::uint64_t first = graph.first[rank];
  const std::uint64_t count = graph.first[rank + 1] - first;
  std::vector<GoalOperation> operations(count);
  std::vector<GoalEdge> edges;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = first + i;
    if (graph.amount[at] < 0)
      return misfit(fmt::format("operation {} of rank {} has a negative amount", i, rank));
    operations[i] = GoalOperation{.amount = static_cast<std::uint64_t>(graph.amount[at]),
                                  .peer = graph.peer[at],
                                  .tag = graph.tag[at],
                                  .kind = graph.kind[at],
                                  .cpu = graph.cpu.empty() ? std::uint8_t{0} : graph.cpu[at],
                                  .nic = graph.nic.empty() ? std::uint8_t{0} : graph.nic[at]};
    for (std::uint64_t k = graph.first_before[at]; k < graph.first_before[at + 1]; ++k) {
      if (graph.before[k] >= count)
        return misfit(fmt::format("operation {} of rank {} waits for operation {} of {}", i, rank,
                                  graph.before[k], count));
      edges.push_back(GoalEdge{.before = graph.before[k],
                               .after = static_cast<std::uint32_t>(i),
                               .on_start = !graph.on_start.empty() && graph.on_start[k] != 0});
    }
  }
  writer.add_rank(rank, operations, edges);
  return {};
}

bool has_columns(const OperationGraph& graph) {
  const std::size_t n = graph.kind.size();
  const auto fits = [n](std::size_t size) { return size == 0 || size == n; };
  return graph.amount.size() == n && graph.peer.size() == n && graph.tag.size() == n &&
         fits(graph.cpu.size()) && fits(graph.nic.size()) && graph.first.back() == n &&
         graph.first_before.size() == n + 1 && graph.first_before.back() == graph.before.size() &&
         (graph.on_start.empty() || graph.on_start.size() == graph.before.size()) &&
         std::is_sorted(graph.first.begin(), graph.first.end()) &&
         std::is_sorted(graph.first_before.begin(), graph.first_before.end());
}

}  // namespace

Result<EventOutcome> run_graph(const OperationGraph& graph, const LogGops& cost, Seconds calc_unit) {
  constexpr std::size_t kMostOperations = 0xfffffffe;
  if (graph.ranks() == 0) return misfit("a schedule of 0 ranks");
  if (!has_columns(graph) || graph.kind.size() > kMostOperations)
    return misfit("columns of a schedule do not fit");
  GoalImageWriter writer(static_cast<std::uint32_t>(graph.ranks()));
  for (std::uint32_t rank = 0; rank < graph.ranks(); ++rank) COX_CHECK(add_rank(graph, rank, writer));
  const std::string binary = std::move(writer).finish();
  return run_binary(binary, "schedule", cost, calc_unit);
}

Result<EventOutcome> simulate_goal(std::span<const std::byte> bytes, const std::string& name,
                                   const LogGops& cost) {
  if (is_binary(bytes)) return run_binary(as_text(bytes), name, cost, kGoalUnit);
  COX_TRY(const std::string binary, read_goal_text(as_text(bytes), name));
  return run_binary(binary, name, cost, kGoalUnit);
}

Result<EventOutcome> simulate_goal(const std::filesystem::path& file, const LogGops& cost) {
  COX_TRY(const MappedFile mapped, MappedFile::open(file));
  return simulate_goal(mapped.bytes(), file.string(), cost);
}

Result<std::string> goal_binary(std::string_view text, const std::string& name) {
  return read_goal_text(text, name);
}

Status convert_goal(const std::filesystem::path& text, const std::filesystem::path& binary,
                    IfExists if_exists) {
  COX_TRY(const MappedFile mapped, MappedFile::open(text));
  COX_TRY(const std::string bytes, read_goal_text(as_text(mapped.bytes()), text.string()));
  return write_file_atomically(binary, bytes, if_exists);
}

}  // namespace cox::simulate
