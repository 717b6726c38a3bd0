// SPDX-License-Identifier: Apache-2.0
/// \file
/// A DUMPI file as calls of MPI, and the communicators that the ranks of one job made.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/import/mpi/dumpi_file.hpp"
#include "trace/import/mpi/mpi_part.hpp"

namespace cox::trace::dumpi {

/// How a communicator came to be, as one member recorded it.
enum class Making : std::uint8_t {
  Given,    ///< MPI_COMM_WORLD, MPI_COMM_SELF
  Dup,      ///< same members, same order
  Split,    ///< by colour, ordered by key
  Create,   ///< a group of the parent's members
  Subset,   ///< some of the parent's members in the parent's order (MPI_Cart_create without reordering)
  Unknown,  ///< nothing says who is in it
};

/// One call that makes a communicator from another, as one rank recorded it.
struct CommMade {
  Making making = Making::Unknown;
  std::int32_t parent = 0;  ///< number of the communicator in the order in which the rank got them
  std::int32_t made = -1;   ///< likewise; -1 = the rank is in none
  std::int32_t color = 0;
  std::int32_t key = 0;
  std::shared_ptr<const std::vector<std::int32_t>> group;  ///< places in the parent; null: not known
};

inline constexpr std::int32_t kWorld = 0;
inline constexpr std::int32_t kSelf = 1;

/// One rank's file. Communicators in `calls` have the rank's own numbers: world, self, then as made.
struct RankFile {
  MpiRank calls;
  std::int32_t own_rank = -1;   ///< as MPI_Comm_rank said; -1 = not called
  std::int32_t world_size = 0;  ///< as MPI_Comm_size said; 0 = not called
  std::vector<CommMade> made;
  std::vector<std::int32_t> sizes;  ///< of communicators, as MPI_Comm_size said; 0 = not asked
  std::string program;
  std::optional<Header> header;
  std::uint32_t base_second = 0;
  std::vector<std::int64_t> records;  ///< by function
  std::int64_t used = 0;
  std::int64_t without_times = 0;
  std::int64_t unsized = 0;         ///< calls with data types of unknown size
  std::int64_t orphans = 0;         ///< completions of requests that were not started here
  std::int64_t footer_differs = 0;  ///< functions whose count in the footer is another one
  std::int64_t ignored = 0;         ///< calls that the recorder left out
  bool too_old = false;
  Ending ending = Ending::Whole;
  std::size_t end_at = 0;
  std::string stopped_at;  ///< function whose layout is not known

  /// Whether its times are the time of day.
  [[nodiscard]] bool tells_time_of_day() const;
};
[[nodiscard]] RankFile read_rank(std::string_view bytes);

/// A communicator of the job.
struct JobComm {
  /// How it was made: the same on all ranks, and in files that are read apart.
  std::string name;
  std::vector<std::int32_t> members;  ///< world ranks; empty where they are not known
  bool ordered = false;               ///< `members` are in the communicator's own order
};

/// Puts together what the ranks say of the communicators that they made.
///
/// Making one is collective over the one that it is made from, so the n-th making from it is the same on all
/// its members. Resolved is one only where all of them are there and agree. Cost: linear in the makings, and
/// a sort per communicator. Held by: src/trace/import/mpi/dumpi_test.cpp
class Communicators {
 public:
  /// `ranks`: world rank of each file.
  Communicators(const std::vector<RankFile>& files, const std::vector<std::int32_t>& ranks, int world_size);

  /// Index of a rank's own number.
  [[nodiscard]] std::size_t index(std::size_t file, CommId own) const {
    return number_[file][static_cast<std::size_t>(own.value())];
  }
  [[nodiscard]] const JobComm& at(std::size_t index) const { return comms_[index]; }

 private:
  struct Holder {
    std::size_t file = 0;
    std::int32_t own = 0;
    std::int32_t rank = 0;
  };
  void resolve_from(std::size_t parent);
  bool resolve_one(std::size_t parent, std::size_t nth);
  void add_resolved(std::string name, const std::vector<Holder>& from, const std::vector<std::int32_t>& made,
                    bool ordered);
  void name_unresolved();
  [[nodiscard]] std::vector<std::int32_t> told_by_one(const CommMade& m, const JobComm& parent);
  [[nodiscard]] const CommMade* making(const Holder& holder, std::size_t nth) const;

  const std::vector<RankFile>& files_;
  /// One record of one file can repeat a whole world; the sum of what is listed so is bounded.
  std::size_t members_left_ = std::size_t{16} << 20;
  std::vector<JobComm> comms_;
  std::vector<std::vector<Holder>> holders_;      ///< by communicator, in its order; empty: not resolved
  std::vector<std::vector<std::size_t>> number_;  ///< by file and own number
  std::vector<std::vector<std::vector<std::size_t>>> made_from_;  ///< by file and own number of the parent
};

}  // namespace cox::trace::dumpi
