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

using model::OperationKind;

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

/// A program made ready for the engine: its operations by rank, in the order of the program.
class Compiler {
 public:
  explicit Compiler(const model::Program& program) : p_(program) {}

  Result<std::string> compile() {
    constexpr std::size_t kMostOperations = 0xfffffffe;
    if (p_.ranks.empty()) return misfit("a schedule of 0 ranks");
    if (!has_columns() || p_.size() > kMostOperations) return misfit("columns of a schedule do not fit");
    place_.resize(p_.size());
    of_rank_.resize(p_.ranks.size());
    for (std::uint32_t i = 0; i < p_.size(); ++i) {
      if (p_.rank[i] >= p_.ranks.size()) return misfit(fmt::format("operation {} is of no rank", i));
      place_[i] = static_cast<std::uint32_t>(of_rank_[p_.rank[i]].size());
      of_rank_[p_.rank[i]].push_back(i);
    }
    GoalImageWriter writer(static_cast<std::uint32_t>(p_.ranks.size()));
    for (std::uint32_t rank = 0; rank < p_.ranks.size(); ++rank) COX_CHECK(add_rank(rank, writer));
    return std::move(writer).finish();
  }

 private:
  [[nodiscard]] bool has_columns() const {
    const std::size_t n = p_.size();
    const auto fits = [n](std::size_t size) { return size == 0 || size == n; };
    const auto is_message = [](OperationKind k) {
      return k == OperationKind::Send || k == OperationKind::Receive;
    };
    const bool messages = std::any_of(p_.kind.begin(), p_.kind.end(), is_message);
    const auto needed = [&](std::size_t size) { return size == n || (!messages && size == 0); };
    return p_.rank.size() == n && p_.kind.size() == n && p_.needs.size() == n && fits(p_.duration.size()) &&
           needed(p_.bytes.size()) && needed(p_.peer.size()) && needed(p_.tag.size()) &&
           fits(p_.stream.size()) && fits(p_.port.size());
  }

  /// One rank's part; whatever the columns hold, the writer gets indices that exist.
  Status add_rank(std::uint32_t rank, GoalImageWriter& writer) {
    const std::vector<std::uint32_t>& mine = of_rank_[rank];
    std::vector<GoalOperation> operations;
    operations.reserve(mine.size());
    std::vector<GoalEdge> edges;
    for (const std::uint32_t i : mine) {
      COX_TRY(const GoalOperation operation, operation_of(i));
      operations.push_back(operation);
      const auto before = p_.needs.before(i);
      for (std::size_t k = 0; k < before.size(); ++k) {
        if (before[k] >= p_.size())
          return misfit(fmt::format("operation {} of rank {} waits for operation {} of {}", place_[i], rank,
                                    before[k], p_.size()));
        if (p_.rank[before[k]] != rank)
          return misfit(fmt::format("operation {} of rank {} waits for one of rank {} without a message",
                                    place_[i], rank, p_.rank[before[k]]));
        edges.push_back(
            {.before = place_[before[k]], .after = place_[i], .on_start = p_.needs.on_start(i, k)});
      }
    }
    writer.add_rank(rank, operations, edges);
    return {};
  }

  Result<GoalOperation> operation_of(std::uint32_t i) const {
    GoalOperation out{.cpu = p_.stream.empty() ? std::uint8_t{0} : p_.stream[i],
                      .nic = p_.port.empty() ? std::uint8_t{0} : p_.port[i]};
    std::int64_t amount = 0;
    switch (p_.kind[i]) {
      case OperationKind::Collective:
        return misfit(fmt::format("operation {} of rank {} is a collective, expected its messages", place_[i],
                                  p_.rank[i]));
      case OperationKind::Send:
      case OperationKind::Receive:
        out.kind = p_.kind[i] == OperationKind::Send ? GraphOp::Send : GraphOp::Receive;
        out.peer = p_.peer[i];
        out.tag = p_.tag[i];
        amount = p_.bytes[i].count();
        break;
      default:
        if (!p_.duration.empty() && p_.duration[i] != model::kNoDuration) amount = p_.duration[i].count();
    }
    if (amount < 0)
      return misfit(fmt::format("operation {} of rank {} has a negative amount", place_[i], p_.rank[i]));
    out.amount = static_cast<std::uint64_t>(amount);
    return out;
  }

  const model::Program& p_;
  std::vector<std::uint32_t> place_;  ///< of each operation within its rank
  std::vector<std::vector<std::uint32_t>> of_rank_;
};

}  // namespace

Result<EventOutcome> run_program(const model::Program& program, const LogGops& cost) {
  COX_TRY(const std::string binary, Compiler(program).compile());
  constexpr Seconds kPicosecond{1e-12};
  return run_binary(binary, "schedule", cost, kPicosecond);
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
