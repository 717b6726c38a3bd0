// SPDX-License-Identifier: Apache-2.0
#define COX_LANES 8
#define COX_KERNELS kSweepsAvx512
#include "simulate/kernels/sweep_kernels.inc"
