// SPDX-License-Identifier: Apache-2.0
#define COX_FLOATS 8
#define COX_ADD_NORMALS add_normals_avx2
#include "learn/kernels/sample_normals.inc"
