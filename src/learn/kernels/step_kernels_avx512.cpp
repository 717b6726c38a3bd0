// SPDX-License-Identifier: Apache-2.0
#define COX_STEP_KERNELS kStepAvx512
#include "learn/kernels/step_kernels.inc"
