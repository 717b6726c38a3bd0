// SPDX-License-Identifier: Apache-2.0
#define COX_LANES 2
#define COX_KERNELS kSweepsBaseline
#include "simulate/kernels/sweep_kernels.inc"
