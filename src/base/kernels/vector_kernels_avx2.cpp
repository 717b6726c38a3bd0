// SPDX-License-Identifier: Apache-2.0
#define COX_LANES 4
#define COX_KERNELS kAvx2
#include "base/kernels/vector_kernels.inc"
