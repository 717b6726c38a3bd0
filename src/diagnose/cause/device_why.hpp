// SPDX-License-Identifier: Apache-2.0
/// \file
/// Why a late rank is late, from what its device and host did: docs/concepts/causes.md.
#pragma once

#include <optional>
#include <string>

#include "diagnose/naming/naming.hpp"

namespace cox::diagnose {

/// What one rank spends more than the others' median within a finding's steps, as parts of all of it.
struct DeviceWhy {
  std::string cause;      ///< `slow_kernels`, `uneven_work`, `copies`, `late_launch`, `data_loading`, `gc`,
                          ///< `allocator`; `unknown` where none explains enough
  double kernels = 0;     ///< device busy with kernels
  double copies = 0;      ///< device busy with copies and nothing else
  double idle = 0;        ///< device without work, outside collectives: the host was late
  double data = 0;        ///< of the idle part, what the host's wait for input would explain
  double gc = 0;          ///< the same for garbage collection
  double allocation = 0;  ///< the same for allocation of memory
  double kernel_count_ratio = 1;        ///< kernels run over the others' median
  std::optional<Duration> queue;        ///< median from the launch of its collectives to their start
  std::optional<Duration> usual_queue;  ///< the others' median of the same
};

/// Nothing where the finding is not about one rank, or it or more than a third of the others recorded no
/// activity. Source: diagnosis.md 2.6 (launch late or queue long). Cost: linear in activities of the ranks.
/// Held by: src/diagnose/cause/device_why_test.cpp
[[nodiscard]] std::optional<DeviceWhy> find_device_why(const Evidenced& x, const Named& named);

}  // namespace cox::diagnose
