// SPDX-License-Identifier: Apache-2.0
#define COX_LANES 2
#define COX_KERNELS kCompressBaseline
#include "learn/compress/compress_kernels.inc"
