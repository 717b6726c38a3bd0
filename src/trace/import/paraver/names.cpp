// SPDX-License-Identifier: Apache-2.0
#include "trace/import/paraver/names.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <system_error>

#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

using model::Collective;

/// Values from here on are no calls of MPI, which has some four hundred.
constexpr std::int64_t kMostCalls = 4096;

struct KnownCall {      // NOLINT(clang-analyzer-optin.performance.Padding): in the order of the table
  std::int16_t number;  ///< in Extrae's events; source: the values that it writes into the `.pcf`
  std::string_view name;
  MpiRole role;
  Collective collective = Collective::Other;
  bool variable = false;
};

constexpr auto kP2P = MpiRole::PointToPoint;
constexpr auto kP2PStart = MpiRole::PointToPointStart;
constexpr auto kAll = MpiRole::Collective;
constexpr auto kAllStart = MpiRole::CollectiveStart;

constexpr KnownCall kCalls[] = {
    {1, "MPI_Send", kP2P},
    {2, "MPI_Recv", kP2P},
    {3, "MPI_Isend", kP2PStart},
    {4, "MPI_Irecv", kP2PStart},
    {5, "MPI_Wait", MpiRole::Completion},
    {6, "MPI_Waitall", MpiRole::CompletionOfAll},
    {7, "MPI_Bcast", kAll, Collective::Broadcast},
    {8, "MPI_Barrier", kAll, Collective::Barrier},
    {9, "MPI_Reduce", kAll, Collective::Reduce},
    {10, "MPI_Allreduce", kAll, Collective::AllReduce},
    {11, "MPI_Alltoall", kAll, Collective::AllToAll},
    {12, "MPI_Alltoallv", kAll, Collective::AllToAll, true},
    {13, "MPI_Gather", kAll, Collective::Gather},
    {14, "MPI_Gatherv", kAll, Collective::Gather, true},
    {15, "MPI_Scatter", kAll, Collective::Scatter},
    {16, "MPI_Scatterv", kAll, Collective::Scatter, true},
    {17, "MPI_Allgather", kAll, Collective::AllGather},
    {18, "MPI_Allgatherv", kAll, Collective::AllGather, true},
    {30, "MPI_Scan", kAll, Collective::Scan},
    {31, "MPI_Init", MpiRole::Start},
    {33, "MPI_Bsend", kP2P},
    {34, "MPI_Ssend", kP2P},
    {35, "MPI_Rsend", kP2P},
    {36, "MPI_Ibsend", kP2PStart},
    {37, "MPI_Issend", kP2PStart},
    {38, "MPI_Irsend", kP2PStart},
    {41, "MPI_Sendrecv", kP2P},
    {42, "MPI_Sendrecv_replace", kP2P},
    {59, "MPI_Waitany", MpiRole::Completion},
    {60, "MPI_Waitsome", MpiRole::Completion},
    {61, "MPI_Probe", kP2P},
    {80, "MPI_Reduce_scatter", kAll, Collective::ReduceScatter, true},
    {123, "MPI_Start", kP2PStart},
    {124, "MPI_Startall", kP2PStart},
    {154, "MPI_Ireduce", kAllStart, Collective::Reduce},
    {155, "MPI_Iallreduce", kAllStart, Collective::AllReduce},
    {156, "MPI_Ibarrier", kAllStart, Collective::Barrier},
    {157, "MPI_Ibcast", kAllStart, Collective::Broadcast},
    {158, "MPI_Ialltoall", kAllStart, Collective::AllToAll},
    {159, "MPI_Ialltoallv", kAllStart, Collective::AllToAll, true},
    {160, "MPI_Iallgather", kAllStart, Collective::AllGather},
    {161, "MPI_Iallgatherv", kAllStart, Collective::AllGather, true},
    {162, "MPI_Igather", kAllStart, Collective::Gather},
    {163, "MPI_Igatherv", kAllStart, Collective::Gather, true},
    {164, "MPI_Iscatter", kAllStart, Collective::Scatter},
    {165, "MPI_Iscatterv", kAllStart, Collective::Scatter, true},
    {166, "MPI_Ireduce_scatter", kAllStart, Collective::ReduceScatter, true},
    {167, "MPI_Iscan", kAllStart, Collective::Scan},
    {168, "MPI_Reduce_scatter_block", kAll, Collective::ReduceScatter},
    {169, "MPI_Ireduce_scatter_block", kAllStart, Collective::ReduceScatter},
    {170, "MPI_Alltoallw", kAll, Collective::AllToAll, true},
    {171, "MPI_Ialltoallw", kAllStart, Collective::AllToAll, true},
    {174, "MPI_Neighbor_allgather", kAll, Collective::Neighbor},
    {175, "MPI_Ineighbor_allgather", kAllStart, Collective::Neighbor},
    {176, "MPI_Neighbor_allgatherv", kAll, Collective::Neighbor, true},
    {177, "MPI_Ineighbor_allgatherv", kAllStart, Collective::Neighbor, true},
    {178, "MPI_Neighbor_alltoall", kAll, Collective::Neighbor},
    {179, "MPI_Ineighbor_alltoall", kAllStart, Collective::Neighbor},
    {180, "MPI_Neighbor_alltoallv", kAll, Collective::Neighbor, true},
    {181, "MPI_Ineighbor_alltoallv", kAllStart, Collective::Neighbor, true},
    {182, "MPI_Neighbor_alltoallw", kAll, Collective::Neighbor, true},
    {183, "MPI_Ineighbor_alltoallw", kAllStart, Collective::Neighbor, true},
    {190, "MPI_Mprobe", kP2P},
    {192, "MPI_Mrecv", kP2P},
    {193, "MPI_Imrecv", kP2PStart},
    {194, "MPI_Init_thread", MpiRole::Start},
};

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

MpiMeaning call_of(const KnownCall* known) {
  if (known == std::end(kCalls)) return {};
  return {.role = known->role, .collective = known->collective, .variable = known->variable};
}

/// Takes the next line off the front of `text`, without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// Takes the next word off the front of `line`.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(word.size());
  return word;
}

bool read_number(std::string_view word, std::int64_t& value) {
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && stop == word.data() + word.size();
}

bool is_mpi_type(std::int64_t type) {
  return type >= kFirstMpiType && type <= kLastMpiType;
}

}  // namespace

MpiMeaning mpi_call_by_name(std::string_view name) {
  return call_of(std::find_if(std::begin(kCalls), std::end(kCalls),
                              [&](const KnownCall& c) { return same_name(c.name, name); }));
}

MpiMeaning mpi_call_by_number(std::int64_t value) {
  return call_of(std::find_if(std::begin(kCalls), std::end(kCalls),
                              [&](const KnownCall& c) { return c.number == value; }));
}

void ParaverNames::read_pcf(std::string_view text) {
  enum class In : std::uint8_t { Nothing, Types, Values };
  In in = In::Nothing;
  bool of_mpi = false;  // the types listed last are MPI calls
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const std::string_view first = take_word(line);
    std::int64_t number = 0;
    if (first == "EVENT_TYPE") {
      in = In::Types;
      of_mpi = false;
    } else if (first == "VALUES") {
      in = In::Values;
    } else if (!read_number(first, number)) {
      if (!first.empty()) in = In::Nothing;
    } else if (in == In::Types) {  // colour, type, name
      std::int64_t type = 0;
      if (!read_number(take_word(line), type)) continue;
      of_mpi = is_mpi_type(type);
      const std::string_view name = take_word(line);
      if (name == "PAPI_TOT_INS") instructions = type;
      if (name == "PAPI_TOT_CYC") cycles = type;
    } else if (in == In::Values && of_mpi && number > 0 && number < kMostCalls) {  // value, name
      calls_.insert_or_assign(number, mpi_call_by_name(take_word(line)));
    }
  }
}

MpiMeaning ParaverNames::call(std::int64_t value) const {
  const auto at = calls_.find(value);
  return at != calls_.end() ? at->second : mpi_call_by_number(value);
}

std::vector<std::string> node_names_of_row(std::string_view text) {
  std::vector<std::string> names;
  bool inside = false;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const std::string_view whole = line;
    if (take_word(line) == "LEVEL") {
      inside = take_word(line) == "NODE";
    } else if (inside && !whole.empty()) {
      names.push_back(clean_text(whole));
    }
  }
  return names;
}

}  // namespace cox::trace
