// SPDX-License-Identifier: Apache-2.0
#define COX_LANES 2
#define COX_KERNELS kBaseline
#include "base/kernels/vector_kernels.inc"
