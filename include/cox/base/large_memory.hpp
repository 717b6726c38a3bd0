// SPDX-License-Identifier: Apache-2.0
/// \file
/// How this process gets memory for tables of hundreds of megabytes.
#pragma once

namespace cox {

/// From here on memory that is freed stays with the process, and what is asked for anew comes in huge pages where the
/// kernel gives them on demand (`madvise` or `always` in /sys/kernel/mm/transparent_hugepage/enabled).
///
/// Columns of a large Run are allocated, filled once and freed, stage after stage: every 4 KiB of them would be a page
/// fault again and again. For programs that read such data and then end; not for libraries, nor for what lives long
/// beside others. Changes how malloc works, and nothing that is computed. Does nothing where the C library is another
/// one than glibc, or an address range cannot be reserved. Cost: a few microseconds; half of the machine's memory as
/// address range, none of it in use. Threads: call it before there are any; once is enough.
/// Held by: src/base/large_memory_test.cpp
void prepare_for_large_data();

}  // namespace cox
