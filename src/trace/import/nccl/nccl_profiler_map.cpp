// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "cox/base/number_text.hpp"

#include "trace/import/nccl/nccl_profiler.hpp"
#include "trace/import/nccl/nccl_world.hpp"

namespace cox::trace {
namespace {

/// Times further than that from the first would not fit a Duration.
constexpr double kLongestUs = 8.64e12;

class ProfilerMapper {
 public:
  ProfilerMapper(const ProfilerTrace& trace, PartBuilder& part) : trace_(trace), part_(part) {}

  void map() && {
    add_ranks();
    sort_launches();
    choose_spans();
    set_origin();
    for (std::size_t i = 0; i < trace_.collectives.size(); ++i) add(i);
    part_.count(static_cast<std::int64_t>(trace_.collectives.size()), used_);
    write_notes();
  }

 private:
  struct Placed {
    const ProfilerLaunch* launch = nullptr;
    ProfilerSpan span{};
    bool known = false;
  };

  void add_ranks() {
    std::vector<NcclMember> members;
    std::vector<int> sizes;
    members.reserve(trace_.members.size());
    sizes.reserve(trace_.communicators.size());
    for (const ProfilerMember& m : trace_.members)
      members.push_back({.process = m.gpu, .communicator = m.communicator, .rank = m.rank});
    for (const ProfilerCommunicator& c : trace_.communicators) sizes.push_back(c.size);
    world_ = find_nccl_world(members, sizes, trace_.gpus.size());
    part_.run().world_size = world_.size;
    for (std::size_t g = 0; g < trace_.gpus.size(); ++g) {
      const std::int64_t pid = trace_.gpus[g].pid;
      RankTrack& track = part_.rank(part_.add_rank(world_.rank_of[g]));
      track.pid = pid > 0 && pid <= std::numeric_limits<int>::max() ? static_cast<int>(pid) : 0;
      track.library = "nccl, profiler plugin";
    }
  }

  /// By member and begin, so that the launch of a collective is found by bisection.
  void sort_launches() {
    for (const ProfilerLaunch& l : trace_.launches) launches_.push_back(&l);
    std::stable_sort(launches_.begin(), launches_.end(),
                     [](const ProfilerLaunch* a, const ProfilerLaunch* b) {
                       return std::pair(a->member, a->span.begin_us) < std::pair(b->member, b->span.begin_us);
                     });
  }

  /// NCCL hands a collective over right after it launched the kernel: the last launch that began before.
  [[nodiscard]] const ProfilerLaunch* launch_of(const ProfilerCollective& c) const {
    const std::pair key(c.member, c.handed.begin_us);
    auto at = std::upper_bound(
        launches_.begin(), launches_.end(), key,
        [](const auto& k, const ProfilerLaunch* l) { return k < std::pair(l->member, l->span.begin_us); });
    if (at == launches_.begin() || (*--at)->member != c.member) return nullptr;
    return *at;
  }

  void choose_spans() {
    std::map<const ProfilerLaunch*, std::size_t> collectives_of;
    for (const ProfilerCollective& c : trace_.collectives) {
      Placed p{.launch = launch_of(c)};
      const auto kernel =
          p.launch != nullptr ? trace_.kernels.find(p.launch->correlation) : trace_.kernels.end();
      if (kernel != trace_.kernels.end()) {
        p.span = kernel->second.span;
        p.known = true;
        ++by_kernel_;
        device_of_[trace_.members[c.member].gpu] = kernel->second.device;
        if (++collectives_of[p.launch] > 1) ++shared_;
      } else if (place_by_timer(c, p)) {
        ++by_timer_;
      }
      placed_.push_back(p);
    }
  }

  /// The device's clock, put on the host's by the smallest distance seen; good to one polling interval.
  [[nodiscard]] bool place_by_timer(const ProfilerCollective& c, Placed& p) const {
    const auto offset = trace_.members[c.member].clock_offset_ns;
    std::int64_t begin_ns = 0;
    if (!offset || c.first_timer == 0 || c.last_timer < c.first_timer ||
        __builtin_add_overflow(c.first_timer, *offset, &begin_ns))
      return false;
    p.span.begin_us = static_cast<double>(begin_ns) * 1e-3;
    p.span.end_us = p.span.begin_us + static_cast<double>(c.last_timer - c.first_timer) * 1e-3;
    p.known = true;
    return true;
  }

  void set_origin() {
    bool any = false;
    const auto consider = [&](double us) {
      origin_us_ = any ? std::min(origin_us_, us) : us;
      any = true;
    };
    for (const Placed& p : placed_) {
      if (p.known) consider(p.span.begin_us);
      if (p.launch != nullptr) consider(p.launch->span.begin_us);
    }
  }

  [[nodiscard]] Duration since_origin(double us) const {
    return duration_from_seconds((us - origin_us_) * 1e-6);
  }

  void add(std::size_t i) {
    const ProfilerCollective& c = trace_.collectives[i];
    const Placed& p = placed_[i];
    if (!p.known || p.span.end_us - origin_us_ > kLongestUs) {
      ++untimed_;
      return;
    }
    const ProfilerMember& member = trace_.members[c.member];
    const ProfilerCommunicator& comm = trace_.communicators[member.communicator];
    Event event;
    event.begin = since_origin(p.span.begin_us);
    event.end = std::max(event.begin, since_origin(p.span.end_us));
    event.op = static_cast<std::uint8_t>(c.function.op);
    event.bytes = Bytes(nccl_message_bytes(c.function.op, c.bytes, comm.size));
    event.seq = c.sequence;
    event.flags = static_cast<std::uint16_t>(kTagged | (c.function.variable ? kVariable : 0));
    if (is_rooted(c.function.op)) {
      event.flags |= kRooted;
      event.aux = c.root;
    } else if (c.element_bytes != 0) {
      event.flags |= kElement;
      event.aux = c.element_bytes;
    }
    event.comm = communicator_of(member.communicator, c.function.op);
    const std::size_t index = part_.add_event(member.gpu, event);
    RankTrack& track = part_.rank(member.gpu);
    if (p.launch != nullptr && p.launch->span.end_us - origin_us_ <= kLongestUs) {
      const Duration begin = since_origin(p.launch->span.begin_us);
      track.launches.push_back({.event = static_cast<std::uint32_t>(index),
                                .begin = begin,
                                .end = std::max(begin, since_origin(p.launch->span.end_us))});
    }
    ++used_;
  }

  static bool is_rooted(model::Collective op) {
    using model::Collective;
    return op == Collective::Broadcast || op == Collective::Reduce || op == Collective::Gather ||
           op == Collective::Scatter;
  }

  /// NCCL counts each function of a communicator on its own, so each is a communicator of its own here.
  CommId communicator_of(std::uint32_t number, model::Collective op) {
    const auto [at, is_new] = communicators_.try_emplace({number, op}, kNoComm);
    if (is_new) {
      const ProfilerCommunicator& c = trace_.communicators[number];
      at->second = part_.communicator(nccl_title(c.id, c.name, model::name_of(op)), {}, c.size);
    }
    return at->second;
  }

  void write_notes() {
    for (const auto& [gpu, device] : device_of_)
      if (device >= 0) part_.rank(gpu).local_rank = LocalRank(device);
    const char* timing = by_timer_ == 0    ? "collective=device kernel (CUPTI)"
                         : by_kernel_ == 0 ? "collective=device timer of the channels"
                                           : "collective=device kernel or timer of the channels";
    for (RankTrack& track : part_.run().ranks) track.timing = timing;
    part_.note(fmt::format("ranks are those of the largest communicator ({}), taken for the world",
                           counted(world_.size, "member", "members")));
    part_.note_count(static_cast<std::int64_t>(world_.unknown),
                     "GPU has no single rank in a largest communicator: its rank is not known",
                     "GPUs have no single rank in a largest communicator: their rank is not known");
    part_.note_count(by_timer_, "collective without a kernel is timed by the timers of its channels",
                     "collectives without a kernel are timed by the timers of their channels");
    part_.note_count(shared_, "collective shares", "collectives share",
                     " a kernel with another one: both have its time");
    part_.note_count(untimed_, "collective without a kernel or timers is left out",
                     "collectives without a kernel or timers are left out");
    part_.note_count(trace_.messages, "point-to-point event is not used",
                     "point-to-point events are not used");
    part_.note_count(trace_.unusable, "line of an unknown kind, or without what its kind has, is left out",
                     "lines of an unknown kind, or without what their kind has, are left out");
    part_.note(
        fmt::format("read {}, {}, {} and {}; groups, API calls, proxies and channel windows are not kept",
                    counted(trace_.states, "state", "states"), counted(trace_.events, "event", "events"),
                    counted(trace_.lifecycle, "lifecycle record", "lifecycle records"),
                    counted(trace_.kernel_lines, "kernel", "kernels")));
  }

  const ProfilerTrace& trace_;
  PartBuilder& part_;
  NcclWorld world_;
  std::vector<const ProfilerLaunch*> launches_;
  std::vector<Placed> placed_;  // by collective
  std::map<std::uint32_t, int> device_of_;
  std::map<std::pair<std::uint32_t, model::Collective>, CommId> communicators_;
  double origin_us_ = 0;
  std::int64_t used_ = 0, by_kernel_ = 0, by_timer_ = 0, shared_ = 0, untimed_ = 0;
};

}  // namespace

void map_nccl_profiler(const ProfilerTrace& trace, PartBuilder& part) {
  ProfilerMapper(trace, part).map();
}

}  // namespace cox::trace
