// SPDX-License-Identifier: Apache-2.0
#define COX_LANES 4
#define COX_KERNELS kCompressAvx2
#include "learn/compress/compress_kernels.inc"
