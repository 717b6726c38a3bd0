// SPDX-License-Identifier: Apache-2.0
#define COX_LANES 4
#define COX_KERNELS kSweepsAvx2
#include "simulate/kernels/sweep_kernels.inc"
