// SPDX-License-Identifier: Apache-2.0
/// \file
/// Collects the events of a profiler trace in compact columns and makes the part of a Run of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cox/trace/run.hpp"

#include "trace/import/kineto/event.hpp"
#include "trace/import/kineto/groups.hpp"
#include "trace/import/part/part_builder.hpp"

namespace cox::trace::kineto {

/// How far an event may lie from the middle of the others, in ns: 50 days to either side fit into a Duration.
inline constexpr std::int64_t kFarNs = std::int64_t{50} * 24 * 3600 * 1'000'000'000;

/// What stands beside the events in the file.
struct Header {
  Distributed distributed;
  std::int64_t base_ns = 0;  ///< added to every time stamp; 0 where absent
};

/// Of the file, for tests and for the SourceFile.
struct Tally {
  std::int64_t kernels = 0;  ///< communication included
  std::int64_t collectives = 0;
  Nanoseconds kernel_time{};
  std::int64_t used = 0;  ///< complete events that became something
};

/// Takes events one after the other.
///
/// Cost: about 35 bytes of memory per kept event, and 32 more while they are sorted.
class Collector final : public EventSink {
 public:
  explicit Collector(NameBook& names) : names_(names) {}
  void take(const TraceEvent& event) override;
  /// Everything taken, as one rank. Call once.
  Tally finish(PartBuilder& builder, const Header& header, const EventCounts& counts);

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  /// An event that has an end.
  struct Span {
    Category category = Category::Unknown;
    NameMeaning meaning;
    std::uint32_t name = 0;
    std::int64_t begin = 0;  // ns, as everywhere here
    std::int64_t end = 0;
    std::uint32_t lane = 0;
    std::int64_t correlation = 0;
    std::int64_t external = 0;
    std::uint32_t comms = kNone;
  };
  /// Arguments of one collective.
  struct Comms {
    std::optional<model::Collective> collective;
    std::int64_t bytes = 0;
    std::uint32_t element = 0;
    std::uint32_t group = GroupTable::kNone;
    std::int64_t sequence = -1;
    bool variable = false;
  };
  /// A host call that a collective may be explained by.
  struct HostCall {
    std::uint32_t lane;
    std::int64_t begin;
    std::int64_t end;
    std::int64_t external;
    std::uint32_t comms;
  };
  struct Rows {
    std::vector<std::int64_t> begin, end, correlation;
    std::vector<ActivityKind> kind;
    std::vector<std::uint32_t> lane, name;
    [[nodiscard]] std::size_t size() const { return begin.size(); }
  };
  /// A collective on its way to become an event.
  struct Placed {
    Span span;
    Comms comms;
    std::uint32_t launch = kNone;
    CommId comm = kNoComm;
    std::uint32_t seq = 0;
    bool tagged = false;
    [[nodiscard]] bool on_host() const { return span.category != Category::Kernel; }
  };

  void close(const Span& span);
  void take_kernel(const Span& span);
  void take_host(const Span& span);
  void add_row(ActivityKind kind, const Span& span);
  [[nodiscard]] std::uint32_t host_lane(std::uint64_t tid);
  [[nodiscard]] std::uint32_t comms_of(const TraceEvent& event);

  // finish, in this order
  void choose_origin();
  [[nodiscard]] bool near(std::int64_t at) const;
  [[nodiscard]] Duration since_origin(std::int64_t at) const;
  void add_late_syncs();
  void place_rows(PartBuilder& builder, RankTrack& track);
  void link_launches(RankTrack& track);
  void explain_collectives(const ActivityColumns& activities);
  void place_collectives(PartBuilder& builder, const Header& header);
  void number_collectives();
  void emit_collectives(PartBuilder& builder, RankTrack& track);
  void place_marks(PartBuilder& builder);
  void write_notes(PartBuilder& builder, const Header& header, const EventCounts& counts);

  NameBook& names_;
  GroupTable groups_;
  std::vector<Comms> comms_;
  Rows rows_;
  std::vector<Span> collectives_;
  std::vector<HostCall> records_;  // record_param_comms
  std::vector<HostCall> calls_;    // nccl:all_reduce
  std::vector<Span> syncs_;        // cuda_sync
  std::vector<Span> marks_;        // steps and phases
  std::map<std::uint64_t, std::uint32_t> lanes_;
  std::pair<std::uint64_t, std::uint32_t> last_lane_{0, kNone};
  std::map<std::pair<std::int64_t, std::uint64_t>, std::vector<std::pair<Span, bool>>> open_;
  std::set<std::int64_t> devices_;
  std::int64_t pid_ = 0;

  std::int64_t middle_ = 0;
  std::int64_t origin_ = 0;
  std::vector<Placed> placed_;
  Tally tally_;
  std::int64_t no_duration_ = 0;
  std::int64_t no_begin_ = 0;
  std::int64_t begun_ = 0;  // phase B
  std::int64_t unpaired_ = 0;
  std::int64_t not_numbered_ = 0;  // groups of which only some collectives are
  std::int64_t far_ = 0;
  std::int64_t assumed_ = 0;
  std::int64_t by_stream_ = 0;
  std::int64_t host_collectives_ = 0;
};

}  // namespace cox::trace::kineto
