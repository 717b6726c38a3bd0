// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which remedies fit what was measured about waiting, the best first; a delay is only one of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cox/pace/wait_mode.hpp"

namespace cox::pace {

/// What was measured about one job. A field that was not measured stays at its default,
/// from which nothing follows.
struct Facts {
  std::uint32_t ranks_on_host = 0;    ///< 0 = not known
  std::uint32_t cores = 0;            ///< that they may run on; 0 = not known
  WaitMode wait = WaitMode::Unknown;  ///< of its library
  bool persistent = false;            ///< the same ranks are late in most windows
  bool rotating = false;              ///< imbalance there is, but it moves from rank to rank
  bool host_busy_at_start = false;    ///< iterations begin with work on cores that ranks share
  bool link_busy_at_start = false;    ///< iterations begin with transfers over a link that ranks share
  bool groups_share_link = false;     ///< collectives of several groups share a link and start together
  bool priority_undoable = false;     ///< the start-up probe could raise a thread's priority and restore it
  bool launch_ahead = false;          ///< an accelerator's queue absorbs a delay of the host
};

enum class AdviceKind : std::uint8_t {
  Nothing = 0,         ///< no remedy of these fits
  ChangeWaitMode = 1,  ///< let waiters yield or block
  RaisePriority = 2,   ///< priority for the late ranks of a host
  StaggerGroups = 3,   ///< groups that share a link start one after the other
  Delay = 4,           ///< hold early ranks back, tested against not doing so
};
[[nodiscard]] const char* name_of(AdviceKind remedy) noexcept;  ///< `wait-mode`, `priority`, ...

/// One remedy, why it comes where it does, and what it was seen to do.
///
/// `evidence` are ranges measured on emulated training of 4 to 64 processes on a host with two cores; they
/// say what is possible, not what this job will gain. A remedy without measurement says so.
struct Advice {
  AdviceKind remedy = AdviceKind::Nothing;
  const char* why = "";
  const char* action = "";
  const char* evidence = "";
};

/// Remedies in the order in which they should be tried.
class AdviceList {
 public:
  void add(const Advice& advice) noexcept {
    if (count_ < list_.size()) list_[count_++] = advice;
  }
  [[nodiscard]] std::span<const Advice> items() const& noexcept { return {list_.data(), count_}; }
  /// Not of a list that is gone before they are read, as in `for (const Advice& a : advise(facts).items())`. Held by:
  /// tests/compile_fail/advice.cpp
  [[nodiscard]] std::span<const Advice> items() const&& = delete;

 private:
  std::array<Advice, 4> list_{};
  std::size_t count_ = 0;
};

/// At least one item; `AdviceKind::Nothing` is alone. Pure; no allocation. Held by: src/pace/advice_test.cpp
[[nodiscard]] AdviceList advise(const Facts& facts) noexcept;

}  // namespace cox::pace
