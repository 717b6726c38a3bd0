// SPDX-License-Identifier: Apache-2.0
#define COX_FLOATS 16
#define COX_ADD_NORMALS add_normals_avx512
#include "learn/kernels/sample_normals.inc"
