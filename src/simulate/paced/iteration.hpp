// SPDX-License-Identifier: Apache-2.0
/// \file
/// One iteration of a bulk-synchronous job: from the common departure to every rank's arrival.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/iteration.hpp"
#include "cox/simulate/event.hpp"

#include "simulate/event/core_queue.hpp"

namespace cox::simulate {

/// What a rank does that has just left a synchronisation.
struct Waking {
  Seconds delay_before{};    ///< before the work
  Seconds delay_at_entry{};  ///< before the synchronisation
  Seconds wake_up{};         ///< added to the preparation
};

/// What differs from step to step; one entry per rank.
struct IterationStep {
  std::span<const Seconds> compute;
  std::span<const double> weight;   ///< on the host's cores
  std::span<const int> wake_order;  ///< places of ranks that begin at the same time
  /// Asked once per rank, when it has left the last synchronisation: at the begin of the iteration, and where
  /// cores have time slices as soon as it gets one.
  const std::function<Waking(int rank, Seconds now)>& wake;
  pace::WaitMode wait = pace::WaitMode::Block;
};

/// Plays iterations, one after the other, in event time. Nothing of one reaches the next: all ranks leave a
/// synchronisation together, and whatever is shared is free by then.
///
/// Order of simultaneous events: by place in the wake order. Keeps its memory from step to step.
class IterationPlayer {
 public:
  explicit IterationPlayer(const model::Iteration& job);
  /// Arrivals at the synchronisation, counted from the begin of the iteration.
  void play(const IterationStep& step, std::span<Seconds> arrived);
  /// Events so far.
  [[nodiscard]] std::int64_t events() const { return handled_; }

 private:
  enum class Phase : std::uint8_t { Wake, Delay, Prepare, Fetch, Compute, EntryDelay, Arrive };
  static constexpr Seconds kNever{std::numeric_limits<double>::infinity()};
  /// The cores of one host, or the link.
  struct Shared {
    SharedResource resource;
    std::optional<CoreQueue> queue{};  ///< instead of it, for cores with time slices
    std::vector<int> rank_of{};        ///< by job
    std::uint32_t version = 0;         ///< counts events: one of an older version is void
    Seconds announced = kNever;        ///< when its event comes; never where there is none
  };
  struct Event {
    Seconds at;
    int rank;
    std::int32_t shared;  ///< whose job ends; -1 = a timer of the rank
    std::uint32_t version;
    SharedResource::Job job;
    int order = 0;  ///< among simultaneous ones
  };

  void reset(const IterationStep& step);
  void enter(int rank, Phase phase, Seconds now);
  Seconds begin_work(int rank, Seconds now);
  void share(std::int32_t shared, int rank, Seconds now, double work, double weight, double limit);
  void finish(const Event& e);
  [[nodiscard]] bool take_off(const Event& e);
  void announce(std::int32_t shared);
  void push(Event e);
  Event pop();
  [[nodiscard]] std::int32_t host_of(int rank) const { return rank / per_host_; }

  const model::Iteration& job_;
  int per_host_;
  std::int32_t link_;  ///< index in `shared_`
  const IterationStep* step_ = nullptr;
  std::span<Seconds> arrived_;
  int waiting_ = 0;
  std::vector<Phase> next_;  ///< of each rank, when what it does now ends
  std::vector<Waking> waking_;
  std::vector<Shared> shared_;
  std::vector<Event> events_;  ///< a heap, the earliest on top
  std::vector<int> by_order_;  ///< ranks
  std::int64_t handled_ = 0;
};

}  // namespace cox::simulate
