// SPDX-License-Identifier: Apache-2.0
#define COX_FLOATS 4
#define COX_ADD_NORMALS add_normals_baseline
#include "learn/kernels/sample_normals.inc"
