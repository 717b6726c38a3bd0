// SPDX-License-Identifier: Apache-2.0
#define COX_LANES 8
#define COX_KERNELS kAvx512
#include "base/kernels/vector_kernels.inc"
