// SPDX-License-Identifier: Apache-2.0
#define COX_STEP_KERNELS kStepBaseline
#include "learn/kernels/step_kernels.inc"
