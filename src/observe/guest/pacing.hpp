// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the guest meets the pacing controller: it is shown every synchronisation of the thread that made the
/// first one.
#pragma once

#include "cox/trace/guest_writer.hpp"

namespace cox::observe::guest {

/// Completes a record and, where it is a synchronisation, shows it to the process's controller. The
/// controller of this version only observes, so nothing is delayed. Threads: any; one of them is watched.
void end_and_observe(trace::RawRecord* record) noexcept;

}  // namespace cox::observe::guest
