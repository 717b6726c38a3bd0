// SPDX-License-Identifier: Apache-2.0
#include "support/paced_run.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/pace/controller.hpp"

namespace cox::test {
namespace {

using trace::EventKind;

constexpr int kUncounted = 4;  // synchronisations before the first iteration, as in a guest

Duration whole_ns(Duration d) {
  return std::chrono::duration_cast<Nanoseconds>(d);
}

/// One rank between two synchronisations.
struct Member {
  pace::Controller controller;
  Duration delay{};  // that comes before its next work
  pace::Reason told{};
  bool has_told = false;
};

class Job {
 public:
  explicit Job(const PacedShape& shape) : shape_(shape), random_(shape.seed, 7) {
    if (pace::set_all(settings_, shape.settings.c_str()) >= 0) std::abort();
    run_.info.provenance = trace::Provenance::Simulated;
    run_.info.name = "paced";
    run_.info.tool = "make_run";
    run_.origin_realtime_ns = 1'700'000'000'000'000'000;
    run_.world_size = shape.ranks;
    run_.nodes.push_back(
        {.id = NodeId{0}, .host = "node0", .boot_id = "00000000-0000-4000-8000-100000000000"});
    trace::Communicator world{
        .id = CommId{0}, .identity = 77, .name = "world", .size = shape.ranks, .ranks = {}};
    for (int r = 0; r < shape.ranks; ++r) {
      world.ranks.emplace_back(r);
      run_.ranks.push_back(empty_track(r));
      members_.push_back({.controller = pace::Controller(settings_, static_cast<std::uint32_t>(r),
                                                         static_cast<std::uint32_t>(shape.ranks))});
    }
    run_.communicators.push_back(std::move(world));
  }

  trace::Run play() {
    Duration free_at{};
    for (int step = 0; step < shape_.steps; ++step) free_at = play_step(step, free_at);
    return std::move(run_);
  }

 private:
  trace::RankTrack empty_track(int rank) const {
    trace::RankTrack track;
    track.rank = Rank{rank};
    track.node = NodeId{0};
    track.local_rank = LocalRank{rank};
    track.pid = 1000 + rank;
    track.program = "/opt/synthetic/train";
    track.library = "synthetic";
    track.timing = "collective=model pace=model";
    track.clock = {.node = NodeId{0}, .kind = trace::ClockKind::Monotonic, .residual = Duration::zero()};
    track.state = trace::WriterState::Closed;
    if (shape_.recorded) track.locality.push_back({"cox/pace/settings", shape_.settings});
    return track;
  }

  void add(int rank, EventKind kind, Duration begin, Duration end, std::int64_t bytes, std::uint32_t seq,
           std::uint8_t op, std::uint16_t flags = 0, std::uint32_t aux = 0) {
    run_.ranks[static_cast<std::size_t>(rank)].events.push_back(
        {.kind = kind,
         .op = op,
         .flags = flags,
         .begin = begin,
         .end = end,
         .bytes = Bytes{bytes},
         .comm = kind == EventKind::Step ? trace::kNoComm : CommId{0},
         .seq = seq,
         .aux = aux});
  }

  Duration work_of(int rank, int step, double taken) const {
    Duration work = shape_.work;
    if (rank >= shape_.ranks - shape_.slow)
      work += shape_.slow_extra +
              Duration{static_cast<std::int64_t>(taken * static_cast<double>(shape_.contention.count()))};
    const double factor = 1 + shape_.jitter_ratio * random_.normal(static_cast<std::uint64_t>(step),
                                                                   static_cast<std::uint64_t>(rank));
    return whole_ns(Duration{static_cast<std::int64_t>(factor * static_cast<double>(work.count()))});
  }

  /// How much of the shared resource the fast ranks take at once, 0 to 1.
  double taken() const {
    const int fast = shape_.ranks - shape_.slow;
    double sum = 0;
    for (int r = 0; r < fast; ++r)
      sum += std::max(0.0, 1 - ratio(members_[static_cast<std::size_t>(r)].delay, shape_.yield));
    return fast > 0 ? sum / fast : 0;
  }

  /// Steps before the first that counts.
  [[nodiscard]] int uncounted() const { return (kUncounted + shape_.calls - 1) / shape_.calls; }

  Duration play_step(int step, Duration begin) {
    const double share = taken();
    std::vector<Duration> served;
    std::vector<Duration> inside(members_.size());
    for (int r = 0; r < shape_.ranks; ++r) {
      if (shape_.marks) add(r, EventKind::Step, begin, begin, step, 0, 0, trace::kMarked);
      served.push_back(serve(r, step, begin));
    }
    Duration free_at = begin;
    for (int call = 0; call < shape_.calls; ++call) {
      std::vector<Duration> entry;
      entry.reserve(static_cast<std::size_t>(shape_.ranks));
      for (int r = 0; r < shape_.ranks; ++r)
        entry.push_back(free_at + (call == 0 ? served[static_cast<std::size_t>(r)] : Duration::zero()) +
                        whole_ns(work_of(r, step, share) / shape_.calls));
      free_at = *std::max_element(entry.begin(), entry.end()) + shape_.transfer;
      for (int r = 0; r < shape_.ranks; ++r) {
        const auto i = static_cast<std::size_t>(r);
        add(r, EventKind::Collective, entry[i], free_at, 0,
            static_cast<std::uint32_t>(step * shape_.calls + call),
            static_cast<std::uint8_t>(model::Collective::Barrier));
        inside[i] += free_at - entry[i];
      }
    }
    for (std::size_t i = 0; step >= uncounted() && i < members_.size(); ++i) {
      Member& m = members_[i];
      m.controller.observe({.step = static_cast<std::uint64_t>(step - uncounted()),
                            .work = free_at - begin - served[i] - inside[i],
                            .sync = inside[i],
                            .transfer = Duration::zero(),
                            .delayed = served[i]});
      m.delay = whole_ns(m.controller.decide().delay);
    }
    return free_at;
  }

  /// Serves what was decided and leaves the record; how long it took.
  Duration serve(int rank, int step, Duration now) {
    if (step <= uncounted()) return {};
    Member& m = members_[static_cast<std::size_t>(rank)];
    const pace::Decision d = m.controller.decide();
    if (m.delay == Duration::zero() && m.has_told && m.told == d.reason) return {};
    const Duration took = m.delay > Duration::zero() ? m.delay + shape_.oversleep : Duration::zero();
    m.told = d.reason;
    m.has_told = true;
    const auto gain = static_cast<std::int32_t>(std::clamp(m.controller.evidence().gain, -1e3, 1e3) * 1e6);
    add(rank, EventKind::Pace, now, now + took, m.delay / Nanoseconds{1},
        static_cast<std::uint32_t>(step - uncounted()), static_cast<std::uint8_t>(d.reason),
        trace::PaceFlags::of(static_cast<std::uint8_t>(d.state), static_cast<std::uint8_t>(settings_.mode)),
        static_cast<std::uint32_t>(gain));
    return took;
  }

  PacedShape shape_;
  pace::Settings settings_;
  RandomStream random_;
  trace::Run run_;
  std::vector<Member> members_;
};

}  // namespace

trace::Run make_paced_run(const PacedShape& shape) {
  return Job(shape).play();
}

}  // namespace cox::test
