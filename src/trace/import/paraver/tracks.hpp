// SPDX-License-Identifier: Apache-2.0
/// \file
/// Turns the records of a Paraver trace into ranks, useful time, calls and messages.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/import/paraver/header.hpp"
#include "trace/import/paraver/names.hpp"
#include "trace/import/paraver/text.hpp"
#include "trace/import/part/part_builder.hpp"

namespace cox::trace {

/// What kept a record from being used; each becomes one note.
enum class ParaverLoss : std::uint8_t {
  Damaged,         ///< not the numbers that its kind wants
  UnknownKind,     ///< neither state, event, communication nor communicator
  UnknownTask,     ///< of a task that the header does not list
  OtherThread,     ///< of a thread that is not its task's first
  TooManyComms,    ///< a communicator beyond those that are kept
  StateOrder,      ///< Running before the end of the one before
  CallInCall,      ///< a call begins inside another one, which then has no end
  EndWithoutCall,  ///< a call ends that did not begin
  CallTime,        ///< a call ends before it begins
  MessageTime,     ///< a message is received before its receive began
};
inline constexpr std::size_t kParaverLossCount = 10;

class ParaverTracks {
 public:
  /// Lays out a rank per task. `hosts`: names of the nodes, as far as known.
  ParaverTracks(PartBuilder& builder, ParaverHeader header, ParaverNames names,
                const std::vector<std::string>& hosts);

  /// One line behind the header.
  void add_line(std::string_view line);
  /// After the last line: closes what is open and describes the communicators.
  void close();
  /// After `PartBuilder::finish`: what only all records together tell, roots and peers of calls.
  void complete(Run& run) const;

 private:
  struct OpenCall {
    bool open = false;
    std::int64_t type = 0;
    MpiMeaning call;
    Duration begin{};
    std::int64_t send_bytes = 0;
    std::int64_t receive_bytes = 0;
    std::int32_t comm = -1;  ///< index into `comms_`
    bool root = false;
    std::uint32_t seq = 0;
  };
  struct Request {
    std::int32_t comm = -1;
    std::uint32_t seq = 0;
  };
  struct Task {
    OpenCall call;
    std::vector<Request> requests;  ///< collectives begun
    std::size_t first_request = 0;  ///< of those not waited for
    std::size_t credited = 0;       ///< useful stretches before this one have their counters
  };
  struct Comm {
    std::string name;
    std::vector<Rank> members;  ///< in the communicator's own order
    bool listed = false;
    std::vector<std::int32_t> root_of;  ///< by sequence number: the root's rank in the world; -1 = not told
  };
  struct Place {
    std::int64_t application = 0;
    std::int64_t task = 0;
    std::int64_t thread = 0;
  };

  void add_state(ColonNumbers in);
  void add_events(ColonNumbers in);
  void add_message(ColonNumbers in);
  void add_communicator(std::string_view line);
  [[nodiscard]] Request take_request(Task& task, bool all);
  /// Index of the task's rank, or -1 where there is none to count it for.
  [[nodiscard]] std::int64_t rank_at(const Place& place);
  /// Place of a communicator in `comms_`; -1 where there are too many.
  [[nodiscard]] std::int32_t comm_index(std::int64_t application, std::int64_t number);
  void begin_call(Task& task, std::int64_t type, std::int64_t value, Duration at);
  void describe_call(std::size_t rank, const Place& place, std::int64_t comm, OpenCall& call);
  void end_call(std::size_t rank, Duration at);
  [[nodiscard]] std::int32_t world_of(std::size_t rank) const;
  void write_call(std::size_t rank, const OpenCall& call, Duration end);
  void credit(std::size_t rank, Duration at, std::int64_t instructions, std::int64_t cycles);
  void lose(ParaverLoss why) { ++losses_[static_cast<std::size_t>(why)]; }
  void note_losses();

  PartBuilder& builder_;
  ParaverHeader header_;
  ParaverNames names_;
  std::vector<std::size_t> first_rank_;  ///< of each application
  std::vector<Task> tasks_;
  std::vector<Comm> comms_;
  std::unordered_map<std::uint64_t, std::int32_t> comm_places_;  ///< by application and number
  std::unordered_map<std::uint64_t, std::uint32_t> next_seq_;    ///< by rank and communicator
  std::vector<std::int32_t> worlds_;  ///< per application its first listed communicator of all tasks, or -1
  std::array<std::int64_t, kParaverLossCount> losses_{};
  bool counted_ = false;  ///< any counter value was credited
};

}  // namespace cox::trace
