// SPDX-License-Identifier: Apache-2.0
#define COX_LANES 8
#define COX_KERNELS kCompressAvx512
#include "learn/compress/compress_kernels.inc"
