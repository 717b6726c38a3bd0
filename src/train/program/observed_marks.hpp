// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a rank that is a program tells `cox observe`.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cox/abi/observe.h"

#include "train/run/job.hpp"
#include "train/run/marks.hpp"

namespace cox::train {

/// Marks steps, phases and collectives; nothing where nobody observes. Threads: one owner.
class ObservedMarks final : public Marks {
 public:
  /// `told`: the first rank says on standard output how far it is, five times a second.
  ObservedMarks(int rank, int ranks, bool told) : told_(told && rank == 0) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    everybody_ = cox_define_communicator(all.data(), all.size(), rank, "everybody");
    met_ = everybody_;
  }
  void meets(std::span<const int> ranks, int own, const char* as) override {
    std::vector<std::int32_t> members(ranks.begin(), ranks.end());
    auto known = groups_.find(members);
    if (known == groups_.end()) {
      const cox_communicator made = cox_define_communicator(members.data(), members.size(), own, as);
      known = groups_.emplace(std::move(members), made).first;
    }
    met_ = known->second;
  }
  void step(std::int64_t number) override { cox_step(static_cast<std::uint64_t>(number)); }
  void begin(StepPart part, Bytes bytes) override {
    const cox_collective kind = part == StepPart::AllReduce       ? COX_ALL_REDUCE
                                : part == StepPart::ReduceScatter ? COX_REDUCE_SCATTER
                                : part == StepPart::AllGather     ? COX_ALL_GATHER
                                                                  : COX_OTHER;
    collective_ = kind != COX_OTHER;
    if (collective_)
      span_ = cox_collective_begin(kind, met_, static_cast<std::uint64_t>(bytes.count()));
    else
      span_ = cox_phase_begin(part == StepPart::Forward     ? COX_PHASE_FORWARD
                              : part == StepPart::Gradient  ? COX_PHASE_BACKWARD
                              : part == StepPart::Optimizer ? COX_PHASE_OPTIMIZER
                                                            : COX_PHASE_OTHER);
  }
  void end() override {
    if (collective_)
      cox_collective_end(span_);
    else
      cox_phase_end(span_);
  }

  void sent(int to, Bytes bytes) override {
    cox_message_sent(everybody_, to, static_cast<std::uint64_t>(bytes.count()));
  }
  void wait(int from) override { message_ = cox_message_wait_begin(everybody_, from); }
  void came(int from, Bytes bytes) override {
    cox_message_wait_end(message_, from, static_cast<std::uint64_t>(bytes.count()));
  }
  void taken() override { cox_message_wait_end(message_, COX_ANY_PEER, 0); }

  void version(std::int64_t version, double loss) override {
    const auto now = std::chrono::steady_clock::now();
    if (!told_ || now - said_ < kPause) return;
    said_ = now;
    const std::string row = row_of(TrainMoment{.version = version, .loss = loss});
    std::fwrite(row.data(), 1, row.size(), stdout);
    std::fflush(stdout);
  }

 private:
  static constexpr std::chrono::milliseconds kPause{200};
  bool told_;
  std::chrono::steady_clock::time_point said_{};
  cox_communicator everybody_ = 0, met_ = 0;
  std::map<std::vector<std::int32_t>, cox_communicator> groups_;  ///< by members
  cox_span span_ = nullptr;
  cox_span message_ = nullptr;
  bool collective_ = false;
};

}  // namespace cox::train
